"""`edos rejects`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType


@explained()
def rejects(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos books` wrote.", show_default=False)],
    reason: Annotated[
        str | None, typer.Option(help="Show what was dropped for this reason, such as `repetitive`.")
    ] = None,
    stage: Annotated[str | None, typer.Option(help="Show what this stage dropped, such as `clean`.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Files, lines, turns or dialogues to show at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what a run dropped, and why: how much for which reason, files that could not be read, and what was not read.

    With --reason or --stage the texts themselves, if the command was given --rejects.
    """
    from edos_dataset.publishing.rejected import kept_rejects, reasons_of, rejected_units
    from edos_dataset.runs.manifest import read_manifest

    manifest = read_manifest(run)
    reasons = reasons_of(manifest)
    result: dict[str, Any] = {
        "reasons": reasons,
        "quarantined": manifest.get("quarantined", []),
        "skipped": manifest["input"].get("skipped", []),
    }
    if reason is None and stage is None:
        emit(result, as_json, _overview(result, limit))
        return
    chosen = _chosen(reasons, result["quarantined"], reason, stage)
    paths = kept_rejects(run, manifest)
    units = (
        rejected_units(paths, manifest, reason, stage) if paths else _unreadable(result["quarantined"], reason, stage)
    )
    shown = list(islice(units, limit))
    emit({"reasons": chosen, "kept": bool(paths), "rejects": shown}, as_json, _texts(chosen, shown, bool(paths)))


def _chosen(
    reasons: Sequence[Mapping[str, Any]],
    quarantined: Sequence[Mapping[str, Any]],
    reason: str | None,
    stage: str | None,
) -> list[dict[str, Any]]:
    """Return the entries of `reasons` that are meant.

    Raises:
        ValueError: nothing was dropped so; the message says what was.
    """
    from edos_dataset.schema import meaning

    chosen = [dict(row) for row in reasons if reason in (None, row["reason"]) and stage in (None, row["stage"])]
    if not chosen and stage is None and (count := sum(note.get("reason") == reason for note in quarantined)):
        chosen = [{"stage": None, "unit": "files", "reason": reason, "count": count, "meaning": meaning(str(reason))}]
    if not chosen:
        asked = " and ".join(f"{name} {value!r}" for name, value in (("reason", reason), ("stage", stage)) if value)
        there = ", ".join(dict.fromkeys(f"{row['stage']} {row['reason']}" for row in reasons)) or "nothing"
        raise ValueError(f"nothing was dropped with the {asked}; dropped was (stage, reason): {there}")
    return chosen


def _unreadable(
    quarantined: Iterable[Mapping[str, Any]], reason: str | None, stage: str | None
) -> Iterator[dict[str, Any]]:
    """Yield, of a run that kept no texts, the files that could not be read: they stand in its manifest."""
    for note in quarantined:
        if "path" in note and stage in (None, "read") and reason in (None, note["reason"]):
            facts = {"stage": "read", "reason": note["reason"], "document": None, "path": note["path"]}
            yield {**facts, "detail": note["detail"], "texts": []}


def _overview(result: Mapping[str, Any], most: int) -> "Iterator[RenderableType]":
    from rich.table import Table

    table = Table()
    for name in ("stage", "reason"):
        table.add_column(name)
    table.add_column("dropped", justify="right")
    table.add_column("of what")
    table.add_column("why")
    for row in result["reasons"]:
        table.add_row(row["stage"], row["reason"], f"{row['count']:,}", row["unit"], row["meaning"])
    yield table if result["reasons"] else "Nothing was dropped."
    lines = [f"{note.get('reason')} {note.get('detail', note.get('dialogue_id'))}" for note in result["quarantined"]]
    yield from _listed("could not be read:", lines, most)
    yield from _listed("not read:", [f"{path} ({why})" for path, why in result["skipped"]], most)
    if result["reasons"]:
        yield "--reason REASON shows what it was"


def _listed(heading: str, lines: Sequence[str], most: int) -> Iterator[str]:
    if lines:
        yield heading
    yield from (escape(f"  {line}") for line in lines[:most])
    if len(lines) > most:
        yield f"  and {len(lines) - most:,} more; --limit shows more"


def _texts(chosen: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]], kept: bool) -> Iterator[str]:
    """Yield what was dropped as lines, those of one document together."""
    for row in chosen:
        name = escape(f"{row['stage'] or 'before the stages'}: {row['reason']}")
        unit = row["unit"].removesuffix("s") if row["count"] == 1 else row["unit"]
        yield f"[bold]{name}[/bold], {row['count']:,} {unit}. {escape(row['meaning'])}"
    before = None
    for unit in shown:
        here = (unit["stage"], unit["reason"], unit["path"], unit["document"])
        if here != before or len(unit["texts"]) != 1:
            told = unit["detail"] or unit["document"] or unit["path"]
            yield f"[yellow]{escape(unit['reason'])}[/yellow] {escape(told)}"
        before = here
        yield from (f"  - {escape(text)}" for text in unit["texts"])
    total = sum(row["count"] for row in chosen)
    if not kept and len(shown) < total:
        yield "The run did not keep what it dropped: give its command again with --rejects to see it."
    elif len(shown) < total:
        yield f"{len(shown):,} of {total:,}; --limit shows more"
