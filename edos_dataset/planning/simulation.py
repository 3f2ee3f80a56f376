"""A run as discrete events: workers that take one task after the other, machines that are taken away in the middle of
one, barriers between rounds, and a leader that works alone before each. It knows nothing of what the tasks are.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

_MOST_ATTEMPTS = 1_000  # of all tasks, on the average; a task so much longer than a machine lives never ends
_DONE, _FAILED, _UP = range(3)


@dataclass(frozen=True)
class Crew:
    """Machines of one kind.

    Attributes:
        machines: how many, from 1.
        workers: of each, from 1.
        failures: of each, a second; what its workers were at is lost, and done again by whoever is free.
        start: seconds from asking for a machine until its workers take tasks, at the beginning and after a failure.
    """

    machines: int
    workers: int
    failures: float = 0.0
    start: float = 0.0


@dataclass(frozen=True)
class Round:
    """Tasks of which none waits for another; the next round begins when all are done.

    Attributes:
        name: for whoever asks when it ended.
        seconds: by crew what each task takes there; None for a crew that takes none of them.
        before: seconds that the leader takes before the first task.
    """

    name: str
    seconds: tuple[Sequence[float] | npt.NDArray[np.float64] | None, ...]
    before: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        seconds: from asking for the machines to the end of the last round.
        ends: when each round ended.
        busy: seconds of all workers for tasks that were done.
        lost: seconds of all workers for tasks that were done again.
        retries: how many were.
        utilisation: `busy` as a share of the seconds that all workers were paid for, 0 to 1.
    """

    seconds: float
    ends: tuple[float, ...]
    busy: float
    lost: float
    retries: int
    utilisation: float


def simulate(rounds: Sequence[Round], crews: Sequence[Crew], generator: np.random.Generator) -> Outcome:
    """Carry rounds out.

    Args:
        rounds: in order.
        crews: whoever carries them out; a free worker of the crew that is fastest at a round takes its next task.
        generator: of the failures; the same state gives the same outcome.

    Raises:
        ValueError: a round that no crew takes, or tasks so long beside the failures that they never end.
    """
    run = _Run(crews, generator)
    ends = [run.carry_out(number) for number in rounds]
    workers = sum(crew.machines * crew.workers for crew in crews)
    used = run.busy / (workers * run.clock) if run.clock else 0.0
    return Outcome(run.clock, tuple(ends), run.busy, run.lost, run.retries, used)


class _Run:
    def __init__(self, crews: Sequence[Crew], generator: np.random.Generator) -> None:
        self.crews, self.generator = crews, generator
        self.crew_of = [number for number, crew in enumerate(crews) for _ in range(crew.machines)]
        self.lives = [0] * len(self.crew_of)  # of a machine; what belongs to an earlier one is void
        self.at: list[dict[int, float]] = [{} for _ in self.crew_of]  # task → when it was begun
        self.free: list[deque[tuple[int, int]]] = [deque() for _ in crews]  # machine and its life, one a worker
        self.events: list[tuple[float, int, int, int, int, int]] = []
        self.clock = self.busy = self.lost = 0.0
        self.retries = self.told = 0
        for machine, crew in enumerate(self.crew_of):
            self._tell(crews[crew].start, _UP, machine)

    def carry_out(self, one: Round) -> float:
        """Carry a round out and return when it ended."""
        able = [(float(np.sum(times)), crew) for crew, times in enumerate(one.seconds) if times is not None]
        if not able:
            raise ValueError(f"no machine can carry out the round {one.name!r}")
        order = [crew for _, crew in sorted(able)]
        total = len(one.seconds[order[0]])  # type: ignore[arg-type]
        begin = self.clock + one.before
        while self.events and self.events[0][0] <= begin:
            self._next()
        self.clock = begin
        waiting, left = deque(range(total)), total
        limit = self.retries + _MOST_ATTEMPTS * total
        while left:
            self._hand_out(waiting, order, one.seconds)
            done, again = self._next()
            left -= done
            waiting.extend(again)
            self.retries += len(again)
            if self.retries > limit:
                raise ValueError(
                    f"the machines fail so often that the tasks of {one.name!r} never end: smaller shards, or machines "
                    "with fewer failures"
                )
        return self.clock

    def _hand_out(self, waiting: deque[int], order: Sequence[int], seconds: Sequence[Any]) -> None:
        for crew in order:
            free, takes = self.free[crew], seconds[crew]
            while waiting and free:
                machine, life = free.popleft()
                if life == self.lives[machine]:
                    task = waiting.popleft()
                    self.at[machine][task] = self.clock
                    self._tell(self.clock + float(takes[task]), _DONE, machine, task)

    def _next(self) -> tuple[int, list[int]]:
        """Let the next event happen; return how many tasks are done by it, and those that are to be done again."""
        time, _, what, machine, life, task = heappop(self.events)
        if life != self.lives[machine]:
            return 0, []
        self.clock = max(self.clock, time)
        crew = self.crews[self.crew_of[machine]]
        if what == _DONE:
            self.busy += time - self.at[machine].pop(task)
            self.free[self.crew_of[machine]].append((machine, life))
            return 1, []
        if what == _UP:
            self.free[self.crew_of[machine]].extend([(machine, life)] * crew.workers)
            if crew.failures:
                self._tell(time + self.generator.exponential(1 / crew.failures), _FAILED, machine)
            return 0, []
        again = sorted(self.at[machine])
        self.lost += sum(time - begun for begun in self.at[machine].values())
        self.at[machine].clear()
        self.lives[machine] += 1
        self._tell(time + crew.start, _UP, machine)
        return 0, again

    def _tell(self, time: float, what: int, machine: int, task: int = -1) -> None:
        """Note an event to come; of two at one time the one noted first happens first."""
        self.told += 1
        heappush(self.events, (time, self.told, what, machine, self.lives[machine], task))
