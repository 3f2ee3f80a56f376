"""The model with one encoder and two heads: what it reads, and that a dialogue's labels depend on nothing else."""

import json
import subprocess

import pytest
import torch

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.context_layer import ContextLayer
from edos_dataset.labeling.models.dialogue_pipeline import sequence, split_turns
from edos_dataset.labels import LABELS
from pipeline_script import PIPELINE
from small_models import save_context_classifier, small_context_classifier

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
@pytest.mark.parametrize("context", [None, 0])
def test_whole_dialogues_and_turns_one_by_one_get_the_same_labels(kind, separators, context):
    model = small_context_classifier(
        kind, separators=separators, context=context, label_shift=[0.1 * n for n in range(41)]
    )
    rows = [sequence(dialogue, 2, 3, separators, 512) for dialogue in DIALOGUES]
    last = torch.tensor([len(dialogue) for dialogue in DIALOGUES]).cumsum(0) - 1
    with torch.inference_mode():
        found = model(*padded(rows)).logits
        vectors, starts = flat(model, DIALOGUES)
        expected = model.label_turns(vectors) if context == 0 else model.label_dialogues(vectors, starts)
        alone = torch.cat([model(torch.tensor([row])).logits for row in rows])
    assert (found - expected[last]).abs().max() < 1e-5
    assert (found - alone).abs().max() < 1e-5, "neither padding nor the dialogues beside it count"
    assert found.std(0).min() > 0.1, "the dialogues differ"


def test_a_turn_is_seen_with_those_before_it_as_far_as_the_layers_reach():
    model = small_context_classifier(window=2, context_layers=2)
    turns = [[[5 + number % 30] for number in range(9)]]
    with torch.inference_mode():
        vectors, starts = flat(model, turns)
        before = model.label_dialogues(vectors, starts)
        for changed in range(9):
            other = vectors.clone()
            other[changed] = other[changed].flip(0)
            moved = (model.label_dialogues(other, starts) - before).abs().amax(1) > 1e-6
            assert moved.tolist() == [changed <= turn <= changed + 4 for turn in range(9)]


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


def test_temperatures_and_the_shift_count_outside_of_training_only():
    shift = [0.0] * 40 + [3.0]
    plain = small_context_classifier(dropout=0.0)
    warm = small_context_classifier(dropout=0.0, turn_temperature=2.0, dialogue_temperature=4.0, label_shift=shift)
    vectors, starts = flat(plain, DIALOGUES)
    assert torch.allclose(plain.label_turns(vectors), warm.label_turns(vectors) * 2, atol=1e-5)
    expected = plain.label_dialogues(vectors, starts) + torch.tensor(shift)
    assert torch.allclose(expected, warm.label_dialogues(vectors, starts) * 4, atol=1e-5)
    for model in (plain, warm):
        model.train()
    assert torch.equal(plain.label_turns(vectors), warm.label_turns(vectors))
    assert torch.equal(plain.label_dialogues(vectors, starts), warm.label_dialogues(vectors, starts))


def test_every_weight_is_trained_by_the_two_heads():
    model = small_context_classifier().train()
    vectors, starts = flat(model, DIALOGUES)
    labels = torch.arange(len(vectors))
    logits = [model.label_turns(vectors), model.label_dialogues(vectors, starts)]
    sum(torch.nn.functional.cross_entropy(each, labels) for each in logits).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    loss = model(torch.tensor([[2, 7, 3]]), labels=torch.eye(41)[:1]).loss
    assert float(loss.detach()) > 0


@pytest.mark.parametrize(
    "settings",
    [
        *({name: value} for name in ("window", "context_layers") for value in (-1, 1.5, True)),
        *({name: 0} for name in ("context_heads", "separators", "turn_temperature", "dialogue_temperature")),
        *({name: 2} for name in ("turn_tokens", "max_tokens", "context")),
        *({"dropout": value} for value in (1, -0.1, "0")),
        *({"label_shift": value} for value in ([0.0] * 40, [float("nan")] * 41, "0")),
        {"turn_temperature": float("inf")},
        {"start_id": -1},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        ContextClassifierConfig(num_labels=41, **settings)


@pytest.mark.parametrize("settings", [{"context_heads": 5}, {"turn_tokens": 513}, {"start_id": 4_000}])
def test_settings_that_do_not_go_with_the_encoder(settings):
    with pytest.raises(ValueError, match=r"the encoder has 512 positions, 40 tokens and a width of 32"):
        small_context_classifier(**settings)


def test_saved_model_runs_in_a_pipeline_without_this_package(tmp_path, environment):
    model = save_context_classifier(tmp_path, "roberta", separators=2, dialogue_temperature=1.5)
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
        by_hand = model.label_dialogues(vectors, starts)[-1].softmax(-1)
    assert dialogue == {"label": LABELS[int(by_hand.argmax())], "score": pytest.approx(float(by_hand.max()), abs=1e-6)}
