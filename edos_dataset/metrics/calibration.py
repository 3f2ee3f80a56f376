"""Whether probabilities are what they say: bins of confidence, the expected calibration error, temperature scaling.

`probabilities` are [n, classes] rows that sum to 1, `logits` [n, classes] numbers whose softmax they are, up to the
temperature; the logarithms of probabilities are logits. `labels` are int64 [n] label ids.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Values = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]

BINS = 15
"""Bins of confidence, as in Guo et al. (2017)."""

TEMPERATURES = (0.02, 50.0)
"""Range of `fit_temperature`."""


def softmax(logits: Values, temperature: float = 1.0) -> Array:
    """Return the probabilities of logits divided by a temperature above 0, float64 [n, classes]."""
    scaled = logits.astype(np.float64) / temperature
    exponentials: Array = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    exponentials /= exponentials.sum(axis=1, keepdims=True)
    return exponentials


def reliability(confidence: Values, right: npt.NDArray[np.bool_], bins: int = BINS) -> tuple[Array, Array, Array]:
    """Sort examples into equally wide bins of confidence, the upper edge excluded except 1.

    Args:
        confidence: [n], 0 to 1.
        right: [n].
        bins: how many.

    Returns:
        For every bin, [bins]: examples, the sum of their confidence, and how many are right.
    """
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    sizes, sums, hits = (
        np.bincount(bin_of, weights=each, minlength=bins).astype(np.float64)
        for each in (np.ones(len(right)), confidence, right)
    )
    return sizes, sums, hits


def calibration_error(probabilities: Values, labels: Ints, bins: int = BINS) -> float:
    """Return the mean distance between confidence and accuracy over bins of confidence, weighted by their sizes (ECE;
    Guo et al., 2017, Section 2).
    """
    return confidence_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == labels, bins)


def confidence_error(confidence: Values, right: npt.NDArray[np.bool_], bins: int = BINS) -> float:
    """Return what `calibration_error` is, of any answers: how sure each is, [n], and whether right, [n]."""
    _, sums, hits = reliability(confidence, right, bins)
    return float(np.abs(sums - hits).sum() / len(right))


def fit_temperature(logits: Values, labels: Ints) -> float:
    """Return the temperature of the lowest cross-entropy (Guo et al., 2017, Section 4.2), 0.02 to 50.

    The cross-entropy is convex in 1 / temperature, so the sign of its slope tells on which side the minimum lies.

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
    """Refuse logits that are not finite numbers [n, classes], and labels that are not as many ids.

    Raises:
        ValueError: the message says what is wrong, and of which example.
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
