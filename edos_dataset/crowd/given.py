"""An answer as a page gives it: whether it is one, what it earns, and what its worker may know of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.hits import Item
from edos_dataset.labels import LABEL_IDS

RATINGS = ("good", "okay", "bad")
"""What a candidate response may be, best first: Xie & Pu, Section 5.4."""

LONGEST_TYPED = 100
"""Characters of a label that a worker types."""

_GIVEN = re.compile(r"[0-9a-f]{32}")
_LONGEST = 86_400.0  # seconds that an answer may have taken


@dataclass(frozen=True)
class Given:
    """An answer as it comes from a page.

    Attributes:
        id: made by the page, 32 hexadecimal digits: what comes again under it counts once.
        place: of the item in its HIT, from 0.
        value: name of a label, or null beside what was typed; to judge, one of RATINGS for each choice.
        typed: a label of the worker's own.
        seconds: that the item was looked at.
        check: whether the worker asks for the result of a bonus task.
    """

    id: str
    place: int
    value: Any
    typed: str | None = None
    seconds: float = 0.0
    check: bool = False


def is_right(item: Item, value: Any) -> bool:  # noqa: ANN401 - as of Given
    """Return whether an answer earns a point: the label of a quiz question, or the true response in good or okay."""
    if item.kind == "bonus":
        return bool(value) and value[item.choices.index(str(item.truth))] != "bad"
    return item.kind == "quiz" and value == item.truth


def told(item: Item, value: Any, checked: bool) -> dict[str, Any]:  # noqa: ANN401 - as of Given
    """Return what a worker may know of an answer."""
    if item.kind == "quiz":
        return {"right": is_right(item, value), "truth": item.truth}
    return {"bonus": is_right(item, value)} if item.kind == "bonus" and checked else {}


def check_given(given: Given, item: Item) -> None:
    """Refuse what is no answer to an item.

    Raises:
        ValueError: why.
    """
    if not _GIVEN.fullmatch(given.id) or not 0 <= given.seconds <= _LONGEST:
        raise ValueError("an answer needs an id of 32 hexadecimal digits, and seconds of a day at most")
    if item.kind in ("judge", "bonus"):
        ratings = given.value if isinstance(given.value, list) else []
        if len(ratings) != len(item.choices) or not all(rating in RATINGS for rating in ratings) or given.typed:
            raise ValueError(f"give one of {', '.join(RATINGS)} for each of the {len(item.choices)} replies")
    elif given.value is None:
        if not given.typed or not given.typed.strip() or len(given.typed) > LONGEST_TYPED:
            raise ValueError(f"type a label of {LONGEST_TYPED} characters at most")
    elif given.typed or not isinstance(given.value, str) or given.value not in LABEL_IDS:
        raise ValueError("give one of the 41 labels, or type another")


def read_given(body: Mapping[str, Any]) -> Given:
    """Return the answer of a page's request.

    Raises:
        ValueError: it is none.
    """
    try:
        typed = body.get("typed")
        seconds = float(body.get("seconds") or 0)
        known = isinstance(body["id"], str) and type(body["place"]) is int and isinstance(typed, str | None)
        if not known or seconds != seconds:
            raise TypeError
        return Given(body["id"], body["place"], body.get("value"), typed, seconds, body.get("check") is True)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("this is no answer: give id, place, value, typed and seconds") from error
