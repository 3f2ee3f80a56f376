"""Plain texts become blocks: their encodings, their layouts, and what a file is refused for."""

import textwrap
import time

import pytest

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, VERSE
from edos_dataset.sources.books.plain import LONGEST_BLOCK, declared_encoding, decode_text, read_text, unwrap
from edos_dataset.sources.parsed import ReadError

SENTENCE = "The keeper of the lighthouse counted the ships again, and there was one too many of them that night. "
PROSE = textwrap.fill(SENTENCE * 5, 70)
UMLAUTS = "Der Wächter zählte die Schiffe; „Fünf“, sagte er. Über dem Meer wurde es schön. "


def blocks(text, kind=None, name="x.txt"):
    found = read_text(text.encode(), name, None).blocks
    return [block.text for block in found if block.kind == kind] if kind else list(found)


def padded(text):
    """A text within enough prose to be a book."""
    return f"{PROSE}\n\n{PROSE}\n\n{text}\n\n{PROSE}\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_paragraphs_are_unwrapped_and_counted_by_chapter(ends):
    text = f"CHAPTER I\n\nOne Too Many\n\n{PROSE}\n\n“Ships,” he\nsaid.\n  \t\nChapter 2\n\n{PROSE}\n".replace(
        "\n", ends
    )
    found = blocks(text)
    assert [block.kind for block in found] == [HEADING, HEADING, PARAGRAPH, PARAGRAPH, HEADING, PARAGRAPH]
    assert found[2].text == " ".join(PROSE.split()) and found[3].text == "“Ships,” he said."
    assert [block.chapter for block in found] == [0, 1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("encoding", "declared", "reported"),
    [
        ("utf-8", "UTF-8", "utf-8"),
        ("utf-8-sig", None, "utf-8"),
        ("utf-16", None, "utf-16-le"),
        ("cp1252", "ISO-8859-1", "cp1252"),
        ("cp1252", "UTF-8", "cp1252, declared utf-8"),
        ("utf-8", "ISO-8859-1", "utf-8, declared iso-8859-1"),
        ("mac-roman", None, "mac-roman"),
    ],
)
def test_encodings(encoding, declared, reported):
    head = f"Character set encoding: {declared}\n\n" if declared else ""
    text = f"{head}*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n{UMLAUTS * 20}\n"
    book = read_text(text.encode(encoding), "x.txt", "de")
    assert book.blocks[0].text == (UMLAUTS * 20).strip()
    assert book.encoding == reported and book.encoding_confidence > 0.5


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("She was _very_ sure, and _I_ was __not__.", "She was very sure, and I was __not__."),
        ("He came.[12] He went.[*]", "He came. He went."),
        ("a =bold= word, 2 = 3", "a bold word, 2 = 3"),
        ("co\u00adoperation", "cooperation"),
        ("Cafe\u0301", "Café"),
        ("one\u00a0two   three", "one two three"),
        ("snake_case", "snakecase"),
    ],
)
def test_marks(written, read):
    assert read in blocks(padded(written))[2].text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CHAPTER XIV.", HEADING),
        ("Zweites Kapitel", HEADING),
        ("CAPÍTULO PRIMERO", HEADING),
        ("Hoofdstuk III.", HEADING),
        ("ELSŐ FEJEZET", HEADING),
        ("XIV", HEADING),
        ("17.", HEADING),
        ("\nThe Return of the Keeper", HEADING),
        ("Erstes Buch.", HEADING),
        ("BOOK THE SECOND", HEADING),
        ("Chapter the First", HEADING),
        ("It was his book.", PARAGRAPH),
        ("“HELP!”", PARAGRAPH),
        ("—Sí.", PARAGRAPH),
        ("I did not know.", PARAGRAPH),
        ("Part of him was glad.", PARAGRAPH),
        ("Book in hand, he went,", PARAGRAPH),
        ("No!", PARAGRAPH),
        ("[Illustration: The door]", NOTE),
        ("[Footnote 3: A small ship.]", NOTE),
        ("[3] A small ship of that coast.", NOTE),
        ("*       *       *       *       *", CONTENTS),
        ("Transcriber's Note: spelling was kept.", CONTENTS),
        ("  The wind was up, the moon was low,\n    The keeper could not sleep,\n  He heard the horses come and go\n"
         "    Along the castle keep.", VERSE),
        ("“Dear Ann,\n“Come soon.", VERSE),
        (textwrap.indent(textwrap.fill(SENTENCE * 2, 60), "    "), PARAGRAPH),
    ],
)  # fmt: skip
def test_kinds(text, kind):
    found = [block for block in blocks(padded(text)) if block.text != " ".join(PROSE.split())]
    assert [block.kind for block in found] == [kind]


