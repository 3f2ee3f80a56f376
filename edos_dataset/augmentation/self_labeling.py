"""Self-labelling: a classifier labels the pool, and of every label its surest candidates join what the next one learns
from (EDOS, Section 3.3).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.augmentation.guards import Dialogues, held_out_reasons
from edos_dataset.augmentation.rejections import capped, without_copies
from edos_dataset.augmentation.similarity import TWO_GB
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import StageCount

_BLOCK = 1 << 16  # rows of probabilities read at a time: they may be mapped from a file


@dataclass(frozen=True)
class SelfLabelingRules:
    """Which candidates get the label that a classifier gave them.

    Args:
        top: most candidates a label in a round, the surest first, of equally sure ones the first in the pool: 100 in
            the paper.
        confidence: least calibrated probability of the most probable label, 0.9 in the paper.
        cap: most candidates a label in all rounds together; None for any number.
        cap_total: most candidates of all labels in all rounds together, the surest first; None for any number.
        rounds: most rounds; in each a new classifier learns from what the one before labelled too.
        patience: rounds without a lower cross-entropy on the validation part after which no further one begins.
        guard: cosine with a validation or test dialogue from which a candidate gets no label.
        guard_words: share of words in common with one, whole or last turn, from which it gets none; one word more or
            fewer is always too near.
    """

    top: int = 100
    confidence: float = 0.9
    cap: int | None = None
    cap_total: int | None = None
    rounds: int = 1
    patience: int = 1
    guard: float = 0.9
    guard_words: float = 0.8

    name: ClassVar[str] = "self_label"

    def __post_init__(self) -> None:
        """Check the parameters."""
        for parameter in ("confidence", "guard", "guard_words"):
            if not 0 < getattr(self, parameter) <= 1:
                raise ValueError(f"{parameter} must be above 0 and at most 1, got {getattr(self, parameter)}")
        for parameter in ("top", "rounds", "patience"):
            if getattr(self, parameter) < 1:
                raise ValueError(f"{parameter} must be at least 1, got {getattr(self, parameter)}")
        for parameter in ("cap", "cap_total"):
            if getattr(self, parameter) is not None and getattr(self, parameter) < 1:
                raise ValueError(
                    f"{parameter} must be at least 1 candidate, or null for any number, got {getattr(self, parameter)}"
                )


@dataclass(frozen=True)
class SelfLabel:
    """A candidate of which the classifier was sure enough, and the label that it got or would have got.

    Attributes:
        dialogue_id: its id.
        row: its row in the pool.
        label: id of the label, 0 to 40, of the last turn.
        confidence: the label's calibrated probability.
        round: in which round, from 1.
        reason: why it got none: "held_out_id", "held_out_words", "held_out_near", "has_label", "duplicate", "capped";
            None if it got it.
    """

    dialogue_id: str
    row: int
    label: int
    confidence: float
    round: int
    reason: str | None = None


@dataclass(frozen=True)
class SelfLabelled:
    """What a round gave.

    Attributes:
        labels: the new labels, in the order of the pool.
        rejected: candidates that were sure enough and got no label, each with its reason, in the order of the pool.
        count: candidates read, kept, and rejected by reason, the others as "not_confident"; the tally counts the new
            labels by name.
    """

    labels: list[SelfLabel]
    rejected: list[SelfLabel]
    count: StageCount


def choose(
    probabilities: Floats,
    pool: Dialogues,
    held_out: Dialogues,
    known: Sequence[Dialogues] = (),
    rules: SelfLabelingRules | None = None,
    round: int = 1,  # noqa: A002 - what the papers call it
    taken: Mapping[int, int] | None = None,
    memory: int = TWO_GB,
) -> SelfLabelled:
    """Choose the candidates that get their most probable label.

    A candidate that falls under several rules counts under the first: not sure enough; too near a held-out dialogue;
    has a label already; the words of a surer candidate that got through so far; more than a cap. Only of candidates
    that are sure enough are the turns and vectors read.

    Args:
        probabilities: float32 [candidates, 41], calibrated, of each candidate's last turn; may be mapped from a file.
        pool: the candidates.
        held_out: validation and test dialogues.
        known: dialogues with a label, the seed and those of earlier steps and rounds: what has the id or the words of
            one gets none.
        rules: the rules; by default those of the paper.
        round: number that goes with every new label.
        taken: self-labelled candidates of earlier rounds by label id, which count against `cap` and `cap_total`.
        memory: bytes for the comparison with the held-out vectors, as for `nearest`.

    Raises:
        ValueError: the probabilities do not fit the pool, or are none.
    """
    rules = rules or SelfLabelingRules()
    candidates = _sure(probabilities, pool, rules.confidence, round)
    rows = [candidate.row for candidate in candidates]
    reasons = held_out_reasons(pool, np.array(rows, np.int64), held_out, rules.guard, rules.guard_words, memory)
    order = sorted(
        range(len(rows)), key=lambda number: (-candidates[number].confidence, rows[number])
    )  # the surest first
    judged = without_copies(pool, [rows[number] for number in order], [reasons[number] for number in order], known)
    judged = _capped([candidates[number].label for number in order], judged, rules, Counter(taken or {}))
    for number, reason in zip(order, judged, strict=True):
        candidates[number] = replace(candidates[number], reason=reason)
    kept = [candidate for candidate in candidates if candidate.reason is None]
    rejected = [candidate for candidate in candidates if candidate.reason is not None]
    by_reason = Counter({"not_confident": len(pool) - len(candidates)}) + Counter(
        str(candidate.reason) for candidate in rejected
    )
    by_label = Counter(LABELS[candidate.label] for candidate in kept)
    return SelfLabelled(
        kept, rejected, StageCount(rules.name, "dialogues", len(pool), len(kept), dict(by_reason), dict(by_label))
    )


def gains(history: Sequence[float], patience: int = 1) -> bool:
    """Tell whether another round is worth it.

    Args:
        history: cross-entropy (nats) of each round's classifier on the validation part, the first round's first.
        patience: rounds without a lower one than any before, from 1, after which it is not.
    """
    if patience < 1:
        raise ValueError(f"patience must be at least 1 round, got {patience}")
    return len(history) <= patience or min(history[-patience:]) < min(history[:-patience])


def _sure(probabilities: Floats, pool: Dialogues, least: float, round: int) -> list[SelfLabel]:  # noqa: A002
    """Return the candidates whose most probable label is probable enough, in the order of the pool."""
    if probabilities.shape != (len(pool), len(LABELS)):
        raise ValueError(
            f"{len(pool)} candidates need probabilities [{len(pool)}, {len(LABELS)}], got {list(probabilities.shape)}"
        )
    candidates = []
    for start in range(0, len(pool), _BLOCK):
        block = np.asarray(probabilities[start : start + _BLOCK])
        most = block.max(axis=1)
        if not ((most >= 0) & (most <= 1.001)).all():  # a row with a NaN has none as its largest
            row = start + int(np.argmin((most >= 0) & (most <= 1.001)))
            raise ValueError(
                f"the probabilities of candidate {row} (from 0), {pool.ids[row]!r}, are none: {most[row - start]}"
            )
        rows: Ints = np.flatnonzero(most >= np.float32(least))
        for row, label, confidence in zip(
            (rows + start).tolist(), block[rows].argmax(axis=1).tolist(), most[rows].tolist(), strict=True
        ):
            candidates.append(SelfLabel(pool.ids[row], row, label, confidence, round))
    return candidates


def _capped(
    labels: Sequence[int], reasons: Sequence[str | None], rules: SelfLabelingRules, taken: Counter[int]
) -> list[str | None]:
    """Reject what is beyond a label's top of this round, its cap of all rounds, or the cap of all labels."""
    total = taken.total()
    within_round = capped(labels, reasons, rules.top)
    within_label = capped(labels, within_round, rules.cap, taken)
    return capped([0] * len(labels), within_label, rules.cap_total, Counter({0: total}))
