"""The scorers of boundaries between sentences, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats
from edos_dataset.encoders.folders import read_json
from edos_dataset.segmentation.turns.evidence import Reading, probabilities, read
from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.svm import SvmScorer


class TurnScorer(Protocol):
    """Scores whether a sentence belongs to the same turn as the previous one."""

    @property
    def languages(self) -> tuple[str, ...] | None:
        """Two-letter codes of the languages that it can score; None for all."""
        ...

    @property
    def identity(self) -> str:
        """Hash of the weights; empty if there are none."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """How it was made: data, metrics, licences; empty if nothing was learned."""
        ...

    def same_turn(self, table: pa.Table) -> np.ndarray:
        """Score every sentence of the documents; a document's scores must not depend on the others.

        Args:
            table: SENTENCES.

        Returns:
            float32 [sentences], all documents in order, 0 to 1: the probability that the speaker of the previous
            sentence continues; NaN for the first of a document.
        """
        ...


_WEIGHTS = Path(__file__).with_name("weights")

BESIDE = "scripts"
"""The fast scorer whose log-odds are averaged with those of the encoder in `context`."""

OF_ENCODER = (4.0, 1.0)
"""Weights of the two in that mean."""


def _rules() -> TurnScorer:
    return RuleScorer()


def _svm(folder: Path = _WEIGHTS / "svm") -> TurnScorer:
    return SvmScorer.load(folder)


def _net(folder: Path = _WEIGHTS / "net") -> TurnScorer:
    return NetScorer.load(folder)


def _blend(folder: Path = _WEIGHTS) -> TurnScorer:

    return BlendScorer.load(folder)


def _context(folder: Path = _WEIGHTS / "context") -> TurnScorer:
    from edos_dataset.segmentation.turns.context import ContextScorer

    encoder = ContextScorer.load(folder)
    return BlendScorer((encoder, NetScorer.load(_WEIGHTS / BESIDE)), encoder.record, OF_ENCODER)


SCORERS: dict[str, Callable[[], TurnScorer]] = {
    "rules": _rules,
    "svm": _svm,
    "net": _net,
    "blend": _blend,
    BESIDE: partial(_net, _WEIGHTS / BESIDE),
    "marks": partial(_net, _WEIGHTS / "marks"),
    "context": _context,
}
"""The scorers by their names in recipes. Learned ones read their weights when they are made."""

_FILES: dict[str, Callable[[Path], TurnScorer]] = {
    "svm.safetensors": _svm,
    "net.safetensors": _net,
    "svm/svm.safetensors": _blend,
    "context.safetensors": _context,
}


def load_scorer(name: str) -> TurnScorer:
    """Return a scorer, which is made at its first use in a process.

    Args:
        name: a name in SCORERS, or a folder of weights from `training/train_turn_segmenter.py` or
            `training/train_context_scorer.py`.

    Raises:
        ValueError: it is neither.
    """
    if name in SCORERS:
        return _made(SCORERS[name])
    return _made(maker(name), Path(name))


def maker(folder: str) -> Callable[[Path], TurnScorer]:
    """Return the function that reads a folder of weights, chosen by its files."""
    for file, make in _FILES.items():
        if (Path(folder) / file).is_file():
            return make
    raise ValueError(
        f"no turn scorer is named {folder!r}; there is {', '.join(SCORERS)}, or give a folder that "
        "training/train_turn_segmenter.py or training/train_context_scorer.py wrote"
    )


@lru_cache(maxsize=4)
def _made(make: Callable[..., TurnScorer], *folder: Path) -> TurnScorer:
    return make(*folder)


def blend(*log_odds: Doubles, weights: Sequence[float] | None = None) -> Floats:
    """Return the probabilities of the mean of several log-odds, each [sentences], by default of equal weights."""
    return probabilities(_mean(log_odds, weights))


def _mean(log_odds: Sequence[Doubles], weights: Sequence[float] | None) -> Doubles:
    found: Doubles = (
        np.mean(log_odds, axis=0) if weights is None else np.average(log_odds, axis=0, weights=weights)
    )  # without weights `average` refuses documents without sentences
    return found


class Part(Protocol):
    """A learned scorer that can be part of a blend."""

    @property
    def languages(self) -> tuple[str, ...] | None:
        """ISO 639-1 codes of the languages that it was trained on; None for all."""
        ...

    @property
    def identity(self) -> str:
        """Digest of everything that affects a score."""
        ...

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        ...


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """Scores by the weighted mean of the log-odds of several scorers.

    Attributes:
        parts: the scorers; one may be a blend itself.
        record: the metrics of the blend; the records of the parts say how they were made.
        weights: of the parts, by default equal ones.
    """

    parts: tuple[Part, ...]
    record: dict[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if the parts have no common language."""
        if not self.languages:
            raise ValueError(
                "the scorers of a blend know no language in common: "
                + " and ".join(", ".join(part.languages or ()) for part in self.parts)
            )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that all parts support."""
        first, *others = (part.languages for part in self.parts if part.languages is not None)
        return tuple(language for language in first if all(language in known for known in others))

    @property
    def identity(self) -> str:
        """Digests of all parts, and their weights if they are not equal."""
        weights = "".join(f"-{weight:g}" for weight in self.weights or ())
        return "".join(part.identity for part in self.parts) + weights

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of the documents, which are read once; see TurnScorer."""
        return probabilities(self.log_odds(read(table, self.languages[0])))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        return _mean([part.log_odds(reading) for part in self.parts], self.weights)

    @classmethod
    def load(cls, folder: str | Path) -> "BlendScorer":
        """Load the SVM and the network from the subfolders `svm` and `net`, and the blend's `record.json`.

        Raises:
            FileNotFoundError: one of them is missing.
            ValueError: a file is damaged, or the two have no common language.
        """
        folder = Path(folder)
        return cls((SvmScorer.load(folder / "svm"), NetScorer.load(folder / "net")), read_json(folder / "record.json"))
