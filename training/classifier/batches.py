"""The examples of every update, the same for any number of processes, and what a process computes of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.encoders import batches
from training.classifier.data import Data
from training.classifier.model import token_ids
from training.classifier.recipe import ClassifierRecipe


@dataclass(frozen=True)
class Examples:
    """The training part as the model reads it: token ids, target probabilities and loss weights of every example;
    replayed ones come last.

    With dropout of the history, all of them follow once more as turns without their history.
    """

    inputs: list[list[int]]
    targets: torch.Tensor
    weights: torch.Tensor
    own: int
    count: int

    @classmethod
    def of(cls, data: Data, recipe: ClassifierRecipe, tokenizer: PreTrainedTokenizerBase) -> "Examples":
        """Tokenise the training part."""
        parts = (data.train, data.replay)
        targets = np.concatenate([part.targets for part in parts])
        smooth = recipe.label_smoothing / targets.shape[1] + (1 - recipe.label_smoothing) * targets
        weights = np.concatenate([part.weights for part in parts])
        forms = [recipe, replace(recipe, context=0)] if recipe.history_dropout else [recipe]
        inputs = [ids for form in forms for part in parts for ids in token_ids(form, tokenizer, part.dialogues)]
        targets, weights = np.tile(smooth.astype(np.float32), (len(forms), 1)), np.tile(weights, len(forms))
        return cls(inputs, torch.from_numpy(targets), torch.from_numpy(weights), len(data.train), len(smooth))

    def epoch(self, number: int, recipe: ClassifierRecipe) -> list[Ints]:
        """Return the rows of every update of an epoch: all own examples and a sample of the replayed ones, shuffled by
        the recipe's seed.
        """
        generator = np.random.default_rng([recipe.seed, number])
        further = np.arange(self.own, self.count)
        sample = generator.permutation(further)[: round(recipe.replay_share * len(further))]
        rows = generator.permutation(np.concatenate([np.arange(self.own), sample]))
        if recipe.history_dropout:
            rows = rows + self.count * (generator.random(len(rows)) < recipe.history_dropout)
        return [rows[start : start + recipe.batch] for start in range(0, len(rows), recipe.batch)]


def micro_batches(rows: Ints, inputs: Sequence[list[int]], budget: int) -> list[Ints]:
    """Sort rows by length, longest first, and cut them so that rows times the longest stays within `budget` tokens (a
    longer one goes alone).
    """
    return [rows[batch] for batch in batches.token_batches([len(inputs[row]) for row in rows], budget)]


def pad(inputs: Sequence[list[int]], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and attention mask, [n, longest]."""
    ids, mask = batches.pad(inputs, np.array([len(row) for row in inputs]), padding)
    return torch.from_numpy(ids), torch.from_numpy(mask)


class WeightAverage:
    """The moving average of the trained weights; with a decay of 0, the weights themselves.

    The decay starts small and reaches its value after some updates, so that the average soon forgets the start.
    """

    def __init__(self, model: torch.nn.Module, decay: float) -> None:
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.decay, self.updates = decay, 0
        self.values = [parameter.detach().clone() for parameter in self.trained] if decay else []

    @torch.no_grad()
    def add(self) -> None:
        """Take in the weights after an update."""
        self.updates += 1
        if self.decay:
            decay = min(self.decay, self.updates / (self.updates + 9))
            torch._foreach_lerp_(self.values, [parameter.detach() for parameter in self.trained], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the averaged weights inside the `with` block."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def apply(self) -> None:
        """Give the model the averaged weights for good."""
        self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for parameter, value in zip(self.trained, self.values, strict=False):
            kept = parameter.detach().clone()
            parameter.copy_(value)
            value.copy_(kept)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"updates": self.updates, "values": self.values}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.updates = state["updates"]
        for value, stored in zip(self.values, state["values"], strict=True):
            value.copy_(stored)
