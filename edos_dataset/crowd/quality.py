"""Whose answers count, and what is paid for them: the rules of both papers as a recipe (EDOS, Sections 3.2 and 7; Xie
and Pu, Section 5.4 and Appendix C).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any

from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, check_item, items_by_id
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.names import read_answer
from edos_dataset.runs.foreign import ForeignError, read_yaml


@dataclass(frozen=True)
class QualityRules:
    """The rules; each default is the papers', or says that it is ours.

    Attributes:
        quiz_right: quiz questions of a labelling HIT that must be right for its bonus.
        bonus_right: bonus tasks of a judging HIT whose true response must be good or okay for its bonus.
        judged_right: such tasks that must be right for the judgements of a HIT to count.
        fast_minutes: a judging HIT done in less, with fewer than `judged_right`, is discarded. It is by `judged_right`
            anyway; the reason tells the two apart.
        least_seconds: a worker whose answers take less, in the median, is too fast; an item of 16 tokens a turn cannot
            be read in it (ours; EDOS tells of 4.12 minutes a HIT of 20 items, 12 seconds each).
        same_position: share of a worker's answers from which choosing the same position of the list all through, or
            judging every dialogue alike, is no answer.
        same_items: answers from which `same_position` is looked at (ours).
        least_quiz_share: share of right quiz answers, 0 to 1, below which a worker is discarded; 0, as in EDOS, where
            the quiz decided on the bonus alone.
        most_hits: HITs that one worker may do.
        least_approved: approved assignments that a worker must have.
        least_approval: approval rate that a worker must have, in percent.
        countries: where workers must be, ISO 3166; empty for anywhere.
    """

    quiz_right: int = 3
    bonus_right: int = 3
    judged_right: int = 2
    fast_minutes: float = 5.0
    least_seconds: float = 2.0
    same_position: float = 0.95
    same_items: int = 10
    least_quiz_share: float = 0.0
    most_hits: int = 50
    least_approved: int = 100
    least_approval: int = 95
    countries: tuple[str, ...] = ("US", "GB", "CA", "AU", "NZ")

    def __post_init__(self) -> None:
        """Check the parameters."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "countries":
                right = all(isinstance(code, str) and len(code) == 2 and code.isupper() for code in value)
            else:
                right = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
            if not right:
                expected = "codes such as US, GB" if entry.name == "countries" else "a number from 0"
                raise ValueError(f"the quality rule {entry.name} is {value!r}: expected {expected}")
        if self.same_position > 1 or self.least_quiz_share > 1 or self.least_approval > 100:
            raise ValueError("shares are from 0 to 1, and least_approval from 0 to 100 percent")

    def override(self, changes: Mapping[str, Any]) -> "QualityRules":
        """Return the rules with changes, such as those of a batch or a recipe.

        Raises:
            ValueError: one is no rule, or out of its range.
        """
        known = {entry.name for entry in fields(self)}
        if strange := [name for name in changes if name not in known]:
            raise ValueError(f"no quality rule {str(strange[0])!r}: the rules are {', '.join(sorted(known))}")
        lists: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()
        }
        return replace(self, **lists)

    def earns_bonus(self, items: Sequence[Item], right: int) -> bool:
        """Return whether so many right answers to a HIT's quiz questions or bonus tasks earn its bonus: as many as the
        rule asks for, all where the HIT has fewer, and never where it has none.
        """
        judging = any(item.kind in ("judge", "bonus") for item in items)
        checks = sum(item.truth is not None for item in items)
        return checks > 0 and right >= min(self.bonus_right if judging else self.quiz_right, checks)


def read_rules(path: Path, rules: QualityRules | None = None) -> QualityRules:
    """Return the rules with the changes of a YAML file, `rule: value` a line.

    Raises:
        ValueError: it is no such file; the message names it.
    """
    try:
        changes = read_yaml(path) or {}
        if not isinstance(changes, dict):
            raise ValueError("expected lines such as `quiz_right: 4`")
        return (rules or QualityRules()).override(changes)
    except (ForeignError, ValueError) as error:
        raise ValueError(f"{path} holds no quality rules: {error}") from error


@dataclass(frozen=True)
class Assignment:
    """What came of one HIT with one worker.

    Attributes:
        hit: its id.
        worker: who did it.
        answered: items answered, of `items`.
        items: of the HIT.
        checks: quiz questions or bonus tasks answered.
        right: of them, right; a bonus task is where the true response is good or okay.
        minutes: that its answers took together; None where one has no time.
        earned: whether the bonus is earned: the HIT is whole, and enough checks are right.
        discarded: why its answers do not count, "" if they do; by the assignment alone, not by its worker.
    """

    hit: str
    worker: str
    answered: int
    items: int
    checks: int
    right: int
    minutes: float | None
    earned: bool
    discarded: str


