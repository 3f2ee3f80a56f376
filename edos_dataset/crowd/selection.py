"""Which dialogues to give to people: readable, surely labelled, as many of each label (EDOS, Section 3.2).

The paper asks for a confidence of 0.9. A labeler whose confidences are frequencies reaches that for few of the 41
labels, so labels that fall short are filled up with less confident turns, band by band of 0.1, and then with turns for
which the label is the second or third guess. The authors' own file has such bands: 1,375 of its 8,437 dialogues are
numbered 0.8, 0.7 or 0.6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.crowd.readability import Readability, read_dialogues, token_frequencies
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.schema import TURN_LABEL_CONFIGS
from edos_dataset.text import normalise

CONFIDENT, BELOW, GUESSED = "confident", "below confidence", "second or third guess"
"""Why a dialogue is chosen: its label reaches the confidence; it is the first guess, below it; it is a later one."""

STEPS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Confidences for which `Selection.available` tells what they would give."""

_GUESSES = 3  # that a worker is shown: EDOS, Section 3.2
_BAND = 0.1  # of confidence, within which the more readable dialogue comes first
_SPARE = 4  # candidates of a label that are kept, in multiples of those wanted; twice that before the worst leave

_LABELLED = tuple(reversed(TURN_LABEL_CONFIGS))
"""The configs whose labels count, that of the weak labels first."""

Task = dict[str, Any]
Rank = tuple[int, float, str]


@dataclass(frozen=True)
class SelectionRules:
    """What is chosen.

    Attributes:
        per_label: tasks a label at most.
        confidence: of the label, 0 to 1, from which a turn is wanted.
        floor: least confidence of what fills up labels that fall short; with that of `confidence` nothing does, as in
            the paper.
        history: turns shown before the one to label at most, the nearest ones; None for all, as in the paper. Of the
            authors' dialogues 91 % have three or fewer.
        alpha: as of `Readability`.
        weight: likewise.
    """

    per_label: int = 250
    confidence: float = 0.9
    floor: float = 0.2
    history: int | None = 3
    alpha: float = 87.0
    weight: float = 0.04

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.per_label < 1 or not 0 <= self.floor <= self.confidence <= 1:
            raise ValueError(
                f"per_label is {self.per_label}, confidence {self.confidence} and floor {self.floor}: give at least 1, "
                "and confidences from 0 to 1, the floor not above the confidence"
            )
        if self.history is not None and self.history < 0:
            raise ValueError(f"history is {self.history}: give a number of turns from 0, or none for all")

    @classmethod
    def papers(cls, per_label: int = 250, confidence: float = 0.9) -> "SelectionRules":
        """Return the rules of EDOS, Section 3.2: nothing below the confidence, the whole history."""
        return cls(per_label, confidence, floor=confidence, history=None)


@dataclass(frozen=True)
class Selection:
    """What was chosen.

    Attributes:
        tasks: label after label; within one what is confident comes first, then band by band; the most readable first.
        available: [41, steps] dialogues that have a turn whose first guess is the label with at least the confidence of
            `STEPS`, texts that come again counted again.
    """

    tasks: list[Task]
    available: Ints


def select_tasks(run: Path, rules: SelectionRules | None = None, config: str | None = None) -> Selection:
    """Choose the dialogues to give to people.

    Of each dialogue and label the best turn counts, of equal texts the one with the smaller id; no task and no text
    comes for two labels. Equal scores come by id. The result does not depend on the order of the dialogues. Memory: the
    distinct tokens, and 16 times the tasks.

    Args:
        run: a folder that `edos curate` or `edos label` wrote; words are counted in its config "os" where it has that.
        rules: what is wanted.
        config: the config whose labels count; by default "edos_initial", which has the weak labels, as in the paper,
            and "edos" where that is not there.

    Returns:
        The tasks: `task` (dialogue id, "@" and the number of its turn), `dialogue_id`, `turns`, `label` (name),
        `confidence` (its probability), `top` (names of the most probable labels), `f`, `d`, `score`, `chosen` (why),
        `guess` (1 to 3, which guess the label is); and what other confidences would give.

    Raises:
        FolderError: the folder holds no run with labels.
    """
    rules = rules or SelectionRules()
    there = read_manifest(run)["configs"]
    config = config or next((name for name in _LABELLED if name in there), _LABELLED[0])
    tables = read_dialogues(run, config)
    first = next(tables, None)
    if first is None or "label" not in first.schema.field("turns").type.value_type.names:
        raise FolderError(
            f"the config {config!r} of {run} has no labels: give a run that `edos curate` made with labels"
        )
    readability = Readability(token_frequencies(run, "os" if "os" in there else config), rules.alpha, rules.weight)
    pools = [[_Pool(rules.per_label) for _ in LABELS] for _ in range(2)]  # first guesses, later ones
    available = np.zeros((len(LABELS), len(STEPS)), dtype=np.int64)
    for row in (row for table in chain([first], tables) for row in table.to_pylist()):
        best = _candidates(row, rules, readability, pools)
        for (label, later), (rank, task) in best.items():
            pools[later][label].add(rank, task)
        for label, confidence in _surest(row["turns"]).items():
            available[label] += np.float32(confidence) >= np.array(STEPS, dtype=np.float32)
    return Selection(_balanced(pools, rules), available)


