"""Agreement of annotators: Fleiss' kappa, Krippendorff's alpha and raw agreement, overall and per label, with
intervals.

Throughout, `counts` is int64 [tasks, categories]: the number of answers per task and category. Tasks may have different
numbers of answers; those with fewer than two are left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import Outside, count_answers, tally, winners
from edos_dataset.crowd.answers import Answers, repeated_texts
from edos_dataset.crowd.names import MISSING
from edos_dataset.label_sets import LabelSet
from edos_dataset.metrics.classification import Array
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled

MEASURES = ("agreed_share", "pairwise_agreement", "fleiss_kappa", "krippendorff_alpha")


def fleiss_kappa(counts: Ints) -> float:
    """Return Fleiss' kappa (Fleiss, 1971), at most 1; 0 is chance agreement, NaN means that only one category was
    used.

    If tasks have different numbers of answers, observed agreement is the mean over tasks of the fraction of agreeing
    pairs, and category frequencies are those of all answers. With equal numbers this is Fleiss' own formula.

    Raises:
        ValueError: no task has two answers.
    """
    return float(_measures(_sums(counts))["fleiss_kappa"][0])


def krippendorff_alpha(counts: Ints) -> float:
    """Return Krippendorff's alpha for nominal data (Krippendorff, 2011), at most 1; NaN if only one category was
    used. Raises as `fleiss_kappa` does.
    """
    return float(_measures(_sums(counts))["krippendorff_alpha"][0])


def pairwise_agreement(counts: Ints) -> float:
    """Return the fraction of answer pairs that agree, from 0 to 1, as a mean over tasks. Raises as `fleiss_kappa`
    does.
    """
    return float(_measures(_sums(counts))["pairwise_agreement"][0])


def _sums(counts: Ints) -> Array:
    sums: Array = _columns(counts).sum(axis=0, keepdims=True)
    return sums


def _columns(counts: Ints) -> Array:
    """Return each task's terms of the measures, [tasks with two answers or more, 3 + categories].

    The columns: 1; the fraction of its pairs that agree; twice its disagreeing pairs, each weighted by
    1 / (answers - 1); its answers in each category.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise ValueError("no task has two answers, so there is no agreement to measure")
    total = counts.sum(axis=1)
    same = (counts**2).sum(axis=1)
    shares = (same - total) / (total * (total - 1))
    return np.column_stack([np.ones(len(counts)), shares, (total**2 - same) / (total - 1), counts])


def _measures(sums: Array) -> dict[str, Array]:
    """Return the measures computed from summed columns, each [rows]."""
    tasks, agreeing, disagreeing, answers = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    total = answers.sum(axis=1)
    same = (answers**2).sum(axis=1)
    observed, by_chance = agreeing / tasks, same / total**2
    expected = total**2 - same  # twice the number of differing pairs among all answers
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(expected > 0, (observed - by_chance) / (1 - by_chance), np.nan)
        alpha = np.where(expected > 0, 1 - (total - 1) * disagreeing / expected, np.nan)
    return {"pairwise_agreement": observed, "fleiss_kappa": kappa, "krippendorff_alpha": alpha}


