"""What the processes of an array job leave for each other in the run's folder, and what they cannot do yet."""

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from edos_dataset.runs.engines.array import Share, Unfinished
from edos_dataset.runs.shards import digest, read_checked, write_checked

_RECORD = "shares{}.json"
_MOST = 5  # command lines that a message tells


class MissingShards(FileNotFoundError):
    """Shards that other processes make are not there.

    Attributes:
        phase: whose they are, `turns`.
        places: their places among the shards of the phase, from 0.
        total: shards of the phase.
    """

    def __init__(self, phase: str, places: Sequence[int], total: int, first: Path) -> None:
        super().__init__(2, "a shard of another process is not there; do all share the folder?", str(first))
        self.phase, self.places, self.total = phase, places, total


class Undecided(RuntimeError):
    """A corpus step has not decided over these shards, and this process is not the one that lets it."""


@dataclass(frozen=True)
class ArrayJob:
    """The record of an array job in a run's folder: the first of its processes lists the input, for all of them.

    Attributes:
        arguments: of the command line, without `--shard`.
        folder: in which the command was given.
        count: number of shares.
        key: hash of all that decides the list of the input.
        index: SHA-256 of that list.
    """

    arguments: list[str]
    folder: str
    count: int
    key: str
    index: str

    @classmethod
    def read(cls, path: Path) -> "ArrayJob | None":
        """Return the record; None where there is none, or it is damaged."""
        record = read_checked(path)
        return cls(**record) if record.keys() == {field.name for field in fields(cls)} else None

    def write(self, path: Path) -> None:
        """Write the record, unless it stands there."""
        if self != self.read(path):
            write_checked(path, asdict(self))

    def lists(self, key: str, index: Path) -> bool:
        """Return whether the list of the input at `index` is the one of a key, as the job's first process left it."""
        return self.key == key and index.exists() and digest(index) == self.index

    def command(self, number: int) -> str:
        """Return the command line of a share."""
        return shlex.join(["edos", *self.arguments, "--shard", f"{number}/{self.count}"])


def table_digest(table: pa.Table) -> str:
    """Return the SHA-256 of a table's content."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def record_of(run: Path, part: str = "") -> Path:
    """Return where the record of an array job lies in the folder `.run`."""
    return run / _RECORD.format(part and f"_{part}")


def records_in(run: Path) -> list[Path]:
    """Return the records of array jobs that have not been merged."""
    return sorted(run.glob(_RECORD.format("*")))


@contextmanager
def merging(record: Path | None, out: Path) -> Iterator[None]:
    """Tell which shares are to be given where shards are not there.

    Args:
        record: of the array job that is merged; None where none is, and errors are the run's own.
        out: folder of the merge.

    Raises:
        Unfinished: shards are not there.
    """
    try:
        yield
    except MissingShards as missing:
        job = record and ArrayJob.read(record)
        if not job:
            raise
        raise Unfinished(told_missing(missing, job, out)) from missing


def told_missing(missing: MissingShards, job: ArrayJob, out: Path) -> str:
    """Return what a merge says of shards that are not there."""
    share = Share(0, job.count)
    numbers = sorted({share.owner(place) for place in missing.places})
    lines = [job.command(number) for number in numbers[:_MOST]]
    more = [f"... and {len(numbers) - _MOST:,} more"] if len(numbers) > _MOST else []
    return "\n  ".join(
        [
            f"{len(missing.places):,} of {missing.total:,} shards of {missing.phase!r} are not there: give these "
            f"shares, `--array={ranges(numbers)}`, and then `edos merge {shlex.quote(str(out))}` again (or "
            "with --rest, to make them here)",
            *lines,
            *more,
        ]
    )


def ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers as Slurm writes them, `1,3-5`."""
    runs = [[number for _, number in group] for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
