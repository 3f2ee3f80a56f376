"""Selection of dialogues: by score, ties by id, whatever the shards."""

import math
import random
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.labeling import selection
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.runs import shuffle
from edos_dataset.runs.pipeline import REMOVALS
from edos_dataset.runs.shards import write_shard

SCORES = st.lists(st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.floats(0, 1, width=32)), max_size=30)


def selected(shards, top, by="emotionality"):
    """Return the ids that stay; a shard is a list of (id, score)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.parquet" for number in range(len(shards))]
        for path, rows in zip(paths, shards, strict=True):
            ids, scores = [dialogue_id for dialogue_id, _ in rows], pa.array([score for _, score in rows], pa.float32())
            other = pa.array([1.0 - (score or 0) for _, score in rows], pa.float32())
            names = ("emotionality", "confidence") if by == "emotionality" else ("confidence", "emotionality")
            write_shard(path, pa.table({"dialogue_id": pa.array(ids, pa.string()), names[0]: scores, names[1]: other}))
        removals = list(SelectDialogues(top, by).decide(paths))
    assert len(removals) == len(shards)
    assert all(table.schema == REMOVALS and set(table["reason"].to_pylist()) <= {"not_selected"} for table in removals)
    assert all(table["turn"].null_count == table.num_rows for table in removals)
    gone = [set(table["row"].to_pylist()) for table in removals]
    return [
        dialogue_id
        for rows, out in zip(shards, gone, strict=True)
        for row, (dialogue_id, _) in enumerate(rows)
        if row not in out
    ]


@given(
    SCORES,
    st.integers(0, 35),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
    st.sampled_from(["emotionality", "confidence"]),
)
def test_the_first_by_score_then_id(scores, top, shards, dice, by):
    rows = [(f"film#{number}", float(np.float32(score))) for number, score in enumerate(scores)]
    expected = {dialogue_id for dialogue_id, _ in sorted(rows, key=lambda row: (-row[1], row[0]))[:top]}
    shuffled = dice.sample(rows, len(rows))
    assert set(selected([shuffled[start::shards] for start in range(shards)], top, by)) == expected


@pytest.mark.parametrize(
    ("shards", "top", "expected"),
    [
        ([[("a", 0.9), ("b", 0.1)], [("c", 0.5)]], 2, ["a", "c"]),
        ([[("d", 0.5), ("b", 0.5)], [("c", 0.5), ("a", 0.5)]], 2, ["b", "a"]),  # a tie over two shards
        ([[("b", 0.5), ("a", 0.5)], [("c", 0.6)]], 2, ["a", "c"]),
        ([[("a", 0.0)], [("b", 0.0)]], 0, []),
        ([[("a", 0.0)], [("b", 0.0)]], 2, ["a", "b"]),
        ([[("a", 0.0)], [("b", 0.0)]], 1_000_000, ["a", "b"]),
        ([[], [("a", 0.2)], []], 1, ["a"]),
        ([[]], 5, []),
        ([[]], 0, []),
        ([], 5, []),
        ([[("a", math.nan), ("b", 0.0), ("c", 0.2)]], 1, ["c"]),  # no score is the lowest score
        ([[("a", None), ("b", 0.0), ("c", 0.2)]], 2, ["b", "c"]),
        ([[("b", math.nan), ("a", None), ("c", 0.2)]], 2, ["a", "c"]),
        ([[("a", math.nan), ("b", 0.0)]], 2, ["a", "b"]),
        ([[("a", math.nan), ("b", math.nan)]], 0, []),
        ([[("a", 0.0), ("c", -0.0)], [("b", 0.0), ("d", -0.0)]], 3, ["a", "c", "b"]),  # zeros of either sign
        ([[("a", math.inf), ("b", 0.5)], [("c", 3.0e38)]], 1, ["a"]),
        ([[("a", -0.5), ("b", -2.0)], [("c", -0.25), ("d", None)]], 3, ["a", "c", "d"]),
        ([[("é", 0.5), ("z", 0.5)], [("\U0001f600", 0.5), ("\uffff", 0.5)]], 3, ["é", "z", "\uffff"]),
        ([[("a", 0.5), ("a", 0.5)], [("b", 0.5)]], 1, ["a", "a"]),
    ],
)
def test_cases(shards, top, expected):
    assert selected(shards, top) == expected


def test_ties_in_many_groups_and_pieces(monkeypatch):
    monkeypatch.setattr(shuffle, "_MOST_GROUPS", 3)
    monkeypatch.setattr(selection, "_ROWS", 4)
    ids = [f"{number:03d}" for number in range(100)]
    shards = [[(each, 0.5) for each in random.Random(1).sample(ids, 100)[start::7]] for start in range(7)]
    for top in (1, 50, 99):
        assert sorted(selected([*shards, [("best", 0.6), ("worst", 0.4)]], top + 1)) == [*ids[:top], "best"]


def test_next_scores_are_told_apart():
    scores = np.nextafter(np.float32(0.5), np.float32([0, 1, 0.5]))
    assert selected([[("a", float(scores[0]))], [("b", float(scores[1])), ("c", 0.5)]], 2) == ["b", "c"]


@pytest.mark.parametrize(
    ("parameters", "message"), [({"top": -1}, "top"), ({"by": "size"}, "'confidence' or 'certainty', got 'size'")]
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SelectDialogues(**parameters)
