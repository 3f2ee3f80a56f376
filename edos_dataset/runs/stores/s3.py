"""S3, and what speaks its language, by boto3: keys, region and endpoint are those of the environment (`AWS_...`)."""

import base64
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from edos_dataset.runs.stores.base import Status, StoreError, T, changed, patiently

_MOST_AT_ONCE = 1 << 30
"""Bytes that go in one request; more go in parts, each with a checksum of its own."""

_KEYS_A_CALL = 1_000
_SHA256 = "sha256"
_PASSING_CODES = {
    *("SlowDown", "Throttling", "ThrottlingException", "RequestTimeout", "RequestTimeTooSkewed", "InternalError"),
    *("BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", "ConditionalRequestConflict", "OperationAborted"),
}
_KEY_CODES = {"ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "TokenRefreshRequired"}


class S3Store:
    """A bucket of S3; see `Store`.

    Raises:
        ModuleNotFoundError: boto3 is not installed.
        StoreError: the name can be no bucket's.
    """

    def __init__(self, bucket: str) -> None:
        """Make a client; nothing is asked yet."""
        self.bucket, self._client = bucket, _connect()

    def status(self, key: str) -> Status | None:
        """Return what is known of an object."""
        try:
            found = self._call("head_object", key, ChecksumMode="ENABLED")
        except FileNotFoundError:
            return None
        now = found["ResponseMetadata"]["HTTPHeaders"].get("date")
        age = (parsedate_to_datetime(now) - found["LastModified"]).total_seconds() if now else 0.0
        return Status(found["ContentLength"], found["ETag"].strip('"'), found["Metadata"].get(_SHA256) or None, age)

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return a range of bytes."""
        if start >= stop:
            return b""
        given = {"Range": f"bytes={start}-{stop - 1}"} | ({"IfMatch": f'"{tag}"'} if tag else {})
        content: bytes = self._call("get_object", key, lambda answer: answer["Body"].read(), **given)
        return content

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
            checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
            given = {"Metadata": metadata, "ChecksumSHA256": checksum, "ContentLength": size}
            with source.open("rb") as file:

                def send() -> dict[str, Any]:
                    file.seek(0)
                    sent: dict[str, Any] = self._client.put_object(Bucket=self.bucket, Key=key, Body=file, **given)
                    return sent

                answer = self._patiently(send, key)
        there = self.status(key)
        if there is None or (there.size, there.sha256) != (size, sha256) or not self._arrived(key, source, answer):
            raise StoreError(
                f"{self._address(key)} is not what was sent there: does something else write to it? The same command "
                "goes on where it was"
            )
        return there

    def put_if(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if nobody was there first; an answer that was lost is looked for."""
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": f'"{tag}"'}
        try:
            return str(self._call("put_object", key, Body=data, **condition)["ETag"].strip('"'))
        except OSError as error:
            if error.errno not in (errno.ESTALE, errno.ENOENT):  # of another tag, or absent
                raise
            there = self.status(key)
            ours = there is not None and there.size == len(data) and self.read(key, 0, len(data)) == data
            return there.tag if there and ours else None

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects below a prefix."""
        given: dict[str, Any] = {"Prefix": prefix} | ({} if deep else {"Delimiter": "/"})
        while True:
            answer = self._call("list_objects_v2", None, **given)
            yield from ((folder["Prefix"], None) for folder in answer.get("CommonPrefixes", ()))
            for found in answer.get("Contents", ()):
                yield found["Key"], Status(found["Size"], found["ETag"].strip('"'))
            if not answer.get("IsTruncated"):
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

    def _arrived(self, key: str, source: Path, answer: dict[str, Any] | None) -> bool:
        """Return whether the bytes there are those sent: by the checksum that the store reckoned, by its tag, which is
        most often the MD5, or else by reading them again; each part of many has been checked by the store.
        """
        if answer is None or answer.get("ChecksumSHA256"):
            return True
        with source.open("rb") as file:
            content = _md5(file.read)
        if answer["ETag"].strip('"') == content:
            return True
        return self.read(key, 0, source.stat().st_size) == source.read_bytes()

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
        return patiently(function, partial(self._passing, key), self._address(key))

    def _address(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    def _passing(self, key: str, error: Exception) -> str | None:
        """Return what a failure is that may pass; raise what the others mean."""
        from boto3.exceptions import S3UploadFailedError
        from botocore import exceptions, parsers
        from urllib3.exceptions import HTTPError

        cause = error.__context__ if isinstance(error, S3UploadFailedError) else error
        if isinstance(cause, exceptions.ClientError):
            return self._answered(key, cause)
        if isinstance(cause, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
            raise StoreError(
                f"no keys for s3://{self.bucket}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
            ) from None
        if isinstance(cause, exceptions.ParamValidationError):
            raise StoreError(f"{self._address(key)} is no address of S3: give s3://BUCKET/FOLDER") from None
        cut = (exceptions.HTTPClientError, exceptions.IncompleteReadError, exceptions.FlexibleChecksumError)
        if isinstance(cause, (*cut, parsers.ResponseParserError, HTTPError, ConnectionError, TimeoutError)):
            return type(cause).__name__
        if isinstance(cause, exceptions.BotoCoreError):
            raise StoreError(f"{self._address(key)} cannot be reached: {type(cause).__name__}") from error
        return None

    def _answered(self, key: str, error: Any) -> str | None:  # noqa: ANN401 - of botocore
        """Say what an answer of the store means, as `_passing`."""
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if status >= 500 or status == 429 or code in _PASSING_CODES:
            return f"{status} {code}"
        if code == "NoSuchBucket":
            raise StoreError(
                f"there is no bucket {self.bucket!r}: make it first, or mend the address s3://{self.bucket}"
            ) from None
        if status == 404:
            raise FileNotFoundError(2, "there is no such object", self._address(key)) from None
        if status == 412:
            raise changed(self._address(key)) from None
        if status in (401, 403) or code in _KEY_CODES:
            raise PermissionError(13, f"the store refuses ({code}): look at the keys", self._address(key)) from None
        raise StoreError(f"{self._address(key)}: the store answers {status} {code}") from error


def _md5(read: Callable[[int], bytes]) -> str:
    found = hashlib.md5(usedforsecurity=False)
    while block := read(1 << 20):
        found.update(block)
    return found.hexdigest()


def _connect() -> Any:  # noqa: ANN401 - boto3 makes its classes when it runs
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise ModuleNotFoundError('s3:// needs boto3: pip install "edos-dataset[s3]"') from error

    def client(style: str) -> Any:  # noqa: ANN401
        config = Config(
            connect_timeout=10,
            read_timeout=60,
            max_pool_connections=16,
            retries={"total_max_attempts": 1},  # ours know more
            request_checksum_calculation="when_required",  # older servers know no others
            response_checksum_validation="when_required",
            s3={"addressing_style": style},
        )
        return boto3.session.Session().client("s3", config=config, region_name=os.environ.get("AWS_REGION"))

    made = client("auto")
    host = urlsplit(made.meta.endpoint_url).hostname or ""
    return made if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else client("path")
