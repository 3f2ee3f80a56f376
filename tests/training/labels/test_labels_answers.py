"""What a model answers of labelled dialogues, and how its probabilities are calibrated."""

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.metrics.classification import softmax
from small_models import ANSWERS, small_context_classifier, small_tokenizer
from training.labels.answers import (
    acceptable,
    answers_of,
    calibrate,
    calibration_error,
    hit_rate,
    hits,
    label_shift,
    rows_of,
    vectors_of,
)
from training.labels.recipe import LabelsRecipe
from training.labels.results import calibrate_model
from training.labels.sources import Taught
from training.labels.targets import Kind, Target

pytestmark = pytest.mark.usefixtures("one_thread")
HAPPY, SAD, PLAIN = (LABEL_IDS[name] for name in ("joyful", "sad", "neutral"))
RECIPE = LabelsRecipe(sources={"meld": 1.0, "crowd": 1.0}, turn_tokens=12)


def target(label, kind=Kind.SHARES):
    return Target(np.eye(len(LABELS), dtype=np.float32)[label], kind)


def vectors(corpus, model, most=None):
    return vectors_of(corpus, model, small_tokenizer(), RECIPE, Accelerator(cpu=True), most)


def answers(model, found):
    return answers_of(model, found, Accelerator(cpu=True))


@pytest.fixture
def corpus():
    yes, no, happy = target(1), target(2), target(HAPPY, Kind.EMOTION)
    return {
        "meld": [Taught(("yes", "no", "yes"), (None, no, yes)), Taught(("i am happy",), (happy,))],
        "xed": [],
        "crowd": [Taught(("no", "yes"), (no, None)), Taught(("you are sad today", "yes"), (None, yes))],
    }


def test_each_distinct_turn_is_encoded_once_and_finds_its_own_target(corpus):
    model = small_context_classifier()
    found = vectors(corpus, model)
    assert len(found.values) == 4 and found.values.dtype == np.float16
    assert found.sources == {"meld": (0, 2), "xed": (2, 2), "crowd": (2, 4)} and len(found.bounds) == 5
    tokenizer = small_tokenizer()
    texts = {}
    for name, (start, stop) in found.sources.items():
        for number in range(start, stop):
            own, starts, chosen, rows = found.take([number])
            assert starts.tolist() == [0] * len(own)
            ids = [tuple(found.rows[found.bounds[number] : found.bounds[number + 1]].tolist())]
            match = [each for each in corpus[name] if len(each.turns) == len(own) and each not in texts.get(name, [])]
            for each in match:
                expected = [
                    model.encode(torch.tensor([tokenizer(turn)["input_ids"]]), torch.ones(1, len(tokenizer(turn)[0])))
                    for turn in each.turns
                ]
                if torch.allclose(torch.cat(expected), own, atol=2e-3):
                    taught = [row for row, value in enumerate(each.targets) if value is not None]
                    assert chosen.tolist() == taught
                    values = [each.targets[row].values.argmax() for row in taught]
                    assert found.targets[rows].argmax(1).tolist() == values
                    texts.setdefault(name, []).append(each)
                    break
            else:
                raise AssertionError(f"the vectors of {ids} are of no dialogue of {name}")
    assert [len(rows_of(found, name)) for name in found.sources] == [3, 0, 2]


def test_several_dialogues_are_taken_one_behind_the_other(corpus):
    found = vectors(corpus, small_context_classifier())
    parts = [found.take([number]) for number in (3, 0, 1)]
    own, starts, chosen, rows = found.take([3, 0, 1])
    assert torch.equal(own, torch.cat([part[0] for part in parts]))
    sizes = [len(part[0]) for part in parts]
    behind = np.cumsum([0, *sizes])
    assert starts.tolist() == np.repeat(behind[:-1], sizes).tolist()
    assert chosen.tolist() == [
        int(begin) + row for begin, part in zip(behind, parts, strict=False) for row in part[2].tolist()
    ]
    assert torch.equal(rows, torch.cat([part[3] for part in parts]))


