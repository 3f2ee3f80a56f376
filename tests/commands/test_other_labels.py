"""Other label sets than ours through `label`, `curate`, `load` and `inspect`."""

import json

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import edos_dataset
from command_line import edos
from edos_dataset.label_sets import load_label_set
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler, register_labeler
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns
from edos_dataset.runs.pipeline import Stage
from small_models import save_plain_classifier

DIALOGUES = [["I lost my job.", "Oh no, what happened?"], ["We won!"]]
EKMAN = ["anger", "disgust", "fear", "joy", "sadness", "surprise", "neutral"]
WORDS = {"lost": "sadness", "won": "joy", "Oh": "surprise"}


class Moods(Labeler):
    """A turn can have several of its labels."""

    label_set = ["flat", "calm", "tense"]  # noqa: RUF012
    threshold = 0.4

    def predict_proba(self, dialogues):
        return np.array(
            [[0.1, 0.5, 0.9] if "lost" in turn else [0.3, 0.2, 0.1] for turns in dialogues for turn in turns]
        )


def goemotions(dialogues):
    return [next((label for word, label in WORDS.items() if word in turn), "neutral") for d in dialogues for turn in d]


def names(rows):
    return [turn["label"] for row in rows for turn in row["turns"]]


def test_the_labels_of_a_shipped_model_translated():
    found = edos_dataset.label(DIALOGUES, "fast", label_map="ekman7", top=41)
    assert names(found) == ["sadness", "neutral", "joy"]
    for row in found:
        for turn in row["turns"]:
            assert sorted(entry["label"] for entry in turn["top"]) == sorted(EKMAN)
            assert sum(entry["probability"] for entry in turn["top"]) == pytest.approx(1, abs=1e-4)
    assert edos_dataset.label(DIALOGUES, "fast", label_set="ekman7", top=41) == found


def test_a_function_whose_labels_are_named():
    with pytest.raises(ValueError, match="unknown label 'sadness'.*label_set` of the labeler, or label_set=NAME"):
        edos_dataset.label([["I lost."]], goemotions)
    assert names(edos_dataset.label(DIALOGUES, goemotions, label_set="goemotions28")) == ["sadness", "surprise", "joy"]
    both = edos_dataset.label(DIALOGUES, goemotions, label_set="goemotions28", label_map="sentiment3")
    assert names(both) == ["negative", "neutral", "positive"]
    few = edos_dataset.label(DIALOGUES, goemotions, label_set=["joy", "sadness", "surprise"])
    assert names(few) == ["sadness", "surprise", "joy"]
    with pytest.raises(ValueError, match="a set has 2 to 1,000 labels, this one 1$"):
        edos_dataset.label(DIALOGUES, goemotions, label_set=("joy",))
    with pytest.raises(ValueError, match="^7 is neither a label set nor a map: give a name, a file, a list"):
        edos_dataset.label(DIALOGUES, goemotions, label_set=7)
    own = {"sadness": "low", "joy": "high", "surprise": "high", "others": "low"}
    with pytest.raises(ValueError, match="'others' is no label of 'goemotions28'"):
        edos_dataset.label(DIALOGUES, goemotions, label_set="goemotions28", label_map=own)
    own = {"to": {"labels": ["low", "high"]}, "labels": {"joy": "high"}, "others": "low"}
    assert names(edos_dataset.label(DIALOGUES, goemotions, label_set="goemotions28", label_map=own)) == [
        *["low", "low", "high"]
    ]


def by_name(dialogues):
    return [{"high": 0.9, "low": 0.1} if "won" in turn else {"low": 1, "high": 0} for d in dialogues for turn in d]


def as_listed(dialogues):
    """What a pipeline returns for texts."""
    return [[{"label": name, "score": share} for name, share in turn.items()] for turn in by_name(dialogues)]


def without_zeros(dialogues):
    return [{"high": 1} if "won" in turn else {"low": 1} for turns in dialogues for turn in turns]


def edos_names(dialogues):
    return [{"sad": 0.6, "joyful": 0.4} for turns in dialogues for _ in turns]


