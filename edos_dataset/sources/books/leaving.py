"""What a run tells of books that leave it, beyond counting them."""

from typing import Any

import pyarrow as pa

from edos_dataset.schema.tables import REASON


def books_that_left(rejected: pa.Table) -> list[dict[str, Any]]:
    """Return the notes of a run on rejected rows of books: `book` and `reason` of each, once."""
    told = rejected.select(["book", REASON]).group_by(["book", REASON], use_threads=False).aggregate([])
    notes: list[dict[str, Any]] = told.sort_by([("book", "ascending"), (REASON, "ascending")]).to_pylist()
    return notes
