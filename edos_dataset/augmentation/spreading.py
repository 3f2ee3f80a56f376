"""Similarity spreading: a dialogue gets the label of a labelled one that is nearly the same (EDOS, Section 3.3)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.augmentation.guards import Dialogues, held_out_reasons, words_of
from edos_dataset.augmentation.rejections import capped, without_copies
from edos_dataset.augmentation.similarity import TWO_GB, Matches, nearest
from edos_dataset.labels import LABELS
from edos_dataset.runs.pipeline import check_ranges
from edos_dataset.runs.shards import StageCount

Conflict = Literal["none", "nearest", "majority"]


@dataclass(frozen=True)
class SpreadingRules:
    """Which dialogues get a label, and which.

    Args:
        threshold: least cosine of a dialogue's vector with a seed's: 0.92 around the crowd's dialogues in the paper,
            0.9 around self-labelled ones.
        margin: seeds that are at most this much less similar than the nearest one have a say.
        neighbours: most seeds, 1 to 10,000, that have a say, the nearest ones.
        conflict: if these have different labels: "none" gives no label, "nearest" that of the nearest seed, "majority"
            that of most of them; of labels with as many seeds that of the nearest one, and of equally near seeds the
            first.
        cap: most dialogues a label, the nearest first, of equally near ones the first in the pool; None for any number.
            The authors' code takes 1,000.
        guard: cosine with a validation or test dialogue from which a dialogue gets no label.
        guard_words: share of words in common with one, whole or last turn, from which it gets none; one word more or
            fewer is always too near.
    """

    threshold: float = 0.92
    margin: float = 0.02
    neighbours: int = 10
    conflict: Conflict = "none"
    cap: int | None = 1000
    guard: float = 0.9
    guard_words: float = 0.8

    name: ClassVar[str] = "spreading"

    def __post_init__(self) -> None:
        """Check the parameters."""
        for parameter in ("threshold", "guard", "guard_words"):
            if not 0 < getattr(self, parameter) <= 1:
                raise ValueError(f"{parameter} must be above 0 and at most 1, got {getattr(self, parameter)}")
        if not 0 <= self.margin <= 2:
            raise ValueError(f"margin must be a difference of cosines, 0 to 2, got {self.margin}")
        check_ranges(self, neighbours=(1, 10_000))
        if self.conflict not in get_args(Conflict):
            raise ValueError(f"conflict must be one of {', '.join(get_args(Conflict))}, got {self.conflict!r}")
        if self.cap is not None and self.cap < 1:
            raise ValueError(f"cap must be at least 1 dialogue a label, or null for any number, got {self.cap}")


@dataclass(frozen=True)
class SpreadLabel:
    """A dialogue near a seed, and the label that it got or would have got.

    Attributes:
        dialogue_id: its id.
        row: its row in the pool.
        label: id of the label, 0 to 40, of the last turn.
        seed_id: id of the nearest seed with that label.
        similarity: cosine with that seed.
        round: in which round, from 1.
        reason: why it got none: "held_out_id", "held_out_words", "held_out_near", "has_label", "conflict", "duplicate",
            "capped"; None if it got it.
    """

    dialogue_id: str
    row: int
    label: int
    seed_id: str
    similarity: float
    round: int
    reason: str | None = None


@dataclass(frozen=True)
class Spread:
    """What a round gave.

    Attributes:
        labels: the new labels, in the order of the pool.
        rejected: dialogues near a seed that got no label, each with its reason, in the order of the pool.
        count: dialogues read, kept, and rejected by reason, those near no seed as "not_similar"; the tally counts the
            new labels by name.
    """

    labels: list[SpreadLabel]
    rejected: list[SpreadLabel]
    count: StageCount


def spread(
    seeds: Dialogues,
    labels: Sequence[int],
    pool: Dialogues,
    held_out: Dialogues,
    rules: SpreadingRules | None = None,
    round: int = 1,  # noqa: A002 - what the papers call it
    known: Sequence[Dialogues] = (),
    memory: int = TWO_GB,
    progress: Callable[[int], object] = lambda rows: None,
) -> Spread:
    """Spread the labels of seeds to the dialogues of a pool.

    A dialogue that falls under several rules counts under the first: near no seed; too near a held-out dialogue; has a
    label already; conflict of its seeds; the words of an earlier dialogue of the pool that got through so far; more
    than the cap.

    Args:
        seeds: labelled dialogues of the training part, in the order that decides between equally near ones.
        labels: [seeds] ids of their last turns' labels, 0 to 40.
        pool: dialogues to label.
        held_out: validation and test dialogues.
        rules: the rules; by default those of the paper's first round.
        round: number that goes with every new label.
        known: dialogues with a label beside the seeds, such as those of earlier rounds: what has the id or the words of
            one of them or of a seed gets none.
        memory: bytes for the search, as for `nearest`.
        progress: as for `nearest`.

    Raises:
        ValueError: seeds and labels do not fit, a label is out of range, a held-out dialogue is among the seeds, or
            what `nearest` raises.
    """
    rules = rules or SpreadingRules()
    _check(seeds, labels, held_out)
    matches = nearest(seeds.vectors, pool.vectors, rules.threshold, rules.neighbours, memory, progress)
    candidates = _candidates(matches, np.asarray(labels, np.int64), seeds.ids, pool.ids, rules, round)
    rows = np.array([candidate.row for candidate in candidates], np.int64)
    guarded = held_out_reasons(pool, rows, held_out, rules.guard, rules.guard_words, memory)
    reasons = [reason or candidate.reason for candidate, reason in zip(candidates, guarded, strict=True)]
    reasons = without_copies(pool, rows.tolist(), reasons, (seeds, *known))
    candidates = _capped(
        [replace(candidate, reason=reason) for candidate, reason in zip(candidates, reasons, strict=True)], rules.cap
    )
    kept = [candidate for candidate in candidates if candidate.reason is None]
    rejected = [candidate for candidate in candidates if candidate.reason is not None]
    by_reason = Counter({"not_similar": len(pool) - len(candidates)}) + Counter(
        str(candidate.reason) for candidate in rejected
    )
    by_label = Counter(LABELS[candidate.label] for candidate in kept)
    return Spread(
        kept, rejected, StageCount("spread", "dialogues", len(pool), len(kept), dict(by_reason), dict(by_label))
    )


def agreement_of_seeds(
    seeds: Dialogues, labels: Sequence[int], rules: SpreadingRules, memory: int = TWO_GB
) -> dict[str, int]:
    """Tell how often the rules would give a seed, if it had no label, the one that it has: how far spreading can be
    trusted at this threshold.

    Seeds of the same words don't speak for each other. People do not always agree on near dialogues, so this falls
    short of 1 for perfect vectors too.

    Args:
        seeds: labelled dialogues.
        labels: [seeds] ids.
        rules: the rules; caps and guards play no part.
        memory: as for `nearest`.

    Returns:
        `near`: seeds that would get a label; `same`: those of them that would get their own.
    """
    ids = np.asarray(labels, np.int64)
    nearest_seeds = nearest(seeds.vectors, seeds.vectors, rules.threshold, rules.neighbours + 8, memory)
    words = np.unique([words_of(turns) for turns in seeds.turns], return_inverse=True)[1]
    others = words[nearest_seeds.rows] != words[nearest_seeds.seeds]
    matches = Matches(nearest_seeds.rows[others], nearest_seeds.seeds[others], nearest_seeds.similarities[others])
    candidates = [each for each in _candidates(matches, ids, seeds.ids, seeds.ids, rules, 0) if each.reason is None]
    return {"near": len(candidates), "same": sum(int(ids[each.row]) == each.label for each in candidates)}


def _check(seeds: Dialogues, labels: Sequence[int], held_out: Dialogues) -> None:
    if len(labels) != len(seeds):
        raise ValueError(f"every seed needs a label: got {len(labels)} labels for {len(seeds)} seeds")
    for row, label in enumerate(labels):
        if not 0 <= label < len(LABELS):
            raise ValueError(
                f"label {label} of seed {row} (from 0), {seeds.ids[row]!r}, is none of the ids 0 to {len(LABELS) - 1}"
            )
    if both := set(seeds.ids) & set(held_out.ids):
        raise ValueError(
            f"{len(both)} dialogues are both seed and held out, such as {min(both)!r}: spread from the training part "
            "only"
        )


def _candidates(
    matches: Matches, labels: Ints, seed_ids: Sequence[str], pool_ids: Sequence[str], rules: SpreadingRules, round: int
) -> list[SpreadLabel]:  # noqa: A002
    """Let the near seeds of each dialogue choose its label."""
    rows, starts = np.unique(matches.rows, return_index=True)
    candidates = []
    for row, start, stop in zip(
        rows.tolist(), starts.tolist(), np.append(starts, len(matches))[1:].tolist(), strict=True
    ):
        similarities = matches.similarities[start:stop]
        near = matches.seeds[start:stop][similarities >= similarities[0] - rules.margin]
        votes = Counter(
            labels[near].tolist()
        )  # in the order of the nearest seed of each label, which `most_common` keeps among equals
        label = votes.most_common(1)[0][0] if rules.conflict == "majority" else int(labels[near[0]])
        place = start + int(np.argmax(labels[near] == label))
        reason = "conflict" if rules.conflict == "none" and len(votes) > 1 else None
        seed, similarity = seed_ids[int(matches.seeds[place])], float(matches.similarities[place])
        candidates.append(SpreadLabel(pool_ids[row], row, label, seed, similarity, round, reason))
    return candidates


def _capped(candidates: list[SpreadLabel], cap: int | None) -> list[SpreadLabel]:
    """Reject what is beyond the cap of its label, the nearest first."""
    order = sorted(range(len(candidates)), key=lambda number: (-candidates[number].similarity, candidates[number].row))
    reasons = capped(
        [candidates[number].label for number in order], [candidates[number].reason for number in order], cap
    )
    judged = list(candidates)
    for number, reason in zip(order, reasons, strict=True):
        judged[number] = replace(candidates[number], reason=reason)
    return judged
