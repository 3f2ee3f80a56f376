"""The papers' scorer of turns: a linear support vector machine over hashed features of the boundary between two
sentences, in the seven groups of EDOS (Section 3.1; Lison and Meena, 2016) and further ones from subtitles.

Weights are 8-bit integers, so their sums are exact: a score does not depend on the order of addition, the batch or the
machine.

Every feature is a code below 2 ** bits. A *column* has one value per boundary (the first word, the bin of the pause); a
*bag* holds the n-grams of a sentence. The product of two features is the exclusive or of their codes, so each product
costs one operation and one look-up. Unknown values (no genre, no time, no block) have a value of their own.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.evidence import (
    UNKNOWN,
    Bins,
    Reading,
    beside,
    first_sentences,
    probabilities,
    read,
)
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
    """The choice of features.

    Args:
        groups: names from GROUPS.
        bits: codes are below 2 ** bits.
        genres: the genres that a model knows; others count as unknown.
        language: ISO 639-1 code of the language, for lemmatisation.
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
class Boundaries:
    """The codes of all boundaries of some documents.

    Boundary i lies before sentence i; the one before the first sentence of a document means nothing.

    Attributes:
        columns: int64 [columns, sentences].
        names: names of the columns, `group.what`; columns with words as values come last.
        plain: number of the columns before those.
        bags: int64 [2, grams], the n-grams of every sentence as the one before the boundary, and as the one after it.
        offsets: int64 [sentences + 1], positions at which the grams of each sentence begin.
        first: bool [sentences], whether the sentence is the first of a document.
    """

    columns: Codes
    names: tuple[str, ...]
    plain: int
    bags: Codes
    offsets: Codes
    first: Bools


def read_boundaries(reading: Reading, settings: FeatureSettings) -> Boundaries:
    """Return the codes of the boundaries of some documents."""
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
    return Boundaries(columns, (*bins, *words), len(bins), bags, gram_offsets, first)


def _chosen(columns: dict[str, Bins | Hashes], settings: FeatureSettings) -> dict[str, Bins | Hashes]:
    return {name: values for name, values in columns.items() if name.split(".")[0] in settings.groups}


def _mix(values: Hashes) -> Hashes:
    """Spread 64-bit values evenly (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _code(values: Bins | Hashes, name: str, bits: int) -> Codes:
    """Return the codes of a feature's values: hashes, or numbers of a few bins."""
    if values.dtype == np.int64:
        return _code(np.arange(UNKNOWN + 1, dtype=np.uint64), name, bits)[values]
    return (_mix(values.astype(np.uint64) + np.uint64(hash64(name))) >> np.uint64(64 - bits)).astype(np.int64)


def _edges(tokens: Tokens, document: Bins) -> dict[str, Bins | Hashes]:
    """Return the first and last words and bigrams of both sentences, and words of their neighbours."""
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
    """Return the first two known genres of each sentence's document, in alphabetical order."""
    genres = [sorted(set(source["genres"] or ()) & set(known)) for source in table["source"].to_pylist()]
    places = {place: [hash64(names[place]) if len(names) > place else UNKNOWN for names in genres] for place in (0, 1)}
    return {f"genre.{place}": np.array(values, np.uint64)[document] for place, values in places.items()}


def _bags(tokens: Tokens, bits: int) -> tuple[Codes, Codes]:
    """Return the lemmas and lemma bigrams of all sentences, in both roles.

    Gram 2t is token t, gram 2t + 1 is token t with the next one.
    """
    lemmas = tokens.lemma
    pairs = _mix(lemmas) + np.r_[lemmas[1:], _NOTHING]
    pairs[tokens.offsets[1:][np.diff(tokens.offsets) > 0] - 1] = _NOTHING  # no bigram crosses the end of a sentence
    grams = np.stack([lemmas, pairs], axis=1).ravel()
    return np.stack([_code(grams, role, bits) for role in ("ngrams.before", "ngrams.here")]), tokens.offsets * 2


