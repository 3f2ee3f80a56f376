"""A line for each worker: what they did, how well, how fast, how far others agree, and whether it counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, Value, check_item, items_by_id
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.quality import (
    Assignment,
    QualityRules,
    Worker,
    assignments,
    judge_worker,
    median_seconds,
    same_place,
)

Vote = tuple[str, str, int | str]
"""What was asked, who answered, and what."""


def worker_rows(hits: Sequence[Hit], answers: HitAnswers, rules: QualityRules) -> list[Worker]:
    """Return a row for each worker of a batch, the busiest first.

    Raises:
        ValueError: an answer is to no item of these HITs, or of another form than it.
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
    """Return a row for each worker of a table of answers, which knows nothing of HITs, checks, times and positions."""
    shared = agreements(
        (answers.tasks[task], worker, _category(given))
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


def _category(given: Value) -> int | str:
    read = read_answer(str(given or ""))
    return read.text if read.label == MISSING else read.label


def agreements(votes: Iterable[Vote]) -> dict[str, float]:
    """Return, by worker, the share of other people's answers to what they answered that are the same, 0 to 1; who alone
    answered is not in it.
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
    """Return the assignments whose answers do not count, (HIT, worker) → why: by their worker, or by themselves.
    What stands before a colon is the kind of the reason.

    Errors as of `worker_rows`.
    """
    bad = {row.worker: row.reason for row in worker_rows(hits, answers, rules) if row.verdict == "discard"}
    reasons = {(one.hit, one.worker): bad.get(one.worker) or one.discarded for one in assignments(hits, answers, rules)}
    return {name: reason for name, reason in reasons.items() if reason}