def test_title_page_contents_and_the_first_chapter():
    pages = "TWO DOORS\n\nby\n\nAnn Nobody\n\nLONDON\n1891\n\n"
    contents = "CONTENTS\n\nCHAPTER I\n  One Too Many     1\n\nCHAPTER II\n  The Return     17\n\n\n"
    found = blocks(f"Produced by Somebody\n\n{pages}{contents}CHAPTER I\n\n{PROSE}\n\nCHAPTER II\n\n{PROSE}\n\n{PROSE}")
    assert [block.text for block in found if block.kind == HEADING] == ["CHAPTER I", "CHAPTER II"]
    assert {block.kind for block in found[:6]} == {CONTENTS}


def test_what_is_said_about_the_electronic_edition_is_no_part_of_the_book():
    said = '"It is free," says the note.'
    text = f"Imprint\n\n{said}\n\nCHAPTER I\n\n{PROSE}\n\n" + f"{PROSE}\n\n" * 80
    text += f"The colophon was gilt.\n\nColophon\n\n{said}\n\nAbout this digital edition\n\n{said}\n"
    assert said not in blocks(text, PARAGRAPH) and "The colophon was gilt." in blocks(text, PARAGRAPH)
    assert blocks(text, CONTENTS).count(said) == 3


def test_a_footnote_continues_until_its_bracket_closes():
    note = f"[Footnote 1: It begins.\n\n{PROSE}\n\nIt ends.]"
    assert len(blocks(padded(note), NOTE)) == 3


def test_notes_of_transcribers_at_the_end():
    text = f"{PROSE}\n\n" * 30 + "Transcriber's Notes\n\nPage 3: “teh” is now “the”.\n\nPage 9: likewise.\n"
    assert [block.kind for block in blocks(text)[-3:]] == [CONTENTS] * 3


class TestLayouts:
    """Texts without blank lines between their paragraphs."""

    SAID = ("—¿Quién es? —preguntó.", "—Soy yo.", "Nadie contestó.")

    def test_long_lines(self):
        text = "\n".join([SENTENCE * 4, "- Who is it?", SENTENCE * 2, "- I."] * 20)
        assert blocks(text, PARAGRAPH)[:2] == [(SENTENCE * 4).strip(), "- Who is it?"]

    def test_indented_first_lines(self):
        wrapped = textwrap.fill(SENTENCE * 3, 70, initial_indent="   ")
        found = blocks("\n".join([wrapped, "   “Yes.”", wrapped] * 20))
        assert len(found) == 60 and found[1].text == "“Yes.”"

    def test_neither(self):
        wrapped = textwrap.fill(SENTENCE * 3, 70)
        found = blocks("\n".join([wrapped, *self.SAID] * 20))
        assert [block.text for block in found[:4]] == [(SENTENCE * 3).strip(), *self.SAID]

    def test_italics_on_lines_of_their_own(self):
        text = f"{SENTENCE * 3}\n\t\n-Aquí -dijo \nla Burlada\n, y calló.\n\t\n{SENTENCE * 9}"
        assert blocks(text)[1].text in ("-Aquí -dijo la Burlada, y calló.", "-Aquí -dijo la Burlada , y calló.")


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (b"", "not_a_book", "0 characters"),
        (b"Too little.\n", "not_a_book", "11 characters of text; a book has 1,000"),
        (bytes(range(256)) * 40, "not_a_book", "zero bytes"),
        (b"a " * LONGEST_BLOCK, "not_a_book", "a line of 2,097,152 characters"),
        (b"line\n" * LONGEST_BLOCK, "not_a_book", "a paragraph of"),
        (b"THE FULL PROJECT GUTENBERG LICENSE\n" + b"words\n" * 999, "not_a_book", "the licence"),
        (b"*\n\n" * 9999, "not_a_book", "0 characters"),
        (b"\xff\xfe" + b"\x00\xd8" * 2000, "unknown_encoding", "byte order mark of utf-16"),
    ],
)
def test_what_is_no_book(data, reason, says):
    with pytest.raises(ReadError, match=says) as refused:
        read_text(data, "x.txt", None)
    assert refused.value.reason == reason


