"""Examples of the classifiers by split, and what is done with their targets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.augmentation.labelled import EDOS
from edos_dataset.label_sets import LabelSet
from training.classifier.recipe import ClassifierRecipe
from training.examples import CROWD_LICENCE, WEAK_LICENCE

NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Part:
    """Examples of one split.

    Attributes:
        dialogues: turns, oldest first; the label belongs to the last turn.
        labels: [n] ids; where a turn can have several labels, one of them, or 0.
        targets: float32 [n, labels], probabilities; where a turn can have several labels, 1 for each that it has.
        weights: float32 [n], weights in the loss; 1 for the task's own examples.
        groups: [n], numbers of the dialogues or films that they are from; None if each is from another.
    """

    dialogues: list[list[str]]
    labels: Ints
    targets: Floats
    weights: Floats
    groups: Ints | None = None

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.dialogues)

    def take(self, rows: Ints | Bools) -> "Part":
        """Return some of the examples, by number or by mask."""
        numbers = np.arange(len(self))[rows]
        groups = None if self.groups is None else self.groups[rows]
        dialogues = [self.dialogues[row] for row in numbers]
        return Part(dialogues, self.labels[rows], self.targets[rows], self.weights[rows], groups)


@dataclass(frozen=True)
class Data:
    """The splits of a task.

    Attributes:
        train: the task's training split and what the recipe adds to it in every epoch.
        replay: further training examples, sampled anew in every epoch.
        validation: chooses the epoch and the temperature.
        test: measured once; empty if a labelled set has no such split.
        files: the files read: name, below the data folder or with the name of the labelled set → path.
        left_out: source → number of texts removed from training as near-duplicates of held-out texts.
        label_set: the labels.
        several: whether a turn can have several of them.
        own: whether they are labelled dialogues of a user, about which this package knows nothing else.
        remarks: what a user should know of the data, in sentences.
        limitations: what readers of the model's card should know of the data, in sentences of Markdown.
    """

    train: Part
    replay: Part
    validation: Part
    test: Part
    files: dict[str, Path]
    left_out: dict[str, int]
    label_set: LabelSet = EDOS
    several: bool = False
    own: bool = False
    remarks: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()

    def licence(self, file: str) -> str:
        """Return the licence of a file."""
        licences = {"empathetic_dialogues": WEAK_LICENCE, "edos_amt": CROWD_LICENCE}
        unknown = "that of its owner, not stated here" if self.own else "as the README of the data set says"
        return licences.get(file.partition("/")[0], unknown)


def mix_in(part: Part, probabilities: Floats, share: float) -> Part:
    """Return the split with `share` of each target replaced by the given probabilities [n, labels]."""
    return replace(part, targets=(share * probabilities + (1 - share) * part.targets).astype(np.float32))


def targets_of(soft: Floats, labels: Ints, recipe: ClassifierRecipe) -> Floats:
    """Return the targets of examples: the recipe's share of the given probabilities, and the label."""
    hard = np.eye(soft.shape[1], dtype=np.float32)[labels]
    return (recipe.workers_share * soft + (1 - recipe.workers_share) * hard).astype(np.float32)


def balanced(part: Part, power: float) -> Part:
    """Return the part with weights that grow with the rarity of an example's label, to a power of 0 to 1; where it has
    several, by their mean. The mean weight stays what it was.
    """
    if not power or not len(part):
        return part
    held = part.targets >= np.maximum(part.targets.max(axis=1, keepdims=True), 1e-6)
    counts = held.sum(axis=0)
    rarity = (len(part) / np.maximum(counts, 1)) ** power
    factors = (held @ rarity) / np.maximum(held.sum(axis=1), 1)
    factors = np.where(held.any(axis=1), factors, 1.0)
    weights = part.weights * factors * (part.weights.sum() / (part.weights * factors).sum())
    return replace(part, weights=weights.astype(np.float32))


def join(parts: Sequence[Part]) -> Part:
    """Return the examples of several parts as one; groups of theirs are not kept."""
    dialogues = [turns for part in parts for turns in part.dialogues]
    return Part(
        dialogues,
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "targets", "weights")),
    )
