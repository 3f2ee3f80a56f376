"""Books in HTML: single pages, and EPUB, a zip archive of XHTML pages in the order of its spine."""

import html
import io
import logging
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from lxml import etree

from edos_dataset.languages import primary_language
from edos_dataset.sources.archives import ENCRYPTED, unpack_member
from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, VERSE, Block, Book
from edos_dataset.sources.books.kinds import Kinds
from edos_dataset.sources.books.marks import Marks, without_signs
from edos_dataset.sources.books.markup import (
    BLOCK,
    BREAK,
    INSIDE,
    LINE,
    PREFORMATTED,
    QUOTED,
    SAID,
    SKIP,
    Piece,
    Role,
    paragraphs,
    refuse_many_tags,
)
from edos_dataset.sources.books.plain import NOT_A_BOOK, decode_text, refuse_little
from edos_dataset.sources.books.structure import structure
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.xml_trees import parse_xml, without_declaration

MALFORMED = "malformed_epub"
"""Reason for an EPUB that is not a valid zip archive, or whose pages cannot be found."""

MOST_BYTES = 256 * 2**20
"""Maximum unpacked size of all pages in bytes; the longest novels have a few million."""

_LOGGER = logging.getLogger(__name__)
_MOST_PAGES = 20_000
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_RIGHTS = ("META-INF/rights.xml", "META-INF/license.lcpl", "META-INF/sinf.xml")  # of Adobe, Readium, Apple
_OF_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DC = "{http://purl.org/dc/elements/1.1/}"
_DECLARED = re.compile(
    rb"""<(?:\?xml|meta)[^>]{0,200}?(?:encoding|charset)\s*=\s*["']?([A-Za-z0-9._-]+)""", re.IGNORECASE
)
_EMPTY = re.compile(r"<(?:script|style|title|iframe|textarea|a)\b[^<>]*/>", re.IGNORECASE)
_WINDOWS_REFERENCE = re.compile(
    r"&#(?:0*1(?:2[89]|[345]\d)(?!\d)|[xX]0*[89][0-9a-fA-F](?![0-9a-fA-F]));?"
)  # as browsers do
_SKIPPED = "script style head svg math noscript template object iframe button select nav"
_BLOCKS = "p div blockquote li td th tr dd dt section article body address center hr main header footer figure form"
_ROLES: dict[str, Role] = {
    **dict.fromkeys(_SKIPPED.split(), Role(SKIP)),
    **dict.fromkeys(_BLOCKS.split(), Role(BLOCK)),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Role(BLOCK, HEADING)),
    **dict.fromkeys(("table", "ul", "ol"), Role(BLOCK, CONTENTS)),
    **dict.fromkeys(("aside", "figcaption", "caption"), Role(BLOCK, NOTE)),
    "br": Role(BREAK),
    "pre": Role(PREFORMATTED),
    "q": Role(QUOTED),
}
_INLINE = frozenset(("span", "a", "b", "i", "em", "small", "sup", "img", "q", "said"))
_SPEECH = re.compile(r"(?<![\w-])(?:said|speech|dialog(?:ue)?|spoken)(?![\w-])")
"""The class or `epub:type`, with or without a prefix ("z3998:speech"), of an inline element that is speech."""
_SPEAKERS = ("data-who", "data-speaker", "who")  # attributes that name who says it
_OF_CLASS = (
    (re.compile(r"page-?num|pg-?(?:boilerplate|header|footer)|\bpgmonospaced|fnanchor|linenum|hidden"), Role(SKIP)),
    (re.compile(r"foot-?note|endnote|sidenote|caption|figcenter|figleft|figright"), Role(BLOCK, NOTE)),
    (re.compile(r"\btoc\b|contents|transnote|tnote|titlepage|title-page|copyright|\bindex\b"), Role(BLOCK, CONTENTS)),
    (re.compile(r"po(?:em|etry)|stanza|\bverse\b|\blg\b"), Role(BLOCK, VERSE)),
)
_LINES = re.compile(r"\b(?:verse|line|l|i\d{1,2}|indent\d*)\b")
_FIRST = re.compile(r"\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG", re.IGNORECASE)
_LAST = re.compile(r"(?:\*\*\* ?END OF TH(?:E|IS)|End of (?:the |this )?) ?PROJECT GUTENBERG", re.IGNORECASE)
_TITLE = re.compile(r"(?:The Project Gutenberg e-?(?:Book|text) of )?(?P<title>.*)", re.IGNORECASE)


