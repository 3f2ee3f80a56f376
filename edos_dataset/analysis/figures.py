"""The figures of a report as plain data: of one dataset, and of a comparison of two."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.analysis.batch import NONE, split_order
from edos_dataset.analysis.counts import BINS, FLOW_TURNS, PLACES, Counts
from edos_dataset.analysis.divergence import (
    SMOOTHING,
    chi_squared,
    divergence_intervals,
    js_divergence,
    kl_divergence,
    lift,
    share_intervals,
    shares,
)
from edos_dataset.analysis.label_system import KINDS, LabelSystem, common, in_labels_of
from edos_dataset.analysis.words import marking_words
from edos_dataset.arrays import Doubles, Ints
from edos_dataset.labels import NEUTRAL


def compare(one: Counts, own: LabelSystem, other: Counts, theirs: LabelSystem) -> dict[str, Any]:
    """Compare the labels of a dataset with those of a reference.

    Args:
        one: Counts of the dataset.
        own: Its label set.
        other: Counts of the reference.
        theirs: Its label set.

    Returns:
        `labels_of`: label set of the comparison; `left_out`: for both, the fraction of turns whose label has no
        equivalent in it; `all`, `without_neutral` and `first_turn`: divergences in nats, and the χ² test. Only
        `why_not` if they cannot be compared.
    """
    system = common(own, theirs)
    if system is None:
        return {"why_not": f"the labels are {own.name}'s and {theirs.name}'s, and neither are those of EDOS"}
    both = ((one, own), (other, theirs))
    if not all(counts.of_label.sum() for counts, _ in both):
        return {"why_not": "one of the two has no labels"}
    turns = [in_labels_of(counts.of_label, its, system) for counts, its in both]
    if not all(each.sum() for each in turns):
        return {"why_not": f"no label of {own.name} says anything in those of {theirs.name}"}
    blocks, first = ([in_labels_of(counts.blocks[which], its, system) for counts, its in both] for which in (0, 1))
    kinds = np.array(system.kinds)
    return {
        "labels_of": system.name,
        "names": list(system.names),
        "kinds": list(system.kinds),
        "smoothing": SMOOTHING,
        "shares": [[round(value, 6) for value in shares(each).tolist()] for each in turns],
        "of_kind": [_shares_of_kinds(each, kinds) for each in turns],
        "left_out": [
            round(1 - float(each.sum() / counts.of_label.sum()), 4)
            for each, (counts, _) in zip(turns, both, strict=True)
        ],
        "all": _divergences(*blocks),
        "without_neutral": _divergences(*(each[:, kinds != NEUTRAL] for each in blocks)),
        "first_turn": _divergences(*first),
    }


def _shares_of_kinds(turns: Doubles, kinds: npt.NDArray[np.str_]) -> dict[str, float]:
    return {kind: round(float(shares(turns)[kinds == kind].sum()), 6) for kind in KINDS}


def _divergences(blocks: Doubles, reference_blocks: Doubles) -> dict[str, Any] | None:
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


SURPRISING, LEAST_PAIRS, LEAST_RESIDUAL = 40, 10, 3.0
"""Pairs of labels that are shown: their largest number, smallest count, and smallest number of standard deviations
above chance."""
_FILMS, _TURNS_OF_FILM, _LEAST_ABOVE = 20, 100, 5


def data_figures(counts: Counts, labels: LabelSystem) -> dict[str, Any]:
    """Return all figures of one dataset; fractions and confidences are 0 to 1, divergences in nats."""
    return {
        "labels": {"of": labels.name, "names": list(labels.names), "kinds": list(labels.kinds)},
        "sizes": _sizes(counts),
        "lengths": {
            "turns_of_dialogue": counts.turns_of_dialogue.tolist(),
            "tokens_of_turn": counts.tokens_of_turn.tolist(),
            "tokens_of_dialogue": counts.tokens_of_dialogue.tolist(),
        },
        **_labels(counts, labels),
        "places": {"last_stands_for": f"{PLACES} and later", "turns": counts.places.tolist()},
        "last_turns": counts.last_turns.tolist(),
        "transitions": counts.transitions.tolist(),
        "surprising": surprising(counts.transitions, labels.names),
        "flow": _flow(counts.flows),
        "confidence": _confidence(counts),
        "certainty": counts.certainty.tolist() if counts.certainty.any() else None,
        "boundaries": counts.boundaries.tolist() if counts.boundaries.any() else None,
        "reliability": _reliability(counts.reliability),
        "years": [
            {"year": None if year == NONE else year, "dialogues": dialogues, "turns": row.tolist()}
            for year, (dialogues, row) in sorted(counts.films.years.items())
        ],
        "films": _films(counts),
        "words": _words(counts, labels.names),
    }


def surprising(transitions: npt.ArrayLike, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the pairs of labels that follow each other most beyond chance, by descending lift.

    Args:
        transitions: [labels, labels].
        names: Names of the labels.

    Returns:
        For each pair `before`, `after`, `count`, `expected`, `lift` and `residual` (in standard deviations).
    """
    table = np.asarray(transitions, np.int64)
    ratio, residual = lift(table)
    wanted = np.flatnonzero((table >= LEAST_PAIRS) & (residual >= LEAST_RESIDUAL))
    order = sorted(wanted.tolist(), key=lambda place: (-ratio.flat[place], place))[:SURPRISING]
    return [
        {
            "before": names[place // len(names)],
            "after": names[place % len(names)],
            "count": int(table.flat[place]),
            "expected": round(float(table.flat[place] / ratio.flat[place]), 2),
            "lift": round(float(ratio.flat[place]), 3),
            "residual": round(float(residual.flat[place]), 2),
        }
        for place in order
    ]


def _sizes(counts: Counts) -> dict[str, Any]:
    dialogues, turns, tokens = (sum(each.values()) for each in (counts.dialogues, counts.turns, counts.tokens))
    return {
        "dialogues": dialogues,
        "turns": turns,
        "tokens": tokens,
        "films": counts.films.number() or None,
        "films_estimated": counts.films.left,
        "turns_a_dialogue": _ratio(turns, dialogues),
        "tokens_a_dialogue": _ratio(tokens, dialogues),
        "tokens_a_turn": _ratio(tokens, turns),
        "splits": {
            split: {"dialogues": counts.dialogues[split], "turns": counts.turns[split], "tokens": counts.tokens[split]}
            for split in sorted(counts.dialogues, key=split_order)
        },
    }


def _labels(counts: Counts, labels: LabelSystem) -> dict[str, Any]:
    turns, total = counts.of_label, int(counts.of_label.sum())
    intervals = share_intervals(counts.blocks[0])
    of_kind = {kind: int(turns[[one == kind for one in labels.kinds]].sum()) for kind in KINDS}
    return {
        "label_turns": [
            {
                "label": name,
                "kind": kind,
                "turns": int(turns[place]),
                "share": _ratio(int(turns[place]), total, 6),
                "interval": intervals[place],
                "dialogues": int(counts.places[0, place]),
                "confidence": _ratio(counts.confidence_sums[place], counts.confidence[place].sum()),
            }
            for place, (name, kind) in enumerate(zip(labels.names, labels.kinds, strict=True))
        ],
        "kinds": {**of_kind, "without a label": int(counts.places[:, -1].sum())},
    }


def _flow(flows: Ints) -> dict[str, Any]:
    """Return links [step, before, after, dialogues], of all dialogues and by the label of the first turn."""
    return {
        "turns": FLOW_TURNS,
        "all": _links(flows.sum(axis=0)),
        "by_first": [_links(flow) for flow in flows],
    }


def _links(flow: Ints) -> list[list[int]]:
    return [[*place, int(flow[tuple(place)])] for place in np.argwhere(flow).tolist()]


def _confidence(counts: Counts) -> dict[str, Any] | None:
    turns = int(counts.confidence.sum())
    if not turns:
        return None
    return {
        "bins": BINS,
        "turns": counts.confidence.sum(axis=0).tolist(),
        "mean": _ratio(counts.confidence_sums.sum(), turns),
        "by_label": counts.confidence.tolist(),
    }


def _reliability(sums: npt.NDArray[np.float64]) -> dict[str, Any] | None:
    turns = sums[:, 0].sum()
    if not turns:
        return None
    return {
        "turns": int(turns),
        "accuracy": _ratio(sums[:, 2].sum(), turns),
        "expected_calibration_error": round(float(np.abs(sums[:, 1] - sums[:, 2]).sum() / turns), 4),
        "bins": [
            {"turns": int(number), "confidence": _ratio(sure, number), "accuracy": _ratio(right, number)}
            for number, sure, right in sums.tolist()
        ],
    }


def _films(counts: Counts) -> dict[str, Any] | None:
    films = counts.films.films
    if not films:
        return None
    of_all, sizes = counts.of_label, sorted(film.dialogues for film in films.values())
    enough = [(name, film) for name, film in films.items() if film.labels.sum() >= _TURNS_OF_FILM]
    rows: list[dict[str, Any]] = [
        {
            "film": name,
            "dialogues": film.dialogues,
            "turns": int(film.labels.sum()),
            "kl": round(kl_divergence(film.labels, of_all), 4),
            "most": _above(film.labels, of_all),
        }
        for name, film in enough
    ]
    rows.sort(key=lambda row: (-row["kl"], row["film"]))
    return {
        "drawn": len(films),
        "dialogues_a_film": {
            name: sizes[min(len(sizes) - 1, int(share * len(sizes)))]
            for name, share in (("least", 0), ("median", 0.5), ("ninth of ten", 0.9), ("most", 1))
        },
        "least_turns": _TURNS_OF_FILM,
        "unlike_all": rows[:_FILMS],
    }


def _above(turns: Ints, of_all: Ints) -> list[int]:
    """Return up to three labels whose fraction of some turns exceeds that of all turns most, in descending order;
    labels with fewer than `_LEAST_ABOVE` turns are ignored.
    """
    ratio = turns / of_all.clip(min=1)
    wanted = (turns >= _LEAST_ABOVE) & (ratio > turns.sum() / of_all.sum())
    return [label for label in np.argsort(-ratio, kind="stable").tolist() if wanted[label]][:3]


def _words(counts: Counts, names: Sequence[str]) -> dict[str, Any]:
    words = list(counts.words.index)
    order = sorted(range(len(words)), key=words.__getitem__)
    found = marking_words([words[place] for place in order], counts.words.counts[np.array(order, np.int64)])
    return {
        "dialogues": counts.words_of,
        "by_label": {name: [list(word) for word in row] for name, row in zip(names, found, strict=False) if row},
    }


def _ratio(part: float, whole: float, digits: int = 4) -> float | None:
    return round(float(part) / float(whole), digits) if whole else None