def assignments(hits: Sequence[Hit], answers: HitAnswers, rules: QualityRules) -> list[Assignment]:
    """Return what came of each HIT with each worker, in the order of their first answers.

    Raises:
        ValueError: an answer is to no item of these HITs, or of another form than it.
    """
    items, sizes = items_by_id(hits), {hit.id: hit for hit in hits}
    found = []
    for (hit, worker), own in answers.by_assignment().items():
        asked = [check_item(items, answer) for answer in own]
        marks = [_is_right(item, answer) for item, answer in zip(asked, own, strict=True) if item.truth is not None]
        times = [answer.seconds for answer in own if answer.seconds is not None]
        minutes = sum(times) / 60 if len(times) == len(own) else None
        whole, judging = len(own) == len(sizes[hit].items), any(item.kind in ("judge", "bonus") for item in asked)
        checks = sum(item.truth is not None for item in sizes[hit].items)
        discarded = ""
        if judging and sum(marks) < min(rules.judged_right, checks):
            fast = minutes is not None and minutes < rules.fast_minutes
            discarded = "too fast, and bonus tasks wrong" if fast else "bonus tasks wrong"
        earned = whole and rules.earns_bonus(sizes[hit].items, sum(marks))
        found.append(
            Assignment(hit, worker, len(own), len(sizes[hit].items), len(marks), sum(marks), minutes, earned, discarded)
        )
    return found


def _is_right(item: Item, answer: HitAnswer) -> bool:
    if isinstance(answer.value, tuple):
        return answer.value[item.choices.index(str(item.truth))] != "bad"
    return read_answer(answer.value or answer.typed).label == read_answer(str(item.truth)).label


@dataclass(frozen=True)
class Worker:
    """What a worker has done, and whether it counts.

    Attributes:
        worker: who.
        hits: HITs with an answer of theirs; None where the file knows no HITs, and so are the others that need them.
        items: answers.
        checks: quiz questions or bonus tasks answered.
        right: of them, right.
        bonuses: HITs whose bonus is earned.
        median_seconds: of an answer.
        same_position: largest share of the answers that one position of the list has, or one row of grades.
        first_choice: share of the answers that are the first of the choices.
        agreement: share of other people's answers to the same items that are theirs, too.
        verdict: "keep"; "stop", their answers count but they get no more HITs; "discard", they do not count.
        reason: of another verdict than "keep".
    """

    worker: str
    hits: int | None
    items: int
    checks: int | None
    right: int | None
    bonuses: int | None
    median_seconds: float | None
    same_position: float | None
    first_choice: float | None
    agreement: float | None
    verdict: str
    reason: str


def judge_worker(row: Worker, rules: QualityRules) -> tuple[str, str]:
    """Return the verdict on a worker, and its reason, by the figures alone."""
    if row.median_seconds is not None and row.median_seconds < rules.least_seconds:
        return "discard", f"too fast: {row.median_seconds:.1f} s an item, at least {rules.least_seconds:g}"
    if row.same_position is not None and row.items >= rules.same_items and row.same_position >= rules.same_position:
        return "discard", f"same position: {row.same_position:.0%} of {row.items} answers"
    if row.checks and (row.right or 0) / row.checks < rules.least_quiz_share:
        return "discard", f"checks wrong: {row.right} of {row.checks} right, below {rules.least_quiz_share:.0%}"
    if row.hits is not None and row.hits >= rules.most_hits:
        return "stop", f"{row.hits} HITs, {rules.most_hits} allowed"
    return "keep", ""


def same_place(items: Sequence[Item], own: Sequence[HitAnswer]) -> tuple[float | None, float | None]:
    """Return the largest share of one position, or row of grades, among a worker's answers, and that of the first
    choice; None where no choices are known.

    Rows of grades are compared up to the fewest candidates, so that bonus tasks, which have one more, count too.
    """
    if not items:
        return None, None
    shortest = min(len(item.choices) for item in items)
    places: list[Any] = [
        answer.value[:shortest]
        if isinstance(answer.value, tuple)
        else (item.choices.index(answer.value) if answer.value in item.choices else "other")
        for item, answer in zip(items, own, strict=True)
    ]
    judged = isinstance(own[0].value, tuple)
    first = None if judged else places.count(0) / len(places)
    return Counter(places).most_common(1)[0][1] / len(places), first


def median_seconds(own: Sequence[HitAnswer]) -> float | None:
    """Return the median time of answers that have one."""
    times = [answer.seconds for answer in own if answer.seconds is not None]
    return median(times) if times else None
