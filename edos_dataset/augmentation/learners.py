"""What can learn from labelled dialogues, behind one small interface: a linear head, fastText, or another program."""

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.augmentation.command_learner import CommandLearner
from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.fasttext_learner import FastTextLearner
from edos_dataset.augmentation.labelled import Labelled
from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.models.head_fitting import calibrate, fit_dialogue
from edos_dataset.labeling.models.heads import DECAY, LinearHead, dialogue_features
from edos_dataset.labeling.models.labelers import Labeler
from edos_dataset.labeling.models.linear import LinearLabeler

LEARNERS = ("linear", "fasttext")
"""Names that `learner_of` knows."""

_PIECE = 2048  # texts of a shard of embeddings
_VERSION = 1  # of the arithmetic below, for the identity


class Learner(Protocol):
    """What learns from labelled dialogues.

    Attributes:
        identity: name and digest of all that decides the result beside the dialogues, for fingerprints.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102 - said above

    def fit(self, train: Labelled, validation: Labelled) -> Labeler:
        """Learn.

        Args:
            train: what it learns from.
            validation: what chooses the settings and the temperature, so that a probability of 0.9 is right in about 90
                % of such dialogues.

        Raises:
            ValueError: it cannot learn from these, or failed.
        """
        ...


@dataclass(frozen=True)
class LinearLearner:
    """Fits a linear head on `dialogue_features`, as the shipped `linear-dialogue` is made, and takes the l2 of the
    lowest cross-entropy on the validation part.

    It builds on a weak head that knows single turns from EmpatheticDialogues, and saw nothing of the crowd's dialogues.

    Attributes:
        store: keeps the embeddings; its encoder must be the one that the weak head goes with, and that `LinearLabeler`
            uses.
        l2: values to choose from.
        decay: weight of a turn in the context relative to the turn behind it.
        weak: the weak head: `linear-weak`, or a folder.
        context_scale: as for `fit_dialogue`; this and the next are what the shipped head's validation part chose.
        weak_scale: likewise.
    """

    store: VectorStore
    l2: Sequence[float] = (1e-4, 2e-4, 4e-4)
    decay: float = DECAY
    weak: str = "linear-weak"
    context_scale: float = 0.25
    weak_scale: float = 0.05

    @cached_property
    def identity(self) -> str:
        """Digest of the settings, the weak head and the encoder."""
        facts = [
            list(self.l2),
            self.decay,
            self.context_scale,
            self.weak_scale,
            self._weak_head.identity,
            self.store.encoder.identity,
            _VERSION,
        ]
        return f"linear@{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}"

    @cached_property
    def _weak_head(self) -> LinearHead:
        head, encoder = LinearHead.load(self.weak), Encoder().identity
        for name, other in (
            ("the store's encoder", self.store.encoder.identity),
            ("that of the weak head", head.record.get("encoder", encoder)),
        ):
            if other != encoder:
                raise ValueError(
                    f"linear heads stand on {encoder}, but {name} is {other}: use the default encoder, or another "
                    "learner"
                )
        return head

    def fit(self, train: Labelled, validation: Labelled) -> LinearLabeler:
        """Return the labeler, calibrated on the validation part; see `Learner`."""
        counting = int((train.weights > 0).sum())
        if not counting or not len(validation):
            raise ValueError(
                f"the linear head has {counting} dialogues to learn from and {len(validation)} to be calibrated on: "
                "give some of both"
            )
        features, held = self._features(train), self._features(validation)
        # The loss is linear in the targets: a row of double weight is a row of doubled targets.
        targets = (train.targets * (train.weights / train.weights.mean())[:, None]).astype(np.float32)
        tried = []
        with limit_threads(1):
            for l2 in self.l2:
                choice = {"l2": l2, "context_scale": self.context_scale, "weak_scale": self.weak_scale}
                head, loss = calibrate(
                    *fit_dialogue(features, targets, self._weak_head, choice), held, validation.labels, self.decay
                )
                tried.append((loss, choice, head))
        loss, choice, head = min(tried, key=lambda each: each[0])
        record = {
            "name": "linear",
            "chosen": choice,
            "temperature": head.temperature,
            "encoder": self.store.encoder.identity,
            "split": {"train": counting, "validation": len(validation)},
            "validation_cross_entropy": loss,
        }
        return LinearLabeler(replace(head, record=record), self.store.encoder.device, self.store.encoder.token_budget)

    def _features(self, part: Labelled) -> Floats:
        """Return the features of the last turns.

        Each text is embedded once, in pieces that depend only on what comes before: where a later round appends
        dialogues, most pieces are there.
        """
        texts, offsets = list(chain.from_iterable(part.turns)), np.cumsum([0, *map(len, part.turns)])
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        unique = list(rows)
        embeddings = np.concatenate(
            [self.store.turns(unique[start : start + _PIECE]) for start in range(0, len(unique), _PIECE)]
        ).astype(np.float32)
        features: Floats = dialogue_features(embeddings[[rows[text] for text in texts]], offsets, self.decay)[
            offsets[1:] - 1
        ]
        return features


def learner_of(name: str, folder: Path, device: str = "cpu") -> Learner:
    """Return a learner by its name.

    Args:
        name: "linear", "fasttext", or the command line of a program as `CommandLearner` starts it (whatever has a blank
            in it).
        folder: where it may keep embeddings or models, so that the same need not be made again.
        device: torch device of the encoder, for "linear".

    Raises:
        ValueError: the name is none of these, or the quotation marks of the command line do not match.
    """
    check_learner(name)
    if name == "linear":
        return LinearLearner(VectorStore(folder / "embeddings", Encoder(device=device)))
    if name == "fasttext":
        return FastTextLearner()
    return CommandLearner(tuple(shlex.split(name)), folder / "commands")


def check_learner(name: str) -> None:
    """Check the name of a learner, before anything is read.

    Raises:
        ValueError: there is none, or the quotation marks of the command line do not match.
    """
    if name in LEARNERS:
        return
    if not name.strip() or " " not in name.strip():
        raise ValueError(
            f"no learner {name!r}: expected {', '.join(LEARNERS)}, or a command line that takes --labelled FOLDER "
            "--out MODEL, such as 'python train.py'"
        )
    try:
        shlex.split(name)
    except ValueError as error:
        raise ValueError(f"the command line {name!r} cannot be read: {error}") from error
