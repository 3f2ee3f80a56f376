"""Array jobs, as in Slurm: each task makes its part of the shards, whenever it is started.

    edos curate films/ --out edos --shard 3/8
    edos merge edos

The tasks share only the folder: a task may begin hours after another, end before another begins, or be restarted. So no
task waits: each does what it can, and the merge, which makes no shards, does everything that needs the whole corpus.
This module also defines the record that they leave for each other in the run's folder.

The command line loads this module before it parses the command, so NumPy and Arrow are imported only where used.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from edos_dataset.runs.engines.base import Engine, R, T
from edos_dataset.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_TASKS = 100_000
_MOST_COMMANDS = 5  # command lines in a message
_RECORD = "shares{}.json"


class ArrayTask(NamedTuple):
    """Which task of an array job this process is: a number from 1 to `total`, or 0 for the merge."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> "ArrayTask":
        """Return the task for a text such as "3/8".

        Raises:
            ValueError: the text is not of this form.
        """
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        if match is None or not 0 < int(match[1]) <= int(match[2]) <= _MOST_TASKS:
            raise ValueError(
                f"{text!r} is no array task: give I/N, the I-th of N, from 1/N to N/N (`--array=1-N` counts so), N at "
                f"most {_MOST_TASKS:,}"
            )
        return cls(int(match[1]), int(match[2]))

    @property
    def merges(self) -> bool:
        """Whether this is the merge."""
        return self.number == 0

    def owner(self, place: int) -> int:
        """Return the number of the task that makes the shard at a place, which counts from 0."""
        return place % self.total + 1

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


class Unfinished(Exception):
    """An array job cannot be merged yet; the message gives the commands of the tasks that must still run."""


class ArrayEngine:
    """Runs this process's part of an array job on another engine; see `Engine`.

    Args:
        inner: the engine that does the work.
        mine: the array task of this process.

    Attributes:
        is_main: whether this is the merge.
        corpus: that of `inner` for the merge; None otherwise, as an array task decides no corpus step.

    Raises:
        ValueError: `inner` itself is one of several processes.
    """

    def __init__(self, inner: Engine, mine: ArrayTask) -> None:
        if not inner.is_main:
            raise ValueError("a process of `accelerate launch` has its part of the shards already: leave --shard out")
        self._inner, self._mine = inner, mine
        self.is_main = mine.merges
        self.corpus = inner.corpus if mine.merges else None

    def __enter__(self) -> "ArrayEngine":
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return every `total`-th item, starting at this task's number; none for the merge."""
        return items[:0] if self._mine.merges else items[self._mine.number - 1 :: self._mine.total]

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results of this process's tasks."""
        return self._inner.map(function, tasks)

    def wait(self) -> None:
        """Return at once, as the other tasks may not have started."""


class MissingShards(FileNotFoundError):
    """Shards that other processes have to make are missing.

    Attributes:
        phase: the phase that they belong to, such as `turns`.
        places: their places among the shards of the phase, from 0.
        total: number of shards of the phase.
    """

    def __init__(self, phase: str, places: Sequence[int], total: int, first: Path) -> None:
        super().__init__(2, "a shard of another process is not there; do all share the folder?", str(first))
        self.phase, self.places, self.total = phase, places, total


class Undecided(RuntimeError):
    """A corpus step has not been decided for these shards, and this process must not decide it."""


@dataclass(frozen=True)
class ArrayJob:
    """The record of an array job in a run's folder. The first task lists the input for all of them.

    Attributes:
        arguments: command-line arguments without `--shard`.
        folder: the working directory of the command.
        count: number of tasks.
        key: hash of everything that determines the list of input files.
        index: SHA-256 of that list.
    """

    arguments: list[str]
    folder: str
    count: int
    key: str
    index: str

    @classmethod
    def read(cls, path: Path) -> "ArrayJob | None":
        """Return the record; None if it is missing or damaged."""
        from edos_dataset.runs.shards import read_checked

        record = read_checked(path)
        return cls(**record) if record.keys() == {field.name for field in fields(cls)} else None

    def write(self, path: Path) -> None:
        """Write the record unless it exists."""
        from edos_dataset.runs.shards import write_checked

        if self != self.read(path):
            write_checked(path, asdict(self))

    def lists(self, key: str, index: Path) -> bool:
        """Return whether the input list at `index` has this key and is as the job's first task wrote it."""
        from edos_dataset.runs.shards import digest

        return self.key == key and index.exists() and digest(index) == self.index

    def command(self, number: int) -> str:
        """Return the command line of a task."""
        return shlex.join(["edos", *self.arguments, "--shard", f"{number}/{self.count}"])


def table_digest(table: "pa.Table") -> str:
    """Return the SHA-256 of a table's content."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def record_of(run: Path, part: str = "") -> Path:
    """Return the path of an array job's record in `.run`."""
    return run / _RECORD.format(part and f"_{part}")


def records_in(run: Path) -> list[Path]:
    """Return the records of array jobs that are not merged yet."""
    return sorted(run.glob(_RECORD.format("*")))


def check_job(record: Path, key: str, out: Path) -> None:
    """Refuse a run in the folder of an array job of another run, which would mix the two.

    Args:
        record: record of an array job that is not merged yet; there may be none.
        key: what determines the list of input files of the new run.
        out: the folder, for the message.

    Raises:
        FolderError: there is such an array job, with another key.
    """
    from edos_dataset.runs.folder import FolderError

    job = ArrayJob.read(record)
    if job is not None and job.key != key:
        raise FolderError(
            f"{out} holds the shares of an array job of another run (`{job.command(1)}`, with other files, parameters "
            f"or version of this package), and a run never mixes two: finish it by `edos merge {shlex.quote(str(out))}"
            "`, give another --out, or --force to begin anew"
        )


@contextmanager
def merging(record: Path | None, out: Path) -> Iterator[None]:
    """Report which array tasks must run if the merge finds shards missing.

    Args:
        record: record of the array job to merge; None if nothing is merged, and errors pass through unchanged.
        out: output folder of the merge.

    Raises:
        Unfinished: shards are missing.
    """
    try:
        yield
    except MissingShards as missing:
        job = record and ArrayJob.read(record)
        if not job:
            raise
        raise Unfinished(missing_message(missing, job, out)) from missing


def missing_message(missing: MissingShards, job: ArrayJob, out: Path) -> str:
    """Return the message for a merge with missing shards."""
    merge = ArrayTask(0, job.count)
    numbers = sorted({merge.owner(place) for place in missing.places})
    lines = [job.command(number) for number in numbers[:_MOST_COMMANDS]]
    more = [f"... and {len(numbers) - _MOST_COMMANDS:,} more"] if len(numbers) > _MOST_COMMANDS else []
    return "\n  ".join(
        [
            f"{len(missing.places):,} of {counted(missing.total, 'shards')} of {missing.phase!r} are not there: "
            "run these array "
            f"tasks, `--array={ranges(numbers)}`, and then `edos merge {shlex.quote(str(out))}` again (or with --rest, "
            "to make them here)",
            *lines,
            *more,
        ]
    )


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers in Slurm's notation, `1,3-5`."""
    runs = [[number for _, number in group] for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
