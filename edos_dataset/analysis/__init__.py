"""Statistics of labelled dialogues: counts from one pass over the data, figures computed from them, and the report.

The figures are plain functions of counts and can be used without a report:

>>> from edos_dataset import analysis
>>> round(analysis.kl_divergence([3, 1], [2, 2]), 4)
0.1308
"""

from edos_dataset.analysis.divergence import (
    chi_squared,
    divergence_intervals,
    js_divergence,
    kl_divergence,
    lift,
    share_intervals,
    shares,
)
from edos_dataset.analysis.words import marking_words

__all__ = [
    "chi_squared",
    "divergence_intervals",
    "js_divergence",
    "kl_divergence",
    "lift",
    "marking_words",
    "share_intervals",
    "shares",
]
