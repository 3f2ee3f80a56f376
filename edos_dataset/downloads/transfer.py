"""Download of a file over HTTP with retries: queried first, resumed after an interruption, restarted if it has changed
(RFC 9110, Sections 13 and 14).
"""

import base64
import binascii
import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Timer
from typing import Any

from edos_dataset.runs.http import PASSING, asked_wait, httpx
from edos_dataset.runs.retries import TransientError, call_with_retries
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.version import __version__
from edos_dataset.wording import counted


@dataclass(frozen=True)
class Offer:
    """What a server states about a file.

    Attributes:
        url: the file's address, before any redirection.
        size: bytes, or None if not stated.
        etag: its ETag, or "".
        modified: its Last-Modified, or "".
        sha256: hex digest of the whole file, or "" if not stated.
        md5: the same for MD5.
    """

    url: str
    size: int | None
    etag: str = ""
    modified: str = ""
    sha256: str = ""
    md5: str = ""

    def __post_init__(self) -> None:
        """Check the types, as a record kept by an earlier download may be damaged."""
        texts = (self.url, self.etag, self.modified, self.sha256, self.md5)
        if not all(type(text) is str for text in texts) or not (self.size is None or type(self.size) is int):
            raise TypeError(f"an offer holds texts and a size in bytes, got {self}")

    @property
    def validator(self) -> str:
        """What distinguishes this version of the file: a strong ETag, else the date; "" if there is neither, so that a
        download cannot be resumed.
        """
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


def digests_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the SHA-256 and MD5 (hex) that a server states for the whole file, each "" if not stated (RFC 9530, RFC
    3230, and the headers of Google and Amazon).
    """
    stated = ", ".join(headers.get(name, "") for name in ("Repr-Digest", "Digest", "x-goog-hash"))
    digests = {
        name.lower(): value.strip(":") for name, value in re.findall(r"(?<![\w-])([\w-]+)=(:?[\w+/]+=*:?)", stated)
    }
    sha256, md5 = (
        digests.get("sha-256") or headers.get("x-amz-checksum-sha256"),
        digests.get("md5") or headers.get("Content-MD5"),
    )
    return _hex(sha256 or "", 32), _hex(md5 or "", 16)


def _hex(value: str, length: int) -> str:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(value, validate=True)
        return raw.hex() if len(raw) == length else ""
    return ""


Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and the size of the whole file, if the server states it."""

_TRIES = 5
_LONGEST = 120.0  # maximum seconds between attempts; if a server asks for more, that is reported
_HEADERS = 2  # times the time-out between two bytes in which the header of an answer must come
_REMEMBERED = 8  # connections
_SLOWEST = 500  # bytes per second, over twice the time-out, below which a body is given up
_UNSTATED = 2**30  # maximum bytes of a file whose size is not stated
_NEVER = (httpx.TooManyRedirects, httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError)
_NO_HEAD = (400, 403, 405, 501)  # status codes of servers that may still answer a GET
_WHOLE = {"Accept-Encoding": "identity"}  # so that lengths and digests are those of the file


class DownloadError(ValueError):
    """A file is unavailable or not as expected; the message says why and what to do."""


class NotThereError(DownloadError):
    """The server has no such file."""


