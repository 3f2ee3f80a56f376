"""Hashed features of the seam between two sentences: the seven groups of EDOS (Section 3.1; Lison and Meena, 2016) and what subtitles say beyond them.

Every feature is a code below 2 ** bits. A *column* has one value a seam (the first word, the bin of the pause); a *bag* holds the n-grams of a sentence.
The product of two features is the exclusive or of their codes, so the quadratic part costs one operation and one look-up each. What is not known (no genre,
no time, no block) is a value of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.schema import flags, unnest
from edos_dataset.segmentation.turn_tokens import CAPITALISED, LOWER, MARK, WORD, Tokens, text_hash, tokenize

Codes = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

GROUPS = (
    "ngrams",
    "edge_tokens",
    "edge_bigrams",
    "block",
    "genre",
    "density",
    "quadratic",
    "timing",
    "dash",
    "punctuation",
    "lengths",
    "neighbours",
)
"""The groups of features; the first seven are the paper's."""

_GAPS = np.array([-0.001, 0.001, 0.05, 0.1, 0.15, 0.25, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0])  # seconds
_DURATIONS = np.array([0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0])  # seconds
_RATES = np.array([6.0, 9.0, 12.0, 15.0, 18.0, 22.0])  # letters a second
_DENSITIES = np.array([4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0])  # sentences a minute
_WORDS = np.array([2, 3, 4, 5, 6, 8, 11, 16])
_UNKNOWN, _OUTSIDE, _INSIDE = 99, 98, 97  # bins: not given; beyond the ends of the document; within one block, whose sentences share its times
_NAME = np.uint64(text_hash("<name>"))


@dataclass(frozen=True)
class FeatureSettings:
    """Which features there are.

    Args:
        groups: names of GROUPS.
        bits: codes are below 2 ** bits.
        genres: the genres that a model knows; others count as unknown.
    """

    groups: tuple[str, ...] = GROUPS
    bits: int = 18
    genres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        if strange := sorted(set(self.groups) - set(GROUPS)):
            raise ValueError(f"no group of turn features is named {strange[0]!r}; there is {', '.join(GROUPS)}")
        if not 8 <= self.bits <= 24:
            raise ValueError(f"bits is {self.bits}, but a table of weights has 2 ** 8 to 2 ** 24 rows")


@dataclass(frozen=True, eq=False)
class Seams:
    """The codes of all seams of some documents; seam i lies before sentence i, and those before the first sentence of a document mean nothing.

    Attributes:
        columns: int64 [columns, sentences].
        names: of the columns, `group.what`.
        bags: int64 [2, grams], the n-grams of every sentence as the one before the seam, and as the one after it.
        words: bool [grams], whether a gram is a single word.
        offsets: int64 [sentences + 1], where the grams of each sentence begin.
        first: bool [sentences], the first of a document.
    """

    columns: Codes
    names: tuple[str, ...]
    bags: Codes
    words: npt.NDArray[np.bool_]
    offsets: Codes
    first: npt.NDArray[np.bool_]


def read_seams(table: pa.Table, settings: FeatureSettings) -> Seams:
    """Return the codes of the seams of SENTENCES."""
    sentences, offsets = unnest(table, "sentences")
    lengths = np.diff(offsets)
    document = np.repeat(np.arange(len(lengths)), lengths)
    first = np.zeros(len(sentences), bool)
    first[offsets[:-1][lengths > 0]] = True
    language = (table["language"].to_pylist() or [None])[0]
    tokens = tokenize(sentences.field("text"), language)
    tokens = _with_names(tokens, tokens.offsets[offsets])
    values = {
        **_edges(tokens),
        **_evidence(sentences, tokens, document, offsets),
        **_document_facts(table, sentences, document, offsets, settings.genres),
    }
    values = {name: value for name, value in values.items() if name.split(".")[0] in settings.groups}
    columns = np.stack([_code(value, name, settings.bits) for name, value in values.items()]) if values else np.zeros((0, len(sentences)), np.int64)
    bags, words, gram_offsets = _bags(tokens, settings) if "ngrams" in settings.groups else _no_bags(len(sentences))
    return Seams(columns, tuple(values), bags, words, gram_offsets, first)


def _mix(values: Hashes) -> Hashes:
    """Spread 64-bit values evenly (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _code(values: npt.NDArray[np.generic], name: str, bits: int) -> Codes:
    """Return the codes of a feature's values: hashes, or bins."""
    if values.dtype != np.uint64:
        bins = _mix(np.arange(_UNKNOWN + 1, dtype=np.uint64) + np.uint64(text_hash(name)))
        return (bins >> np.uint64(64 - bits)).astype(np.int64)[values]
    return (_mix(values + np.uint64(text_hash(name))) >> np.uint64(64 - bits)).astype(np.int64)


