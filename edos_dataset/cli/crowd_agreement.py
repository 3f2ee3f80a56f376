"""`edos crowd agreement`."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AnswerColumns, Answers, AsJson


@explained()
def agreement(
    source: Answers,
    as_json: AsJson = False,
    outside: Annotated[
        str,
        typer.Option(help="An answer that is none of the 41: `own` label, one `other` label for all, or `missing`."),
    ] = "own",
    columns: AnswerColumns = None,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 0,
) -> None:
    """Measure how far people agree: raw agreement, Fleiss' kappa, Krippendorff's alpha, with 95 % intervals, and for
    each label.

    Rows agree where one label has the most answers, alone, and at least two.
    """
    from edos_dataset.crowd.agreement import measure
    from edos_dataset.crowd.answers import MTurkColumns, read_answers

    chosen: Any = outside
    report = measure(read_answers(source, MTurkColumns().override(columns or [])), chosen, seed=random_seed)
    emit(report, as_json, agreement_tables(report))


def agreement_tables(report: Mapping[str, Any], most: int = 15) -> Iterator[RenderableType]:
    """Yield the report of `agreement.measure`: the measures, the labels, and the answers outside the 41, `most` of
    them.
    """
    from rich.table import Table

    from edos_dataset.crowd.agreement import MEASURES
    from edos_dataset.labels import LABELS

    yield f"{report['rows']:,} tasks, {report['answers']:,} answers, {report['agreed']:,} tasks agreed on"
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
    outside = [f"{escape(text)} {count}" for text, count in report["outside"].items()]
    if outside:
        more = f", and {len(outside) - most} more" if len(outside) > most else ""
        yield (
            f"{sum(report['outside'].values())} answers are none of the {len(LABELS)} labels: "
            f"{', '.join(outside[:most])}{more}"
        )
    if report["mapped"]:
        yield "taken for a label: " + ", ".join(
            f"{escape(text)} → {row['label']} ({row['by']}) {row['answers']}" for text, row in report["mapped"].items()
        )
    repeated = report["repeated_texts"]
    yield (
        f"{repeated['texts']:,} texts come in {repeated['tasks']:,} tasks; {repeated['conflicting']:,} of them with "
        "conflicting labels"
    )
    if "stated" in report:
        stated = report["stated"]
        yield (
            f"the file calls {stated['agreed']:,} rows agreed; {stated['other_than_majority_as_given']:,} rows differ "
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
