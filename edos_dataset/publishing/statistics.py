"""Counts of a config's rows, taken while its files are written; integers only, so that they do not depend on order or
shards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.schema import SPLITS
from edos_dataset.text import count_tokens

CONFIDENCE_BINS = 10
"""Number of bins of equal width from 0 to 1, for the confidence of labels."""

CERTAINTY_BINS = 10
"""Number of bins of equal width from 0 to 1, for the certainty of dialogues."""
_MILLION = 1_000_000

UNKNOWN = "not known"


def _by_split() -> dict[str, int]:
    return dict.fromkeys(SPLITS, 0)


@dataclass(kw_only=True)
class Statistics:
    """Counts of dialogues and turns.

    Attributes:
        rows: Split → number of dialogues.
        turns: Split → number of turns.
        tokens: Split → tokens of all turns, as `text.tokenize` counts them.
        labels: Label id → number of turns; empty without labels, as the next three.
        prompts: Label id → number of dialogues whose first turn has it (EDOS paper, Table 9).
        unlabelled: Number of turns that a model left without a label.
        label_sources: Model → number of turns that it labelled.
        confidence: Number of turns by the confidence of their label, in CONFIDENCE_BINS bins.
        certainty: Number of dialogues by their certainty, in CERTAINTY_BINS bins; a dialogue is in or above the bin
            that begins at b exactly if `certainty >= b`. Empty without such a column, as the next.
        certainty_millionths: Sum of the certainties in each bin, in millionths.
        unjudged: Number of dialogues whose certainty is null; 0 without such a column.
        languages: Language code → number of dialogues.
        kinds: Kind of the source file → number of dialogues.
        decades: "1990s" and the like, or UNKNOWN → number of dialogues.
        genres: Genre → number of dialogues, of which one may have several, or none.
        documents: Number of files that the dialogues come from; dialogues of one file are consecutive.
        untimed: Number of turns whose start is not known; 0 without such a column.
    """

    rows: dict[str, int] = field(default_factory=_by_split)
    turns: dict[str, int] = field(default_factory=_by_split)
    tokens: dict[str, int] = field(default_factory=_by_split)
    labels: dict[int, int] = field(default_factory=dict)
    prompts: dict[int, int] = field(default_factory=dict)
    unlabelled: int = 0
    label_sources: dict[str, int] = field(default_factory=dict)
    confidence: list[int] = field(default_factory=list)
    certainty: list[int] = field(default_factory=list)
    certainty_millionths: list[int] = field(default_factory=list)
    unjudged: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    decades: dict[str, int] = field(default_factory=dict)
    genres: dict[str, int] = field(default_factory=dict)
    documents: int = 0
    untimed: int = 0

    @property
    def total_rows(self) -> int:
        """Dialogues of all splits."""
        return sum(self.rows.values())

    @property
    def total_turns(self) -> int:
        """Turns of all splits."""
        return sum(self.turns.values())

    @property
    def total_tokens(self) -> int:
        """Tokens of all splits."""
        return sum(self.tokens.values())

    def sure(self, first: int = 0) -> tuple[int, float | None]:
        """Return the number of dialogues whose certainty is at least `first / CERTAINTY_BINS`, and the mean of their
        certainties, 0 to 1, or None if there is no such dialogue.
        """
        dialogues = sum(self.certainty[first:])
        return dialogues, sum(self.certainty_millionths[first:]) / _MILLION / dialogues if dialogues else None

    def add(self, split: str, table: pa.Table, previous: str | None = None) -> str | None:
        """Count rows of a published config.

        Args:
            split: Their split.
            table: The rows.
            previous: Document of the row before them in the split, or None for the first rows.

        Returns:
            The document of the last row.
        """
        turns, offsets = unnest(table, "turns")
        source = table["source"].combine_chunks()
        self.rows[split] += table.num_rows
        self.turns[split] += len(turns)
        self.tokens[split] += pc.sum(count_tokens(turns.field("text"))).as_py() or 0
        if "start" in turns.type.names:
            self.untimed += turns.field("start").null_count
        _count(self.languages, table["language"])
        _count(self.kinds, pc.struct_field(source, "kind"))
        if "genres" in source.type.names:
            _count(self.genres, pc.drop_null(pc.list_flatten(pc.struct_field(source, "genres"))))
        for year, count in _counted(pc.struct_field(source, "year")):
            decade = UNKNOWN if year is None else f"{year // 10 * 10}s"
            self.decades[decade] = self.decades.get(decade, 0) + count
        if "label" in turns.type.names:
            self._add_labels(turns, offsets)
        if "certainty" in table.column_names:
            self._add_certainty(table["certainty"])
        documents: list[str | None] = [previous, *table["document_id"].to_pylist()]
        self.documents += sum(one != other for one, other in pairwise(documents))
        return documents[-1]

    def include(self, other: "Statistics") -> None:
        """Add the counts of other rows; a document that occurs in both is counted twice."""
        for one in fields(Statistics):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if isinstance(theirs, dict):
                for key, count in theirs.items():
                    mine[key] = mine.get(key, 0) + count
            elif isinstance(theirs, list):
                setattr(self, one.name, _plus(mine, np.array(theirs)) if theirs else mine)
            else:
                setattr(self, one.name, mine + theirs)

    def _add_labels(self, turns: pa.StructArray, offsets: np.ndarray) -> None:
        labels = turns.field("label")
        self.unlabelled += labels.null_count
        if labels.null_count == len(labels):
            self.labels.setdefault(0, 0)  # there are labels, even if no turn has one
        _count(self.labels, pc.drop_null(labels))
        _count(self.prompts, pc.drop_null(labels.take(pa.array(offsets[:-1][np.diff(offsets) > 0]))))
        _count(self.label_sources, turns.field("label_source"))
        known = pc.drop_null(turns.field("confidence")).to_numpy()
        bins = np.clip(known * CONFIDENCE_BINS, 0, CONFIDENCE_BINS - 1).astype(np.int64)
        self.confidence = _plus(self.confidence, np.bincount(bins, minlength=CONFIDENCE_BINS))

    def _add_certainty(self, certainty: pa.ChunkedArray) -> None:
        self.unjudged += certainty.null_count
        # As doubles, as a reader of the data compares them.
        known = pc.drop_null(certainty).to_numpy().astype(np.float64)
        bins = np.clip(known * CERTAINTY_BINS, 0, CERTAINTY_BINS - 1).astype(np.int64)
        sums = np.bincount(bins, np.rint(known * _MILLION), CERTAINTY_BINS)  # whole numbers, so exact
        self.certainty = _plus(self.certainty, np.bincount(bins, minlength=CERTAINTY_BINS))
        self.certainty_millionths = _plus(self.certainty_millionths, sums)


S = TypeVar("S", bound=Statistics)


def from_record(kind: type[S], record: Mapping[str, Any]) -> S:
    """Return statistics from the JSON of their `vars`, in which label ids have become texts.

    Raises:
        TypeError: The record has other fields, for example those of another version.
    """
    restored = {
        name: {int(label): count for label, count in record[name].items()}
        for name in ("labels", "prompts")
        if name in record
    }
    return kind(**{**record, **restored})


def _plus(before: list[int], counts: np.ndarray) -> list[int]:
    """Return the sum of the counts of bins; `before` may be empty."""
    total: list[int] = (counts.astype(np.int64) + (before or 0)).tolist()
    return total


def _counted(values: pa.Array | pa.ChunkedArray) -> list[tuple[Any, int]]:
    return [(entry["values"], entry["counts"]) for entry in pc.value_counts(values).to_pylist()]


def _count(counts: dict[Any, int], values: pa.Array | pa.ChunkedArray) -> None:
    """Add the frequency of each value."""
    for value, count in _counted(values):
        key = UNKNOWN if value is None else value
        counts[key] = counts.get(key, 0) + count
