from dataclasses import replace

import numpy as np
import pytest

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.static import FIRST, KINDS, Places, StaticLabeler, ngrams
from edos_dataset.labels import LABEL_IDS, LABELS

TURNS = ["I was so scared...", "", "Why? I WAS so scared…", "¿ 7 ?", "the dogs were barking", "xyzzy"]


def codes_of(text, kinds=FIRST):
    return [codes.tolist() for codes, _ in ngrams([text], kinds=kinds)]


def labeler(rows, power=0.0, temperature=1.0):
    """Return a labeler whose table gives each word's label a logit: rows is {word: (label, logit)}."""
    coded = sorted((codes_of(word)[0][0], label, logit) for word, (label, logit) in rows.items())
    table = np.zeros((len(coded), len(LABELS)), np.int8)
    for row, (_, label, _) in enumerate(coded):
        table[row, LABEL_IDS[label]] = 100
    scale = np.array([logit / 100 for _, _, logit in coded], np.float32)
    bias = np.linspace(0, 0.4, len(LABELS), dtype=np.float32)
    return StaticLabeler(
        np.array([code for code, _, _ in coded], np.uint32),
        table,
        scale,
        bias,
        power,
        temperature,
        record={"name": "small"},
    )


SMALL = labeler(
    {"scared": ("afraid", 3.0), "why": ("questioning", 2.0), "dog": ("content", 1.5), "?": ("questioning", 0.5)}
)


@pytest.mark.parametrize(
    ("text", "power", "temperature", "sums"),
    [
        ("Scared!", 0.0, 1.0, {"afraid": 3.0}),
        ("scared, SCARED, why?", 0.0, 2.0, {"afraid": 6.0, "questioning": 2.5}),
        ("scared, SCARED, why?", 0.5, 1.0, {"afraid": 6.0 / 2, "questioning": 2.5 / 2}),  # four known n-grams
        ("", 0.5, 1.0, {}),
        ("xyzzy", 1.0, 0.5, {}),
        ("why", 1.0, 1.0, {"questioning": 2.0}),
    ],
)
def test_logits_are_the_damped_sum_of_the_rows_of_the_words(text, power, temperature, sums):
    logits = np.linspace(0, 0.4, len(LABELS))
    for label, value in sums.items():
        logits[LABEL_IDS[label]] += value
    expected = np.exp(logits / temperature) / np.exp(logits / temperature).sum()
    found = replace(SMALL, power=power, temperature=temperature).predict_proba([[text]])
    assert found.dtype == np.float32 and np.allclose(found, expected, atol=1e-6)


def test_ngrams_are_words_other_lemmas_and_neighbours_with_both_edges():
    assert [len(codes) for codes in codes_of("The dogs were barking!")] == [5, 3, 6]
    assert codes_of("dogs")[1] == [code for codes, _ in ngrams(["dogs"]) for code in codes.tolist()][1:2]
    assert codes_of("I Was SCARED...") == codes_of("i was scared…")
    assert codes_of("you are")[2] != codes_of("are you")[2]
    assert codes_of("") == [[], [], codes_of("")[2]] and len(codes_of("")[2]) == 1  # nothing but the two edges


def test_further_ngrams_are_the_neighbours_of_each_token_and_the_length():
    skips, length = codes_of("you are right", ("skips", "length"))
    assert len(skips) == 3 and len(length) == 1
    other = codes_of("you were right", ("skips",))[0]
    assert skips[1] == other[1] and skips[0] != other[0] and skips[2] != other[2]
    pairs = {code for text in ("you right", "right you") for code in codes_of(text, ("pairs",))[0]}
    assert not pairs & {*skips, *length}, "what stands one apart is no pair of neighbours"
    assert codes_of("", ("skips", "length"))[0] == [] and codes_of("", ("length",)) != [length]
    assert codes_of("a " * 5, ("length",)) != codes_of("a " * 6, ("length",))
    assert codes_of("a " * 33, ("length",)) == codes_of("a " * 40, ("length",)) != codes_of("a " * 90, ("length",))


def test_no_ngram_reaches_into_the_next_text():
    together = list(ngrams(TURNS, kinds=tuple(KINDS)))
    for row, text in enumerate(TURNS):
        alone = codes_of(text, tuple(KINDS))
        assert [codes[offsets[row] : offsets[row + 1]].tolist() for codes, offsets in together] == alone
    assert [len(codes) for codes, _ in ngrams([], kinds=tuple(KINDS))] == [0] * 5


