"""A pipeline over a `datasets.Dataset`: what it takes and returns, and that nothing is made twice."""

from pathlib import Path

import datasets
import pytest

import edos_dataset
from edos_dataset import stages
from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates, KeyTurns
from edos_dataset.commands.map_pipeline import map_pipeline
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns
from edos_dataset.publishing.splits import split_of
from edos_dataset.recipes import Pipeline
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.pipeline import Output
from edos_dataset.schema import features

SAID = [["I lost my job.", f"Oh no, what happened, number {number}?", "They closed."] for number in range(30)]
CLEAN = [KeyTurns(), CapUtterances(20), DropDuplicates()]
LABEL = [LabelTurns("fast"), SelectDialogues(15), AnnotateDialogues("fast")]


def dialogues(splits):
    return [row for split in splits.values() for row in split]


def texts(row):
    return [turn["text"] for turn in row["turns"]]


@pytest.mark.parametrize(("engine", "num_proc"), [("datasets", 1), ("local", 1)])
def test_turns_as_texts_become_labelled_dialogues(tmp_path, engine, num_proc):
    given = datasets.Dataset.from_dict({"turns": [*SAID, SAID[0]], "weather": ["fine"] * 31})
    made = edos_dataset.map_pipeline(given, [*CLEAN, *LABEL], num_proc, engine=engine, cache_dir=tmp_path)
    assert isinstance(made, datasets.DatasetDict)
    assert all(split.features == features("edos") for split in made.values())
    rows = dialogues(made)
    assert len(rows) == 15
    assert {row["document_id"] for row in rows} <= {f"dialogue-{number}" for number in range(31)}
    # A turn that comes too often ends its dialogue.
    assert all(any(said[: len(row["turns"])] == texts(row) for said in SAID) for row in rows)
    for name, split in made.items():
        assert {split_of(row["document_id"]) for row in split} == {name}


def test_a_dictionary_keeps_its_splits_and_columns_their_values(tmp_path):
    turns = [{"text": text, "start": 1.0, "end": 2.5} for text in SAID[0]]
    rows = {"dialogue_id": ["x#1"], "document_id": ["x"], "language": ["en"], "turns": [turns]}
    given = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows), "odd": datasets.Dataset.from_dict(rows)})
    made = map_pipeline(given, [AnnotateDialogues("fast")], cache_dir=tmp_path)
    assert set(made) == {"test", split_of("x")}
    [row] = made["test"]
    assert (row["dialogue_id"], row["language"], row["source"]) == ("x#1", "en", None)
    assert [(turn["text"], turn["start"], turn["end"]) for turn in row["turns"]] == [
        (text, 1.0, 2.5) for text in SAID[0]
    ]


def test_without_labels_or_as_the_output_says(tmp_path):
    given = datasets.Dataset.from_dict({"turns": SAID})
    assert next(iter(map_pipeline(given, CLEAN, cache_dir=tmp_path).values())).features == features("os")
    labelled = [LabelTurns("fast"), Output("edos_initial")]
    assert sum(map(len, map_pipeline(given, labelled, cache_dir=tmp_path).values())) == 30


def test_again_nothing_is_made_and_other_rows_or_stages_are(tmp_path):
    calls = []

    def made_now(given, pipeline):
        calls.clear()
        made = map_pipeline(given, pipeline, cache_dir=tmp_path, progress=lambda *call: calls.append(call))
        return made, max(units for _, _, _, units, _ in calls)

    given = datasets.Dataset.from_dict({"turns": SAID})
    first, units = made_now(given, LABEL)
    again, none = made_now(given, LABEL)
    assert (units, none) == (90, 0)
    assert {name: split[:] for name, split in first.items()} == {name: split[:] for name, split in again.items()}
    assert made_now(given.select(range(10)), LABEL)[1] == 30
    assert made_now(given, [LabelTurns("fast", top=2)])[1] == 90


def test_two_calls_do_not_write_one_folder(tmp_path):
    from edos_dataset.runs.folder import OutputFolder

    given = datasets.Dataset.from_dict({"turns": SAID})
    map_pipeline(given, LABEL, cache_dir=tmp_path)
    [place] = (tmp_path / "edos_runs").iterdir()
    with OutputFolder(Path(place), "map_pipeline"), pytest.raises(FolderError, match="is running in"):
        map_pipeline(given, LABEL, cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"utterances": [["a"]]}, "no column 'turns', but utterances"),
        ({"turns": [["a", None]]}, "a turn of the data set has no text"),
        ({"turns": [[{"words": "a"}]]}, "a turn of the data set has no text"),
        ({"turns": ["a text"]}, "turns must be lists"),
    ],
)
def test_rows_that_are_no_dialogues(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        map_pipeline(datasets.Dataset.from_dict(rows), [AnnotateDialogues("fast")], cache_dir=tmp_path)


def test_nothing_comes_out(tmp_path):
    with pytest.raises(ValueError, match="no dialogue is left"):
        map_pipeline(
            datasets.Dataset.from_dict({"turns": SAID}), [LabelTurns("fast"), SelectDialogues(0)], cache_dir=tmp_path
        )


class Thoughtful(stages.TurnFilter):
    def keep(self, turn, dialogue):
        return turn.text != "They closed."


def test_a_step_of_a_user(tmp_path):
    given = datasets.Dataset.from_dict({"turns": SAID})
    made = map_pipeline(given, Pipeline([Thoughtful()]), cache_dir=tmp_path)
    assert all(len(texts(row)) == 2 for row in dialogues(made)) and len(dialogues(made)) == len(SAID)
