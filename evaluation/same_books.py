"""The fractions of four-word runs that two books share, from which `DropSameBooks.share` was chosen.

    python evaluation/same_books.py $EDOS_DATA_DIR/gutenberg

Two editions of Alice's Adventures in Wonderland (`pg11.txt`, `en_alice.txt`) are the same book; no other two books of a
language are. The fractions are estimated from MinHash signatures, as in the step. Writes evaluation/same_books.json.
"""

import argparse
import tempfile
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import describe_machine, write_result
from edos_dataset.cleaning.duplicates import DropSameBooks
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema.tables import READ_BOOKS
from edos_dataset.sources.inventory import find_books
from edos_dataset.sources.read import ReadBooks

LANGUAGES = ("en", "de", "es", "hu", "it", "nl", "pt")
SHOWN = 3


def read_books(folder: Path, language: str) -> pa.Table:
    """Return READ_BOOKS of a language."""
    kept, _ = split_rejects(ReadBooks(language=language)(find_books([folder], language).books))
    return kept.select(READ_BOOKS.names)


def shares(books: pa.Table) -> list[tuple[float, str, str]]:
    """Return the fraction of the smaller signature that each two books share, the most similar first."""
    sketches = DropSameBooks().sketches(books)
    rows, keys = sketches["row"].to_numpy(), sketches["key"].to_numpy()
    reach = sketches["reach"].to_numpy()
    found = []
    for one, other in combinations(range(books.num_rows), 2):
        limit = min(reach[rows == one][0], reach[rows == other][0]) * 2.0**64
        sets = [set(keys[(rows == row) & (keys < limit)].tolist()) for row in (one, other)]
        share = len(sets[0] & sets[1]) / max(min(map(len, sets)), 1)
        found.append((round(share, 4), books["document_id"][one].as_py(), books["document_id"][other].as_py()))
    return sorted(found, reverse=True)


def that_leave(books: pa.Table) -> list[str]:
    """Return the ids of the books that the step removes."""
    with tempfile.TemporaryDirectory() as place:
        shard = Path(place) / "0.parquet"
        write_shard(shard, books)
        (removals,) = DropSameBooks().decide([shard])
    return sorted(books["document_id"].take(pa.array(np.sort(removals["row"].to_numpy()))).to_pylist())


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    result: dict[str, Any] = {"date": str(date.today()), "machine": describe_machine(), "share": DropSameBooks().share}
    for language in LANGUAGES:
        books = read_books(folder, language)
        result[language] = {"books": books.num_rows, "most_alike": shares(books)[:SHOWN], "left": that_leave(books)}
    write_result(Path(__file__).with_suffix(".json"), result, ascii_only=False)


if __name__ == "__main__":
    main()
