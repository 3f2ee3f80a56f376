"""Metrics of the accuracy and calibration of label classifiers.

Throughout, `labels` and `predicted` are int64 [n] label ids, `probabilities` are [n, classes] with rows that sum to 1,
and `logits` are [n, classes] numbers whose softmax at temperature 1 are the probabilities; logarithms of probabilities
are logits.
"""

import numpy as np
import numpy.typing as npt

from edos_dataset.labels import LABELS

Array = npt.NDArray[np.float64]
Values = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]

BINS = 15
"""Number of confidence bins, as in Guo et al. (2017)."""

TEMPERATURES = (0.02, 50.0)
"""Range searched by `fit_temperature`."""


def softmax(logits: Values, temperature: float = 1.0) -> Array:
    """Return the probabilities of logits divided by a temperature above 0, float64 [n, classes]."""
    scaled = logits.astype(np.float64) / temperature
    exponentials: Array = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    exponentials /= exponentials.sum(axis=1, keepdims=True)
    return exponentials


def reliability(confidence: Values, right: npt.NDArray[np.bool_], bins: int = BINS) -> tuple[Array, Array, Array]:
    """Sort examples into equally wide confidence bins, which exclude their upper edges except for 1.

    Args:
        confidence: [n], 0 to 1.
        right: [n], whether each answer is right.
        bins: number of bins.

    Returns:
        For every bin, [bins]: number of examples, sum of their confidence, number of right ones.
    """
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    sizes, sums, hits = (
        np.bincount(bin_of, weights=each, minlength=bins).astype(np.float64)
        for each in (np.ones(len(right)), confidence, right)
    )
    return sizes, sums, hits


def calibration_error(probabilities: Values, labels: Ints, bins: int = BINS) -> float:
    """Return the expected calibration error (Guo et al., 2017, Section 2): the mean distance between confidence and
    accuracy over confidence bins, weighted by their sizes.
    """
    return confidence_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == labels, bins)


def confidence_error(confidence: Values, right: npt.NDArray[np.bool_], bins: int = BINS) -> float:
    """Return the expected calibration error of answers with a confidence, [n], of which `right`, [n], are right."""
    _, sums, hits = reliability(confidence, right, bins)
    return float(np.abs(sums - hits).sum() / len(right))


def fit_temperature(logits: Values, labels: Ints) -> float:
    """Return the temperature with the lowest cross-entropy (Guo et al., 2017, Section 4.2), 0.02 to 50.

    Cross-entropy is convex in 1 / temperature, so bisection on the sign of its slope finds the minimum.

    Raises:
        ValueError: there are no examples, or a logit is not finite.
    """
    check(logits, labels, logits.shape[1])
    own = logits[np.arange(len(labels)), labels].mean(dtype=np.float64)
    low, high = np.log(TEMPERATURES)
    for _ in range(40):
        middle = (low + high) / 2
        expected = (softmax(logits, float(np.exp(middle))) * logits).sum(axis=1).mean()
        low, high = (low, middle) if expected <= own else (middle, high)
    return float(np.exp((low + high) / 2))


