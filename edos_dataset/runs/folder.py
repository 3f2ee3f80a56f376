"""The output folder or file of a command: check that it may be written, lock it for one process and fill it atomically;
and find the Parquet files, `<config>/<split>-*.parquet`, of a finished folder.

A run keeps its private files in `.run`, with a record of the command that owns the folder. A folder without that record
belongs to somebody else and is left untouched.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from edos_dataset.runs import commit
from edos_dataset.runs.shards import left_by_killed, write_text
from edos_dataset.runs.stores.paths import RemotePath, check_writable, place_of
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema import REGISTRY, SPLITS, arrow_schema

RECORD = "made_by.json"
_TEMPORARY = ".*.[0-9]*.tmp"
PATIENCE = 3_600  # seconds; reading the files of a large corpus takes minutes
_TRIES = 100  # to lock a folder that others make and discard
_BEFORE_THE_RECORD = re.compile(rf"lock|process|clock-[0-9a-f]{{32}}|\.(process|{re.escape(RECORD)})\..*\.tmp")
"""Files that a command which is just beginning, or was killed as it began, has in `.run`."""

_PRIVATE = re.compile(r"process|\w+\.json|\d\d-[^/]+/(decision/)?[^/]+\.(parquet|json|arrow)")
"""Files of a run that has published nothing, besides its lock."""


class FolderError(ValueError):
    """The output folder cannot be used; the message says why and what to do."""


class OutputFolder:
    """A folder that one command writes, and updates when it runs again.

        with OutputFolder(out, "curate") as folder:
            prepared = folder.prepare()
            ...  # write the whole new content of the folder below `prepared`
            folder.commit()

    The operating system holds the lock and releases it whenever the process ends, even after a crash.

    Args:
        path: the folder, created if missing.
        command: the command that owns it, such as `curate` for `edos curate`.
        is_main: whether this is the run's main process, the only one that locks the folder.
        force: also replace files that were edited after this command wrote them, and a finished result with a
            different provenance (`runs.provenance`). Files that the command did not write are kept even then.
        others: whether other processes of an array job may write in it: keep their files, and wait for the lock.

    Attributes:
        prepared: where the new set of files is prepared.
        shared: where workers prepare their files; visible to all machines.

    Raises:
        FolderError: on entering: `path` is not a folder, holds something that this command did not write, is not
            writable, or is in use by another process.
    """

    def __init__(
        self, path: Path, command: str, is_main: bool = True, force: bool = False, others: bool = False
    ) -> None:
        self.path, self.command, self.is_main, self.force, self.others = path, command, is_main, force, others
        self.run = path / ".run"
        self.prepared = self.shared = self.run / commit.PREPARED
        self._keep: Collection[str] = ()
        self._discarded = False
        self._lock = FileLock(str(self.run / "lock"), timeout=PATIENCE if others else 0)

    def __enter__(self) -> "OutputFolder":
        if not self.is_main:
            return self
        try:
            self._check()
            self._acquire()
        except Timeout as error:
            raise FolderError(
                f"{self._holder()} is running in {self.path}: wait for it, or give another --out"
            ) from error
        except PermissionError as error:
            raise FolderError(
                f"cannot write to {error.filename}: {error.strerror}; give a folder that you may write to as --out"
            ) from error
        try:
            self._check(locked=True)
            left = left_by_killed if self.others else lambda folder: folder.glob(_TEMPORARY)
            for path in (*left_by_killed(self.path), *(path for each in self.run.glob("**/") for path in left(each))):
                path.unlink(missing_ok=True)
            write_text(self.run / "process", str(os.getpid()))
            commit.finish(self.path)
            write_text(self.run / RECORD, json.dumps({"package": "edos-dataset", "command": self.command}))
            self._check_edited()
        except BaseException:
            if command_of(self.run) is None:  # a folder of somebody else stays as it was
                self._remove_lock()
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_main:
            return
        try:
            if self._discarded:
                self._remove_private()
        finally:
            self._lock.release()
        if self._discarded and os.name != "posix":  # Windows keeps a file that is open
            self._remove_lock()

    def prepare(self, keep: Collection[str] = ()) -> Path:
        """Return an empty folder on the same file system for the files that `commit` will move into place.

        Args:
            keep: files of the current set, relative to the folder, that the new set keeps unchanged.
        """
        shutil.rmtree(self.prepared, ignore_errors=True)
        self.prepared.mkdir(parents=True)
        self._keep = keep
        return self.prepared

    def commit(self) -> None:
        """Replace the files of the previous commit by the prepared ones, atomically (`runs.commit`).

        Files prepared below `.run` go into the folder's own `.run`. If the process is killed before the commit takes
        effect, the old set stays; if it is killed later, the next command in the folder finishes the commit.

        Raises:
            FolderError: a file that this package did not write is in the way; nothing has changed.
        """
        self._check_edited()  # again, as the work may have taken days
        try:
            commit.begin(self.path, self._keep)
        except commit.UncommittedFileError as error:
            raise self._not_ours(str(error)) from error
        commit.finish(self.path)

    def has(self, files: Mapping[str, str]) -> bool:
        """Return whether the files, name → SHA-256, are in the folder as committed, and none is a symbolic link."""
        there, edited = commit.committed(self.path), set(commit.edited(self.path))
        return all(
            there.get(name) == known and name not in edited and (self.path / name).is_file()
            for name, known in files.items()
        )

    def discard(self) -> None:
        """Remove, before the folder is unlocked, the run's private files, and the folder if it is then empty."""
        self._discarded = True

    def _remove_private(self) -> None:
        shutil.rmtree(self.prepared, ignore_errors=True)
        for path in self.run.rglob("*"):
            if _PRIVATE.fullmatch(path.relative_to(self.run).as_posix()) and path.name != RECORD and not path.is_dir():
                path.unlink()
        for where, _, _ in os.walk(self.run, topdown=False):
            _remove_if_empty(where)
        (self.run / RECORD).unlink(missing_ok=True)  # until here the folder is ours, also after a kill
        self._remove_lock()  # from here on another command may begin

    def _remove_lock(self) -> None:
        """Remove the lock's file, and what is then empty."""
        with suppress(PermissionError):
            (self.run / "lock").unlink(missing_ok=True)
        _remove_if_empty(self.run)
        _remove_if_empty(self.path)

    def _acquire(self) -> None:
        for left in reversed(range(_TRIES)):
            try:
                self.run.mkdir(parents=True, exist_ok=True)
                self._lock.acquire()
                return
            except (FileNotFoundError, FileExistsError):  # another command discards the folder at this moment
                if not left:
                    raise

    def _check(self, locked: bool = False) -> None:
        """Refuse a folder that this command must not use.

        Args:
            locked: whether the lock is held. Without it another command may just be making or removing the folder, so
                what takes more than one look is judged with it.
        """
        if fault := self._fault(locked):
            raise FolderError(f"{fault}: give a new or empty folder as --out")

    def _fault(self, locked: bool) -> str | None:
        if _is_no_folder(self.path):
            return f"{self.path} is no folder"
        others = {path.name for path in _within(self.path)} - {".run"}
        inside = _within(self.run)
        if link := self._link([self.run, *inside], locked):
            return f"{link} is a symbolic link, which no command of this package makes"
        if not self.run.is_dir():
            ours = not others and not _is_no_folder(self.run)
            return None if ours else f"{self.path} is not empty and holds no run of this package"
        command = command_of(self.run)
        if command is not None:
            lost = f"{self.path} was written by `edos {command}`, and what it holds would be lost"
            return lost if command != self.command else None
        if locked and (others or any(not _BEFORE_THE_RECORD.fullmatch(path.name) for path in inside)):
            return f"{self.path} was written by another program, or by an earlier version of this package"
        return None

    def _link(self, paths: Sequence[Path], locked: bool) -> Path | None:
        """Return the first link among paths or, once locked, in the folders of the run; stores have none."""
        if isinstance(self.path, RemotePath):
            return None
        deeper = self.run.glob("*/*") if locked else ()
        return next((path for path in (*paths, *deeper) if path.is_symlink()), None)

    def _check_edited(self) -> None:
        for name in commit.added(self.path):
            raise self._not_ours(name)
        for name in () if self.force else commit.edited(self.path):
            raise FolderError(
                f"{self.path / name} is not as `edos {self.command}` wrote it, but edited or damaged, and would be "
                "replaced: move it away, or give --force"
            )

    def _not_ours(self, name: str) -> FolderError:
        return FolderError(
            f"{self.path / name} was not written by `edos {self.command}` and would be lost: move it away, and give "
            "the command again"
        )

    def _holder(self) -> str:
        with suppress(OSError, ValueError):
            return f"process {int((self.run / 'process').read_text(encoding='ascii'))}"
        return "another process"  # it holds the lock but has not yet written its process id


