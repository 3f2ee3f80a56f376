"""Stores that fsspec knows: the Hub, which is only read, and for tests memory."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from edos_dataset.runs.stores.base import Status, StoreError, T, changed, patiently


class FsspecStore:
    """A bucket, or on the Hub all that is there; see `Store`.

    What was written is compared by its size, and its digest is known by reading it again. How long ago something was
    written is told by the clock of this machine, and a lock that is there is looked at and then written, as fsspec has
    no condition for that.
    """

    def __init__(self, scheme: str, bucket: str) -> None:
        """Open the file system; nothing is asked yet."""
        import fsspec

        self._scheme, self.bucket = scheme, bucket
        given: dict[str, Any] = {"endpoint": os.environ.get("HF_ENDPOINT")} if scheme == "hf" else {}
        self._files: Any = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True, **given)

    def status(self, key: str) -> Status | None:
        """Return what is known of an object."""
        try:
            found = self._patiently(lambda: self._files.info(self._name(key)), key)
        except FileNotFoundError:
            return None
        return _status(found) if found["type"] == "file" else None

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return a range of bytes."""
        if start >= stop:
            return b""
        if tag and ((there := self.status(key)) is None or there.tag != tag):
            raise changed(self._address(key))
        return bytes(self._patiently(lambda: self._files.cat_file(self._name(key), start=start, end=stop), key))

    def fetch(self, key: str, target: Path) -> None:
        """Write an object into a local file."""
        self._patiently(lambda: self._files.get_file(self._name(key), str(target)), key)

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Write a local file and look at what is there then."""
        self._patiently(lambda: self._files.put_file(str(source), self._name(key)), key)
        there = self.status(key)
        if there is None or there.size != source.stat().st_size:
            raise StoreError(f"{self._address(key)} is not what was sent there: does something else write to it?")
        return there

    def put_if(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if nobody was there first; of one that is there that is looked at just before."""
        name = self._name(key)
        if tag is None:
            try:
                self._patiently(lambda: self._files.pipe_file(name, data, mode="create"), key)
            except FileExistsError:  # perhaps after an answer of ours that was lost
                if self._files.cat_file(name) != data:
                    return None
        elif (there := self.status(key)) is None or there.tag != tag:
            return None
        else:
            self._patiently(lambda: self._files.pipe_file(name, data), key)
        there = self.status(key)
        return there.tag if there else None

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects below a prefix."""
        folder, skip = self._name(prefix).rstrip("/"), len(self._name(""))
        try:
            if deep:
                found = self._patiently(lambda: self._files.find(folder, detail=True), prefix).values()
            else:
                found = self._patiently(lambda: self._files.ls(folder, detail=True), prefix)
        except FileNotFoundError:
            return
        for entry in sorted(found, key=lambda entry: str(entry["name"])):
            key = entry["name"].lstrip("/")[skip:]
            if key.startswith(prefix) and key != prefix:  # else it is the folder itself, or no folder
                yield (key, _status(entry)) if entry["type"] == "file" else (f"{key.rstrip('/')}/", None)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for key in keys:
            try:
                self._patiently(lambda key=key: self._files.rm_file(self._name(key)), key)  # type: ignore[misc]
            except FileNotFoundError:
                continue

    def copy(self, source: str, target: str) -> None:
        """Copy an object."""
        self._patiently(lambda: self._files.cp_file(self._name(source), self._name(target)), source)

    def _name(self, key: str) -> str:
        return f"{self.bucket}/{key}"

    def _address(self, key: str) -> str:
        return f"{self._scheme}://{self.bucket}/{key}"

    def _patiently(self, function: Callable[[], T], key: str) -> T:
        return patiently(function, lambda error: self._passing(key, error), self._address(key))

    def _passing(self, key: str, error: Exception) -> str | None:
        """Return what a failure is that may pass; raise what the others mean."""
        if isinstance(error, ConnectionError | TimeoutError):
            return type(error).__name__
        if isinstance(error, OSError):
            return None
        raise StoreError(f"{self._address(key)} cannot be used: {type(error).__name__}") from None


def _status(found: dict[str, Any]) -> Status:
    tag: Any = next((found[name] for name in ("blob_id", "xet_hash") if found.get(name)), None)
    when: Any = found.get("created")
    written = when.timestamp() if hasattr(when, "timestamp") else time.time()
    return Status(int(found["size"] or 0), str(tag or f"{found['size']} {when}"), None, time.time() - written)