@pytest.mark.parametrize("function", [by_name, as_listed])
def test_a_function_that_names_its_labels_makes_a_set_of_them(function, tmp_path):
    assert names(edos_dataset.label(DIALOGUES, function)) == ["low", "low", "high"]
    done = edos_dataset.label(DIALOGUES, function, out=tmp_path / "out.jsonl", workers=1)
    assert sorted(load_labeler(register_labeler(function)).label_set.labels) == ["high", "low"] and done["turns"] == 3
    both = edos_dataset.label(DIALOGUES, function, label_map={"high": "joy", "low": "sadness"})
    assert names(both) == ["sadness", "sadness", "joy"]
    assert names(edos_dataset.label(DIALOGUES, function, label_set=["high", "low", "flat"])) == ["low", "low", "high"]


def test_the_names_of_a_function_are_those_of_its_set():
    assert {turn["confidence"] for row in edos_dataset.label(DIALOGUES, edos_names) for turn in row["turns"]} == {0.6}
    assert load_labeler(register_labeler(edos_names)).label_set.name == "edos41"
    assert names(edos_dataset.label(DIALOGUES, without_zeros, label_set=["low", "high"])) == ["low", "low", "high"]
    assert names(edos_dataset.label(DIALOGUES, without_zeros)) == ["low", "low", "high"]


class Counted:
    """Names a mood for every turn; counts the turns that it was asked for."""

    def __init__(self, moods):
        self.moods, self.turns = moods, 0

    def __call__(self, dialogues):
        self.turns += sum(map(len, dialogues))
        return [next((mood for word, mood in self.moods.items() if word in t), "flat") for d in dialogues for t in d]


def given_as(kind):
    rows = [{"dialogue_id": str(n), "text": turn} for n, turns in enumerate(DIALOGUES) for turn in turns]
    dataset = datasets.Dataset.from_list([{"turns": turns} for turns in DIALOGUES])
    made = {
        "list": lambda: DIALOGUES,
        "frame": lambda: pd.DataFrame(rows),
        "data set": lambda: dataset,
        "splits": lambda: datasets.DatasetDict(train=dataset.select([0]), test=dataset.select([1])),
    }
    return made[kind]()


@pytest.mark.parametrize("kind", ["list", "frame", "data set", "splits"])
def test_the_names_that_a_function_gives_make_a_set_where_all_dialogues_are_known(kind):
    function = Counted({"lost": "low", "won": "high"})
    found = edos_dataset.label(given_as(kind), function)
    parts = list(found.values()) if kind == "splits" else [found]
    labels = [name for part in parts for name in (part["label"] if kind == "frame" else names(part))]
    if "s" in kind and kind != "list":  # class labels of one set, also where a split has only some of them
        features = [part.features["turns"].feature["label"] for part in parts]
        assert {tuple(feature.names) for feature in features} == {("flat", "high", "low")}
        labels = features[0].int2str(labels)
    assert labels == ["low", "flat", "high"]
    assert function.turns == 2 + 3, "two turns to try it, and each turn once"


def test_a_misspelt_label_of_ours_makes_no_set():
    with pytest.raises(ValueError, match="unknown label 'joyfull'.*did you mean 'joyful'"):
        edos_dataset.label(DIALOGUES, Counted({"lost": "sad", "Oh": "surprised", "won": "joyfull"}))
    goes_on = Counted({"lost": "negative", "Oh": "neutral", "won": "positive"})
    edos_dataset.label(DIALOGUES, goes_on, label_map="sentiment3")  # of a built-in set, whatever their order


