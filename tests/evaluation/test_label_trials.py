"""Short trainings with one thing changed, side by side: on a small backbone and small sets."""

import json
import os
from unittest import mock

import numpy as np
import pytest
import yaml

from classifier_fixtures import ENVIRONMENT, make_backbone
from edos_dataset.encoders.encoder import limit_threads
from evaluation.label_trials import TRIALS, main, plain_set, render
from labelled_sets import write_sets
from training.labels.conventions import CONVENTIONS
from training.labels.targets import Kind, Target, target_of

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
    told = target_of("xed", ["anger"])
    assert 0 < told.values[told.values > 0].min() < 1
    assert set(plain_set(told).values.tolist()) == {0.0, 1.0} and plain_set(told).kind == told.kind
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
