"""Teachers of the trials: a labeler's answers beside people's and in their place, and pairs of turns."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

from classifier_fixtures import make_backbone
from edos_dataset.labels import LABELS
from evaluation import label_teachers
from evaluation.label_teachers import contrasted, distilled, self_trained, windows_of
from training.labels.sources import FILMS, Corpus, Taught
from training.labels.targets import target_of, target_of_reader

SUBTITLES = {"frasier": [f"a sentence of film number {number}" for number in range(29)] + ["?!"], "friends": ["b", "c"]}


class Teacher:
    """Says of every turn the label that has the number of its characters."""

    def predict_proba(self, dialogues):
        return np.stack([np.eye(41, dtype=np.float32)[len(text) % 41] for turns in dialogues for text in turns])


@pytest.fixture
def asked(monkeypatch):
    names = []
    monkeypatch.setattr(label_teachers, "load_labeler", lambda name: names.append(name) or Teacher())
    monkeypatch.setattr(label_teachers, "read_unlabelled", lambda name, _: (SUBTITLES[name], []))
    return names


def corpus_of(train):
    return Corpus(train, {}, {}, {}, {}, {}, {})


def test_shares_are_half_the_teachers_who_answers_as_their_makers_do_and_sets_stay(asked):
    sad, emotion = target_of_reader([3]), target_of("meld", ["anger"])
    train = {
        FILMS: [Taught(("ab", "abc"), (None, sad)), Taught(("abcd",), (target_of_reader([4]),))],
        "crowd": [Taught(("abcdef",), (sad,))],
        "meld": [Taught(("x",), (emotion,))],
    }
    found = distilled(corpus_of(train)).train
    assert asked == ["general", "dialogue"] and found["meld"] == train["meld"]
    assert found[FILMS][0].targets[0] is None
    assert {row: float(share) for row, share in enumerate(found[FILMS][0].targets[1].values) if share} == {3: 1.0}
    assert {row: float(share) for row, share in enumerate(found["crowd"][0].targets[0].values) if share} == {
        3: 0.5,
        6: 0.5,
    }


def test_windows_are_neighbours_of_one_film_without_turns_that_were_read(asked):
    assert [len(window) for window in windows_of(None, set())] == [12, 12, 5, 2]
    kept = windows_of(None, {"a sentence of film number 5"})
    assert [len(window) for window in kept] == [5, 12, 11, 2] and kept[1][0].endswith(" 6")


def test_films_are_replaced_by_as_many_turns_that_the_teacher_labels(asked, tmp_path):
    read = [Taught(("Some turn.", "Another one."), (target_of_reader([1]), target_of_reader([2])))] * 5
    other = [Taught(("x",), (target_of_reader([1]),))]
    found = self_trained(corpus_of({FILMS: read, "crowd": other}), tmp_path, 3).train
    assert asked == ["general"] and found["crowd"] is other
    turns = [pair for each in found[FILMS] for pair in zip(each.turns, each.targets, strict=True)]
    assert 10 <= len(turns) < 22 and {text for text, _ in turns} <= {*SUBTITLES["frasier"], *SUBTITLES["friends"]}
    assert all(target.values.argmax() == len(text) % len(LABELS) for text, target in turns)


def test_an_encoder_learns_which_turn_follows_and_is_not_trained_twice(asked, tmp_path):
    backbone = str(make_backbone(tmp_path / "backbone"))
    out = contrasted(tmp_path, backbone, 2, 4, tmp_path / "pairs")
    before, after = (AutoModel.from_pretrained(folder).state_dict() for folder in (backbone, out))
    assert before.keys() == after.keys() and not all(torch.equal(before[name], after[name]) for name in before)
    times = [path.stat().st_mtime_ns for path in sorted((tmp_path / "pairs").rglob("*"))]
    assert contrasted(tmp_path, backbone, 2, 4, tmp_path / "pairs") == out
    assert times == [path.stat().st_mtime_ns for path in sorted((tmp_path / "pairs").rglob("*"))]
