"""Shards on disk: Parquet files that are whole or absent, each with a record that says how it was made."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.copies import sha256_of
from edos_dataset.runs.stores.paths import RemotePath
from edos_dataset.runs.stores.transfer import uploaded

_NAME = r"(?P<stem>[01]{1,64}|\d{5,}|all)\.(?P<suffix>json|(rejects\.|removals\.)?parquet)"
_OF_A_SHARD = re.compile(_NAME)
"""Names of what a run puts into a folder of shards."""

_LEFT = re.compile(rf"\.{_NAME}\.[0-9a-f]{{6}}\.\d+\.tmp")
"""Likewise, under the temporary names of processes that were killed."""

_CHECKSUM = "sha256"


@dataclass
class StageCount:
    """What one stage did to one shard, or, added up, to all. `kept + sum(rejected) == read`, all
    in the stage's unit.
    """

    stage: str
    unit: str
    read: int = 0
    kept: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    tally: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, other: "StageCount") -> None:
        """Add the counts of another shard."""
        self.read += other.read
        self.kept += other.kept
        self.seconds += other.seconds
        for mine, theirs in ((self.rejected, other.rejected), (self.tally, other.tally)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count


@dataclass
class ShardRecord:
    """The completion record of a shard, written last: a shard without a valid one does not exist.

    Attributes:
        key: hash of the stages' code and parameters and of the content of the inputs; equal keys mean equal output.
        digest: SHA-256 of the shard file.
        size: bytes of the shard file.
        rows: rows in it.
        counts: one StageCount per stage, in order.
        notes: what the stages tell of single rows (`Stage.notes`), such as the reason of each quarantined file.
        rejects: SHA-256 of the file of rejects beside the shard, or "" where none was asked for.
        facts: what else is to be known of the shard's making, as plain data.
    """

    key: str
    digest: str
    size: int
    rows: int
    counts: list[StageCount]
    notes: list[dict[str, Any]] = field(default_factory=list)
    rejects: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def write_shard(path: Path, table: pa.Table) -> str:
    """Write a table as Parquet under a temporary name, then rename it. Return the SHA-256 of the file."""
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", compression_level=1, write_statistics=False)
        return digest(temporary)


def read_shard(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a shard, or some of its columns, nested ones by their Parquet path."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=columns)


def read_pieces(path: Path, columns: Sequence[str], rows: int = 1_000) -> Iterator[pa.Table]:
    """Yield some columns of a Parquet file in tables of at most `rows` rows: memory does not grow with the file.

    Raises:
        KeyError: the file has no such column.
        pyarrow.ArrowInvalid: it is no Parquet file.
    """
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(rows):
            yield pa.Table.from_batches([batch]).select(columns)


def write_record(path: Path, record: ShardRecord) -> None:
    """Write the completion record of the shard at `path`, beside it."""
    write_checked(path.with_suffix(".json"), asdict(record))


def read_record(path: Path, verify: bool = True) -> ShardRecord | None:
    """Return the completion record of the shard at `path`.

    Args:
        path: the shard.
        verify: compare the shard with its record; needless for one that was made or verified in this run.

    Returns:
        The record; None where there is none, or the shard is not the one recorded.
    """
    try:
        raw = read_checked(path.with_suffix(".json"))
        counts = [StageCount(**count) for count in raw.pop("counts")]
        record = ShardRecord(counts=counts, **raw)
        if verify and (path.stat().st_size != record.size or digest(path) != record.digest):
            return None
    # Absent, damaged or from an older version: make it again.
    except (OSError, TypeError, KeyError, AttributeError):
        return None
    return record


def write_checked(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record that a run keeps for itself, as JSON with a checksum of all that it says."""
    content = json.loads(json.dumps(content))  # as it is read again: every key is a text
    write_text(path, json.dumps({**content, _CHECKSUM: hash_json(content)}, indent=1))


def read_checked(path: Path) -> dict[str, Any]:
    """Return what `write_checked` wrote; nothing where that is absent, or not as it was written: a record is believed
    in all that it says or not at all.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        checksum = content.pop(_CHECKSUM)
        return dict(content) if checksum == hash_json(content) else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file under a temporary name, then rename it."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, of a store one of this machine; at the end it takes its place at one
    stroke, and after an error it is gone.
    """
    if isinstance(path, RemotePath):
        with uploaded(path) as temporary:
            yield temporary
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    try:
        yield temporary
        temporary.replace(path)  # no fsync: what a power cut leaves torn fails its digest and is made again
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def temporary_beside(path: Path) -> Path:
    """Return this process's temporary name for what is to become `path`: it tells the machine and the process."""
    return path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.tmp")


def left_by_killed(folder: Path, name: str | None = None) -> list[Path]:
    """Return what processes of this machine that are no more have left in a folder under temporary names.

    A number that another process has by now is left for a later call, and so is what other machines do in a folder that
    is shared: nobody here can tell whether they have ended.

    Args:
        folder: where to look; not below it.
        name: of the file that it was to become; by default any.
    """
    if isinstance(folder, RemotePath):  # nothing is left in stores
        return []
    wanted = ".+" if name is None else re.escape(name)
    ours = re.compile(rf"\.{wanted}\.{_machine()}\.([1-9]\d{{0,9}})\.tmp", re.DOTALL)
    with os.scandir(folder) as entries:
        return [Path(entry) for entry in entries if (match := ours.fullmatch(entry.name)) and _is_dead(int(match[1]))]


@cache
def _machine() -> str:
    """Return a short name for this machine, which no other that shares a folder has."""
    return hashlib.sha256(platform.node().encode("utf-8", "surrogateescape")).hexdigest()[:6]


def _is_dead(process: int) -> bool:
    if os.name != "posix":  # elsewhere asking ends the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's process
        return False
    return False


def digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a file, of a store as that was noted when it was written."""
    return path.sha256() if isinstance(path, RemotePath) else sha256_of(path)


def digest_if_there(path: Path) -> str:
    """Return the SHA-256 (hex) of a file, "" where there is none."""
    try:
        return digest(path)
    except FileNotFoundError:
        return ""


def remove_others(folder: Path, keep: Sequence[str], keep_rejects: bool = False) -> None:
    """Remove what earlier runs left in a folder of shards.

    Args:
        folder: of a phase, or of the input.
        keep: names of the shards that the corpus has, without suffix; those of all others go, and what was left of any
            by workers that were lost, as nobody writes any more; nothing else.
        keep_rejects: leave the files of rejects.
    """
    kept = set(keep)
    for path in folder.iterdir():
        goes = _LEFT.fullmatch(path.name) is not None
        if name := _OF_A_SHARD.fullmatch(path.name):
            unwanted = name["suffix"] == "rejects.parquet" and not keep_rejects
            goes = goes or unwanted or name["stem"] not in kept
        if goes and path.is_file() and not path.is_symlink():  # looked at last: a store has to be asked
            path.unlink()