def _with_names(tokens: Tokens, documents: Codes) -> Tokens:
    """Take every word that a document writes with a capital inside sentences, and never without one, for a name: names of one show say nothing of another."""
    inner = np.ones(len(tokens.word), bool)
    inner[tokens.offsets[:-1][np.diff(tokens.offsets) > 0]] = False
    is_name = np.zeros(len(tokens.word), bool)
    for begin, end in pairwise(documents.tolist()):
        word, case = tokens.word[begin:end], tokens.case[begin:end]
        named = np.zeros(tokens.words, bool)
        named[word[(case == CAPITALISED) & inner[begin:end]]] = True
        named[word[case == LOWER]] = False
        is_name[begin:end] = named[word]
    surface, lemma = np.where(is_name, _NAME, tokens.surface), np.where(is_name, _NAME, tokens.lemma)
    return Tokens(surface, lemma, tokens.kind, tokens.case, tokens.word, tokens.words, tokens.offsets)


def _edges(tokens: Tokens) -> dict[str, npt.NDArray[np.generic]]:
    """Return the first and final words and bigrams of both sentences, and of their neighbours."""
    spoken = tokens.kind == WORD
    words = np.r_[tokens.surface[spoken], np.uint64(0)]
    ends = np.r_[0, np.cumsum(spoken)][tokens.offsets]
    begin, end = ends[:-1], ends[1:]
    some, several = end > begin, end > begin + 1
    none = np.uint64(1)
    head = np.where(some, words[begin], none)
    tail = np.where(some, words[end - 1], none)
    opening = np.where(several, _mix(words[begin]) + words[np.minimum(begin + 1, len(words) - 1)], head)
    closing = np.where(several, _mix(words[end - 2]) + words[end - 1], tail)
    return {
        "edge_tokens.first_before": np.roll(head, 1),
        "edge_tokens.last_before": np.roll(tail, 1),
        "edge_tokens.first": head,
        "edge_tokens.last": tail,
        "edge_bigrams.first_before": np.roll(opening, 1),
        "edge_bigrams.last_before": np.roll(closing, 1),
        "edge_bigrams.first": opening,
        "edge_bigrams.last": closing,
        "neighbours.first_two_before": np.roll(head, 2),
        "neighbours.last_two_before": np.roll(tail, 2),
        "neighbours.first_after": np.roll(head, -1),
    }


def _evidence(sentences: pa.StructArray, tokens: Tokens, document: Codes, offsets: Codes) -> dict[str, npt.NDArray[np.generic]]:
    """Return the bins of all that is no word: blocks, times, dashes, marks and lengths at the seam and at its neighbours."""
    inside, relation = _blocks(sentences)
    gap, duration, rate = _times(sentences)
    gaps = np.where(inside, _INSIDE, _bin(gap, _GAPS))
    spans = _bin(duration, _DURATIONS)
    rates = _bin(rate, _RATES)
    even = (np.abs(gap) < 0.0015) & (np.abs(duration - np.roll(duration, 1)) < 0.0025)
    dash = flags(sentences.field("dash")).astype(np.int64)
    count = np.r_[0, np.cumsum(tokens.kind == WORD)][tokens.offsets]
    words = _bin(np.diff(count), _WORDS)
    head, tail = _marks(tokens)

    def at(values: npt.NDArray[np.generic], step: int) -> npt.NDArray[np.generic]:
        moved = np.roll(values, -step)
        return np.where(np.roll(document, -step) == document, moved, moved.dtype.type(_OUTSIDE))

    return {
        "block.relation": relation,
        "timing.gap": gaps,
        "timing.even": even.astype(np.int64),
        "timing.duration_before": at(spans, -1),
        "timing.duration": spans,
        "timing.rate_before": at(rates, -1),
        "timing.rate": rates,
        "dash.before": at(dash, -1),
        "dash.here": dash,
        "dash.after": at(dash, 1),
        "dash.share": _share(dash, offsets)[document],
        "punctuation.last_before": at(tail, -1),
        "punctuation.first": head,
        "punctuation.last": tail,
        "lengths.before": at(words, -1),
        "lengths.here": words,
        "neighbours.gap_before": at(gaps, -1),
        "neighbours.gap_after": at(gaps, 1),
        "neighbours.block_before": at(relation, -1),
        "neighbours.block_after": at(relation, 1),
        "neighbours.even": at(even.astype(np.int64), -1) * 3 % 100 + at(even.astype(np.int64), 1) % 3,
        "neighbours.mark_two_before": at(tail, -2),
        "neighbours.words_two_before": at(words, -2),
        "neighbours.words_after": at(words, 1),
        "neighbours.mark_after": at(tail, 1),
    }


def _blocks(sentences: pa.StructArray) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Say which sentences begin in the block where the one before ended, and how many blocks lie between: 0, 1, 2 for more, or not known."""
    first, last = (sentences.field(name).to_numpy(zero_copy_only=False).astype(np.float64) for name in ("first_block", "last_block"))
    step = first - np.roll(last, 1)
    relation = np.where(np.isnan(step), _UNKNOWN, np.clip(np.nan_to_num(step), 0, 2)).astype(np.int64)
    return relation == 0, relation


def _times(sentences: pa.StructArray) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the pause before each sentence, its duration (both in seconds) and its letters a second, NaN where not known."""
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    letters = pc.utf8_length(sentences.field("text")).to_numpy()
    duration = end - start
    return start - np.roll(end, 1), duration, letters / np.maximum(duration, 0.1)


