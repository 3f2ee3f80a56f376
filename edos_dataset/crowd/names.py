"""From what people typed to the 41 labels."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from edos_dataset.labels import LABELS, parse_label
from edos_dataset.text import one_edit

MISSING = -1
"""In place of a label id: an answer that is none of the 41, or a task without a label."""

TYPED = re.compile(r"(?<!\s)\s*\(other\)\s*$", re.IGNORECASE)
"""What the authors' file puts behind an answer that was typed, not picked."""

_SHORTEST = 5  # letters of a name of which a misspelling is believed: "mad" is not "sad"

Way = Literal["exact", "form", "spelling", "outside"]


class Answer(NamedTuple):
    """What an answer means.

    Attributes:
        label: id of the label, 0 to 40, or MISSING.
        text: the answer in lower case, without " (Other)", outer punctuation and extra blanks; "" where nothing was
            answered.
        way: how the label was found: by its name, by a form of `spellings.yaml`, by a spelling one edit away, or not.
    """

    label: int
    text: str
    way: Way


@cache
def read_answer(given: str) -> Answer:
    """Return what an answer means; a blank one and "-" have the text "".

    Apart from names and written-out forms, a text is a label's only if it begins with the same letter, the name has at
    least 5 letters, and one letter more, less or other, or two neighbours swapped, make the name out of it. An answer
    that names two labels is outside.
    """
    text = re.sub(r"^\W+|(?<!\W)\W+$", "", " ".join(TYPED.sub("", given).split()).lower())
    names = _names()
    if text in names:
        label = names[text]
        return Answer(label, text, "exact" if text == LABELS[label] else "form")
    near = [
        label
        for label, name in enumerate(LABELS)
        if len(name) >= _SHORTEST and text[:1] == name[0] and one_edit(text, name)
    ]
    return Answer(near[0], text, "spelling") if len(near) == 1 else Answer(MISSING, text, "outside")


@cache
def _names() -> dict[str, int]:
    """Return the id of every name and every written-out form of it."""
    forms = yaml.safe_load((files("edos_dataset.crowd") / "spellings.yaml").read_text(encoding="utf-8"))
    known = {form: parse_label(name) for name, own in forms.items() for form in own}
    return known | {name: label for label, name in enumerate(LABELS)}
