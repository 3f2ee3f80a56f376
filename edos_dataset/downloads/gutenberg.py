"""`edos download gutenberg`: books in one language from a mirror of Project Gutenberg, following its rules for robots.

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
from edos_dataset.downloads.records import Record
from edos_dataset.downloads.registry import RemoteFile, Source
from edos_dataset.downloads.transfer import DownloadError, NotThereError, Offer, Progress, Server
from edos_dataset.languages import check_language, name_of_language, same_language
from edos_dataset.wording import counted

NAME = "gutenberg"
CATALOGUE_URL = f"https://www.gutenberg.org/cache/epub/feeds/{CATALOGUE}"
MIRRORS: tuple[str, ...] = (
    "https://gutenberg.pglaf.org",
    "https://aleph.gutenberg.org",
    "https://mirrors.xmission.com/gutenberg",
    "https://mirror.csclub.uwaterloo.ca/gutenberg",
    "https://www.mirrorservice.org/sites/ftp.ibiblio.org/pub/docs/books/gutenberg",
)
"""Public mirrors, from gutenberg.org/MIRRORS.ALL; the first is the default."""

PAUSE = 2.0
"""Seconds between two requests, as Project Gutenberg requires."""

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
        language: language code.
        limit: maximum number of books.
        mirror: address of the mirror.
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
        """Description of what is fetched."""
        return (
            f"Project Gutenberg in {name_of_language(self.language)}: its catalogue, and "
            f"{counted(self.limit, 'books')} at most"
        )


@dataclass(frozen=True)
class Fetched:
    """The result of a download of books.

    Attributes:
        records: path → record of each file that exists now.
        missing: books in the catalogue without plain text on the mirror.
        listed: number of books in the language in the catalogue.
    """

    records: dict[str, Record]
    missing: tuple[Listed, ...]
    listed: int


class PoliteServer(Server):
    """A server with a pause between requests.

    Args:
        pause: seconds between two requests.
        wait: as for `Server`.
        timeout: as for `Server`.
    """

    def __init__(self, pause: float = PAUSE, wait: float = 2.0, timeout: float = 30.0) -> None:
        super().__init__(wait, timeout)
        self._pause = pause
        self._last = -pause

    def ask(self, url: str) -> Offer:
        """Ask about a file after the pause."""
        self._rest()
        return super().ask(url)

    def fetch(self, offer: Offer, part: Path, progress: Progress) -> Offer:
        """Fetch a file after the pause."""
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
    """Fetch the catalogue and the first books of a language by number. Existing files are not requested again, so the
    same call resumes an interrupted download.

    Args:
        wanted: what to download.
        agree: called with it before anything is fetched.
        server: by default one with the pause that Project Gutenberg requires.
        changed: fetch the catalogue and changed files again.
        progress: called as bytes arrive.

    Returns:
        The downloaded files, or None if `agree` returned False.

    Raises:
        DownloadError: a file is unavailable or damaged.
        ValueError: the catalogue is invalid, or lists no book in the language.
        FolderError: as for `download`.
        OSError: as for `download`.
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
    """Fetch a book in the first form that the mirror has; None if it has none."""
    for address in addresses(book.number):
        file = RemoteFile(f"{wanted.mirror.rstrip('/')}/{address}", f"{NAME}/{wanted.language}/pg{book.number}.txt")
        source = Source(wanted.source, wanted.title, LICENCE, CONSEQUENCES, (file,))
        try:
            return download(source, wanted.out, lambda _: True, server=server, changed=changed, progress=progress)
        except NotThereError:
            continue
        except DownloadError as error:
            if "web page instead of the file" not in str(error):  # which some mirrors return for a missing file
                raise
    return None


def addresses(number: int) -> Iterator[str]:
    """Yield the possible addresses of a book's plain text on a mirror, likeliest first: the generated UTF-8 file, then
    those of the main collection, in folders named by all digits of the number but the last ("1/2/3/1234").
    """
    yield f"cache/epub/{number}/pg{number}.txt"
    folder = "/".join([*(str(number)[:-1] or "0"), str(number)])
    for form in ("-0", "-8", ""):
        yield f"{folder}/{number}{form}.txt"