def test_names_alone_are_refused_in_a_run_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="unknown label 'flat'.*a list of them as an attribute `label_set`"):
        edos_dataset.label(DIALOGUES, Counted({}), out=tmp_path / "out.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_turn_with_several_labels():
    (first, second) = (row["turns"][0] for row in edos_dataset.label(DIALOGUES, Moods(), top=1))
    assert (first["label"], first["confidence"], len(first["top"])) == ("tense", pytest.approx(0.9), 1)
    assert [entry["label"] for entry in first["labels"]] == ["tense", "calm"] and second["labels"] == []
    rows = edos_dataset.label(datasets.Dataset.from_list([{"turns": turns} for turns in DIALOGUES]), Moods())
    feature = rows.features["turns"].feature
    assert feature["label"].names == feature["labels"].feature["label"].names == ["flat", "calm", "tense"]
    again = edos_dataset.label(edos_dataset.label(DIALOGUES, Moods()), "fast")
    assert "labels" not in again[0]["turns"][0]


def test_another_set_is_another_fingerprint_and_a_wrong_one_stops_before_reading(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(json.dumps({"dialogue_id": str(n), "turns": d}) for n, d in enumerate(DIALOGUES)))
    done = edos_dataset.label(source, "fast", out=out, label_set="meld7", workers=1)
    assert done["label_set"] == "meld7"
    with pytest.raises(ValueError, match="no label set is named 'meld8'; did you mean 'meld7'"):
        edos_dataset.label(source, "fast", out=out, label_set="meld8", workers=1)
    stages = [AnnotateDialogues("fast"), *(AnnotateDialogues("fast", label_map=name) for name in ("meld7", "ekman7"))]
    assert len({stage.fingerprint() for stage in stages}) == 3


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    edos_dataset.sample(folder / "films")
    done = edos_dataset.curate(
        folder / "films" / "srt", folder / "edos", weak_model="fast", model="fast", label_map="ekman7"
    )
    return folder, done


def test_a_run_has_the_set_in_all_that_it_writes(films):
    folder, done = films
    assert done["configs"]["edos"]["label_set"]["name"] == "ekman7" and "label_set" not in done["configs"]["os"]
    card = (folder / "edos" / "README.md").read_text(encoding="utf-8")
    assert "one of the 7 labels of `ekman7`" in card and "| joy | The speaker is happy or pleased. |" in card
    for rows in (done.load(split="train"), edos_dataset.load(str(folder / "edos"), "edos_initial", split="train")):
        assert rows.features["turns"].feature["label"].names == EKMAN
    pairs = edos_dataset.load(str(folder / "edos"), "edos_flat", split="train")
    assert pairs.features["label"].names == EKMAN


def test_its_recipe_makes_it_again(films, tmp_path):
    folder, done = films
    again = edos_dataset.curate(folder / "films" / "srt", tmp_path / "again", recipe=folder / "edos" / "recipe.yaml")
    assert again["fingerprint"] == done["fingerprint"]


def test_another_set_needs_force(films):
    folder, _ = films
    with pytest.raises(ValueError, match="label_map"):
        edos_dataset.curate(folder / "films" / "srt", folder / "edos", weak_model="fast", model="fast")


def test_inspect_shows_its_names(films):
    folder, _ = films
    shown = edos("inspect", folder / "edos", "--label", "joy", "--dialogues", "1")
    assert " joy " in shown.stdout
    found = edos_dataset.inspect(folder / "edos", 1, label="joy")
    assert found["label_set"]["name"] == "ekman7"
    with pytest.raises(ValueError, match="unknown label 'joyful'.* did you mean 'joy'"):
        edos_dataset.inspect(folder / "edos", 1, label="joyful")


def test_a_folder_is_relabelled_with_another_set(films, tmp_path):
    folder, _ = films
    edos_dataset.label(folder / "edos", "fast", out=tmp_path / "out", label_set="sentiment3", workers=1)
    rows = edos_dataset.load(str(tmp_path / "out"), split="train")
    assert rows.features["turns"].feature["label"].names == ["negative", "neutral", "positive"]


def test_without_labels_there_is_no_set():
    with pytest.raises(ValueError, match="label_map is for labels|--map is for labels"):
        edos_dataset.curate("nowhere", "out", labels=False, label_map="ekman7")


def test_labels_without_text_and_hydrated_ones_keep_the_set(films, tmp_path):
    folder, _ = films
    edos_dataset.labels_only(folder / "edos", tmp_path / "labels")
    rows = edos_dataset.load(str(tmp_path / "labels"), split="train")
    assert rows.features["turns"].feature["label"].names == EKMAN
    edos_dataset.hydrate(tmp_path / "labels", folder / "films" / "srt", tmp_path / "again")
    for path in (folder / "edos" / "edos").glob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "again" / "edos" / path.name).read_bytes()


def test_a_report_is_on_the_labels_of_the_folder_and_of_a_file_on_those_that_are_named(films, tmp_path):
    folder, _ = films
    given = {"pictures": False, "workers": 1}
    found = edos_dataset.report(str(folder / "edos"), out=tmp_path / "a.html", **given)
    assert found["data"][0]["labels"]["names"] == EKMAN and found["data"][0]["labels"]["kinds"][-1] == "neutral"
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"dialogue_id": "a", "turns": [{"text": "Hi.", "label": "joy"}]}) + "\n")
    with pytest.raises(ValueError, match="line 1, turn 1: unknown label 'joy'.* give label_set=NAME"):
        edos_dataset.report(str(lines), out=tmp_path / "b.html", **given)
    found = edos_dataset.report(str(lines), out=tmp_path / "b.html", label_set="ekman7", **given)
    assert found["data"][0]["labels"]["of"] == "ekman7"
    lines.write_text(lines.read_text().replace("joy", "positive"))  # of one built-in set only
    found = edos_dataset.report(str(lines), out=tmp_path / "c.html", **given)
    assert found["data"][0]["labels"]["of"] == "sentiment3"


