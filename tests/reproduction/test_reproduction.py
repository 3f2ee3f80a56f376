"""The papers row by row: what rows say, what is measured, and the verdict that follows."""

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edos_dataset import reproduce
from edos_dataset.cli.app import app
from edos_dataset.reproduction import Data, load_rows
from edos_dataset.reproduction import reproduce as measure
from edos_dataset.reproduction.page import HEADINGS, cells, markdown, page
from edos_dataset.reproduction.results import Estimate, Measured, compare
from edos_dataset.reproduction.rows import EXPLAINED, MEASURED, Row

ANSWERS = (
    "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer\n"
    '1,a,11,"- Hello .\n- Why ?",Questioning,Questioning,Questioning,Anxious\n'
    "2,b,12,Go away !,Angry,Angry,Angry,Angry\n"
    "3,c,13,Good day .,-,Greeting (Other),Angry,Hopeful\n"
)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data" / "edos_amt"
    folder.mkdir(parents=True)
    (folder / "mturk_groundtruth_labels.csv").write_text(ANSWERS)
    return folder.parent


@pytest.fixture(autouse=True)
def no_data_of_ours(monkeypatch):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)


def row(name):
    return next(row for row in load_rows() if row.name == name)


def test_every_row_of_the_papers_is_there_once():
    names = [row.name for row in load_rows()]
    assert len(names) == len(set(names)) == 172
    assert all(row.held or row.cost != "none" for row in load_rows())


def test_nothing_differs_silently():
    """What is not as in the papers says why, and little is missing."""
    held = Counter(row.held for row in load_rows())
    assert held["missing"] <= 5 and "differs" not in held
    assert all(len(row.here or "") > 20 for row in load_rows() if row.held in EXPLAINED)
    with pytest.raises(ValueError, match="no word why"):
        Row("Z1", "p", "Tab 1", "nothing", held="argued")


def test_the_guide_counts_the_rows_as_they_are():
    said = (Path(__file__).parents[2] / "docs" / "guides" / "reproduce.md").read_text("utf-8")
    held = Counter(row.held for row in load_rows() if row.cost not in MEASURED)
    assert (
        f"{held['same']} of the 172 rows are the same, {held['better']} better and {held['worse']} worse, "
        f"{held['partly']} are done partly, {held['argued']} argued, and {held['missing']} missing; {held[None]} need"
    ) in said.replace("\n", " ")
    assert f"and {sum(row.cost in MEASURED for row in load_rows())} are measured" in said.replace("\n", " ")


def test_every_experiment_exists():
    from importlib import import_module

    for experiment in {row.measure for row in load_rows() if row.cost in MEASURED}:
        module, _, name = experiment.partition(":")
        assert callable(getattr(import_module(f"edos_dataset.reproduction.experiments.{module}"), name))


def test_the_crowd_is_measured_and_a_part_of_the_file_is_told_from_another_figure(data):
    sizes, kappa, classes = measure([row("E42"), row("E44"), row("E46")], Data(data))
    assert (sizes.verdict, sizes.reason) == ("incomplete", "3 of 10,245 are at hand")
    assert kappa.figures["Fleiss' kappa"].authors.number == 3 and kappa.verdict == "same"  # three say little
    assert classes.figures["with a typed label"].authors.value == 1


@pytest.mark.parametrize(
    ("paper", "measured", "within", "verdict"),
    [
        (0.46, Estimate(0.457, 0.45, 0.464), None, "same"),
        (0.46, Estimate(0.4435, 0.4355, 0.4507), None, "differs"),
        (0.46, Estimate(0.4435, 0.4355, 0.456), None, "same"),  # half of the last printed digit
        (121, Estimate(121.1), None, "same"),
        (8913, Estimate(8920), None, "differs"),
        (8913, Estimate(8920), 0.001, "same"),
        (True, Estimate(False), None, "differs"),
        (True, Estimate(True), None, "same"),
    ],
)
def test_a_figure_is_the_papers_in_its_interval_or_by_its_last_digit(paper, measured, within, verdict):
    assert compare(paper, Measured(measured), within) == verdict


def test_a_file_of_too_few_dialogues_is_an_answer(data):
    [split] = measure([row("E50")], Data(data))
    assert split.verdict == "cannot" and split.reason.startswith("the splits of 2 dialogues")


def test_the_authors_data_count_before_ours():
    assert compare(1, Measured(Estimate(1), Estimate(5)), None) == "same"


def test_a_missing_input_is_an_answer(tmp_path):
    kappa, sizes, corpus = measure([row("E44"), row("E26"), row("E4")], Data(tmp_path))
    assert kappa.verdict == sizes.verdict == corpus.verdict == "cannot"
    assert "edos download edos_amt" in kappa.reason and "edos curate" in sizes.reason
    assert corpus.reason == "needs the whole corpus" and corpus.row.command.startswith("edos curate")


