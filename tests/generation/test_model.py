"""The response model: its loss, its generation, and its pipeline."""

import ast
import subprocess

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, PreTrainedTokenizerFast

from edos_dataset.generation.config import CACHE
from edos_dataset.generation.model import ResponseConfig, ResponseModel
from edos_dataset.generation.predictor import PredictorConfig, ResponsePredictor
from edos_dataset.generation.response_pipeline import batch_histories, encode_history, encode_response
from edos_dataset.labels import LABELS
from generator_fixtures import batch_responses
from meed2 import arrays, fill, names, needs_peer
from small_responders import EMPATHETIC, SMALL, save_responder, small
from training.generator.tokenizer import train_tokenizer

PEER = SMALL | EMPATHETIC | {"vocab_size": 60, "intermediate_size": 128}
HISTORIES = torch.tensor([[0, 5, 6, 2, 2, 7, 8, 9, 2], [0, 11, 12, 13, 2, 1, 1, 1, 1]])
OF_TOKENS = torch.tensor([[3, 3, 3, 3, 8, 8, 8, 8, 8], [4, 4, 4, 4, 4, 0, 0, 0, 0]])
ANSWERS = torch.tensor([[0, 5, 7, 9, 11], [0, 6, 8, 1, 1]])


@needs_peer
def test_logits_and_loss_are_the_peers():
    weights, given = arrays("small_meed")
    model = ResponseModel(ResponseConfig(**PEER))
    ours = [*names(model.config, decodes=True), "output_layer.weight", "output_layer.bias"]
    fill(model, weights, ours)
    ids = {name: torch.from_numpy(given[name]).long() for name in ("inp", "seg", "emo", "tar", "ts", "te", "real")}
    with torch.no_grad():
        logits = model(
            ids["inp"],
            segment_ids=ids["seg"],
            label_ids=ids["emo"],
            decoder_input_ids=ids["tar"],
            decoder_attention_mask=ids["tar"] != 1,
            response_labels=ids["te"],
            response_segments=ids["ts"][:, 0],
        ).logits
    assert (logits - torch.from_numpy(given["logits"])).abs().max() < 1e-5
    for row, loss in enumerate(given["loss"]):
        real = ids["real"][row]
        alone = torch.nn.functional.cross_entropy(logits[row], real, ignore_index=1)
        assert alone.item() == pytest.approx(float(loss), abs=1e-5)


@needs_peer
def test_the_predictor_is_the_peers():
    weights, given = arrays("small_emotion_predictor")
    model = ResponsePredictor(PredictorConfig(**PEER))
    ours = names(model.config, decodes=False)
    for layer in ("hidden_layer", "output_layer"):
        ours += [f"{layer}.weight", f"{layer}.bias"]
    fill(model, weights, [*ours, "attention_vector.weight", "attention_layer.weight", "attention_layer.bias"])
    ids = [torch.from_numpy(given[name]).long() for name in ("inp", "seg", "emo")]
    with torch.no_grad():
        logits = model(ids[0], segment_ids=ids[1], label_ids=ids[2]).logits
    assert (logits - torch.from_numpy(given["logits"])).abs().max() < 1e-5


def test_the_papers_sizes_are_the_peers():
    with torch.device("meta"):
        model = ResponseModel(ResponseConfig(**EMPATHETIC))
        predictor = ResponsePredictor(PredictorConfig())
    assert model.num_parameters() == 40_371_765 and predictor.num_parameters() == 19_652_441


