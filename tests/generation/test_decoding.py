"""Search and sampling: what they find, what they never give, and how a label guides them."""

import itertools
import json
from types import SimpleNamespace

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
)
from transformers import T5ForConditionalGeneration as T5
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import Seq2SeqLMOutput

from edos_dataset.generation.answering import Job, gist, most_different, write_answers
from edos_dataset.generation.config import CACHE
from edos_dataset.generation.decoding import Answer, beam_search, largest, nucleus_sample
from edos_dataset.generation.model import ResponseConfig, ResponseModel
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.steps import Guided, Steps
from meed2 import FOLDER, arrays, fill, names, needs_peer
from small_responders import EMPATHETIC, SMALL, save_responder, small

GIVEN = {
    "input_ids": torch.tensor(
        [[0, 5, 6, 2, 2, 7, 8, 9, 2], [0, 11, 12, 13, 2, 1, 1, 1, 1], [0, 9, 2, 1, 1, 1, 1, 1, 1]]
    ),
    "label_ids": torch.tensor([[3, 3, 3, 3, 8, 8, 8, 8, 8], [4, 4, 4, 4, 4, 0, 0, 0, 0], [4, 4, 4, 0, 0, 0, 0, 0, 0]]),
    "response_labels": torch.tensor([3, 39, 40]),
}
GIVEN["attention_mask"] = (GIVEN["input_ids"] != 1).long()


def row(given, number, width=None):
    return {name: value[number : number + 1, ..., :width] if value.dim() > 1 else value[number : number + 1]
            for name, value in given.items()}  # fmt: skip


def repeats(tokens, size=4):
    grams = [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]
    return len(set(grams)) < len(grams)


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def peer():
    weights, given = arrays("small_meed")
    model = ResponseModel(ResponseConfig(**SMALL | EMPATHETIC | {"vocab_size": 60, "intermediate_size": 128}))
    fill(model, weights, [*names(model.config, decodes=True), "output_layer.weight", "output_layer.bias"])
    ids = {name: torch.from_numpy(given[name]).long() for name in ("inp", "seg", "emo", "ts", "te")}
    return model, {
        "input_ids": ids["inp"],
        "attention_mask": (ids["inp"] != 1).long(),
        "segment_ids": ids["seg"],
        "label_ids": ids["emo"],
        "response_labels": ids["te"],
        "response_segments": ids["ts"][:, 0],
    }


@needs_peer
def test_the_search_is_the_peers():
    model, given = peer()
    tokens, scores = json.loads((FOLDER / "result.json").read_text())["small_beam_example"]
    found = beam_search(model, row(given, 0), beams=4, max_tokens=30)[0]
    assert [[0, *answer.tokens, 2] for answer in found] == tokens
    assert [answer.score for answer in found] == pytest.approx(scores, abs=1e-5)


@needs_peer
@pytest.mark.parametrize(("beams", "alpha", "most"), [(4, 1.0, 5), (8, 0.0, 3), (32, 1.0, 5), (32, 1.0, 30)])
def test_where_the_peer_returns_blocked_answers_none_comes(beams, alpha, most):
    """These settings gave the peer's search 1 to 31 answers whose 4-grams repeat (PEERS.md 6)."""
    model, given = peer()
    for block in (2, 4):
        for answers in beam_search(model, given, beams=beams, alpha=alpha, max_tokens=most, block=block):
            assert answers and all(answer.finished and answer.score > -100 for answer in answers)
            assert not any(repeats(answer.tokens, block) for answer in answers)


def test_repeating_is_barred_and_nothing_else():
    model = small(**EMPATHETIC)
    with torch.no_grad():  # a model that says the same token for ever
        model.output_layer.bias[7] += 30
    free = beam_search(model, GIVEN, beams=4, max_tokens=20, block=None, results=1)
    assert all(repeats(answers[0].tokens) for answers in free)
    for block in (1, 2, 4):
        barred = beam_search(model, GIVEN, beams=4, max_tokens=20, block=block)
        drawn = nucleus_sample(model, GIVEN, generators(1, 2, 3), max_tokens=20, block=block)
        every = [*itertools.chain.from_iterable(barred), *drawn]
        assert not any(repeats(answer.tokens, block) for answer in every)
        assert all(answer.finished and len(answer.tokens) <= 19 for answer in every)
    assert all(answer.tokens[:4] == (7, 7, 7, 7) and answer.tokens[4] != 7 for answer in drawn)


