"""A bucket of an object store: the few operations that a run needs, retried after network failures.

obstore serves S3 and compatible stores, Google Cloud Storage, Azure and memory; huggingface_hub serves the Hub, which
is read-only.
"""

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from configparser import ConfigParser
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from edos_dataset.runs.retries import TransientError, call_with_retries
from edos_dataset.text import clipped

T = TypeVar("T")

TRIES, WAIT = 6, 0.3
"""Tries of a call, and seconds before the second one; they double with each."""

_MOST_AT_ONCE, _PART = 64 << 20, 16 << 20
"""Most bytes of one request, and bytes of a part of larger files, of which four are sent at a time."""
_MOST_COPIED = 5 << 30
"""Most bytes that S3 copies in one request; larger objects are uploaded again."""
_MOST_READ = 16 << 20
"""Bytes of a request in the download of a file; each must come within `_LONGEST_ANSWER`."""
_LONGEST_ANSWER = 600
"""Seconds that an answer may take: a server that sends a byte now and then is as one that sends nothing."""
_LONGEST_LINE = 300  # characters of an answer in a message
_MOST_KEYS = 10_000_000
"""Objects that a listing may have: some twenty times the files of OPUS."""
_KEYS_A_CALL, _SHA256 = 1_000, "sha256"
_OF_OBSTORE = FileNotFoundError | ValueError | TypeError | RecursionError | OverflowError
_EXTRAS = {"s3": "s3", "gs": "gs", "az": "azure"}


class StoreError(RuntimeError):
    """A store cannot be used or does not answer; the message says why and what to do, and contains no secret."""


class Status(NamedTuple):
    """The status of an object.

    Attributes:
        size: its size in bytes.
        tag: changes whenever the content changes (an ETag).
        sha256: SHA-256 of the content (hex), recorded by this package with its uploads; else None.
        written: seconds since 1970 when it was written, by the store's clock.
        version: also needed by some stores to replace exactly this content (Google's generation).
    """

    size: int
    tag: str
    sha256: str | None = None
    written: float = 0.0
    version: str | None = None


class ReplacedError(OSError):
    """The content of an object was replaced while it was read."""


def changed(address: str) -> ReplacedError:
    """Return the error for an object whose content was replaced while it was read."""
    return ReplacedError(errno.ESTALE, "was changed while it was read; give the same command again", address)


class Store:
    """A bucket. Keys are paths without a slash at the beginning.

    Every call is retried after transient network failures. Errors are StoreError, FileNotFoundError for a missing
    object, and PermissionError.

    Args:
        scheme: the beginning of its addresses, "s3".
        bucket: its name.
    """

    def __init__(self, scheme: str, bucket: str) -> None:
        self._scheme, self.bucket = scheme, bucket

    def status(self, key: str) -> Status | None:
        """Return what is known of an object, None where there is none."""
        raise NotImplementedError

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return the bytes from `start` to before `stop`, both within the object.

        Raises:
            ReplacedError: `tag` is given and the object has a different tag.
        """
        raise NotImplementedError

    def first(self, key: str, most: int) -> tuple[bytes, Status]:
        """Return the first bytes of an object, all of them where there are at most `most`, and its status.

        Raises:
            FileNotFoundError: there is no such object.
        """
        if (found := self.status(key)) is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such object", self._address(key))
        return self.read(key, 0, min(most, found.size), found.tag), found

    def fetch(self, key: str, target: Path) -> Status:
        """Download an object and return its status; memory does not grow with its size.

        Raises:
            ReplacedError: the object was replaced meanwhile.
        """
        data, found = self.first(key, _MOST_READ)
        with target.open("wb") as file:
            file.write(data)
            for start in range(len(data), found.size, _MOST_READ):
                file.write(self.read(key, start, min(start + _MOST_READ, found.size), found.tag))
        return found

    def holds(self, prefix: str) -> bool:
        """Return whether there is an object below a prefix."""
        return next(self.list(prefix, deep=False), None) is not None

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects whose keys begin with a prefix, in the order of their keys.

        Args:
            prefix: "" or one that ends in "/".
            deep: also those in folders below; otherwise the folders themselves are yielded first, with "/" at the end
                and no status.
        """
        raise NotImplementedError

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Upload a local file, check that it arrived, and return its status.

        Raises:
            StoreError: also if the object is not what was sent.
        """
        raise self._read_only(key)

    def put_if(self, key: str, data: bytes, expected: Status | None) -> Status | None:
        """Write an object if it does not exist (`expected` None) or is still the expected one; return its new status
        without the time, or None if another process was first.
        """
        raise self._read_only(key)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those that do not exist are no error."""
        raise self._read_only("".join(keys[:1]))

    def copy(self, source: str, target: str) -> None:
        """Copy an object and its SHA-256 within the store."""
        raise self._read_only(source)

    def _address(self, key: str) -> str:
        return f"{self._scheme}://{self.bucket}/{key}"

    def _read_only(self, key: str) -> StoreError:
        return StoreError(f"{self._address(key)} is in a store that is only read")

    def _call(self, function: Callable[[], T], key: str) -> T:
        return call_with_retries(
            function,
            lambda error: self._transient(error, key),
            lambda failure: self._silent(failure, key),
            TRIES,
            WAIT,
        )

    def _transient(self, error: Exception, key: str) -> TransientError | None:
        """Return a transient failure, or None for an error outside the store; raise permanent ones in plain words."""
        raise NotImplementedError

    def _silent(self, failure: TransientError, key: str) -> StoreError:
        return StoreError(
            f"{self._address(key)} does not answer ({failure}, {TRIES} tries): what is finished is kept, and the same "
            "command resumes"
        )