@pytest.mark.parametrize("settings", [{}, EMPATHETIC, {"tie_output": True}])
def test_a_cache_changes_nothing(settings):
    model = small(**settings)
    given = {"input_ids": HISTORIES, "label_ids": OF_TOKENS, "response_labels": torch.tensor([7, 9])}
    with torch.no_grad():
        whole = model(**given, decoder_input_ids=ANSWERS, use_cache=False)
        assert whole.get(CACHE) is None
        cache, parts = None, []
        for cut in (ANSWERS[:, :2], ANSWERS[:, 2:3], ANSWERS[:, 3:]):
            out = model(**given, decoder_input_ids=cut, **{CACHE: cache}, use_cache=True)
            cache = out[CACHE]
            parts.append(out.logits)
    torch.testing.assert_close(torch.cat(parts, 1), whole.logits, atol=1e-5, rtol=0)


def test_company_and_padding_change_nothing():
    model = small(**EMPATHETIC)
    labels = torch.tensor([7, 9])
    with torch.no_grad():
        both = model(HISTORIES, label_ids=OF_TOKENS, decoder_input_ids=ANSWERS, response_labels=labels).logits
        alone = model(
            HISTORIES[1:, :5],
            label_ids=OF_TOKENS[1:, :5],
            decoder_input_ids=ANSWERS[1:, :3],
            response_labels=labels[1:],
        ).logits
        # Padding at the left of an answer is unseen too, where the mask says so.
        left = torch.tensor([[1, 0, 6]])
        other = torch.tensor([[4, 0, 6]])
        masked = [
            model(HISTORIES[1:], decoder_input_ids=ids, decoder_attention_mask=torch.tensor([[0, 1, 1]])).logits[:, 1:]
            for ids in (left, other)
        ]
    torch.testing.assert_close(both[1:, :3], alone, atol=1e-5, rtol=0)
    torch.testing.assert_close(masked[0], masked[1], atol=0, rtol=0)


def test_labels_and_speakers_matter_and_are_told_from_the_ids():
    model = small(**EMPATHETIC)
    given = {"input_ids": HISTORIES, "label_ids": OF_TOKENS, "decoder_input_ids": ANSWERS}
    segments = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1, 1], [0] * 9])
    with torch.no_grad():
        one = model(**given, response_labels=torch.tensor([7, 9])).logits
        other = model(**given, response_labels=torch.tensor([7, 10])).logits
        padded = model(
            **given, response_labels=torch.tensor([7, 9]), segment_ids=segments, response_segments=torch.tensor([0, 1])
        ).logits
        swapped = model(
            **given, response_labels=torch.tensor([7, 9]), segment_ids=segments, response_segments=torch.tensor([1, 0])
        ).logits
    assert torch.equal(one[0], other[0]) and (one[1] - other[1]).abs().max() > 0.01
    assert torch.equal(one[0], padded[0]) and (one[1, :3] - padded[1, :3]).abs().max() < 1e-6
    assert (one - swapped).abs().amax((1, 2)).min() > 0.01


def test_the_loss_is_the_mean_over_targets_with_smoothing():
    model = small()
    targets = torch.tensor([[5, 7, 9, 11, 2], [6, 8, 2, -100, -100]])
    with torch.no_grad():
        out = model(HISTORIES, labels=targets)
        same = model(HISTORIES, decoder_input_ids=torch.tensor([[0, 5, 7, 9, 11], [0, 6, 8, 2, 1]]), labels=targets)
        smooth = model(HISTORIES, labels=targets, label_smoothing=0.2).loss
    chances = out.logits.log_softmax(-1)[targets >= 0]
    nats = -chances.gather(1, targets[targets >= 0][:, None]).squeeze(1)
    assert out.loss.item() == pytest.approx(nats.mean().item(), abs=1e-6) == same.loss.item()
    assert smooth.item() == pytest.approx((0.8 * nats - 0.2 * chances.mean(1)).mean().item(), abs=1e-5)