def test_every_answer_is_found_where_the_beam_is_wide():
    model = small(vocab_size=7)
    given = {"input_ids": torch.tensor([[0, 4, 5, 2]])}
    chances = {}
    for length in range(3):
        for tokens in itertools.product([0, 1, 3, 4, 5, 6], repeat=length):
            answer = torch.tensor([[0, *tokens]])
            with torch.no_grad():
                scores = model(given["input_ids"], decoder_input_ids=answer).logits.log_softmax(-1)[0]
            total = sum(scores[place, token].item() for place, token in enumerate([*tokens, 2]))
            chances[tokens] = total / (length + 1)
    found = beam_search(model, given, beams=100, max_tokens=3)[0]
    assert [answer.tokens for answer in found] == sorted(chances, key=lambda tokens: -chances[tokens])
    assert [answer.score for answer in found] == pytest.approx(sorted(chances.values(), reverse=True), abs=1e-5)
    assert beam_search(model, given, beams=100, max_tokens=3, results=2)[0] == found[:2]
    barred = beam_search(model, given, beams=100, max_tokens=3, never=[0, 1, 3])[0]
    assert {answer.tokens for answer in barred} == {tokens for tokens in chances if not {0, 1, 3} & set(tokens)}


def test_company_changes_no_answer():
    model = small(**EMPATHETIC)
    together = beam_search(model, GIVEN, beams=6, max_tokens=15)
    drawn = nucleus_sample(model, GIVEN, generators(5, 6, 7), max_tokens=15)
    for number, width in enumerate((9, 5, 3)):
        alone = beam_search(model, row(GIVEN, number, width), beams=6, max_tokens=15)[0]
        assert [answer.tokens for answer in alone] == [answer.tokens for answer in together[number]]
        for one, other in zip(alone, together[number], strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-5)
        by_itself = nucleus_sample(model, row(GIVEN, number, width), generators(5 + number), max_tokens=15)[0]
        assert by_itself.tokens == drawn[number].tokens


class Scripted:
    """An encoder-decoder whose logits depend on nothing but how long the answer is."""

    def __init__(self, *steps):
        self.steps, self.config = steps, SimpleNamespace(is_encoder_decoder=True, name_or_path="scripted")
        self.generation_config = SimpleNamespace(decoder_start_token_id=0, eos_token_id=2)

    def get_encoder(self):
        return lambda input_ids, attention_mask: (torch.zeros(*input_ids.shape, 1),)

    def get_input_embeddings(self):
        return torch.nn.Embedding(6, 1)

    def __call__(self, decoder_input_ids, **rest):
        cache = rest[CACHE]
        if cache is None:
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        cache.step = getattr(cache, "step", -1) + 1
        logits = torch.full((len(decoder_input_ids), 1, 6), -torch.inf)
        for token, value in self.steps[min(cache.step, len(self.steps) - 1)].items():
            logits[:, 0, token] = value
        return Seq2SeqLMOutput(logits=logits, **{CACHE: cache})


@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_guidance_multiplies_what_the_label_changes(strength):
    model = small(**EMPATHETIC)
    against = {**GIVEN, "response_labels": torch.full_like(GIVEN["response_labels"], 40)}
    with torch.no_grad():
        towards, away = (Steps(model, given).first().log_softmax(1) for given in (GIVEN, against))
        guided = Guided(model, GIVEN, against, strength)
        first = guided.first()
        wanted = towards + strength * (towards - away)
        assert torch.allclose(first, wanted, atol=1e-5) and not torch.allclose(first, towards, atol=1e-2)
        rows, tokens = torch.tensor([0, 0, 2]), torch.tensor([5, 6, 7])
        assert guided.next(rows, tokens).shape == (3, first.shape[1]) and guided.owners.tolist() == [0, 0, 2]
    shared = {"beams": 4, "max_tokens": 8}
    assert beam_search(model, GIVEN, against=GIVEN, guidance=strength, **shared)[0][0].tokens == (
        beam_search(model, GIVEN, **shared)[0][0].tokens
    ), "the same label leads nowhere"
    answers = beam_search(model, GIVEN, against=against, guidance=strength, **shared)
    assert answers[:2] != beam_search(model, GIVEN, **shared)[:2]
    drawn = nucleus_sample(model, GIVEN, generators(1, 2, 3), against=against, guidance=strength, max_tokens=8)
    assert len(drawn) == 3


