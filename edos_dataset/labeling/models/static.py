"""The `fast` tier: labels for millions of turns. The logits of a turn are the sum of the rows of its n-grams in a table
that was learned from a larger labeler.

The n-grams (`ngrams.py`) are the words and marks of a turn, their lemmas, pairs of words, and the turn's length, each
known by a hash. It takes NumPy and a sparse product, and no network of neurons. `training/train_fast_labeler.py` makes
the shipped table.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.encoders.folders import Arrays, identify, pack, read_folder, usable, write_folder
from edos_dataset.labeling.models.dialogues import dialogues_given
from edos_dataset.labeling.models.heads import probabilities_of
from edos_dataset.labeling.models.ngrams import FIRST, KINDS, Codes, Places, count_ngrams, damping
from edos_dataset.labels import LABELS

_CHUNK = 4096  # turns at a time: what is in work stays in the processor's cache
_FILE = "static.safetensors"


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
        kinds: of n-grams that are counted, of `KINDS`, in their order there; tables made before there were others don't
            say them.
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

    context = 0

    def __post_init__(self) -> None:
        """Refuse a table that does not give the 41 labels, does not go with the keys, or counts what is not known."""
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
        if not self.kinds or self.kinds != tuple(kind for kind in KINDS if kind in self.kinds):
            raise ValueError(
                f"the table counts {', '.join(self.kinds)}; this version knows {', '.join(KINDS)}, in this order"
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
            told = json.loads(facts["labeler"])
            told["kinds"] = tuple(told.get("kinds", FIRST))
            return cls(arrays["keys"], arrays["table"], arrays["scale"], arrays["bias"], **told, record=record)

    def _packed(self) -> bytes:
        arrays: Arrays = {"keys": self.keys, "table": self.table, "scale": self.scale, "bias": self.bias}
        facts: dict[str, Any] = {"power": self.power, "temperature": self.temperature, "language": self.language}
        if self.kinds != FIRST:  # else the digest of tables made before would be another
            facts["kinds"] = list(self.kinds)
        return pack(arrays, {"labeler": json.dumps(facts, sort_keys=True)})
