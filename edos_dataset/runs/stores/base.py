"""What a store is: the few operations that a run needs, and patience with the network between."""

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")

TRIES, WAIT = 6, 0.3
"""How often a call is made at most, and seconds before the second try; they double with each."""


class StoreError(RuntimeError):
    """A store cannot be used, or does not answer; the message says why and what to do, and no secret."""


class TornError(Exception):
    """An answer ends before its end."""


class Status(NamedTuple):
    """What a store says of an object.

    Attributes:
        size: bytes.
        tag: another one whenever the content is another (an ETag).
        sha256: of the content (hex), where it is known; what this package has written says it.
        age: seconds since it was written, by the store's clock.
    """

    size: int
    tag: str
    sha256: str | None = None
    age: float = 0.0


class Store(Protocol):
    """A bucket. Keys are paths without a slash at the beginning.

    Every call is repeated after failures of the network that pass. Raised are StoreError, and OSError of what an
    object or the right to it lacks: FileNotFoundError, PermissionError.
    """

    def status(self, key: str) -> Status | None:
        """Return what is known of an object, None where there is none."""
        ...

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return the bytes from `start` to before `stop`.

        Args:
            key: the object.
            start: first byte.
            stop: behind the last one; both within the object.
            tag: what the object must have, "" for any; another one is an OSError of `changed`.
        """
        ...

    def fetch(self, key: str, target: Path) -> None:
        """Write an object into a local file; memory does not grow with it."""
        ...

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Write a local file, look whether it arrived, and return its status.

        Raises:
            StoreError: also where what is there then is not what was sent.
        """
        ...

    def put_if(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if there is none (`tag` None) or still the one of the tag; return its new tag, None where
        somebody else was first.
        """
        ...

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects whose keys begin with a prefix, in the order of their keys.

        Args:
            prefix: "" or one that ends in "/".
            deep: also those below folders; otherwise the folders themselves come, with "/" at the end and no status.
        """
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are not there are no error."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store: its bytes do not come here."""
        ...


def arrived_otherwise(address: str) -> StoreError:
    """Return the error of an object that is not what was sent."""
    return StoreError(
        f"{address} is not what was sent there: does something else write to it? The same command goes on where it was"
    )


def tag_if_ours(store: Store, key: str, data: bytes) -> str | None:
    """Return the tag of an object that holds these bytes, None of any other: of a write whose answer was lost."""
    there = store.status(key)
    ours = there is not None and there.size == len(data) and store.read(key, 0, len(data), there.tag) == data
    return there.tag if there and ours else None


def changed(address: str) -> OSError:
    """Return the error of an object that became another one while it was read."""
    return OSError(errno.ESTALE, "was changed while it was read; give the same command again", address)


def patiently(function: Callable[[], T], passing: Callable[[Exception], str | None], address: str) -> T:
    """Call a function until it answers.

    Args:
        function: the call, whose effect is the same however often it is made.
        passing: tells of an exception what it is, if it may pass; None raises it. It may raise a better one itself.
        address: of what it is about, for the message.

    Raises:
        StoreError: it does not answer.
    """
    for attempt in range(TRIES):
        try:
            return function()
        except Exception as error:
            told = passing(error)
            if told is None:
                raise
            if attempt == TRIES - 1:
                raise StoreError(
                    f"{address} does not answer ({told}, {TRIES} tries): what is finished is kept, and the same "
                    "command goes on where it was"
                ) from None  # words of others may hold an address with a key in it
        time.sleep(WAIT * 2**attempt)
    raise AssertionError("the last try returns or raises")