def test_of_a_large_source_dialogues_are_drawn_until_enough_of_their_turns_are_labelled(corpus):
    many = [Taught((f"yes {'no ' * number}", "yes"), (target(1), None)) for number in range(9)]
    model = small_context_classifier()
    found = vectors({"meld": many, "crowd": corpus["crowd"]}, model, most=4)
    assert found.sources == {"meld": (0, 4), "crowd": (4, 6)}
    again = vectors({"meld": many, "crowd": corpus["crowd"]}, model, most=4)
    assert np.array_equal(found.values, again.values) and np.array_equal(found.rows, again.rows)


def test_logits_stand_in_the_rows_of_their_targets_and_are_what_the_model_says(corpus, monkeypatch):
    monkeypatch.setattr("training.labels.answers._BLOCK", 3)
    model, tokenizer = small_context_classifier(), small_tokenizer()
    found = vectors(corpus, model)
    said = answers(model.train(), found)
    assert not model.training and list(said) == list(ANSWERS)
    assert {logits.dtype for logits in said.values()} == {np.dtype(np.float32)}
    rows = iter(range(len(found.targets)))
    for name, dialogues in corpus.items():
        for number in np.random.default_rng(RECIPE.seed).permutation(len(dialogues)):
            taught = dialogues[number]
            ids = tokenizer(list(taught.turns), add_special_tokens=False)["input_ids"]
            for place in (place for place, value in enumerate(taught.targets) if value is not None):
                row, inputs = next(rows), torch.tensor([sequence(ids[: place + 1], 2, 3, 1, 64)])
                for answer, logits in said.items():
                    model.config.answer = answer
                    with torch.no_grad():
                        expected = model(inputs).logits[0]
                    assert np.allclose(logits[row], expected, atol=0.02), (name, taught.turns, answer)
                assert found.targets[row].argmax() == taught.targets[place].values.argmax()
    assert next(rows, None) is None


def test_the_right_ones_are_counted_for_every_source(corpus):
    found = vectors(corpus, small_context_classifier())
    logits = found.targets.numpy().copy()
    assert hits(found, logits) == {"meld": 1.0, "crowd": 1.0}, "a source without labelled turns has no share"
    wrong = rows_of(found, "meld")[:2]
    logits[wrong] = np.eye(len(LABELS))[[SAD, SAD]]
    assert hits(found, logits) == {"meld": pytest.approx(1 / 3), "crowd": 1.0}


