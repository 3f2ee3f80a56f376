"""`edos download`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from edos_dataset.cli.console import FAILED, WRONG_USAGE, Ended, call, explained, say
from edos_dataset.wording import counted

GUTENBERG = "gutenberg"


@explained()
def download(
    name: Annotated[str | None, typer.Argument(help="Source to download.", show_default="list the sources")] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="EDOS_DATA_DIR")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Download without asking for confirmation.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Accept files that differ from an earlier download.")
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="For `gutenberg`: language code of the books, such as `hu`.")
    ] = None,
    limit: Annotated[int, typer.Option(help="For `gutenberg`: maximum number of books.", min=1)] = 50,
    mirror: Annotated[
        str | None, typer.Option(help="For `gutenberg`: address of a mirror.", show_default="gutenberg.pglaf.org")
    ] = None,
) -> None:
    """Download a public source or, without a name, list the sources with their licences.

    Address, size, licence and free disk space are shown for confirmation before anything is downloaded. Run the same
    command to resume after an interruption. Files are verified if their owner publishes checksums; their hashes are
    recorded in the folder's `downloads.json`, and later downloads are compared with them. Exit codes: 0 done; 1 failed,
    with a message; 2 no terminal to ask for confirmation, and no --yes.
    """
    from edos_dataset.commands.download import download as run
    from edos_dataset.commands.download import fetched_lines

    if name is None:
        say(_list())
        return

    def agree(lines: list[str]) -> bool:
        say(lines, stderr=True)
        if not yes and not _can_ask():
            raise Ended(WRONG_USAGE, "There is no terminal to ask for confirmation: give --yes to download.")
        return yes or typer.confirm("Download it?", err=True)

    done = call(run, locals(), yes=agree)
    if not done:
        raise Ended(FAILED, "Nothing was downloaded.")
    say(fetched_lines(done))
    if "listed" in done:
        say([f"{len(done['files']):,} of {counted(done['listed'], 'books')} that the catalogue lists are there"])


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _list() -> Iterator[RenderableType]:
    from edos_dataset.cli.data_table import Table
    from edos_dataset.downloads.gutenberg import LICENCE
    from edos_dataset.downloads.registry import LANGUAGES, OTHERS, RELEASES, opensubtitles

    table = Table()
    for heading in ("name", "what", "files", "licence"):
        table.add_column(heading, overflow="fold")
    for release in RELEASES:
        english = opensubtitles("en", release)
        name, title = english.name.replace("-en", "-LANGUAGE"), english.title.replace(" en:", " a language:")
        table.add_row(name, title, "1", english.licence)
    table.add_row(GUTENBERG, "Project Gutenberg's books of a language, with --language", "--limit", LICENCE)
    for source in OTHERS:
        table.add_row(source.name, source.title, str(len(source.files)), source.licence)
    yield table
    yield f"LANGUAGE is one of {' '.join(LANGUAGES)}; opensubtitles2024 has others, too"
