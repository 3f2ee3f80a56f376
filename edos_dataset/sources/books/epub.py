"""EPUB: pages of XHTML in a zip archive, in the order of its spine."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from edos_dataset.languages.codes import primary_language
from edos_dataset.sources.books.book import Book
from edos_dataset.sources.books.markup import Piece
from edos_dataset.sources.books.plain import refuse_little
from edos_dataset.sources.books.structure import structure
from edos_dataset.sources.books.web import as_read, parse_html, pieces_of
from edos_dataset.sources.members import unpack_member
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.xml_trees import parse_xml

MALFORMED = "malformed_epub"
"""Reason of an EPUB that is no sound zip archive, or whose pages cannot be found."""

MOST_BYTES = 256 * 2**20
"""Bytes of all pages unpacked; the longest novels have some millions."""

_MOST_PAGES = 20_000
_CONTAINER = "META-INF/container.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"


def read_epub(data: bytes, name: str, language: str | None) -> Book:
    """Read an EPUB, of version 2 or 3.

    Raises:
        ReadError: with the reason malformed_epub, too_large, unreadable (locked), or those of `read_html`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            package = _package(archive)
            pieces: list[Piece] = []
            encodings: list[tuple[float, str]] = []
            for page in _pages(archive, package):
                root, encoding, confidence = parse_html(page, language)
                pieces += pieces_of(root)
                encodings.append((confidence, encoding))
    except ReadError:
        raise
    except MemoryError:
        raise
    except RuntimeError as error:  # a password, or an unknown compression
        raise ReadError("unreadable", "the EPUB is locked; give one without protection") from error
    except Exception as error:  # what zipfile and the decompressors say of damaged data is too various to list
        raise ReadError(MALFORMED, f"{type(error).__name__}; download or copy it again") from error
    confidence, encoding = min(encodings, default=(1.0, "utf-8"))
    said = {tag: _said(package, tag) for tag in ("language", "title", "creator")}
    blocks = refuse_little(structure(*as_read(pieces)))
    return Book(
        blocks, primary_language(said["language"]) or None, said["title"], said["creator"], None, encoding, confidence
    )


def _package(archive: zipfile.ZipFile) -> etree._Element:
    """Return the package document, with its own path as `path`."""
    if "META-INF/rights.xml" in archive.namelist():
        raise ReadError("unreadable", "the EPUB is locked (META-INF/rights.xml); give one without protection")
    container = _xml(archive, _CONTAINER, "container")
    path = next((node.get("full-path") for node in container.iter("{*}rootfile")), None)
    if not path:
        raise ReadError(MALFORMED, f"{_CONTAINER} names no package")
    package = _xml(archive, path, "package")
    package.set("path", path)
    return package


def _pages(archive: zipfile.ZipFile, package: etree._Element) -> Iterator[bytes]:
    """Yield the pages in the order of the spine, unpacked."""
    folder = posixpath.dirname(package.get("path") or "")
    places = {node.get("id"): node.get("href") or "" for node in package.iter("{*}item")}
    spine = [places.get(node.get("idref")) for node in package.iter("{*}itemref") if node.get("linear") != "no"]
    if not spine or len(spine) > _MOST_PAGES:
        raise ReadError(MALFORMED, f"its spine has {len(spine):,} pages")
    left, seen = MOST_BYTES, set[str]()
    for href in spine:
        path = posixpath.normpath(posixpath.join(folder, unquote((href or "").partition("#")[0])))
        if path in seen:
            continue
        seen.add(path)
        page = _unpacked(archive, path, left)
        left -= len(page)
        if page.strip():
            yield page


def _xml(archive: zipfile.ZipFile, path: str, root: str) -> etree._Element:
    text = _unpacked(archive, path, 1 << 24).decode("utf-8-sig", "replace")
    begin = text.find("?>") + 2 if text.lstrip().startswith("<?xml") else 0
    return parse_xml(text[begin:], root)


def _unpacked(archive: zipfile.ZipFile, path: str, most: int) -> bytes:
    try:
        info = archive.getinfo(path)
    except KeyError as error:
        raise ReadError(MALFORMED, f"the page {path[:200]!r} of its spine is missing") from error
    if info.file_size > most:
        raise ReadError("too_large", f"its pages have more than {MOST_BYTES:,} bytes")
    return unpack_member(archive, info)


def _said(package: etree._Element, tag: str) -> str | None:
    node = next(package.iter(f"{_DC}{tag}"), None)
    return " ".join("".join(map(str, node.itertext())).split()) or None if node is not None else None
