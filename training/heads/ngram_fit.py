"""Softmax regression on n-grams, for the fast labeler: which n-grams, their damped counts, the fit, the rounding."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.ngrams import Codes, Places, count_ngrams, damping, ngrams
from edos_dataset.labeling.models.static import StaticLabeler
from edos_dataset.metrics.calibration import softmax
from training.examples import report

_REPORT = 20  # steps between two lines
_CURVATURE = 0.1  # of the cross-entropy in one logit: p (1 - p), about


def soften(probabilities: Floats, temperature: float) -> Floats:
    """Return probabilities at a temperature."""
    return softmax(np.log(np.maximum(probabilities, 1e-9)), temperature).astype(np.float32)


def choose_keys(texts: Sequence[str], least: int, most: int, kinds: Sequence[str]) -> Codes:
    """Return the codes of the n-grams of some kinds that stand in at least `least` texts, the `most` most frequent of
    them (of equals the lower codes), rising.
    """
    seen = []
    for codes, offsets in ngrams(texts, kinds=kinds):
        rows = np.repeat(np.arange(len(texts), dtype=np.uint64), np.diff(offsets))
        seen.append(np.unique(codes.astype(np.uint64) << np.uint64(32) | rows) >> np.uint64(32))
    codes, counts = np.unique(np.concatenate(seen), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return np.sort(codes[order[counts[order] >= least]]).astype(np.uint32)


def bags_of(texts: Sequence[str], keys: Codes, power: float, kinds: Sequence[str]) -> csr_array:
    """Return the damped counts of n-grams of some kinds, float32 [texts, keys]."""
    bags = count_ngrams(texts, Places(keys), kinds=kinds)
    return csr_array(sum(bags[1:], bags[0]).multiply(damping(bags, power)[:, None]), dtype=np.float32)


def fit(bags: csr_array, targets: Floats, l2: float, iterations: int) -> tuple[Floats, Floats]:
    """Fit softmax regression to targets whose rows sum to the weights of the examples; L-BFGS from zero. Return table
    [n-grams, 41] and bias [41].

    The loss is the cross-entropy, divided by the sum of the weights, plus l2 / 2 times the sum of the squared table;
    the bias is free. The steps are taken in units of a guess at each row's curvature: else the few frequent n-grams set
    the pace, and the rare ones, which tell most, hardly move in 100 steps.
    """
    size, labels = bags.shape[1], targets.shape[1]
    weights = targets.sum(axis=1, keepdims=True)
    total, transposed = float(weights.sum()), csr_array(bags.T)
    curvature = _CURVATURE * np.asarray(bags.multiply(bags).mean(axis=0)).ravel() + l2
    units = (1 / np.sqrt(np.r_[curvature, 1])).astype(np.float32)[:, None]
    done = itertools.count(1)

    def loss(point: Any) -> tuple[float, Any]:  # noqa: ANN401 - scipy has no types
        table, bias = np.split(point.astype(np.float32).reshape(size + 1, labels) * units, [size])
        logits = bags @ table + bias
        logits -= logits.max(axis=1, keepdims=True)
        probabilities = np.exp(logits)
        sums = probabilities.sum(axis=1, keepdims=True)
        value = float((targets * (np.log(sums) - logits)).sum(dtype=np.float64)) / total + l2 / 2 * float(
            np.square(table, dtype=np.float64).sum()
        )
        slope = (probabilities / sums * weights - targets) / np.float32(total)
        gradient = np.vstack([transposed @ slope + np.float32(l2) * table, slope.sum(axis=0, keepdims=True)])
        if (number := next(done)) % _REPORT == 0:
            report(f"  {number} steps, loss {value:.4f}")
        return value, (gradient * units).ravel().astype(np.float64)

    start = np.zeros((size + 1) * labels)
    minimum = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 8, "ftol": 1e-7, "gtol": 1e-7},
    )
    table, bias = np.split(minimum.x.astype(np.float32).reshape(size + 1, labels) * units, [size])
    return table, bias[0]


def rounded(keys: Codes, table: Floats, bias: Floats, power: float, kinds: Sequence[str]) -> StaticLabeler:
    """Return the labeler whose table has 8 bits a number, each row with a scale of its own."""
    scale = np.maximum(np.abs(table).max(axis=1), 1e-12) / 127
    narrow = np.rint(table / scale[:, None]).astype(np.int8)
    return StaticLabeler(keys, narrow, scale.astype(np.float32), bias, power, kinds=tuple(kinds))