class ObjectStore(Store):
    """A bucket of S3, Google Cloud Storage, Azure or memory; see `Store`.

    Raises:
        ModuleNotFoundError: obstore is not installed; the message gives the command.
        StoreError: the keys cannot be read.
    """

    def __init__(self, scheme: str, bucket: str) -> None:
        super().__init__(scheme, bucket)
        try:
            import obstore
        except ImportError as error:
            extra = _EXTRAS.get(scheme, "s3")
            raise ModuleNotFoundError(f'{scheme}:// needs obstore: pip install "edos-dataset[{extra}]"') from error
        self._obstore = obstore
        try:
            self._store: Any = _connect(scheme, bucket)
            self._reading: Any = _connect(scheme, bucket, _LONGEST_ANSWER)
        except (obstore.exceptions.BaseError, ValueError):
            raise self._no_keys() from None

    def status(self, key: str) -> Status | None:
        """Return what is known of an object, None where there is none."""
        try:
            found = self._call(lambda: self._obstore.get(self._reading, key, options={"head": True}), key)
        except FileNotFoundError:
            return None
        return _status(found.meta, found.attributes.get(_SHA256))

    def read(self, key: str, start: int, stop: int, tag: str = "") -> bytes:
        """Return the bytes from `start` to before `stop`."""
        if start >= stop:
            return b""
        options: dict[str, Any] = {"range": (start, stop)} | ({"if_match": f'"{tag}"'} if tag else {})

        def content() -> bytes:
            data = bytes(self._obstore.get(self._reading, key, options=options).bytes())
            if len(data) != stop - start:
                raise ConnectionError("the answer ends early")
            return data

        return self._call(content, key)

    def first(self, key: str, most: int) -> tuple[bytes, Status]:
        """Return the first bytes of an object and its status, in one request."""

        def begin() -> tuple[bytes, Status]:
            answer = self._obstore.get(self._reading, key, options={"range": (0, most)})
            data, found = bytes(answer.bytes()), _status(answer.meta)
            if len(data) != min(most, found.size):
                raise ConnectionError("the answer ends early")
            return data, found

        try:
            return self._call(begin, key)
        except StoreError:
            there = self.status(key)
            if there is None or there.size:
                raise
            return b"", there  # there are no ranges of an empty object

    def holds(self, prefix: str) -> bool:
        """Return whether there is an object below a prefix, by one page of its listing."""
        return next(self.list(prefix), None) is not None

    def put(self, key: str, source: Path, sha256: str) -> Status:
        """Upload a local file, check that it arrived, and return its status."""
        size = source.stat().st_size
        parts = {"use_multipart": size > _MOST_AT_ONCE, "chunk_size": _PART, "max_concurrency": 4}
        self._call(lambda: self._obstore.put(self._store, key, source, attributes={_SHA256: sha256}, **parts), key)
        there = self.status(key)
        if there is None or (there.size, there.sha256) != (size, sha256):
            raise StoreError(
                f"{self._address(key)} is not what was sent there: does something else write to it? The same command "
                "resumes"
            )
        return there

    def put_if(self, key: str, data: bytes, expected: Status | None) -> Status | None:
        """Write an object unless another process did first. If the answer was lost, an equal object counts as ours."""
        mode: Any = "create"
        if expected is not None:
            mode = {"e_tag": f'"{expected.tag}"'} | ({"version": expected.version} if expected.version else {})
        try:
            written = self._call(lambda: self._obstore.put(self._store, key, data, mode=mode), key)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ESTALE, errno.ENOENT):
                raise
            there = self.status(key)
            ours = there is not None and there.size == len(data) and self.read(key, 0, len(data), there.tag) == data
            return there if ours else None
        return Status(len(data), _tag(written), version=written["version"])

    def list(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, Status | None]]:
        """Yield the objects below a prefix, without the empty objects that some tools write for non-empty folders."""
        if not deep:
            found = self._call(lambda: self._obstore.list_with_delimiter(self._reading, prefix or None), prefix)
            yield from ((f"{folder}/", None) for folder in sorted(found["common_prefixes"]))
            objects: Iterator[Any] = iter(sorted(found["objects"], key=lambda meta: str(meta["path"])))
        else:
            objects = self._objects(prefix)
        held: tuple[str, Status] | None = None
        for meta in objects:
            if not meta["path"].startswith(prefix):
                continue  # the object of the folder itself
            if held is not None and not meta["path"].startswith(f"{held[0]}/"):
                yield held
            held = meta["path"], _status(meta)
            if held[1].size:
                yield held
                held = None
        if held is not None:
            yield held

    def _objects(self, prefix: str) -> Iterator[Any]:
        """Yield obstore's records of the objects below a prefix; an interrupted listing resumes after its last key."""
        last, firsts = None, set[str]()
        pages: Any = None

        def page() -> Any:  # noqa: ANN401
            nonlocal pages
            if pages is None:
                pages = iter(self._obstore.list(self._reading, prefix or None, offset=last, chunk_size=_KEYS_A_CALL))
            try:
                return next(pages, ())
            except Exception:
                pages = None
                raise

        while found := self._call(page, prefix):
            first = found[0]["path"]
            if first in firsts:
                raise StoreError(
                    f"{self._address(prefix)} is listed again and again, and would never end: is it a store?"
                )
            firsts.add(first)
            if len(firsts) > _MOST_KEYS // _KEYS_A_CALL:
                raise StoreError(
                    f"{self._address(prefix)} holds more than {_MOST_KEYS:,} objects, and its listing may never end: "
                    "give the folders below it"
                )
            yield from found
            last = found[-1]["path"]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for start in range(0, len(keys), _KEYS_A_CALL):
            some = list(keys[start : start + _KEYS_A_CALL])
            try:
                self._call(lambda some=some: self._obstore.delete(self._store, some), some[0])  # type: ignore[misc]
            except FileNotFoundError:  # one is missing; on Google's store the others may not be deleted then
                for key in some:
                    with suppress(FileNotFoundError):
                        self._call(lambda key=key: self._obstore.delete(self._store, key), key)  # type: ignore[misc]

    def copy(self, source: str, target: str) -> None:
        """Copy an object and its SHA-256 within the store."""
        there = self.status(source)
        if there is None or there.size <= _MOST_COPIED:
            self._call(lambda: self._obstore.copy(self._store, source, target), source)
            return
        with tempfile.TemporaryDirectory() as folder:
            content = Path(folder) / "content"
            self.fetch(source, content)
            self.put(target, content, there.sha256 or "")

    def _transient(self, error: Exception, key: str) -> TransientError | None:
        if isinstance(error, ConnectionError):
            return TransientError(str(error))
        if getattr(error, "errno", None) or not isinstance(error, _OF_OBSTORE | self._obstore.exceptions.BaseError):
            return None  # errors with an errno are local
        answer = _Answer(str(error))
        if answer.may_pass:
            return TransientError(str(answer))
        raise self._meaning(error, answer, self._address(key)) from None

    def _meaning(self, error: Exception, answer: "_Answer", address: str) -> Exception:
        """Return a permanent failure as an exception that says what to do."""
        exceptions = self._obstore.exceptions
        if answer.code == "NoSuchBucket" or "ContainerNotFound" in answer.text:
            where = f"{self._scheme}://{self.bucket}"
            return StoreError(f"there is no bucket {self.bucket!r}: create it first, or correct the address {where}")
        if isinstance(error, FileNotFoundError):
            return FileNotFoundError(errno.ENOENT, "there is no such object", address)
        if isinstance(error, exceptions.AlreadyExistsError):
            return FileExistsError(errno.EEXIST, "is there already", address)
        if isinstance(error, exceptions.PreconditionError):
            return changed(address)
        if answer.of_machine_keys:
            return self._no_keys()
        if answer.refuses or isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
            return PermissionError(
                errno.EACCES, f"the store refuses ({answer.code or answer.status}): check the keys", address
            )
        if "redirect" in answer.text.lower() and self._scheme == "s3":
            return StoreError(f"{address}: the bucket is in another region: set AWS_REGION to it")
        if answer.status:
            return StoreError(f"{address}: the store answers {answer}")
        return StoreError(f"{address} cannot be used: {answer.first_line}")

    def _no_keys(self) -> StoreError:
        return StoreError(f"no keys for {self._scheme}://{self.bucket}: {_KEYS[self._scheme]}")


