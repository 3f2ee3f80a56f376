"""Books found and read: one a key, its best file, in the language wanted, everything else reported."""

import gzip
import os
import zipfile
from pathlib import Path

import pyarrow.compute as pc
import pytest

from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema.tables import BOOKS, READ_BOOKS, REASON
from edos_dataset.sources.given import SourceError
from edos_dataset.sources.inventory import find_books
from edos_dataset.sources.names import name_book
from edos_dataset.sources.read import OTHER_FILE_OF_BOOK, ReadBooks

EN = "The keeper of the house counted the ships that night, and they were more than she had thought they would be. "
DE = (
    "Die Hüterin des Hauses zählte in dieser Nacht die Schiffe, und es waren mehr, als sie gedacht hatte. Unten "
    "am Meer stand ein alter Mann mit seinem Hund und wartete auf den Morgen; er hatte keine Laterne, aber der Mond "
    "schien hell genug für beide. Wenn jemand kommt, sagte er leise, dann über den Weg hinter der Kirche. "
)
PROSE = {
    "en": f"CHAPTER I\n\n{EN * 8}\n\n“Who is it?” she said.\n\n{EN * 8}\n",
    "de": f"I\n\n{DE * 9}\n\n„Wer?“\n\n{DE}\n",
}
HTML = "<html><title>Two Doors</title><body><h2>Chapter I</h2><p>" + EN * 16 + "</p><p>“Who?”</p></body></html>"
DATA = os.environ.get("EDOS_DATA_DIR")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "books"