def check(logits: Values, labels: Ints, classes: int) -> None:
    """Check that logits are finite numbers, [n, classes], and labels are n ids.

    Raises:
        ValueError: they are not; the message names the example.
    """
    if logits.ndim != 2 or logits.shape != (len(labels), classes) or not len(labels):
        raise ValueError(
            f"expected logits [n, {classes}] and as many labels, at least one; got {list(logits.shape)} and "
            f"{len(labels)} labels"
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels are ids, whole numbers; got an array of {labels.dtype}")
    wrong = np.flatnonzero(~np.isfinite(logits).all(axis=1))
    if len(wrong):
        raise ValueError(
            f"a logit of example {wrong[0]} is not a finite number: "
            f"{logits[wrong[0]][~np.isfinite(logits[wrong[0]])][0]}"
        )
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise ValueError(f"label {labels[wrong[0]]} of example {wrong[0]} is not an id from 0 to {classes - 1}")


TOP = 3


def confusion(labels: Ints, predicted: Ints, classes: int = len(LABELS)) -> npt.NDArray[np.int64]:
    """Return the confusion matrix, int64 [classes, classes]: examples by true label (row) and predicted label (column).

    Raises:
        ValueError: the two differ in length, or an id is not from 0 to `classes` - 1.
    """
    if len(labels) != len(predicted):
        raise ValueError(f"there are {len(predicted)} predictions for {len(labels)} labels: give one for each")
    for name, ids in (("label", labels), ("prediction", predicted)):
        wrong = np.flatnonzero((ids < 0) | (ids >= classes))
        if len(wrong):
            raise ValueError(f"{name} {ids[wrong[0]]} of example {wrong[0]} is not an id from 0 to {classes - 1}")
    from sklearn.metrics import confusion_matrix  # takes a second to import

    if not len(labels):
        return np.zeros((classes, classes), np.int64)  # scikit-learn refuses empty input
    counts: npt.NDArray[np.int64] = confusion_matrix(labels, predicted, labels=range(classes))
    return counts


def per_label(counts: npt.NDArray[np.int64]) -> dict[str, Array]:
    """Return `precision`, `recall`, `f1` and `support` (true examples) of a confusion matrix, each [classes].

    Precision without predictions and recall without examples are 0; for a label that is neither true nor predicted all
    three are NaN.
    """
    return rates(
        counts.diagonal().astype(np.float64),
        counts.sum(axis=1).astype(np.float64),
        counts.sum(axis=0).astype(np.float64),
    )


def rates(right: Array, support: Array, predicted: Array) -> dict[str, Array]:
    """Return the values of `per_label` from counts [..., classes] of right, true and predicted examples."""
    absent = support + predicted == 0
    measures = {
        "precision": right / np.maximum(predicted, 1),
        "recall": right / np.maximum(support, 1),
        "f1": 2 * right / np.maximum(support + predicted, 1),
    }
    return {**{name: np.where(absent, np.nan, values) for name, values in measures.items()}, "support": support}


def confusion_scores(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return `accuracy`, `macro_precision`, `macro_recall` and `macro_f1` of a confusion matrix with at least one
    example.

    Macro figures are means over the labels that are true or predicted at least once, as in scikit-learn.
    """
    table = per_label(counts)
    means = {f"macro_{name}": float(np.nanmean(table[name])) for name in ("precision", "recall", "f1")}
    return {"accuracy": float(counts.trace() / counts.sum()), **means}


def scores(probabilities: Values, labels: Ints) -> dict[str, float]:
    """Return `confusion_scores` of the most probable labels, `top_3_accuracy` and `cross_entropy` (nats)."""
    counts = confusion(labels, probabilities.argmax(axis=1), probabilities.shape[1])
    return {
        **confusion_scores(counts),
        "top_3_accuracy": top_k_accuracy(probabilities, labels),
        "cross_entropy": cross_entropy(probabilities, labels),
    }


def top_k_accuracy(probabilities: Values, labels: Ints, k: int = TOP) -> float:
    """Return the fraction of examples whose label is among the k most probable.

    Ties go to the lower id, while scikit-learn's `top_k_accuracy_score` prefers the higher one.
    """
    return float(in_top(probabilities, labels, k).mean())


def in_top(probabilities: Values, labels: Ints, k: int) -> npt.NDArray[np.bool_]:
    """Return whether each example's label is among its k most probable, [n]."""
    own = probabilities[np.arange(len(labels)), labels][:, None]
    earlier = np.arange(probabilities.shape[1]) < labels[:, None]
    ahead = (probabilities > own) | ((probabilities == own) & earlier)
    inside: npt.NDArray[np.bool_] = ahead.sum(axis=1) < k
    return inside


def cross_entropy(probabilities: Values, labels: Ints) -> float:
    """Return the mean negative log-probability (nats) of the labels, with probabilities clipped at 1e-12 from below."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-12)).mean())
