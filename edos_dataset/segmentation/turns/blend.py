"""The SVM and the network together: each is right where the other is not sure, and their mean is better than either."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats
from edos_dataset.encoders.folders import read_json
from edos_dataset.segmentation.turns.evidence import probabilities, read
from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.svm import SvmScorer


def blend(*log_odds: Doubles) -> Floats:
    """Return the probabilities at the mean of log-odds, each [sentences]."""
    return probabilities(np.mean(log_odds, axis=0))


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """Score by the mean of the log-odds of both.

    Attributes:
        svm: the linear one, of words and their products.
        net: the one that sees the sentences around.
        record: the metrics of the blend; how the two were made is in theirs.
    """

    svm: SvmScorer
    net: NetScorer
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse two that judge different languages."""
        if not self.languages:
            raise ValueError(
                f"the two scorers of a blend know no language in common: {', '.join(self.svm.languages)} and "
                f"{', '.join(self.net.languages)}"
            )

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that both know."""
        return tuple(language for language in self.svm.languages if language in self.net.languages)

    @property
    def identity(self) -> str:
        """Digests of both."""
        return f"{self.svm.identity}{self.net.identity}"

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of some documents, which are read once; see TurnScorer."""
        reading = read(table, self.languages[0])
        return blend(self.svm.log_odds(reading), self.net.log_odds(reading))

    @classmethod
    def load(cls, folder: str | Path) -> "BlendScorer":
        """Load the scorers in the folders `svm` and `net` of a folder, and its `record.json`.

        Raises:
            FileNotFoundError: one of them is missing.
            ValueError: a file is damaged, or the two know no language in common.
        """
        folder = Path(folder)
        return cls(SvmScorer.load(folder / "svm"), NetScorer.load(folder / "net"), read_json(folder / "record.json"))
