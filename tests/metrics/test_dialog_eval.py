"""The 17 metrics of dialog-eval: the peer's own figures on its inputs, a made-up set by hand, and the plain
implementation of the benchmark on anything.
"""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plain_responses import Peer
from edos_dataset.metrics.responses import similarity
from edos_dataset.metrics.responses.dialog_eval import NEEDS, OLD_BLEU, evaluate, measure, summarise
from edos_dataset.metrics.responses.diversity import perplexity
from edos_dataset.metrics.responses.words import Texts, Words, cut, new_lexicon
from evaluation.response_parity import PEER, PEER_N, our_figures, parity, peer_figures

INPUTS = Path(os.environ.get("EDOS_DATA_DIR", "nowhere")).parent / "peers" / "dialog_eval_inputs"


@pytest.fixture(scope="module")
def found():
    """Our figures of the four sets of responses of the peer's run."""
    if not INPUTS.is_dir():
        pytest.skip("the peer's inputs are not here")
    return our_figures(INPUTS)


@pytest.mark.parametrize("name", PEER)
def test_the_peers_figures(found, name):
    means = {metric: round(figure["mean"], 6) for metric, figure in found[name].items()}
    assert means == pytest.approx(peer_figures(name), abs=1e-9, rel=0)  # every printed digit
    single = {"distinct-1": 1, "distinct-2": 1}
    counts = {metric: figure["n"] for metric, figure in found[name].items() if metric != "utterance-bigram"}
    assert counts == {metric: {**single, **PEER_N[name]}.get(metric, 1000) for metric in counts}
    length = found["rt"]["length"]
    assert length["confidence"] == 1.97 * length["std"] / math.sqrt(1000)


def test_the_report_tells_of_a_difference(monkeypatch):
    if not INPUTS.is_dir():
        pytest.skip("the peer's inputs are not here")
    assert parity(INPUTS)["largest_difference_as_printed"] == 0
    monkeypatch.setitem(PEER, "rt", PEER["rt"].replace("8.528270", "8.528271"))
    assert parity(INPUTS)["largest_difference_as_printed"] == pytest.approx(1e-6)


RESPONSES = ["a b b", "c", "", "x a b", "zero zero"]
REFERENCES = ["a b c", "c", "a", "a x", "a zero"]
CONTEXTS = ["a", "b c", "c", "x", "a b"]
TRAIN = ["a b", "a c c c"]
VECTORS = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 2.0]), "c": np.array([-3.0, 3.0])}


def test_by_hand():
    found = measure(RESPONSES, REFERENCES, CONTEXTS, Words.of(VECTORS, ["zero"], TRAIN))
    a, b, c = -math.log2(2 / 6), -math.log2(1 / 6), -math.log2(3 / 6)
    nan, ab = math.nan, -math.log2(1 / 4)  # of the bigrams a b, a c, c c twice; b b was never seen
    check = {
        "length": [3, 1, 0, 3, 2],
        "utterance-unigram": [a + 2 * b, c, nan, a + b, nan],  # the unknown x has no <unk> in the training text
        "per-unigram-entropy": [(a + 2 * b) / 3, c, nan, (a + b) / 2, nan],
        "utterance-bigram": [ab, nan, nan, ab, nan],
        "per-bigram-entropy": [ab, nan, nan, ab, nan],
        "distinct-1": [5 / 9],
        "distinct-2": [4 / 5],  # a b twice, b b, <unk> a, zero zero
    }
    for name, values in check.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)
    # answered a, b, c, <unk>, zero: 2, 3, 1, 1, 2 of 9; asked: a 4, b 1, c 2, <unk> 1, zero 1 of 9
    of_a, of_b, of_c, of_zero = math.log2(4 / 2), math.log2(1 / 3), math.log2(2), math.log2(1 / 2)
    np.testing.assert_allclose(
        found["unigram-kl-div"], [(of_a + of_b + of_c) / 3, of_c, of_a, of_a, (of_a + of_zero) / 2], atol=1e-15
    )
    np.testing.assert_allclose(found["bigram-kl-div"], [0, nan, nan, nan, nan], atol=1e-15)  # a b alone, on both sides
    np.testing.assert_allclose(
        found["embedding-extrema"], [(1 * -3 + 2 * 3) / math.sqrt(5 * 18), 1, nan, 1 / math.sqrt(5), nan]
    )
    near = 1 / math.sqrt(2)  # of c to b
    np.testing.assert_allclose(found["embedding-greedy"], [((1 + 1 + near) / 3 + 1) / 2, 1, nan, (1 + 0.5) / 2, nan])
    weight = {word: 0.001 / (0.001 + 2**-bits) for word, bits in (("a", a), ("b", b), ("c", c))}
    mean, true = weight["a"] * VECTORS["a"] + weight["b"] * VECTORS["b"], weight["a"] * VECTORS["a"]
    np.testing.assert_allclose(found["embedding-average"][3], mean @ true / np.linalg.norm(mean) / weight["a"])
    assert found["coherence"][1] == pytest.approx(
        (-3 * weight["c"] * -3 + (2 * weight["b"] + 3 * weight["c"]) * 3)
        / np.linalg.norm([3 * weight["c"], 2 * weight["b"] + 3 * weight["c"]])
        / math.sqrt(18)
    )
    assert np.isnan(found["coherence"][[2, 3, 4]]).all()


