"""A figure out of a value for each response, in the form of dialog-eval."""

from typing import TypedDict

import numpy as np

from edos_dataset.arrays import Doubles

Z = 1.97
"""Half the width of a 95 % interval, in standard errors, as dialog-eval has it; the normal distribution's is 1.96."""


class Figure(TypedDict):
    """A measure of a set of responses.

    Attributes:
        mean: over the responses that it could be measured on; None where there are none.
        std: population standard deviation; 0 for a single value.
        confidence: mean ± this is the 95 % interval.
        n: how many values there are; 1 for what is measured on the set as a whole.
    """

    mean: float | None
    std: float | None
    confidence: float | None
    n: int


def summarise(values: Doubles | float) -> Figure:
    """Return the figure of values, [responses], of which NaN is none; or of a single one."""
    there = np.atleast_1d(np.asarray(values, dtype=np.float64))
    there = there[~np.isnan(there)]
    if not len(there):
        return {"mean": None, "std": None, "confidence": None, "n": 0}
    std = float(there.std())
    return {"mean": float(there.mean()), "std": std, "confidence": Z * std / len(there) ** 0.5, "n": len(there)}
