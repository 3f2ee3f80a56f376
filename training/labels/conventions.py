"""Whose conventions the heads of a model learn, and which answers are made of them.

The makers of labelled sets disagree about the same words: to one "Stop it!" is anger, to another neutral. Each head
learns every convention by itself, and an answer is their mean, weighted by how much a text looks like those of each.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from training.labels.sources import CROWD, FILMS, WEAK

CONVENTIONS = {
    "reader": (FILMS,),
    "crowd": (CROWD, "crowd_undecided", "crowd_self_labelled"),
    "situations": (WEAK, "weak_annotated", "frequent"),
    "meld": ("meld",),
    "emorynlp": ("emorynlp",),
    "xed": ("xed",),
    "goemotions": ("goemotions",),
    "acts": ("dailydialog", "esconv", "swda"),
}
"""Convention → the sources whose makers share it."""


class Answer(NamedTuple):
    """A way to answer.

    Attributes:
        sees: the turn alone, or its history too.
        conventions: by what the odds of each convention are multiplied.
        calibrated_on: the source on whose held-out turns its temperature is fitted.
    """

    sees: str
    conventions: dict[str, float]
    calibrated_on: str


_FILMS = {"reader": 2.0, "meld": 4.0, "emorynlp": 1.0, "xed": 2.0, "goemotions": 0.5, "acts": 0.5}
"""Those who labelled whole dialogues, films above all; chosen on held-out parts of their sets. The crowd and the weak
labeler's set have turns that were picked for an emotion: with these, few turns of films would be neutral."""

ANSWERS = {
    "general": Answer("history", _FILMS, FILMS),
    "dialogue": Answer("history", {"crowd": 1.0}, CROWD),
    "weak": Answer("turn", _FILMS | {"situations": 10.0}, WEAK),
}
"""Name → answer, the default one first: `general` for texts of any kind, `dialogue` for the crowd's labels (EDOS,
Section 3.3.1), `weak` for a turn alone (Section 3.1)."""


def conventions_of(sources: Collection[str]) -> list[str]:
    """Return the conventions that some sources teach."""
    return [name for name, own in CONVENTIONS.items() if not set(own).isdisjoint(sources)]


def convention_of(source: str) -> str:
    """Return the convention of a source.

    Raises:
        ValueError: nobody said which it is.
    """
    for name, own in CONVENTIONS.items():
        if source in own:
            return name
    raise ValueError(f"the source {source!r} has no convention: add it to one of CONVENTIONS in {__file__}")


def answers_over(conventions: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the answers of a model that learned some conventions, as its configuration has them, at temperature 1: of
    each what it can have of its own conventions, or all where it can have none.
    """
    return {
        name: {
            "sees": answer.sees,
            "conventions": {each: factor for each, factor in answer.conventions.items() if each in conventions}
            or dict.fromkeys(conventions, 1.0),
            "temperature": 1.0,
        }
        for name, answer in ANSWERS.items()
    }
