"""What a model answers of labelled dialogues, and how its probabilities are calibrated."""

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.metrics.calibration import softmax
from small_models import small_context_classifier, small_tokenizer
from training.labels.answers import answers_of, hits, rows_of, vectors_of
from training.labels.calibration import acceptable, calibrate, calibration_error, label_shift
from training.labels.recipe import LabelsRecipe
from training.labels.results import calibrate_model
from training.labels.sources import Taught
from training.labels.targets import Kind, Target

pytestmark = pytest.mark.usefixtures("one_thread")
HAPPY, SAD, PLAIN = (LABEL_IDS[name] for name in ("joyful", "sad", "neutral"))
RECIPE = LabelsRecipe(sources={"a": 1.0, "b": 1.0}, turn_tokens=12)


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
        "a": [Taught(("yes", "no", "yes"), (None, no, yes)), Taught(("i am happy",), (happy,))],
        "none": [],
        "b": [Taught(("no", "yes"), (no, None)), Taught(("you are sad today", "yes"), (None, yes))],
    }


def test_each_distinct_turn_is_encoded_once_and_finds_its_own_target(corpus):
    model = small_context_classifier()
    found = vectors(corpus, model)
    assert len(found.values) == 4 and found.values.dtype == np.float16
    assert found.sources == {"a": (0, 2), "none": (2, 2), "b": (2, 4)} and len(found.bounds) == 5
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
                    assert found.kinds[rows].tolist() == [each.targets[row].kind for row in taught]
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
    found = vectors({"a": many, "b": corpus["b"]}, model, most=4)
    assert found.sources == {"a": (0, 4), "b": (4, 6)}
    again = vectors({"a": many, "b": corpus["b"]}, model, most=4)
    assert np.array_equal(found.values, again.values) and np.array_equal(found.rows, again.rows)


def test_logits_stand_in_the_rows_of_their_targets_and_are_what_the_model_says(corpus, monkeypatch):
    monkeypatch.setattr("training.labels.answers._BLOCK", 3)
    model, tokenizer = small_context_classifier(), small_tokenizer()
    model.config.turn_temperature, model.config.dialogue_temperature = 2.0, 0.5
    model.config.label_shift = [0.1 * label for label in range(len(LABELS))]
    found = vectors(corpus, model)
    alone, seen = answers(model.train(), found)
    assert not model.training and alone.dtype == seen.dtype == np.float32
    rows = iter(range(len(alone)))
    for name, dialogues in corpus.items():
        for number in np.random.default_rng(RECIPE.seed).permutation(len(dialogues)):
            taught = dialogues[number]
            ids = tokenizer(list(taught.turns), add_special_tokens=False)["input_ids"]
            for place in (place for place, value in enumerate(taught.targets) if value is not None):
                row, inputs = next(rows), torch.tensor([sequence(ids[: place + 1], 2, 3, 1, 64)])
                for context, logits in ((0, alone), (None, seen)):
                    model.config.context = context
                    with torch.no_grad():
                        assert np.allclose(logits[row], model(inputs).logits[0], atol=0.02), (
                            name,
                            taught.turns,
                            context,
                        )
                assert found.targets[row].argmax() == taught.targets[place].values.argmax()
    assert next(rows, None) is None


def test_the_right_ones_are_counted_for_every_source(corpus):
    found = vectors(corpus, small_context_classifier())
    logits = found.targets.numpy().copy()
    assert hits(found, logits) == {"a": 1.0, "b": 1.0}, "a source without labelled turns has no share"
    wrong = rows_of(found, "a")[:2]
    logits[wrong] = np.eye(len(LABELS))[[SAD, SAD]]
    assert hits(found, logits) == {"a": pytest.approx(1 / 3), "b": 1.0}


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


def test_the_shift_is_kept_only_where_it_helps_on_the_other_half():
    logits, targets = drawn(1500)
    found = calibrate(logits, targets)
    assert found.shift is not None and found.shift[SAD] > 1
    assert calibrate(logits, targets, may_shift=False).shift is None
    assert (
        found.figures["acceptable_with_shift_on_the_other_half"]
        > found.figures["acceptable_without_shift_on_the_other_half"]
    )
    sure = np.where(targets > 0, 5, 0).astype(np.float32)
    right = calibrate(sure, targets)
    assert right.shift is None and right.figures["acceptable"] == 1, "what is right already cannot be helped"


@pytest.mark.parametrize("factor", [0.5, 2.5])
def test_the_temperature_makes_confidence_the_share_that_is_acceptable(factor):
    logits, targets = drawn(1500, seed=1)
    found = calibrate(factor * logits, targets)
    assert abs(found.figures["mean_confidence"] - found.figures["acceptable"]) < 0.05
    shifted = factor * logits + np.array(found.shift or 0)
    confidence = softmax(shifted, found.temperature).max(axis=1)
    right = acceptable(shifted, targets)
    error = calibration_error(confidence, right)
    assert error == pytest.approx(found.figures["expected_calibration_error"], abs=1e-4) and error < 0.08
    assert error < calibration_error(softmax(shifted).max(axis=1), right)


def test_a_confidence_that_is_right_has_no_error():
    confidence = np.repeat([0.2, 0.8], 500)
    right = np.concatenate([np.arange(500) % 5 == 0, np.arange(500) % 5 != 0])
    assert calibration_error(confidence, right, bins=2) == pytest.approx(0)
    assert calibration_error(confidence, ~right, bins=2) == pytest.approx(0.6)


def test_a_model_is_calibrated_on_turns_of_films_and_says_on_which(corpus):
    model = small_context_classifier()
    sure = [Taught(("yes", "no"), (target(HAPPY), target(SAD)))]
    order = {"films": "held-out turns of films", "crowd": "validation part of the crowd", "weak": "validation part of"}
    for left in range(3):
        held = vectors({**dict.fromkeys([*order][left:], sure), "none": []}, model)
        alone, seen = answers(model, held)
        told = calibrate_model(model, held, alone, seen)
        assert told["on"].startswith([*order.values()][left])
        assert told["turn"]["turns"] == told["dialogue"]["turns"] == 2
        assert told["turn"]["temperature"] == model.config.turn_temperature
        assert told["dialogue"]["temperature"] == model.config.dialogue_temperature
        assert told["dialogue"]["shift"] == model.config.label_shift
    held = vectors({"films": [Taught(("yes",), (target(HAPPY),))], "other": corpus["a"]}, model)
    assert calibrate_model(model, held, *answers(model, held)) == {}, "of one turn"
    with pytest.raises(ValueError, match="at least two labelled turns, got 1"):
        calibrate(np.zeros((1, 41), np.float32), np.eye(41, dtype=np.float32)[:1])
