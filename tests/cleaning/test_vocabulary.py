"""The corpus steps that judge by all words, against the same figures of all words in one process."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.cleaning import vocabulary as word_totals
from edos_dataset.cleaning.vocabulary import DropRareWords, FilterBooks
from edos_dataset.runs import shuffle
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema.tables import BOOK_DIALOGUES, READ_BOOKS
from edos_dataset.segmentation.books.papers_words import (
    add_up,
    are_rare,
    are_strange,
    counted,
    divergences,
    most_frequent,
    sizes_of,
    unknown_shares,
    word_counts,
)

CUTS = [(1, 512, 1 << 25), (3, 512, 1 << 25), (4, 2, 20_000), (1, 4, 5_000)]
"""Partitions, groups of shards at most, bytes of a slice."""


def texts(number: int) -> list[str]:
    """Return some hundred words each, of which those of every fifth text are hardly in the others."""
    dice = random.Random(7)
    kinds = (lambda: f"w{int(200 ** dice.random())}", lambda: f"strange{dice.randrange(150)}é")
    return [" ".join(kinds[place % 5 == 4]() for _ in range(dice.randrange(100, 300))) for place in range(number)]


def leaving(
    step: SharedStep, tables: list[pa.Table], cut: tuple[int, int, int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Return which rows leave of shards, counted through."""
    monkeypatch.setattr(word_totals, "partitions_for", lambda *_: cut[0])
    monkeypatch.setattr(shuffle, "_MOST_GROUPS", cut[1])
    monkeypatch.setattr(shuffle, "_BYTES_A_SLICE", cut[2])
    shards = [folder / f"{number}.parquet" for number in range(len(tables))]
    for shard, table in zip(shards, tables, strict=True):
        write_shard(shard, table)
    starts = np.cumsum([0, *map(len, tables)])
    decided = zip(starts[:-1], step.decide(shards), strict=True)
    return [int(start) + row for start, removals in decided for row in removals["row"].to_pylist()]


def shards_of(table: pa.Table) -> list[pa.Table]:
    """Return a table in seven pieces, one of them empty."""
    bounds = [0, 1, 4, 4, 9, 11, 20, len(table)]
    return [table.slice(start, stop - start) for start, stop in zip(bounds, bounds[1:], strict=False)]


@pytest.mark.parametrize("cut", CUTS)
def test_books_are_filtered_by_the_words_of_all(cut, tmp_path, monkeypatch):
    said = texts(30)
    books = [word_counts(text) for text in said]
    divergence = divergences(books, add_up(books))
    limit = float(np.sort(divergence)[-4:-2].mean())
    expected = are_strange(divergence, np.array(list(sizes_of(books))), limit, 120)
    columns = {"text": pa.array(said, pa.large_string())}
    table = pa.table([columns.get(field.name, pa.nulls(30, field.type)) for field in READ_BOOKS], schema=READ_BOOKS)

    found = leaving(FilterBooks(limit, 120), shards_of(table), cut, tmp_path, monkeypatch)

    assert found == np.flatnonzero(expected).tolist()
    assert 0 < len(found) <= 3


@pytest.mark.parametrize("cut", CUTS)
def test_dialogues_of_rare_words_leave(cut, tmp_path, monkeypatch):
    said = texts(30)
    words = pa.array([text.split() for text in said])
    known = most_frequent(counted(words.flatten()), 120).words
    expected = are_rare(unknown_shares(words, known), 0.2)
    turns = pa.array([[{"text": text}] for text in said], BOOK_DIALOGUES.field("turns").type)
    columns = {"turns": turns, "language": pa.array(["en"] * 30)}
    fields = [columns.get(field.name, pa.nulls(30, field.type)) for field in BOOK_DIALOGUES]

    step = DropRareWords(0.2, vocabulary=120)
    found = leaving(step, shards_of(pa.table(fields, schema=BOOK_DIALOGUES)), cut, tmp_path, monkeypatch)

    assert found == np.flatnonzero(expected).tolist()
    assert 0 < len(found) < 30
