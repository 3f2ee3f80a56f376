"""The lines of `edos segment` as dialogues: each document is one, whose turns have their sentences joined."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from edos_dataset.exports.records import Dialogue, Turn
from edos_dataset.releases.formats.readers import opened
from edos_dataset.releases.formats.texts import lines
from edos_dataset.runs.untrusted import json_of, shown

FIELDS = frozenset({"document", "path", "speaker", "start", "end"})
"""Fields that such dialogues have."""

_LONGEST = 1e9  # seconds that a time may be
_KEYS = {"document_id", "sentence_id", "start", "end", "text", "turn_id"}


def is_segmented(path: Path) -> bool:
    """Return whether a file has lines of `edos segment`."""
    if not path.is_file():
        return False
    try:
        with opened(str(path)) as file:
            first = file.readline(1 << 16)
        row = json_of(first) if first.startswith(b"{") else None
    except (ValueError, OSError):
        return False
    return isinstance(row, dict) and row.keys() >= _KEYS


def segmented(path: Path) -> Iterator[Dialogue]:
    """Yield the documents of a file of `edos segment`.

    Raises:
        ValueError: A line is none of `edos segment`; the message says which.
    """
    for document, rows in groupby(_rows(path), key=lambda row: str(row["document_id"])):
        turns = [_turn(list(members)) for _, members in groupby(rows, key=lambda row: row["turn_id"])]
        yield Dialogue(document, turns, document=document, path=document)


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with opened(str(path)) as file:
        for number, line in lines(file, str(path)):
            try:
                row = json_of(line)
                if not (row.keys() >= _KEYS and isinstance(row["text"], str)):
                    raise ValueError("a key is missing")
                _check_times(row)
            except (ValueError, AttributeError) as error:
                raise ValueError(
                    f"{path}, line {number}: not as `edos segment` writes it ({error}): give that command again"
                ) from error
            yield row


def _check_times(row: Mapping[str, Any]) -> None:
    for name in ("start", "end"):
        seconds = row[name]
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and abs(seconds) < _LONGEST
        if not (seconds is None or number):
            raise ValueError(f"{name} is {shown(seconds)}, which is no number of seconds")


def _turn(rows: list[Mapping[str, Any]]) -> Turn:
    text = " ".join(row["text"] for row in rows)
    return Turn(text, rows[0].get("speaker"), rows[0]["start"], rows[-1]["end"])
