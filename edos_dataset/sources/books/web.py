"""Books in HTML, loose or in an EPUB."""

import re
from collections.abc import Sequence

from lxml import etree

from edos_dataset.languages.codes import primary_language
from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, VERSE, Book
from edos_dataset.sources.books.kinds import Kinds
from edos_dataset.sources.books.markup import BLOCK, BREAK, INSIDE, LINE, SKIP, Piece, Role, paragraphs
from edos_dataset.sources.books.plain import NOT_A_BOOK, decode_text, refuse_little
from edos_dataset.sources.books.structure import structure
from edos_dataset.sources.parsed import ReadError

_MOST_TAGS = 5_000_000
_DECLARED = re.compile(
    rb"""<(?:\?xml|meta)[^>]{0,200}?(?:encoding|charset)\s*=\s*["']?([A-Za-z0-9._-]+)""", re.IGNORECASE
)
_PROLOGUE = re.compile(r"\s*<\?xml[^>]*\?>")
_EMPTY = re.compile(r"<(?:script|style|title|iframe|textarea|a)\b[^<>]*/>", re.IGNORECASE)
_SKIPPED = "script style head svg math noscript template object iframe button select nav"
_BLOCKS = "p div blockquote li td th tr dd dt section article body pre address center hr main header footer figure form"
_ROLES: dict[str, Role] = {
    **dict.fromkeys(_SKIPPED.split(), Role(SKIP)),
    **dict.fromkeys(_BLOCKS.split(), Role(BLOCK)),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Role(BLOCK, HEADING)),
    **dict.fromkeys(("table", "ul", "ol"), Role(BLOCK, CONTENTS)),
    **dict.fromkeys(("aside", "figcaption", "caption"), Role(BLOCK, NOTE)),
    "br": Role(BREAK),
}
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
    root, encoding, confidence = parse_html(data, language)
    title = " ".join((root.findtext(".//title") or "").split())
    stated = {
        (node.get("name") or "").lower().replace("dcterms.", "dc."): node.get("content") for node in root.iter("meta")
    }
    said = _TITLE.match(title)
    named, _, by = said["title"].partition(", by ") if said else (title, "", "")
    code = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    return Book(
        refuse_little(structure(*as_read(pieces_of(root)))),
        primary_language(code or stated.get("dc.language")) or None,
        stated.get("dc.title") or named.strip() or None,
        stated.get("dc.creator") or stated.get("author") or by.strip(" .") or None,
        None,
        encoding,
        confidence,
    )


def parse_html(data: bytes, language: str | None) -> tuple[etree._Element, str, float]:
    """Return the tree of a page, its encoding, and the confidence in that.

    Raises:
        ReadError: with the reason not_a_book or unknown_encoding.
    """
    declared = _DECLARED.search(data[:4000])
    text, encoding, confidence = decode_text(data, declared[1].decode("ascii") if declared else None, language)
    if (tags := text.count("<")) > _MOST_TAGS:
        raise ReadError(NOT_A_BOOK, f"{tags:,} tags, and no book has more than {_MOST_TAGS:,}")
    if found := _PROLOGUE.match(text):
        text = text[found.end() :]
    parser = etree.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(_EMPTY.sub("", text).encode("utf-8", "surrogatepass"), parser)
    except etree.LxmlError as error:
        raise ReadError(NOT_A_BOOK, "HTML that no parser can read") from error
    if root is None or root.find("body") is None:
        raise ReadError(NOT_A_BOOK, "HTML without a body")
    return root, encoding, confidence


def pieces_of(root: etree._Element) -> list[Piece]:
    """Return the paragraphs of a page, without Project Gutenberg's header and licence."""
    pieces = paragraphs(root, _role, VERSE)
    for place, piece in enumerate(pieces[:80]):
        if _FIRST.search(piece.text):
            pieces = pieces[place + 1 :]
            break
    for place in range(len(pieces) - 1, max(len(pieces) - 200, -1), -1):
        if _LAST.match(pieces[place].text):
            pieces = pieces[:place]
    return pieces


def as_read(pieces: Sequence[Piece]) -> tuple[list[str], list[int], list[str]]:
    """Return paragraphs, the blank lines before each, and their kinds; where no element says one, the words do."""
    texts, told = [piece.text for piece in pieces], Kinds(0)
    kinds = [piece.kind or told.kind_of(piece.text, 1) for piece in pieces]
    return texts, [1] * len(texts), kinds


def _role(node: etree._Element) -> Role:
    tag = str(node.tag)
    marked = f"{node.get('class') or ''} {node.get('id') or ''} {node.get('epub:type') or ''}".strip().lower()
    if marked and tag not in ("body", "html"):
        if _LINES.search(marked) and _in_verse(node):
            return Role(LINE, VERSE)
        for pattern, role in _OF_CLASS:
            if pattern.search(marked):
                inline = tag in ("span", "a", "b", "i", "em", "small", "sup", "img")
                return Role(INSIDE) if inline and role.does != SKIP else role
    return _ROLES.get(tag, Role())


def _in_verse(node: etree._Element) -> bool:
    parent = node.getparent()
    return parent is not None and bool(_OF_CLASS[-1][0].search((parent.get("class") or "").lower()))
