"""`edos crowd workers`, `agreement`, `judgements` and `seed`: the results of labelling and judging."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from edos_dataset.cli.console import call, emit, explained, load_call, say, styled
from edos_dataset.cli.options import (
    AnswerColumns,
    AnswerLabels,
    Answers,
    AsJson,
    Force,
    HitBatch,
    LabelMapOption,
    QualityRecipe,
)
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from edos_dataset.cli.data_table import Table


@explained()
def workers(
    source: Annotated[
        Path,
        typer.Argument(
            help="Folder of a batch with `answers.jsonl`, a file of answers to HITs, or any file that `edos crowd "
            "agreement` reads.",
            show_default=False,
        ),
    ],
    batch: HitBatch = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            help="Output file for the answers that count, which `edos crowd agreement` and `seed` read.",
            show_default="none",
        ),
    ] = None,
    rules: QualityRecipe = None,
    columns: AnswerColumns = None,
    label_set: AnswerLabels = None,
    label_map: LabelMapOption = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show statistics of each worker (HITs, quiz, time, positions, agreement) and whether their answers count.

    For answers without HITs only the agreement is measured.
    """
    from edos_dataset.commands.crowd import judge_workers

    report = call(judge_workers, locals())
    emit(dict(report), as_json, [worker_table(report["workers"]), _verdicts(report["workers"])])


def _verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    verdicts = [row["verdict"] for row in rows]
    shown = ", ".join(f"{name} {verdicts.count(name):,}" for name in ("keep", "stop", "discard"))
    return f"{counted(len(rows), 'workers')}: {shown}"


def worker_table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    """Return a table of the workers' statistics; unknown values stay empty."""
    from edos_dataset.cli.data_table import Table

    table = Table("worker", "HITs", "items", "checks right", "bonus", "s an item", "same place", "first", "agrees", "")
    for row in rows:
        table.add_row(
            row["worker"],
            _count(row["hits"]),
            f"{row['items']:,}",
            "" if row["checks"] is None else f"{row['right']} of {row['checks']}",
            _count(row["bonuses"]),
            "" if row["median_seconds"] is None else f"{row['median_seconds']:.1f}",
            *(
                "" if row[name] is None else f"{row[name]:.0%}"
                for name in ("same_position", "first_choice", "agreement")
            ),
            styled((f"{row['verdict']}: {row['reason']}", "yellow")) if row["reason"] else row["verdict"],
        )
    return table


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


@explained()
def agreement(
    source: Answers,
    as_json: AsJson = False,
    outside: Annotated[
        str,
        typer.Option(
            help="How answers outside the label set count: each as its `own` label, all as one `other` label, or as "
            "`missing`."
        ),
    ] = "own",
    columns: AnswerColumns = None,
    label_set: AnswerLabels = None,
    label_map: LabelMapOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the intervals.")] = 0,
) -> None:
    """Measure agreement, overall and by label: raw agreement, Fleiss' kappa and Krippendorff's alpha, with 95 %
    intervals.

    A task is agreed on if one label has strictly the most answers, and at least two.
    """
    from edos_dataset.commands.crowd import measure_agreement

    report = call(measure_agreement, locals())
    emit(dict(report), as_json, agreement_tables(report))


def agreement_tables(report: Mapping[str, Any], most: int = 15) -> Iterator[RenderableType]:
    """Yield the report of `agreement.measure`: the measures, the labels, and at most `most` answers outside them."""
    from edos_dataset.cli.data_table import Table
    from edos_dataset.crowd.agreement import MEASURES

    yield (
        f"{counted(report['rows'], 'tasks')}, {counted(report['answers'], 'answers')}, "
        f"{counted(report['agreed'], 'tasks')} agreed on"
    )
    table = Table("measure", "value", "95 % interval")
    for name in MEASURES:
        table.add_row(name.replace("_", " "), _figure(report[name]), _range(report[f"{name}_interval"]))
    yield table
    labels = Table("label", *(name for name in ("answers", "agreed", "seconded", "95 %", "kappa", "95 %")))
    for name, row in sorted(report["per_label"].items(), key=lambda item: -(item[1]["fleiss_kappa"] or 0)):
        figures = (
            _figure(row["agreement"]),
            _range(row["agreement_interval"]),
            _figure(row["fleiss_kappa"]),
            _range(row["fleiss_kappa_interval"]),
        )
        labels.add_row(name, f"{row['answers']:,}", f"{row['agreed']:,}", *figures)
    yield labels
    outside = [f"{text} {count}" for text, count in report["outside"].items()]
    if outside:
        more = f", and {len(outside) - most} more" if len(outside) > most else ""
        yield (
            f"{counted(sum(report['outside'].values()), 'answers are')} outside the "
            f"{counted(len(report['per_label']), 'labels')}: "
            f"{', '.join(outside[:most])}{more} (--label-set names other labels than those of "
            f"{report['label_set']})"
        )
    if report["mapped"]:
        yield "read as a label: " + ", ".join(
            f"{text} → {row['label']} ({row['by']}) {row['answers']}" for text, row in report["mapped"].items()
        )
    repeated = report["repeated_texts"]
    yield (
        f"{counted(repeated['texts'], 'texts occur')} in {counted(repeated['tasks'], 'tasks')}; "
        f"{repeated['conflicting']:,} of them with "
        "conflicting labels"
    )
    if "stated" in report:
        stated = report["stated"]
        yield (
            f"the file calls {counted(stated['agreed'], 'rows')} agreed; "
            f"{counted(stated['other_than_majority_as_given'], 'rows differ')} "
            "from the majority of the answers as they "
            f"stand, {stated['other_than_majority_normalised']:,} from that of the normalised answers"
        )
    if report["left_out"]:
        yield "left out: " + ", ".join(f"{reason} {count:,}" for reason, count in report["left_out"].items())


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _range(values: list[float | None]) -> str:
    low, high = values
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


