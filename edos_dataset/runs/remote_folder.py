"""The folder that a command writes, in a store: whether it may be written, held by one process, filled by one record.

It holds what a folder of this machine holds. Without renames the commit is this: what is new is put aside, below
`.run/prepared`; then `.run/commit.json` is written, which is the commit; then the store copies what is new to its
place and what is old goes. Killed before, a command leaves the old set; killed later, the next one in the folder ends
what it began, and until then readers of this package refuse the folder. Who reads without asking sees, for the moment
of the copies, fewer files, but never a card over data of another set: data that are old go first, then the card
changes, then data that are new come.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

from edos_dataset.runs import commit
from edos_dataset.runs.folder import PATIENCE, RECORD, FolderError, OutputFolder
from edos_dataset.runs.shards import digest, read_checked, write_checked, write_text
from edos_dataset.runs.stores.lock import HeldError, StoreLock
from edos_dataset.runs.stores.paths import RemotePath, place_of
from edos_dataset.runs.stores.transfer import check_writable, uploaded


def output_folder(
    path: Path, command: str, leads: bool = True, force: bool = False, others: bool = False
) -> OutputFolder:
    """Return the folder that a command writes, wherever it lies; see `OutputFolder`."""
    place = place_of(path)
    if isinstance(place, RemotePath):
        return RemoteFolder(place, command, leads, force, others)
    return OutputFolder(place, command, leads, force, others)


class RemoteFolder(OutputFolder):
    """A folder of a store; see `OutputFolder`. What is to be committed is prepared on this machine, and sent by the
    commit; what workers prepare, wherever they are, they send themselves.
    """

    def __init__(
        self, path: RemotePath, command: str, leads: bool = True, force: bool = False, others: bool = False
    ) -> None:
        """Take hold of nothing yet."""
        super().__init__(path, command, leads, force, others)
        self._place, self._hold = path, StoreLock(path / ".run" / "lock")
        self.shared: RemotePath = path / ".run" / commit.PREPARED
        self._aside: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "RemoteFolder":
        """Take hold of the folder; what was committed and is not yet in place is put there."""
        if not self.leads:
            return self
        check_writable(self._place)
        try:
            self._check()
            self._acquire()
        except HeldError as error:
            raise FolderError(f"{error}: wait for it, or give another --out") from error
        except PermissionError as error:
            raise FolderError(
                f"cannot write to {error.filename}: {error.strerror}; give a folder that you may write to as --out"
            ) from error
        try:
            self._aside = tempfile.TemporaryDirectory(prefix="edos-prepared-")
            self.prepared = Path(self._aside.name) / commit.PREPARED
            finish(self._place)
            write_text(self.run / RECORD, json.dumps({"package": "edos-dataset", "command": self.command}))
            self._check_edited()
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the folder.

        Raises:
            FolderError: the run was stopped, since the folder is held by somebody else by now.
        """
        if not self.leads:
            return
        self._let_go()
        if self._hold.lost and isinstance(error, KeyboardInterrupt):
            raise self._lost() from error

    def prepare(self, keep: Collection[str] = ()) -> Path:
        """Return an empty folder of this machine; `shared` is empty, too."""
        self.shared.remove_below()
        return super().prepare(keep)

    def commit(self) -> None:
        """Let everything prepared take the place of what an earlier commit put here (see above)."""
        self._check_edited()
        if self._hold.lost:
            raise self._lost()
        run, before = self._place / ".run", commit.committed(self.path)
        here = sorted(path.relative_to(self.prepared).as_posix() for path in self.prepared.rglob("*") if path.is_file())
        there = [path.relative_to(self.shared).as_posix() for path, _ in self.shared.below()]
        new = [name for name in (*here, *there) if not name.startswith(".run/")]
        for name in commit.foreign(self.path, before, {*self._keep, *new}, new):
            raise self._foreign(name)
        for name in here:
            with uploaded(self.shared / name) as temporary:
                shutil.copyfile(self.prepared / name, temporary)
        files = {name: before[name] for name in self._keep}
        files |= {name: digest(self.shared / name) for name in new}
        write_checked(run / commit.JOURNAL, {"files": files, "new": [*here, *there]})
        finish(self._place)

    def discard(self) -> None:
        """Remove what this package keeps in the folder for itself."""
        if isinstance(self.run, RemotePath):
            self.run.remove_below()

    def _acquire(self) -> None:
        """Take the lock; processes of an array job wait for each other."""
        last = time.monotonic() + (PATIENCE if self.others else 0)
        while True:
            try:
                self._hold.acquire()
                return
            except HeldError:
                if time.monotonic() >= last:
                    raise
                time.sleep(1)

    def _let_go(self) -> None:
        if self._aside is not None:
            self._aside.cleanup()
        self._hold.release()

    def _lost(self) -> FolderError:
        return FolderError(
            f"another process has taken {self.path}, since this one gave no sign of life for too long: it was stopped; "
            "what it finished is kept"
        )


def finish(folder: RemotePath) -> None:
    """Put in place what is committed, from wherever that was left; nothing where nothing is."""
    run = folder / ".run"
    journal, aside = run / commit.JOURNAL, run / commit.PREPARED
    content = read_checked(journal)
    if not content:
        return
    files, new, before = content["files"], content["new"], commit.committed(folder)
    old = [name for name, known in before.items() if files.get(name) != known]
    folder.store.delete([(folder / name).key for name in old if "/" in name])
    for name in sorted(new, key=lambda name: ("/" in name and not name.startswith(".run/"), name)):  # the card first
        source, target = aside / name, folder / name
        folder.store.copy(source.key, target.key)
        if digest(target) != files.get(name, digest(source)):
            raise FolderError(f"{target} is not what was committed: give the same command again")
    folder.store.delete([(folder / name).key for name in old if name not in files])
    write_checked(run / commit.COMMITTED, {"files": files})
    journal.unlink()
    aside.remove_below()
