"""Self-labelling: a classifier labels the pool, and the most confident candidates of every label join the training data
of the next classifier (EDOS, Section 3.3).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.augmentation.guards import (
    Choice,
    Dialogues,
    capped,
    check_fractions,
    choice_of,
    held_out_reasons,
    without_copies,
)
from edos_dataset.augmentation.similarity import TWO_GB
from edos_dataset.labels import LABELS
from edos_dataset.wording import counted

_BLOCK = 1 << 16  # rows of probabilities read at once, as they may be a memory map


@dataclass(frozen=True)
class SelfLabelingRules:
    """Which candidates keep the label that a classifier predicts.

    Args:
        top: maximum number of candidates per label and round, the most confident first, then in the order of the pool:
            100 in the paper.
        confidence: least calibrated probability of the most probable label, 0.9 in the paper.
        cap: maximum number of candidates per label in all rounds together; None for no limit.
        cap_total: maximum number of candidates of all labels in all rounds together, the most confident first; None for
            no limit.
        rounds: maximum number of rounds; in each, a new classifier also learns from the labels of the previous round.
        patience: rounds without a lower validation cross-entropy after which training stops.
        guard: candidates with this cosine or more to a validation or test dialogue get no label.
        guard_words: the same for the fraction of common words, in the whole dialogue or the last turn; texts that
            differ by one word are always too near.
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
        check_fractions(self, "confidence", "guard", "guard_words")
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
    """A confident candidate, with the label that it gets unless there is a reason against it.

    Attributes:
        dialogue_id: its id.
        row: its row in the pool.
        label: label id of the last turn, 0 to 40.
        confidence: the label's calibrated probability.
        round: number of the round, from 1.
        reason: why it does not get the label: "held_out_id", "held_out_words", "held_out_near", "has_label",
            "duplicate", "capped"; None if it gets it.
    """

    dialogue_id: str
    row: int
    label: int
    confidence: float
    round: int
    reason: str | None = None


def choose(
    probabilities: Floats,
    pool: Dialogues,
    held_out: Dialogues,
    known: Sequence[Dialogues] = (),
    rules: SelfLabelingRules | None = None,
    round: int = 1,  # noqa: A002 - what the papers call it
    taken: Mapping[int, int] | None = None,
    memory: int = TWO_GB,
    names: Sequence[str] = LABELS,
) -> Choice[SelfLabel]:
    """Choose the candidates that get their most probable label.

    A candidate that several rules reject counts under the first of these: not confident enough ("not_confident"); too
    near a held-out dialogue; already labelled; the words of a more confident accepted candidate; beyond a cap. Turns
    and vectors are read only for candidates that are confident enough.

    Args:
        probabilities: float32 [candidates, labels], calibrated, of each candidate's last turn; may be mapped from a
            file.
        pool: the candidates.
        held_out: validation and test dialogues.
        known: labelled dialogues of the seed and of earlier steps and rounds; candidates with the id or the words of
            one of them get no label.
        rules: the rules; by default those of the paper.
        round: number stored with every new label.
        taken: number of self-labelled candidates of earlier rounds by label id; they count towards the caps.
        memory: bytes for the comparison with the held-out vectors, as for `nearest`.
        names: names of the labels, by id.

    Raises:
        ValueError: the probabilities have the wrong shape or are not probabilities.
    """
    rules = rules or SelfLabelingRules()
    candidates = _sure(probabilities, pool, rules.confidence, round, len(names))
    rows = [candidate.row for candidate in candidates]
    reasons = held_out_reasons(pool, np.array(rows, np.int64), held_out, rules.guard, rules.guard_words, memory)
    order = sorted(range(len(rows)), key=lambda number: (-candidates[number].confidence, rows[number]))
    judged = without_copies(pool, [rows[number] for number in order], [reasons[number] for number in order], known)
    judged = _capped([candidates[number].label for number in order], judged, rules, Counter(taken or {}))
    for number, reason in zip(order, judged, strict=True):
        candidates[number] = replace(candidates[number], reason=reason)
    return choice_of(candidates, len(pool), rules.name, "not_confident", names)


def gains(history: Sequence[float], patience: int = 1) -> bool:
    """Return whether another round is worthwhile.

    Args:
        history: validation cross-entropy (nats) of the classifier of each round, in order.
        patience: number of rounds without a new minimum after which it is not, from 1.
    """
    if patience < 1:
        raise ValueError(f"patience must be at least 1 round, got {patience}")
    return len(history) <= patience or min(history[-patience:]) < min(history[:-patience])


def _sure(probabilities: Floats, pool: Dialogues, least: float, round: int, width: int) -> list[SelfLabel]:  # noqa: A002
    """Return the candidates that are confident enough, in the order of the pool."""
    if probabilities.shape != (len(pool), width):
        raise ValueError(
            f"{counted(len(pool), 'candidates need')} probabilities [{len(pool)}, {width}], got "
            f"{list(probabilities.shape)}"
        )
    candidates = []
    for start in range(0, len(pool), _BLOCK):
        block = np.asarray(probabilities[start : start + _BLOCK])
        most = block.max(axis=1)
        if not ((most >= 0) & (most <= 1.001)).all():  # the maximum of a row with a NaN is NaN
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
    """Reject candidates beyond `top`, `cap` or `cap_total`."""
    total = taken.total()
    within_round = capped(labels, reasons, rules.top)
    within_label = capped(labels, within_round, rules.cap, taken)
    return capped([0] * len(labels), within_label, rules.cap_total, Counter({0: total}))