def test_places_are_those_that_a_search_finds():
    generator = np.random.default_rng(0)
    near = np.arange(1 << 20, (1 << 20) + 90, 3)  # many in one bucket
    keys = np.unique(np.r_[near, generator.integers(0, 1 << 32, 3000), 0, (1 << 32) - 1]).astype(np.uint32)
    codes = generator.permutation(np.r_[keys, near.astype(np.uint32) + 1, generator.integers(0, 1 << 32, 5000)])
    codes = codes.astype(np.uint32)
    known, places = Places(keys).find(codes)
    assert known.tolist() == np.flatnonzero(np.isin(codes, keys)).tolist()
    assert (keys[places] == codes[known]).all()
    assert Places(keys[1:-1]).find(codes)[0].tolist() == np.flatnonzero(np.isin(codes, keys[1:-1])).tolist()
    assert [len(found) for found in Places(keys[:0]).find(codes)] == [0, 0]


def test_probabilities_are_those_of_each_turn_alone_to_the_bit():
    dialogues = [TURNS[:2], [], TURNS[2:]] * 1500  # more than one chunk
    found = SMALL.predict_proba(dialogues)
    assert found.shape == (9000, len(LABELS)) and np.allclose(found.sum(axis=1), 1, atol=1e-5)
    alone = np.concatenate([SMALL.predict_proba([[text]]) for text in TURNS])
    assert (found.reshape(1500, 6, -1) == alone).all()
    assert SMALL.predict_proba([]).shape == SMALL.predict_proba([[]]).shape == (0, len(LABELS))


def test_a_saved_labeler_is_found_by_its_folder(tmp_path):
    small = replace(SMALL, power=0.5, temperature=1.5)
    small.save(tmp_path / "mine")
    loaded = load_labeler(str(tmp_path / "mine"))
    assert (loaded.identity, loaded.source, loaded.record, loaded.context) == (
        small.identity,
        small.source,
        {"name": "small"},
        0,
    )
    assert small.source == small.identity[: len("small@") + 8]
    assert (loaded.predict_proba([TURNS]) == small.predict_proba([TURNS])).all()
    assert small.identity != SMALL.identity
    with pytest.raises(ValueError, match="no static labeler in .*nowhere.*static.safetensors"):
        StaticLabeler.load(tmp_path / "nowhere")


def test_a_table_says_what_it_counts_unless_it_is_what_the_first_tables_counted(tmp_path):
    (code,) = codes_of("why not", ("skips",))[0][:1]
    more = replace(SMALL, keys=np.array([code], np.uint32), table=SMALL.table[:1], scale=SMALL.scale[:1])
    wide = replace(more, kinds=("words", "skips"))
    wide.save(tmp_path / "wide")
    loaded = StaticLabeler.load(tmp_path / "wide")
    assert loaded.kinds == ("words", "skips") and loaded.identity == wide.identity != more.identity
    assert (loaded.predict_proba([["why not"]]) == wide.predict_proba([["why not"]])).all()
    assert (loaded.predict_proba([["why not"]]) != more.predict_proba([["why not"]])).any()
    SMALL.save(tmp_path / "first")
    assert b"kinds" not in (tmp_path / "first" / "static.safetensors").read_bytes()
    assert StaticLabeler.load(tmp_path / "first").kinds == FIRST
    path = tmp_path / "wide" / "static.safetensors"
    path.write_bytes(path.read_bytes().replace(b"skips", b"skipz"))
    with pytest.raises(ValueError, match="the table counts words, skipz; this version knows words, lemmas"):
        StaticLabeler.load(tmp_path / "wide")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": SMALL.table[:, :7]}, r"4 keys need table \[4, 41\]"),
        ({"keys": SMALL.keys[::-1]}, "keys must be ascending"),
        ({"power": 1.5}, "power must be from 0 to 1"),
        ({"temperature": 0.0}, "temperature above 0"),
        ({"kinds": ("pairs", "words")}, "counts pairs, words; this version knows words, lemmas, pairs"),
        ({"kinds": ()}, "this version knows"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change)
