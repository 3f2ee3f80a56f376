"""All counts against plain Python over the rows, and the same whatever the parts and their order."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.analysis import samples
from edos_dataset.analysis.batch import batch_of
from edos_dataset.analysis.counting import count_files
from edos_dataset.analysis.counts import BINS, PLACES, Counts
from edos_dataset.analysis.duplicates import copies
from edos_dataset.analysis.figures import data_figures
from edos_dataset.analysis.label_system import OURS
from edos_dataset.runs.folder import config_files
from edos_dataset.text import tokenize
from reported_folder import dialogues, shown_of, table_of, write_folder

ROWS = {"train": dialogues(300), "test": dialogues(80, seed=1)}
EVERY = [row for rows in ROWS.values() for row in rows]
TURNS = [(row, place, turn) for row in EVERY for place, turn in enumerate(row["turns"])]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return config_files(write_folder(tmp_path_factory.mktemp("data") / "x", ROWS), "edos")


@pytest.fixture(scope="module")
def counts(files):
    return count_files(files, 41)


def plain(table):
    """Return an array of counts as a Counter of places."""
    return Counter({tuple(place): int(table[tuple(place)]) for place in np.argwhere(table).tolist()})


def test_sizes_and_lengths(counts):
    assert counts.dialogues == {split: len(rows) for split, rows in ROWS.items()}
    tokens = [len(tokenize(turn["text"])) for _, _, turn in TURNS]
    assert sum(counts.tokens.values()) == sum(tokens) and sum(counts.turns.values()) == len(TURNS)
    assert plain(counts.tokens_of_turn) == Counter((min(size, 100),) for size in tokens)
    assert plain(counts.turns_of_dialogue) == Counter((len(row["turns"]),) for row in EVERY)
    whole = Counter((sum(len(tokenize(turn["text"])) for turn in row["turns"]),) for row in EVERY)
    assert plain(counts.tokens_of_dialogue) == whole


def test_labels_by_place(counts):
    found = Counter(
        (min(place, PLACES - 1), 41 if turn["label"] is None else turn["label"]) for _, place, turn in TURNS
    )
    assert plain(counts.places) == found


def test_labels_of_last_turns(counts):
    last = [row["turns"][-1]["label"] for row in EVERY]
    assert plain(counts.last_turns) == Counter((41 if label is None else label,) for label in last)


def test_transitions_and_flows(counts):
    pairs, flows = Counter(), Counter()
    for row in EVERY:
        labels = [turn["label"] for turn in row["turns"]]
        for place, (one, other) in enumerate(pairwise(labels)):
            if None not in (one, other):
                pairs[one, other] += 1
                if place < 3 and labels[0] is not None:
                    flows[labels[0], place, one, other] += 1
    assert plain(counts.transitions) == pairs and plain(counts.flows) == flows


def test_confidence_certainty_films_and_years(counts):
    sure = [(turn["label"], turn["confidence"]) for _, _, turn in TURNS if turn["label"] is not None]
    float32 = [(label, float(np.float32(value))) for label, value in sure]
    assert plain(counts.confidence) == Counter((label, min(int(value * BINS), BINS - 1)) for label, value in float32)
    assert counts.confidence_sums.sum() == pytest.approx(sum(value for _, value in sure), rel=1e-5)
    certain = [float(np.float32(row["certainty"])) for row in EVERY if row["certainty"] is not None]
    assert plain(counts.boundaries) == Counter(
        (int(turn["certainty"] * BINS),) for row in EVERY for turn in row["turns"] if turn.get("certainty") is not None
    )
    assert plain(counts.certainty) == Counter((int(value * BINS),) for value in certain)
    films = Counter(row["document_id"] for row in EVERY if row["document_id"])
    assert {name: film.dialogues for name, film in counts.films.films.items()} == films
    of_film = Counter(
        (row["document_id"], turn["label"])
        for row, _, turn in TURNS
        if row["document_id"] and turn["label"] is not None
    )
    assert {
        (name, label): number
        for name, film in counts.films.films.items()
        for label, number in enumerate(film.labels.tolist())
        if number
    } == of_film
    years = Counter(row["source"]["year"] or -1 for row in EVERY)
    assert {year: dialogues_ for year, (dialogues_, _) in counts.films.years.items()} == years
    assert counts.blocks[0].sum() == len(sure)
    assert counts.blocks[1].sum(axis=0).tolist() == counts.places[0, :-1].tolist()


def test_parts_in_any_order_give_the_same(counts):
    batches = [(split, row) for split, rows in ROWS.items() for row in rows]
    random.Random(3).shuffle(batches)
    other = Counts(41)
    for start in range(0, len(batches), 23):
        part = Counts(41)
        for split in ROWS:
            rows = [row for its, row in batches[start : start + 23] if its == split]
            if rows:
                part.add(batch_of(table_of(rows), split))
        other.merge(part)
    assert data_figures(other, OURS) == data_figures(counts, OURS)
    assert copies(other.keys, {}) == copies(counts.keys, {})


def test_the_same_dialogues_are_shown_however_they_lie(files, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "OF_ALL", 30)
    turned = {split: rows[::-1] for split, rows in ROWS.items()}
    other = config_files(write_folder(tmp_path / "y", turned, rows_a_group=11), "edos")
    shown = shown_of(files, 41)
    assert shown_of(other, 41) == shown and 30 < len(shown["dialogues"]) < len(EVERY)


def test_the_dialogues_shown_have_what_they_are_shown_for(files):
    shown = shown_of(files, 41)
    by_id = {row["id"]: row for row in shown["dialogues"]}
    assert len(by_id) == len(shown["dialogues"]) == len(EVERY)  # so few that all are
    for label, ids in shown["doubtful"].items():
        all_of = sorted(turn["confidence"] for _, _, turn in TURNS if turn["label"] == OURS.names.index(label))
        assert min(turn[2] for turn in by_id[ids[0]]["turns"] if turn[1] == OURS.names.index(label)) == all_of[0]
    for pair, ids in shown["examples"].items():
        one, other = (OURS.names.index(name) for name in pair.split())
        assert ids and all(
            (one, other) in pairwise(turn[1] for turn in by_id[name]["turns"]) or by_id[name]["more"] for name in ids
        )


def test_labels_of_the_last_turn_and_soft_labels():
    turn = {"text": "a"}
    soft = [0.0] * 41
    soft[7] = 2 / 3
    table = pa.table({"dialogue_id": ["a", "b"], "turns": [[turn, turn], [turn]], "label": [7, None],
                      "soft_label": [soft, soft]})  # fmt: skip
    batch = batch_of(table, "train")
    assert batch.labels.tolist() == [-1, 7, -1] and batch.confidence[1] == pytest.approx(2 / 3)
    assert np.isnan(batch.confidence[[0, 2]]).all()


def test_truth_tells_reliability():
    turns = [{"text": "a", "label": 1, "confidence": 0.9, "truth": truth} for truth in (1, 1, 2, None)]
    counts = Counts(41)
    counts.add(batch_of(pa.table({"dialogue_id": ["a"], "turns": [turns]}), "all"))
    found = data_figures(counts, OURS)["reliability"]
    assert (found["turns"], found["accuracy"]) == (3, 0.6667)
    assert found["expected_calibration_error"] == pytest.approx(0.9 - 2 / 3, abs=1e-4)


def test_a_label_of_a_film_that_comes_once_is_not_above_its_share():
    turns = [[{"text": "a", "label": label} for label in labels] for labels in ([0] * 94 + [1] * 5 + [2], [0] * 500)]
    counts = Counts(41)
    table = pa.table({"dialogue_id": ["a", "b"], "document_id": ["one", "other"], "turns": turns})
    counts.add(batch_of(table, "all"))
    films = data_figures(counts, OURS)["films"]["unlike_all"]
    assert {film["film"]: film["most"] for film in films} == {"one": [1], "other": [0]}
