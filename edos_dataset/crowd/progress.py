"""The state of a batch: what is done, agreement of annotators and verdicts on them so far, time and cost."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import count_answers
from edos_dataset.crowd.agreement import fleiss_kappa, label_agreement, pairwise_agreement
from edos_dataset.crowd.assignments import Work, answer_lines, stored, stored_label_table
from edos_dataset.crowd.hit_answers import GRADES, collect_answers, is_right
from edos_dataset.crowd.quality import QualityRules, Worker, worker_rows
from edos_dataset.crowd.store import now


class _Row(NamedTuple):
    """A row of the table `assignments`."""

    id: int
    hit: str
    worker: str
    began: float
    seen: float
    finished: float | None
    released: float | None


def progress(work: Work) -> dict[str, Any]:
    """Return the state of a batch.

    Returns:
        `hits`, `done` (HITs that all workers have submitted), `assignments` (submitted), `wanted`, `open` (in
        progress), `left` (begun and abandoned), `answers`, `agreement` (`tasks` with two answers or more,
        `pairwise_agreement`, `fleiss_kappa`), `labels`, see `label_agreement`, `seconds` (median of an assignment),
        `bonuses` (earned), `cost` (US dollars so far), `workers` (a list: `worker`, an alias, `hits`, `answers`,
        `points`, `of`, `seconds`, `seen`; and by the rules of `edos crowd workers` `item_seconds` (median),
        `agreement`, `verdict`, `reason`), `people` (`invited`, `consented`, `begun`, and `absent`, the names of those
        who were invited and have not begun).
    """
    found = work.store.read("SELECT id, hit, worker, began, seen, finished, released FROM assignments")
    rows = [row for row in map(_Row._make, found) if row.hit in work.hits]
    finished = [row for row in rows if row.finished is not None]
    abandoned = sum(_is_abandoned(row, now() - work.patience) for row in rows)
    latest = _latest(work)
    earned = {row.id: _points(work, row.hit, latest.get(row.id, {})) for row in rows}
    rules = QualityRules().override(work.batch.rules)
    paid = sum(
        rules.earns_bonus(work.hits[row.hit].items, earned[row.id], latest.get(row.id, {}).values()) for row in finished
    )
    counts, names = _counts(work, latest, {row.id: row.hit for row in rows})
    submitted = Counter(row.hit for row in finished)
    return {
        "kind": work.batch.kind,
        "hits": len(work.hits),
        "done": sum(number >= work.batch.workers for number in submitted.values()),
        "assignments": len(finished),
        "wanted": len(work.hits) * work.batch.workers,
        "open": len(rows) - len(finished) - abandoned,
        "left": abandoned,
        "answers": sum(map(len, latest.values())),
        "agreement": _agreement(counts),
        "labels": label_agreement(counts, names),
        "seconds": median(map(_seconds, finished)) if finished else None,
        "bonuses": paid,
        "cost": round(len(finished) * work.batch.reward + paid * work.batch.bonus, 2),
        "workers": _workers(work, rows, latest, earned, rules),
        "people": _people(work, {row.worker for row in rows}),
    }


def _people(work: Work, begun: set[str]) -> dict[str, Any]:
    people = work.store.read("SELECT id, origin, consented FROM workers ORDER BY id")
    return {
        "invited": sum(origin == "invited" for _, origin, _ in people),
        "consented": sum(consented is not None for _, _, consented in people),
        "begun": len(begun),
        "absent": [name for name, origin, _ in people if origin == "invited" and name not in begun],
    }


def _is_abandoned(row: _Row, since: float) -> bool:
    return row.finished is None and (row.released is not None or float(row.seen) < since)


def _seconds(row: _Row) -> float:
    return float(row.finished or 0) - float(row.began)


def _latest(work: Work) -> dict[int, dict[int, Any]]:
    """Return the latest value of each place of each assignment, by its number."""
    latest: dict[int, dict[int, Any]] = {}
    hits = dict(work.store.read("SELECT id, hit FROM assignments"))
    for columns in work.store.read("SELECT number, assignment, place, value, typed FROM answers ORDER BY number"):
        hit = work.hits.get(hits.get(columns[1], ""))
        row = stored(work.store, *columns, items=None if hit is None else hit.items)
        latest.setdefault(row.assignment, {})[row.place] = row.value
    return latest


def _points(work: Work, hit: str, given: dict[int, Any]) -> int:
    items = work.hits[hit].items
    return sum(is_right(items[place], value) for place, value in given.items() if place < len(items))


def _counts(work: Work, latest: dict[int, dict[int, Any]], hits: dict[int, str]) -> tuple[Ints, Sequence[str]]:
    """Return how many answers each task has in each category, and the names of the first categories: the labels, or
    the grades, whose tasks are the candidates.
    """
    if work.batch.kind == "labelling":
        table = stored_label_table(work.store, work.batch)
        return count_answers(table) if table.task else np.zeros((0, 1), np.int64), work.batch.labels.labels
    sums: dict[tuple[str, int, int], list[int]] = {}
    for assignment, given in latest.items():
        for place, ratings in given.items() if assignment in hits else ():
            for choice, rating in enumerate(ratings):
                row = sums.setdefault((hits[assignment], place, choice), [0] * len(GRADES))
                row[GRADES.index(rating)] += 1
    return np.array(list(sums.values()), np.int64).reshape(-1, len(GRADES)), GRADES


def _agreement(counts: Ints) -> dict[str, Any] | None:
    """Return the agreement of annotators; None until two have answered the same."""
    if not (counts.sum(axis=1) >= 2).any():
        return None
    kappa = fleiss_kappa(counts)
    return {
        "tasks": int((counts.sum(axis=1) >= 2).sum()),
        "pairwise_agreement": round(pairwise_agreement(counts), 4),
        "fleiss_kappa": None if np.isnan(kappa) else round(kappa, 4),
    }


def _verdict(row: Worker | None) -> dict[str, Any]:
    """Return what the rules say of a worker; None has not answered yet."""
    if row is None:
        return {"item_seconds": None, "agreement": None, "verdict": "keep", "reason": ""}
    return {
        "item_seconds": row.median_seconds,
        "agreement": row.agreement,
        "verdict": row.verdict,
        "reason": row.reason,
    }


def _workers(
    work: Work, rows: Sequence[_Row], latest: dict[int, dict[int, Any]], earned: dict[int, int], rules: QualityRules
) -> list[dict[str, Any]]:
    by_worker: dict[str, list[_Row]] = {}
    for row in rows:
        by_worker.setdefault(row.worker, []).append(row)
    lines = ((str(work.store.path), line) for line in answer_lines(work.store, work.batch, unfinished=True))
    judged = {row.worker: row for row in worker_rows(work.batch.hits, collect_answers(lines), rules)}
    table = []
    for worker, own in by_worker.items():
        answered = [(work.hits[row.hit].items, latest.get(row.id, {})) for row in own]
        spent = [_seconds(row) for row in own if row.finished is not None]
        alias = work.store.alias(worker)
        table.append(
            {
                "worker": alias,
                "hits": len(spent),
                "answers": sum(len(given) for _, given in answered),
                "points": sum(earned[row.id] for row in own),
                "of": sum(items[place].kind in ("quiz", "bonus") for items, given in answered for place in given),
                "seconds": median(spent) if spent else None,
                "seen": max(float(row.seen) for row in own),
                **_verdict(judged.get(alias)),
            }
        )
    return sorted(table, key=lambda row: (-row["answers"], row["worker"]))
