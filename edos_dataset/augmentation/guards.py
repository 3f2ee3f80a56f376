"""Guards against leaks: copies of validation, test or already labelled dialogues get no new label.

The authors' code keeps test dialogues out of the training data by id alone, so the same words under another id remain,
and so does a copy with different punctuation or one more word. Here equal words count whatever the id. Similarity is
measured by vectors and by words, since one more word may move the vector of a short turn far away.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar

import numpy as np
from scipy.sparse import csr_array

from edos_dataset.arrays import Bools, Ints
from edos_dataset.augmentation.similarity import TWO_GB, Vectors, nearest, take
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import StageCount
from edos_dataset.text import normalise

_ROWS = 512  # texts compared by words at a time, and
_VECTORS = 1 << 16  # by vectors


@dataclass(frozen=True)
class Dialogues:
    """Dialogues whose last turn has, or may get, a label.

    Attributes:
        ids: their ids.
        turns: turns of each, oldest first; may be lazy, as only the dialogues of a pool that are near a seed are read.
        vectors: [dialogues, dim], from `VectorStore`.
    """

    ids: Sequence[str]
    turns: Sequence[Sequence[str]]
    vectors: Vectors

    def __post_init__(self) -> None:
        """Raise ValueError if the lengths differ."""
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
    """Return the words of a dialogue for comparison: without case, punctuation and turn boundaries."""
    return " ".join(filter(None, map(normalise, turns)))


def overlapping(texts: Sequence[str], others: Sequence[str], share: float) -> Bools:
    """Return which texts are near-duplicates of one of the others, whatever the order of their words.

    Two texts match if the Jaccard similarity of their multisets of words is at least `share`, or if one has exactly one
    word more than the other. Equal texts match; texts without a common word never do, except two empty ones.

    Args:
        texts: words separated by blanks, as returned by `words_of`.
        others: the texts to compare with.
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
    """Return texts as multisets of words, [texts, words], and add new words to the vocabulary."""
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
    """Return the reason why each dialogue may get no label, or None.

    The reasons are "held_out_id" (it has the id of a held-out dialogue), "held_out_words" (nearly the words of one or
    of its last turn, see `overlapping`) and "held_out_near" (a vector near that of one).

    Args:
        pool: the pool.
        rows: [n] rows of it, sorted.
        held_out: validation and test dialogues.
        cosine: least cosine at which a vector is near.
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
    same_ids = np.array([pool.ids[row] in ids for row in rows.tolist()], bool)
    reasons = np.select([same_ids, same_words, near], ["held_out_id", "held_out_words", "held_out_near"], "")
    return [reason or None for reason in reasons.tolist()]


OPEN = (None, "conflict")
"""Reasons that "has_label" overrides."""


def without_copies(
    pool: Dialogues, rows: Sequence[int], reasons: Sequence[str | None], labelled: Sequence[Dialogues]
) -> list[str | None]:
    """Reject dialogues with the id or words of a labelled one ("has_label") or the words of an accepted one before them
    ("duplicate").

    Args:
        pool: dialogues to label; the turns of those in `rows` are read.
        rows: rows of the pool.
        reasons: the reason of each row so far.
        labelled: dialogues with a label.
    """
    ids = {dialogue_id for dialogues in labelled for dialogue_id in dialogues.ids}
    texts = {words_of(turns) for dialogues in labelled for turns in dialogues.turns}
    first: set[str] = set()
    judged: list[str | None] = []
    for row, reason in zip(rows, reasons, strict=True):
        if reason in OPEN:
            words = words_of(pool.turns[row])
            if pool.ids[row] in ids or words in texts:
                reason = "has_label"
            elif reason is None and words in first:
                reason = "duplicate"
            elif reason is None:
                first.add(words)
        judged.append(reason)
    return judged


def capped(
    labels: Sequence[int], reasons: Sequence[str | None], cap: int | None, taken: Counter[int] | None = None
) -> list[str | None]:
    """Reject dialogues beyond the cap of their label ("capped").

    Args:
        labels: label of each dialogue.
        reasons: reason of each so far.
        cap: maximum number of dialogues per label; None for no limit.
        taken: dialogues of each label so far; accepted ones are added.
    """
    taken = Counter() if taken is None else taken
    judged: list[str | None] = []
    for label, reason in zip(labels, reasons, strict=True):
        if reason is None:
            if cap is not None and taken[label] >= cap:
                reason = "capped"
            else:
                taken[label] += 1
        judged.append(reason)
    return judged


class Candidate(Protocol):
    """A dialogue that may get a label, with the reason if it does not."""

    @property
    def label(self) -> int: ...  # noqa: D102

    @property
    def reason(self) -> str | None: ...  # noqa: D102


C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True)
class Choice(Generic[C]):
    """The result of a round.

    Attributes:
        labels: the new labels, in the order of the pool.
        rejected: candidates that got no label, each with its reason, in the order of the pool.
        count: dialogues read, kept, and rejected by reason; the tally counts the new labels by name.
    """

    labels: list[C]
    rejected: list[C]
    count: StageCount


def choice_of(candidates: Sequence[C], read: int, stage: str, others: str, names: Sequence[str] = LABELS) -> Choice[C]:
    """Split candidates into labelled and rejected ones.

    Args:
        candidates: in the order of the pool.
        read: number of dialogues in the pool.
        stage: name of the stage for the counts.
        others: reason code of dialogues that are not candidates.
        names: names of the labels, by id.
    """
    kept = [candidate for candidate in candidates if candidate.reason is None]
    rejected = [candidate for candidate in candidates if candidate.reason is not None]
    reasons = Counter({others: read - len(candidates)}) + Counter(str(candidate.reason) for candidate in rejected)
    by_label = Counter(names[candidate.label] for candidate in kept)
    return Choice(kept, rejected, StageCount(stage, "dialogues", read, len(kept), dict(reasons), dict(by_label)))


def check_fractions(rules: object, *parameters: str) -> None:
    """Check that parameters are above 0 and at most 1.

    Raises:
        ValueError: one is out of range.
    """
    for parameter in parameters:
        if not 0 < (value := getattr(rules, parameter)) <= 1:
            raise ValueError(f"{parameter} must be above 0 and at most 1, got {value}")
