"""The labelled dialogues for weak labelers and dialogue classifiers: reading, embedding, splitting."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.augmentation.labelled import READABLE, Labelled, labelled_path, read_labelled
from edos_dataset.crowd.answers import AGREED, Answers, read_answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import link, plain_text, share_out
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.label_sets import label_set_of
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.releases.raw import Reject, Row, read_weak_labeler
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.schema import SPLITS
from training.caches import kept, key_of

WEAK_FILES = ("empathetic_dialogues/weak_labeler/train.txt", "empathetic_dialogues/weak_labeler/valid.txt")
CROWD_FILES = ("edos_amt/mturk_groundtruth_labels.csv",)
WEAK_LICENCE = "EmpatheticDialogues: CC BY-NC 4.0"
CROWD_LICENCE = "EDOS crowd labels: CC BY 4.0; the dialogues are subtitles under their studios' copyright"


@dataclass(frozen=True)
class Examples:
    """Labelled dialogues; `label` and `targets` (probabilities over the 41 labels) belong to the last turn."""

    dialogues: list[list[str]]
    names: list[str]
    labels: Ints
    targets: Floats


def report(line: str) -> None:
    """Print a line about the training's progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def read_weak(folder: Path) -> Examples:
    """Read the training set of the weak labeler."""
    return single_turns([pair for name in WEAK_FILES for pair in read_weak_labeler(folder / name)])


def read_crowd(folder: Path, agreed: bool = True) -> Examples:
    """Read the crowd labels on which two of three workers agreed, if the label is one of the 41.

    With `agreed=False`, read the dialogues on which they did not agree instead, if an answer is one of the 41; the
    label is the first such answer.

    Raises:
        ValueError: the file does not state which answers agree; otherwise as for `read_answers`.
    """
    path = folder / CROWD_FILES[0]
    answers = read_answers(path)
    if not answers.stated:
        raise ValueError(
            f"{path} has no column {AGREED!r}: give the authors' file, with the labels that they call agreed"
        )
    given = _answers_by_task(answers)
    labels = [label_id(stated) for stated in answers.stated]
    if not agreed:
        labels = [_first(own) if label == MISSING else MISSING for label, own in zip(labels, given, strict=True)]
    rows = [row for row, label in enumerate(labels) if label != MISSING and answers.dialogues[row]]
    votes = np.array([_votes(given[row]) for row in rows], np.float32).reshape(-1, len(LABELS))
    return Examples(
        [answers.dialogues[row] for row in rows],
        [answers.names[row] for row in rows],
        np.array([labels[row] for row in rows], np.int64),
        votes / votes.sum(axis=1, keepdims=True),
    )


def _answers_by_task(answers: Answers) -> list[list[int]]:
    """Return the label ids that each task received; MISSING for answers that are not one of the 41."""
    given: list[list[int]] = [[] for _ in answers.tasks]
    for task, answer in zip(answers.task, answers.given, strict=True):
        given[task].append(label_id(answer))
    return given


def _votes(labels: Sequence[int]) -> Ints:
    known = np.array(labels, np.int64)
    return np.bincount(known[known != MISSING], minlength=len(LABELS))


def _first(labels: Sequence[int]) -> int:
    return next((label for label in labels if label != MISSING), MISSING)


def read_frequent(path: Path) -> Examples:
    """Read the hand-labelled frequent turns from YAML: label → list of turns."""
    by_label: dict[str, list[str]] = read_yaml(path)
    return single_turns([(turn, parse_label(name)) for name, turns in by_label.items() for turn in turns])


def single_turns(pairs: Sequence[tuple[str, int]]) -> Examples:
    """Return single turns without a history, from their texts and label ids."""
    labels = np.array([label for _, label in pairs], np.int64)
    return Examples([[text] for text, _ in pairs], [""] * len(pairs), labels, one_hot(labels))


def labelled_last(rows: Iterable[Row | Reject]) -> Examples:
    """Return the dialogues of a release whose rows have the label of the last turn, without rejected rows."""
    kept_rows = [row for row in rows if not isinstance(row, Reject)]
    labels = np.array([row["label"] for row in kept_rows], np.int64)
    dialogues = [[turn["text"] for turn in row["turns"]] for row in kept_rows]
    return Examples(dialogues, [""] * len(kept_rows), labels, one_hot(labels))


