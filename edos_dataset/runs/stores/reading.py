"""Reading objects: by ranges, which transfers only the bytes requested, or through a bounded cache of local copies,
shared by all processes, for libraries that open files and for objects that are read more than once.
"""

import hashlib
import io
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from edos_dataset.runs.stores.store import ReplacedError, Status, Store, changed

BYTES = int(os.environ.get("EDOS_COPIES_BYTES", 20 << 30))
"""Limit of the local copies in bytes, by default 20 GB."""

_GRACE, _ABANDONED = 60.0, 86_400.0
"""Seconds that a copy is kept after its last use, and after which an unfinished one is removed."""

_REPLACED = 3
"""Times that an object is fetched again that was replaced meanwhile."""

_LEAST, _MOST = 64 << 10, 8 << 20
"""Bytes fetched at once: at first, and at most, in sequential reading."""


class RangeFile(io.RawIOBase):
    """An object open for reading by ranges. If it is replaced meanwhile, reading fails.

    The first request is for bytes where reading begins at the beginning, so that a small file takes one request.

    Args:
        store: the store that holds it.
        key: its key.
        address: its address, for messages.

    Raises:
        FileNotFoundError: by the first use, if there is no such object.
    """

    def __init__(self, store: Store, key: str, address: str) -> None:
        self._status: Status | None = None
        self.name = address
        self._store, self._key = store, key
        self._place, self._first, self._window = 0, 0, b""
        self._ahead = _LEAST

    @property
    def size(self) -> int:
        """Its size in bytes, for which a store is asked only if nothing was read yet."""
        return self._known().size

    def _known(self) -> Status:
        if self._status is None:
            self._status = self._store.status(self._key)
        if self._status is None:
            raise FileNotFoundError(2, "there is no such object", self.name)
        return self._status

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        self._place = offset + (0, self._place, self.size)[whence]
        if self._place < 0:
            raise ValueError(f"no place {self._place} in {self.name}")
        return self._place

    def expect(self, start: int, length: int) -> None:
        """Fetch bytes that will be read in pieces."""
        self._load(start, min(start + length, self.size))

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes, or all that are left; fewer at the end of the object."""
        if self._status is None and self._place == 0 and size != 0:
            most = _MOST if size is None or size < 0 else min(max(size, _LEAST), _MOST)
            self._window, self._status = self._store.first(self._key, most)
        stop = self.size if size is None or size < 0 else min(self._place + size, self.size)
        if stop <= self._place:
            return b""
        if not self._first <= self._place <= stop <= self._first + len(self._window):
            self._read_ahead(stop)
        data = self._window[self._place - self._first : stop - self._first]
        self._place = stop
        return data

    def readall(self) -> bytes:
        """Return the remaining bytes."""
        return self.read()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into a buffer and return the number of bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read_ahead(self, stop: int) -> None:
        """Fetch up to `stop` and beyond; the read-ahead grows while reading is sequential."""
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
        self._window, self._first = self._store.read(self._key, start, stop, self._known().tag), start
        if len(self._window) != stop - start:
            raise changed(self.name)


class Copies:
    """A folder of local copies, each named by a hash of its object's address and tag, so its content never changes.

    Args:
        folder: by default the environment variable `EDOS_COPIES`, else a private folder in the system's temporary one.
        most: limit in bytes; copies used in the last minute are kept beyond it.
    """

    def __init__(self, folder: Path | None = None, most: int = BYTES) -> None:
        self._given, self._most, self._added = folder, most, 0

    @property
    def folder(self) -> Path:
        """The folder, created on first use."""
        named = self._given or os.environ.get("EDOS_COPIES")
        user = os.getuid() if hasattr(os, "getuid") else 0  # on Windows, the temporary folder is the user's own
        folder = Path(named) if named else Path(tempfile.gettempdir()) / f"edos-copies-{user}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != user:
            raise PermissionError(13, "is another user's: name a folder by EDOS_COPIES", str(folder))
        return folder

    def of(self, store: Store, key: str, address: str) -> Path:
        """Return the path of a local copy of an object, fetched if necessary.

        Raises:
            FileNotFoundError: there is no such object.
            ReplacedError: it was replaced each time that it was fetched.
        """
        for _ in range(_REPLACED):
            found = store.status(key)
            if found is None:
                raise FileNotFoundError(2, "there is no such object", address)
            target = self._named(address, found.tag)
            with suppress(FileNotFoundError):
                os.utime(target)
                return target
            with self.beside(target.name) as temporary, suppress(ReplacedError):
                fetched = store.fetch(key, temporary)
                if fetched.tag == found.tag and temporary.stat().st_size == found.size:
                    temporary.replace(target)
                    self._limit_size(found.size)
                    return target
        raise changed(address)

    def adopt(self, temporary: Path, address: str, tag: str) -> None:
        """Keep an uploaded file as the copy of its object."""
        size = temporary.stat().st_size
        temporary.replace(self._named(address, tag))
        self._limit_size(size)

    @contextmanager
    def beside(self, name: str) -> Iterator[Path]:
        """Yield the path of a temporary file in the folder; the file is removed on exit."""
        temporary = self.folder / f".{uuid4().hex[:12]}-{name[-80:]}"
        try:
            yield temporary
        finally:
            with suppress(OSError):
                temporary.unlink()

    def _named(self, address: str, tag: str) -> Path:
        name = hashlib.sha256(f"{address} {tag}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.folder / f"{name}{Path(address).suffix}"

    def _limit_size(self, size: int) -> None:
        """Remove the least recently used copies, each time a tenth of the limit has been added."""
        self._added += size
        if self._added < self._most // 10:
            return
        self._added, now, total = 0, time.time(), 0
        entries = []
        for entry in os.scandir(self.folder):
            with suppress(OSError):
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path, entry.name.startswith(".")))
        for used, length, path, unfinished in sorted(entries, reverse=True):
            total += length
            idle = now - used
            if idle > (_ABANDONED if unfinished else _GRACE) and (unfinished or total > self._most):
                with suppress(OSError):
                    os.unlink(path)


COPIES = Copies()
"""The copies of this machine."""


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a local file."""
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()
