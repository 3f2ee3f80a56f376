"""Where scenes begin: what the scores depend on, and what a damaged scorer says."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import TURN
from edos_dataset.segmentation.scene_features import distances, largest_beside, read_features, read_words, windows
from edos_dataset.segmentation.scenes import VIEWS, WEIGHTS, Network, SceneScorer, scene_scorer, scene_scores

KITCHEN = [
    "Is the soup ready, Anna?",
    "The soup needs more salt.",
    "Salt ruins a soup, Anna.",
    "Then cook your own soup!",
]
HARBOUR = [
    "Captain, the lantern is out.",
    "Light the lantern again.",
    "The harbour sleeps, Captain.",
    "Wake the harbour then.",
]


def turns(texts, silences, length=2.0):
    """Return turns with these seconds of silence before each; None is no time."""
    rows, now = [], 0.0
    for number, (text, silence) in enumerate(zip(texts, silences, strict=True)):
        now += silence or 0.0
        times = {"start": None, "end": None} if silence is None else {"start": now, "end": now + length}
        rows.append({"text": text, **times, "sentence_ids": [number]})
        now += length
    return pa.array(rows, pa.struct(list(TURN)))


def film(gap=9.0, repeats=6):
    """Return two scenes, the second after a silence."""
    texts = [*(KITCHEN * repeats), *(HARBOUR * repeats)]
    silences = [0.3] * len(texts)
    silences[len(KITCHEN) * repeats] = gap
    return turns(texts, silences), len(KITCHEN) * repeats


def test_the_border_of_two_scenes_scores_highest() -> None:
    """Words, names and the silence all change there."""
    document, at = film()
    scores = scene_scores(document, np.array([0, len(document)]), "en")
    assert scores.dtype == np.float32 and np.isnan(scores[0])
    assert int(np.nanargmax(scores)) == at and scores[at] > 0.25
    assert np.nanmax(np.delete(scores, at)) < 0.1


@pytest.mark.parametrize("language", ["en", "fr", None])
def test_a_longer_silence_makes_a_scene_likelier(language: str | None) -> None:
    """Whatever the language."""
    found = []
    for gap in (0.3, 3.0, 9.0):
        document, at = film(gap)
        found.append(float(scene_scores(document, np.array([0, len(document)]), language)[at]))
    assert found == sorted(found) and found[2] > 3 * found[0]


def test_a_document_does_not_depend_on_others() -> None:
    """Its scores are the same to the bit wherever it stands; empty documents count for nothing."""
    one, two = film()[0], film(4.0, 3)[0]
    alone = [scene_scores(part, np.array([0, len(part)]), "en") for part in (one, two)]
    offsets = np.array([0, 0, len(two), len(two) + len(one), len(two) + len(one)])
    together = scene_scores(pa.concat_arrays([two, one]), offsets, "en")
    assert np.array_equal(together, np.concatenate([alone[1], alone[0]]), equal_nan=True)
    assert scene_scores(one.slice(0, 0), np.array([0]), "en").shape == (0,)
    assert scene_scores(one.slice(0, 0), np.array([0, 0]), "en").shape == (0,)
    assert np.isnan(scene_scores(one.slice(0, 1), np.array([0, 1]), "en")).all()


def test_a_missing_time_leaves_the_words() -> None:
    """Every boundary has a probability, and none is taken for a long silence."""
    document, at = film()
    texts = document.field("text").to_pylist()
    untimed = scene_scores(turns(texts, [None] * len(texts)), np.array([0, len(texts)]), "en")
    assert not np.isnan(untimed[1:]).any() and np.nanmax(untimed) < 0.25
    silences = [0.3] * len(texts)
    silences[5] = None
    some = scene_scores(turns(texts, silences), np.array([0, len(texts)]), "en")
    assert not np.isnan(some[1:]).any() and some[5] < 0.1 and some[6] < 0.1


def test_words_are_compared_without_case_marks_and_possession() -> None:
    """What has no letter and no digit is no word."""
    words = read_words(pa.array(["Anna's «soup», SOUP!", "--", "", "I saw Anna. Soup 2"]))
    assert words.offsets.tolist() == [0, 3, 3, 3, 8]
    assert words.number[1] == words.number[2] == words.number[6] and words.number[0] == words.number[5]
    assert words.names().tolist() == [True, False, False, False, False, True, False, False]
    assert words.part(3, 4).offsets.tolist() == [0, 5]


@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
def test_series_are_what_loops_say(size: int) -> None:
    """Sums and largest values at the ends of a document, too."""
    values = np.random.default_rng(size).random(size)
    for before, after in ((0, 1), (1, 0), (3, 4), (60, 61)):
        expected = [values[max(at - before, 0) : at + after].sum() for at in range(size)]
        assert np.allclose(windows(values, before, after), expected)
    for reach in (3, 8, 25):
        sides = [[*values[max(at - reach, 0) : at], *values[at + 1 : at + 1 + reach], 0] for at in range(size)]
        assert np.allclose(largest_beside(values, reach), [max(side) for side in sides])


def test_distances_are_to_the_nearest_mark_on_either_side() -> None:
    """The beginning and the end of the document count as marks."""
    back, on = distances(np.array([False, False, True, False, False]))
    assert np.expm1(back).round().tolist() == [0, 1, 2, 1, 2]
    assert np.expm1(on).round().tolist() == [2, 1, 3, 2, 1]


def test_every_feature_is_a_number() -> None:
    """Also of turns without words, times that run backward and a document of one turn."""
    document = turns(["...", "", "♪ ♪", "NO!", "no"], [0.0, -5.0, 1e5, 0.0, 0.0], length=0.0)
    for offsets in ([0, 5], [0, 1, 1, 5]):
        for features, _, _ in read_features(document, np.array(offsets)):
            assert all(np.isfinite(values).all() for values in features.values())


def test_the_shipped_scorer_says_how_it_was_made() -> None:
    """And reads back as written."""
    record = scene_scorer().record
    assert record["name"] == "scenes" and set(record["metrics"]) == {"unseen_episodes", "unseen_shows"}
    assert set(scene_scorer().networks) == set(VIEWS)


def test_a_scorer_reads_back_as_written(tmp_path: Path) -> None:
    """Weights, features, record and identity."""
    scene_scorer().save(tmp_path)
    again = SceneScorer.load(tmp_path)
    assert again.identity == scene_scorer().identity and again.record == scene_scorer().record
    document, _ = film()
    offsets = np.array([0, len(document)])
    assert np.array_equal(again.scores(document, offsets, "en"), scene_scores(document, offsets, "en"), equal_nan=True)


def test_damaged_scorers_are_refused(tmp_path: Path) -> None:
    """With a sentence that names the file."""
    with pytest.raises(FileNotFoundError, match="scenes.safetensors"):
        SceneScorer.load(tmp_path)
    data = (WEIGHTS / "scenes.safetensors").read_bytes()
    (tmp_path / "record.json").write_text(json.dumps({}))
    (tmp_path / "scenes.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"scenes.safetensors cannot be used"):
        SceneScorer.load(tmp_path)
    with pytest.raises(ValueError, match=r"must be \[2, units\]"):
        Network(("pause.log",), np.zeros((3, 4)), np.zeros(5), np.zeros(0))
    with pytest.raises(ValueError, match="power of 2"):
        Network((), np.zeros((2, 4)), np.zeros(5), np.zeros(6))


def test_documents_in_lists_are_read_as_tables_hold_them() -> None:
    """A slice of a column keeps its own turns."""
    document, at = film()
    half = len(document) // 2
    lists = nest([0, half, len(document)], pa.struct(list(TURN)), {f.name: document.field(f.name) for f in TURN})
    part = lists.slice(1).flatten()
    assert np.array_equal(
        scene_scores(part, np.array([0, half]), "en"),
        scene_scores(document.slice(half), np.array([0, half]), "en"),
        equal_nan=True,
    )
