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

from edos_dataset.cli.console import note, say, silent
from edos_dataset.cli.errors import FAILED, WRONG_USAGE, Ended, explained

if TYPE_CHECKING:
    from edos_dataset.downloads.fetching import FileProgress, Plan
    from edos_dataset.downloads.verifying import Record

GUTENBERG = "gutenberg"
_SHOWN = 8  # files at most


@explained()
def download(
    name: Annotated[str | None, typer.Argument(help="What to fetch.", show_default="list what there is")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write.", show_default="EDOS_DATA_DIR")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Take files that differ from those fetched before.")
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="Of `gutenberg`: code of the language of the books, such as hu.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Of `gutenberg`: books at most.", min=1)] = 50,
    mirror: Annotated[
        str | None, typer.Option(help="Of `gutenberg`: address of a mirror.", show_default="gutenberg.pglaf.org")
    ] = None,
) -> None:
    """Fetch a public source, or, without a name, list them with their licences.

    Address, size, licence and free disk space are shown, and you are asked, before a byte moves. Stopped or cut off,
    the same command goes on where it was. What came is verified by checksum where one is stated, and recorded in
    `downloads.json` of the folder, by which later downloads are compared. Exit codes: 0 done, 1 failed (the message
    says why), 2 there is no terminal to ask at and no --yes.
    """
    from edos_dataset.downloads.fetching import download as fetch
    from edos_dataset.downloads.registry import find_source

    if name is None:
        say(_list())
        return
    target = out or Path(os.environ.get("EDOS_DATA_DIR", ""))
    if name == GUTENBERG:
        _fetch_gutenberg(_existing(target), language, limit, mirror, yes, changed)
        return
    if language is not None or mirror is not None:
        raise ValueError(f"--language and --mirror are options of `edos download {GUTENBERG}`, not of {name!r}")
    source = find_source(name)
    _existing(target)

    def agree(plan: "Plan") -> bool:
        return _agreed(plan_lines(plan), yes)

    if len(source.files) > 1:
        note(f"asking about {len(source.files)} files")
    with _progress() as progress:
        records = fetch(source, target, agree, changed=changed, progress=progress)
    if records is None:
        raise Ended(FAILED, "Nothing was fetched.")
    _tell(records, target)


def _fetch_gutenberg(
    target: Path, language: str | None, limit: int, mirror: str | None, yes: bool, changed: bool
) -> None:
    """Fetch books of Project Gutenberg."""
    from edos_dataset.downloads.gutenberg import CONSEQUENCES, LICENCE, MIRRORS, PAUSE, Wanted, fetch_books

    if language is None:
        raise ValueError("no language is given: name one as --language, such as `--language hu`")
    wanted = Wanted(language, limit, mirror or MIRRORS[0], target)

    def agree(wanted: Wanted) -> bool:
        lines = (
            f"{wanted.source}: {wanted.title}",
            f"  from     {wanted.mirror}, a request every {PAUSE:g} seconds, as Project Gutenberg asks for",
            f"  licence  {LICENCE}",
            f"           {CONSEQUENCES}",
            f"  to       {target / GUTENBERG}",
        )
        return _agreed(iter(lines), yes)

    with _progress() as progress:
        fetched = fetch_books(wanted, agree, changed=changed, progress=progress)
    if fetched is None:
        raise Ended(FAILED, "Nothing was fetched.")
    _tell(fetched.records, target)
    for book in fetched.missing:
        note(f"{wanted.mirror} has no plain text of {book.number}, {book.title or 'without a title'}")
    say([escape(f"{len(fetched.records):,} of {fetched.listed:,} books that the catalogue lists are there")])


def _existing(target: Path) -> Path:
    if target == Path():
        raise ValueError("no folder is given: name one as --out, or in the environment as EDOS_DATA_DIR")
    return target


def _agreed(lines: Iterator[str], yes: bool) -> bool:
    say(map(escape, lines), stderr=True)
    if not yes and not _can_ask():
        raise Ended(WRONG_USAGE, "There is no terminal to ask at: give --yes to fetch it.")
    return yes or typer.confirm("Fetch it?", err=True)


def _tell(records: "dict[str, Record]", target: Path) -> None:
    """Tell what is there now."""
    from edos_dataset.downloads.records import RECORDS

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

    from edos_dataset.downloads.gutenberg import LICENCE
    from edos_dataset.downloads.registry import LANGUAGES, OTHERS, opensubtitles

    table = Table()
    for heading in ("name", "what", "files", "licence"):
        table.add_column(heading, overflow="fold")
    english = opensubtitles("en")
    table.add_row("opensubtitles-LANGUAGE", english.title.replace(" en:", " a language:"), "1", english.licence)
    table.add_row(GUTENBERG, "Project Gutenberg's books of a language, with --language", "--limit", LICENCE)
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
        console=Console(stderr=True, quiet=silent()),
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
