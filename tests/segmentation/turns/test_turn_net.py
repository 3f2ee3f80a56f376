"""Scores of the small network: probabilities, each document by itself, the same after saving; its filters against a
plain loop.
"""

from dataclasses import replace

import numpy as np
import pytest

from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.net import (
    BINS,
    CASES,
    EDGE,
    EVIDENCE,
    SPECIAL,
    NetScorer,
    _convolve,
    read_inputs,
    without_rhythm,
)
from edos_dataset.text import hash64
from turn_documents import documents, sentence, spoken

WORDS = (
    "where",
    "is",
    "she",
    "not",
    "here",
    "oh",
    "left",
    "when",
    "go",
    "no",
    "then",
    "stay",
    "you",
    ".",
    "?",
    "!",
    ",",
)
VOCABULARY = np.sort(np.array([hash64(word) for word in WORDS], np.uint64))
FILM = spoken("Where is Anna?", "Anna is not here.", "Oh.", "She left with Tom, I think.", "When?")
OTHER = spoken("Go!", "No.", "Then stay where you are, Tom.")
NOTHING_KNOWN = [sentence(text, None, None, None) for text in ("Go!", "", "No.", "...", "Then stay.")]
SMALL = [
    [],
    [sentence("Alone.")],
    [sentence("")],
    NOTHING_KNOWN,
    spoken("", "", "Oh.", "--", ""),
    spoken("Zyx qwv.", "Plugh?"),
]


def scorer(seed=5, **changed):
    generator = np.random.default_rng(seed)
    embedding, filters, evidence, hidden = 4, 5, 3, 6

    def matrix(*shape):
        return generator.normal(0, 0.5, shape).astype(np.float16)

    weights = {
        "words": generator.integers(-127, 128, (len(VOCABULARY) + SPECIAL, embedding)).astype(np.int8),
        "words_scale": np.full(embedding, 0.01, np.float32),
        "cases": matrix(1 + 2 * CASES, embedding),
        "evidence": matrix(BINS * len(EVIDENCE), evidence),
    }
    weights["words"][0], weights["cases"][0] = 0, 0
    shapes = {"filter": (embedding, 3, filters), "edge": (2 * EDGE * embedding, 1, filters)}
    shapes |= {"first": (2 * filters + evidence, 5, hidden), "out": (hidden, 1, 1)}
    shapes |= dict.fromkeys(("second", "third"), (hidden, 3, hidden))
    for name, (width, steps, out) in shapes.items():
        weights |= {f"{name}.weight": matrix(width, steps * out), f"{name}.bias": matrix(out)}
    return NetScorer(weights | changed, VOCABULARY, record={"name": "test"})


