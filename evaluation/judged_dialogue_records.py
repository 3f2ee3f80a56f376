"""Dialogues of films that a reader judged whole: where each is, what was found in it, and what that comes to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools
from edos_dataset.audits.errors import SUBTITLES, error_types
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.text import shown
from evaluation.judged_sheets import read_jsonl, take_verdicts

OK = "ok"
KINDS = {one.code: one.told for one in error_types(SUBTITLES)}
"""What may be wrong with a turn: the names that `edos audit` gives, too."""

BANDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Where the bands of certainty begin; the last ends at 1."""


@dataclass(frozen=True)
class Read:
    """A dialogue that was drawn, without its text.

    Attributes:
        number: on the sheet.
        pool: that it was drawn from.
        file: of its film, below the folder that the run read.
        dialogue_id: of the run.
        sentence_ids: of its turns, as `edos segment` numbers them.
        digests: of the turns' texts: the first 8 hex digits of each SHA-256.
        tokens: of all turns.
        certainty: how sure the program was that the dialogue is right, if it says so.
        errors: kind of KINDS → turns, from 1; None before it was read.
    """

    number: int
    pool: str
    file: str
    dialogue_id: str
    sentence_ids: list[list[int]]
    digests: list[str]
    tokens: int
    certainty: float | None = None
    errors: dict[str, list[int]] | None = None


def read_records(path: Path) -> list[Read]:
    """Read what `jsonl_of` wrote; see `read_jsonl`."""
    return read_jsonl(path, lambda row: Read(**row), "dialogue")


def with_verdicts(records: Sequence[Read], paths: Sequence[Path]) -> list[Read]:
    """Return the dialogues of a sheet with what the reader wrote (`take_verdicts`).

    Lines are "NUMBER ok" or "NUMBER KIND TURN ... | ...".
    """
    return take_verdicts(records, paths, _with_verdict, "dialogue")


def _with_verdict(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the dialogue that a line is about."""
    number, _, rest = line.strip().partition(" ")
    if not number.isdecimal() or not rest:
        raise ValueError(f"expected NUMBER ok, or NUMBER KIND TURN ... | ..., got {shown(line)}")
    if int(number) not in drawn:
        raise ValueError(f"the sheet has no dialogue {number}")
    record, errors = drawn[int(number)], dict[str, list[int]]()
    for each in [] if rest.strip() == OK else rest.split("|"):
        kind, *turns = each.split()
        if kind not in KINDS:
            raise ValueError(f"dialogue {number}: {kind!r} is no kind of error; there are {', '.join(KINDS)}")
        if not turns or any(not turn.isdecimal() or not 1 <= int(turn) <= len(record.digests) for turn in turns):
            raise ValueError(f"dialogue {number} has turns 1 to {len(record.digests)}, got {shown(each.strip())}")
        errors[kind] = sorted({*errors.get(kind, []), *map(int, turns)})
    return replace(record, errors=errors)


def tally(records: Sequence[Read]) -> dict[str, Any]:
    """Return the figures.

    Returns:
        `dialogues`, `turns`, `tokens`, `films`; shares of the dialogues, with 95 % intervals (bootstrap over films):
        `without_error`, that and `of_pools`, and `without` each kind; `turns_with` each kind, the share of the turns;
        `certainty`, where the program tells it, of each band the dialogues, their mean and the share without error.
    """
    films = np.array([record.file for record in records])
    turns = np.array([len(record.digests) for record in records])
    errors = [record.errors or {} for record in records]
    right, pools = np.array([not each for each in errors]), np.array([record.pool for record in records])
    sure = np.array([np.nan if record.certainty is None else record.certainty for record in records])

    def share(of: Bools, fits: Bools = right) -> dict[str, Any]:
        columns = np.stack([fits, np.ones(len(fits))], axis=1)[of]
        sums = resampled(columns, films[of])
        return {
            "dialogues": len(columns),
            "share": round(float(columns[:, 0].mean()), 4),
            "interval": interval(sums[:, 0] / sums[:, 1]),
        }

    all_of = np.ones(len(records), bool)
    bands = [(low, (sure >= low) & (sure < high)) for low, high in zip(BANDS, (*BANDS[1:], 2.0), strict=True)]
    return {
        "dialogues": len(records),
        "films": len(set(films.tolist())),
        "turns": int(turns.sum()),
        "turns_per_dialogue": round(float(turns.mean()), 2),
        "tokens_per_turn": round(sum(record.tokens for record in records) / float(turns.sum()), 2),
        "without_error": share(all_of),
        "of_pools": {pool: share(pools == pool) for pool in sorted(set(pools.tolist()))},
        "without": {kind: share(all_of, np.array([kind not in each for each in errors])) for kind in KINDS},
        "turns_with": {
            kind: round(count / float(turns.sum()), 4)
            for kind, count in Counter(kind for each in errors for kind, own in each.items() for _ in own).most_common()
        },
        "certainty": [
            {"from": low, "mean": round(float(sure[band].mean()), 4), **share(band)}
            for low, band in bands
            if band.any()
        ],
    }
