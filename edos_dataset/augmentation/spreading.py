"""Similarity spreading: a dialogue gets the label of the nearest labelled one, if near enough (EDOS, Section 3.3)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.augmentation.guards import (
    Choice,
    Dialogues,
    capped,
    check_fractions,
    choice_of,
    held_out_reasons,
    without_copies,
    words_of,
)
from edos_dataset.augmentation.similarity import TWO_GB, Matches, nearest
from edos_dataset.labels import LABELS
from edos_dataset.runs.pipeline import check_ranges
from edos_dataset.wording import counted

Conflict = Literal["none", "nearest", "majority"]


@dataclass(frozen=True)
class SpreadingRules:
    """Which dialogues get which label.

    Args:
        threshold: least cosine with a seed; in the paper, 0.92 around the crowd's dialogues and 0.9 around
            self-labelled ones.
        margin: seeds vote if they are at most this much less similar than the nearest one.
        neighbours: maximum number of seeds that vote, the nearest first, 1 to 10,000.
        conflict: the label if their labels differ: "none" for no label, "nearest" for that of the nearest seed, or
            "majority"; ties go to the nearest seed, and among equally near ones to the first.
        cap: maximum number of dialogues per label, the nearest first, then in the order of the pool; None for no limit.
            The authors' code uses 1,000.
        guard: dialogues with this cosine or more to a validation or test dialogue get no label.
        guard_words: the same for the fraction of common words, in the whole dialogue or the last turn; texts that
            differ by one word are always too near.
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
        check_fractions(self, "threshold", "guard", "guard_words")
        if not 0 <= self.margin <= 2:
            raise ValueError(f"margin must be a difference of cosines, 0 to 2, got {self.margin}")
        check_ranges(self, neighbours=(1, 10_000))
        if self.conflict not in get_args(Conflict):
            raise ValueError(f"conflict must be one of {', '.join(get_args(Conflict))}, got {self.conflict!r}")
        if self.cap is not None and self.cap < 1:
            raise ValueError(f"cap must be at least 1 dialogue a label, or null for any number, got {self.cap}")


@dataclass(frozen=True)
class SpreadLabel:
    """A dialogue near a seed, with the label that it gets unless there is a reason against it.

    Attributes:
        dialogue_id: its id.
        row: its row in the pool.
        label: label id of the last turn, 0 to 40.
        seed_id: id of the nearest seed with that label.
        similarity: cosine with that seed.
        round: number of the round, from 1.
        reason: why it does not get the label: "held_out_id", "held_out_words", "held_out_near", "has_label",
            "conflict", "duplicate", "capped"; None if it gets it.
    """

    dialogue_id: str
    row: int
    label: int
    seed_id: str
    similarity: float
    round: int
    reason: str | None = None


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
    names: Sequence[str] = LABELS,
) -> Choice[SpreadLabel]:
    """Spread the labels of seeds to the dialogues of a pool.

    A dialogue that several rules reject counts under the first of these: near no seed ("not_similar"); too near a
    held-out dialogue; already labelled; conflicting seeds; the words of an earlier accepted dialogue; beyond the cap.

    Args:
        seeds: labelled dialogues of the training split; among equally near ones the first counts.
        labels: [seeds] ids of their last turns' labels, 0 to 40.
        pool: dialogues to label.
        held_out: validation and test dialogues.
        rules: the rules; by default those of the paper's first round.
        round: number stored with every new label.
        known: labelled dialogues other than the seeds, such as those of earlier rounds; dialogues with the id or the
            words of one of them or of a seed get no label.
        memory: bytes for the search, as for `nearest`.
        progress: as for `nearest`.
        names: names of the labels, by id.

    Raises:
        ValueError: seeds and labels differ in number, a label is out of range, a held-out dialogue is among the seeds,
            or what `nearest` raises.
    """
    rules = rules or SpreadingRules()
    _check(seeds, labels, held_out, len(names))
    matches = nearest(seeds.vectors, pool.vectors, rules.threshold, rules.neighbours, memory, progress)
    candidates = _candidates(matches, np.asarray(labels, np.int64), seeds.ids, pool.ids, rules, round)
    rows = np.array([candidate.row for candidate in candidates], np.int64)
    guarded = held_out_reasons(pool, rows, held_out, rules.guard, rules.guard_words, memory)
    reasons = [reason or candidate.reason for candidate, reason in zip(candidates, guarded, strict=True)]
    reasons = without_copies(pool, rows.tolist(), reasons, (seeds, *known))
    candidates = [replace(candidate, reason=reason) for candidate, reason in zip(candidates, reasons, strict=True)]
    return choice_of(_capped(candidates, rules.cap), len(pool), "spread", "not_similar", names)


