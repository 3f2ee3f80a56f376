"""The embeddings that `edos curate` left in the runs of its folders, for dialogues that are read from there again.

They are not published, but where a recipe embeds turns (the stage "encode") the shards that it wrote hold them. The
last bit of one in four hundred float16 numbers is another one than if the pool were embedded anew, whose batches are
others; that encoder must be the one of the extension, as with `--weak-model linear-weak` and all-MiniLM-L6-v2.
Memory: the ids of the dialogues and 8 bytes for each, and the shards that one table comes from.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.runs.shards import read_record, read_shard

_EMBEDDINGS = ("embeddings", "embedded_by")


@dataclass
class CuratedEmbeddings:
    """Finds the embeddings of dialogues by their ids.

    Attributes:
        shards: files with embeddings.
        ids: dialogues in them.
        places: [dialogues] shard and row of each, in one number.
    """

    shards: list[Path] = field(default_factory=list)
    ids: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    places: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def find(cls, sources: Iterable[Path], identity: str) -> "CuratedEmbeddings":
        """Look through the runs of those sources that are folders of `edos curate`.

        Args:
            sources: of a pool.
            identity: of the encoder whose embeddings are wanted.
        """
        shards: list[Path] = []
        ids, places = [pa.array([], pa.string())], [np.empty(0, np.int64)]
        for shard in (shard for source in sources for shard in _embedded(source / ".run")):
            table = read_shard(shard, ["dialogue_id", "embedded_by"])
            rows = np.flatnonzero(pc.equal(table["embedded_by"], identity).fill_null(False).to_numpy())
            ids.append(table["dialogue_id"].take(pa.array(rows)).combine_chunks())
            places.append((len(shards) << 32) + rows)
            shards.append(shard)
        return cls(shards, pa.concat_arrays(ids), np.concatenate(places))

    def added(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield tables of dialogues, with the columns of ENCODED for embeddings where all of a table's are there."""
        for table in tables:
            found = pc.index_in(table["dialogue_id"].combine_chunks(), value_set=self.ids)
            yield table if found.null_count or not len(table) else self._with(table, self.places[found.to_numpy()])

    def _with(self, table: pa.Table, places: np.ndarray) -> pa.Table:
        """Add the embeddings at some places, if the dialogues there say the same."""
        numbers = np.unique(places >> 32)
        columns = ["dialogue_id", "turns.list.element.text", *_EMBEDDINGS]
        there = [read_shard(self.shards[number], columns) for number in numbers]
        starts = np.cumsum([0, *map(len, there)])[np.searchsorted(numbers, places >> 32)]
        rows = pa.concat_tables(there).take(pa.array(starts + (places & 0xFFFFFFFF)))
        if _said(rows) != _said(table):  # a folder of another content, or one that was edited
            return table
        for name in _EMBEDDINGS:
            table = table.append_column(name, rows[name])
        return table


def _embedded(run: Path) -> Sequence[Path]:
    """Return the shards of the first phase that embeds dialogues; those of later ones have some of these."""
    for phase in sorted(run.glob("[0-9][0-9]-*")):
        shards = [path for path in sorted(phase.glob("*.parquet")) if read_record(path, verify=False)]
        if shards and "embeddings" in pq.read_schema(shards[0]).names:
            return shards
    return []


def _said(table: pa.Table) -> tuple[list[str], list[int]]:
    """Return the texts of the turns, and where each dialogue begins."""
    turns, offsets = unnest(table, "turns")
    return turns.field("text").to_pylist(), offsets.tolist()
