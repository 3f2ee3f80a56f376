"""The `fast` labeler, for millions of turns: the logits of a turn are the sum of its n-grams' rows in a table that was
distilled from a larger labeler.

N-grams are the words and punctuation marks of a turn, their lemmas, pairs of words, and the turn's length, each
identified by a hash. Labelling needs NumPy and a sparse product, but no neural network.
`training/train_fast_labeler.py` makes the shipped table.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, Hashes, Ints
from edos_dataset.encoders.folders import Arrays, identify, pack, read_folder, usable, write_folder
from edos_dataset.labeling.models.base import Labeler, dialogues_given
from edos_dataset.labeling.models.linear import probabilities_of
from edos_dataset.labels import LABELS
from edos_dataset.segmentation.turns.tokens import Tokens, hash_tokens
from edos_dataset.text import hash64

Codes = npt.NDArray[np.uint32]
Kind = tuple[Codes, Ints]

FIRST = ("words", "lemmas", "pairs")
"""Kinds of n-grams in tables that do not state them."""

_EDGE = np.uint64(hash64("<edge>"))
_LEMMA, _LEFT, _RIGHT, _BEFORE, _BEHIND, _LENGTH = (
    np.uint64(hash64(f"<{name}>") | 1) for name in ("lemma", "left", "right", "before", "behind", "length")
)
_LONGER = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 31, 45, 70])
"""Numbers of tokens at which the next length class begins."""
_HALF = np.uint64(32)
_BUCKETS = np.uint32(12)  # low bits of a code, which do not select its bucket


def ngrams(texts: Sequence[str], language: str = "en", kinds: Sequence[str] = FIRST) -> Iterator[Kind]:
    """Yield the n-grams of texts, one kind after another.

    Yields:
        Codes, uint32 [n-grams of this kind], and offsets, int64 [texts + 1]: text i has codes `offsets[i]:offsets[i +
        1]`.
    """
    tokens = hash_tokens(pa.array(texts, pa.string()), language)
    edged = _edged(tokens)
    for kind in kinds:
        yield KINDS[kind](tokens, edged)


def _words(tokens: Tokens, _: Hashes) -> Kind:
    return _short(tokens.surface), tokens.offsets


def _lemmas(tokens: Tokens, _: Hashes) -> Kind:
    differs = tokens.lemma != tokens.surface
    return _short(tokens.lemma[differs] * _LEMMA), np.r_[0, np.cumsum(differs)][tokens.offsets]


def _edged(tokens: Tokens) -> Hashes:
    # one edge before, between and after the texts; an edge between two texts belongs to both
    edged: Hashes = np.insert(tokens.surface, tokens.offsets, _EDGE)
    return edged


def _pairs(tokens: Tokens, edged: Hashes) -> Kind:
    return _short(edged[:-1] * _LEFT + edged[1:] * _RIGHT), tokens.offsets + np.arange(len(tokens.offsets))


def _skips(tokens: Tokens, edged: Hashes) -> Kind:
    around = edged[:-2] * _BEFORE + edged[2:] * _BEHIND
    edges = tokens.offsets[1:-1] + np.arange(len(tokens.offsets) - 2)
    return _short(np.delete(around, edges)), tokens.offsets


def _length(tokens: Tokens, _: Hashes) -> Kind:
    longer = np.searchsorted(_LONGER, np.diff(tokens.offsets), side="right").astype(np.uint64)
    return _short((longer + np.uint64(1)) * _LENGTH), np.arange(len(tokens.offsets))


def _short(codes: Hashes) -> Codes:
    """Return the upper halves of 64-bit codes, after a multiplication that mixes all bits into them."""
    return ((codes * _LEFT) >> _HALF).astype(np.uint32)


KINDS: dict[str, Callable[[Tokens, Hashes], Kind]] = {
    "words": _words,
    "lemmas": _lemmas,
    "pairs": _pairs,
    "skips": _skips,
    "length": _length,
}
"""Words and punctuation marks; lemmas that differ from their word; pairs of neighbours, edges included; the pair around
each token, edges included; the length class.
"""


class Places:
    """Finds codes in `keys`: uint32, ascending, distinct.

    Gives the result of `np.searchsorted`, several times as fast, since the upper bits of a hash almost determine its
    position.
    """

    def __init__(self, keys: Codes) -> None:
        self.keys = keys
        buckets = np.arange(1 << (32 - int(_BUCKETS)), dtype=np.uint32) << _BUCKETS
        self._begins = np.searchsorted(keys, buckets).astype(np.int32)

    def find(self, codes: Codes) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Return the ascending indices of the codes that are keys, and the position of each in `keys`."""
        if not len(self.keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        places = self._begins.take(codes >> _BUCKETS)
        found = self.keys.take(places, mode="clip")
        behind = np.flatnonzero(found < codes)
        while len(behind):
            places[behind] += 1
            behind = behind[places[behind] < len(self.keys)]
            found[behind] = self.keys[places[behind]]
            behind = behind[found[behind] < codes[behind]]
        known: Ints = np.flatnonzero(found == codes).astype(np.int64, copy=False)
        return known, places[known]


def count_ngrams(
    texts: Sequence[str], places: Places, language: str = "en", kinds: Sequence[str] = FIRST
) -> list[csr_array]:
    """Return the counts of the known n-grams of texts: for every kind a float32 matrix [texts, keys], which may have
    duplicate entries.
    """
    bags = []
    for codes, offsets in ngrams(texts, language, kinds):
        known, columns = places.find(codes)
        ends = np.searchsorted(known, offsets)
        bags.append(csr_array((np.ones(len(known), np.float32), columns, ends), shape=(len(texts), len(places.keys))))
    return bags


def damping(bags: Sequence[csr_array], power: float) -> Floats:
    """Return the factor for each text's sum of rows, float32 [texts]: the number of its known n-grams (at least 1) to
    the power of -power.
    """
    counts = sum(np.diff(bag.indptr) for bag in bags)
    factors: Floats = np.maximum(counts, 1).astype(np.float32) ** np.float32(-power)
    return factors


_CHUNK = 4096  # turns at a time, so that the working set stays in the cache
_FILE = "static.safetensors"


@dataclass(frozen=True, eq=False)
class StaticLabeler(Labeler):
    """Labels single turns: probabilities = softmax((bias + sum of the rows of a turn's n-grams / number of them **
    power) / temperature).

    Attributes:
        keys: uint32 [n-grams], the hashes of the n-grams that have a row, ascending.
        table: int8 [n-grams, 41].
        scale: float32 [n-grams], factor of each row of the table.
        bias: float32 [41].
        power: 0 (sum) to 1 (mean).
        temperature: above 0; fitted on held-out data.
        language: ISO 639-1 code, for lemmatisation.
        kinds: kinds of n-grams, from `KINDS` and in its order; `FIRST` for old tables, which do not state them.
        record: how it was made: data, teacher, metrics, licences.
    """

    keys: Codes
    table: npt.NDArray[np.int8]
    scale: Floats
    bias: Floats
    power: float
    temperature: float = 1.0
    language: str = "en"
    kinds: tuple[str, ...] = FIRST
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check shapes, types and ranges."""
        size = len(self.keys)
        if self.table.shape != (size, len(LABELS)) or self.scale.shape != (size,) or self.bias.shape != (len(LABELS),):
            shapes = f"{self.table.shape}, {self.scale.shape} and {self.bias.shape}"
            raise ValueError(
                f"{size} keys need table [{size}, {len(LABELS)}], scale [{size}] and bias [{len(LABELS)}], got {shapes}"
            )
        if not (self.keys.dtype == np.uint32 and self.table.dtype == np.int8):
            raise ValueError(f"keys must be uint32 and table int8, got {self.keys.dtype} and {self.table.dtype}")
        if (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("the keys must be ascending and distinct")
        if not 0 <= self.power <= 1 or not 0 < self.temperature < np.inf:
            raise ValueError(
                f"power must be from 0 to 1 and temperature above 0, got {self.power} and {self.temperature}"
            )
        if not self.kinds or self.kinds != tuple(kind for kind in KINDS if kind in self.kinds):
            raise ValueError(
                f"the table counts {', '.join(self.kinds)}; this version knows {', '.join(KINDS)}, in this order"
            )

    @cached_property
    def identity(self) -> str:
        """Name and digest of everything that affects the probabilities, for fingerprints."""
        return f"{self.record.get('name', 'fast')}@{identify(self._packed())}"

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn, each labelled without its history; see `Labeler`."""
        dialogues = dialogues_given(dialogues)
        return probabilities_of(self.logits(list(chain.from_iterable(dialogues))) / np.float32(self.temperature))

    def logits(self, texts: Sequence[str]) -> Floats:
        """Return the logits of texts before the temperature is applied, float32 [n, 41]. They do not depend on the
        other texts.
        """
        logits = np.empty((len(texts), len(LABELS)), np.float32)
        for start in range(0, len(texts), _CHUNK):
            bags = count_ngrams(texts[start : start + _CHUNK], self._places, self.language, self.kinds)
            logits[start : start + _CHUNK] = (
                self.bias + sum(bag @ self._rows for bag in bags) * damping(bags, self.power)[:, None]
            )
        return logits

    @cached_property
    def _rows(self) -> Floats:
        return self.table * self.scale[:, None]

    @cached_property
    def _places(self) -> Places:
        return Places(self.keys)

    def save(self, folder: str | Path) -> None:
        """Write `static.safetensors` and `record.json` into a folder, which is created if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path) -> "StaticLabeler":
        """Load a labeler that `save` wrote.

        Raises:
            ValueError: the folder has no such labeler, or one of its files is damaged.
        """
        if not (Path(folder) / _FILE).is_file():
            raise ValueError(f"no static labeler in {str(folder)!r}: expected a folder with {_FILE} and record.json")
        arrays, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            settings = json.loads(facts["labeler"])
            settings["kinds"] = tuple(settings.get("kinds", FIRST))
            return cls(arrays["keys"], arrays["table"], arrays["scale"], arrays["bias"], **settings, record=record)

    def _packed(self) -> bytes:
        arrays: Arrays = {"keys": self.keys, "table": self.table, "scale": self.scale, "bias": self.bias}
        facts: dict[str, Any] = {"power": self.power, "temperature": self.temperature, "language": self.language}
        if self.kinds != FIRST:  # old tables keep their digest
            facts["kinds"] = list(self.kinds)
        return pack(arrays, {"labeler": json.dumps(facts, sort_keys=True)})
