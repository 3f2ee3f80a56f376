"""The labelled dialogues that `train_linear_heads.py` learns from: reading, embedding, splitting."""

import csv
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.crowd.answers import AGREED
from edos_dataset.crowd.names import MISSING
from edos_dataset.crowd.splits import link, plain_text, share_out, split_turns
from edos_dataset.labeling.models.encoder import Encoder
from edos_dataset.labels import LABEL_IDS, LABELS, parse_label

WEAK_FILES = ("empathetic_dialogues/weak_labeler/train.txt", "empathetic_dialogues/weak_labeler/valid.txt")
CROWD_FILES = ("edos_amt/mturk_groundtruth_labels.csv",)
WORKERS = tuple(f"Worker {worker} answer" for worker in (1, 2, 3))
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
    """Read the weak labeler's set: lines `id <SEP> text`. Its labels.txt gives neutral the id 38, its lines 40; the
    lines agree with `LABELS`.
    """
    texts, ids = [], []
    for path in (folder / name for name in WEAK_FILES):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = re.fullmatch(r"(\d+) <SEP> (.*)", line)
            if match is None or int(match[1]) >= len(LABELS):
                raise ValueError(
                    f"{path}, line {number}: expected 'id <SEP> text' with an id from 0 to {len(LABELS) - 1}, got "
                    f"{line[:60]!r}"
                )
            ids.append(int(match[1]))
            texts.append(match[2].strip())
    labels = np.array(ids)
    return Examples([[text] for text in texts], [""] * len(texts), labels, one_hot(labels))


def read_crowd(folder: Path, agreed: bool = True) -> Examples:
    """Read the crowd labels on which two of three workers agreed, if the label is one of the 41.

    With `agreed=False`, read instead the dialogues on which they did not, if an answer is one of the 41; the label is
    the first of these answers.
    """
    dialogues, names, labels, answers = [], [], [], []
    for row in read_rows(folder / CROWD_FILES[0], ("DialogID", "Dialog", AGREED, *WORKERS)):
        label, turns = label_id(row[AGREED]), split_turns(row["Dialog"])
        given = [label_id(row[worker]) for worker in WORKERS]
        if not agreed:
            label = MISSING if label != MISSING else next((answer for answer in given if answer != MISSING), MISSING)
        if label != MISSING and turns:
            dialogues.append(turns)
            names.append(row["DialogID"])
            labels.append(label)
            answers.append(given)
    votes = np.zeros((len(labels), len(LABELS)), dtype=np.float32)
    for row_number, given in enumerate(answers):
        for answer in given:
            if answer != MISSING:
                votes[row_number, answer] += 1
    return Examples(dialogues, names, np.array(labels), votes / votes.sum(axis=1, keepdims=True))


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file that must have these columns.

    Raises:
        ValueError: it has not.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        there = reader.fieldnames or []
        if missing := [column for column in columns if column not in there]:
            raise ValueError(
                f"{path}: needs the columns {', '.join(columns)}; {', '.join(missing)} is not among its "
                f"{', '.join(there) or 'none'}"
            )
        yield from reader


def read_frequent(path: Path) -> Examples:
    """Read the hand-labelled frequent turns: YAML, each label with its list of turns."""
    pairs = [
        (turn, parse_label(name))
        for name, turns in yaml.safe_load(path.read_text(encoding="utf-8")).items()
        for turn in turns
    ]
    labels = np.array([label for _, label in pairs])
    return Examples([[turn] for turn, _ in pairs], [""] * len(pairs), labels, one_hot(labels))


def label_id(answer: str) -> int:
    """Return the id of a worker's answer, such as "Neutral (Other)", or MISSING if it is none of the 41."""
    return LABEL_IDS.get(answer.replace(" (Other)", "").strip().lower(), MISSING)


def one_hot(labels: Ints) -> Floats:
    """Return labels as rows of probabilities."""
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def embed(dialogues: Sequence[Sequence[str]], encoder: Encoder, cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, one dialogue behind the other, and the dialogues' offsets."""
    texts = [turn for turns in dialogues for turn in turns]
    offsets = np.cumsum([0, *(len(turns) for turns in dialogues)])
    key = hashlib.sha256("\n".join([encoder.identity, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy" if cache else None
    if path and path.is_file():
        return np.load(path), offsets
    # Runs store embeddings in half precision, so the heads learn from them as they will see them.
    embeddings = encoder.encode(texts).astype(np.float16).astype(np.float32)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, embeddings)
    return embeddings, offsets


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
