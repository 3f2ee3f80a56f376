"""What is counted of a config while its files are written; integers only, so that neither order nor shards show in
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.schema import SPLITS
from edos_dataset.text import count_tokens

CONFIDENCE_BINS = 10
"""Bins of equal width from 0 to 1."""

UNKNOWN = "not known"


def _by_split() -> dict[str, int]:
    return dict.fromkeys(SPLITS, 0)


@dataclass(kw_only=True)
class Statistics:
    """Counts of dialogues and turns.

    Attributes:
        rows: split to number of dialogues.
        turns: split to number of turns.
        tokens: split to tokens of all turns, as `text.tokenize` counts them.
        labels: label id to number of turns, for the labelled configs.
        prompts: label id to number of dialogues whose first turn has it (EDOS paper, Table 9); likewise.
        label_sources: model to number of turns that it labelled; likewise.
        confidence: number of turns by the confidence of their label, in CONFIDENCE_BINS bins; empty where there are no
            labels.
        languages: language code to number of dialogues.
        kinds: kind of the source file to number of dialogues.
        decades: "1990s" and the like, or UNKNOWN, to number of dialogues.
        genres: genre to number of dialogues, of which one may have several, or none.
        documents: number of files that the dialogues are from; those of one file stand one after the other.
        untimed: number of turns of which the source gives no start.
    """

    rows: dict[str, int] = field(default_factory=_by_split)
    turns: dict[str, int] = field(default_factory=_by_split)
    tokens: dict[str, int] = field(default_factory=_by_split)
    labels: dict[int, int] = field(default_factory=dict)
    prompts: dict[int, int] = field(default_factory=dict)
    label_sources: dict[str, int] = field(default_factory=dict)
    confidence: list[int] = field(default_factory=list)
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

    def add(self, split: str, table: pa.Table, previous: str | None = None) -> str | None:
        """Count some rows of a published config.

        Args:
            split: theirs.
            table: the rows.
            previous: document of the row before them in the split, or None for the first rows.

        Returns:
            The document of the last row.
        """
        turns, offsets = unnest(table, "turns")
        source = table["source"].combine_chunks()
        self.rows[split] += table.num_rows
        self.turns[split] += len(turns)
        self.tokens[split] += pc.sum(count_tokens(turns.field("text"))).as_py() or 0
        self.untimed += turns.field("start").null_count
        _count(self.languages, table["language"])
        _count(self.kinds, pc.struct_field(source, "kind"))
        _count(self.genres, pc.drop_null(pc.list_flatten(pc.struct_field(source, "genres"))))
        for year, count in _counted(pc.struct_field(source, "year")):
            decade = UNKNOWN if year is None else f"{year // 10 * 10}s"
            self.decades[decade] = self.decades.get(decade, 0) + count
        if "label" in turns.type.names:
            self._add_labels(turns, offsets)
        documents: list[str | None] = [previous, *table["document_id"].to_pylist()]
        self.documents += sum(one != other for one, other in pairwise(documents))
        return documents[-1]

    def _add_labels(self, turns: pa.StructArray, offsets: np.ndarray) -> None:
        labels = turns.field("label")
        _count(self.labels, labels)
        _count(self.prompts, labels.take(pa.array(offsets[:-1][np.diff(offsets) > 0])))
        _count(self.label_sources, turns.field("label_source"))
        bins = np.clip(
            pc.fill_null(turns.field("confidence"), 0).to_numpy() * CONFIDENCE_BINS, 0, CONFIDENCE_BINS - 1
        ).astype(np.int64)
        before = self.confidence or [0] * CONFIDENCE_BINS
        self.confidence = (np.bincount(bins, minlength=CONFIDENCE_BINS) + before).tolist()


S = TypeVar("S", bound=Statistics)


def from_record(kind: type[S], record: Mapping[str, Any]) -> S:
    """Return statistics from what `vars` gave and JSON kept, in which the label ids have become texts.

    Raises:
        TypeError: the record has other fields, as one of another version may.
    """
    restored = {
        name: {int(label): count for label, count in record[name].items()}
        for name in ("labels", "prompts")
        if name in record
    }
    return kind(**{**record, **restored})


def _counted(values: pa.Array | pa.ChunkedArray) -> list[tuple[Any, int]]:
    return [(entry["values"], entry["counts"]) for entry in pc.value_counts(values).to_pylist()]


def _count(counts: dict[Any, int], values: pa.Array | pa.ChunkedArray) -> None:
    """Add how often each value comes."""
    for value, count in _counted(values):
        key = UNKNOWN if value is None else value
        counts[key] = counts.get(key, 0) + count
