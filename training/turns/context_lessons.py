"""What the encoder of `edos_dataset.segmentation.turns.context` learns from: labelled documents, in windows of like
length an update.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Floats
from edos_dataset.encoders.batches import token_batches
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.segmentation.turns.context import tokenizer_of
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.windows import TOKENS, Sentences, Window, read_sentences
from training.turns.passes import draw_pass, hide, weigh

_POOL = 400
"""Windows that come next and are put into batches by their length."""


@dataclass(frozen=True)
class ContextSettings:
    """How to learn.

    Args:
        backbone: the encoder to begin with: all-MiniLM-L6-v2 (packaged), a folder or a Hub id. Its word embeddings stay
            as they are.
        updates: of the weights; 0 leaves them as they are, to be measured.
        rate: highest step of the encoder, and `head_rate` of all else; they rise over `warmup` updates and fall to zero
            evenly.
        decay: of the weights.
        gradient_norm: longest gradient.
        tokens: an update, padding among them, at most.
        unknown_evidence: share of the documents of which one kind of evidence is hidden.
        share: corpus → share of its documents in a pass, where not all.
        precision: "no" (float32) or "bf16": of the forward pass.
        seed: of everything that is drawn.
    """

    name: ClassVar[str] = "context"

    backbone: str = DEFAULT_MODEL
    updates: int = 2000
    rate: float = 2e-4
    head_rate: float = 1e-3
    warmup: int = 100
    decay: float = 0.01
    gradient_norm: float = 1.0
    tokens: int = 4096
    unknown_evidence: float = 0.3
    share: dict[str, float] = field(default_factory=dict)
    precision: Literal["no", "bf16"] = "no"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("updates", 0), ("warmup", 1), ("tokens", TOKENS)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Lesson:
    """A document, its labels and their weights: [sentences]."""

    sentences: Sentences
    label: npt.NDArray[np.int8]
    weight: Floats


Part = tuple[Lesson, Window]


def read_lessons(table: pa.Table, backbone: str) -> list[Lesson]:
    """Return labelled documents as the encoder reads them.

    Args:
        table: as for `passes.weigh`.
        backbone: as of ContextSettings.

    Raises:
        ValueError: the labels are not of both classes.
    """
    label, weight = weigh(table)
    reading = read(table, "en")
    documents = read_sentences(reading, tokenizer_of(backbone))
    bounds = pairwise(reading.offsets.tolist())
    return [Lesson(one, label[a:b], weight[a:b]) for one, (a, b) in zip(documents, bounds, strict=True)]


def draw_batches(
    lessons: Sequence[Lesson], forms: Mapping[str, list[list[int]]], settings: ContextSettings
) -> Iterator[list[Part]]:
    """Yield the windows of every update, for ever; the same for the same seed."""
    rng = np.random.default_rng(settings.seed)
    stream = _windows(lessons, forms, settings, rng)
    while True:
        pool = list(islice(stream, _POOL))
        batches = list(token_batches([lesson.sentences.size(window) for lesson, window in pool], settings.tokens))
        for place in rng.permutation(len(batches)):
            yield [pool[row] for row in batches[place]]


def _windows(
    lessons: Sequence[Lesson], forms: Mapping[str, list[list[int]]], settings: ContextSettings, rng: np.random.Generator
) -> Iterator[Part]:
    """Yield windows with labelled seams, pass after pass."""
    while True:
        parts: list[Part] = []
        for row in draw_pass(forms, settings.share, rng):
            lesson, shift = lessons[row], int(rng.integers(TOKENS // 2))
            evidence = hide(lesson.sentences.evidence, settings.unknown_evidence, rng)
            seen = replace(lesson, sentences=replace(lesson.sentences, evidence=evidence))
            found = seen.sentences.windows(shift)
            parts += [(seen, window) for window in found if lesson.weight[window.first : window.stop].any()]
        for place in rng.permutation(len(parts)):
            yield parts[place]