def _marks(tokens: Tokens) -> tuple[Hashes, Hashes]:
    """Return how each sentence begins (its first mark, or the case of its first word) and the mark that it ends with."""
    begin, end = tokens.offsets[:-1], tokens.offsets[1:]
    surface = np.r_[np.where(tokens.kind == MARK, tokens.surface, tokens.case.astype(np.uint64)), np.uint64(_UNKNOWN)]
    closing = np.r_[np.where(tokens.kind == MARK, tokens.surface, np.uint64(0)), np.uint64(_UNKNOWN)]
    empty = begin == end
    return np.where(empty, np.uint64(_UNKNOWN), surface[begin]), np.where(empty, np.uint64(_UNKNOWN), closing[end - 1])


def _document_facts(table: pa.Table, sentences: pa.StructArray, document: Codes, offsets: Codes, known: tuple[str, ...]) -> dict[str, npt.NDArray[np.generic]]:
    """Return the density of the sentences, and the first known genres in the order of the alphabet."""
    lengths = np.diff(offsets)
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    minutes = np.array([np.nanmax(end[a:b]) - np.nanmin(start[a:b]) if np.isfinite(end[a:b]).any() else np.nan for a, b in pairwise(offsets.tolist())]) / 60
    density = _bin(lengths / np.maximum(minutes, 1 / 60), _DENSITIES)
    genres = [sorted(set(source["genres"] or ()) & set(known)) for source in table["source"].to_pylist()]
    values: dict[str, npt.NDArray[np.generic]] = {"density.sentences": density[document]}
    for place in range(2):
        chosen = [text_hash(names[place]) if len(names) > place else _UNKNOWN for names in genres]
        values[f"genre.{place}"] = np.array(chosen, np.uint64)[document]
    return values


def _share(holds: Codes, offsets: Codes) -> Codes:
    """Return a bin for every document by the share of its sentences for which something holds."""
    total = np.r_[0, np.cumsum(holds)]
    share = (total[offsets[1:]] - total[offsets[:-1]]) / np.maximum(np.diff(offsets), 1)
    return np.searchsorted([0.001, 0.03, 0.15, 0.4], share)


def _bin(values: npt.NDArray[np.generic], edges: npt.NDArray[np.generic]) -> Codes:
    bins: Codes = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), _UNKNOWN, bins) if values.dtype.kind == "f" else bins


def _bags(tokens: Tokens, settings: FeatureSettings) -> tuple[Codes, npt.NDArray[np.bool_], Codes]:
    """Return the lemmas and bigrams of lemmas of all sentences, in both roles; gram 2t is token t, gram 2t + 1 token t with the one behind it."""
    lemmas = tokens.lemma
    pairs = _mix(lemmas) + np.r_[lemmas[1:], np.uint64(0)]
    pairs[tokens.offsets[1:][np.diff(tokens.offsets) > 0] - 1] = 2  # the last token of a sentence with its end
    grams = np.stack([lemmas, pairs], axis=1).ravel()
    bags = np.stack([_code(grams, role, settings.bits) for role in ("ngrams.before", "ngrams.here")])
    words = np.tile([True, False], len(lemmas))
    return bags, words, tokens.offsets * 2


def _no_bags(sentences: int) -> tuple[Codes, npt.NDArray[np.bool_], Codes]:
    return np.zeros((2, 0), np.int64), np.zeros(0, bool), np.zeros(sentences + 1, np.int64)


_CROSSED = ("block.relation", "timing.gap", "punctuation.last_before", "punctuation.first", "lengths.before", "lengths.here")
"""The columns by which the n-grams are multiplied."""


def products(seams: Seams, settings: FeatureSettings, rows: Codes) -> Iterator[tuple[Codes, Codes | None]]:
    """Yield the codes of all features of some seams, in blocks.

    Args:
        seams: of some documents.
        settings: those with which the seams were read.
        rows: int64 [chosen], which seams, each above 0.

    Yields:
        codes [features, chosen] and None; or codes [features, grams] and the offsets [chosen + 1] of each seam's grams.
    """
    columns = seams.columns[:, rows]
    yield columns, None
    quadratic = "quadratic" in settings.groups
    if quadratic:
        for row in range(len(columns) - 1):
            yield columns[row] ^ columns[row + 1 :], None
    if not seams.bags.shape[1]:
        return
    crossed = [row for row, name in enumerate(seams.names) if name in _CROSSED]
    for role in (0, 1):
        grams, offsets = _gather(seams, role, rows - 1 + role)
        yield grams[None], offsets
        if quadratic:
            owners = np.repeat(np.arange(len(rows)), np.diff(offsets))
            for row in crossed:
                yield (grams ^ columns[row][owners])[None], offsets


def _gather(seams: Seams, role: int, sentences: Codes) -> tuple[Codes, Codes]:
    """Return the grams of some sentences in one role, and where those of each begin."""
    begin = seams.offsets[sentences]
    sizes = seams.offsets[sentences + 1] - begin
    offsets = np.r_[0, np.cumsum(sizes)]
    return seams.bags[role, np.repeat(begin - offsets[:-1], sizes) + np.arange(offsets[-1])], offsets
