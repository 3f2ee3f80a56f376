"""Shards: splits a corpus into shards and writes their Parquet files atomically, each with a completion record."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.processes import has_ended, machine
from edos_dataset.runs.stores.paths import RemotePath, uploaded
from edos_dataset.runs.stores.reading import sha256_of
from edos_dataset.text import hash64

_NAME = r"(?P<stem>[01]{1,64}|\d{5,}|all)\.(?P<suffix>json|(rejects\.|removals\.)?parquet)"
_OF_A_SHARD = re.compile(_NAME)
"""Names of the files that a run writes into a folder of shards."""

_LEFT = re.compile(rf"\.{_NAME}\.[0-9a-f]{{6}}\.\d+\.tmp")
"""The same for temporary files left by killed processes."""

_CHECKSUM = "sha256"
_BITS = 64
_FEWEST = 8
_MOST_WAITING = 10_000  # files that wait for `first_files`

MOST_FILES = 100
"""Most rejected files of a stage and reason that a run names in its manifest."""


class Part(NamedTuple):
    """A shard of the input: its name and its rows."""

    name: str
    rows: pa.Table


def cut_by_hash(table: pa.Table, column: str, weights: npt.NDArray[np.float64], target: int) -> list[Part]:
    """Split rows into shards by a hash of a column, so that an additional row changes only one shard.

    The rows are sorted by hash, so their order does not depend on the split. The range of the hash is halved until the
    rows of a part weigh at most `target`, or a single row is left; a part is named by the leading bits of its hashes.
    So a part depends only on its own rows: an additional row remakes its part, or splits it in two, and affects no
    other. If the table weighs less than eight times the target, the target is halved as well.

    Args:
        table: the rows; an empty table gives one part without rows, so that every stage is still counted.
        column: name of a column of unique texts.
        weights: [rows] weight of each row, more than 0.
        target: largest weight of a part, from 1.
    """
    if not table.num_rows:
        return [Part("all", table)]
    names: list[str] = table[column].to_pylist()
    hashes = np.fromiter(map(hash64, names), np.uint64, len(names))
    order = np.lexsort((np.array(names, object).astype(str), hashes))
    # The sum of whole numbers is exact, so it does not depend on other rows.
    whole = np.maximum(np.rint(weights), 1)
    table, hashes, total = table.take(pa.array(order)), hashes[order], np.r_[0, np.cumsum(whole[order])]
    limit = float(target)
    while limit > 1 and total[-1] < _FEWEST * limit:
        limit /= 2
    return [
        Part(prefix or "all", table.slice(start, stop - start)) for prefix, start, stop in _halved(hashes, total, limit)
    ]


def _halved(
    hashes: npt.NDArray[np.uint64], total: npt.NDArray[np.float64], limit: float
) -> Iterator[tuple[str, int, int]]:
    """Yield the leading bits, the start and the stop of each part, in the order of the hashes."""
    waiting = [("", 0, len(hashes))]
    while waiting:
        prefix, start, stop = waiting.pop()
        if start == stop:
            continue
        if total[stop] - total[start] <= limit or stop - start == 1 or len(prefix) == _BITS:
            yield prefix, start, stop
            continue
        half = np.uint64(int((prefix + "1").ljust(_BITS, "0"), 2))
        middle = start + int(np.searchsorted(hashes[start:stop], half))
        waiting += [(prefix + "1", middle, stop), (prefix + "0", start, middle)]


def cut_in_order(table: pa.Table, weights: npt.NDArray[np.float64], target: int) -> list[Part]:
    """Split rows, in their order, into shards that weigh about `target`, or less if there would be fewer than eight.

    A part exceeds this weight by at most one row. An additional row changes all later parts, so this is for output that
    has the order of the input and is made once.

    Args:
        table: the rows; an empty table gives one part without rows.
        weights: [rows] weight of each row, more than 0.
        target: weight of a part, from 1.
    """
    if not table.num_rows:
        return [Part("all", table)]
    limit = max(1, min(target, int(weights.sum()) // _FEWEST))
    shard = np.cumsum(weights) // limit
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    ends = [*starts[1:], table.num_rows]
    return list(numbered(table.slice(start, end - start) for start, end in zip(starts, ends, strict=True)))


def numbered(tables: Iterable[pa.Table]) -> Iterator[Part]:
    """Yield tables as parts, numbered in order."""
    return (Part(f"{number:05d}", table) for number, table in enumerate(tables))


@dataclass
class StageCount:
    """Counts of a stage for one shard or for all, in the stage's unit; `kept + sum(rejected) == read`."""

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
        size: size of the shard file in bytes.
        rows: number of rows in it.
        counts: one StageCount per stage, in order.
        notes: reports of the stages about individual rows (`Stage.notes`), such as the reason of a quarantined file.
        rejects: SHA-256 of the file of rejects beside the shard, or "" if none was requested.
        facts: other facts about how the shard was made, as plain data.
        left_out: the readable files that the stages rejected (`Stage.left_out`), with their `stage`; see `first_files`.
    """

    key: str
    digest: str
    size: int
    rows: int
    counts: list[StageCount]
    notes: list[dict[str, Any]] = field(default_factory=list)
    rejects: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    left_out: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Totals:
    """The totals of a phase so far: the digests of its shards, and the sums of their records."""

    digests: dict[Path, str] = field(default_factory=dict)
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0

    def add(self, target: Path, record: ShardRecord) -> None:
        """Add a shard. After `finish`, the totals do not depend on the order of the shards."""
        self.digests[target] = record.digest
        self.notes += record.notes
        self.left_out += record.left_out
        if len(self.left_out) > _MOST_WAITING:
            self.left_out = first_files(self.left_out)
        self.rows += record.rows
        for index, count in enumerate(record.counts):
            if index == len(self.counts):
                self.counts.append(StageCount(count.stage, count.unit))
            self.counts[index].add(count)

    def finish(self) -> None:
        """Sort the totals, and bring notes into the form in which they are read from a record."""
        self.notes = [json.loads(text) for text in sorted(json.dumps(note, sort_keys=True) for note in self.notes)]
        self.left_out = first_files(self.left_out)
        for count in self.counts:
            count.rejected = dict(sorted(count.rejected.items()))
            count.tally = dict(sorted(count.tally.items()))


def first_files(left_out: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first `MOST_FILES` files by path of each stage and reason, sorted by stage, reason and path; so the
    first ones of a run are among the first ones of its shards.
    """
    ordered = sorted(left_out, key=itemgetter("stage", "reason", "path"))
    groups = groupby(ordered, itemgetter("stage", "reason"))
    return [file for _, files in groups for file in islice(files, MOST_FILES)]


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
    """Yield some columns of a Parquet file in tables of at most `rows` rows; memory does not grow with the file.

    Raises:
        KeyError: the file has no such column.
        pyarrow.ArrowInvalid: it is not a Parquet file.
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
        verify: compare the shard with its record; unnecessary if the shard was made or verified in this run.

    Returns:
        The record; None if there is none or the shard differs from it.
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
    """Write a private record of a run as JSON with a checksum of its content."""
    content = json.loads(json.dumps(content))  # in the form in which it will be read, with texts as keys
    write_text(path, json.dumps({**content, _CHECKSUM: hash_json(content)}, indent=1))


def read_checked(path: Path) -> dict[str, Any]:
    """Return what `write_checked` wrote; an empty dictionary if the file is missing or its checksum is wrong."""
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
    """Yield a temporary path beside `path`, or on this machine if `path` is in a store. On exit the temporary file
    atomically replaces `path`; after an error it is removed.
    """
    if isinstance(path, RemotePath):
        with uploaded(path) as temporary:
            yield temporary
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    try:
        yield temporary
        temporary.replace(path)  # no fsync: a file damaged by a power failure fails its digest and is made again
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def temporary_beside(path: Path) -> Path:
    """Return the temporary name of `path` in this process, which contains the machine and the process id."""
    return path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.tmp")


def left_by_killed(folder: Path, name: str | None = None) -> list[Path]:
    """Return the temporary files in a folder that were left by dead processes of this machine.

    If the id of a dead process is in use again, its file is only found by a later call. Files of other machines that
    share the folder are never returned, since this machine cannot tell whether their processes have ended.

    Args:
        folder: the folder, searched without its subfolders.
        name: name of the file to be written; by default any.
    """
    if isinstance(folder, RemotePath):  # nothing is left in stores
        return []
    wanted = ".+" if name is None else re.escape(name)
    ours = re.compile(rf"\.{wanted}\.{_machine()}\.([1-9]\d{{0,9}})\.tmp", re.DOTALL)
    with os.scandir(folder) as entries:
        return [Path(entry) for entry in entries if (match := ours.fullmatch(entry.name)) and has_ended(match[1])]


@cache
def _machine() -> str:
    return hashlib.sha256(machine().encode("utf-8", "surrogateescape")).hexdigest()[:6]


def digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a file; for a file in a store, as recorded when it was written."""
    return path.sha256() if isinstance(path, RemotePath) else sha256_of(path)


def digest_if_there(path: Path) -> str:
    """Return the SHA-256 (hex) of a file, or "" if it does not exist."""
    try:
        return digest(path)
    except FileNotFoundError:
        return ""


def remove_others(folder: Path, keep: Sequence[str], keep_rejects: bool = False) -> None:
    """Remove what earlier runs and killed workers left in a folder of shards, and nothing else.

    Args:
        folder: the folder of a phase or of the input, in which no process writes any more.
        keep: names, without suffix, of the shards of the corpus; files of other shards are removed.
        keep_rejects: keep the files of rejects.
    """
    kept = set(keep)
    for path in folder.iterdir():
        goes = _LEFT.fullmatch(path.name) is not None
        if name := _OF_A_SHARD.fullmatch(path.name):
            unwanted = name["suffix"] == "rejects.parquet" and not keep_rejects
            goes = goes or unwanted or name["stem"] not in kept
        if goes and path.is_file() and not path.is_symlink():  # last, as it queries the store
            path.unlink()