def test_where_every_way_is_barred_an_answer_comes_still():
    given = {"input_ids": torch.tensor([[0, 5, 2], [0, 4, 2]])}
    # One token, and never an end: after four of them the next would repeat a 4-gram.
    for answers in beam_search(Scripted({4: 0.0}), given, beams=3, max_tokens=20):
        assert [(answer.tokens, answer.finished) for answer in answers] == [((4, 4, 4, 4), False)]
    for answer in nucleus_sample(Scripted({4: 0.0}), given, generators(1, 2), max_tokens=20):
        assert (answer.tokens, answer.finished, answer.score) == ((4, 4, 4, 4), False, 0.0)
    # An end only at the second token, of a worse score than the beam that is then barred: it is what ended that comes.
    script = Scripted({4: 0.0, 5: -9.0}, {4: 0.0, 2: -8.0}, {4: 0.0})
    for answers in beam_search(script, given, beams=2, max_tokens=20):
        assert [(answer.tokens, answer.finished) for answer in answers] == [((4,), True)]
        assert not any(answer.score == -torch.inf for answer in answers)
    # Nothing may follow at all.
    for answers in beam_search(Scripted({4: 0.0}), given, never=[4], max_tokens=20):
        assert [(answer.tokens, answer.finished) for answer in answers] == [((), False)]


def stock(kind):
    torch.manual_seed(3)
    size = {"vocab_size": 40, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    if kind == "gpt2":
        config = GPT2Config(n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, **size)
        ids = torch.tensor([[5, 6, 7, 8], [1, 1, 9, 5]])
        return GPT2LMHeadModel(config).eval(), {"input_ids": ids, "attention_mask": (ids != 1).long()}
    if kind in ("bloom", "llama"):
        if kind == "bloom":
            model = BloomForCausalLM(BloomConfig(**size, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3))
        else:
            shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
            model = LlamaForCausalLM(LlamaConfig(**size, **shape, initializer_range=0.3))
        ids = torch.tensor([[5, 6, 7, 8], [1, 1, 9, 5]])
        return model.eval(), {"input_ids": ids, "attention_mask": (ids != 1).long()}
    if kind == "bart":
        layers = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        layers |= {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_model": 32, "init_std": 0.3}
        model = BartForConditionalGeneration(BartConfig(**size, **layers, decoder_start_token_id=2))
        model.generation_config.forced_eos_token_id = None
    else:
        model = T5(T5Config(**size, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=1))
    ids = torch.tensor([[0, 5, 6, 7, 2], [0, 9, 2, 1, 1]])
    return model.eval(), {"input_ids": ids, "attention_mask": (ids != 1).long()}


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bloom", "bart", "t5"])
def test_models_of_others_are_searched_in_the_same_way(kind):
    model, given = stock(kind)
    wanted = model.generate(**given, max_new_tokens=8, do_sample=False, num_beams=1, pad_token_id=1)
    start = 1 if kind in ("bart", "t5") else given["input_ids"].shape[1]
    for number, answers in enumerate(beam_search(model, given, beams=1, max_tokens=9, block=None)):
        best = wanted[number, start:].tolist()
        assert list(answers[0].tokens) == (best[: best.index(2)] if 2 in best else best)
    wide = beam_search(model, given, beams=5, max_tokens=9)
    alone = beam_search(model, {name: value[1:] for name, value in given.items()}, beams=5, max_tokens=9)[0]
    assert [answer.tokens for answer in wide[1]] == [answer.tokens for answer in alone]
    assert not any(repeats(answer.tokens) for answers in wide for answer in answers)


def test_drawing_keeps_to_the_nucleus_and_to_its_generators():
    model = small(seed=4)
    given = {"input_ids": torch.tensor([[0, 5, 6, 2]]).expand(400, -1)}
    with torch.no_grad():
        chances = model(given["input_ids"][:1], decoder_input_ids=torch.tensor([[0]])).logits[0, 0].softmax(-1)
    before = torch.random.get_rng_state()
    for top_p in (0.5, 0.9):
        order = chances.argsort(descending=True)
        size = int((chances[order].cumsum(0) < top_p).sum()) + 1
        nucleus = chances[order[:size]] / chances[order[:size]].sum()
        drawn = nucleus_sample(model, given, generators(*range(400)), top_p=top_p, max_tokens=2)
        first = torch.tensor([answer.tokens[0] if answer.tokens else 2 for answer in drawn])
        shares = torch.stack([(first == token).float().mean() for token in order[:size]])
        assert shares.sum().item() == pytest.approx(1) and (shares - nucleus).abs().max() < 0.1
    assert before.equal(torch.random.get_rng_state())
    greedy = nucleus_sample(model, row(given, 0), generators(9), top_p=1e-6, max_tokens=9)[0]
    assert greedy.tokens == beam_search(model, row(given, 0), beams=1, max_tokens=9)[0][0].tokens
    cold = nucleus_sample(model, row(given, 0), generators(9), top_p=1.0, temperature=1e-4, max_tokens=9)[0]
    first_of_all = nucleus_sample(model, row(given, 0), generators(9), top_p=1.0, top_k=1, max_tokens=9)[0]
    assert first_of_all.tokens == greedy.tokens
    assert cold.tokens == greedy.tokens and cold.score == pytest.approx(greedy.score, abs=1e-5)


@pytest.mark.parametrize(("rows", "words", "number"), [(3, 1000, 8), (1, 640, 5), (32, 300, 32), (2, 50, 7), (1, 3, 9)])
def test_the_largest_are_found_by_blocks_as_by_sorting(rows, words, number):
    generator = torch.Generator().manual_seed(rows)
    chances, scores = torch.randn(rows, words, generator=generator), torch.randn(rows, generator=generator)
    chances[torch.rand(rows, words, generator=generator) < 0.9] = -torch.inf
    chances[:, -1] = 3.0  # behind the last whole block
    sums = chances + scores[:, None]
    found, columns, best = largest(chances, scores, number)
    assert best.equal(sums.flatten().sort(descending=True).values[: min(number, rows * words)])
    assert sums[found, columns].equal(best)
    possible = ~best.isneginf()
    assert len(set(zip(found[possible].tolist(), columns[possible].tolist(), strict=True))) == possible.sum()


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"max_tokens": 0}, {"block": 0}, {"beams": 2.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a whole number from 1"):
        beam_search(small(), GIVEN, **wrong)
    with pytest.raises(ValueError, match="top_p must be above 0"):
        nucleus_sample(small(), GIVEN, generators(1, 2, 3), top_p=0)
    with pytest.raises(ValueError, match="one generator for every history, got 1 for 3"):
        nucleus_sample(small(), GIVEN, generators(1))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("I'm so sorry to hear that.", "I'm sorry to hear about that!", True),
        ("That's great!", "that is really GREAT...", True),
        ("Where is it?", "where is it", True),
        ("I am happy.", "I am not happy.", False),
        ("I'm happy.", "You are happy.", False),
        ("What did you do?", "Why did you do that?", False),
        ("It is.", "So it was.", False),
        ("...", "?!", False),
        ("Là-bas !", "là bas", True),
        ("你好", "你 好", False),
    ],
)
def test_what_is_nearly_the_same(one, other, alike):
    assert (gist(one) == gist(other)) == alike


