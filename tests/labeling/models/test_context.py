"""The model with one encoder and two heads: what it reads, and that a dialogue's labels depend on nothing else."""

import json
import re
import subprocess

import pytest
import torch

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.context_network import ContextLayer, ConventionHead
from edos_dataset.labeling.models.dialogue_pipeline import sequence, split_turns
from edos_dataset.labels import INTENTS, LABELS
from pipeline_script import PIPELINE
from small_models import ANSWERS, CONVENTIONS, save_context_classifier, small_context_classifier

DIALOGUES = [[[7, 8], [9] * 20, [], [11], [12, 13], [14, 15, 16]], [[7]], [[], [9]], [[20, 21]] * 9]
"""Token ids of turns: a long one, empty ones, more than the window."""


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows]), mask


def flat(model: ContextClassifier, dialogues) -> tuple[torch.Tensor, torch.Tensor]:
    """The vectors of turns, encoded as a labeler does, and the row of each one's first turn."""
    most = model.config.turn_tokens - 2
    vectors = model.encode(*padded([[2, *turn[:most], 3] for dialogue in dialogues for turn in dialogue]))
    starts = [sum(map(len, dialogues[:row])) for row, dialogue in enumerate(dialogues) for _ in dialogue]
    return vectors, torch.tensor(starts)


@pytest.mark.parametrize(("kind", "separators"), [("bert", 1), ("roberta", 2)])
@pytest.mark.parametrize("answer", ANSWERS)
def test_whole_dialogues_and_turns_one_by_one_get_the_same_labels(kind, separators, answer):
    model = small_context_classifier(kind, separators=separators, answer=answer)
    rows = [sequence(dialogue, 2, 3, separators, 512) for dialogue in DIALOGUES]
    last = torch.tensor([len(dialogue) for dialogue in DIALOGUES]).cumsum(0) - 1
    with torch.inference_mode():
        found = model(*padded(rows)).logits
        vectors, starts = flat(model, DIALOGUES)
        expected = model.label(vectors, starts)
        alone = torch.cat([model(torch.tensor([row])).logits for row in rows])
    assert (found - expected[last]).abs().max() < 1e-5
    assert (found - alone).abs().max() < 1e-5, "neither padding nor the dialogues beside it count"
    assert found.std(0).min() > 0.05, "the dialogues differ"


def test_a_turn_is_seen_with_those_before_it_as_far_as_the_layers_reach():
    model = small_context_classifier(window=2, context_layers=2)
    turns = [[[5 + number % 30] for number in range(9)]]
    with torch.inference_mode():
        vectors, starts = flat(model, turns)
        before = {name: model.label(vectors, starts, name) for name in ANSWERS}
        for changed in range(9):
            other = vectors.clone()
            other[changed] = other[changed].flip(0)
            moved = {
                name: ((model.label(other, starts, name) - before[name]).abs().amax(1) > 1e-6).tolist()
                for name in ANSWERS
            }
            assert moved["dialogue"] == [changed <= turn <= changed + 4 for turn in range(9)]
            assert moved["weak"] == [changed == turn for turn in range(9)]


