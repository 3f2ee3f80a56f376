"""The plainest labeler that learns: a turn gets the label of the labelled turn that is nearest to it.

    python evaluation/domain.py --models evaluation.nearest:Nearest --sets crowd

The labelled turns are those on which `dialogue` and `weak` are trained: the last turns of the crowd's dialogues, and
the weak labeler's set. Nearness is the cosine of frozen MiniLM vectors, and the confidence of the answer.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labeling.models.base import Labeler, dialogues_given
from edos_dataset.labels import LABELS
from edos_dataset.runs.fingerprints import hash_json
from training.caches import kept, key_of
from training.classifier.data import load_data
from training.classifier.recipe import ClassifierRecipe

_TASKS: tuple[Literal["dialogue", "weak"], ...] = ("dialogue", "weak")
_BLOCK = 1024  # turns that are compared at a time: 100 MB of cosines with 25,000 labelled ones


class Nearest(Labeler):
    """Labels a turn, without its history, as the nearest of the labelled turns is labelled.

    Args:
        data_dir: folder of the labelled sets; by default EDOS_DATA_DIR.
        cache: folder in which embeddings are cached.
    """

    def __init__(self, data_dir: Path | None = None, cache: Path | None = None) -> None:
        if data_dir is None and "EDOS_DATA_DIR" not in os.environ:
            raise ValueError("the labelled turns are missing: set EDOS_DATA_DIR to the folder of the data sets")
        self._data_dir, self._cache = data_dir or Path(os.environ["EDOS_DATA_DIR"]), cache
        self._encoder = Encoder()

    @cached_property
    def identity(self) -> str:
        """Name and digest of the encoder and the labelled turns."""
        texts, labels = self._labelled
        return f"nearest@{hash_json([self._encoder.identity, texts, labels.tolist()])[:16]}"

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn: the cosine for one label, the rest in equal parts for the others."""
        texts = [turn for turns in dialogues_given(dialogues) for turn in turns]
        known, labels = self._vectors(self._labelled[0]), self._labelled[1]
        found = np.zeros((len(texts), len(LABELS)), np.float32)
        vectors = self._vectors(texts)
        for start in range(0, len(texts), _BLOCK):
            cosines = vectors[start : start + _BLOCK] @ known.T
            nearest = cosines.argmax(axis=1)
            rows = np.arange(start, start + len(nearest))
            sure = np.clip(cosines[rows - start, nearest], 1 / len(LABELS), 1)
            found[rows] = ((1 - sure) / (len(LABELS) - 1))[:, None]
            found[rows, labels[nearest]] = sure
        return found

    @cached_property
    def _labelled(self) -> tuple[list[str], Ints]:
        parts = [
            load_data(ClassifierRecipe(task=task, frequent_turns=0), self._data_dir, self._cache).train
            for task in _TASKS
        ]
        texts = [turns[-1] for part in parts for turns in part.dialogues]
        return texts, np.concatenate([part.labels for part in parts])

    def _vectors(self, texts: list[str]) -> Floats:
        path = self._cache and self._cache / f"{key_of([self._encoder.identity, *texts])}.npy"
        vectors = kept(path, len(texts), lambda: self._encoder.encode(texts).astype(np.float32))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)
