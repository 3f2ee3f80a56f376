"""Human judgements of responses: fractions of good, okay and bad per model, agreement of annotators, and differences
between models (Xie & Pu, Section 5.4 and Table 6).
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.crowd.agreement import measure_counts
from edos_dataset.crowd.hit_answers import GRADES, HitAnswers, check_item, items_by_id
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.quality import QualityRules, discarded
from edos_dataset.metrics.resampling import RESAMPLES, Array, interval, resampled
from edos_dataset.wording import counted

TRUTH = "truth"
"""Name of the true response of bonus tasks among the models."""

ALL = "all"
"""Name of all test sets together."""

FLIPS = 10_000
"""Number of random sign assignments in a comparison of two models."""


@dataclass(frozen=True)
class Judgement:
    """One worker's grade for one model's response.

    Attributes:
        test_set: the dialogue's test set, "" if there is only one.
        dialogue: id of the dialogue.
        candidate: the response, by its position among the choices of its HIT.
        model: the model that gave it; a response given by several models counts for each.
        worker: who judged.
        grade: 0 for good, 1 okay, 2 bad.
    """

    test_set: str
    dialogue: str
    candidate: str
    model: str
    worker: str
    grade: int


def judgements(hits: Sequence[Hit], answers: HitAnswers, left_out: Iterable[tuple[str, str]] = ()) -> list[Judgement]:
    """Return all judgements of models' responses and of the true responses in bonus tasks.

    Args:
        hits: the HITs.
        answers: the answers to them.
        left_out: (HIT, worker) of assignments that do not count.

    Raises:
        ValueError: an answer belongs to no item of these HITs, or does not fit its form.
    """
    items, gone, found = items_by_id(hits), set(left_out), []
    for answer in answers.given:
        item = check_item(items, answer)
        if not isinstance(answer.value, tuple) or (answer.hit, answer.worker) in gone:
            continue
        for place, grade in enumerate(answer.value):
            models = list(item.facts["models"][place]) + [TRUTH] * (item.choices[place] == item.truth)
            for model in models:
                found.append(
                    Judgement(
                        str(item.facts.get("set", "")),
                        item.id,
                        f"{answer.hit} {item.id} {place}",
                        model,
                        answer.worker,
                        GRADES.index(grade),
                    )
                )
    return found


def measure_judgements(
    hits: Sequence[Hit], answers: HitAnswers, rules: QualityRules, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Return what `edos crowd judgements --json` prints.

    Fractions and measures have 4 digits; intervals are 95 % percentile intervals of a bootstrap over dialogues.

    Args:
        hits: the HITs of the judging task.
        answers: the answers to them.
        rules: quality rules that decide which assignments count.
        resamples: bootstrap samples.
        seed: seed of the bootstrap and of the test.

    Returns:
        `assignments`, `discarded` (reason → assignments), `workers`, `dialogues`, `judgements`; `sets`: test set →
        model → `judgements`, the fractions `good`, `okay`, `bad`, each with its interval, and `score` (good 1, okay
        0.5, bad 0); `agreement` on the three grades; `tests` between models, on all dialogues; `rules`.

    Raises:
        ValueError: nothing is left to measure, or an answer does not fit its item.
    """
    reasons = discarded(hits, answers, rules)
    found = judgements(hits, answers, reasons)
    if not found:
        raise ValueError(
            f"no judgement counts: {counted(len(answers.given), 'answers')}, of which the rules discard "
            f"{counted(len(reasons), 'assignments')}"
        )
    tables = {ALL: _table(found, resamples, seed)}
    if len(names := sorted({one.test_set for one in found})) > 1:
        tables = {
            name: _table([one for one in found if one.test_set == name], resamples, seed) for name in names
        } | tables
    kinds = [reason.partition(":")[0] for reason in reasons.values()]
    return {
        "assignments": len(answers.by_assignment()),
        "discarded": {reason: kinds.count(reason) for reason in sorted(set(kinds))},
        "workers": len({one.worker for one in found}),
        "dialogues": len({one.dialogue for one in found}),
        "judgements": len(found),
        "sets": tables,
        "agreement": _agreement(found, resamples, seed),
        "tests": compare(found, resamples, seed),
        "rules": asdict(rules),
    }


