"""Priors of labels: how often each is expected, which weighs every answer of a labeler.

A labeler's probabilities contain how often each label was right where it learned. Where the labels are distributed
otherwise, p(label | turn) is multiplied by the new share of the label and divided by its old one, and the result is
scaled to sum to 1 (Saerens, Latinne and Decaestecker, 2002). The old shares are those of the labeler itself:
`priors.json`, which `training/measure_priors.py` writes, has them for shipped models; other labelers state them in
their record, as `"prior": {label: share}`.
"""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles, Floats
from edos_dataset.label_sets import LabelSet
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml
from edos_dataset.text import nearest, shown

MEASURED = Path(__file__).with_name("priors.json")
"""The shares of labels in `corpora`, as people or readers gave them, and those of shipped `models`, by their published
names."""

NONE, FILMS = "none", "films"
"""The priors by which every label is equally likely beforehand, and those of turns of films."""
NAMED = (NONE, FILMS, "crowd")
"""The priors that have a name: none; those of turns of films; and those of the crowd's labels, whose turns were
selected for an emotion.
"""

OWN = "own"
"""The name of the priors that a user gives."""
_HEADER = ["label", "share"]

Given = str | dict[str, float] | None
"""Priors as a parameter of a stage: one of NAMED, shares by label, or None for the labeler as it is."""

_files: dict[str, Path] = {}
"""Shares as JSON → the file that they were read from, for error messages."""


@dataclass(frozen=True, eq=False)
class Priors:
    """Weighs the probabilities of a labeler by other priors than its own.

    Attributes:
        name: one of NAMED, or "own".
        factors: float64 [labels]: the new share of each label divided by its old one.
    """

    name: str
    factors: Doubles

    def __call__(self, probabilities: Floats) -> Floats:
        """Return the weighed probabilities of turns, float32 [turns, labels]; each row sums to 1."""
        weighed = probabilities * self.factors
        # A turn whose every possible label has share 0 gets the labels that are possible.
        total = weighed.sum(axis=1, keepdims=True)
        found = np.where(total > 0, weighed / np.where(total > 0, total, 1), self.factors / self.factors.sum())
        return np.asarray(found, np.float32)

    def named(self, identity: str) -> str:
        """Return the identity of a labeler with these priors: `general-minilm+films@` and 16 hex digits."""
        name, _, digest = identity.partition("@")
        return f"{name}+{self.name}@{hash_json([digest, self.factors.tolist()])[:16]}"


def as_priors(given: Any) -> Given:  # noqa: ANN401 - what a user gives
    """Return priors as a parameter of a stage: the shares in a file become part of the recipe.

    Args:
        given: one of NAMED; `{label: share}`; None; or a file of these, as JSON or YAML, or as CSV with the columns
            label and share. Shares are numbers from 0, such as counts; they are scaled to sum to 1. A label that is not
            named has the share 0.

    Raises:
        ValueError: it is none of these, or a share is no number from 0; the message names file and line.
    """
    if given is None or given in NAMED:
        return given  # type: ignore[no-any-return]
    if isinstance(given, Mapping):
        return _checked({str(label): share for label, share in given.items()}, None)
    if not isinstance(given, str | Path):
        raise ValueError(f"the priors are {shown(given)}: give {', '.join(NAMED)}, a file, or label: share")
    path = place_of(given)
    if not path.is_file():
        near = nearest(str(given), NAMED)
        raise ValueError(f"there is no file {given} of --priors{near}: give {', '.join(NAMED)}, or a file of shares")
    shares = _checked(_csv_shares(path) if path.suffix.lower() == ".csv" else _plain_shares(path), path)
    _files[json.dumps(shares)] = path
    return shares


def priors_of(labeler: Labeler, given: Given) -> Priors:
    """Return the priors by which a labeler's answers are weighed.

    Raises:
        ValueError: the labeler's own priors are unknown, a turn can have several of its labels, or the priors are of
            other labels.
    """
    labels = labeler.label_set
    if labeler.threshold is not None:
        raise ValueError("--priors is for labelers that give a turn exactly one label: leave it out")
    own = _own_shares(labeler)
    if given == NONE:
        return Priors(NONE, 1 / (own * len(labels)))
    if isinstance(given, str):
        if labels != Labeler.label_set:
            raise ValueError(
                f"--priors {given} are shares of the 41 labels of EDOS, and the labeler has {labels.listed()}: "
                "give a file of shares of them, or none"
            )
        return Priors(given, _array(_measured()["corpora"][given]["shares"], labels) / own)
    assert given is not None, "without priors nothing is weighed"
    for label in given:
        if label not in labels.ids:
            raise ValueError(f"{_where(given, label)}{labels.unknown(label)}")
    return Priors(OWN, _array(given, labels) / own)


def _own_shares(labeler: Labeler) -> Doubles:
    known = _measured()["models"].get(labeler.identity.partition("@")[0])
    stated = labeler.record.get("prior") if known is None else known["shares"]
    if not isinstance(stated, Mapping):
        raise ValueError(
            "--priors divides by how often the model itself gives each label, and it does not say: state the shares of "
            'the labels it learned from in its record.json, "prior": {label: share}'
        )
    labels = labeler.label_set
    if lacking := [label for label in labels.labels if not stated.get(label)]:
        raise ValueError(f"the prior in the record of the model has no share of {lacking[0]!r}: give one above 0")
    return _array(_checked(dict(stated), None), labels)


@cache
def _measured() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return content


def _array(shares: Mapping[str, float], labels: LabelSet) -> Doubles:
    found = np.array([shares.get(label, 0.0) for label in labels.labels], np.float64)
    return np.asarray(found / found.sum())


def _csv_shares(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        try:
            head = [cell.strip().lower() for cell in next(rows, [])]
            if head != _HEADER:
                raise ValueError(f"{path}, line 1: expected the columns label,share, got {shown(','.join(head))}")
            found: dict[str, Any] = {}
            for row in filter(None, rows):
                where = f"{path}, line {rows.line_num}"
                if len(row) != len(_HEADER):
                    raise ValueError(f"{where}: expected a label and its share, got {shown(','.join(row))}")
                label = row[0].strip()
                if label in found:
                    raise ValueError(f"{where}: the label {shown(label)} stands there twice")
                found[label] = _number(row[1])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"cannot read the priors {path}: {error}") from error
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _plain_shares(path: Path) -> dict[str, Any]:
    try:
        content = read_yaml(path)
    except UntrustedInputError as error:
        raise ValueError(f"cannot read the priors {path}: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(label, str) for label in content):
        raise ValueError(f"{path} has no priors: expected {{label: share}}, such as {{neutral: 0.3, joyful: 0.05}}")
    return content


def _checked(shares: dict[str, Any], path: Path | None) -> dict[str, float]:
    for label, share in shares.items():
        fine = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share < math.inf
        if not fine:
            raise ValueError(f"{_line(path, label)}the share of {label!r} is {shown(share)}: give a number from 0")
    if not sum(shares.values()):
        where = "" if path is None else f"{path}: "
        raise ValueError(f"{where}the shares of the priors sum to 0: give at least one label a share above 0")
    return {label: float(share) for label, share in shares.items()}


def _where(shares: Mapping[str, float], label: str) -> str:
    return _line(_files.get(json.dumps(shares)), label)


def _line(path: Path | None, label: str) -> str:
    """Return the file and the first line that has a label, for the begin of a message."""
    if path is None:
        return "the priors: "
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    number = next((number for number, line in enumerate(lines, 1) if label in line), 1)
    return f"{path}, line {number}: "
