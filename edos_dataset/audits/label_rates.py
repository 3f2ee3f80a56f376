"""Readers' judgements of labels, and the fractions of labels that are right."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.audits.judgements import GROUPS, HINT, agreement_of, of_dialogues, read_judgements
from edos_dataset.audits.label_page import DRAWS, RANDOM
from edos_dataset.labels import LABELS
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.untrusted import shown

VERDICTS = ("right", "wrong", "unsure")
_MOST_ROWS = 1 << 53
_NO_DIGEST = ""  # files of earlier versions do not say which text was judged


@dataclass(frozen=True)
class _Judgement:
    """A reader's verdict on a label; `rows` counts the turns with the label in that step, `step` is number and method,
    `item` names the turn and its text, `own` is the reader's label or None.
    """

    reader: str
    item: tuple[str, str, str]
    step: str
    label: str
    draw: str
    verdict: str
    rows: int
    own: str | None
    groups: Mapping[str, str]


def label_rates(paths: Sequence[Path], by: str = "source") -> dict[str, Any]:
    """Return the error rates of labels that the judgements of pages show.

    Only the random examples count. They are weighted by the number of turns with their label, so a rare label counts
    little; labels without a judgement are left out. A turn judged by several readers counts once, with the fraction of
    them that found it wrong. An interval is Wilson's (1927), with Kish's (1965) effective number of judgements for
    unequal weights. "unsure" is counted, but as neither right nor wrong. The worst examples are counted apart: their
    errors show where to set a threshold, not how many labels are wrong.

    Args:
        paths: JSON files from the page's button "download judgements", one per reader and page. A reader without a
            name is named after the file.
        by: one of GROUPS, to break the figures down.

    Returns:
        `steps` ("1 spread" → figures), `labels` (label → figures), `groups` and `readers` (name → figures), `by`, and
        `overall`. The figures: `judged` (random examples judged right or wrong), `wrong`, `unsure` (both of
        judgements), `error_rate` and `right` (0 to 1; None if nothing is judged), `interval` and `right_interval`
        (95 %, [low, high], or None), `worst` (`judged`, `wrong`, `unsure`). `confusion`, label → the reader's own
        label → judgements of random examples, the label itself for right ones. `agreement`, how far readers agree on
        "wrong", see `judgements.agreement_of`.

    Raises:
        ValueError: a file holds no judgements of labels, a reader judged the same turn in two of them, or `by` is
            unknown.
    """
    if by not in GROUPS:
        raise ValueError(f"by is {by!r}, expected one of {', '.join(GROUPS)}")
    judgements = _all_judgements(paths)
    steps = _by(judgements, lambda one: one.step)
    numbers = sorted(steps, key=lambda step: (int(step.split()[0]) if step.split()[0].isdigit() else -1, step))
    return {
        "steps": {step: _figures(steps[step]) for step in numbers},
        "labels": _figures_by(judgements, lambda one: one.label),
        "readers": _figures_by(judgements, lambda one: one.reader),
        "by": by,
        "groups": _figures_by(judgements, lambda one: one.groups[by]),
        "overall": _figures(judgements),
        "confusion": _confusion(judgements),
        "agreement": _agreement(judgements),
    }


def _all_judgements(paths: Sequence[Path]) -> list[_Judgement]:
    found: list[_Judgement] = []
    seen: dict[tuple[str, tuple[str, str, str]], Path] = {}
    for path in paths:
        for one in _read(path):
            before = seen.setdefault((one.reader, one.item), path)
            if before != path:
                raise ValueError(
                    f"{path}: reader {shown(one.reader)} judges {shown(one.item[1])}, as in {before}: leave out one of "
                    "the files, or name each reader on the page"
                )
            found.append(one)
    return found


def _read(path: Path) -> list[_Judgement]:
    raw = read_judgements(path)
    if of_dialogues(raw):
        raise ValueError(f"{path} judges dialogues, not labels: give it in another call")
    named = raw.get("labels")
    labels = named if isinstance(named, list) and all(isinstance(name, str) for name in named) else LABELS
    known, reader, config = frozenset(labels), str(raw.get("reader") or path.stem), str(raw.get("config"))
    return [
        _judgement(entry, f"{path}, judgement {number} (from 1)", labels, known, reader, config)
        for number, entry in enumerate(raw["judgements"], 1)
    ]


def _judgement(
    entry: Any,  # noqa: ANN401 - what a file holds
    where: str,
    labels: Sequence[str],
    known: frozenset[str],
    reader: str,
    config: str,
) -> _Judgement:
    try:
        step = f"{int(entry['step'])} {entry['method']}" if entry.get("step") is not None else str(entry["method"])
        item = (step, str(entry.get("item", entry.get("dialogue_id"))), str(entry.get("digest", _NO_DIGEST)))
        groups = {name: str(entry.get(name)) for name in GROUPS if name != "config"} | {"config": config}
        judgement = _Judgement(
            reader,
            item,
            step,
            entry["label"],
            entry["draw"],
            entry["verdict"],
            int(entry["rows"]),
            entry.get("own"),
            groups,
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{where}: {shown(error)}, expected step, method, label, draw, verdict and rows: {HINT}"
        ) from error
    for name, value, allowed in (
        ("verdict", judgement.verdict, VERDICTS),
        ("draw", judgement.draw, DRAWS),
    ):
        if value not in allowed:
            raise ValueError(f"{where}: {name} is {shown(value)}, expected one of {', '.join(allowed)}")
    for name, given in (("label", judgement.label), ("own", judgement.own)):
        if not (isinstance(given, str) and given in known) and not (name == "own" and given is None):
            raise ValueError(f"{where}: {name} is {shown(given)}, expected one of {', '.join(labels)}")
    if not 1 <= judgement.rows <= _MOST_ROWS:
        raise ValueError(
            f"{where}: rows is {shown(judgement.rows)}, expected the number of turns with this label, from 1 to "
            f"{_MOST_ROWS:,}"
        )
    return judgement


def _by(judgements: Sequence[_Judgement], group_of: Callable[[_Judgement], str]) -> dict[str, list[_Judgement]]:
    groups: dict[str, list[_Judgement]] = {}
    for one in judgements:
        groups.setdefault(group_of(one), []).append(one)
    return groups


def _figures_by(judgements: Sequence[_Judgement], group_of: Callable[[_Judgement], str]) -> dict[str, Any]:
    groups = _by(judgements, group_of)
    return {name: _figures(groups[name]) for name in sorted(groups)}


def _figures(judgements: Sequence[_Judgement]) -> dict[str, Any]:
    random, worst = ([each for each in judgements if each.draw == draw] for draw in DRAWS)
    return {**_tally(random), **_error_rate(random), "worst": _tally(worst)}


def _error_rate(judgements: Sequence[_Judgement]) -> dict[str, Any]:
    """Return the error rate over all rows; the turns judged of a step and label represent all its rows."""
    items: dict[tuple[object, ...], list[_Judgement]] = {}
    for number, each in enumerate(judgements):
        if each.verdict != "unsure":
            name = each.item if each.item[2] != _NO_DIGEST else (number,)
            items.setdefault((name, each.label), []).append(each)
    if not items:
        return {"error_rate": None, "interval": None, "right": None, "right_interval": None}
    groups = Counter((own[0].step, own[0].label) for own in items.values())
    weights = np.array([own[0].rows / groups[own[0].step, own[0].label] for own in items.values()])
    wrong = np.array([sum(each.verdict == "wrong" for each in own) / len(own) for own in items.values()])
    rate = float((weights * wrong).sum() / weights.sum())
    low, high = wilson(rate, float(weights.sum() ** 2 / (weights**2).sum()))
    return {
        "error_rate": round(rate, 4),
        "interval": [low, high],
        "right": round(1 - rate, 4),
        "right_interval": [round(1 - high, 4), round(1 - low, 4)],
    }


def _tally(judgements: Sequence[_Judgement]) -> dict[str, int]:
    verdicts = [each.verdict for each in judgements]
    return {
        "judged": verdicts.count("right") + verdicts.count("wrong"),
        "wrong": verdicts.count("wrong"),
        "unsure": verdicts.count("unsure"),
    }


def _confusion(judgements: Sequence[_Judgement]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for one in judgements:
        own = one.label if one.verdict == "right" else one.own if one.verdict == "wrong" else None
        if one.draw == RANDOM and own is not None:
            counts.setdefault(one.label, Counter())[own] += 1
    return {label: dict(counts[label].most_common()) for label in sorted(counts)}


def _agreement(judgements: Sequence[_Judgement]) -> dict[str, Any] | None:
    items: dict[tuple[str, str, str], dict[str, Mapping[str, bool]]] = {}
    for one in judgements:
        if one.verdict != "unsure" and one.item[2] != _NO_DIGEST:
            items.setdefault(one.item, {})[one.reader] = {"wrong": one.verdict == "wrong"}
    return agreement_of(list(items.values()))
