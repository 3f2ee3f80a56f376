"""A bound on the time that reading one file may take."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from edos_dataset.sources.parsed import ReadError

_AGAIN = 1.0
"""Seconds after which the alarm rings once more, should a reader have caught it and gone on."""


class _TooSlow(BaseException):
    """No Exception: readers may catch all of these."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Bound the time, by the clock on the wall, that what is done within may take.

    The alarm of the operating system rings, so this works in the main thread of a process, where every engine reads
    files; elsewhere, and where there is no such alarm (Windows), nothing is bounded. An alarm that was set before is
    set again afterwards; if its time has come meanwhile, it rings then.

    Args:
        seconds: more than 0.

    Raises:
        ReadError: with the reason too_slow.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    waiting, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)

    def disarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
        if waiting:
            left = max(waiting - (time.monotonic() - began), 1e-6)
            signal.setitimer(signal.ITIMER_REAL, left, interval)

    try:
        try:
            yield
        finally:
            disarm()
    except _TooSlow:
        disarm()  # it may have rung in the midst of the first call
        raise ReadError("too_slow", f"not read within {seconds:g} seconds (read.max_seconds)") from None