def read_html(data: bytes, name: str, language: str | None) -> Book:
    """Read a book in HTML.

    Raises:
        ReadError: with the reason not_a_book or unknown_encoding.
    """
    root, encoding, confidence = _parse_html(data, language)
    title = " ".join((root.findtext(".//title") or "").split())
    stated = {
        (node.get("name") or "").lower().replace("dcterms.", "dc."): node.get("content") for node in root.iter("meta")
    }
    said = _TITLE.match(title)
    named, _, by = said["title"].partition(", by ") if said else (title, "", "")
    code = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    marks = Marks()
    return Book(
        _blocks(_pieces_of(root, marks), marks),
        primary_language(code or stated.get("dc.language")) or None,
        stated.get("dc.title") or named.strip() or None,
        stated.get("dc.creator") or stated.get("author") or by.strip(" .") or None,
        None,
        encoding,
        confidence,
    )


def read_epub(data: bytes, name: str, language: str | None) -> Book:
    """Read an EPUB, of version 2 or 3.

    Raises:
        ReadError: with the reason malformed_epub, too_large, encrypted, or those of `read_html`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            package = _package(archive)
            pieces: list[Piece] = []
            marks = Marks()
            encodings: list[tuple[float, str]] = []
            for page in _pages(archive, package, name):
                root, encoding, confidence = _parse_html(page, language)
                pieces += _pieces_of(root, marks)
                encodings.append((confidence, encoding))
    except (ReadError, MemoryError):
        raise
    except NotImplementedError as error:
        raise ReadError("unreadable", f"{error}; pack the EPUB anew, with deflate") from error
    except Exception as error:  # zipfile and the decompressors raise too many kinds of errors for damaged data to list
        raise ReadError(MALFORMED, f"{type(error).__name__}; download or copy it again") from error
    confidence, encoding = min(encodings, default=(1.0, "utf-8"))
    language, title, author = (_stated(package, tag) for tag in ("language", "title", "creator"))
    return Book(_blocks(pieces, marks), primary_language(language) or None, title, author, None, encoding, confidence)


def _package(archive: zipfile.ZipFile) -> etree._Element:
    """Return the package document, with its own path as the attribute `path`."""
    if rights := next((name for name in _RIGHTS if name in archive.NameToInfo), None):
        raise _protected(rights)
    container = _xml(archive, _CONTAINER, "container")
    path = next((node.get("full-path") for node in container.iter("{*}rootfile")), None)
    if not path:
        raise ReadError(MALFORMED, f"{_CONTAINER} names no package")
    package = _xml(archive, path, "package")
    package.set("path", path)
    return package


def _pages(archive: zipfile.ZipFile, package: etree._Element, name: str) -> Iterator[bytes]:
    folder = posixpath.dirname(package.get("path") or "")
    places = {node.get("id"): node.get("href") or "" for node in package.iter("{*}item")}
    spine = [places.get(node.get("idref")) for node in package.iter("{*}itemref") if node.get("linear") != "no"]
    if not 0 < len(spine) <= _MOST_PAGES:
        raise ReadError(MALFORMED, f"its spine has {len(spine):,} pages")
    paths = dict.fromkeys(_path_in(archive, folder, href) for href in filter(None, spine))
    present = [path for path in paths if path in archive.NameToInfo]
    if not present:
        raise ReadError(MALFORMED, f"none of the {len(spine):,} pages of its spine is in the archive")
    _check_protection(archive, present)
    if missing := len(paths) - len(present) + spine.count(None):
        _LOGGER.warning(
            "%s: an EPUB is read without %d of the %d pages of its spine, which are missing", name, missing, len(spine)
        )
    left = MOST_BYTES
    for path in present:
        page = _unpacked(archive, path, left)
        left -= len(page)
        if page.strip():
            yield page


def _check_protection(archive: zipfile.ZipFile, pages: Sequence[str]) -> None:
    """Refuse an EPUB with encrypted pages; fonts may be obfuscated in books that anybody may read."""
    if _ENCRYPTION not in archive.NameToInfo:
        return
    encrypted = {
        unquote(reference.get("URI") or "")
        for data in _xml(archive, _ENCRYPTION, "encryption").iter("{*}EncryptedData")
        if not any(method.get("Algorithm") in _OF_FONTS for method in data.iter("{*}EncryptionMethod"))
        for reference in data.iter("{*}CipherReference")
    }
    if not encrypted.isdisjoint(pages):
        raise _protected(_ENCRYPTION)


def _protected(by: str) -> ReadError:
    return ReadError(ENCRYPTED, f"copy protection (DRM, {by}) locks the EPUB; give a copy without it")


def _path_in(archive: zipfile.ZipFile, folder: str, href: str) -> str:
    """Return the path of a page, spelt as in the archive if only the case differs."""
    path = posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))
    if path in archive.NameToInfo:
        return path
    return next((name for name in archive.namelist() if name.casefold() == path.casefold()), path)


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


def _stated(package: etree._Element, tag: str) -> str | None:
    node = next(package.iter(f"{_DC}{tag}"), None)
    return " ".join("".join(map(str, node.itertext())).split()) or None if node is not None else None


def _parse_html(data: bytes, language: str | None) -> tuple[etree._Element, str, float]:
    declared = _DECLARED.search(data[:4000])
    text, encoding, confidence = decode_text(data, declared[1].decode("ascii") if declared else None, language)
    refuse_many_tags(text, NOT_A_BOOK)
    text = _WINDOWS_REFERENCE.sub(lambda found: html.unescape(found[0]), without_declaration(text))
    parser = etree.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(_EMPTY.sub("", text).encode("utf-8", "surrogatepass"), parser)
    except etree.LxmlError as error:
        raise ReadError(NOT_A_BOOK, "HTML that no parser can read") from error
    if root is None or root.find("body") is None:
        raise ReadError(NOT_A_BOOK, "HTML without a body")
    return root, encoding, confidence


def _blocks(pieces: Sequence[Piece], marks: Marks) -> tuple[Block, ...]:
    return refuse_little(tuple(marks.said_in(structure(*_with_kinds(pieces)))))


def _pieces_of(root: etree._Element, marks: Marks) -> list[Piece]:
    pieces = paragraphs(root, _role, VERSE, marks)
    for place, piece in enumerate(pieces[:80]):
        if _FIRST.search(piece.text):
            pieces = pieces[place + 1 :]
            break
    for place in range(len(pieces) - 1, max(len(pieces) - 200, -1), -1):
        if _LAST.match(pieces[place].text):
            pieces = pieces[:place]
    return pieces


def _with_kinds(pieces: Sequence[Piece]) -> tuple[list[str], list[int], list[str]]:
    """Return paragraphs, the blank lines before each, and their kinds, judged by their words if no element states
    one.
    """
    texts, by_words = [piece.text for piece in pieces], Kinds(0)
    lines = (without_signs(text).split("\n") for text in texts)
    bare = ("\n".join(line for line in of_text if line.strip()) for of_text in lines)
    kinds = [piece.kind or by_words.kind_of(text, 1) for piece, text in zip(pieces, bare, strict=True)]
    return texts, [1] * len(texts), kinds


def _role(node: etree._Element) -> Role:
    if (said := _role_of_speech(node)) is not None:
        return said
    tag = str(node.tag)
    marked = f"{node.get('class') or ''} {node.get('id') or ''} {node.get('epub:type') or ''}".strip().lower()
    if marked and tag not in ("body", "html"):
        if _LINES.search(marked) and _in_verse(node):
            return Role(LINE, VERSE)
        for pattern, role in _OF_CLASS:
            if pattern.search(marked):
                return Role(INSIDE) if tag in _INLINE and role.does != SKIP else role
    return _ROLES.get(tag, Role())


def _role_of_speech(node: etree._Element) -> Role | None:
    """Return the role of an inline element that is marked as speech, None of all others."""
    kinds = f"{node.get('class') or ''} {node.get('epub:type') or ''}".lower()
    if node.tag != "said" and not (node.tag in _INLINE and _SPEECH.search(kinds)):
        return None
    return Role(SAID, speaker=next(filter(None, map(node.get, _SPEAKERS)), None))


def _in_verse(node: etree._Element) -> bool:
    parent = node.getparent()
    return parent is not None and bool(_OF_CLASS[-1][0].search((parent.get("class") or "").lower()))
