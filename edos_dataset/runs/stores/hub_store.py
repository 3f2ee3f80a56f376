"""Repositories of the Hub as a store that is only read."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edos_dataset.runs.retries import TransientError
from edos_dataset.runs.stores.store import Status, Store, StoreError, changed


class HubStore(Store):
    """Repositories of the Hub, read-only; see `Store`."""

    def __init__(self, scheme: str, bucket: str) -> None:
        super().__init__(scheme, bucket)
        from huggingface_hub import HfFileSystem

        self._files: Any = HfFileSystem(
            endpoint=os.environ.get("HF_ENDPOINT"), use_listings_cache=False, skip_instance_cache=True
        )

    def status(self, key: str) -> Status | None:
        """Return the status of a file, or None if it does not exist."""
        try:
            found = self._call(lambda: self._files.info(self._name(key)), key)
        except FileNotFoundError:
            return None
        return self._status(found) if found["type"] == "file" else None

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return the bytes from `start` to before `stop`."""
        if start >= stop:
            return b""
        if tag and ((there := self.status(key)) is None or there.tag != tag):
            raise changed(self._address(key))
        return bytes(self._call(lambda: self._files.cat_file(self._name(key), start=start, end=stop), key))

    def fetch(self, key: str, target: Path) -> Status:
        """Download a file of the Hub."""
        if (found := self.status(key)) is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such object", self._address(key))
        self._call(lambda: self._files.get_file(self._name(key), str(target)), key)
        return found

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the files below a prefix."""
        folder, skip = self._name(prefix).rstrip("/"), len(self._name(""))
        find = (lambda: self._files.find(folder, detail=True).values()) if deep else (lambda: self._files.ls(folder))
        try:
            found: Any = self._call(find, prefix)
        except FileNotFoundError:
            return
        for entry in sorted(found, key=lambda entry: str(entry["name"])):
            key = entry["name"][skip:]
            if key.startswith(prefix) and key != prefix:  # else it is the folder itself
                yield (key, self._status(entry)) if entry["type"] == "file" else (f"{key}/", None)

    def _name(self, key: str) -> str:
        return f"{self.bucket}/{key}"

    def _status(self, found: dict[str, Any]) -> Status:
        tag = next((found[name] for name in ("blob_id", "xet_hash") if found.get(name)), found["size"])
        return Status(int(found["size"] or 0), str(tag))

    def _transient(self, error: Exception, key: str) -> TransientError | None:
        if isinstance(error, ConnectionError | TimeoutError):
            return TransientError(type(error).__name__)
        if isinstance(error, OSError):
            return None
        raise StoreError(f"{self._address(key)} cannot be used: {type(error).__name__}") from None
