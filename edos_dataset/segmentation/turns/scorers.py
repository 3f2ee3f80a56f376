"""The scorers of borders between sentences, by name."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from edos_dataset.segmentation.turns.rules import RuleScorer


class TurnScorer(Protocol):
    """What says whether a sentence belongs to the same turn as the one before."""

    @property
    def languages(self) -> tuple[str, ...] | None:
        """Two-letter codes of the languages that it can judge; None is any."""
        ...

    @property
    def identity(self) -> str:
        """Hash of the weights; empty where the code is all there is."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """How it was made: data, metrics, licences; empty where nothing was learned."""
        ...

    def same_turn(self, table: pa.Table) -> np.ndarray:
        """Score every sentence of some documents; the score of one must not depend on the other documents.

        Args:
            table: SENTENCES.

        Returns:
            float32 [sentences], all documents in order, 0 to 1: how surely the speaker of the sentence before goes on;
            NaN for the first of a document.
        """
        ...


_WEIGHTS = Path(__file__).with_name("weights")


def _rules() -> TurnScorer:
    return RuleScorer()


def _svm(folder: Path = _WEIGHTS / "svm") -> TurnScorer:
    from edos_dataset.segmentation.turns.svm import SvmScorer

    return SvmScorer.load(folder)


def _net(folder: Path = _WEIGHTS / "net") -> TurnScorer:
    from edos_dataset.segmentation.turns.net import NetScorer

    return NetScorer.load(folder)


def _blend(folder: Path = _WEIGHTS) -> TurnScorer:
    from edos_dataset.segmentation.turns.blend import BlendScorer

    return BlendScorer.load(folder)


def _context(folder: Path = _WEIGHTS / "context") -> TurnScorer:
    """Read the encoder in a folder; the shipped blend has a voice beside it."""
    from edos_dataset.segmentation.turns.blend import BlendScorer
    from edos_dataset.segmentation.turns.context import ContextScorer

    encoder = ContextScorer.load(folder)
    return BlendScorer((encoder, BlendScorer.load(_WEIGHTS)), encoder.record)


SCORERS: dict[str, Callable[[], TurnScorer]] = {
    "rules": _rules,
    "svm": _svm,
    "net": _net,
    "blend": _blend,
    "context": _context,
}
"""What makes the scorers, by the name that a recipe gives. Learned ones read their weights when they are made, and
import what they need only then.
"""

_FILES: dict[str, Callable[[Path], TurnScorer]] = {
    "svm.safetensors": _svm,
    "net.safetensors": _net,
    "svm/svm.safetensors": _blend,
    "context.safetensors": _context,
}


def load_scorer(name: str) -> TurnScorer:
    """Return a scorer; it is made at its first use in a process.

    Args:
        name: in SCORERS, or a folder of weights that `training/train_turn_segmenter.py` or
            `training/train_context_scorer.py` wrote.

    Raises:
        ValueError: it is neither.
    """
    if name in SCORERS:
        return _made(SCORERS[name])
    return _made(maker(name), Path(name))


def maker(folder: str) -> Callable[[Path], TurnScorer]:
    """Return what reads a folder of weights, known by its files."""
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
