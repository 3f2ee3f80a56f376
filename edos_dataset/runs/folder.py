"""The folder that a command writes: whether it may be written, held by one process, and filled at one stroke.

What a run keeps for itself lies in `.run`, with a record of which command the folder is of. A folder without that
record is somebody else's, and nothing in it is touched.
"""

import json
import os
import re
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from edos_dataset.runs import commit
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.shards import left_by_killed, write_text

RECORD = "made_by.json"
_TEMPORARY = ".*.[0-9]*.tmp"
PATIENCE = 3_600  # seconds; reading the files of a large corpus takes minutes
_BEFORE_THE_RECORD = re.compile(rf"lock|process|\.(process|{re.escape(RECORD)})\..*\.tmp")

_PRIVATE = re.compile(r"lock|process|\w+\.json|\d\d-[^/]+/(decision/)?[^/]+\.(parquet|json|arrow)")
"""Files of a run that has published nothing."""


class FolderError(ValueError):
    """The output folder cannot be used; the message says why and what to do."""


class OutputFolder:
    """A folder that one command writes, and brings up to date when it is given again.

        with OutputFolder(out, "curate") as folder:
            prepared = folder.prepare()
            ...  # write all that the folder is to hold below `prepared`
            folder.commit()

    The lock is the operating system's: it goes with the process, however that ends.

    Args:
        path: the folder; it is made if it is not there.
        command: whose it is, `curate` for `edos curate`.
        leads: whether this process holds it; of several processes of one run only the first does.
        force: whether what would be lost may be: files that this command wrote and somebody has edited since, and what
            a finished command made of something else (`runs.made_of`). What it never wrote stays even then.
        others: whether processes of an array job may write in it, too: their files stay, and its holder is waited for.

    Attributes:
        prepared: where the set is prepared.
        shared: likewise, by workers: what all machines see of it.

    Raises:
        FolderError: on entering: `path` is no folder, holds something that this command did not write, cannot be
            written, or another process runs in it.
    """

    def __init__(self, path: Path, command: str, leads: bool = True, force: bool = False, others: bool = False) -> None:
        self.path, self.command, self.leads, self.force, self.others = path, command, leads, force, others
        self.run = path / ".run"
        self.prepared = self.shared = self.run / commit.PREPARED
        self._keep: Collection[str] = ()
        self._lock = FileLock(str(self.run / "lock"), timeout=PATIENCE if others else 0)

    def __enter__(self) -> "OutputFolder":
        """Take hold of the folder; temporary files of killed processes go, and what they committed is put in place."""
        if not self.leads:
            return self
        try:
            self._check()
            self.run.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise FolderError(
                f"{self._holder()} is running in {self.path}: wait for it, or give another --out"
            ) from error
        except PermissionError as error:
            raise FolderError(
                f"cannot write to {error.filename}: {error.strerror}; give a folder that you may write to as --out"
            ) from error
        try:
            left = left_by_killed if self.others else lambda folder: folder.glob(_TEMPORARY)
            for path in (*left_by_killed(self.path), *(path for each in self.run.glob("**/") for path in left(each))):
                path.unlink(missing_ok=True)
            write_text(self.run / "process", str(os.getpid()))
            commit.finish(self.path)
            write_text(self.run / RECORD, json.dumps({"package": "edos-dataset", "command": self.command}))
            self._check_edited()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the folder."""
        if self.leads:
            self._lock.release()

    def prepare(self, keep: Collection[str] = ()) -> Path:
        """Return an empty folder, on the same file system, for what `commit` is to put in place.

        Args:
            keep: files of the set before, relative to the folder, that are part of the new one as they are.
        """
        shutil.rmtree(self.prepared, ignore_errors=True)
        self.prepared.mkdir(parents=True)
        self._keep = keep
        return self.prepared

    def commit(self) -> None:
        """Let everything prepared take the place of what an earlier commit put here, all together (`runs.commit`).

        What is prepared below `.run` goes to the folder's own. Killed before, it leaves the set that was there; killed
        later, the next command in the folder ends what it began.

        Raises:
            FolderError: something is in its place that no command of this package put there; all stays as it was.
        """
        self._check_edited()  # again, as the work may have taken days
        try:
            commit.begin(self.path, self._keep)
        except commit.ForeignFileError as error:
            raise self._foreign(str(error)) from error
        commit.finish(self.path)

    def has(self, files: Mapping[str, str]) -> bool:
        """Return whether files, name → SHA-256, are in the folder as they were committed, and not behind links."""
        there, edited = commit.committed(self.path), set(commit.edited(self.path))
        return all(
            there.get(name) == known and name not in edited and (self.path / name).is_file()
            for name, known in files.items()
        )

    def discard(self) -> None:
        """Remove what this package keeps in the folder for itself, and the folder if nothing else is in it."""
        for path in self.run.rglob("*"):
            if _PRIVATE.fullmatch(path.relative_to(self.run).as_posix()) and not path.is_dir():
                path.unlink()
        for where, _, _ in os.walk(self.path, topdown=False):
            with suppress(OSError):  # something else is in it
                os.rmdir(where)

    def _check(self) -> None:
        """Refuse a folder that is not this command's."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise FolderError(f"{self.path} is no folder: give a new or empty folder as --out")
        others = {path.name for path in self.path.iterdir()} - {".run"}
        for path in (self.run, *self.run.glob("*"), *self.run.glob("*/*")):
            if path.is_symlink():
                raise FolderError(
                    f"{path} is a symbolic link, which no command of this package makes: give a new or empty folder as "
                    "--out"
                )
        if not self.run.is_dir():
            if others or self.run.exists():
                raise FolderError(
                    f"{self.path} is not empty and holds no run of this package: give a new or empty folder as --out"
                )
            return
        command = command_of(self.run)
        inside = [path for path in self.run.iterdir() if not _BEFORE_THE_RECORD.fullmatch(path.name)]
        if command is None and (others or inside):
            raise FolderError(
                f"{self.path} was written by another program, or by an earlier version of this package: give a new or "
                "empty folder as --out"
            )
        if command not in (None, self.command):
            raise FolderError(
                f"{self.path} was written by `edos {command}`, and what it holds would be lost: give a new or empty "
                "folder as --out"
            )

    def _check_edited(self) -> None:
        """Refuse to lose what this command did not write."""
        for name in commit.added(self.path):
            raise self._foreign(name)
        for name in () if self.force else commit.edited(self.path):
            raise FolderError(
                f"{self.path / name} is not as `edos {self.command}` wrote it, but edited or damaged, and would be "
                "replaced: move it away, or give --force"
            )

    def _foreign(self, name: str) -> FolderError:
        return FolderError(
            f"{self.path / name} was not written by `edos {self.command}` and would be lost: move it away, and give "
            "the command again"
        )

    def _holder(self) -> str:
        with suppress(OSError, ValueError):
            return f"process {int((self.run / 'process').read_text(encoding='ascii'))}"
        return "another process"  # it has the lock, but has not yet written its number


def check_whole(folder: Path) -> None:
    """Let nobody read a folder whose files are not all of one set.

    Raises:
        FolderError: a command has committed a set there and not yet put all of it in place.
    """
    run = folder / ".run"
    if (run / commit.JOURNAL).exists():
        name = f"`edos {command_of(run)}`" if command_of(run) else "the command that writes it"
        raise FolderError(
            f"{folder} is unfinished: {name} is putting its files in place, or was stopped at that; wait for it, or "
            "give it again"
        )


def command_of(run: Path) -> str | None:
    """Return the command, such as "curate", whose folder this is, None where no record of ours says so."""
    try:
        record = json_of((run / RECORD).read_bytes())
        ours = record["package"] == "edos-dataset" and isinstance(record["command"], str)
        return record["command"] if ours else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