def test_label_accuracy_in_another_set(tmp_path):
    (tmp_path / "said").write_text("I am so sad.\nHooray!\n")
    (tmp_path / "labels").write_text("negative\npositive\n")
    given = {"labels": tmp_path / "labels", "model": "fast"}
    found = edos_dataset.evaluate(tmp_path / "said", label_set="sentiment3", **given)
    assert found["metrics"]["label-accuracy"]["mean"] == 1
    with pytest.raises(ValueError, match="line 1: 'negative' is no label.*label_set=NAME"):
        edos_dataset.evaluate(tmp_path / "said", **given)


def test_the_command_line_lists_shows_and_translates_sets(tmp_path):
    listed = json.loads(edos("labels", "list", "--json").stdout)["label_sets"]
    assert [row["name"] for row in listed if row["default"]] == ["edos41"] and len(listed) == 8
    own = tmp_path / "own.yaml"
    own.write_text(edos("labels", "show", "dailydialog", "--yaml").stdout)
    assert json.loads(edos("labels", "show", own, "--json").stdout)["labels"][0]["label"] == "no emotion"
    table = json.loads(edos("labels", "map", "edos41", own, "--json").stdout)["labels"]
    assert table["joyful"] == {"happiness": 1.0} and table["questioning"] == {"no emotion": 1.0}
    own.write_text(own.read_text().replace("neutral: no emotion", "neutral: none"))
    failed = edos("labels", "show", own)
    assert failed.exit_code == 1 and "line 32: neutral: 'none' is no label" in failed.stderr


class Rebuilt(Stage):
    """Builds its tables anew, without their metadata."""

    name, unit = "rebuilt", "dialogues"

    def __call__(self, table):
        return pa.table({name: table[name] for name in table.column_names})


def test_a_stage_that_builds_its_table_anew_does_not_lose_the_set():
    rows = datasets.Dataset.from_list([{"turns": turns} for turns in DIALOGUES])
    stages = [LabelTurns("fast", label_map="ekman7"), Rebuilt()]
    found = edos_dataset.map_pipeline(rows, stages)["train"]
    assert found.features["turns"].feature["label"].names == EKMAN
    found = edos_dataset.map_pipeline(rows, [*stages, AnnotateDialogues("fast")])["train"]
    assert len(found.features["turns"].feature["label"].names) == 41


GOEMOTIONS = load_label_set("goemotions28").labels


def test_a_classifier_of_transformers_brings_its_labels(tmp_path):
    save_plain_classifier(tmp_path / "goemotions", names=list(reversed(GOEMOTIONS)))
    [dialogue] = edos_dataset.label([["What a day!", "Yes."]], str(tmp_path / "goemotions"), top=28)
    assert all(sorted(each["label"] for each in turn["top"]) == sorted(GOEMOTIONS) for turn in dialogue["turns"])
    [mapped] = edos_dataset.label([["What a day!"]], str(tmp_path / "goemotions"), label_map="sentiment3")
    assert {each["label"] for each in mapped["turns"][0]["top"]} <= {"negative", "neutral", "positive"}


def test_a_multi_label_classifier_gives_several(tmp_path):
    save_plain_classifier(tmp_path / "moods", names=["calm", "tense", "gay"])
    config = json.loads((tmp_path / "moods" / "config.json").read_text())
    config["problem_type"] = "multi_label_classification"
    (tmp_path / "moods" / "config.json").write_text(json.dumps(config))
    [dialogue] = edos_dataset.label([["What a day!"]], str(tmp_path / "moods"))
    [turn] = dialogue["turns"]
    assert [each["label"] for each in turn["labels"]] == [
        each["label"] for each in turn["top"] if each["probability"] >= 0.5
    ]
    assert sum(each["probability"] for each in turn["top"]) != pytest.approx(1)


def test_labels_without_names_are_refused_with_the_remedy(tmp_path):
    save_plain_classifier(tmp_path / "unnamed", names=["LABEL_0", "LABEL_1"])
    with pytest.raises(ValueError, match="give two labels or more their names"):
        edos_dataset.label([["What a day!"]], str(tmp_path / "unnamed"))
