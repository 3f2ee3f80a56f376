"""`edos books` as a user sees it: what it says, what bad input does, and the commands that read its folder."""

import gzip
import json
import zipfile

import pytest

from command_line import edos
from edos_dataset.schema import BOOK_LANGUAGES
from sample_books import book, silent_book, write_books


@pytest.fixture
def books(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_books(tmp_path / "books", range(4))


def make(*arguments):
    return edos("books", *arguments, "--no-labels", "--workers", 1)


def report(*arguments):
    return json.loads(edos("inspect", *arguments, "--json").stdout)


def test_made_and_inspected(books):
    done = make("books", "--language", "en", "--out", "gutenberg")
    assert done.exit_code == 0
    assert "5 books, 5 files" in done.stdout
    assert 'load_dataset("./gutenberg", "gutenberg_en")' in done.stdout
    facts = report("gutenberg", "--dialogues", 2, "--seed", 1)
    assert facts["books"] == [
        *(
            {"id": str(90_000 + number), "dialogues": 40, "utterances": 160, "kept": True, "reason": None}
            for number in range(4)
        ),
        {"id": "silent", "dialogues": 0, "utterances": 0, "kept": False, "reason": "no_dialogue"},
    ]
    assert facts["configs"]["gutenberg_en"]["dialogues"] == 160 and len(facts["dialogues"]) == 2
    seen = edos("inspect", "gutenberg", "--dialogues", 3, "--seed", 1)
    assert seen.exit_code == 0 and "no_dialogue 1" in seen.stdout
    assert "Paul: " in seen.stdout, "who speaks"


def test_papers_beside_default_needs_force(books):
    assert make("books", "--out", "gutenberg").exit_code == 0
    refused = make("books", "--out", "gutenberg", "--recipe", "papers")
    assert refused.exit_code == 1 and "--force" in refused.stderr
    assert make("books", "--out", "gutenberg", "--recipe", "papers", "--force").exit_code == 0
    assert report("gutenberg")["books"][-1]["reason"] == "few_delimiters"
    assert "by recipe `papers`" in (books.parent / "gutenberg" / "README.md").read_text()


def test_printed_recipe_is_what_books_runs(books):
    printed = edos("recipe", "default", "--books", "--no-labels").stdout
    (books.parent / "mine.yaml").write_text(printed.replace("max_words: 400", "max_words: 5"))
    done = make("books", "--out", "gutenberg", "--recipe", "mine.yaml", "--json")
    assert done.exit_code == 5
    length = next(stage for stage in json.loads(done.stdout)["stages"] if stage["stage"] == "length")
    assert length["rejected"]["too_long"] > 100


def test_rejects(books):
    assert make("books", "--out", "gutenberg", "--keep-rejects", "--set", "length.max_words=10").exit_code == 0
    seen = edos("rejects", "gutenberg", "--reason", "too_long", "--limit", 2)
    assert seen.exit_code == 0 and "length: too_long" in seen.stdout and "You must ask the miller" in seen.stdout
    seen = edos("rejects", "gutenberg", "--reason", "no_dialogue")
    assert seen.exit_code == 0 and "books/silent.txt" in seen.stdout


def broken(folder):
    """Write what is no book; return the name of each file and the reasons that may be given for it."""
    folder.mkdir()
    text = book(50).encode()
    packed = folder / "cut.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("pg90051.txt", book(51))
    packed.write_bytes(packed.read_bytes()[:-30])
    files = {
        "binary.txt": (bytes(range(256)) * 400, {"not_a_book", "unknown_encoding"}),
        "empty.txt": (b"", {"empty_file"}),
        "blank.txt": (b" \n" * 50, {"empty_file"}),
        "cut.txt.gz": (gzip.compress(text)[:-200], {"truncated", "corrupt_member"}),
        "no.epub": (b"PK\x03\x04 this is no archive", {"malformed_epub", "corrupt_member", "not_a_book"}),
        "open.xml": (b"<TEI><text><body><p>Never closed", {"malformed_xml", "truncated"}),
        "line.txt": (b"word " * 400_000, {"not_a_book", "no_dialogue"}),
    }
    for name, (data, _) in files.items():
        (folder / name).write_bytes(data)
    return {name: reasons for name, (_, reasons) in files.items()}


def test_what_is_no_book_leaves_with_a_reason(books, tmp_path):
    expected = broken(tmp_path / "books" / "bad")
    done = make("books", "--out", "gutenberg")
    assert done.exit_code == 3, "too many files could not be read"
    facts = report("gutenberg")
    reasons = {entry["id"]: entry["reason"] for entry in facts["books"] if not entry["kept"]}
    for name, possible in expected.items():
        assert reasons[name.partition(".")[0]] in possible, name
    assert any(note["reason"] == "unreadable_zip" for note in facts["quarantined"])
    assert sum(entry["kept"] for entry in facts["books"]) == 4
    assert make("books", "--out", "gutenberg", "--max-bad", 1).exit_code == 0


def test_wrong_encoding_declared(books, tmp_path):
    """A header that names an encoding in which the bytes make no sense is not believed."""
    text = book(60).replace("Language: English", "Language: English\n\nCharacter set encoding: UTF-8")
    folder = tmp_path / "latin"
    folder.mkdir()
    (folder / "pg90060.txt").write_bytes(text.replace("orchard", "orchärd").encode("cp1252"))
    assert make("latin", "--out", "gutenberg").exit_code == 0
    [entry] = report("gutenberg")["books"]
    assert (entry["id"], entry["dialogues"], entry["utterances"]) == ("90060", 40, 160)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["books", "--language", "fr"], "there are en (English), de (German), nl (Dutch)"),
        (["books", "--language", "xq"], "xq"),
        (["nowhere"], "nowhere"),
        (["empty"], "no books in"),
        (["books", "--recipe", "paper"], "did you mean 'papers'"),
        (["books", "--set", "length.max_word=3"], "did you mean 'max_words'"),
        (["books", "--set", "length.max_words=0"], "max_words must be from 1"),
        (["books", "--model", "fast"], "give one of the two"),
    ],
)
def test_told_in_a_sentence_and_nothing_written(books, tmp_path, arguments, told):
    (tmp_path / "empty").mkdir()
    failed = make(*arguments, "--out", "gutenberg")
    assert failed.exit_code in (1, 2) and told in " ".join(failed.stderr.split()), failed.stderr
    assert "Traceback" not in failed.output and not (tmp_path / "gutenberg").exists()


def test_nobody_speaks_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "one.txt").write_text(silent_book(2))
    done = make("books", "--out", "gutenberg")
    assert done.exit_code == 5 and "no dialogues are left" in done.stdout and "nothing came out" in done.stderr
    facts = report("gutenberg")
    assert [entry["kept"] for entry in facts["books"]] == [False] and facts["dialogues"] == []


def test_another_folder_is_left_alone(books, tmp_path):
    assert edos("curate", "books", "--out", "mine", "--no-labels").exit_code == 1
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine" / "README.md").write_text("what I wrote")
    failed = make("books", "--out", "mine")
    assert failed.exit_code == 1 and (tmp_path / "mine" / "README.md").read_text() == "what I wrote"


def test_published_like_the_rest(books):
    from edos_dataset.hub.contents import read_data

    assert make("books", "--out", "gutenberg").exit_code == 0
    contents = read_data(books.parent / "gutenberg")
    assert set(contents.configs) == {"gutenberg_en"} and not contents.left_out
    assert {"README.md", "manifest.json", "recipe_en.yaml"} <= set(contents.files)


def test_every_language_of_the_paper_is_there():
    assert BOOK_LANGUAGES[:7] == ("en", "de", "nl", "es", "it", "hu", "pt")