def scored(response, reference, form="nltk-3.10"):
    lexicon = new_lexicon()
    return similarity.bleu(cut([response], lexicon), cut([reference], lexicon), form)[0].tolist()


def test_bleu_by_hand():
    # 3 of 4 words, 2 of 3 bigrams, 1 of 2 trigrams; the missing order of four counts ln 4 / 10
    brevity, fourth = math.exp(1 - 5 / 4), math.log(4) / 10
    parts = [3 / 4, 2 / 3, 1 / 2, fourth]
    expected = [
        brevity * math.prod(part**weight for part, weight in zip(parts, weights, strict=False))
        for weights in ([1], [0.5] * 2, [0.33] * 3, [0.25] * 4)
    ]
    assert scored("a b c x", "a b c d e") == pytest.approx(expected)
    parts[3] = 3 + 5 / math.log(4)
    assert scored("a b c x", "a b c d e", "nltk-3.5")[3] == pytest.approx(
        brevity * math.prod(part**0.25 for part in parts)
    )
    # the second miss counts half as much as the first; perfect answers pass 1 in the old form alone
    two = math.log(2)
    assert scored("a b", "a b") == pytest.approx([1, 1, (two / 10) ** 0.33, (two / 10 * two / 20) ** 0.25])
    assert scored("a b c", "a b c", "nltk-3.5")[3] == pytest.approx((3 + 5 / math.log(3)) ** 0.25)
    assert scored("a", "a") == [1, 1, 1, 1] and scored("a", "a", "nltk-3.5") == [0, 0, 0, 0]
    assert scored("", "a") == scored("a", "") == scored("", "") == scored("b b", "a a") == [0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"unknown form of BLEU 'nltk-4': give one of nltk-3\.10, nltk-3\.5"):
        scored("a", "a", "nltk-4")


LINE = st.lists(st.sampled_from(["a", "b", "c", "d", "<unk>", "zero", "x", "y"]), max_size=9).map(" ".join)
LINES = st.lists(st.tuples(LINE, LINE, LINE), min_size=1, max_size=12)
ODD = {**VECTORS, "d": np.array([1.0, -2.0])}  # as far from 0 as others, on the other side


def compare(rows, train, vocabulary, nltk):
    responses, references, contexts = map(list, zip(*rows, strict=True))
    plain = Peer(ODD, vocabulary, train, nltk=nltk).run(responses, references, contexts)
    found = measure(responses, references, contexts, Words.of(ODD, vocabulary, train))
    assert set(found) == set(NEEDS) | set(OLD_BLEU) and set(plain) <= set(found)
    for name, values in found.items():
        there = values[~np.isnan(values)]
        expected = [value for value in plain.get(name, []) if not math.isnan(value)]
        np.testing.assert_allclose(there, expected, rtol=1e-12, atol=1e-12, err_msg=name)


@given(LINES, st.lists(LINE, max_size=5), st.sampled_from([[], ["zero"], ["zero", "<unk>"]]))
@settings(max_examples=300)
def test_any_texts_as_the_plain_implementation(rows, train, vocabulary):
    compare(rows, train, vocabulary, nltk=False)


@given(LINES, st.lists(LINE, max_size=5))
@settings(max_examples=100)
def test_bleu_is_nltks(rows, train):
    pytest.importorskip("nltk")
    compare(rows, train, ["zero"], nltk=True)


