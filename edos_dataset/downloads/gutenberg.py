"""`edos download gutenberg`: books of one language from a mirror of Project Gutenberg, as its rules for robots ask for.

Its own site is for people; robots may fetch the catalogue there and books from mirrors, with two seconds between
requests (https://www.gutenberg.org/policy/robot_access.html, /help/mirroring.html).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from edos_dataset.downloads.catalogue import CATALOGUE, Listed, read_catalogue
from edos_dataset.downloads.fetching import FileProgress, download
from edos_dataset.downloads.offers import Offer
from edos_dataset.downloads.registry import RemoteFile, Source
from edos_dataset.downloads.transfer import DownloadError, NotThereError, Progress, Server
from edos_dataset.downloads.verifying import Record
from edos_dataset.languages.codes import check_language, name_of_language, same_language

NAME = "gutenberg"
CATALOGUE_URL = f"https://www.gutenberg.org/cache/epub/feeds/{CATALOGUE}"
MIRRORS: tuple[str, ...] = (
    "https://gutenberg.pglaf.org",
    "https://aleph.gutenberg.org",
    "https://mirrors.xmission.com/gutenberg",
    "https://mirror.csclub.uwaterloo.ca/gutenberg",
    "https://www.mirrorservice.org/sites/ftp.ibiblio.org/pub/docs/books/gutenberg",
)
"""Public mirrors, of gutenberg.org/MIRRORS.ALL; the first is taken where none is given."""

PAUSE = 2.0
"""Seconds between two requests, as Project Gutenberg asks for."""

LICENCE = "public domain in the USA for nearly all; the name goes under the Project Gutenberg License"
CONSEQUENCES = (
    "Elsewhere look at your own law. `edos books` takes header and licence off: what it makes must not be called "
    "Project Gutenberg's. The catalogue is under the GPL."
)
_FOR_PEOPLE = ("gutenberg.org", "www.gutenberg.org", "dev.gutenberg.org")


@dataclass(frozen=True)
class Wanted:
    """What a download of books will do.

    Attributes:
        language: code.
        limit: books at most.
        mirror: where they come from.
        out: the target folder.
    """

    language: str
    limit: int
    mirror: str
    out: Path

    def __post_init__(self) -> None:
        """Check the values."""
        check_language(self.language)
        if self.limit < 1:
            raise ValueError(f"limit must be 1 or more, got {self.limit}")
        host = urlsplit(self.mirror)
        if host.scheme not in ("http", "https") or not host.hostname:
            raise ValueError(f"the mirror {self.mirror!r} is no address; give one such as {MIRRORS[0]}")
        if host.hostname in _FOR_PEOPLE:
            raise ValueError(
                f"{host.hostname} is for people and locks robots out; give a mirror, as {' or '.join(MIRRORS[:2])}"
            )

    @property
    def source(self) -> str:
        """Name of the source, under which the folder's records keep the books."""
        return f"{NAME}-{self.language}"

    @property
    def title(self) -> str:
        """What is fetched, in words."""
        return (
            f"Project Gutenberg in {name_of_language(self.language)}: its catalogue, and {self.limit:,} books at most"
        )


@dataclass(frozen=True)
class Fetched:
    """What came.

    Attributes:
        records: of each file that is there now, by path.
        missing: books of the catalogue that the mirror has no plain text of.
        listed: books of the language in the catalogue.
    """

    records: dict[str, Record]
    missing: tuple[Listed, ...]
    listed: int


class PoliteServer(Server):
    """A server that is left in peace between two requests.

    Args:
        pause: seconds.
        wait: as of `Server`.
        timeout: likewise.
    """

    def __init__(self, pause: float = PAUSE, wait: float = 2.0, timeout: float = 30.0) -> None:
        super().__init__(wait, timeout)
        self._pause = pause
        self._last = -pause

    def ask(self, url: str) -> Offer:
        """Ask about a file, once the pause is over."""
        self._rest()
        return super().ask(url)

    def fetch(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        """Fetch a file, once the pause is over."""
        self._rest()
        return super().fetch(offer, part, progress)

    def _rest(self) -> None:
        time.sleep(max(0.0, self._last + self._pause - time.monotonic()))
        self._last = time.monotonic()


def fetch_books(
    wanted: Wanted,
    agree: Callable[[Wanted], bool],
    *,
    server: Server | None = None,
    changed: bool = False,
    progress: FileProgress = lambda *_: None,
) -> Fetched | None:
    """Fetch the catalogue and the first books of a language by their number; what is there is not asked for again, so a
    download that was stopped goes on.

    Args:
        wanted: what.
        agree: is shown that, before a byte moves.
        server: by default one with the pause that Project Gutenberg asks for.
        changed: fetch the catalogue, and what has changed, anew.
        progress: called as bytes come.

    Returns:
        What came, or None where `agree` said no.

    Raises:
        DownloadError: a file can't be had or is damaged.
        ValueError: the catalogue is none, or knows no book of the language.
        FolderError: as `download`.
        OSError: likewise.
    """
    server = server or PoliteServer()
    if not agree(wanted):
        return None
    catalogue = Source(
        NAME,
        "Project Gutenberg's catalogue",
        LICENCE,
        CONSEQUENCES,
        (RemoteFile(CATALOGUE_URL, f"{NAME}/{CATALOGUE}"),),
    )
    download(catalogue, wanted.out, lambda _: True, server=server, changed=changed, progress=progress)
    known = read_catalogue(wanted.out / NAME / CATALOGUE)
    listed = [
        book
        for _, book in sorted(known.books.items())
        if any(same_language(code, wanted.language) for code in book.languages[:1])
    ]
    if not listed:
        raise ValueError(f"the catalogue knows no book in {wanted.language!r}; give another --language")
    records: dict[str, Record] = {}
    missing: list[Listed] = []
    for book in listed[: wanted.limit]:
        found = _fetch_book(wanted, book, server, changed, progress)
        if found is None:
            missing.append(book)
        else:
            records = found
    return Fetched(records, tuple(missing), len(listed))


def _fetch_book(
    wanted: Wanted, book: Listed, server: Server, changed: bool, progress: FileProgress
) -> dict[str, Record] | None:
    """Fetch a book in the first form that the mirror has, None where it has none of them."""
    for address in addresses(book.number):
        file = RemoteFile(f"{wanted.mirror.rstrip('/')}/{address}", f"{NAME}/{wanted.language}/pg{book.number}.txt")
        source = Source(wanted.source, wanted.title, LICENCE, CONSEQUENCES, (file,))
        try:
            return download(source, wanted.out, lambda _: True, server=server, changed=changed, progress=progress)
        except NotThereError:
            continue
        except DownloadError as error:
            if "web page instead of the file" not in str(error):  # what some mirrors give for a file that is missing
                raise
    return None


def addresses(number: int) -> Iterator[str]:
    """Yield where a mirror may have the plain text of a book, the likeliest first: the generated one in UTF-8, then
    those of the main collection, which lie below all digits of the number but the last ("1/2/3/1234").
    """
    yield f"cache/epub/{number}/pg{number}.txt"
    folder = "/".join([*(str(number)[:-1] or "0"), str(number)])
    for form in ("-0", "-8", ""):
        yield f"{folder}/{number}{form}.txt"
