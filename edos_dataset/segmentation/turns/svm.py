"""The paper's learner of turns: a linear support vector machine over hashed features, their products among them (EDOS,
Section 3.1).

Weights are whole numbers of 8 bits, so that a sum of them is exact: a score depends on no order of addition, no batch
and no machine.
"""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats, Ints
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.evidence import Reading, probabilities, read
from edos_dataset.segmentation.turns.features import FeatureSettings, Seams, products, read_seams

_CHUNK = 2048  # seams at a time: what is in work stays in the processor's cache
_FILE = "svm.safetensors"


@dataclass(frozen=True, eq=False)
class SvmScorer:
    """Score by P(same turn) = 1 / (1 + exp(-(slope * sum of the weights + bias))).

    Attributes:
        weights: int8 [2 ** settings.bits].
        slope: of the calibration; it also undoes the scale of the weights.
        bias: of the calibration.
        settings: the features.
        record: how it was made: data, metrics, licences.
    """

    weights: npt.NDArray[np.int8]
    slope: float
    bias: float
    settings: FeatureSettings
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse weights that don't go with the settings, and a calibration that gives no probability."""
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
        """Digest (16 hex digits) of all that decides a score, for fingerprints."""
        return identify(self._packed())

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of some documents; see TurnScorer."""
        return probabilities(self.log_odds(read(table, self.settings.language)))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        seams = read_seams(reading, self.settings)
        return np.where(seams.first, np.nan, self.slope * self.margins(seams) + self.bias)

    def margins(self, seams: Seams) -> Ints:
        """Return the sums of the weights of every seam, [sentences]; 0 for the first of a document."""
        weights = self.weights.astype(np.int16)
        sums = np.zeros(len(seams.first), np.int64)
        chosen = np.flatnonzero(~seams.first)
        for start in range(0, len(chosen), _CHUNK):
            rows = chosen[start : start + _CHUNK]
            for codes, offsets in products(seams, self.settings, rows):
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
        """Load what `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ValueError: a file of it is damaged.
        """
        arrays, packed_facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            facts = json.loads(packed_facts["scorer"])
            return cls(arrays["weights"], facts["slope"], facts["bias"], FeatureSettings(**facts["settings"]), record)

    def _packed(self) -> bytes:
        facts = {"slope": self.slope, "bias": self.bias, "settings": asdict(self.settings)}
        return pack({"weights": self.weights}, {"scorer": json.dumps(facts, sort_keys=True)})
