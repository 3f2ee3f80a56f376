"""The flat view: a labelled turn a row, of every config with labels, on disk and streaming."""

import datasets
import pytest
from test_dialogue_formats import TURNS, seed

import edos_dataset
from edos_dataset.labels import LABELS
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.schema import AMT_SEED, EXTENDED, LABELS_ONLY
from published_folder import TEXTS, run


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat")
    edos = run(folder / "edos", configs=("edos", "edos_initial", "os"))
    write_labels_only(edos, folder / "labels", "edos", {}, "", {})
    seed(folder / "seed")
    seed(folder / "extended", EXTENDED)
    return {
        "edos": edos,
        "edos_initial": edos,
        LABELS_ONLY: folder / "labels",
        AMT_SEED: folder / "seed",
        EXTENDED: folder / "extended",
    }


@pytest.fixture
def load(folders, tmp_path):
    return lambda config, name=None, **more: edos_dataset.load(
        str(folders[config]), name or config, cache_dir=str(tmp_path / "cache"), **more
    )


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("config", ["edos", "edos_initial", LABELS_ONLY, AMT_SEED, EXTENDED])
def test_every_labelled_config(config, streaming, load):
    given = load(config, split="train")
    rows = edos_dataset.flat(load(config, split="train", streaming=streaming))
    assert isinstance(rows, datasets.IterableDataset if streaming else datasets.Dataset)
    assert rows.features["label"] == datasets.ClassLabel(names=list(LABELS))
    whose = "_sha256" if config == LABELS_ONLY else ""
    wanted = ["dialogue_id", "turn", f"context{whose}", f"response{whose}", "label"]
    assert list(rows.features) == [*wanted, *(["confidence"] if config != AMT_SEED else [])]
    expected = []
    for dialogue in given:
        turns, on_turns = dialogue["turns"], "label" not in dialogue
        texts = [turn[f"text{whose}"] for turn in turns]
        for place, turn in enumerate(turns):
            if on_turns or place == len(turns) - 1:
                label = (turn if on_turns else dialogue)["label"]
                expected.append((dialogue["dialogue_id"], place, texts[:place], texts[place], label))
    found = [tuple(row[name] for name in wanted) for row in rows]
    assert found == expected and found
    # as a config of its own, and as a view
    for again in (
        load(config, f"{config}_flat", split="train", streaming=streaming),
        load(config, split="train", streaming=streaming, view="flat"),
    ):
        assert list(again) == list(rows) and again.features == rows.features


def test_texts_and_splits(load):
    parts = edos_dataset.flat(load("edos"))
    assert isinstance(parts, datasets.DatasetDict) and set(parts) == {"train", "validation", "test"}
    assert parts["test"][1]["context"] == [TEXTS[0]] and parts["test"][1]["response"] == TEXTS[1]
    (row,) = edos_dataset.flat(load(AMT_SEED, split="train"))
    assert row["context"] == TURNS["a1"][:-1] and row["response"] == TURNS["a1"][-1]
    assert isinstance(edos_dataset.flat(load("edos", streaming=True)), datasets.IterableDatasetDict)


def test_what_edos_label_gives_is_flattened_too():
    labelled = edos_dataset.label(datasets.Dataset.from_dict({"turns": [["Oh no!", "Why?"], []]}), "fast")
    rows = edos_dataset.flat(labelled)
    assert [(row["turn"], row["context"], row["response"]) for row in rows] == [
        (0, [], "Oh no!"),
        (1, ["Oh no!"], "Why?"),
    ]
    assert rows.features["label"].names == list(LABELS)


def test_what_has_no_labels_is_refused(load):
    with pytest.raises(ValueError, match="a flat view needs dialogue_id, turns with texts, and labels"):
        load("edos", "os", view="flat")
    with pytest.raises(ValueError, match="a flat view needs"):
        load("edos", "os_flat")
    with pytest.raises(ValueError, match="unknown view 'wide'"):
        load("edos", view="wide")
    with pytest.raises(ValueError, match="has no config 'nothing'"):
        load("edos", "nothing_flat")