@explained()
def judgements(
    source: Annotated[
        Path,
        typer.Argument(help="Folder of a batch with `answers.jsonl`, or a file of answers.", show_default=False),
    ],
    batch: HitBatch = None,
    rules: QualityRecipe = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the intervals and tests.")] = 0,
) -> None:
    """Show how people judged the responses of each model, as in Xie & Pu's Table 6: fractions with intervals,
    agreement, and a test for every pair of models.
    """
    from edos_dataset.commands.crowd import measure_judgements

    report = call(measure_judgements, locals())
    emit(dict(report), as_json, judgement_tables(report))


def judgement_tables(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the report of `measure_judgements`: a table for each test set, the agreement, and the tests of models."""
    from edos_dataset.cli.data_table import Table

    gone = ", ".join(f"{reason} {count:,}" for reason, count in report["discarded"].items())
    yield (
        f"{counted(report['judgements'], 'judgements')} on {counted(report['dialogues'], 'dialogues')} by "
        f"{counted(report['workers'], 'workers')}; "
        f"{counted(report['assignments'], 'assignments')}, discarded: {gone or 'none'}"
    )
    for name, models in report["sets"].items():
        table = Table("model", "judged", *(f"{grade} %, 95 %" for grade in ("good", "okay", "bad")))
        table.title = None if len(report["sets"]) == 1 else styled(name)
        for model, row in models.items():
            cells = [_share(row, grade) for grade in ("good", "okay", "bad")]
            table.add_row(model, f"{row['judgements']:,}", *cells)
        yield table
    if agreement := report["agreement"]:
        measured = ", ".join(
            f"{name.replace('_', ' ')} {agreement[name]:.3f} ({_range(agreement[f'{name}_interval'])})"
            for name in ("pairwise_agreement", "fleiss_kappa", "krippendorff_alpha")
            if agreement[name] is not None
        )
        yield f"agreement on {counted(agreement['responses'], 'responses')}: {measured}"
    tests = Table("models", "dialogues", "difference of scores", "95 %", "p", "p, Holm")
    for row in report["tests"]:
        tests.add_row(
            f"{row['first']} - {row['second']}",
            f"{row['dialogues']:,}",
            f"{row['difference']:+.3f}",
            _range(row["difference_interval"]),
            f"{row['p']:.4f}",
            styled((f"{row['p_holm']:.4f}", "bold" if row["p_holm"] < 0.05 else "")),
        )
    yield tests


def _share(row: Mapping[str, Any], grade: str) -> str:
    low, high = row[f"{grade}_interval"]
    between = "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * row[grade]:.1f}{between}"


@explained()
def seed(
    source: Answers,
    out: Annotated[Path, typer.Option(help="Output folder; an earlier seed in it is updated.", show_default=False)],
    method: Annotated[
        str, typer.Option(help="How to aggregate answers: `majority`, `dawid-skene` or `mace`.")
    ] = "majority",
    ties: Annotated[
        str,
        typer.Option(
            help="If no label wins: `abstain` (no label), take the `first` or a `random` tied label, or keep only the "
            "`soft` label."
        ),
    ] = "abstain",
    least_votes: Annotated[int, typer.Option(min=1, help="Minimum number of answers for a majority.")] = 2,
    repeats: Annotated[
        str, typer.Option(help="`pool` the answers to identical texts, or keep each task's `own`.")
    ] = "pool",
    encoder: Annotated[
        str,
        typer.Option(
            help="SentenceTransformer that finds near-duplicates: a name, folder or Hub id.", show_default=True
        ),
    ] = "all-MiniLM-L6-v2",
    near: Annotated[
        float,
        typer.Option(help="Minimum cosine similarity, 0 to 1, of the last turns of dialogues that share a split."),
    ] = 0.95,
    shares: Annotated[
        tuple[float, float, float], typer.Option(help="Fractions of the train, validation and test splits.")
    ] = (
        0.6,
        0.2,
        0.2,
    ),
    columns: AnswerColumns = None,
    label_set: AnswerLabels = None,
    label_map: LabelMapOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    force: Force = False,
) -> None:
    """Build the dataset `amt_seed`: dialogues with the agreed label, all answers, soft labels, and splits without
    near-duplicates between them.
    """
    from edos_dataset.commands.crowd import make_seed

    counts = call(make_seed, locals())
    splits = ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items())
    texts = (
        f"{counted(counts['tasks'], 'tasks')}, {counted(counts['texts'], 'texts')}, "
        f"{counts['labelled']:,} of them with a label"
    )
    say([f"{texts}: {splits}", load_call(out.as_posix(), "amt_seed")])
