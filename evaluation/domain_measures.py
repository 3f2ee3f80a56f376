"""What a labeler's probabilities are worth on a set of judged turns."""

from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.labels import GROUPS, LABEL_IDS, LABELS, NEUTRAL
from edos_dataset.metrics.calibration import Array, confidence_error, reliability
from edos_dataset.metrics.label_sets import (
    fitting_classes,
    group_probabilities,
    macro_f1,
    nested,
    risk_coverage,
    set_hits,
    set_intervals,
    set_scores,
    shared_confusion,
    weighted_f1,
    without,
)
from evaluation.domain_sets import INTENT_IDS, HeldOut

TOP = 3
SURE = 0.8
"""Confidence from which an answer is called sure."""


def describe(held: HeldOut) -> dict[str, Any]:
    """Return what a set is, and what naming its largest class always would reach."""
    largest = int(held.right.sum(axis=0).argmax())
    table = _single_scores(np.full(len(held.right), largest), held.right)
    return {
        "told": held.told,
        "examples": len(held.right),
        "with_several_right": int((held.right.sum(axis=1) > 1).sum()),
        "dialogues": 1 if len(held.dialogues) == 1 else len(np.unique(held.clusters)),
        "unreadable": dict(held.unreadable),
        "intents_count": held.intents,
        "labels_of_several_classes": _counted(held.sets),
        "largest_class": held.classes[largest],
        "largest_class_accuracy": _rounded(held.right[:, largest].mean()),
        "largest_class_weighted_f1": _rounded(weighted_f1(table["f1"], table["support"])),
        "classes": {
            name: {"examples": int(number), "ours": [LABELS[label] for label in np.flatnonzero(ours)]}
            for name, number, ours in zip(held.classes, held.right.sum(axis=0), held.sets, strict=True)
        },
    }


def _counted(sets: Bools) -> str | None:
    """Return what a label of several classes counts; None where there is none."""
    if not (sets.sum(axis=0) > 1).any():
        return None
    return "is taken for the right one" if nested(sets) else "counts in full for each"


def measure(held: HeldOut, probabilities: Floats) -> dict[str, Any]:
    """Return the figures of a labeler.

    Args:
        held: the set.
        probabilities: [n, 41], of its judged turns.

    Returns:
        `accuracy`: the class that is the answer is right; `accuracy_but_neutral`: of those whose class is never
        neutral; `label_accuracy`: the most probable label stands for a right class, whichever else it stands for;
        `top_3_accuracy`: one of the three does; `weighted_f1`, `macro_f1`: of the classes, over the examples with one
        right class; `ece`, `reliability`, `risk_coverage`, `sure`: of the confidence, the probability of the most
        probable label, as to `label_accuracy`; `intents_first`: the share of turns for which an intent came first,
        where intents were left out; `intervals`; `by_class`, `by_label`, `confusion`. None where there is nothing.
    """
    answers = probabilities.astype(np.float64) if held.intents else without(probabilities, INTENT_IDS)
    predicted = _predicted(answers, held)
    ranked = np.argsort(-answers, axis=1, kind="stable")
    allowed = held.right @ held.sets
    confidence, fits = answers.max(axis=1), set_hits(ranked, allowed)
    hits = {
        "accuracy": set_hits(predicted, held.right),
        "label_accuracy": fits,
        f"top_{TOP}_accuracy": set_hits(ranked, allowed, TOP),
    }
    some = ~held.right[:, held.sets[:, LABEL_IDS[NEUTRAL]]].any(axis=1)
    table = _single_scores(predicted, held.right)
    first = np.isin(probabilities.argmax(axis=1), INTENT_IDS)
    figures: dict[str, float | None] = {name: _rounded(each.mean()) for name, each in hits.items()}
    figures |= {
        "accuracy_but_neutral": _share(hits["accuracy"][some]),
        "weighted_f1": _rounded(weighted_f1(table["f1"], table["support"])),
        "macro_f1": _rounded(macro_f1(table["f1"])),
        "ece": _rounded(confidence_error(confidence, fits)),
        "intents_first": None if held.intents else _rounded(first.mean()),
    }
    return {
        **figures,
        "sure": {"from": SURE, "answers": int((confidence >= SURE).sum()), "right": _share(fits[confidence >= SURE])},
        "intervals": set_intervals(predicted, held.right, hits, (confidence, fits), held.clusters),
        "risk_coverage": [_rounded(share) for share in risk_coverage(confidence, fits)],
        "reliability": [[_rounded(value) for value in line] for line in zip(*_bins(confidence, fits), strict=True)],
        "by_class": _by_class(held, predicted),
        "by_label": _by_label(ranked[:, 0], fits),
        "confusion": _confusion(held, predicted),
    }


def _predicted(answers: Array, held: HeldOut) -> Ints:
    """Return the class that is the answer, [n]."""
    if nested(held.sets):
        return fitting_classes(answers, held.sets, held.right)
    return np.asarray(group_probabilities(answers, held.sets).argmax(axis=1))


def _single_scores(predicted: Ints, right: Bools) -> dict[str, Array]:
    """Return the scores of the examples with one right class."""
    single = right.sum(axis=1) == 1
    return set_scores(predicted[single], right[single])


def _bins(confidence: Array, fits: Bools) -> tuple[Array, Array, Array]:
    """Return of the bins with examples how many, their mean confidence and the share that is right."""
    sizes, sums, hits = reliability(confidence, fits)
    there = sizes > 0
    return sizes[there], sums[there] / sizes[there], hits[there] / sizes[there]


def _by_class(held: HeldOut, predicted: Ints) -> dict[str, dict[str, Any]]:
    table = set_scores(predicted, held.right)
    return {
        name: {key: _rounded(table[key][number]) for key in ("f1", "precision", "recall")}
        | {"support": int(table["support"][number])}
        for number, name in enumerate(held.classes)
    }


def _by_label(said: Ints, fits: Bools) -> dict[str, dict[str, Any]]:
    """Return how often each of our labels was the answer, the most frequent first, and how often it was right."""
    count = np.bincount(said, minlength=len(LABELS))
    return {
        LABELS[label]: {"said": int(count[label]), "right": _share(fits[said == label])}
        for label in np.argsort(-count, kind="stable")
        if count[label]
    }


def _confusion(held: HeldOut, predicted: Ints) -> dict[str, Any]:
    """Return the names and the confusion of the classes; of our labels, of their groups of kin."""
    counts = shared_confusion(predicted, held.right)
    names = held.classes
    if names == LABELS:
        fold = np.array([[label in group for label in LABELS] for group in GROUPS.values()], np.float64)
        counts, names = fold @ counts @ fold.T, tuple(GROUPS)
    return {"classes": list(names), "counts": [[_rounded(value) for value in row] for row in counts]}


def _share(marks: Bools) -> float | None:
    return _rounded(marks.mean()) if len(marks) else None


def _rounded(value: Any) -> float | None:  # noqa: ANN401 - a number of any type
    return None if np.isnan(value) else round(float(value), 4)
