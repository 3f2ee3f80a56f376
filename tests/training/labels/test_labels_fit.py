"""Updates of both heads at once, by parts of dialogues."""

import copy
import math
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from classifier_fixtures import read_log
from edos_dataset.labels import LABEL_IDS, LABELS
from small_models import small_context_classifier, small_tokenizer
from training.labels.answers import answers_of, hits, vectors_of
from training.labels.fit import batches_of, fingerprint, fit, head_loss, take_step
from training.labels.model import JointModel, turn_ids
from training.labels.plan import lessons_of, turns_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Kind, Target, loss_of, whole_set
from training.loop import linear_rate

pytestmark = pytest.mark.usefixtures("one_thread")
HAPPY, SAD, PLAIN = (LABEL_IDS[name] for name in ("joyful", "sad", "neutral"))
RECIPE = LabelsRecipe(
    sources={"meld": 1.0, "crowd": 1.0},
    turn_tokens=12,
    repeats=99,
    span=4,
    history=1,
    dropout=0.0,
    encoder_dropout=0.0,
    label_smoothing=0.1,
    encode_tokens=24,
)


def target(label, kind=Kind.SHARES):
    return Target(np.eye(len(LABELS), dtype=np.float32)[label], kind)


def still(**settings):
    """A small model that drops nothing."""
    model = small_context_classifier(dropout=0.0, context_layers=1, **settings)
    for each in model.modules():
        if isinstance(each, torch.nn.Dropout):
            each.p = 0.0
    model.encoder.config.attention_probs_dropout_prob = 0.0
    return model


@pytest.fixture
def lessons():
    yes, no, happy = target(1), target(2, Kind.ONE_OF), target(HAPPY, Kind.EMOTION)
    train = {
        "meld": [
            Taught(("yes", "no", "i am so very happy today .", "yes", "why ?"), (None, no, None, yes, happy)),
            Taught(("i am happy",), (happy,)),
        ],
        "crowd": [Taught(("you are sad today", "yes"), (None, yes)), Taught(("no", "oh no !"), (no, no))],
    }
    return lessons_of(train, RECIPE)


def ids_of(lessons):
    return turn_ids(lessons.texts, small_tokenizer(), RECIPE.turn_tokens)


def losses_by_hand(model, parts, lessons):
    """Loss of every labelled turn by both heads, each by its own convention and with a tenth of the gate's; the turns
    are encoded one by one, each part is seen alone.
    """
    found = []
    for part in parts:
        turns, starts, chosen = turns_of([part], lessons.bounds, lessons.labelled)
        ids = [ids_of(lessons)[turn] for turn in turns]
        vectors = torch.cat([model.encode(torch.tensor([row]), torch.ones(1, len(row), dtype=int)) for row in ids])
        rows = lessons.labelled[turns[chosen]]
        truth = lessons.values[rows], lessons.wide[rows], lessons.kinds[rows]
        whose = lessons.conventions[rows]
        for logits, odds in (model.see_turns(vectors), model.see_dialogues(vectors, torch.from_numpy(starts))):
            own = torch.stack([logits[turn, number] for turn, number in zip(chosen, whose, strict=True)])
            gate = -odds[chosen].log_softmax(1)[torch.arange(len(whose)), whose]
            found.append(loss_of(own, *truth, RECIPE.silent_weight, RECIPE.label_smoothing) + 0.1 * gate)
    return torch.cat(found)


def step(model, parts, lessons, recipe=RECIPE, accelerator=None):
    """Take a step of plain gradient descent of rate 1; return the loss."""
    accelerator = accelerator or Accelerator(cpu=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return take_step(JointModel(model), optimizer, np.array(parts), ids_of(lessons), lessons, 0, recipe, accelerator)


def test_turns_of_like_length_are_encoded_together_and_found_again():
    inputs = [[2, 5, 3], [2, 5, 6, 7, 8, 3], [2, 3], [2, 9, 3], [2, 6, 7, 8, 3]]
    batches, order = batches_of(inputs, 0, 12)
    assert all(ids.numel() <= 12 for ids, _ in batches) and len(batches) == 2
    rows = [row[kept > 0].tolist() for ids, mask in batches for row, kept in zip(ids, mask, strict=True)]
    assert [rows[place] for place in order] == inputs


@pytest.mark.parametrize("encode_tokens", [1, 24, 999])
def test_both_heads_answer_as_the_model_does_whatever_is_encoded_together(lessons, encode_tokens):
    model = still().train()
    turns, starts, chosen = turns_of(range(len(lessons.bounds) - 1), lessons.bounds, lessons.labelled)
    inputs = [ids_of(lessons)[turn] for turn in turns]
    batches, order = batches_of(inputs, 0, encode_tokens)
    heads = JointModel(model)(batches, *map(torch.from_numpy, (order, starts, chosen)))
    vectors = torch.cat([model.encode(torch.tensor([row]), torch.ones(1, len(row), dtype=int)) for row in inputs])
    expected = model.see_turns(vectors), model.see_dialogues(vectors, torch.from_numpy(starts))
    for head, said in zip(heads, expected, strict=True):
        for found, part in zip(head, said, strict=True):
            assert len(found) == len(chosen) < len(part) and torch.allclose(found, part[chosen], atol=1e-4)


@pytest.mark.parametrize("whose", [[0, 1, 1], [2, 2, 0]])
def test_a_head_learns_from_a_turn_its_own_convention_and_whose_it_is(whose):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 3, len(LABELS), generator=generator).requires_grad_()
    odds = torch.randn(3, 3, generator=generator).requires_grad_()
    values = torch.eye(len(LABELS))[[HAPPY, SAD, PLAIN]]
    truth = values, torch.from_numpy(whole_set(values.numpy())), torch.tensor([Kind.SHARES, Kind.ONE_OF, Kind.EMOTION])
    found = head_loss(logits, odds, torch.tensor(whose), truth, (0.4, 0.1))
    for row, number in enumerate(whose):
        own = loss_of(logits[[row], number], *(part[[row]] for part in truth), 0.4, 0.1)
        gate = math.log(float((odds[row] - odds[row, number]).exp().sum().detach()))
        assert float(found[row].detach()) == pytest.approx(float(own.detach()) + 0.1 * gate, rel=1e-5)
    found.sum().backward()
    learned = logits.grad.abs().sum(2) > 0
    assert learned.tolist() == [[number == own for number in range(3)] for own in whose]
    assert [int(row.argmin()) for row in odds.grad] == whose, "their odds rise, the others' fall"


