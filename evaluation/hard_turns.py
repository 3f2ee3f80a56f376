"""Turns on which labelers are known to go wrong: how many does one get right, by the pattern of the error?

    python evaluation/hard_turns.py --models general fast dialogue weak

`hard_turns.jsonl` has 300 invented dialogues of one to four turns, written for this; the last turn is judged. Its label
is the one to be expected, then the others that a careful reader would let stand: "annoyed|angry". Most words of a
dialogue speak for another label, the one that the pattern names. Labelers were not, and must not be, trained on them or
chosen by them. The file has the form of `evaluation/domain.py --labelled`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.runs.shards import write_text
from edos_dataset.text import shown
from evaluation.readings import share_of, show_share

TURNS = Path(__file__).with_suffix(".jsonl")
PATTERNS = {
    "acknowledging": "an emotion or another intent, in words that seem only to acknowledge",
    "outburst": "a few words that burst out, which are not neutral",
    "word_trigger": "a word that names an emotion, and is not meant so",
    "apology": "apology, sympathy and “excuse me”, which share their words",
    "stance": "what the speaker feels is not what is talked about, or is said with sarcasm",
    "rhetorical": "questions to which nobody wants an answer",
    "polarity": "a negation, or an answer whose sense depends on the question",
    "greeting_plan": "greetings, wishes and plans",
}
"""Pattern → what its turns are."""

SURE = 0.8
"""Confidence from which an answer counts as sure."""


class HardTurn(NamedTuple):
    """A dialogue whose last turn is judged.

    Attributes:
        name: the dialogue's id.
        pattern: one of PATTERNS.
        turns: texts, oldest first.
        labels: ids of the acceptable labels, the expected one first.
    """

    name: str
    pattern: str
    turns: list[str]
    labels: list[int]


def read_hard_turns(path: Path = TURNS) -> list[HardTurn]:
    """Return the judged turns of a file in the form of `hard_turns.jsonl`.

    Raises:
        ValueError: a line has another form, an unknown pattern or an unknown label; the message names it.
        OSError: the file cannot be read.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(_turn_of(json.loads(line)))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: {error or shown(line)}") from error
    if not found:
        raise ValueError(f"{path} has no turns: give lines as those of {TURNS.name}")
    return found


def _turn_of(row: dict[str, Any]) -> HardTurn:
    if row["pattern"] not in PATTERNS:
        raise ValueError(f"unknown pattern {shown(row['pattern'])}: expected one of {', '.join(PATTERNS)}")
    labels = [parse_label(name) for name in row["turns"][-1]["label"].split("|")]
    return HardTurn(row["dialogue_id"], row["pattern"], [turn["text"] for turn in row["turns"]], labels)


def answers_of(labeler: Labeler, turns: Sequence[HardTurn]) -> Floats:
    """Return a labeler's probabilities for the judged turns, each with its history, float32 [n, 41].

    Raises:
        ValueError: it predicts other labels than the 41.
    """
    if labeler.label_set.labels != LABELS:
        raise ValueError(f"{labeler.source} has the labels {labeler.label_set.listed()}: the turns have the 41 of EDOS")
    last = np.cumsum([len(turn.turns) for turn in turns]) - 1
    found: Floats = np.nan_to_num(labeler.predict_proba([turn.turns for turn in turns])[last])
    return found


def most_acceptable(turns: Sequence[HardTurn]) -> int:
    """Return the id of the label that is acceptable for most turns: what is best to say always."""
    return int(np.bincount([label for turn in turns for label in turn.labels]).argmax())


def figures_of(turns: Sequence[HardTurn], answers: Floats) -> dict[str, Any]:
    """Return what is right of the answers to all turns, with 95 % intervals.

    Returns:
        `acceptable`: the label is among the acceptable ones, of all turns and by `patterns`; `first`: it is the
        expected one; `sure`: of the answers with a confidence of at least SURE.
    """
    said, alone = answers.argmax(axis=1).tolist(), np.arange(len(turns))
    stands = np.array([label in turn.labels for label, turn in zip(said, turns, strict=True)])
    first = np.array([label == turn.labels[0] for label, turn in zip(said, turns, strict=True)])
    pattern, all_of_them = np.array([turn.pattern for turn in turns]), np.ones(len(turns), bool)
    return {
        "acceptable": share_of(stands, alone, all_of_them, "turns"),
        "first": share_of(first, alone, all_of_them, "turns"),
        "sure": {"from": SURE, **share_of(stands, alone, answers.max(axis=1) >= SURE, "turns")},
        "patterns": {name: share_of(stands, alone, pattern == name, "turns") for name in PATTERNS if name in pattern},
    }


def report(labelers: dict[str, Labeler], turns: Sequence[HardTurn]) -> dict[str, Any]:
    """Return the figures of labelers, and of the label that is best to say always."""
    constant = most_acceptable(turns)
    always = np.eye(len(LABELS), dtype=np.float32)[[constant] * len(turns)]
    models = {
        name: {"identity": labeler.identity, **figures_of(turns, answers_of(labeler, turns))}
        for name, labeler in labelers.items()
    }
    return {"turns": len(turns), "models": {f"always {LABELS[constant]}": figures_of(turns, always)} | models}


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a table: a row for each pattern, a column for each labeler."""
    models = figures["models"]
    table = Table(*("pattern", *models), title=f"{figures['turns']} hard turns: acceptable labels")
    for name in next(iter(models.values()))["patterns"]:
        table.add_row(name, *(show_share(own["patterns"][name], "turns") for own in models.values()))
    table.add_section()
    for name in ("acceptable", "first", "sure"):
        table.add_row(name, *(show_share(own[name], "turns") for own in models.values()))
    Console(width=40 + 30 * len(models), file=sys.stdout).print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", required=True, help="shipped models, folders, Hub ids, openai:MODEL")
    parser.add_argument("--turns", type=Path, default=TURNS, help="another file of such turns")
    parser.add_argument("--out", type=Path, help="file for the figures, as JSON")
    chosen = parser.parse_args(arguments)
    with limit_threads(1):
        try:
            labelers = {name: load_labeler(name) for name in chosen.models}
            for labeler in labelers.values():
                check_labeler(labeler)
            figures = report(labelers, read_hard_turns(chosen.turns))
        except (OSError, ValueError) as error:
            sys.exit(f"error: {error}")
    show(figures)
    if chosen.out:
        command = f"python evaluation/hard_turns.py --models {' '.join(chosen.models)}"
        write_text(chosen.out, json.dumps({"command": command, **figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
