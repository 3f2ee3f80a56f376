"""The processes of an array job, as Slurm starts them: each makes its share of the shards, whenever it comes to run.

    edos curate films/ --out edos --shard 3/8
    edos merge edos

They share the folder and nothing else: one may begin hours after another, end before another begins, or be started
again. So nobody waits: a process does what can be done, and what needs the whole corpus is the merge's, which makes no
shard itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from edos_dataset.runs.engines.base import Engine, R, T

_MOST = 100_000


class Share(NamedTuple):
    """Which process of an array job this is: a number from 1 to `total`, or 0 for the merge."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Return the share that "3/8" names.

        Raises:
            ValueError: it names none.
        """
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        if match is None or not 0 < int(match[1]) <= int(match[2]) <= _MOST:
            raise ValueError(
                f"{text!r} is no share: give I/N, the I-th of N, from 1/N to N/N (`--array=1-N` counts so), N at most "
                f"{_MOST:,}"
            )
        return cls(int(match[1]), int(match[2]))

    @property
    def merges(self) -> bool:
        """Whether this is the merge."""
        return self.number == 0

    def owner(self, place: int) -> int:
        """Return the number of the share that makes the shard at a place, from 0."""
        return place % self.total + 1

    def __str__(self) -> str:
        """Return it as `parse` reads it."""
        return f"{self.number}/{self.total}"


class Unfinished(Exception):
    """A run of an array job cannot be merged yet; the message says which shares are to be given, and how."""


class ArrayEngine:
    """Carries out a share of the tasks by another engine; see `Engine`.

    Args:
        inner: where the tasks are carried out, within this process of the job.
        mine: which process this is.

    Attributes:
        leads: whether this is the merge.
        corpus: for the merge the other engine's; None for a share, which decides no corpus step.

    Raises:
        ValueError: the other engine belongs to one of several processes itself.
    """

    def __init__(self, inner: Engine, mine: Share) -> None:
        """Check the other engine."""
        if not inner.leads:
            raise ValueError("a process of `accelerate launch` has its share already: leave --shard out")
        self._inner, self._mine = inner, mine
        self.leads = mine.merges
        self.corpus = inner.corpus if mine.merges else None

    def __enter__(self) -> "ArrayEngine":
        """Return the engine, ready to work."""
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the other engine."""
        self._inner.__exit__(kind, error, trace)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return every `total`-th item from this process's own on; for the merge none."""
        return items[:0] if self._mine.merges else items[self._mine.number - 1 :: self._mine.total]

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results of this process's tasks."""
        return self._inner.map(function, tasks)

    def wait(self) -> None:
        """Return at once: the others may not have begun."""