def loop_convolve(values, weight, bias, stride):
    out = len(bias)
    steps = weight.shape[1] // out
    rows = []
    for row in range(len(values)):
        total = bias.copy()
        for step in range(steps):
            there = row + (step - steps // 2) * stride
            if 0 <= there < len(values):
                total = total + values[there] @ weight[:, step * out : (step + 1) * out]
        rows.append(total)
    return np.array(rows)


@pytest.mark.parametrize("steps", [1, 3, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 9])
@pytest.mark.parametrize("stride", [1, 3])
def test_filters_are_those_of_a_plain_loop(rows, steps, stride):
    generator = np.random.default_rng(rows)
    values, weight, bias = (generator.normal(size=shape).astype(np.float32) for shape in ((rows, 4), (4, steps * 3), 3))
    np.testing.assert_allclose(
        _convolve(values, weight, bias, stride), loop_convolve(values, weight, bias, stride), rtol=1e-5, atol=1e-5
    )


def test_inputs_of_a_document_are_parted_by_empty_words():
    film = spoken("Where is she?", "", "She, here... Quux")
    _, inputs = read_inputs(read(documents(OTHER, film), "en"), VOCABULARY)
    rows = {word: SPECIAL + np.searchsorted(VOCABULARY, hash64(word)) for word in WORDS}
    first, last = [rows[word] for word in ("where", "is", "she", "?")], [rows["she"], rows[","], rows["here"], 1, 1]
    assert inputs.words.tolist() == [0, *first, 0, 0, *last, 0]
    assert inputs.starts.tolist() == [0, 5, 6, 12]
    # 1, 2, 3: small, with a capital, other; 3 more for the word that opens a sentence
    assert inputs.cases.tolist() == [0, 5, 1, 1, 3, 0, 0, 5, 3, 1, 3, 2, 0]
    assert (inputs.evidence // BINS == np.arange(len(EVIDENCE))).all()


def test_scores_are_probabilities_and_first_sentences_have_none():
    scores = scorer().same_turn(documents(FILM, OTHER))
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == [True, False, False, False, False, True, False, False]
    known = scores[~np.isnan(scores)]
    assert ((known > 0) & (known < 1)).all()
    assert len(np.unique(known)) == len(known), "the weights are at random, so no two boundaries are alike"


def test_each_document_is_scored_by_itself():
    model = scorer()
    films = [FILM, [], OTHER, spoken("Alone."), spoken(*["Where is she?", "No, not here.", "Oh."] * 60), FILM]
    expected = np.concatenate([model.same_turn(documents(film)) for film in films])
    np.testing.assert_array_equal(model.same_turn(documents(*films)), expected)


@pytest.mark.parametrize("before", [spoken("Go!", "No."), NOTHING_KNOWN])
def test_first_sentence_has_no_pause_and_no_block_before_it(before):
    model = scorer()
    late = [sentence("Oh.", 60, 62, 5), sentence("No.", 62.1, 64, 6), sentence("Go!", 66, 67, 7)]
    np.testing.assert_array_equal(
        model.same_turn(documents(before, late))[len(before) :], model.same_turn(documents(late))
    )


@pytest.mark.parametrize("films", [(), *([film] for film in SMALL), SMALL, [[], FILM, []]])
def test_small_tables(films):
    scores = scorer().same_turn(documents(*films))
    firsts = [place == 0 for film in films for place in range(len(film))]
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == firsts


def test_all_that_is_seen_counts():
    film = spoken("Where is she?", "She is not here.", "Oh.", "When?")
    words = [{**line, "text": line["text"].replace("not", "then")} for line in film]
    capitals = [{**line, "text": line["text"].replace("here", "HERE")} for line in film]
    dashes = [{**line, "dash": number == 1} for number, line in enumerate(film)]
    times = [{**line, "start": line["start"] + number, "end": line["end"] + number} for number, line in enumerate(film)]
    blocks = [{**line, "first_block": 0, "last_block": 0} for line in film]
    scores = [scorer().same_turn(documents(one))[1:].tolist() for one in (film, words, capitals, dashes, times, blocks)]
    assert len({tuple(row) for row in scores}) == len(scores)


def test_times_say_nothing_where_all_pauses_are_the_same():
    """Then nobody timed the document by ear; one other pause in ten is enough to tell that somebody did."""
    film = [sentence(f"Where is she {n}?", 2.1 * n, 2.1 * n + 2, n) for n in range(30)]
    untimed = [{**line, "start": None, "end": None} for line in film]
    late = [{**line, "start": line["start"] + n // 10, "end": line["end"] + n // 10} for n, line in enumerate(film)]
    assert without_rhythm(documents(film, late, film[:9], untimed, [])).tolist() == [True] + [False] * 4
    model = scorer()
    np.testing.assert_array_equal(model.same_turn(documents(film)), model.same_turn(documents(untimed)))
    assert not np.array_equal(*(model.same_turn(documents(one))[1:] for one in (film, late)))


def test_words_without_an_embedding_are_all_the_same():
    model = scorer()
    np.testing.assert_array_equal(
        *(model.same_turn(documents(spoken("Is she?", f"She is {word}."))) for word in ("purple", "quixotic"))
    )


def test_names_are_all_the_same():
    words = np.sort(np.r_[VOCABULARY, [np.uint64(hash64(name)) for name in ("anna", "tom")]])
    weights = scorer().weights
    model = NetScorer({**weights, "words": np.vstack([weights["words"], weights["words"][-2:]])}, words)
    film = spoken("Where is she?", "Is Anna here?", "Anna.")
    np.testing.assert_array_equal(
        *(
            model.same_turn(documents([{**line, "text": line["text"].replace("Anna", name)} for line in film]))
            for name in ("Anna", "Tom")
        )
    )


def test_what_is_saved_is_loaded(tmp_path):
    model = replace(scorer(), languages=("en", "de"))
    model.save(tmp_path / "a" / "b")
    again = NetScorer.load(tmp_path / "a" / "b")
    assert (again.languages, again.identity, again.record) == (("en", "de"), model.identity, {"name": "test"})
    np.testing.assert_array_equal(again.same_turn(documents(FILM)), model.same_turn(documents(FILM)))
    again.save(tmp_path / "c")
    assert (tmp_path / "c" / "net.safetensors").read_bytes() == (tmp_path / "a" / "b" / "net.safetensors").read_bytes()


def test_identity_changes_with_all_that_decides_a_score():
    model = scorer()
    changed = [scorer(**{name: value + np.ones_like(value)}) for name, value in model.weights.items()]
    changed += [replace(model, vocabulary=model.vocabulary + np.uint64(1)), replace(model, languages=("de",))]
    assert len({model.identity, *(other.identity for other in changed)}) == len(model.weights) + 3
    assert scorer().identity == replace(model, record={}).identity == model.identity
    assert len(model.identity) == 16 and int(model.identity, 16)


def test_bad_weights_and_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must have 19 rows for 17 words, got 8"):
        scorer(words=np.zeros((8, 4), np.int8))
    with pytest.raises(FileNotFoundError, match="no turn scorer in .*missing"):
        NetScorer.load(tmp_path / "missing")
