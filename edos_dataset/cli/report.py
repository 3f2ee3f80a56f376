"""`edos report` and `edos audit`: pages that describe a dataset, and pages on which people judge it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import call, emit, explained, styled
from edos_dataset.cli.options import (
    AsJson,
    Column,
    Config,
    Force,
    IdColumn,
    LabelColumn,
    LabelMapOption,
    OneDialogue,
    Revision,
    SkipBad,
    Workers,
)
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edos_dataset.cli.data_table import Table


@explained(kept="Nothing was written; fix this and run the same command again", stopped="Nothing was written.")
def report(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder written by `edos`, JSON lines with labels, a dataset on the Hub, or one of "
            "`empathetic_dialogues`, `dailydialog`, `meld`.",
            show_default=False,
        ),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Dataset to compare with, given like the source, or as `NAME#CONFIG`, `NAME@REVISION`. May be "
            "repeated."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Output page; figures and pictures are written beside it.")] = Path(
        "report.html"
    ),
    config: Config = None,
    revision: Revision = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the datasets that are given by name.", show_default="EDOS_DATA_DIR"),
    ] = None,
    pictures: Annotated[bool, typer.Option(help="Also write every picture as PNG and SVG.")] = True,
    workers: Workers = None,
    label_set: Annotated[
        str | None,
        typer.Option(
            "--label-set",
            help="Label set of a file's labels: a name (`edos labels list`) or a YAML file; folders written by `edos` "
            "state their own.",
            show_default="edos41",
        ),
    ] = None,
    label_map: LabelMapOption = None,
    column: Column = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    one_dialogue: OneDialogue = False,
    skip_bad: SkipBad = False,
    language: Annotated[
        str,
        typer.Option(
            help="Language in which page and pictures name the 41 labels: en, de, es, fr, hu, it, nl or pt. Figures "
            "have the English names."
        ),
    ] = "en",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a report on a dataset as one page that works offline, optionally compared with other datasets.

    It shows sizes, labels, their flow and typical words, duplicates and leaks between splits, and example dialogues.

    Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 5 nothing
    came out; 130 stopped.
    """
    from edos_dataset.commands.report import report as run

    figures = call(run, locals())
    emit(dict(figures), as_json, _report_lines(figures, out))


def _report_lines(figures: Mapping[str, Any], out: Path) -> "Iterator[RenderableType]":
    from edos_dataset.cli.data_table import Table

    table = Table("data set", "dialogues", "turns", "tokens")
    for one in figures["data"]:
        table.add_row(one["name"], *(f"{one['sizes'][name]:,}" for name in ("dialogues", "turns", "tokens")))
    distances = Table("labels compared with", "KL", "Jensen-Shannon", "in labels of")
    for one in figures["comparisons"]:
        if one.get("all"):
            distances.add_row(one["with"], *(f"{one['all'][name]:.4f}" for name in ("kl", "js")), one["labels_of"])
    for column in (*table.columns[1:], *distances.columns[1:3]):
        column.justify = "right"
    yield from (each for each in (table, distances) if each.row_count)
    for one in figures["comparisons"]:
        if "why_not" in one:
            yield styled((f"{one['with']}: not compared, {one['why_not']}", "yellow"))
    yield styled((str(out), "green"), f", with its figures in {out.with_suffix('.json')}")