class Server:
    """A client of file servers that retries after transient failures.

    Args:
        wait: seconds before the second attempt, doubled for each further one, unless the server says how long to wait.
        timeout: seconds without a byte after which a connection counts as lost.
    """

    def __init__(self, wait: float = 1.0, timeout: float = 30.0) -> None:
        agent = {"User-Agent": f"edos-dataset/{__version__}", **_WHOLE}
        self._client = httpx.Client(follow_redirects=True, timeout=httpx.Timeout(timeout), headers=agent)
        self._wait, self._timeout = wait, timeout
        self._sockets: list[Any] = []

    def _connected(self, event: str, facts: Mapping[str, Any]) -> None:
        """Remember the connections that httpx opens; called by it."""
        if event in ("connection.connect_tcp.complete", "proxy.connect_tcp.complete"):
            self._sockets = [*self._sockets[-_REMEMBERED:], facts["return_value"].get_extra_info("socket")]

    @contextmanager
    def _answer(self, method: str, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Yield the answer to a request, whose body is not read yet.

        A server that sends its header byte by byte is cut off, as no time-out between two bytes would ever end it.
        """
        late = Timer(_HEADERS * self._timeout, self._cut)
        late.start()
        try:
            extensions = {"trace": self._connected}
            with self._client.stream(method, url, headers=headers, extensions=extensions) as response:
                late.cancel()
                yield response
        finally:
            late.cancel()

    def _cut(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def ask(self, url: str) -> Offer:
        """Ask about a file without fetching it.

        Raises:
            DownloadError: it does not exist, or the server does not answer.
        """

        def asked() -> Offer:
            with self._answer("HEAD", url) as response:
                response.read()  # so that the connection can be used again
                if response.status_code not in _NO_HEAD:
                    return self._offer(url, response)
            with self._answer("GET", url) as response:  # its body is not read
                return self._offer(url, response)

        return self._call(url, asked, lambda: 0)

    def fetch(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        """Fetch a file to `part`, resuming it if it is of the same version, which is recorded beside it in `.json`.

        Args:
            offer: the result of `ask`.
            part: the file to write; what has arrived is kept whatever happens.
            progress: called after each block.

        Returns:
            What the server states about the file sent, which may be newer than the one asked about.

        Raises:
            DownloadError: the server refuses, fails repeatedly, or sends more than it offered.
            OSError: it cannot be written.
        """
        part.parent.mkdir(parents=True, exist_ok=True)
        came = self._call(offer.url, lambda: self._receive(offer, part, progress), lambda: _size(part))
        same = (
            came.validator == offer.validator and came.size == offer.size
        )  # then what it stated about one holds for the other
        return replace(came, sha256=came.sha256 or offer.sha256 * same, md5=came.md5 or offer.md5 * same)

    def _receive(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        known = _read_state(part, offer.url)
        there = _size(part) if known else 0
        if known and there and there == known.size == offer.size and known.validator == offer.validator:
            return known
        headers = {"Range": f"bytes={there}-", "If-Range": known.validator} if known and there else {}
        with self._answer("GET", offer.url, headers) as response:
            came, there = self._begin(offer, part, known, response)
            _check_growth(offer, came)
            self._write(response, part, there, came.size, _most(came, offer), progress, 2 * self._timeout)
        if came.size is not None and _size(part) < came.size:
            raise TransientError(f"it ended after {_size(part):,} of {counted(came.size, 'bytes')}")
        return came

    def _begin(self, offer: Offer, part: Path, known: Offer | None, response: httpx.Response) -> tuple[Offer, int]:
        """Return what a server states about the file it sends, and after how many bytes of the part it continues. A
        part of another version or position is removed.
        """
        if response.status_code == 416:
            part.unlink(missing_ok=True)
            raise TransientError("it has fewer bytes than were fetched", 0)
        came = self._offer(offer.url, response)
        if response.status_code != 206:
            part.unlink(missing_ok=True)  # before its state goes, so that the two never disagree
            write_text(_state(part), json.dumps(asdict(came)))
            return came, 0
        there = _size(part)
        if known is None or _first_byte(response) != there or came.validator not in ("", known.validator):
            part.unlink(missing_ok=True)
            raise TransientError("it sent another part or version of the file", 0)
        return known, there

    @staticmethod
    def _write(
        response: httpx.Response,
        part: Path,
        there: int,
        size: int | None,
        most: int,
        progress: Progress,
        period: float,
    ) -> None:
        progress(there, size)
        looked, before = time.monotonic(), there
        try:
            with part.open("ab") as file:
                for block in response.iter_raw():
                    there += len(block)
                    if there > most:
                        raise DownloadError(
                            f"{response.request.url} sends more than the {counted(most, 'bytes')} "
                            f"{'that nobody should exceed without stating a size' if size is None else 'it stated'}: "
                            "it is not fetched"
                        )
                    file.write(block)
                    progress(there, size)
                    if (now := time.monotonic()) - looked > period:
                        if there - before < _SLOWEST * (now - looked):
                            raise DownloadError(
                                f"{response.request.url} sends fewer than {counted(_SLOWEST, 'bytes')} a second: what "
                                "came is kept, and the same command resumes later, or give another address"
                            )
                        looked, before = now, there
        except OSError as error:
            error.filename = error.filename or str(part)  # a full disk says nothing about the file
            raise

    @staticmethod
    def _offer(url: str, response: httpx.Response) -> Offer:
        status, headers = response.status_code, response.headers
        if status in PASSING:
            raise TransientError(f"{status} {response.reason_phrase}", asked_wait(headers.get("Retry-After", "")))
        if status not in (200, 206):
            said = f"{url} answers {status} {response.reason_phrase}"
            if status in (404, 410):
                raise NotThereError(f"{said}: the file may have moved")
            raise DownloadError(f"{said}: look at the address in a browser")
        if url.startswith("https:") and response.url.scheme != "https":
            raise DownloadError(
                f"{url} leads to {response.url}, which is not encrypted: anybody on the way could change the file, so "
                "it is not fetched"
            )
        if headers.get("Content-Type", "").startswith("text/html"):
            raise DownloadError(
                f"{url} gives a web page instead of the file: look at it in a browser; a network may ask to log in "
                "first"
            )
        total = (
            headers.get("Content-Length", "") if status == 200 else headers.get("Content-Range", "").rpartition("/")[2]
        )
        digests = digests_of(headers) if status == 200 else ("", "")
        return Offer(
            url,
            int(total) if total.isdecimal() and len(total) < 19 else None,
            headers.get("ETag", ""),
            headers.get("Last-Modified", ""),
            *digests,
        )

    def _call(self, url: str, call: Callable[[], Offer], received: Callable[[], int]) -> Offer:
        """Call until it answers; attempts that received bytes do not count."""

        def transient(error: Exception) -> TransientError | None:
            if isinstance(error, _NEVER):
                raise DownloadError(f"{url} leads nowhere ({error}): look at the address in a browser") from error
            if isinstance(error, httpx.TransportError):
                return TransientError(str(error) or type(error).__name__)
            if not isinstance(error, TransientError):
                return None
            if error.wait is not None and error.wait > _LONGEST:
                raise DownloadError(
                    f"{url} asks to wait for {min(error.wait, 1e9):,.0f} seconds: give the same command again then"
                ) from error
            return error

        def give_up(failure: TransientError) -> DownloadError:
            kept = f"; {counted(received(), 'bytes are')} kept" if received() else ""
            return DownloadError(f"{url} failed at {_TRIES} tries ({failure}){kept}: give the same command again later")

        return call_with_retries(call, transient, give_up, _TRIES, self._wait, _LONGEST, received)


def forget(part: Path) -> None:
    """Remove the record of a part's version."""
    _state(part).unlink(missing_ok=True)


def _state(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_state(part: Path, url: str) -> Offer | None:
    """Return what was stated about a part; None if it cannot be resumed from this address."""
    try:
        known = Offer(**json_of(_state(part).read_bytes()))
    except (OSError, ValueError, TypeError):  # absent or damaged: start again
        return None
    return known if known.validator and known.url == url else None


def _check_growth(offer: Offer, came: Offer) -> None:
    if came.size is not None and offer.size is not None and came.size > offer.size:
        raise DownloadError(
            f"{offer.url} has grown from {offer.size:,} to {counted(came.size, 'bytes')} since it was asked "
            "about: give the same "
            "command again"
        )


def _most(came: Offer, offer: Offer) -> int:
    """Return the maximum number of bytes to accept: the size stated now, else the one offered, else a fixed limit."""
    return next((size for size in (came.size, offer.size) if size is not None), _UNSTATED)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _first_byte(response: httpx.Response) -> int | None:
    span = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(span[1]) if span else None