def test_what_a_long_command_wrote_is_collected(tmp_path):
    long = Row(
        "Z1", "p", "Tab 1", "accuracy", "gpu", figures={"accuracy": 0.5}, results={"z.json": {"accuracy": "a.0"}}
    )
    [before] = measure([long], Data(results=tmp_path))
    (tmp_path / "z.json").write_text(json.dumps({"a": {"0": 0.5}}))
    [after] = measure([long], Data(results=tmp_path))
    assert (before.verdict, after.verdict) == ("cannot", "same")
    (tmp_path / "z.json").write_text(json.dumps({"a": [0.7]}))
    [other] = measure([long], Data(results=tmp_path))
    [known] = measure([replace(long, held="better")], Data(results=tmp_path))
    assert (other.verdict, known.verdict) == ("differs", "better")
    assert known.figures["accuracy"].ours == Estimate(0.7)


def test_the_records_of_the_checkout_are_collected():
    """Every place that a row names in a record of `evaluation/` is there."""
    folder = Path(__file__).parents[2] / "evaluation"
    for row in load_rows():
        if there := {file: names for file, names in row.results.items() if (folder / file).is_file()}:
            [result] = measure([row], Data(results=folder))
            assert set(result.figures) == {name for names in there.values() for name in names} <= set(row.figures)
            assert result.verdict != "cannot"


def test_figures_that_are_only_quoted_are_shown():
    [quoted] = measure([row("G3")], Data())
    assert quoted.verdict == "argued"
    assert ("Persona-Chat", "150,000", "") in {line[3:6] for line in cells(quoted)}


def test_books_are_related_to_their_words_and_counted_in_the_catalogue(tmp_path):
    folder = tmp_path / "gutenberg"
    (folder / "en").mkdir(parents=True)
    told = "Nobody said anything, and the ships went by. " * 5
    for name, times in (("a.txt", 30), ("b.txt", 90)):
        said = [f"“It is {n} now,” she said to him." if n % 4 else told for n in range(times)]
        (folder / "en" / name).write_text("\n\n".join(said))
    lines = ["1,Text,A,en,X", "2,Text,B,en,X", "3,Text,C,de,X", "4,Sound,D,fr,X"]
    (folder / "pg_catalog.csv").write_text("\n".join(["Text#,Type,Title,Language,Authors", *lines]) + "\n")
    books, listed, left_out = measure([row("G45"), row("G46"), row("G6")], Data(tmp_path))
    assert (left_out.verdict, left_out.reason) == ("incomplete", "2 of 47,300 are at hand")
    assert books.figures["correlation of a book's utterances with its words"].ours == Estimate(1.0, number=2)
    shown = {name: figure.ours.value for name, figure in listed.figures.items()}
    assert shown == {
        "languages": 2, "books": 3, "books in English, %": 66.67, "languages with 100 books and more": 0
    }  # fmt: skip


def test_the_weights_of_the_papers_models_are_counted_with_their_moments():
    [counted] = measure([row("E87")], Data())
    assert counted.verdict == "same" and counted.figures["plain, million"].ours.number == 40_358_865


class Cells(HTMLParser):
    rows = 0

    def handle_starttag(self, tag, attrs):
        assert not any(name in ("src", "href", "onclick") for name, _ in attrs)
        self.rows += tag == "tr"


def test_page_and_markdown_have_every_row_and_escape(tmp_path):
    results = list(measure([row for row in load_rows() if row.cost not in MEASURED], Data(results=tmp_path)))
    text = page(results, "2026-11-27", "1.0")
    found = Cells()
    found.feed(text)
    assert (
        found.rows == sum(len(list(cells(result))) for result in results) + 1 + 3
        and "@@" not in text
        and "&lt;bos&gt;" in text
    )
    lines = markdown(results).splitlines()
    assert all(line.replace("\\|", "").count("|") == len(HEADINGS) + 1 for line in lines if line.startswith("|"))


def test_the_command_writes_three_files_and_the_verb_the_same(data, tmp_path):
    out = tmp_path / "new" / "papers.html"
    done = CliRunner().invoke(app, ["reproduce", "E42", "E3", "--data", str(data), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed["verdicts"] == {"same": 1, "incomplete": 1}
    assert json.loads(out.with_suffix(".json").read_text())["rows"] == printed["rows"]
    file = "edos_amt/mturk_groundtruth_labels.csv"
    assert printed["inputs"] == {file: sha256((data / file).read_bytes()).hexdigest()}
    assert "E42" in out.with_suffix(".md").read_text() and "<table>" in out.read_text()
    assert dict(reproduce(["E42", "E3"], data=data))["rows"] == printed["rows"]


def test_rows_are_listed_without_measuring():
    done = CliRunner().invoke(app, ["reproduce", "--list", "--class", "seconds", "--json"])
    listed = {row["row"]: row["cost"] for row in json.loads(done.stdout)}
    assert listed["E44"] == "seconds" and "G9" not in listed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["E444"], "no row 'E444'"),
        (["E3", "--class", "hours"], "give one of seconds, minutes"),
        (["E3", "--out", "papers.pdf"], "give a page"),
    ],
)
def test_what_is_wrong_is_said(words, message):
    done = CliRunner().invoke(app, ["reproduce", *words])
    assert done.exit_code != 0 and message in " ".join(done.output.replace("│", "").split())