def test_nearly_equal_texts_come_only_where_others_are_lacking():
    texts = ["That's great!", "That is great.", "Great.", "I'm sorry.", "So great!", "Where?"]
    assert most_different(texts, 1) == [0]
    assert most_different(texts, 3) == [0, 3, 5]
    assert most_different(texts, 5) == [0, 1, 2, 3, 5] and most_different(texts, 9) == list(range(6))
    assert most_different([], 3) == []


def test_candidates_of_a_search_are_different(tmp_path, monkeypatch):
    """The best stays; what is nearly the same as it gives way to the next one, and the scores still fall."""
    save_responder(tmp_path, predictor=False)
    writer = Responder.load(tmp_path).writer
    said = ["the dog ran home", "The dog ran home!", "", "so the dog ran home", "where is the dog", "today"]
    ids = [writer.tokenizer(text, add_special_tokens=False)["input_ids"] for text in said]
    answers = [Answer(tuple(own), -float(rank), True) for rank, own in enumerate(ids)]
    monkeypatch.setattr("edos_dataset.generation.answering.beam_search", lambda *_, **__: [answers])
    for wanted, rows in ((1, [0]), (3, [0, 4, 5]), (4, [0, 1, 4, 5]), (9, [0, 1, 3, 4, 5])):
        (found,) = write_answers(writer, [Job(["so"], None, None, wanted)])
        assert [(each.text, each.score) for each in found] == [(said[row], -row) for row in rows]
    monkeypatch.setattr("edos_dataset.generation.answering.beam_search", lambda *_, **__: [answers[2:3]])
    assert [each.text for each in write_answers(writer, [Job(["so"], None, None, 3)])[0]] == [""]
