"""The paragraphs of a book around its dialogues: found by number, and only if they hold the words."""

import zipfile

import pytest

from audited import BOOK_ROWS, book_row, write_config
from edos_dataset.audits.documents import draw_items, excerpts_of
from edos_dataset.audits.judgements import DIALOGUES, PAIRS
from edos_dataset.sources.formats import read_book

SPEECH = {
    3: "“Is the mill still standing?” asked Ann, and put the lamp down on the table.",
    5: "“It was when I left,” said the miller.",
    8: "“Then let us walk there before the rain comes.”",
    20: "“Nobody has been here since the autumn.”",
    21: "“So I see.”",
}
PARAGRAPHS = [
    SPEECH.get(
        number,
        f"Paragraph {number} of the tale told of the long road beside the river,\nand of all who had gone along it "
        "in the years before the bridge was built there.",
    )
    for number in range(30)
]
TEXT = "\n\n".join(PARAGRAPHS)
FIRST = [
    ("Is the mill still standing?", 3, "Ann", "asked Ann, and put the lamp down on the table."),
    ("It was when I left,", 5),
    ("Then let us walk there before the rain comes.", 8),
]
SECOND = [("Nobody has been here since the autumn.", 20), ("So I see.", 21)]


def drawn(folder, unit=DIALOGUES, path="books/tale.txt", shift=0, around=6):
    rows = [
        book_row("tale.txt", [(text, [number + shift], *rest) for text, number, *rest in turns], path)
        for turns in (FIRST, SECOND)
    ]
    write_config(folder, "gutenberg_en", {"train": rows}, BOOK_ROWS)
    return sorted(draw_items(folder, "gutenberg_en", unit, 9, 0, around)[2], key=lambda item: item.item)


def shown(excerpt):
    return {one.number: (one.turns, one.other) for one in excerpt.paragraphs}


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "tale.txt").write_text(TEXT, encoding="utf-8")
    return folder


def numbers_of_blocks(data):
    """How the book's reader counts the paragraphs that hold speech, which is its own affair."""
    blocks = [block.text for block in read_book(data, "tale.txt", "en").blocks]
    return {next(place for place, text in enumerate(blocks) if text == SPEECH[number]) - number for number in SPEECH}


def test_the_paragraphs_around_a_dialogue_and_what_stands_in_them(tmp_path, books):
    assert len(shift := numbers_of_blocks(TEXT.encode())) == 1
    shift = shift.pop()
    items = drawn(tmp_path / "data", shift=shift)
    excerpts = excerpts_of(items, books, 2)
    first, second = (excerpts[item.item] for item in sorted(items, key=lambda item: item.judged[0].sentences))
    assert {number - shift: told for number, told in shown(first).items()} == {
        **{number: ((), False) for number in (1, 2, 4, 6, 7, 9, 10)},
        3: ((1,), False),
        5: ((2,), False),
        8: ((3,), False),
    }
    assert {one.number - shift: one.text for one in second.paragraphs}[20] == SPEECH[20]


def test_of_a_pair_the_other_turns_are_around(tmp_path, books):
    shift = numbers_of_blocks(TEXT.encode()).pop()
    pairs = drawn(tmp_path / "data", PAIRS, shift=shift)
    second = next(pair for pair in pairs if pair.item.endswith("@2"))
    told = {number - shift: told for number, told in shown(excerpts_of([second], books, 12)[second.item]).items()}
    assert (told[3], told[5], told[8], told[20]) == (((), True), ((2,), False), ((3,), False), ((), True))


def test_paragraphs_counted_as_the_recipe_of_the_paper_does(tmp_path, books):
    """Behind a licence header the count goes on over what stands between empty lines, and the words decide."""
    header = "The Project Gutenberg eBook of A Tale\n\nTitle: A Tale\n\nLanguage: English\n\n"
    start = "*** START OF THE PROJECT GUTENBERG EBOOK A TALE ***"
    text = f"{header}{start}\n\nCONTENTS\n\n{TEXT}\n\n*** END OF THE PROJECT GUTENBERG EBOOK A TALE ***\n\nLicence."
    (books / "tale.txt").write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    items = drawn(tmp_path / "data", shift=1)
    assert set(excerpts_of(items, books, 0)) == {item.item for item in items}
    found = excerpts_of(items[:1], books, 0)[items[0].item].paragraphs[0]
    assert "".join(found.text.split()) == "".join(SPEECH[found.number - 1].split())


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("books/tale.txt", "books"),
        ("books/tale.txt", "."),
        ("books/tale.txt", "books/tale.txt"),
        ("elsewhere/books/tale.txt", "books"),
        ("books/all.zip/en/tale.txt", "books"),
        ("all.zip/en/tale.txt", "books/all.zip"),
    ],
)
def test_where_a_book_lies(tmp_path, books, path, source):
    with zipfile.ZipFile(books / "all.zip", "w") as archive:
        archive.writestr("en/tale.txt", TEXT)
    items = drawn(tmp_path / "data", path=path, shift=numbers_of_blocks(TEXT.encode()).pop())
    assert len(excerpts_of(items, tmp_path / source, 1)) == 2


@pytest.mark.parametrize("path", ["../books/tale.txt", "/books/tale.txt", "books/other.txt", ""])
def test_what_is_not_there_or_leads_out_is_not_opened(tmp_path, books, path):
    items = drawn(tmp_path / "data", path=path, shift=numbers_of_blocks(TEXT.encode()).pop())
    if not path:  # then the id of the document is its path
        assert len(excerpts_of(items, books, 1)) == 2
        return
    with pytest.raises(ValueError, match="holds none of the books of these dialogues"):
        excerpts_of(items, books, 1)


def test_another_text_gives_no_paragraphs(tmp_path, books):
    (books / "tale.txt").write_text(TEXT.replace("mill", "pier").upper()[::-1], encoding="utf-8")
    with pytest.raises(ValueError, match=r"such as books/tale\.txt: give the folder"):
        excerpts_of(drawn(tmp_path / "data"), books, 1)
    (books / "tale.txt").write_bytes(bytes(range(256)) * 50)
    with pytest.raises(ValueError, match="holds none"):
        excerpts_of(drawn(tmp_path / "again"), books, 1)
