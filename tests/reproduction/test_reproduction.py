"""The papers row by row: what rows say, what is measured, and the verdict that follows."""

import json
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from edos_dataset import reproduce
from edos_dataset.cli.app import app
from edos_dataset.reproduction import Data, load_rows
from edos_dataset.reproduction import reproduce as measure
from edos_dataset.reproduction.page import HEADINGS, markdown, page
from edos_dataset.reproduction.results import Estimate, Measured, compare
from edos_dataset.reproduction.rows import MEASURED, Row

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
    cells = Cells()
    cells.feed(text)
    assert cells.rows == len(results) + 1 + 3 and "@@" not in text and "&lt;bos&gt;" in text
    lines = markdown(results).splitlines()
    assert all(line.replace("\\|", "").count("|") == len(HEADINGS) + 1 for line in lines if line.startswith("|"))


def test_the_command_writes_three_files_and_the_verb_the_same(data, tmp_path):
    out = tmp_path / "new" / "papers.html"
    done = CliRunner().invoke(app, ["reproduce", "E42", "E3", "--data", str(data), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed["verdicts"] == {"same": 1, "incomplete": 1}
    assert json.loads(out.with_suffix(".json").read_text())["rows"] == printed["rows"]
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
