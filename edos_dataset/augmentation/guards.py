"""What a spread label must stay away from: the validation and test dialogues, and what has a label already.

The authors' code keeps test dialogues out of the training data by their ids alone; the same words under another id stay
in, and so does a copy with another mark or one word more. Here equal words count whatever the id, and nearness is
judged by vectors and by words: a short turn with one word more may be far away in its vector.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from edos_dataset.arrays import Bools, Ints
from edos_dataset.augmentation.similarity import TWO_GB, nearest, take
from edos_dataset.augmentation.tiles import Vectors
from edos_dataset.text import normalise

_ROWS = 512  # texts compared by words at a time, and
_VECTORS = 1 << 16  # by vectors


@dataclass(frozen=True)
class Dialogues:
    """Dialogues of which the last turn has, or may get, a label.

    Attributes:
        ids: their ids.
        turns: turns of each, oldest first. Of a pool only the dialogues near a seed are asked for, so these may be read
            when they are.
        vectors: [dialogues, dim], as `VectorStore` makes them.
    """

    ids: Sequence[str]
    turns: Sequence[Sequence[str]]
    vectors: Vectors

    def __post_init__(self) -> None:
        """Check that all are of as many dialogues."""
        vectors = len(self.vectors) if isinstance(self.vectors, np.ndarray) else sum(map(len, self.vectors))
        if not len(self.ids) == len(self.turns) == vectors:
            raise ValueError(
                f"dialogues need an id, turns and a vector each, got {len(self.ids)} ids, {len(self.turns)} dialogues "
                f"and {vectors} vectors"
            )

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return len(self.ids)


def words_of(turns: Sequence[str]) -> str:
    """Return the words of a dialogue, without case, marks and the borders of turns: what counts when two are compared
    by words.
    """
    return " ".join(filter(None, map(normalise, turns)))


def overlapping(texts: Sequence[str], others: Sequence[str], share: float) -> Bools:
    """Tell which texts have nearly the words of one of the others, in any order.

    That is: of all words of both, a repeated one counted as often as it comes in either, at least `share` are in both;
    or one has a single word more. Equal texts do; texts without a common word never do, except two without words.

    Args:
        texts: words parted by blanks, as `words_of` gives them.
        others: likewise.
        share: above 0 and at most 1.
    """
    vocabulary: dict[str, int] = {}
    theirs = _bags(others, vocabulary)
    sizes = np.diff(theirs.indptr)
    overlaps = np.isin(texts, list(others)) if len(texts) and len(others) else np.zeros(len(texts), bool)
    for start in range(0, len(texts), _ROWS):
        ours = _bags(texts[start : start + _ROWS], vocabulary)
        width = len(vocabulary)
        ours.resize((ours.shape[0], width))
        theirs.resize((len(others), width))
        shared = (ours @ theirs.T).tocoo()  # only pairs with a common word
        rows, columns = shared.coords
        both = np.diff(ours.indptr)[rows] + sizes[columns]
        near = (both - 2 * shared.data <= 1) | (shared.data >= share * (both - shared.data))
        overlaps[start + rows[near]] = True
    return overlaps


def _bags(texts: Sequence[str], vocabulary: dict[str, int]) -> csr_array:
    """Return texts as sets of words, [texts, words]; a word's second occurrence is a member of its own. New words enter
    the vocabulary.
    """
    rows = []
    for text in texts:
        seen: Counter[str] = Counter()
        members = []
        for word in text.split():
            seen[word] += 1
            members.append(vocabulary.setdefault(f"{word} {seen[word]}", len(vocabulary)))
        rows.append(members)
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter(chain.from_iterable(rows), np.int64, int(ends[-1]))
    return csr_array((np.ones(len(indices), np.int32), indices, ends), shape=(len(texts), len(vocabulary)))


def held_out_reasons(
    pool: Dialogues, rows: Ints, held_out: Dialogues, cosine: float, share: float, memory: int = TWO_GB
) -> list[str | None]:
    """Return for dialogues of the pool why they may get no label, or None.

    The reasons: "held_out_id", the id of a held-out dialogue; "held_out_words", the words of one, whole or of its last
    turn, or nearly (`overlapping`); and "held_out_near", a vector near to that of one.

    Args:
        pool: the pool.
        rows: [n] rows of it, sorted.
        held_out: validation and test dialogues.
        cosine: cosine from which a vector is near.
        share: as for `overlapping`.
        memory: as for `nearest`.
    """
    turns = [pool.turns[row] for row in rows.tolist()]
    near = np.zeros(len(rows), bool)
    for start in range(0, len(rows), _VECTORS):
        near[
            start
            + nearest(held_out.vectors, take(pool.vectors, rows[start : start + _VECTORS]), cosine, 1, memory).rows
        ] = True
    same_words = overlapping(list(map(words_of, turns)), list(map(words_of, held_out.turns)), share)
    same_words |= overlapping(
        [normalise(dialogue[-1]) for dialogue in turns], [normalise(dialogue[-1]) for dialogue in held_out.turns], share
    )
    ids = set(held_out.ids)
    reasons: list[str | None] = []
    for row, by_words, by_vector in zip(rows.tolist(), same_words.tolist(), near.tolist(), strict=True):
        reasons.append(
            "held_out_id"
            if pool.ids[row] in ids
            else "held_out_words"
            if by_words
            else "held_out_near"
            if by_vector
            else None
        )
    return reasons
