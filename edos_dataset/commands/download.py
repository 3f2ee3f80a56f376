"""The verbs that provide data: `download` for public sources, `sample` for the packaged sample."""

import os
from collections.abc import Callable, Iterator
from filecmp import cmp
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import file_bars, warn
from edos_dataset.downloads.fetching import Plan
from edos_dataset.downloads.fetching import download as fetch
from edos_dataset.downloads.gutenberg import CONSEQUENCES, LICENCE, MIRRORS, PAUSE, Wanted, fetch_books
from edos_dataset.downloads.records import RECORDS
from edos_dataset.downloads.registry import find_source
from edos_dataset.runs.stores.paths import local_place
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from edos_dataset.downloads.fetching import FileProgress

GUTENBERG = "gutenberg"
_SHOWN = 8  # files at most

Agree = Callable[[list[str]], bool]
"""Given lines on what would be fetched (address, size, licence, free disk space), returns whether to go ahead."""


@verb
def download(
    name: str,
    out: str | Path | None = None,
    *,
    yes: bool | Agree = False,
    changed: bool = False,
    language: str | None = None,
    limit: int = 50,
    mirror: str | None = None,
    progress: "bool | FileProgress | None" = None,
) -> Result:
    """Download a public source, as `edos download` does. After an interruption the same call resumes.

    Files are verified by checksum if the owner publishes one. Their hashes are recorded in the folder's
    `downloads.json`, and later downloads are compared with them.

    Args:
        name: name of a source, such as "opensubtitles-en"; `edos download` lists all.
        out: output folder; by default EDOS_DATA_DIR.
        yes: agree to size and licence; or a function that is given them and returns whether to go ahead.
        changed: accept files that differ from those downloaded before.
        language: language code of the books; only for "gutenberg".
        limit: maximum number of books; only for "gutenberg".
        mirror: address of a mirror; only for "gutenberg".
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        `files`: path → SHA-256 and how it was checked; for "gutenberg" also `listed`, the number of books in the
        catalogue, and `missing`, the numbers of books without plain text. Empty if a function given as `yes` declined.

    Raises:
        ValueError: there is no such source, or `yes` is false.
        DownloadError: a file is not available or is damaged.
    """
    given = os.environ.get("EDOS_DATA_DIR", "") if out is None else out
    target = local_place(given, "--out of `edos download`")
    agree = yes if callable(yes) else (_agreed if yes else _refuse)
    if name != GUTENBERG and (language is not None or mirror is not None):
        raise ValueError(f"--language and --mirror are options of `edos download {GUTENBERG}`, not of {name!r}")
    source = None if name == GUTENBERG else find_source(name)
    if target == Path():
        raise ValueError("no folder is given: name one as --out, or in the environment as EDOS_DATA_DIR")
    if source is None:
        return _gutenberg(target, language, limit, mirror, changed, agree, progress)
    with file_bars(progress) as report:
        records = fetch(source, target, lambda plan: agree(plan_lines(plan)), changed=changed, progress=report)
    return Result("download", {} if records is None else {"files": records}, target, {"files": len(records or ())})


def _gutenberg(
    target: Path,
    language: str | None,
    limit: int,
    mirror: str | None,
    changed: bool,
    agree: Agree,
    progress: "bool | FileProgress | None",
) -> Result:
    if language is None:
        raise ValueError("no language is given: name one as --language, such as `--language hu`")
    wanted = Wanted(language, limit, mirror or MIRRORS[0], target)
    lines = [
        f"{wanted.source}: {wanted.title}",
        f"  from     {wanted.mirror}, a request every {PAUSE:g} seconds, as Project Gutenberg asks for",
        f"  licence  {LICENCE}",
        f"           {CONSEQUENCES}",
        f"  to       {target / GUTENBERG}",
    ]
    with file_bars(progress) as report:
        fetched = fetch_books(wanted, lambda _: agree(lines), changed=changed, progress=report)
    if fetched is None:
        return Result("download", {}, target)
    for book in fetched.missing:
        warn(f"{wanted.mirror} has no plain text of {book.number}, {book.title or 'without a title'}")
    missing = [book.number for book in fetched.missing]
    facts = {"files": fetched.records, "listed": fetched.listed, "missing": missing}
    return Result("download", facts, target, {"books": len(fetched.records), "in the catalogue": fetched.listed})


def _agreed(_: list[str]) -> bool:
    return True


def _refuse(lines: list[str]) -> bool:
    raise ValueError("\n".join(["give --yes to fetch this:", *lines]))


def plan_lines(plan: Plan) -> list[str]:
    """Return lines on a planned download: address, size, licence, target, free disk space, and how it is verified."""
    from rich.filesize import decimal

    source, offered = plan.source, [file for file, _ in plan.offers]
    more = f" and {counted(len(offered) - 1, 'more files')}" if len(offered) > 1 else ""
    size = (
        "unknown: the server does not say"
        if plan.size is None
        else f"{decimal(plan.size)} ({counted(plan.size, 'bytes')})"
    )
    there = f"; {counted(len(plan.there), 'files are')} there" if plan.there else ""
    partly = f"; {counted(plan.partly, 'bytes are')} there from an earlier try" if plan.partly else ""
    published = sum(bool(file.sha256) for file in offered) == len(offered)
    checked = "by SHA-256" if published else "by size and by what the server states: nobody states a checksum"
    return [
        f"{source.name}: {source.title}",
        f"  from     {offered[0].url}{more}",
        f"  size     {size}{there}{partly}",
        f"  licence  {source.licence}",
        f"           {source.consequences}",
        f"  to       {plan.out / offered[0].path}{' (unpacked)' if offered[0].unpack else ''}",
        f"  disk     {decimal(plan.free)} free",
        f"  checked  {checked}",
    ]


def fetched_lines(done: Result) -> Iterator[str]:
    """Yield a line for each of the first downloaded files, with its hash and how it was checked."""
    target, records = done.folder or Path(), sorted(done["files"].items())
    for path, record in records[:_SHOWN]:
        yield f"{target / path}: {record['sha256'][:12]}, checked by {record['checked']}"
    if len(records) > _SHOWN:
        yield f"and {len(records) - _SHOWN} more, in {target / RECORDS}"


@verb
def sample(folder: str | Path) -> Result:
    """Copy the packaged sample to a folder: short invented films in every format and with every kind of defect.

    Raises:
        ValueError: a file of the folder that is not the sample's would be replaced.
    """
    folder = local_place(folder, "the folder of `edos sample`")
    with as_file(files("edos_dataset") / "sample" / "films") as films:
        for path in sorted(Path(films).rglob("*")):
            target = folder / path.relative_to(films)
            if path.is_file() and target.exists() and not (target.is_file() and cmp(path, target, shallow=False)):
                raise ValueError(f"{target} is there already and not the sample's: give another folder")
        copytree(films, folder, dirs_exist_ok=True)
    number = sum(path.is_file() for path in folder.rglob("*"))
    return Result("sample", {"files": number}, folder, {"files": number}, f"edos curate {folder} --out edos")
