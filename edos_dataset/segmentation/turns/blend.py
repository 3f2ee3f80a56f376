"""Scorers together: each is right where the other is not sure, and their mean is better than either."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats
from edos_dataset.encoders.folders import read_json
from edos_dataset.segmentation.turns.evidence import Reading, probabilities, read
from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.svm import SvmScorer


def blend(*log_odds: Doubles) -> Floats:
    """Return the probabilities at the mean of log-odds, each [sentences]."""
    return probabilities(np.mean(log_odds, axis=0))


class Part(Protocol):
    """A learned scorer that can be one of several."""

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes of the languages that it was trained on."""
        ...

    @property
    def identity(self) -> str:
        """Digest of all that decides a score."""
        ...

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        ...


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """Score by the mean of the log-odds of several.

    Attributes:
        parts: the scorers, each of one voice; one that is a blend itself has one for all of its own.
        record: the metrics of the blend; how the parts were made is in theirs.
    """

    parts: tuple[Part, ...]
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse parts that judge different languages."""
        if not self.languages:
            raise ValueError(
                "the scorers of a blend know no language in common: "
                + " and ".join(", ".join(part.languages) for part in self.parts)
            )

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that all know."""
        first, *others = (part.languages for part in self.parts)
        return tuple(language for language in first if all(language in known for known in others))

    @property
    def identity(self) -> str:
        """Digests of all."""
        return "".join(part.identity for part in self.parts)

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of some documents, which are read once; see TurnScorer."""
        return probabilities(self.log_odds(read(table, self.languages[0])))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        means: Doubles = np.mean([part.log_odds(reading) for part in self.parts], axis=0)
        return means

    @classmethod
    def load(cls, folder: str | Path) -> "BlendScorer":
        """Load the SVM and the network in the folders `svm` and `net` of a folder, and its `record.json`.

        Raises:
            FileNotFoundError: one of them is missing.
            ValueError: a file is damaged, or the two know no language in common.
        """
        folder = Path(folder)
        return cls((SvmScorer.load(folder / "svm"), NetScorer.load(folder / "net")), read_json(folder / "record.json"))
