"""The crowd task on the authors' answers (EDOS, Section 3.2; OSED, Tables 4 and 6)."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from edos_dataset.crowd.agreement import measure
from edos_dataset.crowd.answers import Answers, read_answers
from edos_dataset.crowd.seed import SeedRules, make_seed
from edos_dataset.reproduction.results import Data, Estimate, Measured, MissingInputError

_FILE = ("edos_amt", "mturk_groundtruth_labels.csv")
_TYPED = re.compile(r"\(Other\)\s*$")

CLASSES = ("greeting", "declar", "command", "hesita", "accus")
"""Beginnings of the new classes that OSED names (Table 6)."""


@cache
def _answers(path: Path) -> Answers:
    return read_answers(path)


def agreement(data: Data) -> Mapping[str, Measured]:
    """Measure the crowd's agreement (EDOS, Table 4)."""
    found = measure(_answers(data.path(*_FILE)))
    number, (low, high) = found["rows"], found["fleiss_kappa_interval"]
    lowest, highest = (round(100 * end, 2) for end in found["agreed_share_interval"])
    return {
        "dialogues": Measured(Estimate(number, number=number)),
        "agreed": Measured(Estimate(found["agreed"], number=number)),
        "agreed, %": Measured(Estimate(round(100 * found["agreed_share"], 2), lowest, highest, number, 0)),
        "Fleiss' kappa": Measured(Estimate(found["fleiss_kappa"], low, high, number, 0)),
    }


def typed(data: Data) -> Mapping[str, Measured]:
    """Count the labels that workers typed, which the authors' file marks with "(Other)"."""
    answers = _answers(data.path(*_FILE))
    marked = [(task, given) for task, given in zip(answers.task, answers.given, strict=True) if _TYPED.search(given)]
    words = Counter(_TYPED.sub("", given).strip().lower() for _, given in marked)
    occur = sum(any(word.startswith(start) for word in words) for start in CLASSES)
    return {
        "with a typed label": Measured(Estimate(len({task for task, _ in marked}), number=len(answers.tasks))),
        "typed classes of the paper that occur": Measured(Estimate(occur, number=len(marked))),
    }


def splits(data: Data) -> Mapping[str, Measured]:
    """Split the labelled dialogues 60/20/20, balanced by label (EDOS, Section 3.3)."""
    try:
        _, counts = make_seed(_answers(data.path(*_FILE)), SeedRules(repeats="own"))
    except ValueError as error:  # a small part of the file has too few dialogues for three splits
        raise MissingInputError(str(error)) from error
    return {
        split: Measured(ours=Estimate(number, number=counts["labelled"], seed=0))
        for split, number in counts["splits"].items()
    }