def test_the_attention_is_that_of_its_formula():
    """Turn by turn, with the turns that it looks at gathered."""
    torch.manual_seed(0)
    layer, vectors = ContextLayer(16, 4, 3, 0.0).eval(), torch.randn(7, 16)
    places = torch.tensor([0, 1, 2, 3, 4, 0, 1])
    with torch.inference_mode():
        normed, rows = layer.attention_norm(vectors), []
        for turn, place in enumerate(places.tolist()):
            seen = [turn - back for back in range(min(place, 3) + 1)]
            query = layer.query(normed[turn]).view(4, 4)
            key, value = (part(normed[seen]).view(-1, 4, 4) for part in (layer.key, layer.value))
            scores = torch.einsum("hd,khd->hk", query, key) / 2 + layer.distance.weight[:, : len(seen)]
            rows.append(torch.einsum("hk,khd->hd", scores.softmax(1), value).flatten())
        hidden = vectors + layer.mix(torch.stack(rows))
        expected = hidden + layer.narrow(torch.nn.functional.gelu(layer.widen(layer.feed_norm(hidden))))
        assert (layer(vectors, places) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("separators", [1, 2])
def test_sequences_come_apart_as_they_were_put_together(separators):
    ids, mask = padded([sequence(dialogue, 2, 3, separators, 512) for dialogue in DIALOGUES])
    parts = {"start": 2, "separator": 3, "separators": separators, "padding": 0, "turn_tokens": 12}
    turns, kept, counts = split_turns(ids, mask, **parts)
    assert counts.tolist() == [6, 1, 2, 9]
    expected = [[2, *turn[:10], 3] for dialogue in DIALOGUES for turn in dialogue]
    assert [row[: sum(seen)] for row, seen in zip(turns.tolist(), kept.tolist(), strict=True)] == expected
    assert not turns[kept == 0].any()
    newest, kept, counts = split_turns(ids, mask, newest=1, **parts)
    assert counts.tolist() == [1] * 4
    assert newest[kept > 0].tolist() == sum(([2, *dialogue[-1], 3] for dialogue in DIALOGUES), [])


def asked(sees="history", temperature=1.0, **factors):
    """An answer's settings."""
    return {"sees": sees, "conventions": factors, "temperature": temperature}


@pytest.mark.parametrize("sees", ["turn", "history"])
@pytest.mark.parametrize(
    ("factors", "temperature"),
    [({"one": 0.5, "three": 2.0}, 1.0), ({"three": 4, "two": 1, "one": 0.1}, 2.5), ({"two": 7.0}, 0.5)],
)
def test_an_answer_is_the_mean_of_what_its_conventions_say_by_their_odds_and_factors(sees, factors, temperature):
    conventions = ["one", "two", "three"]
    answers = {"other": asked(one=1.0), "mixed": asked(sees, temperature, **factors)}
    model = small_context_classifier(conventions=conventions, answers=answers)
    with torch.inference_mode():
        for head in (model.turn_head, model.dialogue_head):
            head.gate.weight *= 0.2
        vectors, starts = flat(model, DIALOGUES)
        logits, odds = model.see_turns(vectors) if sees == "turn" else model.see_dialogues(vectors, starts)
        assert logits.shape == (len(vectors), 3, len(LABELS)) and odds.shape == (len(vectors), 3)
        weights = odds.double().exp() * torch.tensor([float(factors.get(name, 0)) for name in conventions])
        weights = weights / weights.sum(1, keepdim=True)
        mean = sum(weights[:, [row]] * logits[:, row].double().softmax(1) for row in range(3))
        found = model.label(vectors, starts, "mixed")
    assert torch.allclose(found.double(), mean.log() / temperature, atol=1e-4)
    assert odds.std(0).min() > 0.01, "the odds differ from turn to turn"


@pytest.mark.parametrize("sees", ["turn", "history"])
def test_intents_may_have_factors_of_their_own(sees):
    plain = {"all": asked(sees, crowd=1.0, meld=2.0), "theirs": asked(sees, meld=1.0)}
    intents = [LABELS.index(name) for name in INTENTS]
    both = asked(sees, 2.0, crowd=1.0, meld=2.0) | {"intents": {"labels": intents, "conventions": {"meld": 1.0}}}
    model = small_context_classifier(answers=plain | {"both": both})
    with torch.inference_mode():
        vectors, starts = flat(model, DIALOGUES)
        found, expected, theirs = (model.label(vectors, starts, name) for name in ("both", "all", "theirs"))
    assert not torch.allclose(expected[:, intents], theirs[:, intents], atol=1e-3)
    emotions = [label for label in range(len(LABELS)) if label not in intents]
    assert torch.allclose(found[:, intents], theirs[:, intents] / 2, atol=1e-5)
    assert torch.allclose(found[:, emotions], expected[:, emotions] / 2, atol=1e-5)
    logits, odds = model.see_dialogues(vectors.clone().requires_grad_(), starts)
    model.mix(logits, odds, "both").sum().backward()  # as when others fine-tune it


def test_offsets_are_added_before_the_temperature():
    offsets = [0.1 * number for number in range(len(LABELS))]
    plain = asked("turn", 2.0, crowd=1.0, meld=2.0)
    model = small_context_classifier(answers={"plain": plain, "lifted": plain | {"offsets": offsets}})
    with torch.inference_mode():
        vectors, starts = flat(model, DIALOGUES)
        lift = model.label(vectors, starts, "lifted") - model.label(vectors, starts, "plain")
    assert torch.allclose(lift, torch.tensor(offsets).expand_as(lift) / 2, atol=1e-5)
    with pytest.raises(ValueError, match="the answer 'a' has 2 offsets for 41 labels"):
        small_context_classifier(answers={"a": plain | {"offsets": [1.0, 2.0]}})


def test_intents_that_are_no_labels():
    intents = {"labels": [3, len(LABELS)], "conventions": {"crowd": 1.0}}
    with pytest.raises(ValueError, match="label 41 of the intents of the answer 'a' is none of 41 labels"):
        small_context_classifier(answers={"a": asked(crowd=1.0) | {"intents": intents}})


def test_of_one_convention_neither_odds_nor_factor_count():
    answers = {"small": asked(meld=0.01), "large": asked(meld=100.0)}
    model = small_context_classifier(answers=answers)
    with torch.inference_mode():
        vectors, starts = flat(model, DIALOGUES)
        expected = model.see_dialogues(vectors, starts)[0][:, CONVENTIONS.index("meld")].log_softmax(1)
        for name in answers:
            assert torch.allclose(model.label(vectors, starts, name), expected, atol=1e-5)


def test_conventions_agree_before_they_are_learned_and_every_distance_is_alike():
    model = ContextClassifier(small_context_classifier().config).eval()
    vectors, starts = torch.randn(6, 32, generator=torch.Generator().manual_seed(0)), torch.zeros(6, dtype=int)
    with torch.inference_mode():
        for logits, _ in (model.see_turns(vectors), model.see_dialogues(vectors, starts)):
            assert torch.equal(logits[:, 0], logits[:, 1]) and logits.std(0).min() > 0
    assert not any(layer.distance.weight.any() for layer in model.context_layers)


def test_a_model_is_made_to_give_its_first_answer_or_the_one_that_is_named():
    first, named = ContextClassifierConfig(answers=(own := {"b": asked(own=1), "a": asked("turn", own=1)})), "a"
    assert (first.answer, first.context) == ("b", None)
    other = ContextClassifierConfig(answers=own, answer=named)
    assert (other.answer, other.context) == ("a", 0)
    assert ContextClassifierConfig().answers == {"own": asked(own=1.0)}
    assert ContextClassifierConfig(conventions=["x", "y"]).answers == {"own": asked(x=1.0)}


def test_a_saved_model_keeps_which_answer_is_given(tmp_path):
    answers = {"b": asked(meld=1.0), "a": asked("turn", crowd=1.0)}
    for answer in (None, "a", "b"):
        model = save_context_classifier(tmp_path / str(answer), answers=answers, answer=answer)
        again = ContextClassifierConfig.from_pretrained(tmp_path / str(answer))
        assert (again.answer, again.context) == (model.config.answer, 0 if answer == "a" else None)
        assert again.answers == answers and again.conventions == CONVENTIONS


def test_every_weight_is_trained_by_the_two_heads():
    model = small_context_classifier().train()
    vectors, starts = flat(model, DIALOGUES)
    heads = [model.see_turns(vectors), model.see_dialogues(vectors, starts)]
    sum(part.log_softmax(-1)[..., 0].sum() for head in heads for part in head).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_the_loss_is_the_mean_cross_entropy_of_the_answer():
    model, labels = small_context_classifier(), torch.eye(41)[[3, 5]]
    done = model(*padded([sequence(DIALOGUES[row], 2, 3, 1, 512) for row in (1, 3)]), labels=labels)
    by_hand = -(done.logits.log_softmax(1) * labels).sum(1).mean()
    assert float(done.loss.detach()) == pytest.approx(float(by_hand.detach())) and done.loss > 0


@pytest.mark.parametrize(
    "settings",
    [
        *({name: value} for name in ("window", "context_layers") for value in (-1, 1.5, True)),
        *({name: 0} for name in ("context_heads", "separators")),
        *({name: 2} for name in ("turn_tokens", "max_tokens")),
        *({"dropout": value} for value in (1, -0.1, "0", float("nan"))),
        {"start_id": -1},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        ContextClassifierConfig(num_labels=41, **settings)


@pytest.mark.parametrize("conventions", [[], "own", 7, {"own": 1}, [7], ["own", None], ("own",)])
@pytest.mark.parametrize("answers", [None, {"own": asked(own=1)}])
def test_conventions_that_are_no_names(conventions, answers):
    message = f"conventions must be names, at least one, got {conventions!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        ContextClassifierConfig(conventions=conventions, answers=answers)


_OF_A = "of the answer 'a'"
_PARTS = "the answer 'a' must have sees, conventions and temperature, got "
_FACTORS = "conventions of the answer 'a' must be numbers above 0 for some of own, more, got "


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        *((value, f"answers must be settings by name, at least one, got {value!r}") for value in ({}, [], "own", 7)),
        *(({"a": value}, f"{_PARTS}{value!r}") for value in (None, "turn", {}, {"sees": "turn"})),
        ({"a": asked(own=1) | {"shift": 0}}, _PARTS),
        ({"b": asked(own=1), "a": 1.0}, f"{_PARTS}1.0"),
        *(
            ({"a": asked(sees, own=1)}, f"the answer 'a' must see 'turn' or 'history', got {sees!r}")
            for sees in ("turns", None, 0, ["turn"])
        ),
        *(
            ({"a": asked("turn", value, own=1)}, f"temperature of the answer 'a' must be above 0, got {value!r}")
            for value in (0, -1.0, "1", True, None, float("nan"), float("inf"))
        ),
        *(({"a": asked(own=value)}, f"{_FACTORS}{{'own': {value!r}}}") for value in (0, -1, "1", True, float("inf"))),
        ({"a": asked()}, f"{_FACTORS}{{}}"),
        ({"a": asked(own=1, others=1)}, f"{_FACTORS}{{'own': 1, 'others': 1}}"),
        ({"a": asked() | {"conventions": ["own"]}}, f"{_FACTORS}['own']"),
        *(
            (
                {"a": asked(own=1) | {"intents": value}},
                f"intents {_OF_A} must have labels and conventions, got {value!r}",
            )
            for value in (None, [], {"labels": [1]}, {"labels": [1], "conventions": {"own": 1}, "sees": "turn"})
        ),
        *(
            (
                {"a": asked(own=1) | {"intents": {"labels": value, "conventions": {"own": 1}}}},
                f"labels of the intents {_OF_A} must be whole numbers, at least one, got {value!r}",
            )
            for value in (None, [], 3, ["sad"], [1, -1], [True], [1.0])
        ),
        *(
            ({"a": asked(own=1) | {"offsets": value}}, f"offsets {_OF_A} must be numbers, got {value!r}")
            for value in (None, 3, ["1", 1], [float("nan"), 1.0], [True], {"1": 0.5})
        ),
        (
            {"a": asked(own=1) | {"intents": {"labels": [1], "conventions": {"others": 1}}}},
            f"conventions of the intents {_OF_A} must be numbers above 0 for some of own, more, got {{'others': 1}}",
        ),
    ],
)
def test_answers_that_no_model_can_give(answers, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ContextClassifierConfig(conventions=["own", "more"], answers=answers)


@pytest.mark.parametrize("answer", ["c", "", 7])
def test_an_answer_that_is_not_among_them(answer):
    with pytest.raises(ValueError, match=re.escape(f"answer must be one of b, a, got {answer!r}")):
        ContextClassifierConfig(answers={"b": asked(own=1), "a": asked(own=2)}, answer=answer)


@pytest.mark.parametrize("settings", [{"context_heads": 5}, {"turn_tokens": 513}, {"start_id": 4_000}])
def test_settings_that_do_not_go_with_the_encoder(settings):
    with pytest.raises(ValueError, match=r"the encoder has 512 positions, 40 tokens and a width of 32"):
        small_context_classifier(**settings)


def test_saved_model_runs_in_a_pipeline_without_this_package(tmp_path, environment):
    model = save_context_classifier(tmp_path, "roberta", separators=2)
    done = subprocess.run(["python", "-c", PIPELINE, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found, errors, batches = json.loads(done.stdout.splitlines()[-1])
    same = lambda answer: {"label": answer["label"], "score": pytest.approx(answer["score"], abs=1e-5)}  # noqa: E731
    [dialogue] = found["turns"]
    assert (
        found["spoken"] == found["chat"] == found["rows"] == [dialogue] and found["dialogues"] == [same(dialogue)] * 4
    )
    assert (
        found["text"] == [same(found["everything"][0])] == [same(found["texts"][2])] and len(found["everything"]) == 41
    )
    assert found["texts"] == [same(answers[0]) for answers in found["texts_top_2"]]
    assert found["keys"] == found["generator"] and found["keys"][2] == same(dialogue)
    assert dialogue["score"] != pytest.approx(found["text"][0]["score"], rel=1e-3), "the history changes the answer"
    assert batches.count(3) == 1 and errors[1] == "" and all(errors[:1] + errors[2:])
    texts = [[5, 9, 22, 25], [30, 38], [6, 10, 24, 36]]  # the words of PIPELINE's texts in the small vocabulary
    with torch.inference_mode():
        vectors, starts = flat(model, [texts])
        by_hand = model.label(vectors, starts, "dialogue")[-1].softmax(-1)
    assert dialogue == {"label": LABELS[int(by_hand.argmax())], "score": pytest.approx(float(by_hand.max()), abs=1e-6)}


@pytest.fixture
def head():
    torch.manual_seed(0)
    return ConventionHead(width=6, inner=5, labels=4, conventions=3, dropout=0.5).eval()


@pytest.fixture
def vectors():
    return torch.randn(7, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()


def test_each_convention_adds_its_own_to_what_all_share(head, vectors):
    logits, odds = head(vectors)
    assert logits.shape == (7, 3, 4) and odds.shape == (7, 3)
    linear = head.hidden[1]
    for row, vector in enumerate(vectors):
        hidden = (linear.weight @ vector + linear.bias).tanh()
        shared = head.shared.weight @ hidden + head.shared.bias
        for convention in range(3):
            own = head.own.weight[4 * convention : 4 * convention + 4] @ hidden
            assert torch.allclose(logits[row, convention], shared + own, atol=1e-6)
        assert torch.allclose(odds[row], head.gate.weight @ hidden + head.gate.bias, atol=1e-6)


def test_the_gate_learns_and_teaches_nothing_that_comes_before_it(head, vectors):
    head(vectors)[1].square().sum().backward()
    assert vectors.grad is None
    assert {name for name, value in head.named_parameters() if value.grad is not None} == {"gate.weight", "gate.bias"}
    assert head.gate.weight.grad.any()


@pytest.mark.parametrize("convention", range(3))
def test_a_label_teaches_its_own_convention_what_all_share_and_what_comes_in(head, vectors, convention):
    head(vectors)[0][:, convention, 0].sum().backward()
    moved = [bool(own.any()) for own in head.own.weight.grad.view(3, 4, 5)]
    assert moved == [number == convention for number in range(3)]
    assert vectors.grad.any() and head.shared.weight.grad[0].any() and not head.shared.weight.grad[1:].any()
    assert head.gate.weight.grad is None


def test_values_are_dropped_in_training_only(head, vectors):
    assert torch.equal(head(vectors)[0], head(vectors)[0])
    assert not torch.equal(head.train()(vectors)[0], head(vectors)[0])
