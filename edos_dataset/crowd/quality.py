"""Quality rules that decide which answers count and earn a bonus, as in both papers (EDOS, Sections 3.2 and 7; Xie and
Pu, Section 5.4 and Appendix C), and statistics of each worker.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any

from edos_dataset.crowd.answers import Answers
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, Value, check_item, items_by_id
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.names import EDOS, MISSING, read_answer
from edos_dataset.label_sets import LabelSet
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, shown
from edos_dataset.wording import counted


@dataclass(frozen=True)
class QualityRules:
    """Quality rules; the defaults are the papers', unless marked as ours.

    Attributes:
        quiz_right: quiz questions of a labelling HIT that must be right for its bonus.
        bonus_right: bonus tasks of a judging HIT whose true response must be good or okay for its bonus.
        judged_right: such tasks that must be right for the judgements of a HIT to count.
        fast_minutes: a judging HIT done in less, with fewer than `judged_right`, is discarded. It is by `judged_right`
            anyway; the reason distinguishes the two.
        least_seconds: minimum median time per answer; an item of 16 tokens a turn cannot be read in less (ours; EDOS
            reports 4.12 minutes per HIT of 20 items, 12 seconds each).
        same_position: fraction of answers at the same position of the list, or of identical judgements, from which a
            worker is discarded.
        same_items: minimum number of answers for `same_position` to apply (ours).
        least_quiz_share: minimum fraction of right quiz answers, 0 to 1; 0 as in EDOS, where the quiz decided only the
            bonus.
        most_hits: maximum number of HITs per worker.
        least_approved: minimum number of approved assignments of a worker.
        least_approval: minimum approval rate of a worker, in percent.
        countries: allowed countries of workers, ISO 3166; empty for all.
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
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "countries":
                codes = value if isinstance(value, tuple) else [None]
                right = all(isinstance(code, str) and len(code) == 2 and code.isupper() for code in codes)
            else:
                right = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
            if not right:
                expected = "codes such as US, GB" if entry.name == "countries" else "a number from 0"
                raise ValueError(f"the quality rule {entry.name} is {shown(value)}: expected {expected}")
        if self.same_position > 1 or self.least_quiz_share > 1 or self.least_approval > 100:
            raise ValueError("shares are from 0 to 1, and least_approval from 0 to 100 percent")

    def override(self, changes: Mapping[str, Any]) -> "QualityRules":
        """Return the rules with changes, or raise ValueError if one is unknown or out of range."""
        known = {entry.name for entry in fields(self)}
        if strange := [name for name in changes if name not in known]:
            raise ValueError(f"no quality rule {str(strange[0])!r}: the rules are {', '.join(sorted(known))}")
        lists: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()
        }
        return replace(self, **lists)

    def required(self, items: Sequence[Item]) -> int:
        """Return the number of right answers to quiz questions or bonus tasks that earn a HIT's bonus; all must be
        right if the HIT has fewer than the rule requires.
        """
        judging = any(item.kind in ("judge", "bonus") for item in items)
        return min(self.bonus_right if judging else self.quiz_right, sum(item.truth is not None for item in items))

    def earns_bonus(self, items: Sequence[Item], right: int, values: Iterable[Any]) -> bool:
        """Return whether a HIT's answers, of which so many to quiz questions or bonus tasks are right, earn its bonus.

        A HIT without any such question earns none, nor do judgements that give all replies the same grade.
        """
        grades = [grade for value in values if isinstance(value, list | tuple) for grade in value]
        alike = len(grades) > 1 and len(set(grades)) == 1
        return not alike and 0 < self.required(items) <= right


def read_rules(path: Path, rules: QualityRules | None = None) -> QualityRules:
    """Return the rules with the changes of a YAML file, or raise ValueError if it is invalid."""
    try:
        changes = read_yaml(path) or {}
        if not isinstance(changes, dict):
            raise ValueError("expected lines such as `quiz_right: 4`")
        return (rules or QualityRules()).override(changes)
    except (UntrustedInputError, ValueError) as error:
        raise ValueError(f"{path} holds no quality rules: {error}") from error


