"""`edos report` and `edos audit`: pages that describe a dataset, and pages on which people judge it."""

from collections.abc import Iterator, Mapping
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

    table = Table("data set", "dialogues", "turns", "tokens", "KL", "Jensen-Shannon", "in labels of")
    for column in table.columns[1:-1]:
        column.justify = "right"
    compared = {one["with"]: one for one in figures["comparisons"] if "all" in one}
    for place, one in enumerate(figures["data"]):
        found = compared.get(one["name"]) if place else None
        sizes = (f"{one['sizes'][name]:,}" for name in ("dialogues", "turns", "tokens"))
        between = (f"{found['all'][name]:.4f}" if found else "" for name in ("kl", "js"))
        table.add_row(one["name"], *sizes, *between, found["labels_of"] if found else "")
    yield table
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
    books: Annotated[
        Path | None,
        typer.Option(help="Books that the dialogues are from, to show the paragraphs around them.", show_default=False),
    ] = None,
    around: Annotated[
        int, typer.Option(min=0, help="Maximum number of turns or paragraphs to show before and after each item.")
    ] = 6,
    blind: Annotated[bool, typer.Option("--blind", help="Hide the source of each item until it is judged.")] = False,
    per_label: Annotated[
        int,
        typer.Option(
            min=1,
            help="For a folder of `edos extend`: number of random examples per label and step, and of doubtful ones.",
        ),
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    by: Annotated[
        str, typer.Option(help="Group error rates by `source`, `document_id`, `language`, `split` or `config`.")
    ] = "source",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output page of dialogues or pairs; that of labels is `audit.html` in the folder.",
            show_default="audit_CONFIG_dialogues.html",
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
        how = "the random examples" if done["labels"] else "by keys or buttons"
        line = f"{done['page']}: judge {how}, download the judgements, and pass that file to `edos audit`"
        emit(dict(done), as_json, [line])
    else:
        emit(dict(done), as_json, dialogue_tables(done) if "unit" in done else [judgement_table(done)])


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


def judgement_table(rates: Mapping[str, Any]) -> "Table":
    """Return the table of the error rates of `augmentation.audit.judged`."""
    from edos_dataset.cli.data_table import Table

    table = Table()
    table.add_column("step")
    for name in ("judged", "wrong", "unsure", "error rate", "95 % interval", "doubtful ones: wrong of judged"):
        table.add_column(name, justify="right")
    for name, row in [*rates["steps"].items(), ("overall", rates["overall"])]:
        known = row["error_rate"] is not None
        rate, ends = (f"{row['error_rate']:.1%}", "{:.1%} – {:.1%}".format(*row["interval"])) if known else ("", "")
        table.add_row(
            name,
            f"{row['judged']:,}",
            f"{row['wrong']:,}",
            f"{row['unsure']:,}",
            rate,
            ends,
            f"{row['worst']['wrong']:,} of {row['worst']['judged']:,}",
        )
    return table