@pytest.mark.parametrize("settings", [{}, EMPATHETIC])
def test_generate_uses_the_cache_and_every_input(settings):
    model = small(**settings)
    given = {"input_ids": HISTORIES, "label_ids": OF_TOKENS, "attention_mask": HISTORIES != 1}
    if settings:
        given["response_labels"] = torch.tensor([7, 9])
    for how in ({"num_beams": 1}, {"num_beams": 4, "num_return_sequences": 2}):
        with_cache = model.generate(**given, max_new_tokens=8, do_sample=False, **how)
        without = model.generate(**given, max_new_tokens=8, do_sample=False, use_cache=False, **how)
        assert with_cache.tolist() == without.tolist()
    greedy = model.generate(**given, max_new_tokens=1, do_sample=False)
    with torch.no_grad():
        logits = model(**given, decoder_input_ids=torch.zeros(2, 1, dtype=torch.long)).logits
    assert greedy[:, 1].tolist() == logits[:, 0].argmax(-1).tolist()


def test_a_sequence_beyond_the_positions_is_refused():
    with pytest.raises(ValueError, match="has 31 tokens, but the model has positions for 30"):
        small()(torch.zeros(1, 31, dtype=torch.long), decoder_input_ids=ANSWERS[:1])
    with pytest.raises(ValueError, match="give decoder_input_ids"):
        small()(HISTORIES)


