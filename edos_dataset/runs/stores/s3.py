"""S3, and what speaks its language, by boto3: keys, region and endpoint are those of the environment (`AWS_...`)."""

import base64
import errno
import hashlib
from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any

from edos_dataset.runs.stores.base import Status, T, TornError, arrived_otherwise, patiently, tag_if_ours
from edos_dataset.runs.stores.s3_answers import connect, listed, passing, tag_of

_MOST_AT_ONCE = 1 << 30
"""Bytes that go in one request; more go in parts, each with a checksum of its own."""

_KEYS_A_CALL = 1_000
_SHA256, _HEX = "sha256", 64


class S3Store:
    """A bucket of S3; see `Store`.

    Raises:
        ModuleNotFoundError: boto3 is not installed.
        StoreError: the name can be no bucket's.
    """

    def __init__(self, bucket: str) -> None:
        """Make a client; nothing is asked yet."""
        self.bucket, self._client = bucket, connect()

    def status(self, key: str) -> Status | None:
        """Return what is known of an object. An answer without a body ends anywhere and looks whole, so a number that
        may be cut is asked for again, until two agree.
        """
        seen: list[str] = []

        def look(found: dict[str, Any]) -> Status:
            headers = found["ResponseMetadata"]["HTTPHeaders"]
            size = str(found["ContentLength"])
            if next(reversed(headers)) == "content-length" and size not in seen:
                seen.append(size)
                raise TornError
            now = headers.get("date", "")
            age = (parsedate_to_datetime(now) - found["LastModified"]).total_seconds() if now.endswith("GMT") else 0.0
            sha256 = found["Metadata"].get(_SHA256, "")
            return Status(int(size), tag_of(found), sha256 if len(sha256) == _HEX else None, age)

        try:
            status: Status = self._call("head_object", key, look, ChecksumMode="ENABLED")
            return status
        except FileNotFoundError:
            return None

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return a range of bytes."""
        if start >= stop:
            return b""
        given = {"Range": f"bytes={start}-{stop - 1}"} | ({"IfMatch": f'"{tag}"'} if tag else {})

        def content(answer: dict[str, Any]) -> bytes:
            data: bytes = answer["Body"].read()
            if len(data) != stop - start:
                raise TornError
            return data

        found: bytes = self._call("get_object", key, content, **given)
        return found

    def fetch(self, key: str, target: Path) -> None:
        """Write an object into a local file."""

        def save(answer: dict[str, Any]) -> None:
            with target.open("wb") as file:
                for block in answer["Body"].iter_chunks(1 << 20):
                    file.write(block)

        self._call("get_object", key, save)

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Write a local file and look at what is there then."""
        size, metadata = source.stat().st_size, {_SHA256: sha256}
        if size > _MOST_AT_ONCE:
            self._put_in_parts(key, source, metadata)
            answer = None
        else:
            given = {"Metadata": metadata, "ChecksumSHA256": _base64(sha256), "ContentLength": size}
            with source.open("rb") as file:

                def send() -> dict[str, Any]:
                    file.seek(0)
                    sent: dict[str, Any] = self._client.put_object(Bucket=self.bucket, Key=key, Body=file, **given)
                    return sent

                answer = self._patiently(send, key)
        there = self.status(key)
        if there is not None and there.sha256 is None:  # cut off, perhaps
            there = self.status(key)
        if (
            there is None
            or (there.size, there.sha256) != (size, sha256)
            or not self._arrived(key, source, answer, there)
        ):
            raise arrived_otherwise(self._address(key))
        return there

    def put_if(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if nobody was there first; an answer that was lost is looked for."""
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": f'"{tag}"'}
        try:
            return str(self._call("put_object", key, tag_of, Body=data, **condition))
        except OSError as error:
            if error.errno not in (errno.ESTALE, errno.ENOENT):  # of another tag, or absent
                raise
            return tag_if_ours(self, key, data)

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects below a prefix."""
        given: dict[str, Any] = {"Prefix": prefix} | ({} if deep else {"Delimiter": "/"})
        while True:
            answer = self._call("list_objects_v2", None, listed, **given)
            yield from ((folder["Prefix"], None) for folder in answer.get("CommonPrefixes", ()))
            for found in answer.get("Contents", ()):
                yield found["Key"], Status(found["Size"], found["ETag"].strip('"'))
            if not answer["IsTruncated"]:
                return
            given["ContinuationToken"] = answer["NextContinuationToken"]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for start in range(0, len(keys), _KEYS_A_CALL):
            names = [{"Key": key} for key in keys[start : start + _KEYS_A_CALL]]
            answer = self._call("delete_objects", None, Delete={"Objects": names, "Quiet": True})
            for error in answer.get("Errors", ()):
                raise PermissionError(13, f"cannot be deleted ({error['Code']})", self._address(error["Key"]))

    def copy(self, source: str, target: str) -> None:
        """Copy an object with what it says of itself."""
        there = self.status(source)
        origin = {"Bucket": self.bucket, "Key": source}
        if there is None or there.size <= _MOST_AT_ONCE:
            self._patiently(lambda: self._client.copy_object(Bucket=self.bucket, Key=target, CopySource=origin), source)
            return
        extra = {"Metadata": {_SHA256: there.sha256 or ""}}
        self._patiently(lambda: self._client.copy(origin, self.bucket, target, ExtraArgs=extra), source)

    def _put_in_parts(self, key: str, source: Path, metadata: dict[str, str]) -> None:
        from boto3.s3.transfer import TransferConfig

        extra, config = {"Metadata": metadata}, TransferConfig(use_threads=False)
        self._patiently(
            lambda: self._client.upload_file(str(source), self.bucket, key, ExtraArgs=extra, Config=config), key
        )

    def _arrived(self, key: str, source: Path, answer: dict[str, Any] | None, there: Status) -> bool:
        """Return whether the bytes there are those sent: by the checksum that the store reckoned, by its tag, which is
        most often the MD5, or else by reading them again; each part of many has been checked by the store.
        """
        if answer is None or answer.get("ChecksumSHA256") == _base64(there.sha256 or ""):
            return True
        with source.open("rb") as file:
            if there.tag == _md5(file.read):
                return True
        return self.read(key, 0, there.size, there.tag) == source.read_bytes()

    def _call(
        self,
        operation: str,
        key: str | None,
        then: Callable[[dict[str, Any]], T] | None = None,
        **given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - of boto3, or what `then` makes of it
        """Call the store, and read its answer, as often as it takes."""
        named = {"Bucket": self.bucket} | ({} if key is None else {"Key": key})
        call = partial(getattr(self._client, operation), **named, **given)
        return self._patiently(call if then is None else lambda: then(call()), key or "")

    def _patiently(self, function: Callable[[], T], key: str) -> T:
        return patiently(function, partial(passing, self.bucket, key), self._address(key))

    def _address(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"


def _base64(digest: str) -> str:
    return base64.b64encode(bytes.fromhex(digest)).decode()


def _md5(read: Callable[[int], bytes]) -> str:
    found = hashlib.md5(usedforsecurity=False)
    while block := read(1 << 20):
        found.update(block)
    return found.hexdigest()
