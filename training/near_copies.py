"""Near-copies of held-out texts, which no model may learn from."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_array

from edos_dataset.arrays import Bools
from edos_dataset.crowd.splits import plain_text

_ROWS = 4096
_RUN = 6


def near_copies(
    texts: Sequence[str], held: Iterable[str], short: int = 3, share: float = 0.8, cut: Iterable[str] = ()
) -> Bools:
    """Return which texts are near-duplicates of a held-out text: at least `share` of the words of the two are in both.

    Equal texts are always found; other pairs only if they share a word that occurs in at most a hundredth of the texts.
    Memory: the pairs of 4,096 texts that share such a word.

    Args:
        texts: [n].
        held: the held-out texts.
        short: held-out texts with at most this many words have no near-duplicates: anybody says "Thank you."
        share: minimum ratio of common words to all words (Jaccard).
        cut: held-out turns that another source may have segmented differently: a text that shares six consecutive words
            with one is also a near-duplicate.
    """
    kept = sorted({words for text in held if len((words := plain_text(text)).split()) > short})
    own = [plain_text(text) for text in texts]
    known: dict[str, int] = {}
    mine, theirs = _words(own, known), _words(kept, known)
    mine.resize((len(own), len(known)))
    theirs.resize((len(kept), len(known)))
    frequent = np.asarray(mine.sum(axis=0)).ravel() + np.asarray(theirs.sum(axis=0)).ravel()
    rare = np.flatnonzero(frequent <= max(50, (len(own) + len(kept)) // 100))
    sizes, others = np.diff(mine.indptr), np.diff(theirs.indptr)
    equal, runs = set(kept), {run for text in cut for run in _runs(plain_text(text))}
    found: Bools = np.array([text in equal or not runs.isdisjoint(_runs(text)) for text in own], bool)
    index = theirs[:, rare].T.tocsr()
    for start in range(0, len(own) if kept else 0, _ROWS):
        block = mine[start : start + _ROWS]
        pairs = (block[:, rare] @ index).tocoo()
        rows, columns = pairs.coords
        common = np.asarray(block[rows].multiply(theirs[columns]).sum(axis=1)).ravel()
        near = common >= share * (sizes[start + rows] + others[columns] - common)
        found[start + rows[near]] = True
    return found


def _runs(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}


def _words(texts: Sequence[str], known: dict[str, int]) -> csr_array:
    """Return which words each text has, as a matrix [texts, words]; new words are added to `known`."""
    columns = [sorted({known.setdefault(word, len(known)) for word in text.split()}) for text in texts]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.fromiter((column for row in columns for column in row), np.int64, int(ends[-1]))
    return csr_array((np.ones(len(flat), np.int32), flat, ends), shape=(len(texts), len(known)))
