"""The turns of each update: parts of dialogues of all sources, mixed by size and weight. The plan does not depend on
the number of processes or on interruptions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from edos_dataset.arrays import Ints
from edos_dataset.crowd.splits import plain_text
from training.labels.model import convention_of, conventions_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Target, whole_set


@dataclass(frozen=True, eq=False)
class Lessons:
    """Parts of dialogues, cut so that nothing is read that is not needed to predict the labelled turns.

    Attributes:
        texts: the turns of all parts, one after another.
        bounds: int64 [parts + 1]; the turns of part i are `bounds[i]:bounds[i + 1]`.
        sources: source → its first part and the end of its parts.
        labelled: int64 [turns], row of the turn's target, -1 if none.
        values: float32 [targets, 41]; kinds: int64 [targets].
        conventions: int64 [targets], the index of each target's convention in `conventions_of(sources)`.
        wide: float32 [targets, 41], from `whole_set`.
    """

    texts: list[str]
    bounds: Ints
    sources: dict[str, tuple[int, int]]
    labelled: Ints
    values: torch.Tensor
    kinds: torch.Tensor
    conventions: torch.Tensor
    wide: torch.Tensor

    @cached_property
    def taught(self) -> Ints:
        """Number of labelled turns of every part, int64 [parts]."""
        counts: Ints = np.add.reduceat(self.labelled >= 0, self.bounds[:-1]).astype(np.int64)
        return counts

    def labelled_turns(self, name: str) -> int:
        """Return the number of labelled turns of a source."""
        return int(self.taught[slice(*self.sources[name])].sum())


def lessons_of(train: Mapping[str, Sequence[Taught]], recipe: LabelsRecipe) -> Lessons:
    """Return the training data, with at most `repeats` labelled turns of the same words in each source.

    Raises:
        ValueError: nothing is left to learn from.
    """
    texts: list[str] = []
    labelled: list[int] = []
    targets: list[Target] = []
    conventions: list[int] = []
    known = conventions_of(train)
    bounds, sources = [0], {}
    for name, dialogues in train.items():
        begin, seen = len(bounds) - 1, Counter[str]()
        for dialogue in dialogues:
            for part in parts_of(_without_repeats(dialogue, seen, recipe.repeats), recipe.span, recipe.history):
                for text, target in zip(part.turns, part.targets, strict=True):
                    texts.append(text)
                    labelled.append(-1 if target is None else len(targets))
                    targets += [] if target is None else [target]
                bounds.append(len(texts))
        sources[name] = begin, len(bounds) - 1
        conventions += [known.index(convention_of(name))] * (len(targets) - len(conventions))
    if not targets:
        raise ValueError(
            f"the sources {', '.join(train)} leave nothing to learn from: every labelled turn is empty or a near-copy "
            "of a held-out one"
        )
    values = np.stack([target.values for target in targets])
    kinds = torch.tensor([int(target.kind) for target in targets])
    wide = torch.from_numpy(whole_set(values))
    whose = torch.tensor(conventions)
    return Lessons(texts, np.array(bounds), sources, np.array(labelled), torch.from_numpy(values), kinds, whose, wide)


def _without_repeats(dialogue: Taught, seen: Counter[str], most: int) -> Taught:
    """Return a dialogue without the targets of turns whose words have occurred often enough, or that have no letter or
    digit. Occurrences are counted in `seen`.
    """
    targets = []
    for text, target in zip(dialogue.turns, dialogue.targets, strict=True):
        words = plain_text(text)
        seen[words] += target is not None
        targets.append(target if words and seen[words] <= most else None)
    return Taught(dialogue.turns, tuple(targets))


def parts_of(dialogue: Taught, span: int, history: int) -> Iterator[Taught]:
    """Yield the parts of a dialogue: at most `span` consecutive turns, each labelled or among the `history` turns
    before a labelled one.
    """
    after, needed = history + 1, []
    for target in reversed(dialogue.targets):
        after = 0 if target is not None else after + 1
        needed.append(after <= history)
    needed.reverse()
    start = 0
    for end in range(1, len(needed) + 1):
        if end == len(needed) or not needed[end] or end - start == span:
            if needed[end - 1] and any(target is not None for target in dialogue.targets[start:end]):
                yield Taught(dialogue.turns[start:end], dialogue.targets[start:end])
            start = end
        if start < len(needed) and not needed[start]:
            start = end


def turns_of(parts: Sequence[int], bounds: Ints, labelled: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the turns of parts, one after another, int64 [turns]; for each turn the position of its part's first turn;
    and the positions of labelled turns.

    Args:
        parts: numbers of parts, or of whole dialogues.
        bounds: the turns of part i are `bounds[i]:bounds[i + 1]`.
        labelled: int64 [all turns], row of a turn's target, -1 if none.
    """
    spans = [np.arange(bounds[part], bounds[part + 1]) for part in parts]
    sizes = [len(span) for span in spans]
    turns = np.concatenate(spans)
    starts = np.repeat(np.cumsum([0, *sizes])[:-1], sizes)
    return turns, starts, np.flatnonzero(labelled[turns] >= 0)


def shares_of(sizes: Mapping[str, int], recipe: LabelsRecipe) -> dict[str, float]:
    """Return each source's fraction of an update, by its number of labelled turns; the fractions sum to 1."""
    weights = {
        name: recipe.sources[name] * min(size, recipe.most) ** recipe.temper for name, size in sizes.items() if size
    }
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def updates_of(lessons: Lessons, recipe: LabelsRecipe) -> list[Ints]:
    """Return the parts of every update, enough for at least `batch` labelled turns. A source's parts are reshuffled
    each time that all have been used.
    """
    generator = np.random.default_rng(recipe.seed)
    taught = lessons.taught
    shares = shares_of({name: lessons.labelled_turns(name) for name in lessons.sources}, recipe)
    # A part with more labelled turns is drawn less often, since the fractions are of turns.
    odds = np.array([shares[name] / taught[slice(*lessons.sources[name])].mean() for name in shares])
    names, queues = list(shares), [_forever(*lessons.sources[name], generator) for name in shares]
    plan: list[Ints] = []
    for _ in range(recipe.updates):
        chosen: list[int] = []
        count = 0
        while count < recipe.batch:
            chosen.append(next(queues[int(generator.choice(len(names), p=odds / odds.sum()))]))
            count += int(taught[chosen[-1]])
        plan.append(np.array(chosen))
    return plan


def _forever(start: int, stop: int, generator: np.random.Generator) -> Iterator[int]:
    while True:
        yield from (start + generator.permutation(stop - start)).tolist()
