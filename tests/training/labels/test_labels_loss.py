"""What a labelled turn teaches, and the loss over it."""

import math

import numpy as np
import pytest
import torch

from edos_dataset.labeling.models.context import ContextClassifierConfig
from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS, NEUTRAL
from training.labels.model import ANSWERS, CONVENTIONS, answers_over, convention_of, conventions_of
from training.labels.results import _CALIBRATED_ON
from training.labels.sources import NAMES
from training.labels.targets import INTENT_IDS, Kind, loss_of, target_of, target_of_reader, whole_set

ANGRY, SAD, ASKING, PLAIN = (LABEL_IDS[name] for name in ("angry", "sad", "questioning", NEUTRAL))


def named(target):
    return {LABELS[label] for label in np.flatnonzero(target.values)}


def rows_of(*labels):
    values = np.zeros((len(labels), len(LABELS)), np.float32)
    for row, own in enumerate(labels):
        values[row, list(own)] = 1
    return torch.from_numpy(values)


def losses(logits, values, kind, silent_weight=0.4, smoothing=0.0):
    wide = torch.from_numpy(whole_set(values.numpy()))
    return loss_of(logits, values, wide, torch.full((len(values),), int(kind)), silent_weight, smoothing)


@pytest.fixture
def logits():
    return torch.randn(3, len(LABELS), generator=torch.Generator().manual_seed(0)).double().requires_grad_()


def test_a_label_of_others_is_one_of_ours_and_kept_from_intents_where_the_set_is_silent():
    mad = target_of("emorynlp", ["mad"])
    assert named(mad) == {"angry", "annoyed", "furious", "disgusted", "jealous"} and mad.kind == Kind.EMOTION
    assert mad.holds(ANGRY) and not mad.holds(SAD)
    asked = target_of("dailydialog", ["no_emotion", "act:question"])
    assert named(asked) == {"questioning"} and asked.kind == Kind.ONE_OF, "it names an intent itself"
    assert target_of("goemotions", ["annoyance"]).kind == Kind.ONE_OF
    assert target_of("swda", ["%"]) is None and target_of("xed", []) is None


@pytest.mark.parametrize(
    ("names", "shares"),
    [
        (["anger"], {"angry": 1, "annoyed": 0.5, "furious": 1, "jealous": 1}),
        (["anger", "disgust"], {"angry": 1, "annoyed": 1, "furious": 1, "jealous": 1, "disgusted": 1, "ashamed": 0.5}),
    ],
)
def test_a_target_has_the_share_that_the_makers_label_has_of_each_of_ours(names, shares):
    values = target_of("xed", names).values
    assert values.dtype == np.float32 and values.shape == (len(LABELS),)
    assert {LABELS[label]: values[label] for label in np.flatnonzero(values)} == shares


@pytest.mark.parametrize(
    ("labels", "shares"),
    [([SAD], {SAD: 1}), ([SAD, ANGRY], {SAD: 0.65, ANGRY: 0.35}), ([ANGRY, SAD, ASKING], {ANGRY: 0.5, SAD: 0.28})],
)
def test_the_labels_of_a_reader_are_shares_the_best_first(labels, shares):
    target = target_of_reader(labels)
    assert target.kind == Kind.SHARES and target.values.sum() == pytest.approx(1)
    assert {label: target.values[label] for label in shares} == pytest.approx(shares)
    assert target_of_reader([]) is None


def test_no_emotion_may_be_any_intent_and_an_emotion_none():
    wide = whole_set(rows_of([PLAIN], [ANGRY, SAD], [PLAIN, SAD]).numpy()) > 0
    assert [set(np.flatnonzero(row)) for row in wide] == [
        {PLAIN, *INTENT_IDS},
        {ANGRY, SAD},
        {PLAIN, SAD, *INTENT_IDS},
    ]
    assert [LABELS[label] for label in INTENT_IDS] == list(INTENTS)


def test_shares_are_met_by_the_cross_entropy_smoothed(logits):
    values = torch.zeros(3, len(LABELS)).double()
    values[:, SAD], values[:, ASKING] = 0.65, 0.35
    smooth = 0.9 * values + 0.1 / len(LABELS)
    expected = torch.nn.functional.cross_entropy(logits, smooth, reduction="none")
    assert torch.allclose(losses(logits, values.float(), Kind.SHARES, smoothing=0.1).double(), expected)


