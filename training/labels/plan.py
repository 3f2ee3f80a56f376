"""Which texts an update sees: sources mixed by size and wish, the same for any number of processes, and after a
resumption.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from edos_dataset.arrays import Ints
from edos_dataset.crowd.splits import plain_text
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Target, whole_set

_POOL = 40
"""Updates that are drawn at once, and sorted by length before they are parted."""


@dataclass(frozen=True, eq=False)
class Texts:
    """The single turns that teach something.

    Attributes:
        texts: all sources one behind the other.
        bounds: source → its first row and the row behind its last.
        values: float32 [n, 41] and kinds: int64 [n], of their targets.
        wide: float32 [n, 41], as of `whole_set`.
    """

    texts: list[str]
    bounds: dict[str, tuple[int, int]]
    values: torch.Tensor
    kinds: torch.Tensor
    wide: torch.Tensor


def texts_of(train: Mapping[str, Sequence[Taught]], repeats: int) -> Texts:
    """Return the turns that teach something, of each source at most `repeats` with the same words."""
    texts: list[str] = []
    targets: list[Target] = []
    bounds = {}
    for name, dialogues in train.items():
        begin, seen = len(texts), Counter[str]()
        for each in dialogues:
            for text, target in zip(each.turns, each.targets, strict=True):
                if target is not None and (words := plain_text(text) or text):
                    seen[words] += 1
                    if seen[words] <= repeats:
                        texts.append(text)
                        targets.append(target)
        bounds[name] = begin, len(texts)
    values = np.stack([target.values for target in targets])
    kinds = torch.tensor([int(target.kind) for target in targets])
    return Texts(texts, bounds, torch.from_numpy(values), kinds, torch.from_numpy(whole_set(values)))


def shares_of(bounds: Mapping[str, tuple[int, int]], recipe: LabelsRecipe) -> dict[str, float]:
    """Return the part of an update that each source has; they sum to 1."""
    weights = {
        name: recipe.sources[name] * min(stop - start, recipe.most) ** recipe.temper
        for name, (start, stop) in bounds.items()
        if stop > start
    }
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def updates_of(texts: Texts, lengths: Sequence[int], recipe: LabelsRecipe) -> list[Ints]:
    """Return the rows of every update. Texts of like length are in one update, so that little is padding; a source's
    texts come in a new order each time that they are through.

    Args:
        texts: what is learned from.
        lengths: their tokens.
        recipe: how much of what.
    """
    generator = np.random.default_rng(recipe.seed)
    shares, sizes = shares_of(texts.bounds, recipe), np.asarray(lengths)
    queues = {name: _forever(*texts.bounds[name], generator) for name in shares}
    plan: list[Ints] = []
    while len(plan) < recipe.updates:
        names = generator.choice(list(shares), size=recipe.batch * _POOL, p=list(shares.values()))
        rows = np.array([next(queues[name]) for name in names.tolist()])
        rows = rows[np.argsort(sizes[rows], kind="stable")].reshape(_POOL, recipe.batch)
        plan += [rows[number] for number in generator.permutation(_POOL)]
    return plan[: recipe.updates]


def _forever(start: int, stop: int, generator: np.random.Generator) -> Iterator[int]:
    while True:
        yield from (start + generator.permutation(stop - start)).tolist()
