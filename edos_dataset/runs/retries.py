"""Calls to stores, downloads and the Hub, repeated after transient failures."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LONGEST_ASKED = 3_600.0  # seconds


class TransientError(Exception):
    """A transient failure, described by its text.

    Attributes:
        wait: seconds to wait, if the server states them.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def call_with_retries(
    function: Callable[[], T],
    transient: Callable[[Exception], TransientError | None],
    give_up: Callable[[TransientError], Exception],
    tries: int,
    wait: float,
    longest: float = 120.0,
    progress: Callable[[], int] = lambda: 0,
) -> T:
    """Return the result of a function, calling it again after transient failures.

    Args:
        function: the call; it must be idempotent.
        transient: returns the failure that a transient exception means; for another, returns None or raises a better
            exception.
        give_up: returns the exception to raise after the last try.
        tries: most consecutive calls without progress.
        wait: seconds before the second try; they double with each further one, unless the server states a wait.
        longest: most seconds to wait, unless the server states a wait, of which an hour is the most.
        progress: returns a number that grows with progress, such as the bytes received.
    """
    failures, most = 0, progress()
    while True:
        try:
            return function()
        except Exception as error:
            failure = transient(error)
            if failure is None:
                raise
            now = progress()
            failures = 1 if now > most else failures + 1
            most = max(most, now)
            if failures >= tries:
                raise give_up(failure) from failure  # not from `error`, whose text may contain an address with a key
            asked = failure.wait
            time.sleep(min(wait * 2 ** (failures - 1), longest) if asked is None else min(asked, _LONGEST_ASKED))
