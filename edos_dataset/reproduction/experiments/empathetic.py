"""EmpatheticDialogues with the authors' labels of its turns (EDOS, Section 4; Xie and Pu, Table 3)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.analysis import divergence_intervals, kl_divergence
from edos_dataset.arrays import Ints
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.publishing.cards.paper_figures import BY_LABEL
from edos_dataset.releases.raw import Row, read_conversations
from edos_dataset.reproduction.results import Data, Estimate, Measured
from edos_dataset.text import count_tokens

BLOCKS = 200
"""Conversations are drawn in so many blocks for intervals."""

_NEUTRAL = len(LABELS) - 1


@cache
def _conversations(folder: Path) -> tuple[Row, ...]:
    return tuple(read_annotated(folder, [each for each in EMOTIONS if (folder / f"{each}.csv").exists()]))


def read_annotated(folder: Path, emotions: Sequence[str] = EMOTIONS) -> Iterator[Row]:
    """Yield the conversations of EmpatheticDialogues with the authors' labels, emotion by emotion.

    Args:
        folder: folder with a CSV file for each emotion.
        emotions: those to read.

    Raises:
        FileNotFoundError: the file of an emotion is missing.
    """
    for emotion in emotions:
        conversations = read_conversations(folder / f"{emotion}.csv", annotated=True)
        yield from (row for row in conversations if isinstance(row, dict))


def _labels(data: Data) -> tuple[list[Ints], Ints]:
    """Return the labels of each conversation, and the counts of labels by block, [BLOCKS, labels]."""
    rows = _conversations(data.path("empathetic_dialogues", "annotated"))
    labels = [np.array([turn["label"] for turn in row["turns"]], np.int64) for row in rows]
    blocks = np.zeros((BLOCKS, len(LABELS)), np.int64)
    for number, own in enumerate(labels):
        np.add.at(blocks[number % BLOCKS], own, 1)
    return labels, blocks


def sizes(data: Data) -> Mapping[str, Measured]:
    """Count conversations, turns and tokens (Xie and Pu, Table 3)."""
    rows = _conversations(data.path("empathetic_dialogues", "annotated"))
    turns = sum(len(row["turns"]) for row in rows)
    texts = pa.array([turn["text"] for row in rows for turn in row["turns"]], pa.string())
    tokens = pc.sum(count_tokens(texts)).as_py()
    return {
        "dialogues": Measured(Estimate(len(rows), number=len(rows))),
        "turns": Measured(Estimate(turns, number=len(rows))),
        "turns a dialogue": Measured(Estimate(round(turns / len(rows), 2), number=len(rows))),
        "tokens a turn": Measured(Estimate(round(tokens / turns, 2), number=turns)),
    }


def labels(data: Data) -> Mapping[str, Measured]:
    """Look at the distribution of labels (EDOS, Figure 2)."""
    _, blocks = _labels(data)
    counts = blocks.sum(axis=0)
    intents = counts[len(EMOTIONS) : _NEUTRAL].sum() / counts.sum()
    number = int(counts.sum())
    return {
        "questioning is the most frequent label": Measured(
            Estimate(LABELS[int(counts.argmax())] == "questioning", number=number)
        ),
        "intents have more than a third of the turns": Measured(Estimate(bool(intents > 1 / 3), number=number)),
    }


def divergence(data: Data) -> Mapping[str, Measured]:
    """Measure the divergence of the labels of EDOS (Table 9) from those of EmpatheticDialogues (EDOS, Section 4.2).

    The paper states neither logarithm nor smoothing, nor whether neutral counts; nats without neutral come closest
    (`evaluation/label_divergence.py`). Only the sums of EDOS are known, so it is not resampled.
    """
    edos = np.array([turns for _, turns in BY_LABEL[:_NEUTRAL]], np.int64)
    conversations, blocks = _labels(data)
    theirs = blocks[:, :_NEUTRAL]
    low, high = divergence_intervals(np.stack([edos, edos]), theirs, smoothing=0)["kl"]
    value = round(kl_divergence(edos, theirs.sum(axis=0)), 4)
    return {"KL, nats": Measured(Estimate(value, low, high, len(conversations), 0))}


def what_follows(data: Data) -> Mapping[str, Measured]:
    """Look at what follows an emotion (EDOS, Section 4; OSED, Section 5)."""
    after = np.zeros((len(LABELS), len(LABELS)), np.int64)
    for own in _labels(data)[0]:
        np.add.at(after, (own[:-1], own[1:]), 1)
    emotions = after[: len(EMOTIONS)]
    leading = {LABELS[place] for place in np.argsort(-emotions.sum(axis=0))[:3]}
    same = float((emotions[:, : len(EMOTIONS)].argmax(axis=1) == np.arange(len(EMOTIONS))).mean())
    number = int(emotions.sum())
    return {
        "questioning, acknowledging and agreeing lead after emotions": Measured(
            Estimate(leading == {"questioning", "acknowledging", "agreeing"}, number=number)
        ),
        "the most frequent emotion after an emotion is the same one": Measured(
            Estimate(bool(same > 0.5), number=number)
        ),
    }
