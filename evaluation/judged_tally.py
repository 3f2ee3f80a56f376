"""What a judge's verdicts say of each model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools
from edos_dataset.labels import EMOTIONS, GROUPS, INTENTS, LABELS, NEUTRAL, parse_label
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.text import shown
from evaluation.judged_records import KINDS, YES, Judged

BANDS = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Where the bands of confidence begin; the last ends at 1."""

_PARTS = {"emotions": EMOTIONS, "intents": INTENTS, NEUTRAL: (NEUTRAL,)}
_GROUP_OF = {label: group for group, labels in GROUPS.items() for label in labels}


def with_verdicts(records: Sequence[Judged], paths: Sequence[Path]) -> list[Judged]:
    """Return the turns of a sheet with what the judge wrote, in the order of the sheet.

    Args:
        records: as drawn.
        paths: files of lines "NUMBER OWN | LABEL VERDICT | ..."; blank ones and those that begin with # say nothing.

    Raises:
        ValueError: a line is of another form, or a turn is judged twice or not at all; the message names it.
    """
    drawn, judged = {record.number: record for record in records}, dict[int, Judged]()
    for path in paths:
        for at, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                record = _with_verdict(drawn, line)
                if record.number in judged:
                    raise ValueError(f"turn {record.number} is judged already")
            except ValueError as error:
                raise ValueError(f"{path}, line {at}: {error}") from error
            judged[record.number] = record
    if missing := sorted(drawn.keys() - judged.keys()):
        raise ValueError(f"{len(missing)} turns are not judged, such as {missing[0]}: each needs a line")
    return [judged[number] for number in drawn]


def _with_verdict(drawn: dict[int, Judged], line: str) -> Judged:
    """Return the turn that a line judges."""
    fields = [field.split() for field in line.split("|")]
    if any(len(field) != 2 for field in fields) or not fields[0][0].isdecimal():
        raise ValueError(f"expected NUMBER OWN | LABEL VERDICT | ..., got {shown(line)}")
    (number, own), *given = fields
    if int(number) not in drawn:
        raise ValueError(f"the sheet has no turn {number}")
    record, verdicts = drawn[int(number)], {label: verdict for label, verdict in given}
    if verdicts.keys() != record.candidates.keys() or len(given) != len(verdicts):
        raise ValueError(f"turn {number} has the candidates {', '.join(record.candidates)}; give each a verdict, once")
    if strange := [verdict for verdict in verdicts.values() if verdict not in (YES, *KINDS)]:
        raise ValueError(f"turn {number}: {strange[0]!r} is no verdict; there are {', '.join((YES, *KINDS))}")
    own = LABELS[parse_label(own)]
    if verdicts.get(own, YES) != YES:
        raise ValueError(f"turn {number}: {own!r} is the judge's own label, and wrong: {verdicts[own]!r}")
    return replace(record, own=own, candidates={label: verdicts[label] for label in record.candidates})


def tally(records: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures of all models.

    Returns:
        `turns`, `dialogues`; `own`, the share of each label among the judge's; `models`, by name. Of a model, shares
        with 95 % intervals (bootstrap over dialogues): `acceptable`, of all turns and of those that it gave `emotions`,
        `intents` and `neutral`, of each of the `pools`, of the `sure` ones (confidence from 0.8) and of the bands of
        `confidence`; `as_own`, its label is the judge's; `of_own_group`, of the turns of each group of the judge's
        labels, its label is of that group. And `errors` by kind, and the `labels` that it gave.
    """
    models = list(records[0].answers)
    return {
        "turns": len(records),
        "dialogues": len({record.dialogue_id for record in records}),
        "own": _shares([record.own for record in records]),
        "models": {model: _figures(records, model) for model in models},
    }


def _figures(records: Sequence[Judged], model: str) -> dict[str, Any]:
    dialogues = np.array([record.dialogue_id for record in records])
    answers = [record.answers[model] for record in records]
    verdicts = [record.candidates[answer.label] for record, answer in zip(records, answers, strict=True)]
    labels, own = np.array([answer.label for answer in answers]), np.array([record.own for record in records])
    pools, sure = np.array([record.pool for record in records]), np.array([answer.confidence for answer in answers])
    fits = np.array(verdicts) == YES
    groups, theirs = (np.array([_GROUP_OF[label] for label in each]) for each in (labels.tolist(), own.tolist()))

    def share(right: Bools, of: Bools) -> dict[str, Any]:
        columns = np.stack([right, np.ones(len(right))], axis=1)[of]
        if not len(columns):
            return {"turns": 0, "share": None, "interval": [None, None]}
        sums = resampled(columns, dialogues[of])
        return {
            "turns": len(columns),
            "share": round(float(columns[:, 0].mean()), 4),
            "interval": interval(sums[:, 0] / sums[:, 1]),
        }

    everywhere = np.ones(len(records), bool)
    bands = [(sure >= low) & (sure < high) for low, high in zip(BANDS, (*BANDS[1:], 2.0), strict=True)]
    return {
        "acceptable": share(fits, everywhere),
        **{part: share(fits, np.isin(labels, names)) for part, names in _PARTS.items()},
        "sure": {"from": BANDS[-1], **share(fits, sure >= BANDS[-1])},
        "confidence": [
            {"from": low, "mean": round(float(sure[band].mean()), 4) if band.any() else None, **share(fits, band)}
            for low, band in zip(BANDS, bands, strict=True)
        ],
        "errors": dict(Counter(verdict for verdict in verdicts if verdict != YES).most_common()),
        "as_own": share(labels == own, everywhere),
        "of_own_group": {group: share(groups == group, theirs == group) for group in GROUPS if (theirs == group).any()},
        "pools": {pool: share(fits, pools == pool) for pool in sorted(set(pools.tolist()))},
        "labels": _shares(labels.tolist()),
    }


def _shares(labels: Sequence[str]) -> dict[str, float]:
    """Return the share of each label, the most frequent first, of equal ones the first by name."""
    counts = sorted(Counter(labels).items(), key=lambda each: (-each[1], each[0]))
    return {label: round(count / len(labels), 4) for label, count in counts}