def products(boundaries: Boundaries, settings: FeatureSettings, rows: Codes) -> Iterator[tuple[Codes, Codes | None]]:
    """Yield the codes of all features of some boundaries, in blocks.

    The quadratic part multiplies every column without words by all other columns, and every lemma before the boundary
    by every lemma after it. The rest of the full square (words of the edges by each other, n-grams by columns and by
    n-grams of their own sentence) was measured: it reduces the speed to a third and costs a point of accuracy on unseen
    shows.

    Args:
        boundaries: the boundaries of some documents.
        settings: the settings with which they were read.
        rows: int64 [chosen], indices of the boundaries to take, each above 0.

    Yields:
        codes [features, chosen] and None; or codes [grams] and the offsets [chosen + 1] of each boundary's grams.
    """
    columns = boundaries.columns[:, rows]
    yield columns, None
    quadratic = "quadratic" in settings.groups
    if quadratic:
        for row in range(min(boundaries.plain, len(columns) - 1)):
            yield columns[row] ^ columns[row + 1 :], None
    if boundaries.bags.shape[1]:
        before, here = (_gather(boundaries, role, rows - 1 + role) for role in (0, 1))
        yield before
        yield here
        if quadratic:
            yield _cross((before[0][::2], before[1] // 2), (here[0][::2], here[1] // 2))


def _gather(boundaries: Boundaries, role: int, sentences: Codes) -> tuple[Codes, Codes]:
    begin = boundaries.offsets[sentences]
    sizes = boundaries.offsets[sentences + 1] - begin
    offsets = np.r_[0, np.cumsum(sizes)]
    return boundaries.bags[role, np.repeat(begin - offsets[:-1], sizes) + np.arange(offsets[-1])], offsets


def _cross(left: tuple[Codes, Codes], right: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """Return the products of every gram of one bag with every gram of the other, boundary by boundary, and the offsets
    of the boundaries.
    """
    (left_grams, left_offsets), (right_grams, right_offsets) = left, right
    left_sizes, right_sizes = np.diff(left_offsets), np.diff(right_offsets)
    times = np.repeat(right_sizes, left_sizes)
    begins = np.r_[0, np.cumsum(times)]
    inner = np.arange(begins[-1]) + np.repeat(np.repeat(right_offsets[:-1], left_sizes) - begins[:-1], times)
    return np.repeat(left_grams, times) ^ right_grams[inner], np.r_[0, np.cumsum(left_sizes * right_sizes)]


_CHUNK = 2048  # boundaries at once, few enough for the processor's cache
_FILE = "svm.safetensors"


@dataclass(frozen=True, eq=False)
class SvmScorer:
    """Scores boundaries by P(same turn) = 1 / (1 + exp(-(slope * sum of the weights + bias))).

    Attributes:
        weights: int8 [2 ** settings.bits].
        slope: slope of the calibration; it also undoes the scale of the weights.
        bias: bias of the calibration.
        settings: the features.
        record: how it was made: data, metrics, licences.
    """

    weights: npt.NDArray[np.int8]
    slope: float
    bias: float
    settings: FeatureSettings
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError if the weights don't fit the settings or the calibration gives no probability."""
        if not (math.isfinite(self.slope) and math.isfinite(self.bias)):
            raise ValueError(f"slope and bias must be numbers, got {self.slope} and {self.bias}")
        if self.weights.shape != (1 << self.settings.bits,) or self.weights.dtype != np.int8:
            raise ValueError(
                f"the weights must be int8 [{1 << self.settings.bits}] for {self.settings.bits} bits, got "
                f"{self.weights.dtype} {self.weights.shape}"
            )

    @property
    def languages(self) -> tuple[str, ...]:
        """The language that it was trained on, ISO 639-1."""
        return (self.settings.language,)

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of everything that affects a score, for fingerprints."""
        return identify(self._packed())

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of the documents; see TurnScorer."""
        # Not rounded: so the data of the papers' recipe, which has this scorer, stay as they were published.
        return probabilities(self.log_odds(read(table, self.settings.language, rounded=False)))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        boundaries = read_boundaries(reading, self.settings)
        return np.where(boundaries.first, np.nan, self.slope * self.margins(boundaries) + self.bias)

    def margins(self, boundaries: Boundaries) -> Ints:
        """Return the sum of the weights of each boundary, [sentences]; 0 for the first of a document."""
        weights = self.weights.astype(np.int16)
        sums = np.zeros(len(boundaries.first), np.int64)
        chosen = np.flatnonzero(~boundaries.first)
        for start in range(0, len(chosen), _CHUNK):
            rows = chosen[start : start + _CHUNK]
            for codes, offsets in products(boundaries, self.settings, rows):
                if offsets is None:
                    sums[rows] += weights.take(codes).sum(
                        axis=0, dtype=np.int16
                    )  # exact: there are fewer than 258 columns
                else:
                    totals = np.r_[0, np.cumsum(weights.take(codes), dtype=np.int64)]
                    sums[rows] += totals[offsets[1:]] - totals[offsets[:-1]]
        return sums

    def save(self, folder: str | Path) -> None:
        """Write `svm.safetensors` and `record.json` into a folder, made if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path) -> "SvmScorer":
        """Load a scorer that `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ValueError: one of its files is damaged.
        """
        arrays, packed_facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            facts = json.loads(packed_facts["scorer"])
            return cls(arrays["weights"], facts["slope"], facts["bias"], FeatureSettings(**facts["settings"]), record)

    def _packed(self) -> bytes:
        facts = {"slope": self.slope, "bias": self.bias, "settings": asdict(self.settings)}
        return pack({"weights": self.weights}, {"scorer": json.dumps(facts, sort_keys=True)})
