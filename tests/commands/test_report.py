"""`edos report` on all that it takes; the figures are those of `tests/analysis`, so here it is what is read."""

import json
import os
import shutil
from pathlib import Path

import pytest

from edos_dataset.commands import report as module
from edos_dataset.commands.report import report
from edos_dataset.releases.reported import Asked, asked_of, open_reported
from labelled_sets import write_meld
from reported_folder import dialogues, write_folder

ROWS = {"train": dialogues(60), "test": dialogues(20, seed=1)}


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "edos folder", ROWS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report with its pictures, which take three seconds to draw, and what it found; nobody writes in its folder."""
    place = tmp_path_factory.mktemp("made")
    return place, report(Asked(str(write_folder(place / "edos folder", ROWS))), out=place / "r.html")


def test_a_folder_gives_a_page_figures_and_pictures(made):
    tmp_path, found = made
    assert json.loads((tmp_path / "r.json").read_text()) == found
    assert found["data"][0]["name"] == "edos folder (edos)" and found["data"][0]["sizes"]["dialogues"] == 80
    assert "edos folder" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.html").stat().st_size < 1_000_000, "a library for pictures would be larger"
    names = {path.name for path in (tmp_path / "r_pictures").iterdir()}
    assert {
        f"{name}.{form}"
        for name in (
            "labels",
            "places",
            "flow",
            "transitions",
            "lengths",
            "confidence",
            "certainty",
            "boundaries",
            "years",
        )
        for form in ("png", "svg")
    } == names


def test_json_lines_are_the_folder_that_they_came_from(folder, tmp_path):
    from edos_dataset.labels import LABELS

    def named(turn):
        label = None if turn["label"] is None else LABELS[turn["label"]]
        top = [{**each, "label": LABELS[each["label"]]} for each in turn["top"]]
        return {**turn, "label": label, "top": top}

    lines = tmp_path / "mine.jsonl"
    rows = [
        {**row, "turns": list(map(named, row["turns"])), "split": split} for split, its in ROWS.items() for row in its
    ]
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    one, other = (report(Asked(str(each)), out=tmp_path / f"{place}.html", pictures=False)["data"][0]
                  for place, each in enumerate((folder, lines)))  # fmt: skip
    for name in one.keys() - {"name", "source", "config"}:
        assert one[name] == other[name], name


def test_a_data_set_against_itself_is_no_way_off(folder, tmp_path):
    found = report(Asked(str(folder)), [Asked(str(folder))], tmp_path / "r.html", pictures=False)
    assert [one["name"] for one in found["data"]] == ["edos folder (edos)", "edos folder (edos) [2]"]
    assert found["comparisons"][0]["all"]["kl"] == 0 and found["comparisons"][0]["all"]["js"] == 0
    assert found["copies"]["against"]["edos folder (edos) [2]"]["copies"] == 80


def test_dialogues_without_labels_have_sizes(folder, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"turns": ["Hi.", "Hello, you."]}\n{"turns": ["Bye."]}\n')
    found = report(Asked(str(tmp_path / "x.jsonl")), [Asked(str(folder))], tmp_path / "r.html")
    assert found["data"][0]["sizes"]["turns"] == 3 and found["data"][0]["kinds"]["without a label"] == 3
    assert found["comparisons"][0]["why_not"] == "one of the two has no labels"


def test_labels_of_others_are_compared_in_theirs(folder, tmp_path):
    said = [("You did what?", "anger"), ("Fine.", "joy"), ("Yes.", "neutral")]
    write_meld(tmp_path / "data" / "meld" / "train_sent_emo.csv", [said] * 5)
    found = report(Asked(str(folder)), [Asked("meld")], tmp_path / "r.html", data=tmp_path / "data", pictures=False)
    comparison = found["comparisons"][0]
    assert comparison["labels_of"] == "meld" and comparison["names"][0] == "anger"
    assert comparison["shares"][1][0] == pytest.approx(1 / 3, abs=1e-6) and comparison["left_out"][0] > 0
    turns = [turn["label"] for rows in ROWS.values() for row in rows for turn in row["turns"]]
    from edos_dataset.labels import LABEL_IDS, LABELS

    angry = {LABEL_IDS[name] for name in ("angry", "annoyed", "furious", "jealous")}
    intents = [label for label in turns if label is not None and 32 <= label < 40]
    labelled = [label for label in turns if label is not None]
    assert comparison["left_out"][0] == round(len(intents) / len(labelled), 4) and len(LABELS) == 41
    share = sum(label in angry for label in labelled) / (len(labelled) - len(intents))
    assert comparison["shares"][0][0] == pytest.approx(share, abs=1e-6)


def test_a_page_does_not_take_the_place_of_its_own_figures(folder, tmp_path):
    with pytest.raises(ValueError, match=r"r.json is where the figures go, as JSON: .* r.html"):
        report(Asked(str(folder)), out=tmp_path / "r.json")


def test_pictures_of_an_earlier_report_go_and_nothing_else(folder, tmp_path):
    out, pictures = tmp_path / "r.html", tmp_path / "r_pictures"
    pictures.mkdir()
    (pictures / "flow_7.png").write_bytes(b"of an earlier one")
    with pytest.raises(ValueError, match=r"r_pictures is there already: .* force=True"):
        report(Asked(str(folder)), out=out)
    (pictures / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="no folder of pictures alone"):
        report(Asked(str(folder)), out=out, force=True)
    (pictures / "mine.txt").unlink()
    report(Asked(str(folder)), out=out, force=True)
    assert "flow_7.png" not in {path.name for path in pictures.iterdir()} and (pictures / "flow.png").is_file()
    report(Asked(str(folder)), out=out, pictures=False, force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"edos folder", "r.html", "r.json"}


def test_what_cannot_be_written_leaves_the_earlier_report(made, tmp_path, monkeypatch):
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "edos folder"
    before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}

    def no_space(figures, folder):
        folder.mkdir()
        (folder / "labels.png").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "draw_pictures", no_space)
    with pytest.raises(OSError, match="No space left"):
        report(Asked(str(folder)), out=tmp_path / "r.html", force=True)
    after = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
    assert {path: time for path, time in after.items() if path != tmp_path} == {
        path: time for path, time in before.items() if path != tmp_path
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"dialogue_id": "a", "turns": [{"text": "x", "label": "joyfull"}]}', "unknown label 'joyfull'.*did you mean"),
        ('{"dialogue_id": "a", "turns": [{"text": "x", "label": 41}]}', "line 1, turn 1: label must be the name"),
        ('{"dialogue_id": "a", "turns": [{"label": "sad"}]}', "an object with one"),
        ('{"dialogue_id": "a", "turns": [{"text": "x", "label": "sad", "confidence": 7}]}', "from 0 to 1, got 7"),
        ('{"dialogue_id": "a", "year": "soon", "turns": ["x"]}', "a year such as 1994"),
        ('{"turns": [', r"line 1: .*, which is not JSON \(Expecting value\); correct or remove it"),
        ("[1]", "expected"),
        ('{"a": 1}', "expected"),
        ("", "contains no dialogues|plain text"),
    ],
)
def test_bad_lines_are_told_and_leave_nothing(line, message, tmp_path):
    (tmp_path / "x.jsonl").write_text(f"{line}\n")
    with pytest.raises(ValueError, match=message):
        report(Asked(str(tmp_path / "x.jsonl")), out=tmp_path / "r.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.jsonl"]


def test_what_is_not_there_is_told(tmp_path, folder):
    for asked, message in (
        (Asked("nowhere.jsonl"), "no such file or folder"),
        (Asked("meld"), "none of meld/train_sent_emo.csv"),
        (Asked(str(folder), "amt_seed"), "has no config 'amt_seed'"),
        (Asked(str(folder), None, "v1"), "--revision is for datasets on the Hub"),
        (Asked("meld", "all"), "meld has no configs: leave 'all' out"),
        (Asked(__file__, "edos"), "has no configs: leave 'edos' out"),
    ):
        with pytest.raises(ValueError, match=message):
            open_reported(asked, tmp_path / "scratch", tmp_path)


def test_a_report_that_is_there_stays_without_force(folder, tmp_path):
    (tmp_path / "r.html").write_text("mine")
    with pytest.raises(ValueError, match="force=True"):
        report(Asked(str(folder)), out=tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "mine" and not (tmp_path / "r.json").exists()


def test_a_data_set_of_the_hub_at_a_revision(folder, tmp_path, monkeypatch):
    """What `load_dataset` gives for it, here the folder itself, is what the folder is."""
    import datasets

    files = {split: str(folder / "edos" / f"{split}-00000-of-00001.parquet") for split in ROWS}
    given, load = [], datasets.load_dataset

    def of_the_hub(name, config, **more):
        given.append((name, config, more))
        return load("parquet", data_files=files, cache_dir=str(tmp_path / "cache"))

    monkeypatch.setattr(datasets, "load_dataset", of_the_hub)
    one, other = (report(asked, out=tmp_path / f"{place}.html", pictures=False)["data"][0]
                  for place, asked in enumerate((Asked(str(folder)), asked_of("me/edos@v1.0.0#edos"))))  # fmt: skip
    assert given == [("me/edos", "edos", {"revision": "v1.0.0", "trust_remote_code": False})]
    assert other["name"] == "edos@v1.0.0 (edos)" and other["revision"] == "v1.0.0"
    for name in one.keys() - {"name", "source", "revision"}:
        assert one[name] == other[name], name


def test_names_with_revisions_and_configs():
    assert asked_of("ns/edos@v1.0.0#os") == Asked("ns/edos", "os", "v1.0.0")
    assert asked_of("ns/edos", "edos", "main") == Asked("ns/edos", "edos", "main")


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs EDOS_DATA_DIR")
def test_empathetic_dialogues_against_table_9(tmp_path):
    found = report(Asked("empathetic_dialogues"), out=tmp_path / "r.html", pictures=False)
    first = found["data"][0]
    folder = Path(os.environ["EDOS_DATA_DIR"]) / "empathetic_dialogues" / "annotated"
    lines = sum(path.read_text(encoding="utf-8").count(",utterance,") for path in folder.glob("*.csv"))
    assert first["sizes"]["turns"] == sum(one["turns"] for one in first["label_turns"]) == lines
    assert max(first["label_turns"], key=lambda one: one["turns"])["label"] == "questioning"


def test_near_copies_are_found_within_between_and_against(tmp_path):
    said = [f"said{place}" for place in range(16)]

    def row(name, words, split):
        return json.dumps({"dialogue_id": name, "split": split, "turns": [" ".join(words[:8]), " ".join(words[8:])]})

    other = [f"word{place}" for place in range(16)]
    near, theirs = [*said[:15], "else"], [*other[:15], "other"]
    lines = [
        row("a", said, "train"),
        row("b", said[:-1], "train"),
        row("c", near, "test"),
        row("d", other, "test"),
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    (tmp_path / "theirs.jsonl").write_text(row("e", theirs, "all"))
    found = report(
        Asked(str(tmp_path / "mine.jsonl")),
        [Asked(str(tmp_path / "theirs.jsonl"))],
        tmp_path / "r.html",
        pictures=False,
    )["copies"]
    assert {split: (one["copies"], one["alike"]) for split, one in found["within"].items()} == {
        "train": (0, 1),
        "test": (0, 0),
    }
    assert {(one["of"], one["in"]): one["alike"] for one in found["between"]} == {
        ("train", "test"): 2,
        ("test", "train"): 1,
    }
    assert found["against"]["theirs.jsonl"]["alike"] == 1 and found["against"]["theirs.jsonl"]["copies"] == 0
    assert "word3 word4" in (tmp_path / "r.html").read_text()


def test_counts_are_those_of_the_manifest(tmp_path):
    import edos_dataset

    done = edos_dataset.curate(Path(edos_dataset.__file__).parent / "sample", tmp_path / "edos", labels=False)
    found = report(Asked(str(done.folder)), out=tmp_path / "r.html", pictures=False)
    counts = {name: found["data"][0]["sizes"][name] for name in ("dialogues", "turns", "tokens")}
    stated = done.manifest["configs"][found["data"][0]["config"]]
    assert counts == {name: stated[name] for name in counts} and counts["dialogues"] > 10