@pytest.mark.parametrize("wrong", [{"hidden_size": 30}, {"dropout": 1}, {"num_layers": True}, {"eos_token_id": 40}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ResponseConfig(**{"vocab_size": 40, **SMALL, **wrong})


def test_what_was_saved_comes_back(tmp_path):
    for kind, auto, settings in (
        (ResponseModel, AutoModelForSeq2SeqLM, EMPATHETIC),
        (ResponseModel, AutoModelForSeq2SeqLM, {"tie_output": True}),
        (ResponsePredictor, AutoModelForSequenceClassification, {}),
    ):
        model = small(kind, **settings)
        model.save_pretrained(tmp_path)
        given = {"input_ids": HISTORIES, **({} if kind is ResponsePredictor else {"decoder_input_ids": ANSWERS})}
        for again in (kind.from_pretrained(tmp_path), auto.from_pretrained(tmp_path, trust_remote_code=False)):
            assert type(again) is kind and again.config.num_labels == (41 if kind is ResponsePredictor else 2)
            with torch.no_grad():
                torch.testing.assert_close(again(**given).logits, model(**given).logits, atol=0, rtol=0)
    tied = ResponseModel(ResponseConfig(vocab_size=40, **SMALL, tie_output=True))
    assert tied.output_layer.weight is tied.encoder.embedder.words.weight


OUTSIDE = """
import sys, torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification
folder, kind = sys.argv[1:]
auto = AutoModelForSeq2SeqLM if kind == "model" else AutoModelForSequenceClassification
try:
    auto.from_pretrained(folder, trust_remote_code=False)
    raise SystemExit("code ran unasked")
except ValueError:
    pass
model = auto.from_pretrained(folder, trust_remote_code=True).eval()
ids = torch.tensor([[0, 5, 6, 2]])
if kind == "model":
    from transformers import pipeline
    answer = pipeline("response-generation", model=folder, trust_remote_code=True, device="cpu")
    one = {"turns": ["where is the dog", "so"], "labels": ["sad", 40], "label": "Proud"}
    print(answer(one, num_beams=2, max_new_tokens=6), answer(["where is the dog", one], num_beams=2, max_new_tokens=6))
    print(answer("where", num_beams=3, num_return_sequences=2, max_new_tokens=6))
    print(model.generate(ids, response_labels=torch.tensor([3]), max_new_tokens=5, num_beams=3).tolist())
else:
    from transformers import pipeline
    tell = pipeline("text-classification", model=folder, trust_remote_code=True, device="cpu")
    print(tell("where is the dog"))
    print(model(ids).logits.argmax(-1).tolist())
assert not any(name.startswith("edos_dataset") for name in sys.modules)
"""


def test_models_travel_with_their_code(commands, tmp_path):
    """In a process that has never heard of this package: `generate`, and the pipelines of texts and dialogues."""
    model = save_responder(tmp_path, id2label=dict(enumerate(LABELS)), **EMPATHETIC)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    predictor = ResponsePredictor.from_pretrained(tmp_path / "predictor")
    ids = torch.tensor([[0, 5, 6, 2]])
    history = tokenizer("where is the dog", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        chances = predictor(history).logits.softmax(1)[0]
        raw = predictor(ids).logits.argmax(-1).tolist()
    turns = batch_histories([encode_history(tokenizer, ["where is the dog", "so"], [LABELS.index("sad"), 40])], 1)
    how = {"num_beams": 2, "max_new_tokens": 6, "no_repeat_ngram_size": 4}
    said = [
        tokenizer.decode(model.generate(**given, **how)[0], skip_special_tokens=True).strip()
        for given in (turns | {"response_labels": torch.tensor([LABELS.index("proud")])}, {"input_ids": history})
    ]
    generated = model.generate(ids, response_labels=torch.tensor([3]), max_new_tokens=5, num_beams=3).tolist()
    own, label = {"generated_text": said[0]}, {"label": LABELS[chances.argmax()], "score": chances.max().item()}
    for kind, folder in (("model", tmp_path), ("predictor", tmp_path / "predictor")):
        assert {path.name for path in folder.glob("*.py")} >= {f"{kind}.py", "layers.py", "config.py"}
        run = subprocess.run(
            [commands / "python", "-c", OUTSIDE, str(folder), kind],
            cwd=tmp_path.parent,
            text=True,
            capture_output=True,
            env={"PATH": "/usr/bin", "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"},
        )
        assert run.returncode == 0, run.stderr
        lines = run.stdout.strip().splitlines()
        if kind == "model":
            assert lines[0] == f"{own} {[{'generated_text': said[1]}, own]}"
            assert len(ast.literal_eval(lines[1])) == 2 and lines[2] == str(generated)
        else:
            reported = ast.literal_eval(lines[0])[0]
            assert reported["label"] == label["label"] and reported["score"] == pytest.approx(label["score"], abs=1e-5)
            assert lines[1] == str(raw)


def test_copying_is_learned():
    """The loss on a toy task, answers that repeat the history, goes to 0."""
    torch.manual_seed(0)
    config = ResponseConfig(
        vocab_size=14, hidden_size=32, num_layers=1, num_heads=4, intermediate_size=64, max_positions=12, dropout=0.0
    )
    model = ResponseModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(500):
        words = torch.randint(4, 14, (64, 4), generator=generator)
        ends = torch.full((64, 1), 2)
        loss = model(torch.cat([torch.zeros_like(ends), words, ends], 1), labels=torch.cat([words, ends], 1)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < 0.02
    model.eval()
    words = torch.randint(4, 14, (50, 4), generator=generator)
    ends = torch.full((50, 1), 2)
    answers = model.generate(torch.cat([torch.zeros_like(ends), words, ends], 1), max_new_tokens=5, do_sample=False)
    assert (answers[:, 1:5] == words).all(1).float().mean() > 0.95


TEXTS = ["the dog ran home", "where is the dog", "so the dog was home today, and I am happy"] * 5


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS, 300)


def test_a_trained_tokenizer_reads_every_text(tokenizer, tmp_path):
    special = (tokenizer.bos_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert special == (0, 1, 2, 3) and len(tokenizer) <= 300
    tokenizer.save_pretrained(tmp_path)
    again = type(tokenizer).from_pretrained(tmp_path)
    for text in ("the dog", " Où est-il ? 犬🐕\n", "a </s> b"):
        ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        assert 3 not in ids and 2 not in ids and tokenizer.decode(ids, skip_special_tokens=True) == text
        assert again(text, add_special_tokens=False, split_special_tokens=True)["input_ids"] == ids
    assert len(tokenizer("the dog", add_special_tokens=False)["input_ids"]) < len("the dog")
    with pytest.raises(ValueError, match="at least 260, for all bytes, got 100"):
        train_tokenizer(TEXTS, 100)


def test_turns_are_joined_as_the_peer_does(tokenizer):
    words = [tokenizer(turn, add_special_tokens=False)["input_ids"] for turn in TEXTS[:3]]
    ids, segments, labels = encode_history(tokenizer, TEXTS[:3], [7, 9, 40])
    assert ids == [0, *words[0], 2, 2, *words[1], 2, 2, *words[2], 2]
    lengths = [len(turn) + 2 for turn in words]
    assert segments == [0] * lengths[0] + [1] * lengths[1] + [0] * lengths[2]
    assert labels == [7] * lengths[0] + [9] * lengths[1] + [40] * lengths[2]
    assert set(encode_history(tokenizer, TEXTS[:3]).label_ids) == {0}


def test_a_long_history_loses_its_oldest_turns(tokenizer):
    words = [tokenizer(turn, add_special_tokens=False)["input_ids"] for turn in TEXTS[:3]]
    both = len(words[1]) + len(words[2]) + 4
    for limit, first in ((both + len(words[0]) + 2, 0), (both + len(words[0]) + 1, 1), (both, 1), (both - 1, 2)):
        found = encode_history(tokenizer, TEXTS[:3], [7, 9, 40], limit)
        whole = encode_history(tokenizer, TEXTS[first:3], [7, 9, 40][first:])
        assert found.input_ids == whole.input_ids and found.label_ids == whole.label_ids
        assert found.segment_ids == [(number + first) % 2 for number in whole.segment_ids]
    cut = encode_history(tokenizer, TEXTS[:3], max_tokens=5).input_ids
    assert cut == [0, *words[2][-3:], 2]


def test_a_history_may_be_of_so_many_turns_at_most(tokenizer):
    """The newest ones, spoken by whom they are spoken by in the whole dialogue."""
    whole = encode_history(tokenizer, TEXTS[:3], [7, 9, 40])
    lengths = [len(tokenizer(turn, add_special_tokens=False)["input_ids"]) + 2 for turn in TEXTS[:3]]
    for most, left in ((1, lengths[2]), (2, lengths[1] + lengths[2]), (3, sum(lengths)), (9, sum(lengths))):
        found = encode_history(tokenizer, TEXTS[:3], [7, 9, 40], most_turns=most)
        assert found.input_ids == [0, *whole.input_ids[-left + 1 :]]
        assert found.segment_ids == whole.segment_ids[-left:] and found.label_ids == whole.label_ids[-left:]


@pytest.mark.parametrize(("turns", "labels"), [([], None), (["a"], [1, 2]), (["a", "b"], [1])])
def test_histories_without_turns_or_labels_that_fit_are_refused(tokenizer, turns, labels):
    with pytest.raises(ValueError, match="at least one turn|each turn has one label"):
        encode_history(tokenizer, turns, labels)


def test_batches_are_filled_up_at_the_right(tokenizer):
    histories = [encode_history(tokenizer, TEXTS[:2], [7, 9]), encode_history(tokenizer, TEXTS[:1], [3])]
    batch = batch_histories(histories, 1)
    assert all(tensor.shape == batch["input_ids"].shape for tensor in batch.values())
    assert batch["attention_mask"].sum(1).tolist() == [len(each.input_ids) for each in histories]
    assert (batch["input_ids"] != 1).long().equal(batch["attention_mask"])
    answers = [encode_response(tokenizer, "the dog"), encode_response(tokenizer, TEXTS[2], 4)]
    assert len(answers[1]) == 4 and all(answer[-1] == 2 for answer in answers)
    learned = batch_responses([[5, 6, 2], [7, 2]], 0, 1)
    assert learned["decoder_input_ids"].tolist() == [[0, 5, 6], [0, 7, 1]]
    assert learned["labels"].tolist() == [[5, 6, 2], [7, 2, -100]]
