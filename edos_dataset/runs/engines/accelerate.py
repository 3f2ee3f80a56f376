"""The processes of `accelerate launch` or torchrun, on several GPUs or hosts: each makes its share of the shards.

    accelerate launch -m edos_dataset curate films/ --out edos

All processes read and write the same folder, which several hosts must share.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from edos_dataset.runs.engines.base import R, T
from edos_dataset.runs.engines.local import LocalEngine


class AccelerateEngine:
    """Carries out this process's share of the tasks; see `Engine`. In a process that nobody launched it is alone.

    Args:
        workers: processes that this one starts, from 1.
        device: "cpu", or "cuda" where the stages use GPUs: each launched process, and what it starts, has one of them.
    """

    def __init__(self, workers: int = 1, device: str = "cpu") -> None:
        """Find the other processes.

        Raises:
            RuntimeError: the launcher started more processes than found each other.
        """
        self._local = LocalEngine(workers)
        self._rank, self._count = 0, int(os.environ.get("WORLD_SIZE", "1"))
        self._state: Any = None
        if self._count > 1:
            self._join(device)
        self.leads = self._rank == 0

    def _join(self, device: str) -> None:
        from accelerate import PartialState

        # Who is done early waits at a barrier for the others, however long their shards take.
        self._state = PartialState(cpu=device == "cpu", timeout=timedelta(days=30))
        if self._state.num_processes != self._count:
            raise RuntimeError(
                f"the launcher started {self._count} processes, but accelerate made {self._state.num_processes} of them"
            )
        self._rank = self._state.process_index
        if self._state.device.type == "cuda":
            # A spawned worker begins at the first GPU that it sees: let it see this process's own.
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            index = self._state.local_process_index
            os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[index] if visible else str(index)

    @property
    def corpus(self) -> "AccelerateEngine":
        """The engine itself."""
        return self

    def __enter__(self) -> "AccelerateEngine":
        """Return the engine."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers of this process."""
        self._local.__exit__(kind, error, trace)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return every n-th item of n processes, from this one's number on."""
        return items[self._rank :: self._count]

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results of this process's tasks."""
        return self._local.map(function, tasks)

    def wait(self) -> None:
        """Return when all processes have come here."""
        if self._state is not None:
            self._state.wait_for_everyone()