class _Pool:
    """The best candidates of a label, those of equal texts once."""

    def __init__(self, wanted: int) -> None:
        self.most = _SPARE * wanted
        self.worst = 10**6  # band from which nothing gets in any more
        self._found: list[tuple[Rank, Task]] = []

    def add(self, rank: Rank, task: Task) -> None:
        self._found.append((rank, task))
        if len(self._found) > 2 * self.most:
            self._found = self.best()
            self.worst = self._found[-1][0][0] if len(self._found) == self.most else self.worst

    def best(self) -> list[tuple[Rank, Task]]:
        kept: dict[str, tuple[Rank, Task]] = {}
        for rank, task in sorted(self._found, key=lambda entry: entry[0]):
            kept.setdefault(_text(task), (rank, task))
        return list(kept.values())[: self.most]


def _candidates(
    row: Mapping[str, Any], rules: SelectionRules, readability: Readability, pools: Sequence[Sequence[_Pool]]
) -> dict[tuple[int, bool], tuple[Rank, Task]]:
    """Return a dialogue's best turn for each label that it has one for, as first guess or later; of equally good ones
    the earliest.
    """
    best: dict[tuple[int, bool], tuple[Rank, Task]] = {}
    texts = [turn["text"] for turn in row["turns"]]
    for number, turn in enumerate(row["turns"], 1):
        shown = texts[:number] if rules.history is None else texts[max(0, number - 1 - rules.history) : number]
        figures = None
        for guess, (label, confidence) in enumerate(_guesses(turn), 1):
            band, place = _band(confidence, rules), (label, guess > 1)
            if np.float32(confidence) < np.float32(rules.floor) or (guess > 1 and rules.floor >= rules.confidence):
                continue
            if band > min(pools[guess > 1][label].worst, best[place][0][0] if place in best else 10**6):
                continue
            figures = figures or readability.score(shown)
            task = {
                "task": f"{row['dialogue_id']}@{number}",
                "dialogue_id": row["dialogue_id"],
                "turns": shown,
                "label": LABELS[label],
                "confidence": round(float(confidence), 6),
                "top": [LABELS[entry["label"]] for entry in turn["top"]],
                **dict(zip(("f", "d", "score"), figures, strict=True)),
                "chosen": GUESSED if guess > 1 else BELOW if band else CONFIDENT,
                "guess": guess,
            }
            rank = (band, -figures[2], task["task"])
            if place not in best or rank[:2] < best[place][0][:2]:
                best[place] = rank, task
    return best


def _guesses(turn: Mapping[str, Any]) -> Iterator[tuple[int, float]]:
    """Yield the labels that a worker is shown, with their probabilities; the turn's own label first."""
    yield turn["label"], turn["confidence"]
    for entry in turn["top"][:_GUESSES]:
        if entry["label"] != turn["label"]:
            yield entry["label"], entry["probability"]


def _surest(turns: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    surest: dict[int, float] = {}
    for turn in turns:
        surest[turn["label"]] = max(turn["confidence"], surest.get(turn["label"], 0.0))
    return surest


def _band(confidence: float, rules: SelectionRules) -> int:
    """Return 0 for what reaches the confidence, then 1, 2, ... for each band of 0.1 below it."""
    short = float(np.float32(rules.confidence) - np.float32(confidence))
    return 0 if short <= 0 else 1 + int((short - 1e-6) // _BAND)


def _balanced(pools: Sequence[Sequence[_Pool]], rules: SelectionRules) -> list[Task]:
    """Return the tasks of each label: first guesses, then later ones where those do not suffice; labels that have the
    fewest choose first. No task and no text comes twice.
    """
    chosen: list[list[Task]] = [[] for _ in LABELS]
    taken: set[str] = set()
    for guesses in pools:
        found = [[task for _, task in pool.best()] for pool in guesses]
        for label in sorted(range(len(LABELS)), key=lambda label: (len(chosen[label]), len(found[label]), label)):
            for task in found[label]:
                if len(chosen[label]) < rules.per_label and not {task["task"], _text(task)} & taken:
                    chosen[label].append(task)
                    taken |= {task["task"], _text(task)}
    return [task for tasks in chosen for task in tasks]


def _text(task: Task) -> str:
    return normalise(" ".join(task["turns"]))
