"""The labelled dialogues that weak labelers and dialogue classifiers learn from: reading, embedding, splitting."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.crowd.answers import AGREED, read_answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import link, plain_text, share_out
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.releases.raw import Reject, Row
from edos_dataset.releases.weak_labeler import read_weak_labeler
from edos_dataset.runs.foreign import read_yaml
from training.caches import kept, key_of

WEAK_FILES = ("empathetic_dialogues/weak_labeler/train.txt", "empathetic_dialogues/weak_labeler/valid.txt")
CROWD_FILES = ("edos_amt/mturk_groundtruth_labels.csv",)
WEAK_LICENCE = "EmpatheticDialogues: CC BY-NC 4.0"
CROWD_LICENCE = "EDOS crowd labels: CC BY 4.0; the dialogues are subtitles under their studios' copyright"


@dataclass(frozen=True)
class Examples:
    """Labelled dialogues: `label` and `targets` (probabilities over the 41 labels) are of the last turn."""

    dialogues: list[list[str]]
    names: list[str]
    labels: Ints
    targets: Floats


def report(line: str) -> None:
    """Say where the training is."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def read_weak(folder: Path) -> Examples:
    """Read the weak labeler's set."""
    return single_turns([pair for name in WEAK_FILES for pair in read_weak_labeler(folder / name)])


def read_crowd(folder: Path, agreed: bool = True) -> Examples:
    """Read the crowd labels on which two of three workers agreed, if the label is one of the 41.

    With `agreed=False`, read instead the dialogues on which they did not, if an answer is one of the 41; the label is
    the first of these answers.

    Raises:
        ValueError: the file does not say what is agreed, or as by `read_answers`.
    """
    path = folder / CROWD_FILES[0]
    answers = read_answers(path)
    if not answers.stated:
        raise ValueError(
            f"{path} has no column {AGREED!r}: give the authors' file, with the labels that they call agreed"
        )
    given: list[list[int]] = [[] for _ in answers.tasks]
    for task, answer in zip(answers.task, answers.given, strict=True):
        given[task].append(label_id(answer))
    labels = [
        label if agreed else MISSING if label != MISSING else next((each for each in own if each != MISSING), MISSING)
        for label, own in zip(map(label_id, answers.stated), given, strict=True)
    ]
    rows = [row for row, label in enumerate(labels) if label != MISSING and answers.dialogues[row]]
    votes = np.zeros((len(rows), len(LABELS)), np.float32)
    for place, row in enumerate(rows):
        for label in given[row]:
            votes[place, label] += label != MISSING
    return Examples(
        [answers.dialogues[row] for row in rows],
        [answers.names[row] for row in rows],
        np.array([labels[row] for row in rows], np.int64),
        votes / votes.sum(axis=1, keepdims=True),
    )


def read_frequent(path: Path) -> Examples:
    """Read the hand-labelled frequent turns: YAML, each label with its list of turns."""
    by_label: dict[str, list[str]] = read_yaml(path)
    return single_turns([(turn, parse_label(name)) for name, turns in by_label.items() for turn in turns])


def single_turns(pairs: Sequence[tuple[str, int]]) -> Examples:
    """Return turns that stand alone, each with the id of its label."""
    labels = np.array([label for _, label in pairs], np.int64)
    return Examples([[text] for text, _ in pairs], [""] * len(pairs), labels, one_hot(labels))


def labelled_last(rows: Iterable[Row | Reject]) -> Examples:
    """Return the dialogues of a release whose rows have the label of their last turn; what it rejects is left out."""
    kept_rows = [row for row in rows if not isinstance(row, Reject)]
    labels = np.array([row["label"] for row in kept_rows], np.int64)
    dialogues = [[turn["text"] for turn in row["turns"]] for row in kept_rows]
    return Examples(dialogues, [""] * len(kept_rows), labels, one_hot(labels))


def label_id(answer: str) -> int:
    """Return the id of a label that an answer names, such as "Neutral (Other)", or MISSING if it is none of the 41.

    Misspelt and written-out forms, which the seed takes for labels, count for none here: the shipped models were
    trained so.
    """
    meaning = read_answer(answer)
    return meaning.label if meaning.way == "exact" else MISSING


def one_hot(labels: Ints) -> Floats:
    """Return labels as rows of probabilities."""
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def embed(dialogues: Sequence[Sequence[str]], encoder: Encoder, cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, one dialogue behind the other, and the dialogues' offsets; a cache keeps the
    embeddings.
    """
    texts = [turn for turns in dialogues for turn in turns]
    offsets = np.cumsum([0, *(len(turns) for turns in dialogues)])

    def encode() -> Floats:
        # Runs store embeddings in half precision, so the heads learn from them as they will see them.
        return encoder.encode(texts).astype(np.float16).astype(np.float32)

    return kept(cache and cache / f"{key_of([encoder.identity, *texts])}.npy", len(texts), encode), offsets


def split(examples: Examples, vectors: Floats, pinned: Bools, recipe: dict[str, Any]) -> Ints:
    """Return 0, 1 or 2 (train, validation, test) for every example, with the same shares of every label.

    Examples stay together if they have the same name or last turn (letters and digits, lower-cased), or if the
    embeddings of their last turns are near. What belongs with a pinned example is in the training part.
    """
    keys = [
        ["text " + plain_text(turns[-1])] + (["name " + name] if name else [])
        for turns, name in zip(examples.dialogues, examples.names, strict=True)
    ]
    return share_out(
        link(keys, vectors, recipe["near_duplicate"]), examples.labels, recipe["shares"], recipe["seed"], pinned
    )
