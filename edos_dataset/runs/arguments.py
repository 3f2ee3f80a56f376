"""Checks of the paths that a command is given, before anything is read."""

from collections.abc import Iterable
from pathlib import Path

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.stores.paths import RemotePath, place_of


def fault_of(path: str | Path) -> str:
    """Return what is wrong with a path that should be a folder of this package: it does not exist, is a file, is empty,
    or was written by something else.
    """
    place = place_of(path)
    if not place.exists():
        return f"there is no folder {path}"
    if not place.is_dir():
        return f"{path} is a file, not a folder"
    if not any(place.iterdir()):
        return f"{path} is an empty folder, not one that this package wrote"
    return f"{path} was not written by this package"


def check_file(path: Path, expected: str) -> None:
    """Refuse a path that is no file.

    Raises:
        ValueError: it does not exist, or is a folder; `expected` says what to give.
    """
    if not path.exists():
        raise ValueError(f"there is no file {path}: give {expected}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give {expected}")


def check_apart(out: str | Path | None, sources: Iterable[str | Path]) -> None:
    """Refuse an output that is one of the sources, lies inside one or contains one.

    Args:
        out: a folder or a file that need not exist, "-" for standard output, or None for no output.
        sources: files and folders; anything else, such as the name of a dataset on the Hub or data in memory, is
            apart.

    Raises:
        FolderError: the source could be lost, or the next run would read what this one wrote.
    """
    if out is None or str(out) == "-":
        return
    target = _resolved(out)
    for source in (each for each in sources if isinstance(each, str | Path)):
        place = _resolved(source)
        if target == place:
            raise FolderError(f"{out} is the source and would be lost: give another --out")
        if place in target.parents and place.is_dir():
            raise FolderError(
                f"{out} lies inside the source {source}, so that another run would read it: give an --out outside of "
                "that folder"
            )
        if target in place.parents and place.exists():
            raise FolderError(
                f"the source {source} lies inside {out}, which is for output only: give another folder as --out"
            )


def _resolved(path: str | Path) -> Path:
    place = place_of(path)
    return place if isinstance(place, RemotePath) else place.resolve()
