"""The error rates that reading dialogues shows, and how far readers agree."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.audits.errors import PAPER_READ, error_types
from edos_dataset.audits.judgements import GROUPS, Judgement, dialogue_judgements
from edos_dataset.crowd.agreement import fleiss_kappa, pairwise_agreement
from edos_dataset.metrics.resampling import wilson

ANY = "any error"

_Items = Mapping[tuple[str, str], Sequence[Judgement]]
_Test = Callable[[Judgement], bool]


def dialogue_rates(paths: Sequence[Path], by: str = "source") -> dict[str, Any]:
    """Return how many dialogues, or pairs, are without error, and how many have each error.

    An item that several readers judged counts once, with the share of them that found the error. Intervals are
    Wilson's (1927), 95 %, by the number of items.

    Args:
        paths: files of judgements, at least one.
        by: one of GROUPS, by which the shares without error are told apart.

    Returns:
        `kind`, `unit`, `items`; `readers`, name → items read and shares; `without_error` and `errors`, code → figures:
        `share` (0 to 1), `interval`, and for books `paper`, the share that the paper's authors found in theirs
        (Section 4), or None; `groups`, name → figures of those without error; `agreement`, None where no item has two
        readers, else `items` of two or more, `readers` of these, and `of`, error or ANY → `agreed` (share of the pairs
        of readers), `fleiss_kappa` and, of just two readers, `cohen_kappa`, each None where it is not defined.

    Raises:
        ValueError: as of `dialogue_judgements`, or `by` is none.
    """
    if by not in GROUPS:
        raise ValueError(f"by is {by!r}, expected one of {', '.join(GROUPS)}")
    kind, unit, judgements = dialogue_judgements(paths)
    types = error_types(kind, unit)
    items = _by_item(judgements)
    tests: dict[str, _Test] = {ANY: lambda one: bool(one.errors)}
    tests |= {one.code: lambda each, code=one.code: code in each.errors for one in types}  # type: ignore[misc]
    read, right = PAPER_READ[unit]
    paper = any(one.paper for one in types)
    groups = sorted({one.groups[by] for one in judgements})
    readers = sorted({one.reader for one in judgements})
    return {
        "kind": kind,
        "unit": unit,
        "items": len(items),
        "readers": {
            reader: _share({name: [one for one in own if one.reader == reader] for name, own in items.items()}, _fine)
            for reader in readers
        },
        "without_error": _share(items, _fine) | ({"paper": round(right / read, 4)} if paper else {}),
        "errors": {
            one.code: {"name": one.name, **_share(items, tests[one.code])}
            | ({"paper": round(one.paper[unit] / read, 4) if unit in one.paper else None} if paper else {})
            for one in types
        },
        "by": by,
        "groups": {
            group: _share({name: own for name, own in items.items() if own[0].groups[by] == group}, _fine)
            for group in groups
        },
        "agreement": _agreement(items, tests),
    }


def _fine(one: Judgement) -> bool:
    return not one.errors


def _by_item(judgements: Sequence[Judgement]) -> dict[tuple[str, str], list[Judgement]]:
    items: dict[tuple[str, str], list[Judgement]] = {}
    for one in judgements:
        items.setdefault((one.item, one.digest), []).append(one)
    return items


def _share(items: _Items, fits: _Test) -> dict[str, Any]:
    """Return how many items were read, the share that fits, and its interval."""
    shares = [float(np.mean([fits(one) for one in own])) for own in items.values() if own]
    share = float(np.mean(shares))
    return {"items": len(shares), "share": round(share, 4), "interval": wilson(share, len(shares))}


def _agreement(items: _Items, tests: Mapping[str, _Test]) -> dict[str, Any] | None:
    several = [own for own in items.values() if len(own) > 1]
    if not several:
        return None
    readers = sorted({one.reader for own in several for one in own})
    return {
        "items": len(several),
        "readers": readers,
        "of": {name: _kappas(several, test, readers) for name, test in tests.items()},
    }


def _kappas(several: Sequence[Sequence[Judgement]], test: _Test, readers: Sequence[str]) -> dict[str, float | None]:
    found = [[test(one) for one in sorted(own, key=lambda one: one.reader)] for own in several]
    counts = np.array([[len(own) - sum(own), sum(own)] for own in found])
    kappas = {"agreed": pairwise_agreement(counts), "fleiss_kappa": fleiss_kappa(counts)}
    if len(readers) == 2:
        kappas["cohen_kappa"] = _cohen(np.array(found))
    return {name: None if np.isnan(value) else round(value, 4) for name, value in kappas.items()}


def _cohen(found: np.ndarray) -> float:
    """Return Cohen's (1960) kappa of two readers, [items, 2]; NaN where both said the same of every item."""
    if len(np.unique(found)) < 2:
        return float("nan")
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(found[:, 0], found[:, 1]))
