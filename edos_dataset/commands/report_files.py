"""The files of a report, a page with its figures and its pictures beside it, which take their places together."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from edos_dataset.runs.out_file import check_out_file


class ReportFiles(NamedTuple):
    """Where they are.

    Attributes:
        page: HTML.
        figures: JSON.
        pictures: a folder of PNG and SVG.
    """

    page: Path
    figures: Path
    pictures: Path


def report_files(page: Path, force: bool) -> ReportFiles:
    """Return where the files of a report go.

    Args:
        page: `NAME.json` and the folder `NAME_pictures` come beside `NAME.html`.
        force: whether those of an earlier report may be replaced.

    Raises:
        ValueError: there is something in the place of one of them, or no folder for them.
    """
    files = ReportFiles(page, page.with_suffix(".json"), page.with_name(f"{page.stem}_pictures"))
    if files.figures == page:
        raise ValueError(f"{page} is where the figures go, as JSON: name the page otherwise, as {page.stem}.html")
    for path in files[:2]:
        check_out_file(path, force=force)
    if files.pictures.exists() or files.pictures.is_symlink():
        if not force:
            raise ValueError(f"{files.pictures} is there already: give another --out, or --force to replace it")
        if not _are_pictures(files.pictures):
            raise ValueError(f"{files.pictures} is no folder of pictures alone: remove it, or give another --out")
    return files


@contextmanager
def replacing_report(files: ReportFiles) -> Iterator[ReportFiles]:
    """Give temporary places for the files of a report; at the end they take theirs, the page last, and pictures of an
    earlier report go. After an error nothing has changed.
    """
    with tempfile.TemporaryDirectory(prefix=f".{files.page.name}-", dir=files.page.parent) as scratch:
        made = ReportFiles(*(Path(scratch) / path.name for path in files))
        yield made
        if files.pictures.exists():
            files.pictures.rename(Path(scratch) / "before")
        if made.pictures.exists():
            made.pictures.rename(files.pictures)
        for path, target in ((made.figures, files.figures), (made.page, files.page)):
            path.replace(target)


def _are_pictures(folder: Path) -> bool:
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and all(path.suffix in (".png", ".svg") and path.is_file() for path in folder.iterdir())
    )
