"""A small convolutional network over words and sentences: stronger than the paper's SVM at the same speed.

Words are embedded, filtered three at a time and pooled to a vector a sentence, beside the three first and three last
words. Two layers of filters then run over the sentences of a document, so a seam is judged with the sentences around
it; blocks, times and dashes come in as evidence of each sentence. `training/turns/net_fit.py` learns it; here it is
carried out in numpy, so that a run needs neither torch nor a second file format.

A document is carried out by itself, so that its scores are the same bits whatever else is in a batch.
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

from edos_dataset.arrays import Doubles, Floats, Hashes, Ints
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
"""The evidence of a sentence that the network sees; what `turn_evidence` says of its neighbours it sees there."""

BINS = 20
"""Values that one piece of evidence may have."""

EDGE = 3  # words at either end of a sentence that are seen in their order
CASES = 3  # how turn_tokens tells words by their capitals
SPECIAL = 2
"""Rows of the embedding before those of the vocabulary: nothing, and a word that is not in it."""

_FILE = "net.safetensors"
PLACES = np.zeros(UNKNOWN + 1, np.int64)
PLACES[: BINS - 3] = np.arange(BINS - 3)
PLACES[[INSIDE, OUTSIDE, UNKNOWN]] = range(BINS - 3, BINS)
"""Row of each value of a piece of evidence among its BINS."""


@dataclass(frozen=True, eq=False)
class NetInputs:
    """What the network sees of one document. Before the words of each sentence and behind the last stands an empty one.

    Attributes:
        words: int64 [tokens + sentences + 1], rows of the embedding; 0 is the empty word.
        cases: int64 [tokens + sentences + 1], rows of the embedding of capitals; 0 is the empty word's.
        starts: int64 [sentences + 1], where the empty word before each sentence stands, and the last one.
        evidence: int64 [sentences, len(EVIDENCE)], rows of the embedding of evidence.
    """

    words: Ints
    cases: Ints
    starts: Ints
    evidence: Ints


def evidence_rows(reading: Reading) -> Ints:
    """Return the rows of the embedding of evidence that sentences have: int64 [sentences, len(EVIDENCE)]."""
    columns = [PLACES[reading.evidence[name].astype(np.int64)] + BINS * at for at, name in enumerate(EVIDENCE)]
    return np.stack(columns, axis=1)


def read_inputs(reading: Reading, vocabulary: Hashes) -> Iterator[NetInputs]:
    """Yield what the network sees of each document.

    Args:
        reading: the documents.
        vocabulary: rising hashes of small-lettered words (`turn_tokens.Tokens.surface`).
    """
    tokens, offsets, seen = reading.tokens, reading.offsets, evidence_rows(reading)
    place = np.searchsorted(vocabulary, tokens.surface)
    known = np.r_[vocabulary, np.uint64(0)][place] == tokens.surface
    opens = np.zeros(len(place) + 1, np.int64)
    opens[tokens.offsets[:-1]] = 1  # an empty sentence marks the next one, which is opened there anyway
    words = np.where(known, place + SPECIAL, 1)
    cases = 1 + tokens.case + CASES * opens[:-1]
    for begin, end in pairwise(offsets.tolist()):
        bounds = tokens.offsets[begin : end + 1]
        where = np.arange(bounds[0], bounds[-1]) - bounds[0]
        where += np.repeat(np.arange(1, end - begin + 1), np.diff(bounds))
        length = bounds[-1] - bounds[0] + end - begin + 1
        padded = np.zeros((2, length), np.int64)
        padded[0, where], padded[1, where] = words[bounds[0] : bounds[-1]], cases[bounds[0] : bounds[-1]]
        yield NetInputs(padded[0], padded[1], bounds - bounds[0] + np.arange(end - begin + 1), seen[begin:end])


@dataclass(frozen=True, eq=False)
class NetScorer:
    """Score by P(same turn) of the network.

    Attributes:
        weights: the parameters by name, as `Net` of training/turns/net_module.py exports them; embeddings are int8 with
            a scale a column, the others float16.
        vocabulary: uint64 [words], rising hashes of the words that have an embedding.
        languages: ISO 639-1 codes of the languages that it was trained on.
        record: how it was made: data, metrics, licences.
    """

    weights: dict[str, npt.NDArray[Any]]
    vocabulary: Hashes
    languages: tuple[str, ...] = ("en",)
    record: dict[str, Any] = field(default_factory=dict)
    _full: dict[str, Floats] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Unpack the weights, and try them."""
        words = len(self.vocabulary) + SPECIAL
        if self.weights["words"].shape[0] != words:
            raise ValueError(
                f"the embedding must have {words} rows for {len(self.vocabulary)} words, got "
                f"{self.weights['words'].shape[0]}"
            )
        if self.vocabulary.dtype != np.uint64 or (self.vocabulary[1:] <= self.vocabulary[:-1]).any():
            raise ValueError("the vocabulary must be rising hashes, uint64")
        # In the order in which files hold them: products of arrays that lie otherwise differ in the last bit.
        self._full.update({name: value.astype(np.float32, order="C") for name, value in self.weights.items()})
        self._full["words"] *= self._full.pop("words_scale")
        if not self.languages or not all(isinstance(language, str) for language in self.languages):
            raise ValueError(f"languages must be codes, one at least, got {self.languages!r}")
        for name, rows in (("cases", 1 + 2 * CASES), ("evidence", BINS * len(EVIDENCE))):
            if len(self._full[name]) != rows:
                raise ValueError(f"{name} must have {rows} rows, got {len(self._full[name])}")
        empty, two = np.array([0, 1, 0, 1, 0]), np.array([0, 2, 4])
        tried = self._log_odds(NetInputs(empty, empty, two, np.zeros((2, len(EVIDENCE)), np.int64)))
        if tried.shape != (2,) or not np.isfinite(tried[1]):
            raise ValueError(f"the weights give {tried.tolist()} for two sentences of a word, which are no scores")

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of all that decides a score, for fingerprints."""
        return identify(self._packed())

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of some documents; see TurnScorer."""
        return probabilities(self.log_odds(read(table, self.languages[0])))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        return np.concatenate(
            [np.zeros(0), *(self._log_odds(document) for document in read_inputs(reading, self.vocabulary))]
        )

    def _log_odds(self, document: NetInputs) -> Floats:
        if not len(document.evidence):
            return np.zeros(0, np.float32)
        full = self._full
        words = full["words"].take(document.words, axis=0)
        words += full["cases"].take(document.cases, axis=0)
        vectors = self._sentence_vectors(words, document.starts)
        seen = full["evidence"].take(document.evidence[:, 0], axis=0)
        for rows in document.evidence.T[1:]:  # a sum over all of them at once takes four times as long
            seen += full["evidence"].take(rows, axis=0)
        sentences = np.hstack([vectors, _relu(seen)])
        hidden = _relu(_convolve(sentences, full["first.weight"], full["first.bias"]))
        hidden += _relu(_convolve(hidden, full["second.weight"], full["second.bias"]))
        log_odds: Floats = hidden @ full["out.weight"][:, 0] + full["out.bias"][0]
        log_odds[0] = np.nan
        return log_odds

    def _sentence_vectors(self, words: Floats, starts: Ints) -> Floats:
        full = self._full
        filtered = _convolve(words, full["filter.weight"], full["filter.bias"])
        filtered[starts] = 0  # the empty words only part sentences, and their 0 is the relu
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
        """Load what `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ValueError: a file of it is damaged.
        """
        weights, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            return cls(weights, weights.pop("vocabulary"), tuple(json.loads(facts["languages"])), record)

    def _packed(self) -> bytes:
        return pack({**self.weights, "vocabulary": self.vocabulary}, {"languages": json.dumps(self.languages)})


