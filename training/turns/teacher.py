"""Soft labels: the probabilities of a slow scorer, from which a fast one learns on all boundaries, labelled or not.

Scores are cached document by document, so that an interrupted run resumes.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Floats, unnest
from edos_dataset.segmentation.turns.context import ContextScorer
from edos_dataset.segmentation.turns.scorers import BlendScorer, TurnScorer
from training.caches import kept
from training.loop import precision_of

TAUGHT = "taught"
"""Column of the teacher's probabilities of "same turn", a list of float32 for each document; null without one."""

_SECONDS = 60.0  # between two lines of progress


def with_teacher(
    table: pa.Table, teacher: TurnScorer, folder: Path, left_out: frozenset[str], report: Callable[[str], None]
) -> pa.Table:
    """Return documents with the column TAUGHT.

    Args:
        table: LABELLED.
        teacher: scores each document by itself.
        folder: cache of the scores, one file for each document and teacher.
        left_out: corpora that the teacher does not score.
        report: called with a line of progress every minute.
    """
    rows: list[Floats | None] = []
    sentences, offsets = unnest(table, "sentences")
    total, last = len(sentences), time.perf_counter()
    for number, (corpus, (begin, end)) in enumerate(zip(table["corpus"].to_pylist(), pairwise(offsets), strict=True)):
        if corpus in left_out:
            rows.append(None)
            continue
        document = table.slice(number, 1)
        path = folder / teacher.identity / f"{_key(document)}.npy"
        rows.append(kept(path, end - begin, partial(teacher.same_turn, document)))
        if time.perf_counter() - last > _SECONDS:
            report(f"soft labels: {end:,} of {total:,} sentences")
            last = time.perf_counter()
    column = pa.array(rows, pa.list_(pa.float32()))
    return table.append_column(TAUGHT, column)


S = TypeVar("S", bound=TurnScorer)


def in_haste(scorer: S, threads: int) -> S:
    """Return a scorer whose encoder, if it has one, uses some threads of torch, and bfloat16 where that is faster."""
    if isinstance(scorer, ContextScorer):
        return replace(scorer, threads=threads, half=precision_of("auto") == "bf16")
    if isinstance(scorer, BlendScorer):
        parts: Any = tuple(in_haste(part, threads) for part in cast(tuple[Any, ...], scorer.parts))
        return replace(scorer, parts=parts)
    return scorer


def soft_targets(table: pa.Table, label: npt.NDArray[np.int8], weight: Floats, share: float) -> tuple[Floats, Floats]:
    """Return targets (0 to 1) and weights of boundaries, [sentences], labels and teacher mixed.

    The cross-entropy with them is the one with the labels times 1 - `share`, plus the one with the teacher's
    probabilities times `share` (Hinton et al., 2015, at temperature 1).

    Args:
        table: documents, with TAUGHT if there is a teacher.
        label: 1 same turn, 0 new turn, -1 unknown.
        weight: of the labels; 0 where there is none.
        share: weight of the teacher, 0 to 1.
    """
    known = np.maximum(label, 0).astype(np.float32)
    if TAUGHT not in table.column_names or not share:
        return known, weight
    lengths = np.diff(unnest(table, "sentences")[1])
    soft = np.concatenate(
        [
            np.full(length, np.nan, np.float32) if row is None else np.asarray(row, np.float32)
            for row, length in zip(table[TAUGHT].to_pylist(), lengths, strict=True)
        ]
    )
    there = ~np.isnan(soft)
    mixed = np.where(there, (1 - share) * weight + share, weight).astype(np.float32)
    both = (1 - share) * weight * known + share * np.nan_to_num(soft)
    return np.where(there, both / np.maximum(mixed, 1e-9), known).astype(np.float32), mixed


def _key(document: pa.Table) -> str:
    text = json.dumps(document.select(["language", "sentences"]).to_pylist(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
