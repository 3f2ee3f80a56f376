"""The single file that a command writes: where it is, and whether it may be."""

from pathlib import Path

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import left_by_killed
from edos_dataset.runs.stores.paths import RemotePath, place_of
from edos_dataset.runs.stores.transfer import check_writable


def check_out_file(out: Path, otherwise: str = "", force: bool = False) -> Path:
    """Return where a file is to be written: behind a symbolic link. What killed processes have left of it goes.

    Args:
        out: the file.
        otherwise: what else may be given as --out, for the message.
        force: whether a file that is there may be replaced.

    Raises:
        FolderError: `out` is there, is no plain file, or in no folder.
    """
    target = place_of(out).resolve()
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "no plain file"
        raise FolderError(f"{out} is {kind}: give the name of a file as --out{otherwise}")
    check_writable(target)
    if not target.parent.is_dir() and not isinstance(target, RemotePath):
        raise FolderError(
            f"cannot write {out}: there is no folder {target.parent}; make it first, or give another --out"
        )
    if target.exists() and not force:
        raise FolderError(f"{out} is there already: give another --out, or --force to replace it")
    for left in left_by_killed(target.parent, target.name):
        left.unlink(missing_ok=True)
    return target
