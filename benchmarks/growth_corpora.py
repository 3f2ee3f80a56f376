"""Corpora of any size for `benchmarks/growth.py`: a zip of OPUS XML made of real files, and shards of turns' keys."""

import multiprocessing
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.curate import change_words, words_of
from edos_dataset.runs.shards import write_shard

SHARD_KEYS = 20_000
"""Turns a shard of keys."""

_TURNS = 10
_COPIED = 0.01  # of the dialogues, in each of a hundred shards


def write_zip(source: Path, target: Path, sentences: int, processes: int = 2) -> dict[str, int]:
    """Write copies of OPUS files, each with other words in place of many of its own, until they have so many sentences.

    Returns:
        Files, `bytes` unpacked, `sentences`.
    """
    sources = [path.read_bytes() for path in sorted(source.rglob("*.xml"))]
    lengths = [data.count(b"<s ") for data in sources]
    copies = max(1, round(sentences / sum(lengths)))
    work = partial(_copy, sources, words_of(sources))
    size = 0
    with (
        multiprocessing.get_context("fork").Pool(processes) as pool,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for number, data in enumerate(pool.imap(work, range(copies * len(sources)), chunksize=4)):
            archive.writestr(f"OpenSubtitles/xml/en/{1950 + number % 70}/{1000 + number}/{number}.xml", data)
            size += len(data)
    return {"files": copies * len(sources), "bytes": size, "sentences": copies * sum(lengths)}


def _copy(sources: Sequence[bytes], words: Sequence[bytes], number: int) -> bytes:
    return change_words(sources[number % len(sources)], words, number)


def write_keys(folder: Path, keys: int, processes: int = 2) -> list[Path]:
    """Write shards of dialogues of ten turns, of which the steps for utterances and for exact copies read the keys.

    Of the turns 30 % are from a hundred thousand utterances, whose frequencies fall with their rank (Zipf's law), and
    all others come once; 1 % of the dialogues are copies of ones in another shard.
    """
    folder.mkdir(parents=True)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return pool.map(partial(_write_keys, folder), range(max(1, keys // SHARD_KEYS)), chunksize=8)


def _write_keys(folder: Path, number: int) -> Path:
    dialogues = SHARD_KEYS // _TURNS
    own, shared = np.random.default_rng([1, number]), np.random.default_rng([2, number // 100])
    keys = _keys(own, dialogues)
    copied = int(_COPIED * dialogues)
    keys[:copied] = _keys(shared, copied)  # the same in a hundred shards
    turns = pa.StructArray.from_arrays([pa.array(keys.ravel())], names=["key"])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(dialogues + 1) * _TURNS, pa.int32()), turns)
    path = folder / f"{number:06d}.parquet"
    write_shard(path, pa.table({"dialogue_id": [f"{number}/{row}" for row in range(dialogues)], "turns": lists}))
    return path


def _keys(dice: np.random.Generator, dialogues: int) -> np.ndarray:
    """Return the keys of dialogues, int64 [dialogues, turns]."""
    shape = (dialogues, _TURNS)
    single = dice.integers(-(1 << 63), 1 << 63, shape, np.int64)
    frequent = (100_000.0 ** dice.random(shape)).astype(np.int64)
    return np.where(dice.random(shape) < 0.3, frequent, single)


def write_members(target: Path, members: int) -> None:
    """Write a zip archive of empty members with names like those of OPUS."""
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(members):
            archive.writestr(zipfile.ZipInfo(f"OpenSubtitles/xml/en/2000/{number}/{number}.xml"), b"")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder."""
    return (path for path in folder.rglob("*") if path.is_file())
