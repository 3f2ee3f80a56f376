"""Vectors of turns and of dialogues, kept as float16 shards.

A dialogue's vector is the weighted mean of its turns' embeddings, scaled to length 1. Each turn weighs half as much as
the one after it (EDOS, Section 3.3: 4/7, 2/7, 1/7 for three turns). The authors' code computes the weights as powers
of two in 64-bit integers, which overflow at 64 turns; here they are 2^-age, for any number of turns.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, unnest
from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.runs.shards import ShardRecord, digest, read_record, read_shard, replacing, write_record

_EMBEDDINGS = ("embeddings", "embedded_by")


@dataclass
class CuratedEmbeddings:
    """Finds the embeddings of dialogues by their ids.

    Attributes:
        shards: files with embeddings.
        ids: ids of the dialogues in them.
        places: [dialogues] shard << 32 | row.
    """

    shards: list[Path] = field(default_factory=list)
    ids: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    places: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def find(cls, sources: Iterable[Path], identity: str) -> "CuratedEmbeddings":
        """Return the embeddings in the sources that `edos curate` wrote.

        Args:
            sources: the sources of a pool.
            identity: identity of the encoder.
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
        """Yield the tables, with ENCODED's embedding columns where all dialogues of a table have known embeddings."""
        for table in tables:
            found = pc.index_in(table["dialogue_id"].combine_chunks(), value_set=self.ids)
            yield table if found.null_count or not len(table) else self._with(table, self.places[found.to_numpy()])

    def _with(self, table: pa.Table, places: np.ndarray) -> pa.Table:
        """Add the embeddings at some places, if the dialogues there have the same texts."""
        numbers = np.unique(places >> 32)
        columns = ["dialogue_id", "turns.list.element.text", *_EMBEDDINGS]
        there = [read_shard(self.shards[number], columns) for number in numbers]
        starts = np.cumsum([0, *map(len, there)])[np.searchsorted(numbers, places >> 32)]
        rows = pa.concat_tables(there).take(pa.array(starts + (places & 0xFFFFFFFF)))
        if _said(rows) != _said(table):  # the folder has other content, or was edited
            return table
        for name in _EMBEDDINGS:
            table = table.append_column(name, rows[name])
        return table


def _embedded(run: Path) -> Sequence[Path]:
    """Return the shards of the first phase that embeds dialogues; later phases hold a subset of them."""
    for phase in sorted(run.glob("[0-9][0-9]-*")):
        shards = [path for path in sorted(phase.glob("*.parquet")) if read_record(path, verify=False)]
        if shards and "embeddings" in pq.read_schema(shards[0]).names:
            return shards
    return []


def _said(table: pa.Table) -> tuple[list[str], list[int]]:
    """Return the texts of the turns, and the position at which each dialogue begins."""
    turns, offsets = unnest(table, "turns")
    return turns.field("text").to_pylist(), offsets.tolist()


Halves = npt.NDArray[np.float16]
Offsets = npt.NDArray[np.integer[Any]]
HALF = 0.5
_VERSION = 1  # of the arithmetic below; changing it invalidates the shards of dialogues


def decaying_means(embeddings: Floats, offsets: Offsets, decay: float = HALF) -> Floats:
    """Return the weighted mean of each dialogue's embeddings, float32 [dialogues, dim].

    The weights are decay^age, 1 for the last turn, divided by their sum.

    Args:
        embeddings: float32 [turns, dim], the turns of all dialogues one after another, oldest first.
        offsets: [dialogues + 1], ascending from 0 to the number of turns.
        decay: weight of a turn relative to the next one, from just above 0 (almost only the last turn counts) to 1
            (all count equally).

    Raises:
        ValueError: the decay is out of range, the offsets do not cover the turns, or a dialogue has no turn.
    """
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be above 0 and at most 1, got {decay}")
    lengths = np.diff(offsets)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(embeddings) or (lengths < 0).any():
        raise ValueError(
            f"offsets must rise from 0 to the number of turns, {len(embeddings)}, got "
            f"{np.asarray(offsets).tolist()[:8]} ..."
        )
    if not lengths.all():
        raise ValueError(f"dialogue {int(np.argmin(lengths))} has no turns, and so no vector: leave it out")
    ages = np.repeat(offsets[1:] - 1, lengths) - np.arange(len(embeddings))
    powers = decay ** ages.astype(np.float64)  # the oldest turns of a long dialogue weigh 0
    sums = np.add.reduceat(powers, offsets[:-1]) if len(lengths) else np.zeros(0)
    weights = (powers / np.repeat(sums, lengths)).astype(np.float32)
    means: Floats = csr_array(
        (weights, np.arange(len(weights)), offsets), shape=(len(lengths), len(weights))
    ) @ np.asarray(embeddings, np.float32)
    return means


