"""Dialogues that occur more than once: within a split, between splits, and in another dataset.

Two dialogues are copies if all their turns are equal after normalisation (`text.normalise`), and share a turn if their
longest turns are equal and have at least `LEAST_WORDS` words. They are near-duplicates as defined by `edos curate`
(`cleaning.duplicates`) if they share 70 % of the distinct four-word shingles of the shorter one, and at least 8 of
them, or all if it has fewer. Sketches are kept in files: memory is bounded, and the disk needs about 40 bytes per hash.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.analysis.batch import Batch, split_order
from edos_dataset.arrays import Bools, Hashes, Ints
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.near_duplicates import BYTES_A_HASH, PAIRS, Comparison
from edos_dataset.runs.shuffle import partitions_for
from edos_dataset.text import hash64, normalise

LEAST_WORDS = 8
"""Smallest number of words of a shared turn; shorter turns are equal by chance."""


@dataclass
class Keys:
    """Hashes of the texts of dialogues, by split. Memory: 16 bytes per dialogue.

    Attributes:
        whole: Split → hashes of all turns of each dialogue, 0 if it has no words.
        longest: Split → hashes of the longest turn of each dialogue, 0 if it has too few words.
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
        """Add the keys of another object."""
        for mine, theirs in ((self.whole, other.whole), (self.longest, other.longest)):
            for split, arrays in theirs.items():
                mine.setdefault(split, []).extend(arrays)


def copies(
    keys: Keys, others: Mapping[str, Keys], near: Callable[[str | None, str | None, str | None], int] = lambda *_: 0
) -> dict[str, Any]:
    """Return the numbers of dialogues that are copies or near-duplicates of others.

    Args:
        keys: Keys of the dataset.
        others: Name → keys of another dataset.
        near: Counts near-duplicates of one split in another one, or of the whole dataset (None) in another dataset.

    Returns:
        `within`: split → `copies` (dialogues beyond the first with the same text) and `shared_turn` (those whose
        longest turn occurs in another dialogue of the split). `between`: for each pair of splits, the dialogues of
        `of` that are also `in` the other. `against`: name → the dialogues that are also in the other dataset. Copies
        also count as sharing a turn and as `alike`, near-duplicates, of which there may be fewer found than copies,
        since within large groups of copies not all pairs are compared.
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
    mine, against = _all(whole, longest), {}
    for name, theirs in others.items():
        found = _leaks(mine, _all(_joined(theirs.whole), _joined(theirs.longest)))
        alike = max(found["copies"], near(None, None, name))
        against[name] = {"dialogues": len(mine[0]), **found, "alike": alike}
    return {"least_words": LEAST_WORDS, "within": within, "between": between, "against": against}


def _joined(arrays: Mapping[str, list[Hashes]]) -> dict[str, Hashes]:
    return {
        split: np.concatenate(parts) for split, parts in sorted(arrays.items(), key=lambda one: split_order(one[0]))
    }


def _all(whole: Mapping[str, Hashes], longest: Mapping[str, Hashes]) -> tuple[Hashes, Hashes]:
    none = np.zeros(0, np.uint64)
    return np.concatenate([none, *whole.values()]), np.concatenate([none, *longest.values()])


def _repeated(keys: Hashes) -> int:
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return int(((times[place] > 1) & (keys > 0)).sum())


def _leaks(one: tuple[Hashes, Hashes], other: tuple[Hashes, Hashes]) -> dict[str, int]:
    found: list[Bools] = [np.isin(mine, theirs) & (mine > 0) for mine, theirs in zip(one, other, strict=True)]
    return {"copies": int(found[0].sum()), "shared_turn": int((found[0] | found[1]).sum())}


SHARE, LEAST = 0.7, 8
"""Smallest fraction and number of the shorter dialogue's shingles that the other dialogue must share."""
MOST_HASHES, HASHES = 50_000_000, (16, 64)
"""Approximate number of hashes in all sketches, and smallest and largest number per dialogue; more than three million
dialogues therefore need more in all. The sketch of a longer dialogue is a part of its shingles, in which a short
dialogue may not be found."""
EXAMPLES = 4
_MEMORY = 1 << 29


def comparison_of(dialogues: int, folder: Path) -> tuple[Comparison, int]:
    """Return a comparison for a number of dialogues, with its files in a folder, and the largest size of a sketch."""
    most = min(max(MOST_HASHES // max(dialogues, 1), HASHES[0]), HASHES[1])
    return Comparison(partitions_for(dialogues * most, BYTES_A_HASH, _MEMORY), folder, SHARE, LEAST), most


def sketch_of(batch: Batch, most: int, first: int) -> pa.Table:
    """Return the sketches of a batch of dialogues, the first of which is row `first` of its shard."""
    texts, offsets = batch.texts.to_pylist(), batch.offsets.tolist()
    said = [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    found = sketch(said, [None] * len(said), batch.ids.to_pylist(), most)
    rows = pa.array(found["row"].to_numpy() + np.int32(first))
    return found.set_column(found.column_names.index("row"), "row", rows)


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of near-duplicate dialogues; a position is part and row in one number.

    Attributes:
        worse, better: [pairs] positions.
        of_part: [parts] number of each part's split, among the splits of all datasets.
    """

    worse: Ints
    better: Ints
    of_part: Ints

    def between(self, ones: Sequence[int], others: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
        """Return how many dialogues of some splits have a near-duplicate in others, and the positions of some pairs.

        Args:
            ones: Numbers of the splits.
            others: Numbers of the other splits. If they are the same, only the worse dialogue of a pair counts.
        """
        mine, theirs = self.worse, self.better
        if ones != others:
            mine, theirs = np.r_[mine, theirs], np.r_[theirs, mine]
        there = np.isin(self.of_part[mine >> 32], ones) & np.isin(self.of_part[theirs >> 32], others)
        mine, theirs = mine[there], theirs[there]
        _, first = np.unique(mine, return_index=True)
        drawn = first[np.linspace(0, len(first) - 1, min(EXAMPLES, len(first))).astype(int)]
        return len(first), [(int(mine[place]), int(theirs[place])) for place in drawn]


def find_near_duplicates(comparison: Comparison, of_part: Sequence[int], engine: Engine) -> NearDuplicates:
    """Return the near-duplicates among the dialogues whose sketches a comparison has.

    Args:
        comparison: The comparison, with the sketches of all parts.
        of_part: Number of each part's split.
        engine: Engine that compares.
    """
    pairs = comparison.alike(len(of_part), engine) if len(of_part) else PAIRS.empty_table()
    return NearDuplicates(pairs["place"].to_numpy(), pairs["better_place"].to_numpy(), np.asarray(of_part, np.int64))