def label_id(answer: str) -> int:
    """Return the id of the label that an answer such as "Neutral (Other)" names, or MISSING if it is not one of the 41.

    Misspelt and written-out forms, which the seed accepts, are MISSING here, as when the shipped models were trained.
    """
    meaning = read_answer(answer)
    return meaning.label if meaning.way == "exact" else MISSING


def one_hot(labels: Ints) -> Floats:
    """Return labels as one-hot rows."""
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def embed(dialogues: Sequence[Sequence[str]], encoder: Encoder, cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, one dialogue after another, and the dialogues' offsets. Embeddings are
    cached.
    """
    texts = [turn for turns in dialogues for turn in turns]
    offsets = np.cumsum([0, *(len(turns) for turns in dialogues)])

    def encode() -> Floats:
        # Runs store embeddings in half precision, so the heads are trained on rounded embeddings too.
        return encoder.encode(texts).astype(np.float16).astype(np.float32)

    return kept(cache and cache / f"{key_of([encoder.identity, *texts])}.npy", len(texts), encode), offsets


def split(examples: Examples, vectors: Floats, pinned: Bools, recipe: dict[str, Any]) -> Ints:
    """Return the split of every example (0 train, 1 validation, 2 test), with equal fractions of every label.

    Examples stay together if they have the same name or the same last turn (letters and digits, lower-cased), or if the
    embeddings of their last turns are near. The group of a pinned example is in the training split.
    """
    keys = [
        ["text " + plain_text(turns[-1])] + (["name " + name] if name else [])
        for turns, name in zip(examples.dialogues, examples.names, strict=True)
    ]
    return share_out(
        link(keys, vectors, recipe["near_duplicate"]), examples.labels, recipe["shares"], recipe["seed"], pinned
    )


PEOPLE = "crowd"


@dataclass(frozen=True)
class LabelledRows:
    """The rows of one split, without unlabelled ones.

    Attributes:
        rows: dialogues, labels, soft labels and weights (1, unless the set has a column `weight`).
        methods: [n], the origin of each label: "crowd", "spread" or "self-label".
        steps: int64 [n], number of the step that gave the label, 0 for the seed.
    """

    rows: Labelled
    methods: list[str]
    steps: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def by_people(self) -> Bools:
        """[n], whether people gave the label."""
        return np.array([method == PEOPLE for method in self.methods], bool)

    def take(self, chosen: Bools) -> Labelled:
        """Return the rows selected by a mask."""
        turns = [turns for turns, keep in zip(self.rows.turns, chosen.tolist(), strict=True) if keep]
        rows = self.rows
        return Labelled(turns, rows.labels[chosen], rows.targets[chosen], rows.weights[chosen], rows.label_set)


def labelled_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet file of every split that exists.

    Raises:
        FolderError: there is no training split.
    """
    files = {split: path for split in SPLITS if (path := labelled_path(folder, split))}
    if "train" not in files:
        raise FolderError(
            f"{folder} has no {' or '.join(READABLE)}/train-00000-of-00001.parquet: give a folder that `edos crowd "
            "seed` or `edos extend` wrote"
        )
    return files


def read_labelled_rows(folder: Path, split: str) -> LabelledRows:
    """Read a split; a missing split is empty. A file without the columns `method` and `step` is a seed, labelled by
    people.

    Raises:
        FolderError: as for `labelled_files`.
        ValueError: as for `read_labelled`.
    """
    files = labelled_files(folder)
    path = files.get(split)
    if path is None:
        labels = label_set_of(pq.read_schema(files["train"]))
        nothing = np.zeros((0, len(labels)), np.float32)
        return LabelledRows(
            Labelled([], np.zeros(0, np.int64), nothing, nothing[:, 0], labels), [], np.zeros(0, np.int64)
        )
    rows = read_labelled(folder, split)
    with pq.ParquetFile(path) as file:
        there = [name for name in ("method", "step") if name in file.schema_arrow.names]
        table = file.read(columns=["label", *there])
    columns = table.filter(table["label"].is_valid()).to_pydict()
    return LabelledRows(
        rows, columns.get("method", [PEOPLE] * len(rows)), np.array(columns.get("step", [0] * len(rows)), np.int64)
    )
