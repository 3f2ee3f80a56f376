"""A command's output folder in a store: locked by one process and replaced by one record.

Its contents are those of a local output folder. A store has no renames, so a commit takes three steps: new files are
uploaded below `.run/prepared`; `.run/commit.json` is written, which is the commit; the store copies the new files into
place and deletes the old ones. A command killed before the second step leaves the old data set. If it is killed after
it, the next command in the folder completes the copies, and this package's readers refuse the folder until then. Other
readers may see fewer files while the copies run, but never a card beside the data of another set: old data are deleted
first, then the card is replaced, then new data are added.
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
from edos_dataset.runs.stores.paths import RemotePath, check_writable, place_of, uploaded


def output_folder(
    path: Path, command: str, is_main: bool = True, force: bool = False, others: bool = False
) -> OutputFolder:
    """Return a command's output folder, local or in a store; see `OutputFolder`."""
    place = place_of(path)
    if isinstance(place, RemotePath):
        return RemoteFolder(place, command, is_main, force, others)
    return OutputFolder(place, command, is_main, force, others)


class RemoteFolder(OutputFolder):
    """An output folder in a store; see `OutputFolder`. Files are prepared on this machine and uploaded by `commit`;
    workers, on any machine, upload their own.
    """

    def __init__(
        self, path: RemotePath, command: str, is_main: bool = True, force: bool = False, others: bool = False
    ) -> None:
        super().__init__(path, command, is_main, force, others)
        self._place, self._hold = path, StoreLock(path / ".run" / "lock")
        self.shared: RemotePath = path / ".run" / commit.PREPARED
        self._aside: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "RemoteFolder":
        """Lock the folder and complete an interrupted commit."""
        if not self.is_main:
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
            self._check(locked=True)
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
        """Unlock the folder.

        Raises:
            FolderError: the run was stopped because another process has taken the lock.
        """
        if not self.is_main:
            return
        try:
            if self._discarded and not self._hold.lost:
                self._remove_private()
        finally:
            self._let_go()
        if self._hold.lost and isinstance(error, KeyboardInterrupt):
            raise self._lost() from error

    def prepare(self, keep: Collection[str] = ()) -> Path:
        """Return an empty local folder, and empty `shared`."""
        self.shared.remove_below()
        return super().prepare(keep)

    def commit(self) -> None:
        """Replace the files of the previous commit by the prepared ones (see the module)."""
        self._check_edited()
        if self._hold.lost:
            raise self._lost()
        run, before = self._place / ".run", commit.committed(self.path)
        here = sorted(path.relative_to(self.prepared).as_posix() for path in self.prepared.rglob("*") if path.is_file())
        there = [path.relative_to(self.shared).as_posix() for path, _ in self.shared.below()]
        new = [name for name in (*here, *there) if not name.startswith(".run/")]
        for name in commit.uncommitted(self.path, before, {*self._keep, *new}, new):
            raise self._not_ours(name)
        for name in here:
            with uploaded(self.shared / name) as temporary:
                shutil.copyfile(self.prepared / name, temporary)
        files = {name: before[name] for name in self._keep}
        files |= {name: digest(self.shared / name) for name in new}
        write_checked(run / commit.JOURNAL, {"files": files, "new": [*here, *there]})
        finish(self._place)

    def _remove_private(self) -> None:
        run = self._place / ".run"
        record = run / RECORD  # last: until then the folder is ours, also after a kill
        run.store.delete([path.key for path, _ in run.below() if path not in (record, self._hold.path)])
        record.unlink()

    def _acquire(self) -> None:
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
    """Complete an interrupted commit, if there is one."""
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
