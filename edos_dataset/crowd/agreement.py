"""How far people agree on labels: Fleiss' kappa, Krippendorff's alpha, raw agreement, each with an interval, over all
labels and for each.

Throughout, `counts` is int64 [tasks, categories]: how many answers a task has in a category. Tasks may have different
numbers of answers; those with fewer than two say nothing of agreement and are left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import Outside, count_answers, tally, winners
from edos_dataset.crowd.answer_table import Answers, repeated_texts
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.labels import LABELS
from edos_dataset.metrics.calibration import Array
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled

MEASURES = ("agreed_share", "pairwise_agreement", "fleiss_kappa", "krippendorff_alpha")


def fleiss_kappa(counts: Ints) -> float:
    """Return Fleiss' kappa (Fleiss, 1971), at most 1; 0 is the agreement of chance, and NaN comes where only one
    category was used.

    With different numbers of answers: the agreement is the mean over the tasks of the share of their pairs that agree,
    and a category's share is that of all answers together. With equal numbers this is Fleiss' own formula.

    Raises:
        ValueError: no task has two answers.
    """
    return float(_measures(_sums(counts))["fleiss_kappa"][0])


def krippendorff_alpha(counts: Ints) -> float:
    """Return Krippendorff's alpha for nominal data (Krippendorff, 2011), at most 1; NaN where only one category was
    used. Errors as of `fleiss_kappa`.
    """
    return float(_measures(_sums(counts))["krippendorff_alpha"][0])


def pairwise_agreement(counts: Ints) -> float:
    """Return the share of pairs of answers to a task that agree, 0 to 1, as a mean over the tasks. Errors as of
    `fleiss_kappa`.
    """
    return float(_measures(_sums(counts))["pairwise_agreement"][0])


def _sums(counts: Ints) -> Array:
    sums: Array = _columns(counts).sum(axis=0, keepdims=True)
    return sums


def _columns(counts: Ints) -> Array:
    """Return what each task adds to the measures, [tasks with two answers or more, 3 + categories].

    One; the share of its pairs that agree; its pairs that disagree, each weighed by 1 / (answers - 1), twice; its
    answers in each category.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise ValueError("no task has two answers, so there is no agreement to measure")
    total = counts.sum(axis=1)
    same = (counts**2).sum(axis=1)
    shares = (same - total) / (total * (total - 1))
    return np.column_stack([np.ones(len(counts)), shares, (total**2 - same) / (total - 1), counts])


def _measures(sums: Array) -> dict[str, Array]:
    """Return the measures of summed columns, each [rows]."""
    tasks, agreeing, disagreeing, answers = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    total = answers.sum(axis=1)
    same = (answers**2).sum(axis=1)
    observed, by_chance = agreeing / tasks, same / total**2
    expected = total**2 - same  # pairs of answers of all tasks that differ, twice
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(expected > 0, (observed - by_chance) / (1 - by_chance), np.nan)
        alpha = np.where(expected > 0, 1 - (total - 1) * disagreeing / expected, np.nan)
    return {"pairwise_agreement": observed, "fleiss_kappa": kappa, "krippendorff_alpha": alpha}


def _label_columns(counts: Ints) -> Array:
    """Return what each task adds to each label's measures, [tasks, 3 + 3 * 41], the answers of the task first.

    For a label against all others: the share of pairs that agree; the answers that give it; those of another person
    beside them, on average.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    total, own = counts.sum(axis=1)[:, None], counts[:, : len(LABELS)]
    rest = total - own
    shares = (own * (own - 1) + rest * (rest - 1)) / (total * (total - 1))
    return np.hstack([np.ones_like(total), total, shares, own, own * (own - 1) / (total - 1)])


def _label_measures(sums: Array) -> dict[str, Array]:
    """Return each label's kappa and agreement, [rows, 41]; NaN where nobody gave it."""
    tasks, total = sums[:, :1], sums[:, 1:2]
    agreeing, own, seconded = np.split(sums[:, 2:], 3, axis=1)
    share = own / total
    by_chance = share**2 + (1 - share) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        used = (own > 0) & (own < total)
        return {
            "fleiss_kappa": np.where(used, (agreeing / tasks - by_chance) / (1 - by_chance), np.nan),
            "agreement": np.where(own > 0, seconded / own, np.nan),
        }


