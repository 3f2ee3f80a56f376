"""Recipe `papers` against the counts of the authors' code, on the books that both have."""

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import plain_books
from benchmarks.books import Clock, as_papers
from evaluation import gutenberg_parity
from evaluation.gutenberg_parity import PEER, compare, read, summary, table

DATA = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere"))
needs_books = pytest.mark.skipif(not (DATA / "gutenberg").is_dir(), reason="EDOS_DATA_DIR holds the books")


@needs_books
def test_every_book_has_the_counts_of_the_peer():
    rows = list(compare(DATA / "gutenberg"))
    found = summary(rows)
    assert (found["books"], found["equal"], found["within_2_percent"]) == (len(PEER), len(PEER), len(PEER))
    assert found["dashes_equal"]
    assert found["authors_sheet"]["largest_difference"] < 0.035
    assert all(count < len(PEER) for count in found["otherwise_equal"].values()), "no other way of reading is equal"
    assert table(rows).count("\n") == len(PEER)


@needs_books
def test_the_same_dialogues_as_line_by_line(tmp_path):
    texts = [read(DATA / "gutenberg" / file, True, False, False) for file in ("en/pg11.txt", "en/2591-0.txt")]
    paths = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    plain = plain_books.run(paths, tmp_path)
    ours = as_papers(texts, Clock())
    assert len(ours) == 174
    assert [[" ".join(text.split()) for text in dialogue] for dialogue in plain] == ours


@needs_books
def test_the_script_writes_what_it_finds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gutenberg_parity, "PEER", PEER[:1])
    monkeypatch.setattr(sys, "argv", ["gutenberg_parity.py", str(DATA), "--out", str(tmp_path / "found.json")])
    gutenberg_parity.main()
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["equal"] == 1
    assert "65/593" in capsys.readouterr().out


def test_a_folder_without_books_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gutenberg_parity.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        gutenberg_parity.main()
    assert "lacks en/pg11.txt: give the folder with the books" in capsys.readouterr().err
