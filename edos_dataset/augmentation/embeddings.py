"""Vectors of turns and of dialogues, kept as float16 shards.

A dialogue's vector is the mean of its turns' embeddings, where each turn weighs half as much as the one after it (EDOS,
Section 3.3: 4/7, 2/7, 1/7 for three turns), brought to length 1. The authors' code takes the weights as powers of two
in 64-bit integers, which overflow at 64 turns; here they are 2^-age, for any number of turns.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, unnest
from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.stages import embedded_by, embeddings_of
from edos_dataset.runs.shards import ShardRecord, digest, read_record, replacing, write_record

Halves = npt.NDArray[np.float16]
Offsets = npt.NDArray[np.integer[Any]]
HALF = 0.5
_VERSION = 1  # of the arithmetic below: another one makes the shards of dialogues stale


def decaying_means(embeddings: Floats, offsets: Offsets, decay: float = HALF) -> Floats:
    """Return the mean of each dialogue's embeddings, the newest turn heaviest, float32 [dialogues, dim].

    The weights are decay^age, 1 for the last turn, divided by their sum over the turns that are there.

    Args:
        embeddings: float32 [turns, dim], the turns of all dialogues one behind the other, oldest first.
        offsets: [dialogues + 1], rising from 0 to the number of turns.
        decay: weight of a turn as a share of that of the next one, above 0 (nearly only the last turn counts) to 1 (all
            count alike).

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
    """Return for every turn what `decaying_means` gives for the dialogue that ends with it, float32 [turns, dim].

    Args:
        embeddings: float32 [turns, dim], the turns of all dialogues one behind the other, oldest first.
        offsets: [dialogues + 1], rising from 0 to the number of turns.
        history: earlier turns that count at most; None for all.
        decay: weight of a turn as a share of that of the next one.
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
    """Return the vectors [n, dim] at length 1, float32; a vector of zeros stays one."""
    rows: Floats = np.asarray(vectors, np.float32)
    lengths: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    rows = rows / lengths
    return rows


@dataclass(frozen=True)
class VectorStore:
    """A folder of float16 vectors, each shard made once for a list of texts and an encoder, and mapped into memory
    whenever the same come again.

    A shard is a .npy file with a record that holds its digest; one that is damaged, or that another encoder made, is
    made again. Files are whole or absent, so several processes, one a device, may fill one folder: give each its own
    pieces of the corpus. On a CPU a process encodes in one thread, so that the vectors do not depend on how many share
    the machine. A call holds the embeddings of its list in memory (3 KB a turn for 384 dimensions): call it for pieces
    of some 10,000 dialogues.

    Attributes:
        folder: where the shards lie; made at the first one.
        encoder: any SentenceTransformer, on any device.
    """

    folder: Path
    encoder: Encoder

    def turns(self, texts: Sequence[str], known: Floats | None = None) -> Halves:
        """Return the embeddings of turns, a read-only memory map [len(texts), dim], as the encoder leaves them.

        Args:
            texts: the turns.
            known: their embeddings [len(texts), dim], where the encoder has made them before.
        """
        return self._kept("turns", _content(texts), lambda: self._encode(texts) if known is None else known)

    def dialogues(self, dialogues: Sequence[Sequence[str]], known: Floats | None = None) -> Halves:
        """Return the vectors of dialogues, a read-only memory map [len(dialogues), dim] of rows of length 1; their
        turns' embeddings are kept too.

        Args:
            dialogues: turns of each dialogue, oldest first.
            known: embeddings of all these turns, as of `turns`.

        Raises:
            ValueError: a dialogue has no turns.
        """
        texts = list(chain.from_iterable(dialogues))
        return self._dialogues(texts, np.cumsum([0, *map(len, dialogues)]), lambda: self.turns(texts, known))

    def in_context(
        self, texts: Sequence[str], offsets: Offsets, history: int | None = None, known: Floats | None = None
    ) -> Halves:
        """Return the vector of every turn with its history, a read-only memory map [turns, dim] of rows of length 1;
        arguments as for `means_in_context`, and `known` as for `turns`.
        """
        offsets = np.asarray(offsets)

        def make() -> Floats:
            return unit(means_in_context(np.asarray(self.turns(texts, known), np.float32), offsets, history))

        return self._kept(f"turns after {history}", _shape(texts, offsets), make)

    def of_table(self, table: pa.Table) -> Halves:
        """Return the vectors of the dialogues of a table with a column `turns`, as `dialogues` does.

        Args:
            table: DIALOGUES, ENCODED or LABELLED, or a config of CONFIGS. Embeddings that this store's encoder made are
                taken from there; where there are none the turns are encoded.
        """
        turns, offsets = unnest(table, "turns")
        texts = turns.field("text").to_pylist()
        there = embedded_by(table, self.encoder.identity)
        return self._dialogues(texts, offsets, lambda: embeddings_of(table) if there else self.turns(texts))

    def _dialogues(self, texts: Sequence[str], offsets: Offsets, embeddings: Callable[[], npt.NDArray[Any]]) -> Halves:
        return self._kept(
            "dialogues",
            _shape(texts, offsets),
            lambda: unit(decaying_means(np.asarray(embeddings(), np.float32), offsets)),
        )

    def _encode(self, texts: Sequence[str]) -> Floats:
        with limit_threads(1):
            return self.encoder.encode(texts)

    def _kept(self, kind: str, content: str, make: Callable[[], Floats]) -> Halves:
        """Return the shard of a content."""
        key = hashlib.sha256(f"{kind} {self.encoder.identity} {content}".encode()).hexdigest()
        return kept_array(
            self.folder / f"{kind.replace(' ', '-')}-{key[:16]}.npy", key, lambda: make().astype(np.float16)
        )


def kept_array(path: Path, key: str, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an array as a read-only memory map of its .npy file, which is made unless it is whole and its record has
    the key.
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
    """Return a digest of dialogues, for what is made of them."""
    return f"{_content(texts)} {hashlib.sha256(np.asarray(offsets).astype('<i8').tobytes()).hexdigest()} {_VERSION}"


def _content(texts: Sequence[str]) -> str:
    """Return a digest of texts in their order; where one ends and the next begins goes in too."""
    sha256 = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        sha256.update(b"%d:" % len(raw))
        sha256.update(raw)
    return sha256.hexdigest()
