"""The `fast` tier: labels for millions of turns. The logits of a turn are the sum of the rows of its n-grams in a table
that was learned from a larger labeler.

The n-grams are the words and marks of a turn, their lemmas, and all pairs of neighbours, each known by a hash. It takes
NumPy and a sparse product, and no network of neurons. `training/train_fast_labeler.py` makes the shipped table.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.dialogues import dialogues_given
from edos_dataset.labeling.models.heads import probabilities_of
from edos_dataset.labels import LABELS
from edos_dataset.segmentation.turns.packed import Arrays, identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.tokens import hash_tokens
from edos_dataset.text import hash64

Codes = npt.NDArray[np.uint32]

_CHUNK = 4096  # turns at a time: what is in work stays in the processor's cache
_FILE = "static.safetensors"
_EDGE = np.uint64(hash64("<edge>"))
_LEMMA, _LEFT, _RIGHT = (np.uint64(hash64(name) | 1) for name in ("<lemma>", "<left>", "<right>"))


@dataclass(frozen=True, eq=False)
class StaticLabeler:
    """Label single turns: probabilities = softmax((bias + sum of the rows of a turn's n-grams / number of them **
    power) / temperature).

    Attributes:
        keys: uint32 [n-grams], the codes of the n-grams that have a row, rising.
        table: int8 [n-grams, 41].
        scale: float32 [n-grams], what each row of the table is multiplied by.
        bias: float32 [41].
        power: 0 (sum) to 1 (mean).
        temperature: above 0; fitted on held-out data.
        language: ISO 639-1 code, by which words are lemmatised.
        record: how it was made: data, teacher, metrics, licences.
    """

    keys: Codes
    table: npt.NDArray[np.int8]
    scale: Floats
    bias: Floats
    power: float
    temperature: float = 1.0
    language: str = "en"
    record: dict[str, Any] = field(default_factory=dict)

    context = 0

    def __post_init__(self) -> None:
        """Refuse a table that does not give the 41 labels, or that does not go with the keys."""
        size = len(self.keys)
        if self.table.shape != (size, len(LABELS)) or self.scale.shape != (size,) or self.bias.shape != (len(LABELS),):
            shapes = f"{self.table.shape}, {self.scale.shape} and {self.bias.shape}"
            raise ValueError(
                f"{size} keys need table [{size}, {len(LABELS)}], scale [{size}] and bias [{len(LABELS)}], got {shapes}"
            )
        if not (self.keys.dtype == np.uint32 and self.table.dtype == np.int8):
            raise ValueError(f"keys must be uint32 and table int8, got {self.keys.dtype} and {self.table.dtype}")
        if (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("the keys must rise, each once")
        if not 0 <= self.power <= 1 or not 0 < self.temperature < np.inf:
            raise ValueError(
                f"power must be from 0 to 1 and temperature above 0, got {self.power} and {self.temperature}"
            )

    @cached_property
    def identity(self) -> str:
        """Name and digest of all that decides a probability, for fingerprints."""
        return f"{self.record.get('name', 'fast')}@{identify(self._packed())}"

    @property
    def source(self) -> str:
        """Name and short digest: what `label_source` says of a label."""
        name, _, digest = self.identity.partition("@")
        return f"{name}@{digest[:8]}"

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn, float32 [turns of all dialogues, 41], turn after turn. Turns are seen
        one by one; see `Labeler`.
        """
        dialogues = dialogues_given(dialogues)
        return probabilities_of(self.logits(list(chain.from_iterable(dialogues))) / np.float32(self.temperature))

    def logits(self, texts: Sequence[str]) -> Floats:
        """Return the logits of texts before the temperature, float32 [n, 41]. A text's logits do not depend on those
        beside it.
        """
        logits = np.empty((len(texts), len(LABELS)), np.float32)
        for start in range(0, len(texts), _CHUNK):
            bags = count_ngrams(texts[start : start + _CHUNK], self.keys, self.language)
            logits[start : start + _CHUNK] = (
                self.bias + sum(bag @ self._rows for bag in bags) * damping(bags, self.power)[:, None]
            )
        return logits

    @cached_property
    def _rows(self) -> Floats:
        return self.table * self.scale[:, None]

    def save(self, folder: str | Path) -> None:
        """Write `static.safetensors` and `record.json` into a folder, made if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path) -> "StaticLabeler":
        """Load what `save` wrote.

        Raises:
            ValueError: the folder holds no such labeler, or a file of it is damaged.
        """
        if not (Path(folder) / _FILE).is_file():
            raise ValueError(f"no static labeler in {str(folder)!r}: expected a folder with {_FILE} and record.json")
        arrays, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            return cls(
                arrays["keys"],
                arrays["table"],
                arrays["scale"],
                arrays["bias"],
                **json.loads(facts["labeler"]),
                record=record,
            )

    def _packed(self) -> bytes:
        arrays: Arrays = {"keys": self.keys, "table": self.table, "scale": self.scale, "bias": self.bias}
        facts = {"power": self.power, "temperature": self.temperature, "language": self.language}
        return pack(arrays, {"labeler": json.dumps(facts, sort_keys=True)})


def ngrams(texts: Sequence[str], language: str = "en") -> Iterator[tuple[Codes, Ints]]:
    """Yield the n-grams of texts, one kind after the other: words and marks, lemmas that differ from their word, pairs
    of neighbours with both edges.

    Yields:
        Codes, uint32 [n-grams of this kind], and offsets, int64 [texts + 1]: text i has codes `offsets[i]:offsets[i +
        1]`.
    """
    tokens = hash_tokens(pa.array(texts, pa.string()), language)
    yield _short(tokens.surface), tokens.offsets
    differs = tokens.lemma != tokens.surface
    yield _short(tokens.lemma[differs] * _LEMMA), np.r_[0, np.cumsum(differs)][tokens.offsets]
    # one edge between two texts belongs to both: the pair across it is that of an end and a beginning
    edged = np.insert(tokens.surface, tokens.offsets, _EDGE)
    pairs = edged[:-1] * _LEFT + edged[1:] * _RIGHT
    yield _short(pairs), tokens.offsets + np.arange(len(tokens.offsets))


def _short(codes: npt.NDArray[np.uint64]) -> Codes:
    """Return the upper half of 64-bit codes, after which a product has mixed all of their bits."""
    return ((codes * _LEFT) >> np.uint64(32)).astype(np.uint32)


def count_ngrams(texts: Sequence[str], keys: Codes, language: str = "en") -> list[csr_array]:
    """Count the known n-grams of texts, a float32 matrix [texts, keys] for every kind that `ngrams` yields; an entry
    may stand more than once.
    """
    bags = []
    for codes, offsets in ngrams(texts, language):
        places = np.searchsorted(keys, codes)
        known = keys.take(places, mode="clip") == codes if len(keys) else np.zeros(len(codes), bool)
        ends = np.r_[0, np.cumsum(known)][offsets]
        bags.append(csr_array((np.ones(ends[-1], np.float32), places[known], ends), shape=(len(texts), len(keys))))
    return bags


def damping(bags: Sequence[csr_array], power: float) -> Floats:
    """Return what the sums of the rows are multiplied by, float32 [texts]: the number of known n-grams (at least 1) to
    the power of -power.
    """
    counts = sum(np.diff(bag.indptr) for bag in bags)
    factors: Floats = np.maximum(counts, 1).astype(np.float32) ** np.float32(-power)
    return factors