def test_of_a_set_any_label_will_do(logits):
    chosen = [[ANGRY, SAD], [ASKING], list(range(len(LABELS)))]
    found = losses(logits, rows_of(*chosen), Kind.ONE_OF)
    probabilities = logits.detach().softmax(1)
    expected = [-math.log(float(probabilities[row, own].sum())) for row, own in enumerate(chosen)]
    assert found.tolist() == pytest.approx(expected)
    found[0].backward()
    pushed = -logits.grad[0]
    assert set(torch.nonzero(pushed > 0).ravel().tolist()) == {ANGRY, SAD}
    assert float(pushed[ANGRY] / pushed[SAD]) == pytest.approx(float(probabilities[0, ANGRY] / probabilities[0, SAD]))


def test_of_a_set_each_label_counts_by_its_part(logits):
    values = torch.zeros(3, len(LABELS))
    values[0, ANGRY], values[0, SAD] = 0.5, 1
    values[1, ASKING] = 0.25
    values[2] = 1 / 3
    probabilities = logits.detach().softmax(1)
    sums = [probabilities[0, ANGRY] / 2 + probabilities[0, SAD], probabilities[1, ASKING] / 4, torch.tensor(1 / 3)]
    expected = [-math.log(float(each)) for each in sums]
    found = losses(logits, values, Kind.ONE_OF)
    assert found.tolist() == pytest.approx(expected)
    found[0].backward()
    pushed = -logits.grad[0]
    assert float(pushed[ANGRY]) == pytest.approx(float(probabilities[0, ANGRY] * (0.5 / sums[0] - 1)))


def test_of_an_emotion_each_label_counts_by_its_part_and_intents_that_it_leaves_open_whole(logits):
    values = torch.zeros(3, len(LABELS))
    values[0, ANGRY], values[0, SAD] = 0.5, 1
    values[1, PLAIN] = 0.25
    values[2, PLAIN], values[2, SAD] = 1, 0.5
    others = [label for label in range(len(LABELS)) if label not in INTENT_IDS]
    parts = values[:, others].double()
    among, whole = logits.detach()[:, others].softmax(1), logits.detach().softmax(1)
    narrow = (among * parts).sum(1)
    wide = (whole[:, others] * parts).sum(1) + whole[:, list(INTENT_IDS)].sum(1) * torch.tensor([0, 1, 1])
    expected = -narrow.log() - 0.4 * wide.log()
    assert losses(logits, values, Kind.EMOTION, silent_weight=0.4).tolist() == pytest.approx(expected.tolist())


def test_where_intents_are_not_asked_for_only_the_weight_of_silence_moves_them(logits):
    chosen = [[ANGRY], [PLAIN], [SAD, PLAIN]]
    values, others = rows_of(*chosen), [label for label in range(len(LABELS)) if label not in INTENT_IDS]
    among = logits.detach()[:, others].softmax(1)
    expected = [
        -math.log(sum(float(among[row, others.index(label)]) for label in own)) for row, own in enumerate(chosen)
    ]
    alone = losses(logits, values, Kind.EMOTION, silent_weight=0.0)
    assert alone.tolist() == pytest.approx(expected)
    alone.sum().backward()
    assert float(logits.grad[:, list(INTENT_IDS)].abs().max()) == 0
    logits.grad = None
    wider = [[ANGRY], [PLAIN, *INTENT_IDS], [SAD, PLAIN, *INTENT_IDS]]
    more = losses(logits, rows_of(*wider), Kind.ONE_OF)
    both = losses(logits, values, Kind.EMOTION, silent_weight=0.4)
    assert both.tolist() == pytest.approx((alone + 0.4 * more).tolist())
    both.sum().backward()
    intents = logits.grad[:, list(INTENT_IDS)]
    assert (intents[0] > 0).all(), "anger is no intent"
    assert (intents[1] < 0).all(), "no emotion may be one"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_kinds_stand_mixed_and_no_precision_makes_a_loss_or_gradient_that_is_no_number(dtype):
    logits = (20 * torch.randn(6, len(LABELS), generator=torch.Generator().manual_seed(1))).to(dtype).requires_grad_()
    values = rows_of([SAD], [SAD, ASKING], [SAD], [PLAIN], [ASKING], [ASKING])
    kinds = torch.tensor([Kind.SHARES, Kind.ONE_OF, Kind.EMOTION, Kind.EMOTION, Kind.SHARES, Kind.ONE_OF])
    wide = torch.from_numpy(whole_set(values.numpy()))
    mixed = loss_of(logits.float(), values, wide, kinds, 0.4, 0.05)
    alone = [loss_of(logits[[row]].float(), values[[row]], wide[[row]], kinds[[row]], 0.4, 0.05) for row in range(6)]
    assert mixed.tolist() == pytest.approx(torch.cat(alone).tolist())
    loss_of(logits, values, wide, kinds, 0.4, 0.05).sum().backward()
    assert torch.isfinite(mixed).all() and torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("source", NAMES)
