"""The flat view: a labelled turn a row, of every config with labels, on disk and streaming."""

import datasets
import pytest
from test_dialogue_formats import TURNS, seed

import edos_dataset
from edos_dataset.labels import LABELS
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.releases.views import messages, pairs
from edos_dataset.schema import AMT_SEED, EXTENDED, LABELS_ONLY, list_of
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


TURNS_OF_FOUR = [
    {"text": text, "label": place, "confidence": 0.5, "certainty": certainty}
    for place, (text, certainty) in enumerate([("A.", None), ("B.", 0.9), ("C.", 0.5), ("D.", 0.8)])
]


def of_four(first=None, **columns):
    """One dialogue whose third turn follows an uncertain boundary, and the certainty of whose first turn is given."""
    turn = {name: datasets.Value(kind) for name, kind in (("text", "string"), ("confidence", "float32"))}
    turn |= {"label": datasets.ClassLabel(names=list(LABELS)), **columns}
    told = [{**TURNS_OF_FOUR[0], "certainty": first}, *TURNS_OF_FOUR[1:]]
    turns = [{name: turn_[name] for name in turn} for turn_ in told]
    features = datasets.Features({"dialogue_id": datasets.Value("string"), "turns": list_of(turn)})
    return datasets.Dataset.from_dict({"dialogue_id": ["d"], "turns": [turns]}, features=features)


def test_contexts_hold_no_boundary_that_is_less_certain():
    given = of_four(certainty=datasets.Value("float32"))
    whole, cut = (list(edos_dataset.flat(given, min_certainty=least)["context"]) for least in (0.5, 0.75))
    assert whole == [[], ["A."], ["A.", "B."], ["A.", "B.", "C."]]
    assert cut == [[], ["A."], [], ["C."]]
    assert list(pairs(given, min_certainty=0.75)["turn"]) == [1, 3]
    chats = messages(given, min_certainty=0.75)
    assert list(chats["dialogue_id"]) == ["d", "d+2"]
    assert [[said["content"] for said in chat] for chat in chats["messages"]] == [["A.", "B."], ["C.", "D."]]


@pytest.mark.parametrize(("first", "second"), [(0.6, []), (0.9, ["A."]), (None, ["A."])])
def test_a_first_turn_that_may_be_no_speech_is_no_context(first, second):
    """In books it has a certainty, too."""
    given = of_four(first, certainty=datasets.Value("float32"))
    assert list(edos_dataset.flat(given, min_certainty=0.75)["context"]) == [[], second, [], ["C."]]


def test_certainty_is_asked_for_where_there_is_none():
    with pytest.raises(ValueError, match="min_certainty needs turns with a certainty"):
        edos_dataset.flat(of_four(), min_certainty=0.5)
    with pytest.raises(ValueError, match="min_certainty is 2"):
        edos_dataset.flat(of_four(), min_certainty=2)
    with pytest.raises(ValueError, match="no view is asked for"):
        edos_dataset.load("edos", min_certainty=0.5)
