"""`edos audit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Config, Force

if TYPE_CHECKING:
    from rich.table import Table


@explained()
def audit(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="A folder of `edos curate`, `books` or `extend`; or the judgements that its page gave, one file a "
            "reader.",
            show_default=False,
        ),
    ],
    config: Config = None,
    dialogues: Annotated[
        int | None, typer.Option(min=1, help="Dialogues to judge, drawn at random.", show_default="50")
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Pairs of turns instead, of all dialogues.", show_default=False)
    ] = None,
    books: Annotated[
        Path | None,
        typer.Option(help="The books that they are from, to show the paragraphs around them.", show_default=False),
    ] = None,
    around: Annotated[int, typer.Option(min=0, help="Turns or paragraphs to show before and after.")] = 6,
    blind: Annotated[bool, typer.Option("--blind", help="Hide the source of each until it is judged.")] = False,
    per_label: Annotated[
        int, typer.Option(min=1, help="Of `edos extend`: random, and as many doubtful, examples a label and step.")
    ] = 5,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the drawing.")] = 0,
    by: Annotated[
        str, typer.Option(help="Tell rates apart by `source`, `document_id`, `language`, `split` or `config`.")
    ] = "source",
    out: Annotated[
        Path | None, typer.Option(help="The page of dialogues.", show_default="audit_CONFIG_dialogues.html")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a page of dialogues, or of labels, to judge, or tell the error rates that it gave, with 95 % intervals."""
    from edos_dataset.audits.errors import DIALOGUES, PAIRS
    from edos_dataset.commands.audit import audits_labels, write_dialogues_page, write_page

    if dialogues is not None and pairs is not None:
        raise typer.BadParameter("give --dialogues or --pairs, not both")
    if not sources[0].is_dir():
        return _tell(sources, by, as_json)
    if len(sources) > 1:
        raise typer.BadParameter(f"{sources[1]}: a page is made of one folder")
    if dialogues is None and pairs is None and audits_labels(sources[0], config):
        return _say(write_page(sources[0], per_label, random_seed, force), "the random examples")
    unit, number = (DIALOGUES, dialogues) if pairs is None else (PAIRS, pairs)
    page = write_dialogues_page(sources[0], config, unit, number, books, random_seed, around, blind, out, force)
    _say(page, "by keys or buttons")


def _say(page: Path, how: str) -> None:
    say([escape(f"{page}: judge {how}, download the judgements, and give that file to `edos audit`")])


def _tell(files: list[Path], by: str, as_json: bool) -> None:
    """Print what judgements come to."""
    from edos_dataset.audits.judgements import of_dialogues, read_judgements
    from edos_dataset.audits.rates import dialogue_rates
    from edos_dataset.augmentation.audit import judged

    if len(files) == 1 and not of_dialogues(read_judgements(files[0])):
        rates = judged(files[0])
        emit(rates, as_json, [judgement_table(rates)])
    else:
        rates = dialogue_rates(files, by)
        emit(rates, as_json, dialogue_tables(rates))


def dialogue_tables(rates: Mapping[str, Any]) -> "list[Table]":
    """Return the tables of what `audits.rates.dialogue_rates` gives: errors, groups and readers, agreement."""
    from rich.table import Table

    unit, paper = rates["unit"], "paper" in rates["without_error"]
    errors = Table(title=f"{rates['items']:,} {unit} of {rates['kind']}, {len(rates['readers'])} readers")
    for name in ("", f"share of {unit}", "95 % interval", *["the paper's"] * paper):
        errors.add_column(name, justify="right" if name else "left")
    for name, own in [("no error", rates["without_error"]), *((own["name"], own) for own in rates["errors"].values())]:
        theirs = [f"{own['paper']:.0%}" if own["paper"] is not None else ""] if paper else []
        errors.add_row(escape(name), *_figures(own), *theirs)
    parts = Table(title="no error")
    for name in (f"{rates['by']}, reader", unit, "share", "95 % interval"):
        parts.add_column(name, justify="left" if name.startswith(rates["by"]) else "right")
    for name, own in [*rates["groups"].items(), *((f"reader {name}", own) for name, own in rates["readers"].items())]:
        parts.add_row(escape(name), f"{own['items']:,}", *_figures(own))
    return [errors, parts, *_agreement(rates)]


def _agreement(rates: Mapping[str, Any]) -> "list[Table]":
    from rich.table import Table

    if rates["agreement"] is None:
        return []
    table = Table(title=f"agreement on {rates['agreement']['items']:,} {rates['unit']} that several read")
    of = rates["agreement"]["of"]
    names = list(next(iter(of.values())))
    table.add_column("")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for code, own in of.items():
        told = rates["errors"][code]["name"] if code in rates["errors"] else code
        table.add_row(told, *("" if own[name] is None else f"{own[name]:.2f}" for name in names))
    return [table]


def _figures(own: Mapping[str, Any]) -> tuple[str, str]:
    return f"{own['share']:.1%}", "{:.1%} – {:.1%}".format(*own["interval"])


def judgement_table(rates: Mapping[str, Any]) -> "Table":
    """Return the table of error rates that `augmentation.audit.judged` gives."""
    from rich.table import Table

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