def test_every_source_has_one_convention(source):
    assert [name for name, own in CONVENTIONS.items() if source in own] == [convention_of(source)]


def test_a_convention_is_of_sources_that_there_are():
    assert sorted(source for own in CONVENTIONS.values() for source in own) == sorted(NAMES)
    assert conventions_of(NAMES) == list(CONVENTIONS)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_made_of_conventions_that_there_are_and_calibrated_on_a_source_of_one_of_them(name):
    answer = ANSWERS[name]
    assert answer.sees in ("turn", "history")
    assert answer.conventions and answer.conventions.keys() <= CONVENTIONS.keys()
    assert min(answer.conventions.values()) > 0
    assert convention_of(answer.calibrated_on) in answer.conventions and answer.calibrated_on in _CALIBRATED_ON


def test_the_answer_for_texts_of_any_kind_is_the_first_and_of_two_answers_neither_is_the_other():
    assert list(ANSWERS) == ["general", "dialogue", "weak"]
    assert {name: answer.sees for name, answer in ANSWERS.items()} == {
        "general": "history",
        "dialogue": "history",
        "weak": "turn",
    }
    assert len({(answer.sees, *answer.conventions.items()) for answer in ANSWERS.values()}) == len(ANSWERS)


@pytest.mark.parametrize(
    ("sources", "conventions"),
    [
        (["films"], ["reader"]),
        (["swda", "films", "esconv"], ["reader", "acts"]),
        (["weak_annotated", "crowd_undecided"], ["crowd", "situations"]),
        ([], []),
    ],
)
def test_conventions_come_in_one_order_each_once(sources, conventions):
    assert conventions_of(sources) == conventions_of(dict.fromkeys(reversed(sources), 1.0)) == conventions


@pytest.mark.parametrize(
    ("conventions", "general", "dialogue", "weak"),
    [
        (["crowd"], {"crowd": 4.0}, {"crowd": 1.0}, {"crowd": 1.0}),
        (
            ["reader", "crowd", "xed"],
            {"reader": 6.0, "crowd": 4.0, "xed": 3.0},
            {"crowd": 1.0},
            {"reader": 2.0, "xed": 2.0},
        ),
        (
            ["meld", "emorynlp"],
            {"meld": 6.0, "emorynlp": 1.0},
            {"meld": 1.0, "emorynlp": 1.0},
            {"meld": 4.0, "emorynlp": 1.0},
        ),
    ],
)
def test_of_few_conventions_an_answer_has_what_it_can_or_all_alike(conventions, general, dialogue, weak):
    found = answers_over(conventions)
    intents = found["general"].pop("intents")
    assert intents["labels"] == [LABELS.index(name) for name in INTENTS]
    assert intents["conventions"].keys() == general.keys()
    offsets = dict(zip(LABELS, found["general"].pop("offsets"), strict=True))
    assert offsets["sympathizing"] > 0 == offsets["questioning"]
    assert found == {
        "general": {"sees": "history", "conventions": general, "temperature": 1.0},
        "dialogue": {"sees": "history", "conventions": dialogue, "temperature": 1.0},
        "weak": {"sees": "turn", "conventions": weak, "temperature": 1.0},
    }
    config = ContextClassifierConfig(conventions=conventions, answers=found)
    assert config.answer == "general"
    found["weak"]["temperature"], found["weak"]["conventions"] = 2.0, {}
    assert answers_over(conventions) != found, "what one model is given is not another's"


def test_a_source_without_a_convention_is_told_where_to_get_one():
    with pytest.raises(ValueError, match=r"the source 'mine' has no convention: add it to .* in .*model\.py"):
        convention_of("mine")


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_model_of_one_convention_can_be_made(name):
    config = ContextClassifierConfig(conventions=[name], answers=answers_over([name]))
    assert all(set(answer["conventions"]) == {name} for answer in config.answers.values())
