"""One book once: another edition, a part and a copy under another name leave; other books stay."""

import pyarrow as pa
import pytest

from edos_dataset.cleaning.duplicates import SAME_BOOK, DropSameBooks
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema import READ_BOOKS, REASONS
from screenplays import damaged, rejoined, screenplay


def table(books, plain):
    columns = {
        "document_id": list(books),
        "book": list(books),
        "language": ["en"] * len(books),
        "text": pa.array(["\n\n".join(book) if plain else None for book in books.values()], pa.large_string()),
        "blocks": pa.array(
            [None if plain else [{"text": text} for text in book] for book in books.values()],
            READ_BOOKS.field("blocks").type,
        ),
    }
    given = [columns.get(field.name, pa.nulls(len(books), field.type)) for field in READ_BOOKS]
    return pa.table(given, schema=READ_BOOKS)


def left(books, folder, plain, **parameters):
    shard = folder / "0.parquet"
    write_shard(shard, table(books, plain))
    (removed,) = DropSameBooks(**parameters).decide([shard])
    names = list(books)
    assert set(removed["reason"].to_pylist()) <= {SAME_BOOK} <= set(REASONS)
    return {names[row] for row in removed["row"].to_pylist()}


BOOK = screenplay(1, 600)
COPIES = {"another name": BOOK, "other paragraphs": rejoined(BOOK), "a scan": damaged(BOOK, 0.01), "a part": BOOK[:200]}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_leaves(copy, plain, tmp_path):
    books = {"a": BOOK, "b": COPIES[copy], **{f"other {seed}": screenplay(seed, 400) for seed in range(2, 6)}}
    gone = left(books, tmp_path, plain)
    assert len(gone) == 1 and gone < {"a", "b"}


def test_none_leaves_where_none_is_to(tmp_path):
    assert left({"a": BOOK, "b": BOOK}, tmp_path, False, share=None) == set()
    assert left({}, tmp_path, False) == set()