class _Answer:
    """A store's answer, parsed from obstore's message: the HTTP status, and the error code of S3 and Google."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = (re.findall(r"<Code>(\w{1,80})</Code>", text) or [""])[0]
        self.status = int((re.findall(r"status code: (\d{3})", text) or [0])[0])

    def __str__(self) -> str:
        if self.status:
            return f"{self.status} {self.code}".strip()
        kinds = re.findall(r"\b(Incomplete\w+|Connection\w+|TimedOut|UnexpectedEof|Connect)\b", self.text)
        return kinds[-1] if kinds else "the connection was cut"

    @property
    def may_pass(self) -> bool:
        if self.of_machine_keys:
            return False
        if self.status:
            return self.status >= 500 or self.status in (408, 429) or self.code in _TRANSIENT_CODES
        return "HTTP error" in self.text or "response body" in self.text

    @property
    def of_machine_keys(self) -> bool:
        """Whether obstore, as a last resort, asked the cloud machine's metadata server for keys."""
        return "169.254.169.254" in self.text or "metadata.google" in self.text

    @property
    def refuses(self) -> bool:
        return self.code in _KEY_CODES or ("token request" in self.text and self.status > 0)

    @property
    def first_line(self) -> str:
        """The beginning of the first line, without addresses, which may contain a key."""
        return clipped(re.sub(r"https?://\S+", "the store", self.text.partition("\n")[0]), _LONGEST_LINE)