@pytest.mark.parametrize("micro_tokens", [1, 20, 9999])
def test_a_step_goes_down_the_mean_loss_of_all_labelled_turns_however_it_is_cut(lessons, micro_tokens):
    model, parts = still().train(), [3, 0, 2]
    expected = copy.deepcopy(model)
    loss = losses_by_hand(expected, parts, lessons).mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(expected.parameters(), 0.5)
    assert norm > 0.5, "so that the norm of the gradient counts"
    before = {name: value.clone() for name, value in model.named_parameters()}
    found = step(model, parts, lessons, replace(RECIPE, micro_tokens=micro_tokens, gradient_norm=0.5))
    assert found == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in expected.named_parameters():
        taken = before[name] - model.get_parameter(name)
        wanted = torch.zeros_like(taken) if parameter.grad is None else parameter.grad
        assert torch.allclose(taken, wanted, atol=2e-5), name
        assert parameter.grad is None or parameter.grad.any() or name.endswith("key.bias"), f"{name} learns nothing"


class Process:
    """One of several processes: it keeps its gradients, which the others' are averaged with."""

    device = torch.device("cpu")
    backwards = 0

    def __init__(self, index, processes):
        self.process_index, self.num_processes, self.exchanged = index, processes, []

    def no_sync(self, _):
        self.exchanged.append(False)
        return nullcontext()

    def backward(self, loss):
        if len(self.exchanged) == self.backwards:
            self.exchanged.append(True)
        self.backwards += 1
        loss.backward()

    def clip_grad_norm_(self, parameters, _):
        self.gradients = [parameter.grad for parameter in parameters]

    def reduce(self, value, _):
        return value


@pytest.mark.parametrize("parts", [[3, 0, 2, 1], [0]])
def test_the_gradients_of_several_processes_make_that_of_one_even_if_one_has_nothing(lessons, parts):
    model = still().train()
    processes = [Process(0, 1), Process(0, 2), Process(1, 2)]
    recipe = replace(RECIPE, micro_tokens=1)
    losses = [step(copy.deepcopy(model), parts, lessons, recipe, each) for each in processes]
    assert losses[0] == pytest.approx(losses[1] + losses[2], rel=1e-5)
    own = [len(parts[each.process_index :: each.num_processes]) or 1 for each in processes]
    assert [each.exchanged for each in processes] == [[False] * (count - 1) + [True] for count in own], "once, at last"
    for whole, *halves in zip(*(each.gradients for each in processes), strict=True):
        assert (whole is None) == (halves[0] is None) == (halves[1] is None)
        assert whole is None or torch.allclose(whole, sum(halves) / 2, atol=1e-5)


def test_every_trained_weight_has_its_rate_and_matrices_alone_decay():
    model = still()
    model.encoder.get_input_embeddings().requires_grad_(False)
    recipe = replace(RECIPE, learning_rate=1.0, context_rate=2.0, head_learning_rate=3.0, weight_decay=0.1)
    rates = {
        id(each): (group["lr"], group["weight_decay"])
        for group in JointModel(model).groups(recipe)
        for each in group["params"]
    }
    by_room = {"encoder": 1.0, "context_layers": 2.0, "context_norm": 3.0, "turn_head": 3.0, "dialogue_head": 3.0}
    expected = {
        id(value): (by_room[name.partition(".")[0]], 0.1 if value.ndim > 1 else 0.0)
        for name, value in model.named_parameters()
        if name != "encoder.embeddings.word_embeddings.weight"
    }
    assert rates == expected


