"""A small convolutional network over words and sentences: stronger than the paper's SVM at the same speed.

Words are embedded, convolved three at a time and pooled to one vector per sentence, which is joined with the first
three and last three words. Two convolutional layers over the sentences of a document then judge a boundary together
with the sentences around it; blocks, times and dashes enter as evidence of each sentence. `training/turns/net_fit.py`
trains it; here it runs in numpy, so that a run needs neither torch nor a second file format.

Each document is scored separately, so its scores are bit-identical whatever else is in a batch.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints, unnest
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.evidence import INSIDE, OUTSIDE, UNKNOWN, Reading, probabilities, read

EVIDENCE = (
    "block.relation",
    "timing.gap",
    "timing.split",
    "timing.duration",
    "timing.rate",
    "dash.here",
    "dash.share",
    "density.sentences",
    "lengths.here",
    "talk.called",
    "talk.same_name",
    "talk.echo",
    "talk.person",
)
"""The evidence of a sentence that the network sees; evidence about its neighbours is seen at the neighbours."""

BINS = 20
"""Number of values that one piece of evidence may have."""

EDGE = 3  # words at either end of a sentence that are seen in order
CASES = 3  # kinds of capitalisation that `tokens` distinguishes
SPECIAL = 2
"""Rows of the embedding before the vocabulary: the empty word, and words outside the vocabulary."""

STRIDE = 3
"""Sentences between those that the last layer joins; with it a boundary is judged by seven sentences on either side."""

_FILE = "net.safetensors"
PLACES = np.zeros(UNKNOWN + 1, np.int64)
PLACES[: BINS - 3] = np.arange(BINS - 3)
PLACES[[INSIDE, OUTSIDE, UNKNOWN]] = range(BINS - 3, BINS)
"""Row of each value of a piece of evidence among its BINS."""

OF_TIME = np.array([name.split(".")[0] in ("timing", "density") for name in EVIDENCE])
"""Which pieces of evidence come from times, bool [len(EVIDENCE)]."""

OF_WORDS = np.array([name == "talk.person" for name in EVIDENCE])
"""Which pieces of evidence need words of English, bool [len(EVIDENCE)]."""

UNKNOWN_ROWS = PLACES[UNKNOWN] + BINS * np.arange(len(EVIDENCE))
"""Rows of the embedding of evidence for unknown values, int64 [len(EVIDENCE)]."""

_PAUSES, _SAME = 20, 0.95  # pauses, and the fraction of them that are the same, in a document timed by no ear


@dataclass(frozen=True, eq=False)
class NetInputs:
    """The network's input for one document, with an empty word before each sentence and after the last.

    Attributes:
        words: int64 [tokens + sentences + 1], rows of the embedding; 0 is the empty word.
        cases: int64 [tokens + sentences + 1], rows of the embedding of capitals; 0 is the empty word's.
        starts: int64 [sentences + 1], positions of the empty words.
        evidence: int64 [sentences, len(EVIDENCE)], rows of the embedding of evidence.
    """

    words: Ints
    cases: Ints
    starts: Ints
    evidence: Ints


def evidence_rows(reading: Reading, rhythm: bool = False, words: bool = True) -> Ints:
    """Return the rows of the embedding of evidence for each sentence, int64 [sentences, len(EVIDENCE)].

    Args:
        reading: the documents.
        rhythm: treat the times of a document without a rhythm as unknown (`without_rhythm`).
        words: use the evidence that needs words of English.
    """
    columns = [PLACES[reading.evidence[name].astype(np.int64)] + BINS * at for at, name in enumerate(EVIDENCE)]
    rows = np.stack(columns, axis=1)
    if not words:
        rows[:, OF_WORDS] = UNKNOWN_ROWS[OF_WORDS]
    if not rhythm:
        return rows
    hidden = np.repeat(without_rhythm(reading.table), np.diff(reading.offsets))
    outside = rows == PLACES[OUTSIDE] + BINS * np.arange(len(EVIDENCE))
    return np.where(hidden[:, None] & OF_TIME & ~outside, UNKNOWN_ROWS, rows)


def without_rhythm(table: pa.Table) -> Bools:
    """Return in which documents of SENTENCES all pauses are the same, so that nobody timed them by ear, bool
    [documents]; at least 20 pauses between two blocks must be known.
    """
    sentences, offsets = unnest(table, "sentences")
    start, end, first, last = (
        sentences.field(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
        for name in ("start", "end", "first_block", "last_block")
    )
    pauses = np.round(start - np.r_[np.nan, end[:-1]][: len(start)], 2)
    pauses[first == np.r_[np.nan, last[:-1]][: len(start)]] = np.nan
    pauses[offsets[:-1][np.diff(offsets) > 0]] = np.nan
    equal = []
    for begin, stop in pairwise(offsets.tolist()):
        known = pauses[begin:stop][~np.isnan(pauses[begin:stop])]
        most = np.unique(known, return_counts=True)[1].max(initial=0)
        equal.append(len(known) >= _PAUSES and most >= _SAME * len(known))
    return np.array(equal, bool)


def read_inputs(reading: Reading, vocabulary: Hashes, rhythm: bool = False, words: bool = True) -> Iterator[NetInputs]:
    """Yield the network's input for each document.

    Args:
        reading: the documents.
        vocabulary: hashes of lower-case words (`tokens.Tokens.surface`), ascending.
        rhythm: as for `evidence_rows`.
        words: as for `evidence_rows`.
    """
    tokens, offsets, seen = reading.tokens, reading.offsets, evidence_rows(reading, rhythm, words)
    place = np.searchsorted(vocabulary, tokens.surface)
    known = np.r_[vocabulary, np.uint64(0)][place] == tokens.surface
    opens = np.zeros(len(place) + 1, np.int64)
    opens[tokens.offsets[:-1]] = 1  # of an empty sentence this marks the next one, which begins there anyway
    rows = np.where(known, place + SPECIAL, 1)
    cases = 1 + tokens.case + CASES * opens[:-1]
    for begin, end in pairwise(offsets.tolist()):
        bounds = tokens.offsets[begin : end + 1]
        where = np.arange(bounds[0], bounds[-1]) - bounds[0]
        where += np.repeat(np.arange(1, end - begin + 1), np.diff(bounds))
        length = bounds[-1] - bounds[0] + end - begin + 1
        padded = np.zeros((2, length), np.int64)
        padded[0, where], padded[1, where] = rows[bounds[0] : bounds[-1]], cases[bounds[0] : bounds[-1]]
        yield NetInputs(padded[0], padded[1], bounds - bounds[0] + np.arange(end - begin + 1), seen[begin:end])


@dataclass(frozen=True, eq=False)
class NetScorer:
    """Scores boundaries by the network's P(same turn).

    Attributes:
        weights: the parameters by name, as exported by `Net` in training/turns/net_fit.py; embeddings are int8 with a
            scale per column, the others float16.
        vocabulary: uint64 [words], hashes of the words that have an embedding, ascending.
        languages: ISO 639-1 codes of the languages that it was trained on; None for one whose vocabulary is marks
            alone, which scores documents in any language.
        record: how it was made: data, metrics, licences.
    """

    weights: dict[str, npt.NDArray[Any]]
    vocabulary: Hashes
    languages: tuple[str, ...] | None = ("en",)
    record: dict[str, Any] = field(default_factory=dict)
    _full: dict[str, Floats] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Unpack the weights and try them out."""
        words = len(self.vocabulary) + SPECIAL
        if self.weights["words"].shape[0] != words:
            raise ValueError(
                f"the embedding must have {words} rows for {len(self.vocabulary)} words, got "
                f"{self.weights['words'].shape[0]}"
            )
        if self.vocabulary.dtype != np.uint64 or (self.vocabulary[1:] <= self.vocabulary[:-1]).any():
            raise ValueError("the vocabulary must be rising hashes, uint64")
        # C order, as in the files: products of arrays in another memory layout differ in the last bit.
        self._full.update({name: value.astype(np.float32, order="C") for name, value in self.weights.items()})
        self._full["words"] *= self._full.pop("words_scale")
        known = self.languages
        if known is not None and not (known and all(isinstance(language, str) for language in known)):
            raise ValueError(f"languages must be codes, one at least, got {known!r}")
        for name, rows in (("cases", 1 + 2 * CASES), ("evidence", BINS * len(EVIDENCE))):
            if len(self._full[name]) != rows:
                raise ValueError(f"{name} must have {rows} rows, got {len(self._full[name])}")
        empty, two = np.array([0, 1, 0, 1, 0]), np.array([0, 2, 4])
        tried = self._log_odds(NetInputs(empty, empty, two, np.zeros((2, len(EVIDENCE)), np.int64)))
        if tried.shape != (2,) or not np.isfinite(tried[1]):
            raise ValueError(f"the weights give {tried.tolist()} for two sentences of a word, which are no scores")

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of everything that affects a score, for fingerprints."""
        return identify(self._packed())

    @property
    def wide(self) -> bool:
        """Whether it has the third layer. Such a network learned from screenplays too, and does not see times that say
        nothing.
        """
        return "third.weight" in self.weights

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of the documents; see TurnScorer."""
        if self.languages:
            return probabilities(self.log_odds(read(table, self.languages[0])))
        spoken, lengths = np.array(table["language"].to_pylist(), object), pc.list_value_length(table["sentences"])
        scores = np.empty(pc.sum(lengths).as_py() or 0, np.float32)
        for language in dict.fromkeys(spoken.tolist()):  # it decides which capitals are names
            here = spoken == language
            own = self.log_odds(read(table.filter(pa.array(here)), language or "en"))
            scores[np.repeat(here, lengths.to_numpy())] = probabilities(own)
        return scores

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        return np.concatenate(
            [
                np.zeros(0),
                *map(self._log_odds, read_inputs(reading, self.vocabulary, self.wide, self.languages is not None)),
            ]
        )

    def _log_odds(self, document: NetInputs) -> Floats:
        if not len(document.evidence):
            return np.zeros(0, np.float32)
        full = self._full
        words = full["words"].take(document.words, axis=0)
        words += full["cases"].take(document.cases, axis=0)
        vectors = self._sentence_vectors(words, document.starts)
        seen = full["evidence"].take(document.evidence[:, 0], axis=0)
        for rows in document.evidence.T[1:]:  # summing all of them at once takes four times as long
            seen += full["evidence"].take(rows, axis=0)
        sentences = np.hstack([vectors, _relu(seen)])
        first = _convolve(sentences, full["first.weight"], full["first.bias"])
        if "product.weight" in full:
            first[1:] += (vectors[1:] * vectors[:-1]) @ full["product.weight"]
        hidden = _relu(first)
        hidden += _relu(_convolve(hidden, full["second.weight"], full["second.bias"]))
        if self.wide:
            hidden += _relu(_convolve(hidden, full["third.weight"], full["third.bias"], STRIDE))
        log_odds: Floats = hidden @ full["out.weight"][:, 0] + full["out.bias"][0]
        log_odds[0] = np.nan
        return log_odds

    def _sentence_vectors(self, words: Floats, starts: Ints) -> Floats:
        full = self._full
        filtered = _convolve(words, full["filter.weight"], full["filter.bias"])
        filtered[starts] = 0  # empty words only separate sentences; their 0 makes the maximum a ReLU
        pooled = _pool(filtered, starts)
        begin, end = starts[:-1, None], starts[1:, None]
        steps = np.arange(1, EDGE + 1)
        # beyond the other end: an empty word
        edges = np.hstack([np.minimum(begin + steps, end), np.maximum(end - steps, begin)])
        return np.hstack(
            [pooled, _relu(words.take(edges, axis=0).reshape(len(begin), -1) @ full["edge.weight"] + full["edge.bias"])]
        )

    def save(self, folder: str | Path) -> None:
        """Write `net.safetensors` and `record.json` into a folder, made if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path) -> "NetScorer":
        """Load a scorer that `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ValueError: one of its files is damaged.
        """
        weights, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            languages = json.loads(facts["languages"])
            return cls(weights, weights.pop("vocabulary"), languages and tuple(languages), record)

    def _packed(self) -> bytes:
        return pack({**self.weights, "vocabulary": self.vocabulary}, {"languages": json.dumps(self.languages)})


def _relu(values: Floats) -> Floats:
    return np.maximum(values, 0, out=values)


def _pool(values: Floats, starts: Ints) -> Floats:
    """Return the maximum of each group of rows, [groups, width], seven times as fast as `np.maximum.reduceat`.

    Groups begin at `starts`, [groups + 1], which also has the end of the last one; none is empty.
    """
    sizes = np.diff(starts)
    longest = np.argsort(-sizes, kind="stable")
    first = starts[longest]
    greatest = values.take(first, axis=0)
    reaching = len(sizes) - np.cumsum(np.bincount(sizes))  # [place]: number of groups with a row there
    for place, groups in enumerate(reaching[1:-1].tolist(), 1):
        np.maximum(greatest[:groups], values.take(first[:groups] + place, axis=0), out=greatest[:groups])
    return greatest[np.argsort(longest)]


def _convolve(values: Floats, weight: Floats, bias: Floats, stride: int = 1) -> Floats:
    """Return the convolution of rows, padded with zeros, plus the bias, [rows, out].

    Args:
        values: [rows, width].
        weight: [width, steps * out], steps in order from the farthest row before to the farthest row after.
        bias: [out].
        stride: rows from one step to the next.
    """
    out, rows = len(bias), len(values)
    product = values @ weight
    reach = weight.shape[1] // out // 2
    total: Floats = np.empty((rows, out), np.float32)
    shift = min(reach * stride, rows)
    total[:shift] = bias
    np.add(product[: rows - shift, :out], bias, out=total[shift:])
    for step in range(1 - reach, reach + 1):
        part = product[:, (step + reach) * out : (step + reach + 1) * out]
        shift = min(abs(step) * stride, rows)
        if step < 0:
            total[shift:] += part[: rows - shift]
        else:
            total[: rows - shift] += part[shift:]
    return total
