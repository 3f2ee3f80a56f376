"""What is said twice: within a split, between splits, and in another data set.

Two dialogues are copies where all their turns are the same after normalisation (`text.normalise`), and share a turn
where their longest one is, of `LEAST_WORDS` words or more. Near-copies are found by `analysis.alike`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from edos_dataset.analysis.batch import Batch, split_order
from edos_dataset.arrays import Bools, Hashes
from edos_dataset.text import hash64, normalise

LEAST_WORDS = 8
"""Of a turn that two dialogues share; shorter ones are said by chance."""


@dataclass
class Keys:
    """Hashes of what dialogues say, by split. Memory: 16 bytes a dialogue.

    Attributes:
        whole: split → a hash of all turns of each dialogue, 0 where there are no words.
        longest: split → a hash of the longest turn of each, 0 where it has too few words.
    """

    whole: dict[str, list[Hashes]] = field(default_factory=dict)
    longest: dict[str, list[Hashes]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Add the dialogues of a batch."""
        said = [normalise(text) for text in batch.texts.to_pylist()]
        offsets = batch.offsets.tolist()
        whole, longest = np.zeros(len(batch.ids), np.uint64), np.zeros(len(batch.ids), np.uint64)
        for row, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
            turns = said[start:stop]
            if any(turns):
                whole[row] = hash64("\n".join(turns))
                most = max(turns, key=len)
                longest[row] = hash64(most) if most.count(" ") >= LEAST_WORDS - 1 else 0
        self.whole.setdefault(batch.split, []).append(whole)
        self.longest.setdefault(batch.split, []).append(longest)

    def merge(self, other: "Keys") -> None:
        """Add what another one has."""
        for mine, theirs in ((self.whole, other.whole), (self.longest, other.longest)):
            for split, arrays in theirs.items():
                mine.setdefault(split, []).extend(arrays)


def copies(
    keys: Keys, others: Mapping[str, Keys], near: Callable[[str | None, str | None, str | None], int] = lambda *_: 0
) -> dict[str, Any]:
    """Return how many dialogues are copies of others, and how many are nearly the same.

    Args:
        keys: of the data set.
        others: name → those of another one.
        near: gives how many are alike (`analysis.alike`): of a split and in one, or of all, None, and in another data
            set.

    Returns:
        `within`: split → `copies`, the dialogues beyond the first that say the same, and `shared_turn`, those whose
        longest turn another one of the split has, too. `between`: pairs of splits `[one, other]` with the dialogues of
        the one that the other has, too. `against`: name → the dialogues that the other data set has, too. A dialogue
        that is a copy shares its longest turn as well, and is alike: `alike` is what was found, or the copies where
        many are of one dialogue and not each was compared with each.
    """
    whole, longest = _joined(keys.whole), _joined(keys.longest)
    splits = list(whole)
    within = {
        split: {
            "dialogues": len(whole[split]),
            "copies": len(one := whole[split][whole[split] > 0]) - len(np.unique(one)),
            "shared_turn": _repeated(longest[split]),
        }
        for split in splits
    }
    for split, own in within.items():
        own["alike"] = max(own["copies"], near(split, split, None))
    between = []
    for split, second in permutations(splits, 2):
        found = _leaks((whole[split], longest[split]), (whole[second], longest[second]))
        alike = max(found["copies"], near(split, second, None))
        between.append({"of": split, "in": second, "dialogues": len(whole[split]), **found, "alike": alike})
    mine = tuple(np.concatenate(list(each.values())) if each else np.zeros(0, np.uint64) for each in (whole, longest))
    against = {}
    for name, theirs in others.items():
        other = tuple(
            np.concatenate(list(each.values()) or [np.zeros(0, np.uint64)])
            for each in (_joined(theirs.whole), _joined(theirs.longest))
        )
        against[name] = {"dialogues": len(mine[0]), **_leaks((mine[0], mine[1]), (other[0], other[1]))}
        against[name]["alike"] = max(against[name]["copies"], near(None, None, name))
    return {"least_words": LEAST_WORDS, "within": within, "between": between, "against": against}


def _joined(arrays: Mapping[str, list[Hashes]]) -> dict[str, Hashes]:
    return {
        split: np.concatenate(parts) for split, parts in sorted(arrays.items(), key=lambda one: split_order(one[0]))
    }


def _repeated(keys: Hashes) -> int:
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return int(((times[place] > 1) & (keys > 0)).sum())


def _leaks(one: tuple[Hashes, Hashes], other: tuple[Hashes, Hashes]) -> dict[str, int]:
    found: list[Bools] = [np.isin(mine, theirs) & (mine > 0) for mine, theirs in zip(one, other, strict=True)]
    return {"copies": int(found[0].sum()), "shared_turn": int((found[0] | found[1]).sum())}
