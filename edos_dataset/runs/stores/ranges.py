"""An object as a file that is read by ranges: only what is asked for moves."""

import io

from edos_dataset.runs.stores.base import Store, changed

_LEAST, _MOST = 64 << 10, 8 << 20
"""Bytes that are fetched at once: at first, and when one piece after the other is read."""


class RangeFile(io.RawIOBase):
    """An object open for reading. Its content is that of one moment: what becomes another one is an error.

    Args:
        store: that holds it.
        key: of the object.
        address: for messages.

    Attributes:
        size: bytes.

    Raises:
        FileNotFoundError: there is no such object.
    """

    def __init__(self, store: Store, key: str, address: str) -> None:
        """Look at it; nothing is read yet."""
        status = store.status(key)
        if status is None:
            raise FileNotFoundError(2, "there is no such object", address)
        self.size, self._tag, self.name = status.size, status.tag, address
        self._store, self._key = store, key
        self._place, self._first, self._window = 0, 0, b""
        self._ahead = _LEAST

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self._place = offset + (0, self._place, self.size)[whence]
        if self._place < 0:
            raise ValueError(f"no place {self._place} in {self.name}")
        return self._place

    def expect(self, start: int, length: int) -> None:
        """Fetch bytes that will be asked for in pieces."""
        self._load(start, min(start + length, self.size))

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes: `size`, or all, unless the object ends before."""
        stop = self.size if size is None or size < 0 else min(self._place + size, self.size)
        if stop <= self._place:
            return b""
        if not self._first <= self._place <= stop <= self._first + len(self._window):
            self._go_on(stop)
        data = self._window[self._place - self._first : stop - self._first]
        self._place = stop
        return data

    def readall(self) -> bytes:
        """Return all that is left."""
        return self.read()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into a buffer; return how many bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _go_on(self, stop: int) -> None:
        """Fetch what is asked for and more: the more, the longer one piece was read after the other."""
        end = self._first + len(self._window)
        if self._window and self._first <= self._place <= end:
            self._ahead = min(self._ahead * 4, _MOST)
            rest = self._window[self._place - self._first :]
            self._load(end, min(max(stop, end + self._ahead), self.size))
            self._window, self._first = rest + self._window, self._place
        else:
            self._ahead = _LEAST
            self._load(self._place, min(max(stop, self._place + self._ahead), self.size))

    def _load(self, start: int, stop: int) -> None:
        self._window, self._first = self._store.read(self._key, start, stop, self._tag), start
        if len(self._window) != stop - start:
            raise changed(self.name)