@pytest.mark.parametrize("unit", [b"x", b" ", b"A. ", b"[", b"_", b"I ", b"= ", b"*", b'" ', b"\t\n", b"FAUST ", b"(_"])
def test_a_long_line_takes_no_longer_by_the_byte(unit):
    """Ten million bytes of one thing are refused or read in seconds: nothing takes quadratic time."""
    began = time.process_time()
    for data in (unit * (10_000_000 // len(unit)), PROSE.encode() + b"\n\n" + unit * (900_000 // len(unit))):
        try:
            read_text(data, "x.txt", None)
        except ReadError as error:
            assert error.reason in ("not_a_book", "unknown_encoding")
    assert time.process_time() - began < 10


def test_an_ascii_text_contradicts_no_declaration():
    assert decode_text(b"plain", "utf-16", None)[1] == "utf-8"


BODY = "\n\nCHAPTER I\n\nIt rained.\n\n"
NEW = (
    "The Project Gutenberg eBook of Two Doors\n\nTitle: Two Doors\n       A Tale\n\nAuthor: Ann Nobody\n\n"
    "Language: Hungarian\n\nOriginal publication: London: Some House, 1891\n\n"
    "*** START OF THE PROJECT GUTENBERG EBOOK TWO\nDOORS ***"
)
OLD = (
    "The Project Gutenberg Etext of Two Doors, by Ann Nobody\n\nsmall print\n\n"
    "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*"
)
ENDS = (
    "*** END OF THE PROJECT GUTENBERG EBOOK TWO DOORS ***\nlicence\n",
    "End of the Project Gutenberg EBook of Two Doors, by Ann Nobody\n\n*** END OF THIS PROJECT GUTENBERG EBOOK",
    "End of Project Gutenberg's Two Doors\n",
    "Ende dieses Projekt Gutenberg Etextes Two Doors\n",
    "Fin del Proyecto Gutenberg\n",
    "***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN EBOOKS**START***\nlicence",
)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("header", "facts"),
    [
        (NEW, ("Two Doors A Tale", "Ann Nobody", "hu", 1891)),
        (OLD, ("Two Doors", "Ann Nobody", None, None)),
        ("***START OF THE PROJECT GUTENBERG EBOOK X***", (None, None, None, None)),
    ],
)
def test_wrapped(header, facts, end):
    book = unwrap(header + BODY + end)
    assert book.text.strip() == BODY.strip() and book[1:] == facts


def test_what_is_not_wrapped_stays():
    text = "A book about Project Gutenberg.\n\nTitle: none\n"
    assert unwrap(text) == (text, None, None, None, None)


@pytest.mark.parametrize(
    ("head", "name", "declared"),
    [
        (b"Character set encoding: ISO-8859-1\r\n", "1.txt", "iso-8859-1"),
        (b"Character set encoding: ISO Latin-1\n", "1-0.txt", "latin-1"),
        (b"Character set encoding: Unicode UTF-8\n", "1.txt", "utf-8"),
        (b"", "1234-8.txt", "iso8859-1"),
        (b"", "1234-0.txt", "utf-8"),
        (b"", "alice.txt", None),
    ],
)
def test_declared(head, name, declared):
    assert declared_encoding(head + b"text", name) == declared