def test_the_rate_rises_and_falls_to_nothing():
    factors = [linear_rate(update, 20, 0.2) for update in range(21)]
    assert factors[:5] == [0.25, 0.5, 0.75, 1.0, 1.0] and factors[20] == 0
    assert np.allclose(np.diff(factors[4:]), -1 / 16)


def test_both_heads_learn_at_once_and_that_for_dialogues_what_only_the_turn_before_tells(tmp_path):
    """The last turn is the same; the first says what it means. The other source teaches its own at the same time."""
    rule = [("i am very happy", "yes", HAPPY), ("you are so sad", "yes", SAD)]
    stated = [Taught((first, last), (None, target(label))) for first, last, label in rule] * 10
    plain = [Taught(("oh no", "what ?"), (target(PLAIN), target(PLAIN)))] * 3
    recipe = replace(RECIPE, updates=40, batch=24, evaluations=2, label_smoothing=0.0, averaging=0.5)
    recipe = replace(recipe, learning_rate=0.001, head_learning_rate=0.01, context_rate=0.01)
    held = {"meld": stated[:2], "crowd": plain[:1]}
    answers = {
        name: {"sees": sees, "conventions": {"meld": 1.0, "crowd": 1.0}, "temperature": 1.0}
        for name, sees in (("seen", "history"), ("alone", "turn"))
    }
    model, tokenizer, accelerator = still(answers=answers), small_tokenizer(), Accelerator(cpu=True)
    arguments = SimpleNamespace(out=tmp_path, checkpoint_every=100)
    lessons = lessons_of({"meld": stated, "crowd": plain}, recipe)
    progress = fit(JointModel(model), lessons, held, tokenizer, recipe, accelerator, arguments)
    vectors = vectors_of(held, model, tokenizer, recipe, accelerator)
    right = {name: hits(vectors, logits) for name, logits in answers_of(model, vectors, accelerator).items()}
    assert right["seen"] == {"meld": 1.0, "crowd": 1.0}
    assert right["alone"] == {"meld": 0.5, "crowd": 1.0}, "alone nobody can tell"
    log = read_log(tmp_path)
    losses = [entry["loss"] for entry in log if "loss" in entry]
    assert progress.update == len(losses) == 40 and losses[-1] < math.log(2) / 2
    looks = [entry for entry in log if "loss" not in entry]
    assert [sorted(entry) for entry in looks] == 2 * [
        ["right_seen_crowd", "right_seen_meld", "update"],
        ["right_alone_crowd", "right_alone_meld", "update"],
    ]
    assert [entry["update"] for entry in looks] == [20, 20, 40, 40] and looks[-2]["right_seen_meld"] == 1.0


def test_two_conventions_of_the_same_words_are_learned_side_by_side(tmp_path):
    """To the one the words are sad, to the other neutral; of words that only one has, the gate tells whose they are."""
    words = ["i am so sad", "oh no", "what ?"]
    taught = {
        name: [Taught((text,), (target(label),)) for text in [*words, own]] * 5
        for name, label, own in (("meld", SAD, "my dog"), ("crowd", PLAIN, "the train"))
    }
    answers = {
        name: {"sees": "turn", "conventions": factors, "temperature": 1.0}
        for name, factors in {"m": {"meld": 1.0}, "c": {"crowd": 1.0}, "both": {"crowd": 1.0, "meld": 1.0}}.items()
    }
    model, tokenizer, accelerator = still(answers=answers), small_tokenizer(), Accelerator(cpu=True)
    recipe = replace(RECIPE, updates=60, batch=24, evaluations=1, label_smoothing=0.0, averaging=0.5)
    recipe = replace(recipe, learning_rate=0.001, head_learning_rate=0.02, context_rate=0.01)
    arguments = SimpleNamespace(out=tmp_path, checkpoint_every=100)
    held = {name: dialogues[:4] for name, dialogues in taught.items()}
    fit(JointModel(model), lessons_of(taught, recipe), held, tokenizer, recipe, accelerator, arguments)
    vectors = vectors_of(held, model, tokenizer, recipe, accelerator)
    found = answers_of(model, vectors, accelerator)
    assert set(found["m"].argmax(1)) == {SAD} and set(found["c"].argmax(1)) == {PLAIN}
    own = [turn for text in ("my dog", "the train") for turn in [torch.tensor([tokenizer(text)["input_ids"]])]]
    with torch.inference_mode():
        coded = torch.cat([model.encode(ids, torch.ones_like(ids)) for ids in own])
        said = model.label(coded, torch.arange(2), "both").argmax(1).tolist()
    assert said == [SAD, PLAIN]


def test_a_checkpoint_is_only_of_the_same_lessons(lessons):
    ids = ids_of(lessons)
    known = fingerprint(RECIPE, ids, lessons)
    others = [
        fingerprint(replace(RECIPE, seed=1), ids, lessons),
        fingerprint(RECIPE, [*ids[:-1], [2, 3]], lessons),
        *(
            fingerprint(RECIPE, ids, replace(lessons, **{name: getattr(lessons, name) + 1}))
            for name in ("bounds", "labelled", "values", "kinds", "conventions")
        ),
    ]
    assert fingerprint(RECIPE, ids, lessons) == known and all(other != known for other in others)
