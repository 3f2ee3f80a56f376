import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertTokenizerFast, RobertaConfig

from edos_dataset.labeling.models.classifier import DialogueClassifier, DialogueClassifierConfig
from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labels import LABELS
from pipeline_script import PIPELINE

PEER = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere")).parent / "peers" / "emobert" / "small_emobert.npz"
START, SEPARATOR = 1, 2


def small(**settings) -> DialogueClassifier:
    torch.manual_seed(0)
    encoder = {
        "model_type": "bert",
        "vocab_size": 60,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    return DialogueClassifier(
        DialogueClassifierConfig(encoder=encoder, separator_id=SEPARATOR, num_labels=len(LABELS), **settings)
    ).eval()


@pytest.mark.skipif(not PEER.is_file(), reason="the authors' model is not here")
def test_logits_of_the_authors_model():
    stored = np.load(PEER)
    weights = [stored[name] for name in stored.files if name.startswith("w0")]
    model = authors_model(weights)
    ids = torch.from_numpy(stored["inputs"]).long()
    with torch.inference_mode():
        logits = model(ids, (ids != 1).long(), token_weights=torch.from_numpy(stored["weights"])).logits
    assert np.abs(logits.numpy() - stored["logits"]).max() < 1e-5


def authors_model(weights: list[np.ndarray]) -> DialogueClassifier:
    """The authors' network in ours: RoBERTa without segments, a kernel [in, out] transposed."""
    encoder = RobertaConfig(
        vocab_size=260,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=110,
        type_vocab_size=1,
    )
    encoder.layer_norm_eps = 1e-5
    model = DialogueClassifier(
        DialogueClassifierConfig(encoder=encoder.to_dict(), separators=2, separator_id=2, num_labels=41)
    ).eval()
    layers = []
    for number in range(2):
        layer = f"encoder.encoder.layer.{number}."
        dense = [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "intermediate.dense",
            "output.dense",
        ]
        layers += [
            f"{layer}{name}.{part}"
            for name in [*dense, "attention.output.LayerNorm", "output.LayerNorm"]
            for part in ("weight", "bias")
        ]
    embeddings = ["word_embeddings.weight", "position_embeddings.weight", "LayerNorm.weight", "LayerNorm.bias"]
    head = [
        "attention_vector.weight",
        *(
            f"{name}.{part}"
            for name in ("attention_layer", "hidden_layer", "output_layer")
            for part in ("weight", "bias")
        ),
    ]
    names = [f"encoder.embeddings.{name}" for name in embeddings] + layers + head
    state = model.state_dict()
    state["encoder.embeddings.token_type_embeddings.weight"].zero_()
    for name, value in zip(names, weights, strict=True):
        kernel = value.ndim == 2 and "embeddings" not in name
        state[name].copy_(torch.from_numpy(value.T if kernel else value))
    return model


def write(folder: Path, **settings) -> DialogueClassifier:
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *["i", "am", "so", "happy", "sad", "you", "are", "what", "?", "."],
    ]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    model = small(
        id2label=dict(enumerate(LABELS)), label2id={name: number for number, name in enumerate(LABELS)}, **settings
    )
    model.config.separator_id = tokenizer.sep_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def test_saved_model_runs_in_a_pipeline_without_this_package(tmp_path, environment):
    """What it takes and gives is what pipelines of transformers take and give: a list of strings is a batch."""
    model = write(tmp_path)
    done = subprocess.run(["python", "-c", PIPELINE, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found, errors, batches = json.loads(done.stdout.splitlines()[-1])
    same = lambda answer: {"label": answer["label"], "score": pytest.approx(answer["score"], abs=1e-5)}  # noqa: E731
    everything = found["everything"]
    assert len(everything) == 41 and sum(answer["score"] for answer in everything) == pytest.approx(1)
    assert found["text"] == [same(everything[0])] == [same(found["texts"][2])]
    assert [len(answers) for answers in found["texts_top_2"]] == [2, 2, 2]
    assert found["texts"] == [same(answers[0]) for answers in found["texts_top_2"]]
    [dialogue] = found["turns"]
    assert dialogue["score"] != pytest.approx(found["text"][0]["score"], rel=1e-3), "the history changes the answer"
    assert found["spoken"] == found["chat"] == [dialogue] == [same(found["turns_top_2"][0])]
    assert found["dialogues"] == [same(dialogue)] * 4 and found["rows"] == [same(dialogue)]
    assert found["keys"] == found["generator"] == [same(answers[0]) for answers in found["iterator"]]
    assert found["keys"][2] == same(dialogue) and found["keys"][0] == found["keys_of_texts"][0]
    assert found["keys_of_texts"] == [same(answer) for answer in found["texts"]]
    assert batches.count(3) == 1 and batches.count(2) == 2 + 1 + 1 + 1, "batch_size is heeded"
    assert errors[1] == "" and all(errors[:1] + errors[2:]), "an empty text is a text; nothing else bad is one"
    assert "is empty" in errors[0] and "{'turns': [text, ...]}" in errors[2] and "input 1 is 1" in errors[7]
    ids = torch.tensor([[2, 10, 11, 8, 14, 3, 12, 13, 3, 5, 6, 7, 9, 3]])
    with torch.inference_mode():
        by_hand = torch.softmax(model(ids).logits[0], 0)
    assert dialogue == {"label": LABELS[int(by_hand.argmax())], "score": pytest.approx(float(by_hand.max()), abs=1e-6)}


@pytest.mark.parametrize(
    ("normalisation", "expected"),
    [("sum", [4 / 7] * 3 + [2 / 7] * 3 + [1 / 7] * 2), ("newest", [1] * 3 + [1 / 2] * 3 + [1 / 4] * 2)],
)
def test_weights_of_three_turns_with_padding(normalisation, expected):
    ids = torch.tensor([[1, 7, 2, 8, 9, 2, 9, 2, 0, 0], [1, 7, 8, 9, 7, 8, 9, 7, 8, 2]])
    mask = torch.tensor([[1] * 8 + [0] * 2, [1] * 10])
    weights = small(normalisation=normalisation).turn_weights(ids, mask)
    assert weights[0].tolist() == pytest.approx([*expected, 1, 1])
    assert weights[1].tolist() == pytest.approx([1] * 10), "a single turn keeps its embeddings"


def test_weights_between_double_separators():
    model = small()
    model.config.separators = 2
    ids = torch.tensor([[1, 7, 2, 2, 8, 2, 2, 9, 2]])
    assert (model.turn_weights(ids, torch.ones_like(ids))[0] * 7).round().int().tolist() == [4] * 3 + [2] * 3 + [1] * 3


def test_padding_changes_nothing():
    model = small()
    ids = torch.tensor([[1, 7, 2, 8, 9, 2]])
    padded = torch.cat([ids, torch.zeros(1, 5, dtype=torch.long)], 1)
    with torch.inference_mode():
        assert torch.allclose(model(ids).logits, model(padded, (padded > 0).long()).logits, atol=1e-6)


@pytest.mark.parametrize("count", [1, 50, 64, 65, 2000])
def test_any_number_of_turns(count):
    ids = torch.tensor([sequence([[7, 8]] * count, START, SEPARATOR, 1, 10_000)[:500]])
    weights = small().turn_weights(ids, torch.ones_like(ids))
    assert torch.isfinite(weights).all() and (weights >= 0).all()
    turn_weight = weights[0][ids[0] == SEPARATOR].double().sum()
    assert float(turn_weight) == pytest.approx(1, abs=1e-5)


def test_decay_of_one_is_no_decay():
    ids = torch.tensor([[1, 7, 2, 8, 2]])
    assert small(decay=1.0, normalisation="newest").turn_weights(ids, torch.ones_like(ids)).tolist() == [[1] * 5]


@pytest.mark.parametrize(
    ("turns", "separators", "length", "expected"),
    [
        ([[7]], 1, 10, [1, 7, 2]),
        ([[7, 8], [9]], 1, 10, [1, 9, 2, 7, 8, 2]),
        ([[7, 8], [9]], 2, 10, [1, 9, 2, 2, 7, 8, 2]),
        ([[7, 8, 9], [9]], 1, 5, [1, 9, 2, 7, 2]),  # the older turn is cut at its end
        ([[7], [9, 9, 9]], 1, 5, [1, 9, 9, 9, 2]),  # no room for it
        ([[7, 8, 9, 7, 8]], 1, 4, [1, 7, 8, 2]),
        ([[], []], 1, 9, [1, 2, 2]),
    ],
)
def test_sequence(turns, separators, length, expected):
    assert sequence(turns, START, SEPARATOR, separators, length) == expected


def test_temperature_divides_logits_outside_of_training_only():
    model, warm = small(), small(softmax_temperature=2.0)
    ids = torch.tensor([[1, 7, 2]])
    assert torch.allclose(model(ids).logits, warm(ids).logits * 2, atol=1e-6)


def test_soft_labels_of_one_worker_are_the_label():
    model, ids = small(), torch.tensor([[1, 7, 2], [1, 8, 2]])
    labels = torch.tensor([3, 40])
    assert float(model(ids, labels=labels).loss) == pytest.approx(
        float(model(ids, labels=torch.eye(41)[labels]).loss), abs=1e-6
    )


@pytest.mark.parametrize(
    "settings", [{"decay": 0}, {"decay": 1.5}, {"normalisation": "max"}, {"pooling": "cls"}, {"softmax_temperature": 0}]
)
def test_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        DialogueClassifierConfig(**settings)
