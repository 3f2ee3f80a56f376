"""Short trainings with one thing changed, side by side: on a small backbone and small sets."""

import json
import os
from unittest import mock

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoModel

from classifier_fixtures import ENVIRONMENT, make_backbone
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labels import LABELS
from evaluation import label_trials
from evaluation.label_trials import TRIALS, contrasted, distilled, main, plain_set, render, self_trained, windows_of
from labelled_sets import write_sets
from training.labels.model import CONVENTIONS
from training.labels.sources import FILMS, Corpus, Taught
from training.labels.targets import Kind, Target, target_of, target_of_reader

SETTINGS = {
    "sources": {"meld": 1.0, "emorynlp": 1.0},
    "context_heads": 4,
    "context_layers": 1,
    "turn_tokens": 16,
    "batch": 16,
    "span": 3,
    "history": 1,
    "precision": "no",
    "encoder_dropout": 0.0,
}


def test_a_plain_set_has_every_label_in_full_and_shares_stay():
    stated = target_of("xed", ["anger"])
    assert 0 < stated.values[stated.values > 0].min() < 1
    assert set(plain_set(stated).values.tolist()) == {0.0, 1.0} and plain_set(stated).kind == stated.kind
    shares = Target(np.full(41, 1 / 41, np.float32), Kind.SHARES)
    assert plain_set(shares) is shares


def test_the_table_says_how_far_each_trial_is_from_the_plain_one():
    def trial(share):
        return {"turns": {"meld": 1200}, "right": {"general": {"meld": share}}, "seconds": 1}

    text = render({"updates": 7, "trials": {"three_layers": trial(0.45), "plain": trial(0.5)}})
    assert "# Trials of 7 updates" in text and "| source | turns | three_layers | plain |" in text
    assert "| meld | 1,200 | 45.0 % (-5.0) | 50.0 % (+0.0) |" in text


@pytest.mark.slow
def test_trials_are_measured_on_the_same_turns_and_not_run_twice(tmp_path, monkeypatch):
    from accelerate.state import AcceleratorState, GradientState

    write_sets(tmp_path / "data")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump({"base_model": str(make_backbone(tmp_path / "backbone")), **SETTINGS}))
    words = ["--recipe", str(recipe), "--data-dir", str(tmp_path / "data"), "--work", str(tmp_path / "work")]
    words += ["--out", str(tmp_path / "trials.json"), "--updates"]
    names, before = ["plain", "one_convention", "embeddings_trained"], dict(CONVENTIONS)
    monkeypatch.setitem(TRIALS, "three_layers", TRIALS["three_layers"]._replace(settings={"layers": 1}))
    with limit_threads(1), mock.patch.dict(os.environ, ENVIRONMENT):
        try:
            main([*words, "4", "--trials", *names])
            first = json.loads((tmp_path / "trials.json").read_text())
            main([*words, "4", "--trials", "three_layers", "plain", "no_dropout"])  # no_dropout: the recipe has none
            second = json.loads((tmp_path / "trials.json").read_text())
            with pytest.raises(SystemExit, match=r"error: .*trials\.json has trials of another recipe"):
                main([*words, "5"])
        finally:
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()
    assert list(first["trials"]) == names and list(second["trials"]) == [*names, "three_layers"]
    assert {name: second["trials"][name] for name in names} == first["trials"]
    assert len({json.dumps(each["turns"]) for each in second["trials"].values()}) == 1
    assert before == CONVENTIONS
    assert "three_layers" in (tmp_path / "trials.md").read_text()
    assert not (tmp_path / "work" / "plain").exists()


SUBTITLES = {"frasier": [f"a sentence of film number {number}" for number in range(29)] + ["?!"], "friends": ["b", "c"]}


class Teacher:
    """Says of every turn the label that has the number of its characters."""

    def predict_proba(self, dialogues):
        return np.stack([np.eye(41, dtype=np.float32)[len(text) % 41] for turns in dialogues for text in turns])


@pytest.fixture
def asked(monkeypatch):
    names = []
    monkeypatch.setattr(label_trials, "load_labeler", lambda name: names.append(name) or Teacher())
    monkeypatch.setattr(label_trials, "read_unlabelled", lambda name, _: (SUBTITLES[name], []))
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
