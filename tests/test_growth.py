"""Steps that meet files of others take time in proportion to them: whole books, subtitle files, judgements, listings.

`test_linear_time` asks the same of every expression and every function of one text.
"""

import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.audits.judgements import dialogue_rates
from edos_dataset.audits.label_rates import label_rates
from edos_dataset.cleaning.rejects import split_before
from edos_dataset.schema.tables import DIALOGUES
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import languages, load_rules
from edos_dataset.sources.books.book import PARAGRAPH, SPEECH, Block, Said
from edos_dataset.sources.books.plain import read_text
from edos_dataset.sources.books.tei import read_tei
from edos_dataset.sources.books.web import read_epub, read_html
from tests.support.adversaries import check_growth

FILL = 12  # characters of one part of most texts; a size of `check_growth` is one in characters


def word(number):
    """Return a different name for every number."""
    letters = []
    while number or not letters:
        number, place = divmod(number, 26)
        letters.append(chr(97 + place))
    return "".join(letters).title() + "ow"


def paragraph(text, language="en"):
    talk = [Block("“Will you come?” asked Tom.", PARAGRAPH, 0, None), Block("“No,” said Ann.", PARAGRAPH, 0, None)]
    return extract([*talk * 3, Block(text, PARAGRAPH, 0, None), *talk * 3], load_rules(language), Speech())


def blocks(make, number):
    return extract([make(place) for place in range(number)], load_rules("en"), Speech())


def tei(body):
    text = f"<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader/><text><body>{body}</body></text></TEI>"
    return read_tei(text.encode(), "x.xml", "en")


def epub(chapters):
    """Return an EPUB of chapters of one paragraph, each in a file of its own."""
    names = [f"c{number}.xhtml" for number in range(chapters)]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    opf = "http://www.idpf.org/2007/opf"
    package = f'<package xmlns="{opf}" version="3.0"><manifest>{items}</manifest><spine>{spine}</spine></package>'
    rootfile = '<rootfiles><rootfile full-path="p.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    container = f'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">{rootfile}</container>'
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "p.opf": package}
    files |= dict.fromkeys(names, "<html><body><p>“Yes,” said she.</p></body></html>")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


BOOKS = {
    "speakers of one paragraph": lambda n: paragraph(" ".join(f"“Yes,” said {word(i)}." for i in range(n))),
    "names behind a tag": lambda n: paragraph("“Yes,” said " + " ".join(map(word, range(2 * n))) + "."),
    "tags behind a quote": lambda n: paragraph("“Yes,” " + " ".join(f"said {word(i)}," for i in range(n))),
    "tags within a quote": lambda n: paragraph("“" + " ".join(f"Yes, said {word(i)}," for i in range(n)) + "”"),
    "open quotes": lambda n: paragraph("“" * n + "x"),
    "speakers of a play": lambda n: blocks(lambda i: Block(f"I say {i}.", SPEECH, 0, f"Person {word(i)}"), n),
    "one speaker of a play": lambda n: blocks(lambda i: Block(f"I say {i}.", SPEECH, 0, "Ann"), n),
    "paragraphs of one person": lambda n: blocks(lambda i: Block(f"“I am {i},” said Ann.", PARAGRAPH, 0, None), n),
    "people who answer": lambda n: blocks(lambda i: Block(f"“I am {i},” said {word(i)}.", PARAGRAPH, 0, None), n),
    "narration": lambda n: blocks(
        lambda i: Block(f"“I am {i}.”" if i % 9 == 0 else "It rained.", PARAGRAPH, 0, None), n
    ),
    "marked speech": lambda n: tei(
        "<p>" + "".join(f"<said who='#{word(i)}'>I say to you.</said> he said, " for i in range(n + 99)) + "</p>"
    ),
    "marks without words": lambda n: tei(
        "<said><p>“</p>" + "<p>—</p>" * (n + 99) + "<p>I say to you.</p></said>" + "<p>No.</p>" * 400
    ),
    "marked turns": lambda n: extract(
        [Block("Yes. " * n, PARAGRAPH, said=tuple(Said(5 * i, 5 * i + 4, word(i)) for i in range(n)))],
        load_rules("en"),
        Speech(),
    ),
    "tei": lambda n: tei("".join(f"<sp><speaker>{word(i)}</speaker><p>I say to you.</p></sp>" for i in range(n + 99))),
    "TEI in TEI": lambda n: tei("<div>" * min(n, 200) + "<p>I say to you.</p>" * (n + 99) + "</div>" * min(n, 200)),
    "html": lambda n: read_html(("<html><body>" + "<p>“Yes,” said she.</p>" * (n + 99)).encode(), "x.html", "en"),
    "epub": lambda n: read_epub(epub(n + 99), "x.epub", "en"),
    "text": lambda n: read_text(("“Yes,” said she.\n\n" * n + "It was over. " * 99).encode(), "x.txt", "en"),
}
DASHES = {  # what a dash begins, in every language of books
    f"dashes, {language}": lambda n, language=language: paragraph("— Sí —dijo Ana—, voy. " * n, language)
    for language in languages()
}


@pytest.mark.parametrize("name", [*BOOKS, *DASHES])
def test_books_take_time_in_proportion_to_their_length(name):
    read = {**BOOKS, **DASHES}[name]
    assert check_growth(lambda text: read(len(text) // FILL), [lambda size: " " * size], per_character=1e-4) is None


def test_dialogues_of_many_turns_are_cut_in_proportion_to_their_length():
    def cut(text):
        turns = [{"text": f"Turn {number}", "sentence_ids": [number]} for number in range(len(text))]
        row = {"dialogue_id": "d", "document_id": "f", "turns": turns}
        table = pa.Table.from_pylist([row], pa.schema([DIALOGUES.field(name) for name in row]))
        parts = split_before(table, np.ones(len(turns), bool))
        assert parts.num_rows == len(turns) and parts.schema == table.schema
        assert parts.nbytes < 200 * len(turns), "no part holds the turns of the others"

    assert check_growth(cut, [lambda size: " " * (size // 4)], per_character=2e-4) is None


def of_labels(number):
    entry = {"method": "spread", "label": "sad", "draw": "random", "verdict": "right", "rows": 3}
    return {"judgements": [entry | {"step": place} for place in range(1, number + 1)]}


def of_dialogues(number):
    entry = {"digest": "d", "errors": ["two"], "language": "en", "split": "train"}
    entries = [entry | dict.fromkeys(("item", "source", "document_id"), f"f{place}") for place in range(number)]
    return {"kind": "subtitles", "unit": "dialogues", "config": "os", "reader": "a", "judgements": entries}


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (of_labels, lambda path: label_rates([path], by="document_id")),
        (of_dialogues, lambda path: dialogue_rates([path], by="document_id")),
    ],
)
def test_judgements_are_counted_in_proportion_to_their_number(make, count, tmp_path):
    def counted(text):
        path = tmp_path / "judgements.json"
        path.write_text(json.dumps(make(len(text) // 10)))
        count(path)

    assert check_growth(counted, [lambda size: " " * size], per_character=5e-5) is None
