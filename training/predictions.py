"""Evaluation of a classifier of the 41 labels: the content of its `metrics.json`, with confidence intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import (
    BINS,
    TOP,
    Array,
    Ints,
    Values,
    calibration_error,
    check,
    confusion,
    cross_entropy,
    in_top,
    per_label,
    rates,
    scores,
    softmax,
)
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled


def bootstrap(
    probabilities: Values,
    labels: Ints,
    groups: npt.NDArray[Any] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, list[float | None]]:
    """Return 95 % intervals (see `interval`) of `accuracy`, `macro_f1`, `top_3_accuracy` and `ece`, from the same
    resamples.

    Args:
        probabilities: [n, classes].
        labels: [n].
        groups: [n], resampled together, such as the film of a dialogue; by default every example is a group.
        resamples: number of resamples.
        seed: seed of the resampling.
    """
    classes, predicted, confidence = probabilities.shape[1], probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = predicted == labels
    bin_of = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    identity = np.eye(classes)
    parts = [
        np.ones((len(labels), 1)),
        in_top(probabilities, labels, TOP)[:, None],
        np.eye(BINS)[bin_of] * (confidence - right)[:, None],
        identity[labels] * right[:, None],
        identity[labels],
        identity[predicted],
    ]
    drawn = resampled(np.hstack(parts), np.arange(len(labels)) if groups is None else groups, resamples, seed)
    size, top, gaps, hits, support, of_predicted = np.split(
        drawn, np.cumsum([part.shape[1] for part in parts])[:-1], axis=1
    )
    values = {
        "accuracy": hits.sum(axis=1) / size[:, 0],
        "macro_f1": np.nanmean(rates(hits, support, of_predicted)["f1"], axis=1) if len(drawn) > 1 else drawn[:, 0],
        "top_3_accuracy": top[:, 0] / size[:, 0],
        "ece": np.abs(gaps).sum(axis=1) / size[:, 0],
    }
    return {name: interval(each) for name, each in values.items()}


def evaluate_predictions(
    logits: Values,
    labels: Ints,
    temperature: float = 1.0,
    groups: Sequence[Any] | npt.NDArray[Any] | None = None,
    seed: int = 0,
    names: Sequence[str] = LABELS,
) -> dict[str, Any]:
    """Return the content of a `metrics.json`, rounded to 4 digits.

    Args:
        logits: [n, labels] before the temperature.
        labels: [n].
        temperature: divisor of the logits, above 0, fitted on other data.
        groups: [n], see `bootstrap`.
        seed: seed of the intervals.
        names: names of the labels.

    Returns:
        `examples`, `temperature`, the `scores`, `majority_class_accuracy`, `cross_entropy_before_temperature`,
        `ece_before_temperature`, `ece`, `intervals` (see `bootstrap`), `resampling` (how they were computed),
        `by_label` (label → precision, recall, f1, support; null if undefined).

    Raises:
        ValueError: there are no examples, lengths differ, an id is out of range, or a logit is not finite.
    """
    check(logits, labels, len(names))
    if groups is not None and len(groups) != len(labels):
        raise ValueError(f"there are {len(groups)} groups for {len(labels)} labels: give one for each")
    before, probabilities = softmax(logits), softmax(logits, temperature)
    counts = confusion(labels, probabilities.argmax(axis=1), len(names))
    drawn = None if groups is None else np.asarray(groups)
    measures = {
        **scores(probabilities, labels),
        "majority_class_accuracy": float(counts.sum(axis=1).max() / len(labels)),
        "cross_entropy_before_temperature": cross_entropy(before, labels),
        "ece_before_temperature": calibration_error(before, labels),
        "ece": calibration_error(probabilities, labels),
    }
    table = per_label(counts)
    return {
        "examples": len(labels),
        "temperature": round(float(temperature), 4),
        **{name: round(value, 4) for name, value in measures.items()},
        "intervals": bootstrap(probabilities, labels, drawn, seed=seed),
        "resampling": _resampling(len(labels), drawn, seed),
        "by_label": {label: _row(table, row) for row, label in enumerate(names)},
    }


def evaluate_own(
    logits: Values, labels: Ints, temperature: float, groups: npt.NDArray[Any] | None, names: Sequence[str]
) -> dict[str, Any]:
    """Return what `evaluate_predictions` does, and `weighted_f1` (the mean F1, weighted by true examples),
    `majority_class_macro_f1` (of always naming the most frequent label), and `confusion` (true label → predicted one →
    examples).
    """
    counts = confusion(labels, logits.argmax(axis=1), len(names))
    support = counts.sum(axis=1)
    majority = np.zeros_like(counts)
    majority[:, support.argmax()] = support
    measures = {
        "weighted_f1": float(np.nansum(per_label(counts)["f1"] * support) / support.sum()),
        "majority_class_macro_f1": float(np.nanmean(per_label(majority)["f1"])),
    }
    predicted = {
        names[row]: {names[column]: int(counts[row, column]) for column in np.flatnonzero(counts[row]).tolist()}
        for row in np.flatnonzero(support).tolist()
    }
    figures = evaluate_predictions(logits, labels, temperature, groups, names=names)
    return figures | {name: round(value, 4) for name, value in measures.items()} | {"confusion": predicted}


def evaluate_several(
    logits: Values, targets: Values, groups: npt.NDArray[Any] | None, names: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """Return the content of a `metrics.json` of a model that gives a turn several labels, those of a probability of
    0.5 or more; rounded to 4 digits.

    Args:
        logits: [n, labels].
        targets: [n, labels], 1 for each label that an example has.
        groups: [n], see `bootstrap`.
        names: of the labels.
        seed: of the intervals.

    Returns:
        `examples`, `threshold`, `accuracy` (all labels right), `macro_f1`, `micro_f1`, `weighted_f1`,
        `macro_precision`, `macro_recall`, `cross_entropy` (binary, nats, mean over the labels),
        `majority_class_accuracy`, `majority_class_macro_f1` and `majority_class_micro_f1` (of always naming the most
        frequent label), `intervals`, `resampling`, `by_label`.

    Raises:
        ValueError: there are no examples.
    """
    if not len(logits):
        raise ValueError("there are no examples to evaluate")
    true, predicted = targets > 0.5, logits >= 0
    majority = np.zeros_like(true)
    majority[:, true.sum(axis=0).argmax()] = True
    drawn = np.arange(len(true)) if groups is None else groups
    columns = [(true & predicted), true, predicted, (true == predicted).all(axis=1)[:, None], np.ones((len(true), 1))]
    sums = resampled(np.hstack([part.astype(np.float64) for part in columns]), drawn, RESAMPLES, seed)
    measured = _of_several(np.hstack(columns).sum(axis=0, dtype=np.float64)[None])
    of_majority = np.hstack([(true & majority), true, majority, *columns[3:]]).sum(axis=0, dtype=np.float64)[None]
    baseline = {name: _of_several(of_majority)[name] for name in ("macro_f1", "micro_f1")}
    baseline["accuracy"] = (true == majority).all(axis=1).mean(keepdims=True)
    table = rates(*(part.sum(axis=0).astype(np.float64) for part in columns[:3]))
    loss = float((np.logaddexp(0, logits) - true * logits).mean())
    return {
        "examples": len(true),
        "threshold": 0.5,
        **{name: round(float(value[0]), 4) for name, value in measured.items()},
        "cross_entropy": round(loss, 4),
        **{f"majority_class_{name}": round(float(value[0]), 4) for name, value in baseline.items()},
        "intervals": {name: interval(_of_several(sums)[name]) for name in ("accuracy", "macro_f1", "micro_f1")},
        "resampling": _resampling(len(true), groups, seed),
        "by_label": {label: _row(table, row) for row, label in enumerate(names)},
    }


def _of_several(sums: Array) -> dict[str, Array]:
    """Return the figures of sums over examples [draws, 3 * labels + 2]: right, true and predicted by label, examples
    of which all is right, and all examples.
    """
    right, true, predicted = np.split(sums[:, :-2], 3, axis=1)
    by_label = rates(right, true, predicted)
    both = true.sum(axis=1) + predicted.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return {
            "accuracy": sums[:, -2] / sums[:, -1],
            **{f"macro_{name}": np.nanmean(by_label[name], axis=1) for name in ("f1", "precision", "recall")},
            "micro_f1": 2 * right.sum(axis=1) / np.maximum(both, 1),
            "weighted_f1": np.nansum(by_label["f1"] * true, axis=1) / np.maximum(true.sum(axis=1), 1),
        }


def _resampling(size: int, groups: npt.NDArray[Any] | None, seed: int) -> dict[str, Any]:
    number = size if groups is None else len(np.unique(groups))
    return {"level": 0.95, "resamples": RESAMPLES, "seed": seed, "groups": number}


def _row(table: dict[str, Array], row: int) -> dict[str, float | None]:
    rates = {
        name: None if np.isnan(table[name][row]) else round(float(table[name][row]), 4)
        for name in ("precision", "recall", "f1")
    }
    return {**rates, "support": int(table["support"][row])}