@explained()
def audit(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="A folder written by `edos curate`, `books` or `extend`; or judgements downloaded from its page, one "
            "file per annotator.",
            show_default=False,
        ),
    ],
    config: Config = None,
    dialogues: Annotated[
        int | None, typer.Option(min=1, help="Number of random dialogues to judge.", show_default="50")
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of random pairs of consecutive turns to judge instead of dialogues.", show_default=False
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels", help="Judge labels instead: random turns of every label, in their dialogues, and doubtful ones."
        ),
    ] = False,
    books: Annotated[
        Path | None,
        typer.Option(help="Books that the dialogues are from, to show the paragraphs around them.", show_default=False),
    ] = None,
    around: Annotated[
        int, typer.Option(min=0, help="Maximum number of turns or paragraphs to show before and after each item.")
    ] = 6,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide the source of each item, or its label, until it is judged.")
    ] = False,
    per_label: Annotated[
        int,
        typer.Option(
            min=1,
            help="For labels: number of random turns per label (and step of `edos extend`), and of doubtful ones.",
        ),
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    by: Annotated[
        str, typer.Option(help="Group error rates by `source`, `document_id`, `language`, `split` or `config`.")
    ] = "source",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output page; that of a folder of `edos extend` is `audit.html` in it.",
            show_default="audit_CONFIG_dialogues.html or ..._labels.html",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a page on which people judge dialogues or labels; or, given their judgements, print the error rates with
    95 % intervals.
    """
    from edos_dataset.commands.audit import audit as run

    done = call(run, locals())
    if "page" in done:
        line = f"{done['page']}: judge by keys or buttons, download the judgements, and pass that file to `edos audit`"
        emit(dict(done), as_json, [line])
    else:
        emit(dict(done), as_json, dialogue_tables(done) if "unit" in done else label_tables(done))


def dialogue_tables(rates: Mapping[str, Any]) -> "list[Table]":
    """Return the tables of `audits.judgements.dialogue_rates`: errors, groups and annotators, and agreement."""
    from edos_dataset.cli.data_table import Table

    unit, paper = rates["unit"], "paper" in rates["without_error"]
    errors = Table(
        title=f"{counted(rates['items'], unit)} of {rates['kind']}, {counted(len(rates['readers']), 'readers')}"
    )
    for name in ("", f"share of {unit}", "95 % interval", *["the paper's"] * paper):
        errors.add_column(name, justify="right" if name else "left")
    for name, own in [("no error", rates["without_error"]), *((own["name"], own) for own in rates["errors"].values())]:
        theirs = [f"{own['paper']:.0%}" if own["paper"] is not None else ""] if paper else []
        errors.add_row(name, *_figures(own), *theirs)
    parts = Table(title="no error")
    for name in (f"{rates['by']}, reader", unit, "share", "95 % interval"):
        parts.add_column(name, justify="left" if name.startswith(rates["by"]) else "right")
    for name, own in [*rates["groups"].items(), *((f"reader {name}", own) for name, own in rates["readers"].items())]:
        parts.add_row(name, f"{own['items']:,}", *_figures(own))
    return [errors, parts, *_agreement(rates)]


def _agreement(rates: Mapping[str, Any]) -> "list[Table]":
    from edos_dataset.cli.data_table import Table

    if rates["agreement"] is None:
        return []
    table = Table(title=f"agreement on {counted(rates['agreement']['items'], rates['unit'])} that several read")
    of = rates["agreement"]["of"]
    names = list(next(iter(of.values())))
    table.add_column("")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for code, own in of.items():
        error = rates["errors"][code]["name"] if code in rates["errors"] else code
        table.add_row(error, *("" if own[name] is None else f"{own[name]:.2f}" for name in names))
    return [table]


def _figures(own: Mapping[str, Any]) -> tuple[str, str]:
    return f"{own['share']:.1%}", "{:.1%} – {:.1%}".format(*own["interval"])


def label_tables(rates: Mapping[str, Any]) -> "list[Table]":
    """Return the tables of `audits.label_rates.label_rates`: steps, labels with the readers' own, groups, agreement."""
    steps = list(rates["steps"].items()) if len(rates["steps"]) > 1 else []
    readers = [(f"reader {name}", own) for name, own in rates["readers"].items()]
    tables = [
        _right_table(
            f"labels that are right, {counted(len(readers), 'readers')}",
            "",
            [*steps, ("all, by frequency", rates["overall"])],
            (
                "least certain",
                lambda _, own: f"{own['worst']['judged'] - own['worst']['wrong']:,} of {own['worst']['judged']:,}",
            ),
        ),
        _right_table("by label", "label", list(rates["labels"].items()), ("rather", partial(_rather, rates))),
        _right_table(f"by {rates['by']}", f"{rates['by']}, reader", [*rates["groups"].items(), *readers]),
    ]
    return [*tables, *_agreement({**rates, "unit": "labels", "errors": {}})]


def _right_table(
    title: str,
    first: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    more: tuple[str, Callable[[str, Mapping[str, Any]], str]] | None = None,
) -> "Table":
    from edos_dataset.cli.data_table import Table

    table = Table(title=title)
    table.add_column(first)
    for name in ("judged", "right", "95 % interval", "unsure"):
        table.add_column(name, justify="right")
    if more:
        table.add_column(more[0], justify="left" if more[0] == "rather" else "right")
    for name, own in rows:
        known = own["right"] is not None
        share = (f"{own['right']:.1%}", "{:.1%} – {:.1%}".format(*own["right_interval"])) if known else ("", "")
        cells = [f"{own['judged']:,}", *share, f"{own['unsure']:,}", *([more[1](name, own)] if more else [])]
        table.add_row(name, *cells)
    return table


def _rather(rates: Mapping[str, Any], label: str, _: Mapping[str, Any]) -> str:
    """Return the labels that readers gave instead, the most frequent first."""
    own = rates["confusion"].get(label, {})
    return ", ".join(f"{name} {number}" if number > 1 else name for name, number in own.items() if name != label)