def test_many_texts_are_measured_as_few(monkeypatch):
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(list("abcdxy"), generator.integers(0, 12))) for _ in range(900)]
    words = Words.of(ODD, ["y"], TRAIN)
    whole = measure(lines[:300], lines[300:600], lines[600:], words)
    monkeypatch.setattr("edos_dataset.metrics.responses.similarity._ROWS", 7)
    monkeypatch.setattr("edos_dataset.metrics.responses.similarity._ROWS", 7)
    monkeypatch.setattr("edos_dataset.metrics.responses.similarity._AVERAGED", 7)
    for name, values in measure(lines[:300], lines[300:600], lines[600:], words).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-12, err_msg=name)


def test_what_is_not_given_is_not_measured():
    def names(*given, **words):
        return set(measure(*given, Words.of(**words)))

    counted, train = (
        {"length", "distinct-1", "distinct-2"},
        {name for name, needs in NEEDS.items() if needs == ("train",)},
    )
    assert names(RESPONSES, None, None) == counted
    assert names(RESPONSES, None, None, train=TRAIN) == counted | train
    true = {name for name, needs in NEEDS.items() if needs == ("references",)} | set(OLD_BLEU)
    assert names(RESPONSES, REFERENCES, None) == counted | true
    vectors = {"embedding-extrema", "embedding-greedy"}
    assert names(RESPONSES, REFERENCES, CONTEXTS, vectors=VECTORS) == counted | true | vectors
    assert names(RESPONSES, None, CONTEXTS, vectors=VECTORS, train=TRAIN) == counted | train | {"coherence"}
    with pytest.raises(ValueError, match="5 responses but 4 references"):
        measure(RESPONSES, REFERENCES[:4])


def test_without_vocabulary_no_word_is_unknown_or_those_outside_the_training_text():
    assert measure(["x y", "x z"])["distinct-1"] == 3 / 4
    assert measure(["x y", "x z"], words=Words.of(train=["x"]))["distinct-1"] == 2 / 4


def test_nothing_to_measure():
    found = evaluate([], [], [], Words.of(VECTORS, [], TRAIN))
    assert {figure["n"] for figure in found.values()} == {0} and found["length"]["mean"] is None
    empty = evaluate([""], [""], [""], Words.of(VECTORS, [], [""]))
    assert empty["length"]["mean"] == 0 and empty["BLEU-4"]["mean"] == 0 and empty["coherence"]["n"] == 0
    no_vectors = evaluate(["a"], ["a"], ["a"], Words.of({}, ["a"], ["a"]))
    assert no_vectors["embedding-greedy"]["n"] == no_vectors["embedding-average"]["n"] == 0


def test_a_figure():
    figure = summarise(np.array([1.0, math.nan, 3.0]))
    assert figure == {"mean": 2, "std": 1, "confidence": 1.97 / math.sqrt(2), "n": 2}
    assert summarise(0.25) == {"mean": 0.25, "std": 0, "confidence": 0, "n": 1}


def test_texts():
    texts = cut(["a b", "", " b\u2003c\t"], lexicon := new_lexicon())
    assert dict(lexicon) == {"a": 0, "b": 1, "c": 2}
    assert (texts.ids.tolist(), texts.lengths.tolist(), texts.rows.tolist()) == ([0, 1, 1, 2], [2, 0, 2], [0, 0, 2, 2])
    assert texts.pairs.tolist() == [0, 2] and len(texts.part(1, 1)) == 0
    assert texts.part(1, 3).ids.tolist() == [1, 2] and texts.part(1, 3).lengths.tolist() == [0, 2]
    assert texts.padded(np.array([1, 0]), 9).tolist() == [[9, 9], [0, 1]]
    assert Texts(texts.ids[:0], texts.lengths[1:2]).padded(np.array([0]), 9).tolist() == [[9]]


def test_perplexity():
    assert perplexity(-4 * math.log(5), 4) == pytest.approx(5)
    assert perplexity(-4 * math.log(5), 2) == pytest.approx(25)
    assert perplexity(-1e6, 1) == math.inf
    with pytest.raises(ValueError, match="over 0 tokens"):
        perplexity(-1, 0)
    for wrong in (0.5, math.nan):
        with pytest.raises(ValueError, match=f"log-likelihood of {wrong} is not possible"):
            perplexity(wrong, 1)
