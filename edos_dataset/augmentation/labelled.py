"""Training data of classifiers: dialogues with the label of their last turn, in memory and as Parquet files."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Floats, Ints
from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of, load_label_set
from edos_dataset.label_sets.configs import schema_of_set
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError, check_whole, only_file
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema import EXTENDED, LAST_TURN_LABEL_CONFIGS

EDOS = load_label_set(DEFAULT)

READABLE = tuple(reversed(LAST_TURN_LABEL_CONFIGS))
"""The configs that can be learned from; the extended set comes first, as it contains the seed."""


@dataclass(frozen=True)
class Labelled:
    """Dialogues with labels.

    Attributes:
        turns: turns of each, oldest first, at least one; the label belongs to the last one.
        labels: int64 [n], label ids, 0 to 40 for those of EDOS.
        targets: float32 [n, labels], probabilities of the labels, for learners that can learn from them.
        weights: float32 [n], how much a dialogue counts, 0 or more.
        label_set: the labels.
    """

    turns: Sequence[Sequence[str]]
    labels: Ints
    targets: Floats
    weights: Floats
    label_set: LabelSet = EDOS

    def __post_init__(self) -> None:
        """Raise ValueError if the fields differ in length or a value is out of range."""
        size, width = len(self.turns), len(self.label_set)
        if self.labels.shape != (size,) or self.targets.shape != (size, width) or self.weights.shape != (size,):
            shapes = f"{list(self.labels.shape)}, {list(self.targets.shape)} and {list(self.weights.shape)}"
            raise ValueError(
                f"{size} dialogues need labels [{size}], targets [{size}, {width}] and weights [{size}], got {shapes}"
            )
        rows = np.arange(size)
        for name, wrong in (
            ("no turns", np.fromiter((not turns for turns in self.turns), bool, size)),
            (f"a label that is no id from 0 to {width - 1}", (self.labels < 0) | (self.labels >= width)),
            ("a weight that is not 0 or more", ~(self.weights >= 0)),
            (
                "targets that are no probabilities",
                ~((self.targets >= 0).all(axis=1) & (np.abs(self.targets.sum(axis=1) - 1) < 0.01)),
            ),
        ):
            if wrong.any():
                raise ValueError(f"dialogue {rows[wrong][0]} (from 0) has {name}")

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return len(self.turns)

    @cached_property
    def identity(self) -> str:
        """Digest (16 hex digits) of all fields, for fingerprints."""
        sha256 = hashlib.sha256(np.array([len(turns) for turns in self.turns], "<i8").tobytes())
        for text in chain.from_iterable(self.turns):
            raw = text.encode("utf-8", "surrogatepass")
            sha256.update(b"%d:" % len(raw) + raw)
        for values, kind in ((self.labels, "<i8"), (self.targets, "<f4"), (self.weights, "<f4")):
            sha256.update(np.ascontiguousarray(values, kind).tobytes())
        return sha256.hexdigest()[:16]


def one_hot(labels: Ints) -> Floats:
    """Return labels as probabilities, float32 [n, 41]: 1 for the label and 0 for all others."""
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def write_labelled(folder: Path, parts: Mapping[str, Labelled]) -> None:
    """Write dialogues in the columns of the config "extended", for a program that learns from such a folder.

    The origin of a label is not known here, so all rows count as the seed (method "crowd", step 0). An additional
    column, `weight`, holds the weights.

    Args:
        folder: gets `extended/SPLIT-00000-of-00001.parquet`, written atomically; made if needed.
        parts: dialogues by name of the split.
    """
    for split, part in parts.items():
        schema = schema_of_set(EXTENDED, part.label_set).append(pa.field("weight", pa.float32()))
        columns = [
            [f"{split}-{row}" for row in range(len(part))],
            [
                [{"text": turn, "start": None, "end": None, "sentence_ids": []} for turn in turns]
                for turns in part.turns
            ],
            part.labels.tolist(),
            part.targets.tolist(),
            ["crowd"] * len(part),
            *[[0] * len(part)] * 2,
            *[[None] * len(part)] * 3,
            part.weights.tolist(),
        ]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        write_shard(only_file(folder, EXTENDED, split), pa.table(arrays, schema=schema))


def read_labelled(folder: Path, split: str) -> Labelled:
    """Read a split of a data set that `edos extend`, `edos crowd seed` or `write_labelled` wrote.

    Dialogues without a label are left out. The weights are those of `write_labelled`, or 1 if there are none.

    Raises:
        FolderError: the data set has no such split.
        ValueError: a column is missing, or `Labelled` rejects the rows.
    """
    path = labelled_path(folder, split)
    if path is None:
        raise FolderError(
            f"{folder} has no {split} split: expected "
            f"{' or '.join(only_file(Path(), config, split).as_posix() for config in READABLE)} in it"
        )
    try:
        return labelled_of(pq.read_table(path))
    except (KeyError, TypeError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError too
        raise ValueError(
            f"{path} is no Parquet file with the columns turns, label and soft_label of labelled dialogues: {error}"
        ) from error


def labelled_path(folder: Path, split: str) -> Path | None:
    """Return the Parquet file of a split of such a data set, or None if there is none.

    Raises:
        FolderError: the folder is unfinished.
    """
    check_whole(folder)
    return next((path for config in READABLE if (path := only_file(folder, config, split)).is_file()), None)


def labelled_of(table: pa.Table) -> Labelled:
    """Return the rows of such a data set that have a label.

    Raises:
        KeyError: a column is missing.
        ValueError: `Labelled` rejects the rows.
    """
    table = table.filter(table["label"].is_valid())
    turns = [[turn["text"] for turn in turns] for turns in table["turns"].to_pylist()]
    labels = label_set_of(table.schema)
    targets = np.array(table["soft_label"].to_pylist(), np.float32).reshape(-1, len(labels))
    weights = table["weight"].to_numpy() if "weight" in table.column_names else np.ones(len(turns))
    return Labelled(turns, table["label"].to_numpy().astype(np.int64), targets, weights.astype(np.float32), labels)
