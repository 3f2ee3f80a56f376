"""Books in TEI, such as those of ELTeC; the elements state the kind of each paragraph."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from lxml import etree

from edos_dataset.languages import primary_language
from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE, Block, Book
from edos_dataset.sources.books.marks import Marks
from edos_dataset.sources.books.markup import (
    BLOCK,
    BREAK,
    LINE,
    QUOTED,
    SAID,
    SCENE,
    SKIP,
    SPEAKER,
    Role,
    paragraphs,
    refuse_many_tags,
)
from edos_dataset.sources.books.plain import NOT_A_BOOK, decode_text, refuse_little
from edos_dataset.sources.books.structure import clean
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.xml_trees import declared_in_xml, parse_xml, without_declaration

_DOCTYPE = re.compile(r"<!DOCTYPE[^<>\[]*(?:\[[^\[\]]*\]\s*)?>")
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
    "q": Role(QUOTED),
    "sp": Role(SCENE, SPEECH),
    "speaker": Role(SPEAKER),
    "note": Role(BLOCK, NOTE, aside=True),
    **dict.fromkeys(("titlePage", "list", "table", "figure", "castList", "trailer", "listBibl"), Role(BLOCK, CONTENTS)),
    **dict.fromkeys(("item", "row", "castItem", "docTitle", "docImprint", "docDate"), Role(BLOCK)),
}
_SPOKEN = frozenset(("spoken", "speech", "direct"))  # types of <q>
_PEOPLE = ("person", "personGrp", "castItem", "role")
_NAMES = ("persName", "name", "role", "roleDesc")
_ID = "{http://www.w3.org/XML/1998/namespace}id"
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
    text, encoding, confidence = decode_text(data, declared_in_xml(data), language)
    refuse_many_tags(text, NOT_A_BOOK)
    text = without_declaration(text)
    if "<!ENTITY" not in text:
        text = _DOCTYPE.sub("", text, count=1)
    root = parse_xml(text, "TEI")
    body = next((node for node in root.iter("{*}text", "text") if _name(node) == "text"), None)
    if body is None or _name(root) not in ("TEI", "TEI.2", "teiCorpus"):
        raise ReadError(NOT_A_BOOK, f"XML of the element <{_name(root)[:40]}>; a book in TEI has <TEI> and <text>")
    marks = Marks()
    blocks = tuple(marks.said_in(_blocks(body, _people(root), marks)))
    return Book(refuse_little(blocks), *_facts(root), encoding, confidence)


def _people(root: etree._Element) -> dict[str, str]:
    """Return the names of the people whom the file lists, by their ids."""
    people = {}
    for node in root.iter(*(f"{{*}}{name}" for name in _PEOPLE)):
        of_person = (node.find(f"{{*}}{name}") for name in _NAMES)
        named = next((each for each in of_person if each is not None), node)
        if (number := node.get(_ID)) and (name := _text(named)):
            people[number] = name
    return people


def _speaker(node: etree._Element, people: Mapping[str, str]) -> str | None:
    """Return who speaks by `@who`: the names of those to whom it points, several joined by commas; an id that the file
    does not list is read as a name.
    """
    pointers = (node.get("who") or "").split()
    ids = (pointer.rpartition("#")[2] for pointer in pointers)
    return ", ".join(people.get(each) or " ".join(re.split("[_ ]+", each)) for each in ids if each) or None


def _blocks(body: etree._Element, people: Mapping[str, str], marks: Marks) -> Iterator[Block]:
    chapter = 0
    for text, kind, speaker in paragraphs(body, partial(_role_with_speaker, people), VERSE, marks):
        if kind in (VERSE, SPEECH, PARAGRAPH, None) and speaker:
            kind = SPEECH
        elif kind == SPEECH:
            kind = PARAGRAPH
        if text := clean(text):
            yield Block(text, kind or PARAGRAPH, chapter, speaker if kind == SPEECH else None)
            chapter += kind == HEADING


def _role_with_speaker(people: Mapping[str, str], node: etree._Element) -> Role:
    name = _name(node)
    if name in ("said", "q"):
        return _role_of_quote(node, people)
    if name == "sp" and (node.get("who") or "").rpartition("#")[2] in people:
        return Role(SCENE, SPEECH, speaker=_speaker(node, people))
    return _role(node)


def _role(node: etree._Element) -> Role:
    name = _name(node)
    if name == "div" and (kind := _APPARATUS.get((node.get("type") or "").lower())):
        return Role(BLOCK, kind)
    if name == "lb" and node.get("break") == "no":
        return _INSIDE
    if name in ("stage", "sic", "orig", "abbr") and (parent := node.getparent()) is not None:
        if name == "stage" and _name(parent) in ("p", "l", "ab", "speaker"):
            return Role(SKIP)
        if name != "stage" and _name(parent) != "choice":
            return _INSIDE
    return _ROLES.get(name, _INSIDE)


def _role_of_quote(node: etree._Element, people: Mapping[str, str]) -> Role:
    """Return the role of `<said>` and `<q>`: speech, unless it is thought or the file does not say so."""
    if node.get("aloud") == "false":
        return _INSIDE
    if _name(node) == "said" or node.get("who") or node.get("type") in _SPOKEN:
        return Role(SAID, speaker=_speaker(node, people))
    return _ROLES["q"]


def _name(node: etree._Element) -> str:
    return str(node.tag).rpartition("}")[2]


def _facts(root: etree._Element) -> tuple[str | None, str | None, str | None, int | None]:
    stated = next((node.get("ident") for node in root.iterfind(".//{*}langUsage/{*}language")), None)
    code = stated or root.get("{http://www.w3.org/XML/1998/namespace}lang")
    title = _first_text(root, ".//{*}titleStmt/{*}title")
    author = _first_text(root, ".//{*}titleStmt/{*}author")
    return (
        primary_language(code) or None,
        None if title is None else _EDITION.sub("", title),
        None if author is None else _LIVED.sub("", author),
        _year(root),
    )


def _first_text(root: etree._Element, path: str) -> str | None:
    return next(filter(None, map(_text, root.iterfind(path))), None)


def _year(root: etree._Element) -> int | None:
    """Return the year of the first edition, else of another source."""
    for path in (".//{*}sourceDesc//{*}bibl[@type='firstEdition']//{*}date", ".//{*}sourceDesc//{*}date"):
        for node in root.iterfind(path):
            if year := _YEAR.search(node.get("when") or _text(node)):
                return int(year[0])
    return None


def _text(node: etree._Element) -> str:
    return " ".join("".join(map(str, node.itertext())).split())
