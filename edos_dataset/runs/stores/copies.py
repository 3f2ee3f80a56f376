"""Copies of objects on this machine, for what is read more than once or by libraries that open files: bounded, and one
for all processes.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from edos_dataset.runs.stores.base import Store

BYTES = int(os.environ.get("EDOS_COPIES_BYTES", 20 << 30))
"""What the copies may take, by default 20 GB."""

_GRACE, _ABANDONED = 60.0, 86_400.0
"""Seconds for which a copy that was asked for stays, and after which one that was never finished goes."""


class Copies:
    """A folder of copies. Each is called by a hash of the object's address and tag, so it is never of another content.

    Args:
        folder: by default `EDOS_COPIES` of the environment, or a private folder of this user's in the one for
            temporary files.
        most: bytes that they may take, but for those asked for in the last minute.
    """

    def __init__(self, folder: Path | None = None, most: int = BYTES) -> None:
        """Name the folder; it is made when it is needed."""
        self._given, self._most, self._added = folder, most, 0

    @property
    def folder(self) -> Path:
        """The folder, which is there."""
        named = self._given or os.environ.get("EDOS_COPIES")
        folder = Path(named) if named else Path(tempfile.gettempdir()) / f"edos-copies-{os.getuid()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise PermissionError(13, "is another user's: name a folder by EDOS_COPIES", str(folder))
        return folder

    def of(self, store: Store, key: str, address: str) -> Path:
        """Return the path of a copy of an object, which is fetched if it is not there.

        Raises:
            FileNotFoundError: there is no such object.
        """
        found = store.status(key)
        if found is None:
            raise FileNotFoundError(2, "there is no such object", address)
        target = self._named(address, found.tag)
        with suppress(FileNotFoundError):
            os.utime(target)
            return target
        with self.beside(target.name) as temporary:
            store.fetch(key, temporary)
            if temporary.stat().st_size != found.size:
                return self.of(store, key, address)  # it has become another one meanwhile
            temporary.replace(target)
        self._make_room(found.size)
        return target

    def adopt(self, temporary: Path, address: str, tag: str) -> None:
        """Keep a file that has been sent as the copy of the object."""
        size = temporary.stat().st_size
        temporary.replace(self._named(address, tag))
        self._make_room(size)

    @contextmanager
    def beside(self, name: str) -> Iterator[Path]:
        """Give the path of a temporary file in the folder, which is gone at the end."""
        temporary = self.folder / f".{uuid4().hex[:12]}-{name[-80:]}"
        try:
            yield temporary
        finally:
            with suppress(OSError):
                temporary.unlink()

    def _named(self, address: str, tag: str) -> Path:
        name = hashlib.sha256(f"{address} {tag}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.folder / f"{name}{Path(address).suffix}"

    def _make_room(self, size: int) -> None:
        """Remove the copies that were asked for longest ago, each time that a tenth of the room has been filled."""
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
