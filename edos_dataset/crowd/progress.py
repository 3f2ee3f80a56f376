"""How a batch stands: what is done, how far people agree so far, how long it takes, and what it costs."""

import json
from statistics import median
from typing import Any

import numpy as np

from edos_dataset.crowd.aggregation import count_answers
from edos_dataset.crowd.agreement import fleiss_kappa, pairwise_agreement
from edos_dataset.crowd.assignments import Work
from edos_dataset.crowd.collected import label_table
from edos_dataset.crowd.given import RATINGS, is_right
from edos_dataset.crowd.quality import QualityRules
from edos_dataset.crowd.store import now


def progress(work: Work) -> dict[str, Any]:
    """Return how a batch stands.

    Returns:
        `hits`, `done` (HITs that all people have handed in), `assignments` (handed in), `wanted`, `open` (being worked
        on), `left` (begun, and nobody came back), `answers`, `agreement` (`tasks` with two answers or more,
        `pairwise_agreement`, `fleiss_kappa`), `seconds` (median of an assignment), `bonuses` (earned), `cost`
        (US dollars so far), `workers` (a list: `worker`, an alias, `hits`, `answers`, `points`, `of`,
        `seconds`, `seen`).
    """
    rows = work.store.read("SELECT id, hit, worker, began, seen, finished, released FROM assignments")
    rows = [row for row in rows if row[1] in work.hits]
    finished = [row for row in rows if row[5] is not None]
    pending = [row for row in rows if row[5] is None]
    gone = now() - work.patience
    left = sum(row[6] is not None or float(row[4]) < gone for row in pending)
    latest = _latest(work)
    earned = {row[0]: _points(work, row[1], latest.get(row[0], {})) for row in rows}
    rules = QualityRules().override(work.batch.rules)
    paid = sum(rules.earns_bonus(work.hits[row[1]].items, earned[row[0]]) for row in finished)
    taken: dict[str, int] = {}
    for row in finished:
        taken[row[1]] = taken.get(row[1], 0) + 1
    return {
        "kind": work.batch.kind,
        "hits": len(work.hits),
        "done": sum(number >= work.batch.workers for number in taken.values()),
        "assignments": len(finished),
        "wanted": len(work.hits) * work.batch.workers,
        "open": len(pending) - left,
        "left": left,
        "answers": sum(map(len, latest.values())),
        "agreement": _agreement(work, latest, {row[0]: row[1] for row in rows}),
        "seconds": median([float(row[5]) - float(row[3]) for row in finished]) if finished else None,
        "bonuses": paid,
        "cost": round(len(finished) * work.batch.reward + paid * work.batch.bonus, 2),
        "workers": _workers(work, rows, latest, earned),
    }


def _latest(work: Work) -> dict[str, dict[int, Any]]:
    """Return the latest value of each place of each assignment, by its number."""
    latest: dict[str, dict[int, Any]] = {}
    for assignment, place, value in work.store.read("SELECT assignment, place, value FROM answers ORDER BY number"):
        latest.setdefault(assignment, {})[int(place)] = json.loads(value)
    return latest


def _points(work: Work, hit: str, given: dict[int, Any]) -> int:
    items = work.hits[hit].items
    return sum(is_right(items[place], value) for place, value in given.items() if place < len(items))


def _agreement(work: Work, latest: dict[str, dict[int, Any]], hits: dict[str, str]) -> dict[str, Any] | None:
    """Return how far people agree, of judgements on each candidate; None before two have answered the same."""
    if work.batch.kind == "labelling":
        table = label_table(work.store, work.batch)
        counts = count_answers(table) if table.task else np.zeros((0, 1), np.int64)
    else:
        sums: dict[tuple[str, int, int], list[int]] = {}
        for assignment, given in latest.items():
            for place, ratings in given.items() if assignment in hits else ():
                for choice, rating in enumerate(ratings):
                    row = sums.setdefault((hits[assignment], place, choice), [0] * len(RATINGS))
                    row[RATINGS.index(rating)] += 1
        counts = np.array(list(sums.values()), np.int64).reshape(-1, len(RATINGS))
    if not (counts.sum(axis=1) >= 2).any():
        return None
    kappa = fleiss_kappa(counts)
    return {
        "tasks": int((counts.sum(axis=1) >= 2).sum()),
        "pairwise_agreement": round(pairwise_agreement(counts), 4),
        "fleiss_kappa": None if np.isnan(kappa) else round(kappa, 4),
    }


def _workers(
    work: Work, rows: list[tuple[Any, ...]], latest: dict[str, dict[int, Any]], earned: dict[str, int]
) -> list[dict[str, Any]]:
    """Return a row for each worker, the busiest first."""
    of: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        of.setdefault(row[2], []).append(row)
    table = []
    for worker, own in of.items():
        answered = [(work.hits[row[1]].items, latest.get(row[0], {})) for row in own]
        spent = [float(row[5]) - float(row[3]) for row in own if row[5] is not None]
        table.append(
            {
                "worker": work.store.alias(worker),
                "hits": len(spent),
                "answers": sum(len(given) for _, given in answered),
                "points": sum(earned[row[0]] for row in own),
                "of": sum(items[place].kind in ("quiz", "bonus") for items, given in answered for place in given),
                "seconds": median(spent) if spent else None,
                "seen": max(float(row[4]) for row in own),
            }
        )
    return sorted(table, key=lambda row: (-row["answers"], row["worker"]))
