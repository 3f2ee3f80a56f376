"""Google Cloud Storage by its own client, with the keys that Google's other tools use."""

import errno
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edos_dataset.runs.stores.base import Status, T, TornError, arrived_otherwise, patiently, tag_if_ours
from edos_dataset.runs.stores.gcs_answers import Clock, connect, passing

_SHA256 = "sha256"
_ONCE = {"retry": None, "timeout": (10, 60)}
"""Of every call: ours is who repeats it; seconds to connect, and between two pieces of an answer."""


class GoogleStore:
    """A bucket of Google Cloud Storage; see `Store`. The tag of an object is its generation.

    Raises:
        ModuleNotFoundError: Google's client is not installed.
        StoreError: there are no keys.
    """

    def __init__(self, bucket: str) -> None:
        """Make a client; of the bucket nothing is asked yet."""
        self.bucket, self._clock = bucket, Clock()
        self._client = connect(bucket, self._clock)
        self._objects = self._client.bucket(bucket)

    def status(self, key: str) -> Status | None:
        """Return what is known of an object."""

        def look() -> Status:
            blob = self._objects.blob(key)
            blob.reload(**_ONCE)
            return self._status(blob)

        try:
            return self._patiently(look, key)
        except FileNotFoundError:
            return None

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return a range of bytes."""
        if start >= stop:
            return b""
        given = _ONCE | {"if_generation_match": int(tag) if tag else None}

        def content() -> bytes:
            data = self._objects.blob(key).download_as_bytes(
                start=start, end=stop - 1, raw_download=True, checksum=None, **given
            )
            if len(data) != stop - start:
                raise TornError
            return bytes(data)

        return self._patiently(content, key)

    def fetch(self, key: str, target: Path) -> None:
        """Write an object into a local file, which has its checksum."""
        blob = self._objects.blob(key)
        self._patiently(lambda: blob.download_to_filename(str(target), raw_download=True, **_ONCE), key)

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Write a local file with a checksum, by which the store judges it, and look at what is there then."""

        def send() -> None:
            blob = self._objects.blob(key)
            blob.metadata = {_SHA256: sha256}
            blob.upload_from_filename(str(source), checksum="crc32c", **_ONCE)

        self._patiently(send, None, key)
        there = self.status(key)
        if there is None or (there.size, there.sha256) != (source.stat().st_size, sha256):
            raise arrived_otherwise(self._address(key))
        return there

    def put_if(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if nobody was there first; an answer that was lost is looked for."""
        blob = self._objects.blob(key)
        given = _ONCE | {"if_generation_match": int(tag or 0)}  # 0: of none that is there
        try:
            self._patiently(lambda: blob.upload_from_string(data, checksum="crc32c", **given), None, key)
            return str(blob.generation)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
            return tag_if_ours(self, key, data)

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects below a prefix."""
        given = {"prefix": prefix, "delimiter": None if deep else "/", **_ONCE}
        token: str | None = None

        def page() -> tuple[list[str], list[tuple[str, Status]], str | None]:
            pages = self._client.list_blobs(self.bucket, page_token=token, **given)
            found = next(pages.pages)
            objects = [(str(blob.name), self._status(blob)) for blob in found]
            return sorted(pages.prefixes), objects, pages.next_page_token

        while True:
            folders, objects, token = self._patiently(page, None, prefix)
            yield from ((folder, None) for folder in folders)
            yield from objects
            if not token:
                return

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for key in keys:
            try:
                self._patiently(partial(self._objects.blob(key).delete, **_ONCE), key)
            except FileNotFoundError:
                continue

    def copy(self, source: str, target: str) -> None:
        """Copy an object with what it says of itself, in as many steps as the store wants."""
        origin, goal = self._objects.blob(source), self._objects.blob(target)
        token = None
        while True:
            token, _, _ = self._patiently(partial(goal.rewrite, origin, token=token, **_ONCE), source)
            if not token:
                return

    def _status(self, blob: Any) -> Status:  # noqa: ANN401 - of Google's client
        sha256 = (blob.metadata or {}).get(_SHA256)
        return Status(int(blob.size), str(int(blob.generation)), sha256, self._clock.age(blob.updated))

    def _address(self, key: str) -> str:
        return f"gs://{self.bucket}/{key}"

    def _patiently(self, function: Callable[[], T], key: str | None, about: str = "") -> T:
        """Call the store as often as it takes.

        Args:
            function: the call.
            key: of the object that is to be there; None where only the bucket has to.
            about: the key for messages, where that is None.
        """
        address = self._address(about if key is None else key)
        return patiently(function, partial(passing, self.bucket, address, key is not None), address)