def measure(answers: Answers, outside: Outside = "own", resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """Return what `edos crowd agreement --json` prints; figures have 4 digits, intervals are 95 % percentile intervals
    of the bootstrap over tasks.

    Args:
        answers: the table.
        outside: what an answer that is none of the 41 is for the measures, as in `categorise`. "own", a category for
            each text, is how the authors' 0.457 for their whole file comes about.
        resamples: draws of the bootstrap.
        seed: of the bootstrap.

    Returns:
        `rows` (tasks) and `rows_measured` (with two answers or more), `answers`, `agreed` (tasks with a category that
        has the most answers, alone, and at least two) and `agreed_share`, `pairwise_agreement`, `fleiss_kappa`,
        `krippendorff_alpha`, each but the counts with its `..._interval`;
        `per_label`: label → `answers`, `agreed`, `agreement` (how often another person says so too), `fleiss_kappa`
            (the label against all others), with
        intervals; `outside`: answers that are none of the 41, with counts; `mapped`: typed answers that were taken for
        a label, other than by its name; `repeated_texts`; `stated`, where the file names agreed labels itself;
        `left_out`; `rule`.
    """
    counts = count_answers(answers, outside)
    won = winners(counts)
    enough = counts.sum(axis=1) >= 2
    columns = np.column_stack([_columns(counts), won[enough] != MISSING])
    drawn = resampled(columns, np.arange(len(columns)), resamples, seed)
    measured, spread = _measures(columns.sum(axis=0, keepdims=True)[:, :-1]), _measures(drawn[:, :-1])
    measured["agreed_share"], spread["agreed_share"] = (
        (won != MISSING).mean(keepdims=True),
        drawn[:, -1] / drawn[:, 0] * enough.mean(),
    )
    report: dict[str, Any] = {
        "rows": len(answers.tasks),
        "rows_measured": int(enough.sum()),
        "answers": len(answers.task),
        "agreed": int((won != MISSING).sum()),
    }
    for name in MEASURES:
        report |= {name: _rounded(measured[name][0]), f"{name}_interval": interval(spread[name])}
    return report | {
        "per_label": _per_label(counts, won, resamples, seed),
        "outside": dict(
            Counter(read.text for read in map(read_answer, answers.given) if read.way == "outside").most_common()
        ),
        "mapped": _mapped(answers),
        "repeated_texts": repeated_texts(answers, won),
        **({"stated": _stated(answers)} if answers.stated else {}),
        "left_out": answers.left_out,
        "rule": {"outside": outside, "resamples": resamples, "seed": seed},
    }


def measure_counts(counts: Ints, groups: npt.NDArray[Any], resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """Return `pairwise_agreement`, `fleiss_kappa` and `krippendorff_alpha` of counts of any categories, each with its
    95 % percentile interval of the bootstrap over groups of tasks; None where it is not defined.

    Args:
        counts: as above.
        groups: [tasks], what belongs together, such as the candidates of a dialogue.
        resamples: draws of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: no task has two answers.
    """
    columns, kept = _columns(counts), groups[counts.sum(axis=1) >= 2]
    measured, spread = (
        _measures(columns.sum(axis=0, keepdims=True)),
        _measures(resampled(columns, kept, resamples, seed)),
    )
    report: dict[str, Any] = {}
    for name in MEASURES[1:]:
        report |= {name: _rounded(measured[name][0]), f"{name}_interval": interval(spread[name])}
    return report


def _per_label(counts: Ints, won: Ints, resamples: int, seed: int) -> dict[str, dict[str, Any]]:
    columns = _label_columns(counts).astype(np.float64)
    drawn = resampled(columns, np.arange(len(columns)), resamples, seed)
    measured, spread = _label_measures(columns.sum(axis=0, keepdims=True)), _label_measures(drawn)
    table = {}
    for label, name in enumerate(LABELS):
        row: dict[str, Any] = {"answers": int(counts[:, label].sum()), "agreed": int((won == label).sum())}
        for key in measured:
            row |= {key: _rounded(measured[key][0, label]), f"{key}_interval": interval(spread[key][:, label])}
        table[name] = row
    return table


def _mapped(answers: Answers) -> dict[str, dict[str, Any]]:
    reads = Counter(read for read in map(read_answer, answers.given) if read.way in ("form", "spelling"))
    return {
        read.text: {"label": LABELS[read.label], "by": read.way, "answers": count}
        for read, count in reads.most_common()
    }


def _stated(answers: Answers) -> dict[str, int]:
    """Compare the file's own agreed labels with the majority of the answers, both as they stand in the file and
    normalised.
    """
    as_given = _majorities(answers, answers.given)
    normalised = _majorities(answers, list(map(_key, answers.given)))
    stated = [answer if read_answer(answer).text else "" for answer in answers.stated]
    return {
        "agreed": sum(map(bool, stated)),
        "other_than_majority_as_given": sum(mine != theirs for mine, theirs in zip(as_given, stated, strict=True)),
        "other_than_majority_normalised": sum(
            mine != _key(theirs) for mine, theirs in zip(normalised, stated, strict=True)
        ),
    }


def _key(answer: str) -> str:
    read = read_answer(answer)
    return read.text if read.label == MISSING else LABELS[read.label]


def _majorities(answers: Answers, texts: Sequence[str]) -> list[str]:
    """Return the majority of each task's answers as these texts, one for each answer; "" where there is none."""
    numbers: dict[str, int] = {}
    categories = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    names = [*numbers, ""]  # MISSING is the last one
    return [names[winner] for winner in winners(tally(answers, categories, len(numbers))).tolist()]


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