def put(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def found(folder, language="en", **more):
    inventory = find_books([folder], language, **more)
    books = {
        row["book"]: [file["document_id"].removeprefix("books/") for file in row["files"]]
        for row in inventory.books.to_pylist()
    }
    return books, dict(inventory.skipped), inventory


def read(folder, **parameters):
    return ReadBooks(**parameters)(find_books([folder], parameters.get("language", "en")).books)


def test_books_that_gutenberg_calls_copyrighted_are_left_out_by_the_papers(folder):
    head = "** This is a COPYRIGHTED Project Gutenberg eBook, Details Below **\n\n"
    start = "*** START OF THIS PROJECT GUTENBERG EBOOK ***\n\n"
    put(folder, {"pg1.txt": head + start + PROSE["en"], "pg2.txt": start + PROSE["en"]})
    assert read(folder)[REASON].to_pylist() == [None, None]
    reasons = {
        row["document_id"].removeprefix("books/"): row[REASON]
        for row in read(folder, plain=True, copyrighted=False).to_pylist()
    }
    assert reasons == {"pg1.txt": "copyrighted", "pg2.txt": None}


@pytest.mark.parametrize(
    ("path", "book", "language"),
    [
        ("a/pg11.txt", "gutenberg/11", None),
        ("a/11-8.txt", "gutenberg/11", None),
        ("a/11-0.txt.gz", "gutenberg/11", None),
        ("a/11-h.htm", "gutenberg/11", None),
        ("a/pg11-images.html", "gutenberg/11", None),
        ("a/pg11.html.noimages", None, None),
        ("m/1/2/1234/1234.txt", "gutenberg/1234", None),
        ("a/11.txt", "a/11", None),
        ("a/de/alice.txt", "a/de/alice", "de"),
        ("a/alice.epub", "a/alice", None),
        ("a/x.zip/11-0.txt", "gutenberg/11", None),
    ],
)
def test_names(path, book, language):
    assert book is None or (name_book(path).book, name_book(path).language) == (book, language)


def test_files_of_one_book(folder):
    put(
        folder,
        {name: PROSE["en"] for name in ("11.txt", "11-8.txt", "x/pg11.txt", "a.txt", "a.html", "12.txt", "b/a.txt")},
    )
    books, _, inventory = found(folder)
    assert books == {
        "gutenberg/11": ["11-8.txt", "11.txt", "x/pg11.txt"],
        "books/12": ["12.txt"],
        "books/a": ["a.html", "a.txt"],
        "books/b/a": ["b/a.txt"],
    }
    assert inventory.books.schema == BOOKS
    assert inventory.facts() | {"skipped": 0} == {"books": 4, "files": 7, "unopened": 0, "skipped": 0, "not_taken": {}}


def test_a_mirror_with_archives(folder):
    put(folder, {"1/2/3/1234/1234-0.txt": PROSE["en"], "1/2/3/1234/old/1234.txt": "old", "1/2/3/1234/1234.jpg": "x"})
    with zipfile.ZipFile(folder / "1/2/3/1234/1234-h.zip", "w") as archive:
        archive.writestr("1234-h/1234-h.htm", HTML)
        archive.writestr("1234-h/images/cover.jpg", "x")
    books, skipped, _ = found(folder)
    assert books == {"gutenberg/1234": ["1/2/3/1234/1234-0.txt", "1/2/3/1234/1234-h.zip/1234-h/1234-h.htm"]}
    assert skipped["books/1/2/3/1234/old/1234.txt"].startswith("superseded")
    assert skipped["books/1/2/3/1234/1234.jpg"] == "not_a_book: suffix .jpg"
    rows = read(folder).select(["document_id", REASON]).to_pylist()
    assert [row[REASON] for row in rows] == [OTHER_FILE_OF_BOOK, None]


HEADER = "Text#,Type,Issued,Title,Language,Authors\n"


def test_the_catalogue(folder):
    put(folder, {"pg11.txt": PROSE["en"], "pg12.txt": PROSE["de"], "pg13.txt": PROSE["en"], "fi/pg14.txt": PROSE["en"]})
    put(
        folder,
        {"pg_catalog.csv": HEADER + '11,Text,,Two Doors,en,"Nobody, Ann"\n12,Text,,D,de,\n14,Text,,E,en; fi,\n,,\n'},
    )
    books, skipped, inventory = found(folder)
    assert list(books) == ["gutenberg/11", "gutenberg/13", "gutenberg/14"]
    assert skipped["books/pg12.txt"] == "other_language: the catalogue says 'de', wanted is 'en'"
    assert ("pg_catalog.csv", "catalogue: line 5: is empty") in inventory.skipped
    row = ReadBooks()(inventory.books).to_pylist()[0]
    assert (row["source"]["title"], row["source"]["author"]) == ("Two Doors", "Nobody, Ann")


def test_a_broken_catalogue_is_reported_or_refused_if_given(folder):
    put(folder, {"pg11.txt": PROSE["en"], "pg_catalog.csv": "<html>"})
    assert found(folder)[1]["pg_catalog.csv"].startswith("not_a_catalogue")
    with pytest.raises(SourceError, match=r"the catalogue .* its first line names <html>"):
        found(folder, catalogue=folder / "pg_catalog.csv")


def test_the_best_file_is_kept_and_reasons_reported(folder):
    put(
        folder,
        {
            "11-8.txt": PROSE["en"].encode("cp1252"),
            "11-0.txt": PROSE["en"],
            "pg11.txt": b"\0\1\2" * 999,
            "11-h.htm": HTML,
            "12-0.txt": PROSE["en"],
            "12-8.txt": PROSE["en"].encode("cp1252"),
            "13.epub": b"PK broken",
        },
    )
    out = read(folder)
    reasons = {row["document_id"].removeprefix("books/"): row[REASON] for row in out.to_pylist()}
    assert reasons == {
        "11-8.txt": OTHER_FILE_OF_BOOK, "11-0.txt": OTHER_FILE_OF_BOOK, "pg11.txt": "not_a_book", "11-h.htm": None,
        "12-0.txt": None, "12-8.txt": OTHER_FILE_OF_BOOK, "13.epub": "malformed_epub",
    }  # fmt: skip
    kept, rejected = split_rejects(out)
    assert kept.drop_columns(["detail", "kept_file"]).schema == READ_BOOKS
    row = kept.to_pylist()[0]
    assert row["book"] == "gutenberg/11" and row["text"] is None and row["language"] == "en"
    assert [block["kind"] for block in row["blocks"]] == ["heading", "paragraph", "paragraph"]
    assert rejected["blocks"].null_count == rejected.num_rows == 5
    notes = ReadBooks().notes(rejected)
    assert [(note["book"], note["reason"]) for note in notes] == [
        ("books/13", "malformed_epub"), ("gutenberg/11", OTHER_FILE_OF_BOOK), ("gutenberg/11", OTHER_FILE_OF_BOOK),
        ("gutenberg/11", "not_a_book"), ("gutenberg/12", OTHER_FILE_OF_BOOK),
    ]  # fmt: skip


def test_plain_text_for_the_papers(folder):
    title = "THE PROJECT GUTENBERG EBOOK X ***\r\n"
    wrapped = f"*** START OF {title}{PROSE['en']}*** END OF {title}"
    put(folder, {"11-0.txt": wrapped.encode() + b"\xff", "11-h.htm": HTML, "12-h.htm": HTML})
    rows = {row["document_id"]: row for row in split_rejects(read(folder, plain=True))[0].to_pylist()}
    assert sorted(rows) == ["books/11-0.txt", "books/12-h.htm"]
    assert rows["books/11-0.txt"]["blocks"] is None
    assert rows["books/11-0.txt"]["text"].strip() == PROSE["en"].strip()
    assert rows["books/12-h.htm"]["text"].startswith("Chapter I\n\n")


@pytest.mark.parametrize(
    ("content", "claim"),
    [
        (PROSE["de"], "it seems to be 'de'"),
        (
            f"Language: German\n\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n{PROSE['en']}",
            "it says it is in 'de'",
        ),
    ],
)
def test_other_languages(folder, content, claim):
    put(folder, {"a.txt": content, "hu/b.txt": PROSE["en"]})
    assert found(folder)[1]["books/hu/b.txt"] == "other_language: its path says 'hu', wanted is 'en'"
    out = read(folder)
    (row,) = out.to_pylist()
    assert row[REASON] == "other_language" and row["language"] == "de" and claim in row["detail"]
    assert ReadBooks().tally(out)["other language: de"] == 1
    assert [note["reason"] for note in ReadBooks().notes(out)] == ["other_language"]


def test_packed_too_large_and_not_there(folder):
    put(folder, {"a.txt.gz": gzip.compress(PROSE["en"].encode()), "b.txt": PROSE["en"] * 9, "c.txt": PROSE["en"]})
    inventory = find_books([folder], "en")
    (folder / "c.txt").unlink()
    rows = ReadBooks(max_bytes=4000)(inventory.books).to_pylist()
    assert [row[REASON] for row in rows] == [None, "too_large", "unreadable"]


def test_nothing_found(tmp_path, folder):
    put(folder, {"x.jpg": b"x"})
    with pytest.raises(SourceError, match=r"no books in .*1 other file was found.*Known suffixes: .txt, .txt.gz"):
        find_books([folder], "en")
    with pytest.raises(SourceError, match="no source given"):
        find_books([], "en")


def test_the_order_of_files_and_rows_decides_nothing(folder):
    put(folder, {f"{number}-{form}.txt": PROSE["en"] for number in (11, 12) for form in "08"})
    books = find_books([folder], "en").books
    one = ReadBooks()(books)
    assert ReadBooks()(books.slice(1)).equals(one.slice(2))
    given = sorted(path for path in folder.iterdir())
    assert find_books(given[::-1], "en").books["book"].equals(find_books(given, "en").books["book"])


@pytest.mark.skipif(not DATA, reason="needs EDOS_DATA_DIR")
def test_real_books():
    for language, least in {"en": 14, "de": 10, "es": 10, "hu": 10, "it": 8, "nl": 4, "pt": 8}.items():
        out = ReadBooks(language=language)(find_books([Path(DATA) / "gutenberg"], language).books)
        kept, rejected = split_rejects(out)
        assert kept.num_rows == least, language
        assert [note["reason"] for note in ReadBooks(language=language).notes(rejected)] == ["not_a_book"]  # licence
        assert pc.min(pc.list_value_length(kept["blocks"])).as_py() >= 1
