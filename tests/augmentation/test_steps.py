"""The steps of `edos extend` as YAML and from the command line."""

import pytest

from edos_dataset.augmentation.self_labeling import SelfLabelingRules
from edos_dataset.augmentation.steps import MINILM, PAPERS, SpreadStep, dump_steps, override_steps, read_steps, steps_of
from edos_dataset.runs.recipes import RecipeError


def test_steps_come_back_from_yaml(tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(dump_steps(PAPERS))
    assert read_steps(path) == list(PAPERS)
    path.write_text("steps: [spread: {around: all, cap: null}, self_label]")
    assert read_steps(path) == [SpreadStep(around="all", cap=None), SelfLabelingRules()]


def test_what_goes_with_an_encoder(tmp_path):
    assert steps_of(None, "all-MiniLM-L6-v2") == MINILM and steps_of(
        None, "roberta-base-nli-stsb-mean-tokens"
    ) == PAPERS == steps_of("papers", "all-MiniLM-L6-v2")
    with pytest.raises(RecipeError, match="cannot read the recipe"):
        steps_of(str(tmp_path / "nothing.yaml"), "all-MiniLM-L6-v2")


def test_the_papers_thresholds():
    first, second, third = PAPERS
    assert (first.threshold, third.threshold, second.top, second.confidence) == (0.92, 0.9, 100, 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stages: []", "expected one key 'steps'"),
        ("steps: []", "expected one key 'steps'"),
        ("steps: [spred: {}]", "step 1: expected spread or self_label"),
        ("steps: [spread, spread: {treshold: 0.9}]", "step 2.*did you mean 'threshold'"),
        ("steps: [spread: {threshold: 3}]", "threshold must be above 0 and at most 1, got 3.0"),
        ("steps: [", "cannot read the recipe"),
    ],
)
def test_wrong_recipes_are_explained(tmp_path, text, message):
    path = tmp_path / "steps.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_steps(path)


def test_settings_change_one_step():
    changed = override_steps(PAPERS, ["3.threshold=0.85", "2.cap=20"])
    assert [changed[0].threshold, changed[1].cap, changed[2].threshold] == [0.92, 20, 0.85]
    for setting, message in (
        ("4.threshold=1", "a step from 1 to 3"),
        ("threshold=1", "a step from 1 to 3"),
        ("1.top=3", "no parameter 'top'"),
        ("1.cap=[", "YAML value"),
    ):
        with pytest.raises(RecipeError, match=message):
            override_steps(PAPERS, [setting])
