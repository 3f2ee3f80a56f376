"""The pairs of every update, the same for any number of processes, and how an update is cut into forward passes."""

from collections.abc import Iterator

import numpy as np

from edos_dataset.arrays import Ints
from training.generator.pairs import Pairs
from training.generator.recipe import GeneratorRecipe


def updates_in_epoch(pairs: Pairs, recipe: GeneratorRecipe) -> int:
    """Return into how many updates an epoch is cut: by pairs, or by tokens."""
    if recipe.batch:
        return max(1, round(len(pairs) / recipe.batch))
    tokens = int(pairs.history_tokens.sum() + pairs.answer_tokens.sum())
    return max(1, min(len(pairs), round(tokens / recipe.batch_tokens)))


def epoch(pairs: Pairs, recipe: GeneratorRecipe, number: int) -> Iterator[Ints]:
    """Yield the rows of every update of an epoch, in an order that the recipe's seed decides.

    The pairs are shuffled and cut into pools of some updates; in a pool they are sorted by length, cut into equal
    updates, by pairs or by tokens, and the updates shuffled.
    """
    generator = np.random.default_rng([recipe.seed, number])
    history, answer = pairs.history_tokens, pairs.answer_tokens
    size = np.ones(len(pairs), np.int64) if recipe.batch else history + answer
    updates = updates_in_epoch(pairs, recipe)
    pools = max(1, round(updates / recipe.pool))
    shuffled = generator.permutation(len(pairs))
    counts = np.diff(np.linspace(0, updates, pools + 1).round().astype(int))
    for pool, count in zip(_cut(shuffled, size, counts), counts, strict=True):
        if recipe.pool > 1:
            pool = pool[by_lengths(history[pool], answer[pool], count)]
        parts = _cut(pool, size, np.ones(count))
        yield from (parts[place] for place in generator.permutation(len(parts)))


def _cut(rows: Ints, size: Ints, shares: np.ndarray) -> list[Ints]:
    """Cut rows into parts whose sizes are as the shares, none of them empty."""
    ends = np.cumsum(size[rows])
    wanted = np.cumsum(shares)[:-1] / np.sum(shares) * ends[-1]
    cuts = np.searchsorted(ends, wanted, side="left") + 1
    lowest = np.arange(1, len(shares))
    cuts = np.maximum.accumulate(cuts - lowest) + lowest  # each part has a row
    return np.split(rows, np.minimum(cuts, len(rows) - len(shares) + lowest))


def by_lengths(first: Ints, second: Ints, groups: int) -> Ints:
    """Return an order in which neighbours have like lengths of both kinds: sorted by the first, cut into strips, each
    sorted by the second, up and down by turns.
    """
    order = np.argsort(first, kind="stable")
    strips = np.array_split(order, max(1, round(groups**0.5)))
    ways = (strip[np.argsort(second[strip] * (-1) ** number, kind="stable")] for number, strip in enumerate(strips))
    return np.concatenate(list(ways))


def forward_passes(rows: Ints, pairs: Pairs, budget: int) -> list[Ints]:
    """Cut rows into batches, like lengths together, so that rows times the longest history and the longest answer stay
    within the budget (a longer pair goes alone).
    """
    history, answer = pairs.history_tokens[rows], pairs.answer_tokens[rows]
    groups = int(np.ceil((history + answer).sum() / budget))
    batches: list[Ints] = []
    start = widest = longest = 0
    order = by_lengths(history, answer, groups)
    for place, row in enumerate(order.tolist()):
        widest, longest = max(widest, int(history[row])), max(longest, int(answer[row]))
        if place > start and (place + 1 - start) * (widest + longest) > budget:
            batches.append(rows[order[start:place]])
            start, widest, longest = place, int(history[row]), int(answer[row])
    return [*batches, rows[order[start:]]]