_TRANSIENT_CODES = {
    *("SlowDown", "Throttling", "ThrottlingException", "RequestTimeout", "RequestTimeTooSkewed", "InternalError"),
    *("BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", "ConditionalRequestConflict", "OperationAborted"),
}
_KEY_CODES = {"ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "TokenRefreshRequired"}
_KEYS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "give `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a "
    "service account's key",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "memory": "",
}
_MEMORY: dict[str, Any] = {}
"""In-memory buckets, which last as long as the process."""


def _connect(scheme: str, bucket: str, longest: int = 86_400) -> Any:  # noqa: ANN401 - one of obstore's classes
    from obstore import store

    if scheme == "memory":
        return _MEMORY.setdefault(bucket, store.MemoryStore())
    given: dict[str, Any] = {
        # large files need long; a connection that is silent for a minute is closed
        "client_options": {
            "allow_http": True,
            "connect_timeout": "10s",
            "read_timeout": "60s",
            "timeout": f"{longest}s",
        },
        "retry_config": {"max_retries": 0},  # `_call` retries, and handles lost answers
    }
    if scheme == "s3":
        return store.S3Store(bucket, checksum_algorithm="sha256", **_aws_profile(), **given)
    if scheme == "az":
        return store.AzureStore(bucket, **given)
    if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):
        given |= {"base_url": emulator, "bearer_token": "none"}  # `skip_signature` applies to reading only
    return store.GCSStore(bucket, **given)


def _aws_profile() -> dict[str, Any]:
    """Return the keys and region of the profile in AWS_PROFILE, or of the default one; empty if the environment has
    keys.
    """
    if "AWS_ACCESS_KEY_ID" in os.environ:
        return {}
    name, home = os.environ.get("AWS_PROFILE", "default"), Path.home() / ".aws"
    files = ConfigParser(interpolation=None)
    files.read(
        [
            os.environ.get("AWS_CONFIG_FILE", home / "config"),
            os.environ.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials"),
        ]
    )
    found: dict[str, str] = {}
    for section in (f"profile {name}", name):
        if files.has_section(section):
            found |= dict(files[section])
    wanted = {
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
    }
    given = {ours: found[theirs] for theirs, ours in wanted.items() if theirs in found}
    if "region" in found and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys():
        given["region"] = found["region"]
    return given


def _tag(found: Any) -> str:  # noqa: ANN401
    return str(found["e_tag"] or "").strip('"')


def _status(meta: Any, sha256: str | None = None) -> Status:  # noqa: ANN401
    return Status(meta["size"], _tag(meta), sha256, meta["last_modified"].timestamp(), meta["version"])