@dataclass(frozen=True)
class Assignment:
    """The result of one HIT with one worker.

    Attributes:
        hit: id of the HIT.
        worker: who did it.
        answered: number of items answered, of `items`.
        items: number of items in the HIT.
        checks: quiz questions or bonus tasks answered.
        right: how many of these were right; in a bonus task, the true response must be judged good or okay.
        minutes: total time of its answers; None if a time is missing.
        earned: whether the HIT is complete and enough checks are right for the bonus.
        discarded: why its answers do not count, judged by the assignment alone; "" if they do.
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
    """Return the result of each HIT with each worker, in the order of their first answers.

    Raises:
        ValueError: an answer belongs to no item of these HITs, or does not fit its form.
    """
    items, by_id = items_by_id(hits), {hit.id: hit for hit in hits}
    found = []
    for (hit, worker), own in answers.by_assignment().items():
        checked = [(check_item(items, answer), answer) for answer in own]
        found.append(_assignment(by_id[hit], worker, checked, rules))
    return found


def _assignment(hit: Hit, worker: str, own: Sequence[tuple[Item, HitAnswer]], rules: QualityRules) -> Assignment:
    marks = [_is_right(item, answer) for item, answer in own if item.truth is not None]
    times = [answer.seconds for _, answer in own if answer.seconds is not None]
    minutes = sum(times) / 60 if len(times) == len(own) else None
    judging = any(item.kind in ("judge", "bonus") for item, _ in own)
    checks = sum(item.truth is not None for item in hit.items)
    discarded = ""
    if judging and sum(marks) < min(rules.judged_right, checks):
        fast = minutes is not None and minutes < rules.fast_minutes
        discarded = "too fast, and bonus tasks wrong" if fast else "bonus tasks wrong"
    values = [answer.value for _, answer in own]
    earned = len(own) == len(hit.items) and rules.earns_bonus(hit.items, sum(marks), values)
    return Assignment(hit.id, worker, len(own), len(hit.items), len(marks), sum(marks), minutes, earned, discarded)


def _is_right(item: Item, answer: HitAnswer) -> bool:
    if isinstance(answer.value, tuple):
        return answer.value[item.choices.index(str(item.truth))] != "bad"
    return _category(answer.value or answer.typed) == _category(str(item.truth))


@dataclass(frozen=True)
class Worker:
    """Statistics of a worker, and whether their answers count.

    Attributes:
        worker: the worker.
        hits: number of HITs answered. This and the other attributes that need HITs are None if the file has none.
        items: number of answers.
        checks: quiz questions or bonus tasks answered.
        right: how many of these were right.
        bonuses: HITs whose bonus is earned.
        median_seconds: median time per answer.
        same_position: largest fraction of answers at one position of the list, or with the same grades.
        first_choice: fraction of answers that are the first choice.
        agreement: fraction of other workers' answers to the same items that agree.
        verdict: "keep"; "stop" (answers count, but no more HITs for the worker); or "discard" (answers do not count).
        reason: reason of a verdict other than "keep".
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
    """Return the verdict on a worker, and its reason."""
    if row.median_seconds is not None and row.median_seconds < rules.least_seconds:
        return "discard", f"too fast: {row.median_seconds:.1f} s an item, at least {rules.least_seconds:g}"
    if row.same_position is not None and row.items >= rules.same_items and row.same_position >= rules.same_position:
        return "discard", f"same position: {row.same_position:.0%} of {counted(row.items, 'answers')}"
    if row.checks and (row.right or 0) / row.checks < rules.least_quiz_share:
        return "discard", f"checks wrong: {row.right} of {row.checks} right, below {rules.least_quiz_share:.0%}"
    if row.hits is not None and row.hits >= rules.most_hits:
        return "stop", f"{counted(row.hits, 'HITs')}, {rules.most_hits} allowed"
    return "keep", ""