def means_in_context(embeddings: Floats, offsets: Offsets, history: int | None = None, decay: float = HALF) -> Floats:
    """Return the `decaying_means` of the dialogue up to each turn, float32 [turns, dim].

    Args:
        embeddings: as for `decaying_means`.
        offsets: as for `decaying_means`.
        history: maximum number of earlier turns that count; None for all.
        decay: as for `decaying_means`.
    """
    lengths = np.diff(offsets)
    places = np.arange(len(embeddings)) - np.repeat(offsets[:-1], lengths)
    longest = int(lengths.max(initial=0)) - 1
    sums = np.zeros(embeddings.shape, np.float32)
    weights = np.zeros((len(embeddings), 1), np.float32)
    for age in range(min(longest, longest if history is None else history) + 1):
        rows = np.flatnonzero(places >= age)
        weight = np.float32(decay**age)
        if weight == 0:
            break
        sums[rows] += weight * embeddings[rows - age]
        weights[rows] += weight
    means: Floats = sums / weights
    return means


def unit(vectors: npt.NDArray[np.floating[Any]]) -> Floats:
    """Return the vectors [n, dim] at length 1, float32; zero vectors stay zero."""
    rows: Floats = np.asarray(vectors, np.float32)
    lengths: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    rows = rows / lengths
    return rows


@dataclass(frozen=True)
class VectorStore:
    """A folder of float16 vectors: a shard is computed once for a list of texts and an encoder, then memory-mapped.

    A shard is a .npy file with a record of its digest; one that is damaged or from another encoder is computed again.
    Files are written atomically, so several processes, one per device, may fill one folder with different pieces of
    the corpus. On a CPU, a process encodes in one thread, so the vectors do not depend on the number of processes. A
    call holds the embeddings of its list in memory (3 KB per turn at 384 dimensions): call it for about 10,000
    dialogues at a time.

    Attributes:
        folder: folder of the shards, created with the first one.
        encoder: any SentenceTransformer, on any device.
    """

    folder: Path
    encoder: Encoder

    def turns(self, texts: Sequence[str], known: Floats | None = None) -> Halves:
        """Return the embeddings of turns, a read-only memory map [len(texts), dim], not normalised.

        Args:
            texts: the turns.
            known: their embeddings [len(texts), dim] by this encoder, if they exist.
        """
        return self._kept("turns", _content(texts), lambda: self._encode(texts) if known is None else known)

    def dialogues(self, dialogues: Sequence[Sequence[str]], known: Floats | None = None) -> Halves:
        """Return the vectors of dialogues, a read-only memory map [len(dialogues), dim] of rows of length 1.

        The embeddings of their turns are kept too.

        Args:
            dialogues: turns of each dialogue, oldest first.
            known: embeddings of all these turns, as for `turns`.

        Raises:
            ValueError: a dialogue has no turns.
        """
        texts, offsets = list(chain.from_iterable(dialogues)), np.cumsum([0, *map(len, dialogues)])

        def make() -> Floats:
            return unit(decaying_means(np.asarray(self.turns(texts, known), np.float32), offsets))

        return self._kept("dialogues", _shape(texts, offsets), make)

    def in_context(
        self, texts: Sequence[str], offsets: Offsets, history: int | None = None, known: Floats | None = None
    ) -> Halves:
        """Return the vector of every turn with its history, a read-only memory map [turns, dim] of rows of length 1.

        The arguments are those of `means_in_context`, and `known` as for `turns`.
        """
        offsets = np.asarray(offsets)

        def make() -> Floats:
            return unit(means_in_context(np.asarray(self.turns(texts, known), np.float32), offsets, history))

        return self._kept(f"turns after {history}", _shape(texts, offsets), make)

    def _encode(self, texts: Sequence[str]) -> Floats:
        with limit_threads(1):
            return self.encoder.encode(texts)

    def _kept(self, kind: str, content: str, make: Callable[[], Floats]) -> Halves:
        key = hashlib.sha256(f"{kind} {self.encoder.identity} {content}".encode()).hexdigest()
        return kept_array(
            self.folder / f"{kind.replace(' ', '-')}-{key[:16]}.npy", key, lambda: make().astype(np.float16)
        )


def kept_array(path: Path, key: str, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an array as a read-only memory map of its .npy file.

    It is computed unless the file is intact and its record has the key.
    """
    record = read_record(path)
    if record is None or record.key != key:
        values = make()
        with replacing(path) as temporary:
            with temporary.open("wb") as file:
                np.save(file, values)
            sha256, size = digest(temporary), temporary.stat().st_size
        write_record(path, ShardRecord(key, sha256, size, len(values), []))
    kept: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return kept


def _shape(texts: Sequence[str], offsets: Offsets) -> str:
    """Return a digest of dialogues."""
    return f"{_content(texts)} {hashlib.sha256(np.asarray(offsets).astype('<i8').tobytes()).hexdigest()} {_VERSION}"


def _content(texts: Sequence[str]) -> str:
    sha256 = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        sha256.update(b"%d:" % len(raw))
        sha256.update(raw)
    return sha256.hexdigest()