def agreement_of_seeds(
    seeds: Dialogues, labels: Sequence[int], rules: SpreadingRules, memory: int = TWO_GB
) -> dict[str, int]:
    """Return how often the rules would give a seed its own label, a measure of how reliable spreading is.

    Seeds with the same words do not vote for each other. People do not always agree on similar dialogues, so even
    perfect vectors stay below 1.

    Args:
        seeds: labelled dialogues.
        labels: [seeds] ids.
        rules: the rules; caps and guards are not applied.
        memory: as for `nearest`.

    Returns:
        `near`: number of seeds that would get a label; `same`: how many of these would get their own.
    """
    ids = np.asarray(labels, np.int64)
    nearest_seeds = nearest(seeds.vectors, seeds.vectors, rules.threshold, rules.neighbours + 8, memory)
    words = np.unique([words_of(turns) for turns in seeds.turns], return_inverse=True)[1]
    others = words[nearest_seeds.rows] != words[nearest_seeds.seeds]
    matches = Matches(nearest_seeds.rows[others], nearest_seeds.seeds[others], nearest_seeds.similarities[others])
    candidates = [each for each in _candidates(matches, ids, seeds.ids, seeds.ids, rules, 0) if each.reason is None]
    return {"near": len(candidates), "same": sum(int(ids[each.row]) == each.label for each in candidates)}


def _check(seeds: Dialogues, labels: Sequence[int], held_out: Dialogues, size: int) -> None:
    if len(labels) != len(seeds):
        raise ValueError(
            f"every seed needs a label: got {counted(len(labels), 'labels')} for {counted(len(seeds), 'seeds')}"
        )
    for row, label in enumerate(labels):
        if not 0 <= label < size:
            raise ValueError(
                f"label {label} of seed {row} (from 0), {seeds.ids[row]!r}, is none of the ids 0 to {size - 1}"
            )
    if both := set(seeds.ids) & set(held_out.ids):
        raise ValueError(
            f"{counted(len(both), 'dialogues are')} both seed and held out, such as {min(both)!r}: spread from "
            "the training part "
            "only"
        )


def _candidates(
    matches: Matches, labels: Ints, seed_ids: Sequence[str], pool_ids: Sequence[str], rules: SpreadingRules, round: int
) -> list[SpreadLabel]:  # noqa: A002
    """Return the candidates, each with the label that its nearest seeds vote for."""
    rows, starts = np.unique(matches.rows, return_index=True)
    candidates = []
    for row, start, stop in zip(
        rows.tolist(), starts.tolist(), np.append(starts, len(matches))[1:].tolist(), strict=True
    ):
        similarities = matches.similarities[start:stop]
        near = matches.seeds[start:stop][similarities >= similarities[0] - rules.margin]
        votes = Counter(
            labels[near].tolist()
        )  # ordered by each label's nearest seed; `most_common` keeps that order among ties
        label = votes.most_common(1)[0][0] if rules.conflict == "majority" else int(labels[near[0]])
        place = start + int(np.argmax(labels[near] == label))
        reason = "conflict" if rules.conflict == "none" and len(votes) > 1 else None
        seed, similarity = seed_ids[int(matches.seeds[place])], float(matches.similarities[place])
        candidates.append(SpreadLabel(pool_ids[row], row, label, seed, similarity, round, reason))
    return candidates


def _capped(candidates: list[SpreadLabel], cap: int | None) -> list[SpreadLabel]:
    """Reject candidates beyond the cap of their label, the nearest first."""
    order = sorted(range(len(candidates)), key=lambda number: (-candidates[number].similarity, candidates[number].row))
    reasons = capped(
        [candidates[number].label for number in order], [candidates[number].reason for number in order], cap
    )
    judged = list(candidates)
    for number, reason in zip(order, reasons, strict=True):
        judged[number] = replace(candidates[number], reason=reason)
    return judged
