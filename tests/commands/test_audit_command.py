"""`edos audit` of dialogues: which page or which figures a call gives, and what it refuses. That of labels is tested
with `edos extend`.
"""

import json

import pytest
from typer.testing import CliRunner

from audited import BOOK_ROWS, book_row, films, labelled_films, write_config
from edos_dataset.cli.app import app


def call(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def judgements(folder, name, errors, unit="dialogues", kind="subtitles"):
    facts = {"document_id": "a.srt", "source": "films/a [x]", "language": "en", "split": "test", "digest": "d"}
    rows = [{"item": str(number), "errors": each, **facts} for number, each in enumerate(errors)]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"kind": kind, "unit": unit, "config": "os", "reader": name, "judgements": rows}))
    return path


def test_a_page_of_dialogues_and_one_of_pairs(tmp_path, monkeypatch):
    films(tmp_path / "films")
    monkeypatch.chdir(tmp_path)
    done = call("films", "--dialogues", 7, "--seed", 3)
    assert done.exit_code == 0 and "audit_os_dialogues.html: judge by keys or buttons" in " ".join(done.output.split())
    page = (tmp_path / "audit_os_dialogues.html").read_bytes()
    assert page.count(b"<article") == 7
    assert call("films", "--config", "os", "--pairs", 4, "--blind", "--out", "pairs.html").exit_code == 0
    assert (tmp_path / "pairs.html").read_bytes().count(b'data-blind="yes"') == 4
    refused = call("films", "--dialogues", 2)
    assert refused.exit_code == 1 and "is there already" in refused.output
    assert (tmp_path / "audit_os_dialogues.html").read_bytes() == page
    assert call("films", "--dialogues", 7, "--seed", 3, "--force").exit_code == 0
    assert (tmp_path / "audit_os_dialogues.html").read_bytes() == page, "the same folder and seed, the same bytes"
    assert call("films", "--force").exit_code == 0
    assert (tmp_path / "audit_os_dialogues.html").read_bytes().count(b"<article") == 20, "there are no 50"


def test_figures_of_readers(tmp_path):
    files = [judgements(tmp_path, "ann", [[], ["two"], []]), judgements(tmp_path, "bob", [[], ["two", "ocr"], []])]
    shown = " ".join(call(*files).output.split())
    for told in ("3 dialogues of subtitles, 2 readers", "no error", "66.7%", "films/a [x]", "reader bob", "1.00"):
        assert told in shown
    assert "the paper" not in shown
    rates = json.loads(call(*files, "--json", "--by", "split").stdout)
    assert rates["groups"]["test"]["items"] == 3 and rates["errors"]["ocr"]["share"] == 0.1667
    books = judgements(tmp_path, "cid", [["nobody"], []], "pairs", "books")
    assert "89%" in call(books).output, "the paper's beside ours"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("films", "--dialogues", 5, "--pairs", 5), 2, "give one of --dialogues, --pairs and --labels"),
        (("films", "--pairs", 5, "--labels"), 2, "give one of --dialogues, --pairs and --labels"),
        (("films", "--labels"), 1, "the turns of config 'os' of films have no labels"),
        (("films", "films"), 2, "a page is made of one folder"),
        (("films", "--pairs", 0), 2, "should be greater than"),
        (("films", "--config", "edos"), 1, "has no config 'edos'; it has os"),
        (("films", "--books", "films"), 1, "is not cut out of books: leave out --books"),
        (("films", "--out", "no/where.html"), 1, "there is no folder"),
        (("books", "--config", "gutenberg_en", "--books", "films"), 1, "such as books/b.txt: give the folder"),
        (("empty",), 1, "has no dataset of this package"),
        (("none.json",), 1, "judgements that were downloaded from its page"),
        (("ann.json", "labels.json"), 1, "judges labels, not dialogues"),
        (("ann.json", "--by", "mood"), 1, "by is 'mood'"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(tmp_path, monkeypatch, arguments, code, message):
    films(tmp_path / "films")
    rows = [book_row("b.txt", [("Hm?", [4]), ("Oh.", [6])])]
    write_config(tmp_path / "books", "gutenberg_en", {"train": rows}, BOOK_ROWS)
    (tmp_path / "empty").mkdir()
    judgements(tmp_path, "ann", [[]])
    (tmp_path / "labels.json").write_text(json.dumps({"judgements": []}))
    monkeypatch.chdir(tmp_path)
    failed = call(*arguments)
    assert failed.exit_code == code and "Traceback" not in failed.output
    assert message in " ".join(failed.output.replace("│", "").split())
    assert not list(tmp_path.glob("*.html"))


def test_a_page_of_labels_and_their_figures(tmp_path, monkeypatch):
    labelled_films(tmp_path / "run", ["sad", "joyful"])
    monkeypatch.chdir(tmp_path)
    done = call("run", "--labels", "--config", "edos", "--per-label", 2)
    assert done.exit_code == 0 and "audit_edos_labels.html" in done.output
    page = (tmp_path / "audit_edos_labels.html").read_bytes()
    assert page.count(b"<article") == 8
    assert call("run", "--labels").exit_code == 1, "it is there already"
    assert call("run", "--labels", "--blind", "--out", "blind.html").exit_code == 0
    assert b'data-label-hidden="yes"' in (tmp_path / "blind.html").read_bytes()
    entry = {"method": "edos", "label": "sad", "rows": 8, "draw": "random", "source": "films/[x]", "digest": "d"}
    judgements = [
        entry | {"item": str(number), "verdict": verdict, "own": own}
        for number, (verdict, own) in enumerate([("right", None)] * 3 + [("wrong", "lonely")])
    ]
    (tmp_path / "ann.json").write_text(json.dumps({"config": "edos", "judgements": judgements}))
    shown = " ".join(call("ann.json").output.split())
    for told in ("75.0%", "lonely", "films/[x]", "reader ann", "1 reader"):
        assert told in shown
    rates = json.loads(call("ann.json", "--json").stdout)
    assert rates["overall"]["right"] == 0.75 and rates["confusion"]["sad"] == {"sad": 3, "lonely": 1}