def same_place(items: Sequence[Item], own: Sequence[HitAnswer]) -> tuple[float | None, float | None]:
    """Return the largest fraction of a worker's answers at one position, or with the same grades, and of first
    choices; None if no choices are known. Grades are compared up to the fewest candidates, so that bonus
    tasks, which have one more, count too.
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
    """Return the median time of the answers whose time is known."""
    times = [answer.seconds for answer in own if answer.seconds is not None]
    return median(times) if times else None


Vote = tuple[str, str, int | str]
"""Question, worker and answer."""


def worker_rows(hits: Sequence[Hit], answers: HitAnswers, rules: QualityRules) -> list[Worker]:
    """Return a row for each worker of a batch, the busiest first.

    Raises:
        ValueError: an answer belongs to no item of these HITs, or does not fit its form.
    """
    items = items_by_id(hits)
    own: dict[str, list[HitAnswer]] = {}
    for answer in answers.given:
        own.setdefault(answer.worker, []).append(answer)
    done: dict[str, list[Assignment]] = {}
    for one in assignments(hits, answers, rules):
        done.setdefault(one.worker, []).append(one)
    shared = agreements(
        vote for answer in answers.given if check_item(items, answer).kind != "quiz" for vote in _votes(answer)
    )
    rows = []
    for worker, given in own.items():
        asked = [items[answer.hit, answer.item] for answer in given]
        same, first = same_place(asked, given)
        row = Worker(
            worker=worker,
            hits=len(done[worker]),
            items=len(given),
            checks=sum(one.checks for one in done[worker]),
            right=sum(one.right for one in done[worker]),
            bonuses=sum(one.earned for one in done[worker]),
            median_seconds=median_seconds(given),
            same_position=same,
            first_choice=first,
            agreement=shared.get(worker),
            verdict="keep",
            reason="",
        )
        rows.append(row)
    return _judged(rows, rules)


def worker_rows_of_table(answers: Answers, rules: QualityRules) -> list[Worker]:
    """Return a row for each worker of a table of answers, without HITs, checks, times and positions."""
    shared = agreements(
        (answers.tasks[task], worker, _category(given, answers.label_set))
        for task, worker, given in zip(answers.task, answers.worker, answers.given, strict=True)
    )
    rows = [
        Worker(worker, None, number, None, None, None, None, None, None, shared.get(worker), "keep", "")
        for worker, number in Counter(answers.worker).items()
    ]
    return _judged(rows, rules)


def _judged(rows: Iterable[Worker], rules: QualityRules) -> list[Worker]:
    judged = []
    for row in rows:
        verdict, reason = judge_worker(row, rules)
        judged.append(replace(row, verdict=verdict, reason=reason))
    return sorted(judged, key=lambda row: (-row.items, row.worker))


def _votes(answer: HitAnswer) -> list[Vote]:
    if isinstance(answer.value, tuple):
        return [(f"{answer.item} {place}", answer.worker, grade) for place, grade in enumerate(answer.value)]
    return [(answer.item, answer.worker, _category(answer.value or answer.typed))]


def _category(given: Value, labels: LabelSet = EDOS) -> int | str:
    read = read_answer(str(given or ""), labels)
    return read.text if read.label == MISSING else read.label


def agreements(votes: Iterable[Vote]) -> dict[str, float]:
    """Return, by worker, the fraction of other people's answers to the same questions that agree, 0 to 1; workers whose
    questions nobody else answered are left out.
    """
    given = list(votes)
    asked = Counter(question for question, _, _ in given)
    alike = Counter((question, what) for question, _, what in given)
    same: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for question, worker, what in given:
        same[worker] += alike[question, what] - 1
        others[worker] += asked[question] - 1
    return {worker: same[worker] / number for worker, number in others.items() if number}


def discarded(hits: Sequence[Hit], answers: HitAnswers, rules: QualityRules) -> Mapping[tuple[str, str], str]:
    """Return the discarded assignments, (HIT, worker) → reason; the text before a colon is the kind of reason.

    An assignment is discarded for its own answers or with its worker.
    """
    bad = {row.worker: row.reason for row in worker_rows(hits, answers, rules) if row.verdict == "discard"}
    reasons = {(one.hit, one.worker): bad.get(one.worker) or one.discarded for one in assignments(hits, answers, rules)}
    return {name: reason for name, reason in reasons.items() if reason}
