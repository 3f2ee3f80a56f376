"""`edos download`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape

from edos_dataset.cli.console import leads, say
from edos_dataset.cli.errors import FAILED, WRONG_USAGE, Ended, explained

if TYPE_CHECKING:
    from edos_dataset.downloads.fetching import FileProgress, Plan

_SHOWN = 8  # files at most


@explained()
def download(
    name: Annotated[str | None, typer.Argument(help="What to fetch.", show_default="list what there is")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write.", show_default="EDOS_DATA_DIR")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Take files that differ from those fetched before.")
    ] = False,
) -> None:
    """Fetch a public source, or, without a name, list them with their licences.

    Address, size, licence and free disk space are shown, and you are asked, before a byte moves. Stopped or cut off,
    the same command goes on where it was. What came is verified by checksum where one is stated, and recorded in
    `downloads.json` of the folder, by which later downloads are compared. Exit codes: 0 done, 1 failed (the message
    says why), 2 there is no terminal to ask at and no --yes.
    """
    from edos_dataset.downloads.fetching import download as fetch
    from edos_dataset.downloads.records import RECORDS
    from edos_dataset.downloads.registry import find_source

    if name is None:
        say(_list())
        return
    source = find_source(name)
    target = out or Path(os.environ.get("EDOS_DATA_DIR", ""))
    if target == Path():
        raise ValueError("no folder is given: name one as --out, or in the environment as EDOS_DATA_DIR")

    def agree(plan: "Plan") -> bool:
        say(map(escape, plan_lines(plan)), stderr=True)
        if not yes and not _can_ask():
            raise Ended(WRONG_USAGE, "There is no terminal to ask at: give --yes to fetch it.")
        return yes or typer.confirm("Fetch it?", err=True)

    if len(source.files) > 1:
        typer.echo(f"asking about {len(source.files)} files", err=True)
    with _progress() as progress:
        records = fetch(source, target, agree, changed=changed, progress=progress)
    if records is None:
        raise Ended(FAILED, "Nothing was fetched.")
    shown = sorted(records.items())[:_SHOWN]
    lines = [f"{target / path}: {record['sha256'][:12]}, checked by {record['checked']}" for path, record in shown]
    if len(records) > len(shown):
        lines.append(f"and {len(records) - len(shown)} more, in {target / RECORDS}")
    say(map(escape, lines))


def _can_ask() -> bool:
    return sys.stdin.isatty()


def plan_lines(plan: "Plan") -> Iterator[str]:
    """Yield what a user should know before a byte moves."""
    from rich.filesize import decimal

    source, files = plan.source, [file for file, _ in plan.offers]
    more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    size = "unknown: the server does not say" if plan.size is None else f"{decimal(plan.size)} ({plan.size:,} bytes)"
    there = f"; {len(plan.there)} files are there" if plan.there else ""
    stated = sum(bool(file.sha256) for file in files)
    yield f"{source.name}: {source.title}"
    yield f"  from     {files[0].url}{more}"
    yield f"  size     {size}{there}{f'; {plan.partly:,} bytes are there from an earlier try' if plan.partly else ''}"
    yield f"  licence  {source.licence}"
    yield f"           {source.consequences}"
    yield f"  to       {plan.out / files[0].path}{' (unpacked)' if files[0].unpack else ''}"
    yield f"  disk     {decimal(plan.free)} free"
    yield (
        "  checked  "
        f"{'by SHA-256' if stated == len(files) else 'by size and by what the server states: nobody states a checksum'}"
    )


def _list() -> Iterator[RenderableType]:
    from rich.table import Table

    from edos_dataset.downloads.registry import LANGUAGES, OTHERS, opensubtitles

    table = Table()
    for heading in ("name", "what", "files", "licence"):
        table.add_column(heading, overflow="fold")
    english = opensubtitles("en")
    table.add_row("opensubtitles-LANGUAGE", english.title.replace(" en:", " a language:"), "1", english.licence)
    for source in OTHERS:
        table.add_row(source.name, source.title, str(len(source.files)), source.licence)
    yield table
    yield f"LANGUAGE is one of {' '.join(LANGUAGES)}"


@contextmanager
def _progress() -> "Iterator[FileProgress]":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, quiet=not leads()),
    )
    tasks: dict[str, TaskID] = {}

    def report(path: str, done: int, total: int | None) -> None:
        if path not in tasks:
            for task in tasks.values():
                bars.remove_task(task)
            tasks.clear()
            bars.start()  # here, so that no bar is in the way of the question
            tasks[path] = bars.add_task(path, total=total)
        bars.update(tasks[path], completed=done, total=total)

    try:
        yield report
    finally:
        bars.stop()
