"""Atomic commits of a folder: either everything that a command publishes there changes, or nothing.

The new set is prepared in `.run/prepared`. Then `.run/commit.json` is written by one rename, which is the commit.
Before it, the folder holds only the old set; after it, the new set is moved into place by renames. If the command is
killed, the next command in the folder finishes them, and until then readers of this package refuse the folder
(`folder.check_whole`).

A reader that does not check, such as `datasets.load_dataset(folder)`, sees the old set, the new set or, until the
renames are done, an error: the folders of old data are removed first, then the card changes, then the folders of new
data appear, each by one rename. A card never describes data of another set. Other files, such as the manifest, change
one by one with the card.

A power failure differs from a kill: nothing is synchronised to disk, so it may leave damaged files, which their digests
reveal.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from edos_dataset.runs.shards import digest, read_checked, write_checked

PREPARED, JOURNAL, COMMITTED = "prepared", "commit.json", "committed.json"
_RETIRED, _RUN = "retired", ".run"
_OF_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}


class UncommittedFileError(ValueError):
    """A file that was not committed is in the way of the new set; the message is its name."""


def begin(folder: Path, keep: Collection[str]) -> None:
    """Commit the prepared files by writing the journal; `finish` then moves them into place.

    Args:
        folder: the folder that holds the set.
        keep: files of the current set that the new set keeps unchanged; the others are removed.

    Raises:
        UncommittedFileError: a file that is not part of the current set would be lost. Nothing has changed.
    """
    run = folder / _RUN
    before, new = committed(folder), list(_files(run / PREPARED))
    gone = {_entry(name) for name in before} - {_entry(name) for name in (*keep, *new)}
    for name in uncommitted(folder, before, (*keep, *new), new):
        raise UncommittedFileError(name)
    files = {name: before[name] for name in keep} | {name: digest(run / PREPARED / name) for name in new}
    write_checked(run / JOURNAL, {"files": files, "gone": sorted(gone)})


def uncommitted(folder: Path, before: Collection[str], after: Collection[str], new: Collection[str]) -> Iterator[str]:
    """Yield uncommitted files that would be replaced by the new set or removed with the old one.

    Args:
        folder: the folder that holds the set.
        before: files of its current set.
        after: files of the new set.
        new: the files of the new set that are written anew.
    """
    gone = {_entry(name) for name in before} - {_entry(name) for name in after}
    for entry in sorted({_entry(name) for name in new} | gone):
        goal = folder / entry
        if goal.is_symlink():  # only the link itself could be lost, not its target
            there = {entry} - {_entry(name) for name in before}
        else:
            there = {f"{entry}/{name}" for name in _files(goal)} if goal.is_dir() else {entry}
        yield from sorted(name for name in there - set(before) if (path := folder / name).is_symlink() or path.exists())


def finish(folder: Path) -> None:
    """Move the committed files into place, or complete an interrupted move; do nothing if there is no commit."""
    run = folder / _RUN
    journal, prepared, retired = run / JOURNAL, run / PREPARED, run / _RETIRED
    if not journal.exists():
        return
    waiting = sorted(prepared.iterdir()) if prepared.exists() else []
    own, waiting = sorted((prepared / _RUN).glob("*")), [entry for entry in waiting if entry.name != _RUN]
    if retired.exists():
        shutil.rmtree(retired)
    retired.mkdir()
    for name in [
        *read_checked(journal).get("gone", []),
        *(entry.name for entry in waiting if (folder / entry.name).is_dir()),
    ]:
        if os.path.lexists(folder / name):
            (folder / name).rename(retired / name)
    for entry in sorted(waiting, key=Path.is_dir):  # the card before data
        entry.replace(folder / entry.name)
    for entry in own:
        entry.replace(run / entry.name)
    shutil.rmtree(retired)
    shutil.rmtree(prepared, ignore_errors=True)
    journal.replace(run / COMMITTED)


def committed(folder: Path) -> dict[str, str]:
    """Return the files of the current set, relative to the folder, with their SHA-256 at the commit.

    The dictionary is empty if nothing was committed or the record is damaged; then no file counts as ours.
    """
    return dict(read_checked(folder / _RUN / COMMITTED).get("files", {}))


def edited(folder: Path) -> Iterator[str]:
    """Yield the committed files that have changed since: different content, or a link on the path."""
    for name, known in committed(folder).items():
        path = folder / name
        linked = any(part.is_symlink() for part in (path, *path.parents[: name.count("/")]))
        if linked or (path.exists() and not path.is_dir() and not (path.is_file() and digest(path) == known)):
            yield name


def added(folder: Path) -> Iterator[str]:
    """Yield the uncommitted files in committed folders."""
    known = committed(folder)
    for entry in sorted({_entry(name) for name in known if "/" in name}):
        if not (folder / entry).is_symlink():
            yield from sorted({f"{entry}/{name}" for name in _files(folder / entry)} - known.keys())


def _entry(name: str) -> str:
    return name.partition("/")[0]


def _files(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, relative to it, except those in `.run` and those of file managers."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if (path.is_symlink() or not path.is_dir()) and _entry(name) != _RUN and path.name not in _OF_FILE_MANAGERS:
            yield name