def drawn(turns, seed=0):
    """Logits of turns, and targets that follow them, but "sad" three times as often as the logits have it."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 2, (turns, len(LABELS))).astype(np.float32)
    moved = logits + 1.5 * (np.arange(len(LABELS)) == SAD)
    labels = [generator.choice(len(LABELS), p=row) for row in softmax(moved)]
    return logits, np.eye(len(LABELS), dtype=np.float32)[labels]


def test_a_shift_gives_labels_the_shares_that_they_have():
    logits, targets = drawn(1500)
    shift = label_shift(logits, targets.mean(axis=0))
    known = targets.mean(axis=0) > 0
    assert np.allclose(softmax(logits + shift).mean(axis=0)[known], targets.mean(axis=0)[known], atol=2e-3)
    assert shift[SAD] - np.median(shift) == pytest.approx(1.5, abs=0.5)
    none = targets.mean(axis=0) * (np.arange(len(LABELS)) != PLAIN)
    assert label_shift(logits, none / none.sum())[PLAIN] == 0


def test_what_a_shift_would_be_worth_is_measured_on_the_other_half_and_changes_nothing():
    logits, targets = drawn(1500)
    half = np.arange(len(logits)) % 2 == 0
    shift = label_shift(logits[half], targets[half].mean(axis=0))
    found = calibrate(logits, targets)
    without, worth = (found.figures[f"acceptable_{which}_shift_on_the_other_half"] for which in ("without", "with"))
    assert worth == pytest.approx(hit_rate(logits[~half] + shift, targets[~half]), abs=1e-4)
    assert without == pytest.approx(hit_rate(logits[~half], targets[~half]), abs=1e-4) and without < worth
    assert found.figures["acceptable"] == pytest.approx(hit_rate(logits, targets), abs=1e-4)


@pytest.mark.parametrize("factor", [0.5, 2.5])
def test_the_temperature_makes_confidence_the_share_that_is_acceptable(factor):
    logits, targets = drawn(1500, seed=1)
    found = calibrate(factor * logits, targets)
    assert abs(found.figures["mean_confidence"] - found.figures["acceptable"]) < 0.05
    confidence = softmax(factor * logits, found.temperature).max(axis=1)
    right = acceptable(logits, targets)
    error = calibration_error(confidence, right)
    assert error == pytest.approx(found.figures["expected_calibration_error"], abs=1e-4) and error < 0.08
    assert error < calibration_error(softmax(factor * logits).max(axis=1), right)


def test_a_label_that_hardly_anybody_gave_is_not_right():
    logits, targets = drawn(1500)
    crumbs = targets + 0.2 * targets.max(axis=1, keepdims=True) * (targets == 0)
    assert hit_rate(logits, crumbs) == 1
    assert calibrate(logits, crumbs) == calibrate(logits, targets)


def test_a_confidence_that_is_right_has_no_error():
    confidence = np.repeat([0.2, 0.8], 500)
    right = np.concatenate([np.arange(500) % 5 == 0, np.arange(500) % 5 != 0])
    assert calibration_error(confidence, right, bins=2) == pytest.approx(0)
    assert calibration_error(confidence, ~right, bins=2) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("sources", "on"),
    [
        (["weak", "crowd", "films"], {"general": "films", "dialogue": "crowd", "weak": "weak"}),
        (["crowd", "films"], {"general": "films", "dialogue": "crowd", "weak": "films"}),
        (["weak", "crowd"], {"general": "crowd", "dialogue": "crowd", "weak": "weak"}),
        (["weak"], {"general": "weak", "dialogue": "weak", "weak": "weak"}),
    ],
)
def test_every_answer_is_calibrated_on_the_source_that_is_for_it_or_on_another_and_says_on_which(sources, on):
    stated = {
        "films": "held-out turns of films",
        "crowd": "validation part of the crowd",
        "weak": "validation part of the w",
    }
    answers_of_all = {name: {"sees": "turn", "conventions": {"crowd": 1.0}, "temperature": 1.0} for name in on}
    model = small_context_classifier(answers=answers_of_all)
    turns = Taught(tuple(f"yes {'no ' * number}" for number in range(40)), (target(HAPPY), target(SAD)) * 20)
    held = vectors({**dict.fromkeys(sources, [turns]), "xed": []}, model)
    generator, logits = np.random.default_rng(0), {}
    right = {name: share for name, share in zip(sources, (0.3, 0.6, 0.9), strict=False)}
    for name in on:
        logits[name] = np.zeros((len(held.targets), len(LABELS)), np.float32)
        for source in sources:
            rows = rows_of(held, source)
            known = generator.permutation(len(rows)) < right[source] * len(rows)
            labels = np.where(known, held.targets[rows].numpy().argmax(1), PLAIN)
            logits[name][rows, labels] = 5
    found = calibrate_model(model, held, logits)
    assert list(found) == list(on)
    for name, source in on.items():
        assert found[name]["on"].startswith(stated[source]) and found[name]["turns"] == 40
        assert found[name]["acceptable"] == pytest.approx(right[source])
        expected = calibrate(logits[name][rows_of(held, source)], held.targets[rows_of(held, source)].numpy())
        assert found[name]["temperature"] == model.config.answers[name]["temperature"] == expected.temperature
    temperatures = {own["temperature"] for own in model.config.answers.values()}
    assert len(temperatures) == len(set(on.values())), "each source has its own"


def test_nothing_is_calibrated_on_one_turn_or_on_the_sets_of_others(corpus):
    model = small_context_classifier()
    held = vectors({"films": [Taught(("yes",), (target(HAPPY),))], "meld": corpus["meld"]}, model)
    assert calibrate_model(model, held, answers(model, held)) == {}
    assert {name: own["temperature"] for name, own in model.config.answers.items()} == {
        name: own["temperature"] for name, own in ANSWERS.items()
    }
    with pytest.raises(ValueError, match="at least two labelled turns, got 1"):
        calibrate(np.zeros((1, 41), np.float32), np.eye(41, dtype=np.float32)[:1])
