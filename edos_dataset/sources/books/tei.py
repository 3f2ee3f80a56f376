"""Books in TEI, such as those of ELTeC: the vocabulary says of which kind everything is."""

import re
from collections.abc import Iterator

from lxml import etree

from edos_dataset.languages.codes import primary_language
from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE, Block, Book
from edos_dataset.sources.books.markup import BLOCK, BREAK, LINE, SCENE, SKIP, SPEAKER, Role, paragraphs
from edos_dataset.sources.books.plain import NOT_A_BOOK, decode_text, refuse_little
from edos_dataset.sources.books.structure import clean
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.xml_trees import parse_xml

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_DOCTYPE = re.compile(r"<!DOCTYPE[^<>\[]*(?:\[[^\[\]]*\]\s*)?>")
_MOST_TAGS = 5_000_000
_INSIDE = Role()
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("teiHeader", "sic", "orig", "abbr", "del", "fw", "figDesc", "graphic", "facsimile"), Role(SKIP)),
    **dict.fromkeys(
        ("p", "ab", "div", "div1", "div2", "div3", "front", "body", "back", "group", "text", "epigraph", "opener")
        + ("closer", "salute", "signed", "dateline", "byline", "postscript", "argument", "floatingText", "stage"),
        Role(BLOCK),
    ),
    "head": Role(BLOCK, HEADING),
    "lg": Role(BLOCK, VERSE),
    "l": Role(LINE),
    "lb": Role(BREAK),
    "sp": Role(SCENE, SPEECH),
    "speaker": Role(SPEAKER),
    "note": Role(BLOCK, NOTE, aside=True),
    **dict.fromkeys(("titlePage", "list", "table", "figure", "castList", "trailer", "listBibl"), Role(BLOCK, CONTENTS)),
    **dict.fromkeys(("item", "row", "castItem", "docTitle", "docImprint", "docDate"), Role(BLOCK)),
}
_APPARATUS = {"contents": CONTENTS, "toc": CONTENTS, "titlepage": CONTENTS, "imprint": CONTENTS, "index": CONTENTS,
              "advertisement": CONTENTS, "notes": NOTE, "footnotes": NOTE}  # fmt: skip
_EDITION = re.compile(r"(?<!\s)\s*:\s*ELTeC.*$", re.IGNORECASE | re.DOTALL)
_LIVED = re.compile(r"(?<!\s)\s*\((?=[^()]*\d{3})[^()]*\)\s*$")
_YEAR = re.compile(r"1[4-9]\d\d|20\d\d")


def read_tei(data: bytes, name: str, language: str | None) -> Book:
    """Read a book in TEI.

    Raises:
        ReadError: with the reason not_a_book, malformed_xml, truncated, forbidden_xml or unknown_encoding.
    """
    declared = _DECLARED.match(data[:1000])
    text, encoding, confidence = decode_text(data, declared[1].decode() if declared else None, language)
    if (tags := text.count("<")) > _MOST_TAGS:
        raise ReadError(NOT_A_BOOK, f"{tags:,} tags, and no book has more than {_MOST_TAGS:,}")
    if found := _DECLARATION.match(text):
        text = text[found.end() :]
    if "<!ENTITY" not in text:
        text = _DOCTYPE.sub("", text, count=1)
    root = parse_xml(text, "TEI")
    body = next((node for node in root.iter("{*}text", "text") if _name(node) == "text"), None)
    if body is None or _name(root) not in ("TEI", "TEI.2", "teiCorpus"):
        raise ReadError(NOT_A_BOOK, f"XML of the element <{_name(root)[:40]}>; a book in TEI has <TEI> and <text>")
    return Book(refuse_little(tuple(_blocks(body))), *_facts(root), encoding, confidence)


def _blocks(body: etree._Element) -> Iterator[Block]:
    chapter = 0
    for text, kind, speaker in paragraphs(body, _role, VERSE):
        if kind in (VERSE, SPEECH, PARAGRAPH, None) and speaker:
            kind = SPEECH
        elif kind == SPEECH:
            kind = PARAGRAPH
        if text := clean(text):
            yield Block(text, kind or PARAGRAPH, chapter, speaker if kind == SPEECH else None)
            chapter += kind == HEADING


def _role(node: etree._Element) -> Role:
    name = _name(node)
    if name == "div" and (kind := _APPARATUS.get((node.get("type") or "").lower())):
        return Role(BLOCK, kind)
    if name == "stage" and (parent := node.getparent()) is not None and _name(parent) in ("p", "l", "ab", "speaker"):
        return Role(SKIP)
    if name == "lb" and node.get("break") == "no":
        return _INSIDE
    if name in ("sic", "orig", "abbr") and (parent := node.getparent()) is not None and _name(parent) != "choice":
        return _INSIDE
    return _ROLES.get(name, _INSIDE)


def _name(node: etree._Element) -> str:
    return str(node.tag).rpartition("}")[2]


def _facts(root: etree._Element) -> tuple[str | None, str | None, str | None, int | None]:
    """Return language, title, author and year, as the header says them."""
    titles = [_text(node) for node in root.iterfind(".//{*}titleStmt/{*}title")]
    authors = [_text(node) for node in root.iterfind(".//{*}titleStmt/{*}author")]
    stated = next((node.get("ident") for node in root.iterfind(".//{*}langUsage/{*}language")), None)
    code = stated or root.get("{http://www.w3.org/XML/1998/namespace}lang")
    dates = [node for node in root.iterfind(".//{*}sourceDesc//{*}bibl[@type='firstEdition']//{*}date")]
    dates += [node for node in root.iterfind(".//{*}sourceDesc//{*}date")]
    years = [int(year[0]) for node in dates if (year := _YEAR.search(node.get("when") or _text(node)))]
    return (
        primary_language(code) or None,
        next((_EDITION.sub("", title) for title in titles if title), None),
        next((_LIVED.sub("", author) for author in authors if author), None),
        years[0] if years else None,
    )


def _text(node: etree._Element) -> str:
    return " ".join("".join(map(str, node.itertext())).split())
