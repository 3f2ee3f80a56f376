"""Hashed features of the seam between two sentences: the seven groups of EDOS (Section 3.1; Lison and Meena, 2016) and
what subtitles say beyond them.

Every feature is a code below 2 ** bits. A *column* has one value a seam (the first word, the bin of the pause); a *bag*
holds the n-grams of a sentence. The product of two features is the exclusive or of their codes, so the quadratic part
costs one operation and one look-up each. What is not known (no genre, no time, no block) is a value of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Hashes, Ints
from edos_dataset.segmentation.turns.evidence import UNKNOWN, Bins, Reading, beside, first_sentences
from edos_dataset.segmentation.turns.tokens import WORD, Tokens
from edos_dataset.text import hash64

Codes = Ints

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
    "talk",
)
"""The groups of features; the first seven are the paper's."""

_NOTHING = np.uint64(hash64("<nothing>"))


@dataclass(frozen=True)
class FeatureSettings:
    """Which features there are.

    Args:
        groups: names of GROUPS.
        bits: codes are below 2 ** bits.
        genres: the genres that a model knows; others count as unknown.
        language: ISO 639-1 code, by which words are lemmatised.
    """

    groups: tuple[str, ...] = GROUPS
    bits: int = 18
    genres: tuple[str, ...] = ()
    language: str = "en"

    def __post_init__(self) -> None:
        """Check the parameters; lists, as JSON gives them, become tuples."""
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "genres", tuple(self.genres))
        if strange := sorted(set(self.groups) - set(GROUPS)):
            raise ValueError(f"no group of turn features is named {strange[0]!r}; there is {', '.join(GROUPS)}")
        if not 8 <= self.bits <= 24:
            raise ValueError(f"bits is {self.bits}, but a table of weights has 2 ** 8 to 2 ** 24 rows")


@dataclass(frozen=True, eq=False)
class Seams:
    """The codes of all seams of some documents; seam i lies before sentence i, and those before the first sentence of a
    document mean nothing.

    Attributes:
        columns: int64 [columns, sentences].
        names: of the columns, `group.what`; those whose values are words come last.
        plain: how many columns come before these.
        bags: int64 [2, grams], the n-grams of every sentence as the one before the seam, and as the one after it.
        offsets: int64 [sentences + 1], where the grams of each sentence begin.
        first: bool [sentences], the first of a document.
    """

    columns: Codes
    names: tuple[str, ...]
    plain: int
    bags: Codes
    offsets: Codes
    first: Bools


def read_seams(reading: Reading, settings: FeatureSettings) -> Seams:
    """Return the codes of the seams of some documents."""
    tokens, first = reading.tokens, first_sentences(reading.offsets)
    document = np.repeat(np.arange(len(reading.offsets) - 1), np.diff(reading.offsets))
    bins = _chosen({**reading.evidence, **_genres(reading.table, document, settings.genres)}, settings)
    words = _chosen(_edges(tokens, document), settings)
    codes = [_code(values, name, settings.bits) for name, values in (bins | words).items()]
    columns = np.stack(codes) if codes else np.zeros((0, len(first)), np.int64)
    bags, gram_offsets = (
        _bags(tokens, settings.bits)
        if "ngrams" in settings.groups
        else (np.zeros((2, 0), np.int64), np.zeros(len(first) + 1, np.int64))
    )
    return Seams(columns, (*bins, *words), len(bins), bags, gram_offsets, first)


def _chosen(columns: dict[str, Bins | Hashes], settings: FeatureSettings) -> dict[str, Bins | Hashes]:
    return {name: values for name, values in columns.items() if name.split(".")[0] in settings.groups}


def _mix(values: Hashes) -> Hashes:
    """Spread 64-bit values evenly (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _code(values: Bins | Hashes, name: str, bits: int) -> Codes:
    """Return the codes of a feature's values: hashes, or bins, of which there are few."""
    if values.dtype == np.int64:
        return _code(np.arange(UNKNOWN + 1, dtype=np.uint64), name, bits)[values]
    return (_mix(values.astype(np.uint64) + np.uint64(hash64(name))) >> np.uint64(64 - bits)).astype(np.int64)