def _relu(values: Floats) -> Floats:
    return np.maximum(values, 0, out=values)


def _pool(values: Floats, starts: Ints) -> Floats:
    """Return the greatest of each group of rows, [groups, width], in a seventh of the time of `np.maximum.reduceat`;
    groups begin at `starts`, [groups + 1] with the last one's end, and none is empty.
    """
    sizes = np.diff(starts)
    longest = np.argsort(-sizes, kind="stable")
    first = starts[longest]
    greatest = values.take(first, axis=0)
    reaching = len(sizes) - np.cumsum(np.bincount(sizes))  # [place]: groups that have a row there, the longest ones
    for place, groups in enumerate(reaching[1:-1].tolist(), 1):
        np.maximum(greatest[:groups], values.take(first[:groups] + place, axis=0), out=greatest[:groups])
    return greatest[np.argsort(longest)]


def _convolve(values: Floats, weight: Floats, bias: Floats) -> Floats:
    """Return bias + the sum over steps of the row `step` further on times the weights of that step; beyond the ends
    there are zeros.

    Args:
        values: [rows, width].
        weight: [width, steps * out], the steps from the farthest row before to the farthest behind.
        bias: [out].
    """
    out = len(bias)
    product = values @ weight
    total: Floats = np.empty((len(values), out), np.float32)
    reach = weight.shape[1] // out // 2
    total[:reach] = bias
    np.add(product[: len(values) - reach, :out], bias, out=total[reach:])
    for step in range(1 - reach, reach + 1):
        part = product[:, (step + reach) * out : (step + reach + 1) * out]
        if step < 0:
            total[-step:] += part[:step]
        else:
            total[: len(total) - step] += part[step:]
    return total
