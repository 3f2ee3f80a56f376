"""Two data sets beside each other: how far apart their labels are, and how surely."""

from typing import Any

import numpy as np

from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.divergence import (
    SMOOTHING,
    chi_squared,
    divergence_intervals,
    js_divergence,
    kl_divergence,
    shares,
)
from edos_dataset.analysis.label_system import KINDS, LabelSystem, common, in_labels_of
from edos_dataset.arrays import Doubles
from edos_dataset.labels import NEUTRAL


def compare(one: Counts, own: LabelSystem, other: Counts, theirs: LabelSystem) -> dict[str, Any]:
    """Return how the labels of a data set differ from those of another one, the reference.

    Args:
        one: what was counted of the data set.
        own: its labels.
        other: what was counted of the reference.
        theirs: its labels.

    Returns:
        `labels_of`: in whose labels they are compared; `left_out`: share of turns whose label says nothing in these,
        of the one and of the other; `all`, `without_neutral` and `first_turn`: divergences in nats, and the χ² test. Of
        what cannot be compared only `why_not`.
    """
    system = common(own, theirs)
    if system is None:
        return {"why_not": f"the labels are {own.name}'s and {theirs.name}'s, and neither are those of EDOS"}
    if not one.of_label.sum() or not other.of_label.sum():
        return {"why_not": "one of the two has no labels"}
    mine, reference = (in_labels_of(each.of_label, its, system) for each, its in ((one, own), (other, theirs)))
    if not mine.sum() or not reference.sum():
        return {"why_not": f"no label of {own.name} says anything in those of {theirs.name}"}
    both = ((one.blocks, own), (other.blocks, theirs))
    blocks, first = ([in_labels_of(each[which], its, system) for each, its in both] for which in (0, 1))
    kinds = np.array(system.kinds)
    return {
        "labels_of": system.name,
        "names": list(system.names),
        "kinds": list(system.kinds),
        "smoothing": SMOOTHING,
        "shares": [[round(value, 6) for value in shares(each).tolist()] for each in (mine, reference)],
        "of_kind": [
            {kind: round(float(shares(each)[kinds == kind].sum()), 6) for kind in KINDS} for each in (mine, reference)
        ],
        "left_out": [
            round(1 - float(counts.sum() / each.of_label.sum()), 4)
            for counts, each in ((mine, one), (reference, other))
        ],
        "all": _divergences(*blocks),
        "without_neutral": _divergences(*(each[:, kinds != NEUTRAL] for each in blocks)),
        "first_turn": _divergences(*first),
    }


def _divergences(blocks: Doubles, reference_blocks: Doubles) -> dict[str, Any] | None:
    """Return the divergences of counts of labels, given by block of what is drawn together, with their intervals."""
    mine, reference = blocks.sum(axis=0), reference_blocks.sum(axis=0)
    if not mine.sum() or not reference.sum():
        return None
    plain = kl_divergence(mine, reference)
    back = kl_divergence(reference, mine)
    test = chi_squared(mine, reference)
    return {
        "kl": round(kl_divergence(mine, reference, SMOOTHING), 4),
        "kl_unsmoothed": round(plain, 4) if np.isfinite(plain) else None,
        "kl_of_reference": round(kl_divergence(reference, mine, SMOOTHING), 4),
        "kl_of_reference_unsmoothed": round(back, 4) if np.isfinite(back) else None,
        "js": round(js_divergence(mine, reference), 4),
        "chi_squared": {**test._asdict(), "statistic": round(test.statistic, 1), "v": round(test.v, 4)},
        "intervals": divergence_intervals(blocks, reference_blocks),
    }