def _label_columns(counts: Ints, size: int) -> Array:
    """Return each task's terms of each label's measures, [tasks, 3 + 3 * size]; the first categories are labels.

    The task's answers come first. Then, for each label against all others: the fraction of pairs that agree; the
    answers that give it; how many of these a second person confirms, on average.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    total, own = counts.sum(axis=1)[:, None], counts[:, :size]
    rest = total - own
    shares = (own * (own - 1) + rest * (rest - 1)) / (total * (total - 1))
    return np.hstack([np.ones_like(total), total, shares, own, own * (own - 1) / (total - 1)])


def _label_measures(sums: Array) -> dict[str, Array]:
    """Return each label's kappa and agreement, [rows, labels]; NaN if nobody gave it."""
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
    """Return what `edos crowd agreement --json` prints.

    Figures have 4 digits; intervals are 95 % percentile intervals of a bootstrap over tasks.

    Args:
        answers: the table.
        outside: how to treat an answer outside the label set, as in `categorise`. "own", a category for each text,
            gives the authors' 0.457 for their whole file.
        resamples: bootstrap samples.
        seed: seed of the bootstrap.

    Returns:
        `rows` (tasks) and `rows_measured` (with two answers or more), `answers`, `agreed` (tasks where one category has
        strictly the most answers, at least two) and `agreed_share`, `pairwise_agreement`, `fleiss_kappa`,
        `krippendorff_alpha`, each except the counts with its `..._interval`;
        `per_label`: label → `answers`, `agreed`, `agreement` (how often a second person gives it too), `fleiss_kappa`
            (the label against all others), with intervals;
        `outside`: answers outside the label set, with counts; `mapped`: typed answers read as a label of another name;
        `repeated_texts`; `stated`, if the file itself names agreed labels; `left_out`; `rule`; `label_set`,
        the name of the set.
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
        "per_label": _per_label(counts, won, resamples, seed, answers.label_set),
        "outside": dict(
            Counter(read.text for read in map(answers.read, answers.given) if read.way == "outside").most_common()
        ),
        "mapped": _mapped(answers),
        "repeated_texts": repeated_texts(answers, won),
        **({"stated": _stated(answers)} if answers.stated else {}),
        "left_out": answers.left_out,
        "rule": {"outside": outside, "resamples": resamples, "seed": seed},
        "label_set": answers.label_set.name,
    }


def measure_counts(counts: Ints, groups: npt.NDArray[Any], resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """Return `pairwise_agreement`, `fleiss_kappa` and `krippendorff_alpha` for any categories.

    Each has its 95 % percentile interval of a bootstrap over groups of tasks; an undefined value is None.

    Args:
        counts: int64 [tasks, categories].
        groups: [tasks] the group of each task; for example, the candidates of a dialogue form one.
        resamples: bootstrap samples.
        seed: seed of the bootstrap.

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


def _per_label(counts: Ints, won: Ints, resamples: int, seed: int, labels: LabelSet) -> dict[str, dict[str, Any]]:
    columns = _label_columns(counts, len(labels)).astype(np.float64)
    drawn = resampled(columns, np.arange(len(columns)), resamples, seed)
    measured, spread = _label_measures(columns.sum(axis=0, keepdims=True)), _label_measures(drawn)
    table = {}
    for label, name in enumerate(labels.labels):
        row: dict[str, Any] = {"answers": int(counts[:, label].sum()), "agreed": int((won == label).sum())}
        for key in measured:
            row |= {key: _rounded(measured[key][0, label]), f"{key}_interval": interval(spread[key][:, label])}
        table[name] = row
    return table


def label_agreement(counts: Ints, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return, for each label that was given, `answers`, `agreement` (how often a second person gives it too) and
    `fleiss_kappa` (the label against all others), without intervals; {} if no task has two answers.

    Args:
        counts: int64 [tasks, categories], of which the first are the labels.
        names: names of the labels.
    """
    if not (counts.sum(axis=1) >= 2).any():
        return {}
    columns = _label_columns(counts, len(names)).astype(np.float64)
    measured = _label_measures(columns.sum(axis=0, keepdims=True))
    given = counts[:, : len(names)].sum(axis=0).tolist()
    return {
        name: {"answers": number, **{key: _rounded(values[0, place]) for key, values in measured.items()}}
        for place, (name, number) in enumerate(zip(names, given, strict=True))
        if number
    }


def _mapped(answers: Answers) -> dict[str, dict[str, Any]]:
    reads = Counter(read for read in map(answers.read, answers.given) if read.way in ("form", "spelling"))
    return {
        read.text: {"label": answers.label_set.labels[read.label], "by": read.way, "answers": count}
        for read, count in reads.most_common()
    }


def _stated(answers: Answers) -> dict[str, int]:
    """Compare the file's own agreed labels with the majority of the answers, verbatim and normalised."""
    as_given = _majorities(answers, answers.given)
    normalised = _majorities(answers, [_key(answers, given) for given in answers.given])
    stated = [answer if answers.read(answer).text else "" for answer in answers.stated]
    return {
        "agreed": sum(map(bool, stated)),
        "other_than_majority_as_given": sum(mine != theirs for mine, theirs in zip(as_given, stated, strict=True)),
        "other_than_majority_normalised": sum(
            mine != _key(answers, theirs) for mine, theirs in zip(normalised, stated, strict=True)
        ),
    }


def _key(answers: Answers, answer: str) -> str:
    read = answers.read(answer)
    return read.text if read.label == MISSING else answers.label_set.labels[read.label]


def _majorities(answers: Answers, texts: Sequence[str]) -> list[str]:
    """Return the majority text of each task, given one text per answer; "" where there is none."""
    numbers: dict[str, int] = {}
    categories = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    names = [*numbers, ""]  # MISSING (-1) indexes the last
    return [names[winner] for winner in winners(tally(answers, categories, len(numbers))).tolist()]


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