def _table(found: Sequence[Judgement], resamples: int, seed: int) -> dict[str, dict[str, Any]]:
    table = {}
    for model in sorted({one.model for one in found}, key=lambda name: (name == TRUTH, name)):
        own = [one for one in found if one.model == model]
        counts = np.eye(len(GRADES))[[one.grade for one in own]]
        drawn = resampled(counts, np.array([one.dialogue for one in own]), resamples, seed)
        shares, spread = counts.mean(axis=0), drawn / drawn.sum(axis=1, keepdims=True)
        row: dict[str, Any] = {"judgements": len(own), "dialogues": len({one.dialogue for one in own})}
        for place, grade in enumerate(GRADES):
            row |= {grade: round(float(shares[place]), 4), f"{grade}_interval": interval(spread[:, place])}
        points = np.array([1.0, 0.5, 0.0])
        table[model] = row | {
            "score": round(float(shares @ points), 4),
            "score_interval": interval(spread @ points),
        }
    return table


def _agreement(found: Sequence[Judgement], resamples: int, seed: int) -> dict[str, Any] | None:
    """Return the agreement on candidate responses, each counted once; None if no response was judged twice."""
    once = {(one.candidate, one.worker): one for one in found}.values()
    names = {candidate: row for row, candidate in enumerate(dict.fromkeys(one.candidate for one in once))}
    counts: Ints = np.zeros((len(names), len(GRADES)), dtype=np.int64)
    groups = np.empty(len(names), dtype=object)
    for one in once:
        counts[names[one.candidate], one.grade] += 1
        groups[names[one.candidate]] = one.dialogue
    if not (counts.sum(axis=1) >= 2).any():
        return None
    return {
        "responses": int((counts.sum(axis=1) >= 2).sum()),
        **measure_counts(counts, groups.astype(str), resamples, seed),
    }


def compare(found: Sequence[Judgement], resamples: int = RESAMPLES, seed: int = 0) -> list[dict[str, Any]]:
    """Compare each pair of models on the dialogues for which both were judged.

    The statistic is the mean over dialogues of the difference of the mean scores (good 1, okay 0.5, bad 0). p is that
    of a paired permutation test: the fraction of 10,000 random sign assignments to the dialogues' differences under
    which the mean is at least as far from 0; `p_holm` is corrected for the number of pairs (Holm, 1979).

    Returns:
        For each pair `first`, `second`, `dialogues`, `difference` (first - second), `difference_interval`, `p`,
        `p_holm`.
    """
    sums: dict[str, dict[str, list[float]]] = {}
    for one in found:
        if one.model != TRUTH:
            sums.setdefault(one.model, {}).setdefault(one.dialogue, []).append(1 - one.grade / 2)
    rows: list[dict[str, Any]] = []
    for first, second in combinations(sorted(sums), 2):
        shared = sorted(sums[first].keys() & sums[second].keys())
        if not shared:
            continue
        pairs = [(np.mean(sums[first][name]), np.mean(sums[second][name])) for name in shared]
        differences = np.array([one - other for one, other in pairs])
        drawn = resampled(differences[:, None], np.arange(len(shared)), resamples, seed) / len(shared)
        rows.append(
            {
                "first": first,
                "second": second,
                "dialogues": len(shared),
                "difference": round(float(differences.mean()), 4),
                "difference_interval": interval(drawn[:, 0]),
                "p": permutation_p(differences, seed),
            }
        )
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    return rows


def permutation_p(differences: Array, seed: int = 0) -> float:
    """Return the two-sided p of the paired permutation test, from 1 / 10,001 to 1, to 4 digits."""
    observed, generator, beyond = abs(differences.sum()) - 1e-9, np.random.default_rng(seed), 0
    for _ in range(FLIPS // 1000):  # in chunks, to bound memory
        signs = generator.integers(0, 2, (1000, len(differences)), dtype=np.int8) * 2 - 1
        beyond += int((np.abs(signs @ differences) >= observed).sum())
    return round((1 + beyond) / (1 + FLIPS), 4)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected for multiple tests by Holm's step-down method, in the order given."""
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        highest = max(highest, min(1.0, values[place] * (len(values) - rank)))
        corrected[place] = round(highest, 4)
    return corrected