def _is_no_folder(path: Path) -> bool:
    """Return whether there is something else. It is asked twice, as a command may make the folder in between."""
    return not path.is_dir() and path.exists() and not path.is_dir()


def _within(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if there is no folder, or none any more."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove_if_empty(folder: str | Path) -> None:
    with suppress(OSError):
        os.rmdir(folder)


def check_whole(folder: Path) -> None:
    """Refuse to read a folder that mixes files of two sets.

    Raises:
        FolderError: a command has committed a set there but not yet moved all its files into place.
    """
    run = folder / ".run"
    if (run / commit.JOURNAL).exists():
        name = f"`edos {command_of(run)}`" if command_of(run) else "the command that writes it"
        raise FolderError(
            f"{folder} is unfinished: {name} is putting its files in place, or was stopped at that; wait for it, or "
            "give it again"
        )


def command_of(run: Path) -> str | None:
    """Return the command that owns a folder, such as "curate"; None if the folder has no valid record."""
    try:
        record = json_of((run / RECORD).read_bytes())
        ours = record["package"] == "edos-dataset" and isinstance(record["command"], str)
        return record["command"] if ours else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def check_out_file(out: Path, otherwise: str = "", force: bool = False) -> Path:
    """Return the path of an output file with symbolic links resolved, and remove the leftovers of killed processes.

    Args:
        out: the file.
        otherwise: what else --out accepts, for the message.
        force: whether an existing file may be replaced.

    Raises:
        FolderError: `out` exists, is not a regular file, or its folder does not exist.
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


def configs_in(folder: Path, among: Iterable[str] = REGISTRY) -> list[str]:
    """Return the configs that have files in a folder, in the order of `among`.

    Raises:
        FolderError: the folder is unfinished; the functions below also raise it.
    """
    check_whole(folder)
    return [name for name in among if any((folder / name).glob("*.parquet"))]


def config_files(folder: Path, config: str) -> dict[str, list[Path]]:
    """Return the files of a config by split, in row order; splits without files are left out."""
    check_whole(folder)
    files = {split: sorted((folder / config).glob(f"{split}-*.parquet")) for split in SPLITS}
    return {split: paths for split, paths in files.items() if paths}


def only_file(folder: Path, config: str, split: str) -> Path:
    """Return the path of the only file of a split; for configs whose splits fit into memory."""
    return folder / config / f"{split}-00000-of-00001.parquet"


def read_rows(
    folder: Path,
    config: str,
    splits: Sequence[str] = SPLITS,
    schema_of: Callable[[pa.Schema], pa.Schema] | None = None,
) -> pa.Table:
    """Return the rows of some splits, in order and with the column `split`, of a config with one file per split.

    Where the schemas of the files differ, `schema_of` returns the config's schema for that of a file.

    Raises:
        FolderError: a file is missing or damaged, or has different columns.
    """
    check_whole(folder)
    command = REGISTRY[config].command
    tables = []
    for split in splits:
        path = only_file(folder, config, split)
        try:
            with pq.ParquetFile(path) as file:
                schema = schema_of(file.schema_arrow) if schema_of else arrow_schema(config)
                table = file.read(columns=schema.names).select(schema.names).cast(schema)
        except FileNotFoundError as error:
            raise FolderError(f"{path} is not there: {folder} is no folder that `{command}` wrote") from error
        except (OSError, pa.ArrowException, KeyError) as error:
            raise FolderError(
                f"cannot read {path} as `{command}` writes it ({error}): give that command again"
            ) from error
        tables.append(table.append_column("split", pa.array([split] * len(table), pa.string())))
    return pa.concat_tables(tables)
