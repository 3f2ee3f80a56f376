"""Mapping what people typed to the labels of a label set, by default the 41 of EDOS."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml

from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.text import one_edit

MISSING = -1
"""Label id of an answer outside the label set, or of a task without a label."""

TYPED = re.compile(r"(?<!\s)\s*\(other\)\s*$", re.IGNORECASE)
"""Suffix of typed answers in the authors' file."""

_SHORTEST = 5  # letters of a name from which misspellings are recognised: "mad" is not "sad"

Way = Literal["exact", "form", "spelling", "outside"]


class Answer(NamedTuple):
    """The meaning of an answer.

    Attributes:
        label: id of the label, from 0, or MISSING.
        text: the answer in lower case, without " (Other)", outer punctuation and extra blanks; "" for a blank answer.
        way: how the label was found: by its name, by a form of `spellings.yaml`, by a spelling one edit away, or not.
    """

    label: int
    text: str
    way: Way


EDOS = load_label_set(DEFAULT)


@cache
def read_answer(given: str, labels: LabelSet = EDOS) -> Answer:
    """Return the meaning of an answer; the text of a blank answer and of "-" is "".

    The forms of `spellings.yaml` are for the labels of EDOS; other label sets have only their names.

    A misspelling is accepted if it has the same first letter, the name has at least 5 letters, and one inserted,
    deleted, replaced or transposed letter turns it into the name. An answer that names two labels is MISSING.
    """
    text = re.sub(r"^\W+|(?<!\W)\W+$", "", " ".join(TYPED.sub("", given).split()).lower())
    names = _names(labels)
    if text in names:
        label = names[text]
        return Answer(label, text, "exact" if text == labels.labels[label].lower() else "form")
    near = [
        label
        for label, name in enumerate(map(str.lower, labels.labels))
        if len(name) >= _SHORTEST and text[:1] == name[0] and one_edit(text, name)
    ]
    return Answer(near[0], text, "spelling") if len(near) == 1 else Answer(MISSING, text, "outside")


@cache
def _names(labels: LabelSet) -> dict[str, int]:
    """Return the id of every name and its written-out forms."""
    if labels.labels != LABELS:
        forms_of_names = {form: label for label, name in enumerate(labels.labels) for form in _forms(name.lower())}
        return forms_of_names | {name.lower(): label for label, name in enumerate(labels.labels)}
    forms = yaml.safe_load((files("edos_dataset.crowd") / "spellings.yaml").read_text(encoding="utf-8"))
    known = {form: parse_label(name) for name, own in forms.items() for form in own}
    return known | {name: label for label, name in enumerate(LABELS)}


def _forms(name: str) -> tuple[str, ...]:
    """Return the ways to write a name: also with blanks between its words, and without outer punctuation."""
    return name, name.replace("_", " "), name.replace("-", " "), name.strip("_-. ")
