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

import json
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from edos_dataset.runs.shards import write_text

PREPARED, JOURNAL, COMMITTED = "prepared", "commit.json", "committed.json"
_RETIRED, _RUN = "retired", ".run"


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
    for entry in sorted({_entry(name) for name in new} | gone):
        goal = folder / entry
        there = {f"{entry}/{name}" for name in _files(goal)} if goal.is_dir() else {entry}
        if foreign := sorted(name for name in there - set(before) if os.path.lexists(folder / name)):
            raise ForeignFileError(foreign[0])
    write_text(run / JOURNAL, json.dumps({"files": sorted([*keep, *new]), "gone": sorted(gone)}, indent=1))


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
    for name in [*_read(journal, "gone"), *(entry.name for entry in waiting if (folder / entry.name).is_dir())]:
        if os.path.lexists(folder / name):
            (folder / name).rename(retired / name)
    for entry in sorted(waiting, key=Path.is_dir):  # the card before data
        entry.replace(folder / entry.name)
    for entry in own:
        entry.replace(run / entry.name)
    shutil.rmtree(retired)
    shutil.rmtree(prepared, ignore_errors=True)
    journal.replace(run / COMMITTED)


def committed(folder: Path) -> list[str]:
    """Return the files of the set that a folder holds, relative to it; none where no command has committed any."""
    return _read(folder / _RUN / COMMITTED, "files")


def _read(journal: Path, key: str) -> list[str]:
    try:
        return list(map(str, json.loads(journal.read_text(encoding="utf-8"))[key]))
    except (OSError, ValueError, KeyError, TypeError):  # none, or damaged: then nothing counts as ours
        return []


def _entry(name: str) -> str:
    return name.partition("/")[0]


def _files(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, relative to it, but those for `.run`."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if (path.is_symlink() or not path.is_dir()) and _entry(name) != _RUN:
            yield name
