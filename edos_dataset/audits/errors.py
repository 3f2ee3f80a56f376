"""The error types that a reader of dialogues can name: for books those of the Gutenberg Dialogue paper (Section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

SUBTITLES, BOOKS = "subtitles", "books"
KINDS = (SUBTITLES, BOOKS)
"""What dialogues are cut out of."""

DIALOGUES, PAIRS = "dialogues", "pairs"
UNITS = (DIALOGUES, PAIRS)
"""What is judged: whole dialogues, or two turns in a row."""

PAPER_READ: Mapping[str, tuple[int, int]] = {DIALOGUES: (50, 16), PAIRS: (100, 89)}
"""Unit → how many the authors of the paper read of their English books, and how many had no error."""


@dataclass(frozen=True)
class ErrorType:
    """Something that may be wrong.

    Attributes:
        code: how judgements name it.
        key: letter that sets it on the page.
        name: for people.
        told: what it means, in half a sentence.
        units: in which units it can be seen.
        paper: unit → how many of those that the paper's authors read have it.
    """

    code: str
    key: str
    name: str
    told: str
    units: tuple[str, ...] = UNITS
    paper: Mapping[str, int] = field(default_factory=dict)


@cache
def error_types(kind: str, unit: str = DIALOGUES) -> tuple[ErrorType, ...]:
    """Return what may be wrong, in the order of the page.

    Args:
        kind: one of KINDS.
        unit: one of UNITS.

    Raises:
        ValueError: `kind` or `unit` is none.
    """
    for name, value, allowed in (("kind", kind, KINDS), ("unit", unit, UNITS)):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(allowed)}")
    listed: list[dict[str, Any]] = yaml.safe_load(
        (files("edos_dataset.audits") / "errors.yaml").read_text(encoding="utf-8")
    )[kind]
    types = (ErrorType(**{**entry, "units": tuple(entry.get("units", UNITS))}) for entry in listed)
    return tuple(one for one in types if unit in one.units)
