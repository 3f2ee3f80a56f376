"""The commit of a folder: all that a command publishes there takes its place together, or not at all.

The new set is prepared aside, in `.run/prepared`. Then `.run/commit.json` is written, at one stroke: that is the
commit. Before it the folder holds the old set and nothing else; after it the new set is put in place by renames, which
the next command in the folder finishes if this one is killed. Until they are done, readers of this package refuse the
folder (`folder.check_whole`).

Who reads without asking, as `datasets.load_dataset(folder)` does, sees the old set, the new one, or for the moment of
the renames (after a kill until the command is given again) an error: folders of old data go first, then the card
changes, then folders of new data come, each at one stroke. Never does a card stand over data of another set. Other
files, such as the manifest, change one by one with the card.

A power cut is no kill: nothing is synchronised with the disk, so what it leaves torn is found by its digest.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from edos_dataset.runs.shards import digest, read_checked, write_checked

PREPARED, JOURNAL, COMMITTED = "prepared", "commit.json", "committed.json"
_RETIRED, _RUN = "retired", ".run"
_OF_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}


class ForeignFileError(ValueError):
    """Something in the folder that was not committed there stands where a new set is to stand."""


def begin(folder: Path, keep: Collection[str]) -> None:
    """Commit what is prepared: write the journal. `finish` puts it in place.

    Args:
        folder: that holds the set.
        keep: files of the set before that are part of the new one, as they are; its others go.

    Raises:
        ForeignFileError: something would be lost that is not of the set before. Nothing has happened.
    """
    run = folder / _RUN
    before, new = committed(folder), list(_files(run / PREPARED))
    gone = {_entry(name) for name in before} - {_entry(name) for name in (*keep, *new)}
    for name in foreign(folder, before, (*keep, *new), new):
        raise ForeignFileError(name)
    files = {name: before[name] for name in keep} | {name: digest(run / PREPARED / name) for name in new}
    write_checked(run / JOURNAL, {"files": files, "gone": sorted(gone)})


def foreign(folder: Path, before: Collection[str], after: Collection[str], new: Collection[str]) -> Iterator[str]:
    """Yield what stands where a new set is to stand, or goes with the old one, and was not committed.

    Args:
        folder: that holds the set.
        before: files of the set that it holds.
        after: files of the set to be.
        new: those that take a place.
    """
    gone = {_entry(name) for name in before} - {_entry(name) for name in after}
    for entry in sorted({_entry(name) for name in new} | gone):
        goal = folder / entry
        if goal.is_symlink():  # what it leads to stays, so only the link itself could be lost
            there = {entry} - {_entry(name) for name in before}
        else:
            there = {f"{entry}/{name}" for name in _files(goal)} if goal.is_dir() else {entry}
        yield from sorted(name for name in there - set(before) if (path := folder / name).is_symlink() or path.exists())


def finish(folder: Path) -> None:
    """Put in place what is committed, from wherever that was left; nothing where nothing is."""
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
    """Return the files of the set that a folder holds, relative to it, and the SHA-256 with which they were committed;
    none where no command has committed any, or the record is damaged: then nothing counts as ours.
    """
    return dict(read_checked(folder / _RUN / COMMITTED).get("files", {}))


def edited(folder: Path) -> Iterator[str]:
    """Yield the committed files in whose place something else is now: another content, or a link on their path."""
    for name, known in committed(folder).items():
        path = folder / name
        linked = any(part.is_symlink() for part in (path, *path.parents[: name.count("/")]))
        if linked or (path.exists() and not path.is_dir() and not (path.is_file() and digest(path) == known)):
            yield name


def added(folder: Path) -> Iterator[str]:
    """Yield the files in committed folders that were not committed there."""
    known = committed(folder)
    for entry in sorted({_entry(name) for name in known if "/" in name}):
        if not (folder / entry).is_symlink():
            yield from sorted({f"{entry}/{name}" for name in _files(folder / entry)} - known.keys())


def _entry(name: str) -> str:
    return name.partition("/")[0]


def _files(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, relative to it, but those for `.run` and those that file managers leave."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if (path.is_symlink() or not path.is_dir()) and _entry(name) != _RUN and path.name not in _OF_FILE_MANAGERS:
            yield name
