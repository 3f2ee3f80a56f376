"""Near-copies: dialogues that say nearly the same, within and between splits and in other data sets.

Two dialogues are alike as `edos curate` has it (`cleaning.duplicates`): they share 70 % of the different runs of four
words of the shorter one, and at least 8, or all where they have fewer. Of each a sketch is kept in files of passage, in
which they are compared (`runs.likeness`): memory is bounded, and the disk takes about 40 bytes for each hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.analysis.batch import Batch
from edos_dataset.arrays import Ints
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.likeness import BYTES_A_HASH, Comparison
from edos_dataset.runs.passage import partitions_for
from edos_dataset.runs.settling import ALIKE

SHARE, LEAST = 0.7, 8
"""Of the shorter dialogue's runs of words that the other one shares, and how many at least."""
MOST_HASHES, HASHES = 50_000_000, (16, 64)
"""Of all sketches together, about; and of one dialogue's at least and at most, so that more than three million
dialogues take more in all. Of a longer dialogue the sketch is a part, in which a short one may not be found."""
EXAMPLES = 4
_MEMORY = 1 << 29


def comparison_of(dialogues: int, folder: Path) -> tuple[Comparison, int]:
    """Return what compares so many dialogues, with its files in a folder, and the hashes of a dialogue's sketch."""
    most = min(max(MOST_HASHES // max(dialogues, 1), HASHES[0]), HASHES[1])
    return Comparison(partitions_for(dialogues * most, BYTES_A_HASH, _MEMORY), folder, SHARE, LEAST), most


def sketch_of(batch: Batch, most: int, first: int) -> pa.Table:
    """Return the sketches of the dialogues of a batch, whose first one is row `first` of its shard."""
    texts, offsets = batch.texts.to_pylist(), batch.offsets.tolist()
    said = [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    found = sketch(said, [None] * len(said), batch.ids.to_pylist(), most)
    rows = pa.array(found["row"].to_numpy() + np.int32(first))
    return found.set_column(found.column_names.index("row"), "row", rows)


@dataclass(frozen=True)
class Alike:
    """Pairs of dialogues that are alike, each by its place: part and row in one number.

    Attributes:
        worse, better: [pairs] places.
        of_part: [parts] number of each part's split, among those of all data sets.
    """

    worse: Ints
    better: Ints
    of_part: Ints

    def between(self, ones: Sequence[int], others: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
        """Return how many dialogues of some splits are like one of others, and the places of some such pairs.

        Args:
            ones: numbers of the splits.
            others: likewise; where they are the same, a dialogue counts that is like a better one.
        """
        mine, theirs = self.worse, self.better
        if ones != others:
            mine, theirs = np.r_[mine, theirs], np.r_[theirs, mine]
        there = np.isin(self.of_part[mine >> 32], ones) & np.isin(self.of_part[theirs >> 32], others)
        mine, theirs = mine[there], theirs[there]
        _, first = np.unique(mine, return_index=True)
        drawn = first[np.linspace(0, len(first) - 1, min(EXAMPLES, len(first))).astype(int)]
        return len(first), [(int(mine[place]), int(theirs[place])) for place in drawn]


def find_alike(comparison: Comparison, of_part: Sequence[int], engine: Engine) -> Alike:
    """Return what is alike of the dialogues whose sketches the comparison has.

    Args:
        comparison: with the sketches of all parts.
        of_part: number of each part's split.
        engine: what compares.
    """
    pairs = comparison.alike(len(of_part), engine) if len(of_part) else ALIKE.empty_table()
    return Alike(pairs["place"].to_numpy(), pairs["better_place"].to_numpy(), np.asarray(of_part, np.int64))