def _edges(tokens: Tokens, document: Bins) -> dict[str, Bins | Hashes]:
    """Return the first and final words and bigrams of both sentences, and words of their neighbours."""
    spoken = tokens.kind == WORD
    words = np.r_[tokens.surface[spoken], _NOTHING, _NOTHING]
    ends = np.r_[0, np.cumsum(spoken)][tokens.offsets]
    begin, end = ends[:-1], ends[1:]
    some, several = end > begin, end > begin + 1
    head = np.where(some, words[begin], _NOTHING)
    tail = np.where(some, words[end - 1], _NOTHING)
    opening = np.where(several, _mix(words[begin]) + words[begin + 1], head)
    closing = np.where(several, _mix(words[end - 2]) + words[end - 1], tail)
    return {
        "edge_tokens.first_before": beside(head, -1, document),
        "edge_tokens.last_before": beside(tail, -1, document),
        "edge_tokens.first": head,
        "edge_tokens.last": tail,
        "edge_bigrams.first_before": beside(opening, -1, document),
        "edge_bigrams.last_before": beside(closing, -1, document),
        "edge_bigrams.first": opening,
        "edge_bigrams.last": closing,
        "neighbours.first_two_before": beside(head, -2, document),
        "neighbours.last_two_before": beside(tail, -2, document),
        "neighbours.first_after": beside(head, 1, document),
    }


def _genres(table: pa.Table, document: Bins, known: tuple[str, ...]) -> dict[str, Bins | Hashes]:
    """Return the first two known genres of each sentence's document, in the order of the alphabet."""
    genres = [sorted(set(source["genres"] or ()) & set(known)) for source in table["source"].to_pylist()]
    places = {place: [hash64(names[place]) if len(names) > place else UNKNOWN for names in genres] for place in (0, 1)}
    return {f"genre.{place}": np.array(values, np.uint64)[document] for place, values in places.items()}


def _bags(tokens: Tokens, bits: int) -> tuple[Codes, Codes]:
    """Return the lemmas and bigrams of lemmas of all sentences, in both roles; gram 2t is token t, gram 2t + 1 token t
    with the one behind it.
    """
    lemmas = tokens.lemma
    pairs = _mix(lemmas) + np.r_[lemmas[1:], _NOTHING]
    pairs[tokens.offsets[1:][np.diff(tokens.offsets) > 0] - 1] = _NOTHING  # behind the last token of a sentence
    grams = np.stack([lemmas, pairs], axis=1).ravel()
    return np.stack([_code(grams, role, bits) for role in ("ngrams.before", "ngrams.here")]), tokens.offsets * 2


def products(seams: Seams, settings: FeatureSettings, rows: Codes) -> Iterator[tuple[Codes, Codes | None]]:
    """Yield the codes of all features of some seams, in blocks.

    The quadratic part multiplies every column that is no word by all other columns, and every lemma before the seam by
    every lemma behind it. The rest of the full square (words of the edges by each other, n-grams by columns and by
    n-grams of their own sentence) was measured: it leaves a third of the speed and loses a point of accuracy on unseen
    shows.

    Args:
        seams: of some documents.
        settings: those with which the seams were read.
        rows: int64 [chosen], which seams, each above 0.

    Yields:
        codes [features, chosen] and None; or codes [grams] and the offsets [chosen + 1] of each seam's grams.
    """
    columns = seams.columns[:, rows]
    yield columns, None
    quadratic = "quadratic" in settings.groups
    if quadratic:
        for row in range(min(seams.plain, len(columns) - 1)):
            yield columns[row] ^ columns[row + 1 :], None
    if seams.bags.shape[1]:
        before, here = (_gather(seams, role, rows - 1 + role) for role in (0, 1))
        yield before
        yield here
        if quadratic:
            yield _cross((before[0][::2], before[1] // 2), (here[0][::2], here[1] // 2))


def _gather(seams: Seams, role: int, sentences: Codes) -> tuple[Codes, Codes]:
    """Return the grams of some sentences in one role, and where those of each begin."""
    begin = seams.offsets[sentences]
    sizes = seams.offsets[sentences + 1] - begin
    offsets = np.r_[0, np.cumsum(sizes)]
    return seams.bags[role, np.repeat(begin - offsets[:-1], sizes) + np.arange(offsets[-1])], offsets


def _cross(left: tuple[Codes, Codes], right: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """Return the products of every gram of one bag with every gram of the other, seam by seam, and where those of each
    seam begin.
    """
    (left_grams, left_offsets), (right_grams, right_offsets) = left, right
    left_sizes, right_sizes = np.diff(left_offsets), np.diff(right_offsets)
    times = np.repeat(right_sizes, left_sizes)
    begins = np.r_[0, np.cumsum(times)]
    inner = np.arange(begins[-1]) + np.repeat(np.repeat(right_offsets[:-1], left_sizes) - begins[:-1], times)
    return np.repeat(left_grams, times) ^ right_grams[inner], np.r_[0, np.cumsum(left_sizes * right_sizes)]
