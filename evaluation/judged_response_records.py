"""Answers of response models that a reader judged: which rows of the matrix gave each, how it was found, and what that
comes to. No texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.metrics.resampling import wilson
from edos_dataset.text import shown
from evaluation.judged_sheets import read_jsonl, take_verdicts

VERDICTS = {
    "fits": "a sensible person could answer just this, and it takes up something of this conversation",
    "generic": "not wrong, and it could stand anywhere: “I'm sorry to hear that”, “What happened?”, “I know.”",
    "wrong": "against what was said or against sense, no answer to it, or no English",
}
"""How an answer may be found; of two that apply the worse."""


@dataclass(frozen=True)
class Read:
    """A context with its answers.

    Attributes:
        number: on the sheet.
        set: test set of the matrix that it is of.
        document: that it belongs to, such as a film.
        digest: of the history: the first 8 hex digits of its SHA-256.
        rows: letter on the sheet → rows of the matrix that gave this answer, one or more.
        digests: letter → that of the answer.
        verdicts: letter → one of VERDICTS; empty before it was read.
    """

    number: int
    set: str
    document: str
    digest: str
    rows: dict[str, list[str]]
    digests: dict[str, str]
    verdicts: dict[str, str] = field(default_factory=dict)


def read_judged(path: Path) -> list[Read]:
    """Read what `jsonl_of` wrote; see `read_jsonl`."""
    return read_jsonl(path, lambda row: Read(**row), "context")


def with_verdicts(records: Sequence[Read], paths: Sequence[Path]) -> list[Read]:
    """Return the contexts of a sheet with what the reader wrote: files of lines "NUMBER a fits | b wrong | ..."; see
    `take_verdicts`.
    """
    return take_verdicts(records, paths, _with_verdicts, "context")


def _with_verdicts(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the context that a line judges."""
    number, _, rest = line.strip().partition(" ")
    if not number.isdecimal() or int(number) not in drawn:
        raise ValueError(f"expected NUMBER a VERDICT | b VERDICT | ..., with a number of the sheet, got {shown(line)}")
    record = drawn[int(number)]
    given = [each.split() for each in rest.split("|")]
    if any(len(each) != 2 for each in given):
        raise ValueError(f"context {number}: expected a VERDICT | b VERDICT | ..., got {shown(rest)}")
    verdicts = {letter: verdict for letter, verdict in given}
    if verdicts.keys() != record.rows.keys() or len(given) != len(verdicts):
        raise ValueError(f"context {number} has the answers {', '.join(record.rows)}: give each a verdict, once")
    if strange := [verdict for verdict in verdicts.values() if verdict not in VERDICTS]:
        raise ValueError(f"context {number}: {strange[0]!r} is no verdict; there are {', '.join(VERDICTS)}")
    ordered = {letter: verdicts[letter] for letter in record.rows}
    return Read(**{**asdict(record), "verdicts": ordered})


def tally(records: Sequence[Read]) -> dict[str, Any]:
    """Return the figures: `contexts`, `answers` (different ones), and by row of the matrix, `all` and each test set,
    the answers and the share of each verdict with its 95 % interval (Wilson).
    """
    by: dict[str, dict[str, list[str]]] = {}
    for record in records:
        for letter, rows in record.rows.items():
            for row in rows:
                own = by.setdefault(row, {"all": []})
                own["all"].append(record.verdicts[letter])
                own.setdefault(record.set, []).append(record.verdicts[letter])
    return {
        "contexts": len(records),
        "answers": sum(len(record.rows) for record in records),
        "rows": {row: {name: _shares(each) for name, each in own.items()} for row, own in sorted(by.items())},
    }


def _shares(verdicts: Sequence[str]) -> dict[str, Any]:
    number = len(verdicts)
    found: dict[str, Any] = {"answers": number}
    for verdict in VERDICTS:
        share = verdicts.count(verdict) / number
        found[verdict] = {"share": round(share, 4), "interval": wilson(share, number)}
    return found
