"""A file over HTTP with patience: asked about first, resumed where it stopped, begun anew where it has changed (RFC
9110, Sections 13 and 14).
"""

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from email.utils import parsedate_to_datetime
from pathlib import Path

from edos_dataset.downloads.offers import Offer, digests_of
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.shards import write_text
from edos_dataset.version import __version__

try:
    import httpx2 as httpx  # one of the two comes with huggingface_hub, by its version
except ImportError:
    import httpx  # type: ignore[import-not-found, no-redef, unused-ignore]

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and those of the whole file, where the server says how many."""

_TRIES = 5
_LONGEST = 120.0  # seconds that a try waits; a server that asks for more is told of instead
_UNSTATED = 2**30  # bytes at most of a file whose size nobody states
_NEVER = (httpx.TooManyRedirects, httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError)
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_NO_HEAD = (400, 403, 405, 501)  # servers that answer a GET all the same
_WHOLE = {"Accept-Encoding": "identity"}  # lengths and digests are those of the file


class DownloadError(ValueError):
    """A file could not be had, or is not what it should be; the message says why, and what to do."""


class NotThereError(DownloadError):
    """The server has no such file."""


class _Passing(Exception):
    """A failure that may pass, with the seconds that the server asks to wait."""

    def __init__(self, said: str, wait: float | None = None) -> None:
        super().__init__(said)
        self.wait = wait


class Server:
    """Servers of files, asked with patience.

    Args:
        wait: seconds before the second try; they double with each. Where the server says how long to wait, that counts.
        timeout: seconds without a byte after which a connection counts as cut.
    """

    def __init__(self, wait: float = 1.0, timeout: float = 30.0) -> None:
        agent = {"User-Agent": f"edos-dataset/{__version__}", **_WHOLE}
        self._client = httpx.Client(follow_redirects=True, timeout=httpx.Timeout(timeout), headers=agent)
        self._wait = wait

    def ask(self, url: str) -> Offer:
        """Ask about a file without fetching it.

        Raises:
            DownloadError: it is not there, or the server does not answer.
        """

        def asked() -> Offer:
            response = self._client.head(url)
            if response.status_code in _NO_HEAD:
                with self._client.stream("GET", url) as response:  # its body is not read
                    return self._offer(url, response)
            return self._offer(url, response)

        return self._patiently(url, asked, lambda: 0)

    def fetch(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        """Fetch a file to `part`, which goes on where it stopped if it is of the same version; beside it, `.json` says
        of which version it is.

        Args:
            offer: what `ask` gave.
            part: the file to write; whatever happens, what came of it is kept.
            progress: called after each block.

        Returns:
            What the server said of the file that came, which may be newer than what was asked about.

        Raises:
            DownloadError: the server refuses, or gives up, or sends more than it offered.
            OSError: it cannot be written.
        """
        part.parent.mkdir(parents=True, exist_ok=True)
        came = self._patiently(offer.url, lambda: self._receive(offer, part, progress), lambda: _size(part))
        same = (
            came.validator == offer.validator and came.size == offer.size
        )  # then what it said of one holds of the other
        return replace(came, sha256=came.sha256 or offer.sha256 * same, md5=came.md5 or offer.md5 * same)

    def _receive(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        known = _read_state(part)
        there = _size(part) if known and known.validator and known.url == offer.url else 0
        if known and there and there == known.size == offer.size and known.validator == offer.validator:
            return known
        headers = {"Range": f"bytes={there}-", "If-Range": known.validator} if known and there else {}
        with self._client.stream("GET", offer.url, headers=headers) as response:
            if response.status_code == 416:
                part.unlink(missing_ok=True)
                raise _Passing("it has fewer bytes than were fetched", 0)
            came = self._offer(offer.url, response)
            if response.status_code == 206:
                if known is None or _first_byte(response) != there or came.validator not in ("", known.validator):
                    part.unlink(missing_ok=True)
                    raise _Passing("it went on with another part or version of the file", 0)
                came = known
            else:
                there = 0
                part.unlink(missing_ok=True)  # before its state goes, so that the two never disagree
                write_text(_state(part), json.dumps(asdict(came)))
            if came.size is not None and offer.size is not None and came.size > offer.size:
                raise DownloadError(
                    f"{offer.url} has grown from {offer.size:,} to {came.size:,} bytes since it was asked about: give "
                    "the same command again"
                )
            self._write(response, part, there, came.size, _most(came, offer), progress)
        if came.size is not None and _size(part) < came.size:
            raise _Passing(f"it ended after {_size(part):,} of {came.size:,} bytes")
        return came

    @staticmethod
    def _write(
        response: httpx.Response, part: Path, there: int, size: int | None, most: int, progress: Progress
    ) -> None:
        progress(there, size)
        try:
            with part.open("ab") as file:
                for block in response.iter_raw():
                    there += len(block)
                    if there > most:
                        raise DownloadError(
                            f"{response.request.url} sends more than the {most:,} bytes "
                            f"{'that nobody should exceed without stating a size' if size is None else 'it stated'}: "
                            "it is not fetched"
                        )
                    file.write(block)
                    progress(there, size)
        except OSError as error:
            error.filename = error.filename or str(part)  # a full disk says nothing of the file
            raise

    @staticmethod
    def _offer(url: str, response: httpx.Response) -> Offer:
        status, headers = response.status_code, response.headers
        if status in _PASSING:
            raise _Passing(f"{status} {response.reason_phrase}", _asked_wait(headers.get("Retry-After", "")))
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

    def _patiently(self, url: str, call: Callable[[], Offer], there: Callable[[], int]) -> Offer:
        """Call until it answers; tries that brought bytes don't count."""
        failures, most = 0, there()
        while True:
            try:
                return call()
            except _NEVER as error:
                raise DownloadError(f"{url} leads nowhere ({error}): look at the address in a browser") from error
            except (_Passing, httpx.TransportError) as error:
                now = there()
                failures = 1 if now > most else failures + 1
                most = max(most, now)
                if failures == _TRIES:
                    kept = f"; {now:,} bytes are kept" if now else ""
                    said = str(error) or type(error).__name__
                    raise DownloadError(
                        f"{url} failed at {_TRIES} tries ({said}){kept}: give the same command again later"
                    ) from error
                asked = error.wait if isinstance(error, _Passing) else None
                if asked is not None and asked > _LONGEST:
                    raise DownloadError(
                        f"{url} asks to wait for {min(asked, 1e9):,.0f} seconds: give the same command again then"
                    ) from error
                time.sleep(min(self._wait * 2 ** (failures - 1), _LONGEST) if asked is None else asked)


def forget(part: Path) -> None:
    """Remove what says of which version a part is."""
    _state(part).unlink(missing_ok=True)


def _state(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_state(part: Path) -> Offer | None:
    try:
        return Offer(**json_of(_state(part).read_bytes()))
    except (OSError, ValueError, TypeError):  # absent or damaged: begin anew
        return None


def _most(came: Offer, offer: Offer) -> int:
    """Return how many bytes may come: what was stated now, or when it was asked, or what nobody needs to state."""
    return next((size for size in (came.size, offer.size) if size is not None), _UNSTATED)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _first_byte(response: httpx.Response) -> int | None:
    span = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(span[1]) if span else None


def _asked_wait(value: str) -> float | None:
    if value.isdecimal():
        return float(value)
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
