"""The SVM and the network together: each is right where the other is not sure, and their mean is better than either."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.segmentation.turn_evidence import probabilities, read
from edos_dataset.segmentation.turn_net import NetScorer
from edos_dataset.segmentation.turn_svm import SvmScorer


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """Score by the mean of the log-odds of both.

    Attributes:
        svm: the linear one, of words and their products.
        net: the one that sees the sentences around.
    """

    svm: SvmScorer
    net: NetScorer

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that both know."""
        return tuple(language for language in self.svm.languages if language in self.net.languages)

    @property
    def identity(self) -> str:
        """Digests of both."""
        return f"{self.svm.identity}{self.net.identity}"

    @property
    def record(self) -> dict[str, Any]:
        """How both were made; the metrics are those of the blend, which the network's record holds too."""
        metrics = self.net.record.get("metrics", {}).get("blend", {})
        return {**self.net.record, "name": "turns-blend", "metrics": {"blend": metrics}} if metrics else {}

    def same_turn(self, table: pa.Table) -> npt.NDArray[np.float32]:
        """Score every sentence of some documents, which are read once; see TurnScorer."""
        reading = read(table, self.languages[0])
        return probabilities((self.svm.log_odds(reading) + self.net.log_odds(reading)) / 2)

    @classmethod
    def load(cls, folder: str | Path) -> "BlendScorer":
        """Load the scorers in the folders `svm` and `net` of a folder.

        Raises:
            FileNotFoundError: one of them is missing.
        """
        return cls(SvmScorer.load(Path(folder) / "svm"), NetScorer.load(Path(folder) / "net"))
