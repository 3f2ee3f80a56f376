"""Labelled documents for the turn segmenter: all corpora by name, kept as Parquet.

    python -m training.turns.data DATA_DIR CACHE [CORPUS ...]

The columns are those of `labels.LABELLED`.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.runs.shards import replacing
from training.turns.dialogues import read_dailydialog, read_empathetic_dialogues, read_meld
from training.turns.labels import LABELLED
from training.turns.sources import read_frasier, read_friends_srt, read_sitcom, read_weak

CORPORA: dict[str, Callable[[Path], pa.Table]] = {
    "friends": partial(read_sitcom, show="friends", dashes=False),
    "the_big_bang_theory": partial(read_sitcom, show="the_big_bang_theory", dashes=False),
    "frasier": partial(read_frasier, plain=False),
    "frasier_plain": partial(read_frasier, plain=True),
    "friends_dashes": partial(read_sitcom, show="friends", dashes=True),
    "the_big_bang_theory_dashes": partial(read_sitcom, show="the_big_bang_theory", dashes=True),
    "friends_srt": read_friends_srt,
    "meld": read_meld,
    "dailydialog": read_dailydialog,
    "empathetic_dialogues": read_empathetic_dialogues,
    "weak": read_weak,
}
"""What reads each corpus from the folder of data."""

_EPISODE = re.compile(r"(?P<show>.+)/s(?P<season>\d+)e(?P<episode>\d+)")


def load_corpora(data_dir: Path, names: Sequence[str], cache: Path) -> pa.Table:
    """Load corpora, making those that the cache does not hold.

    Args:
        data_dir: folder of the real data.
        names: of CORPORA.
        cache: folder of one Parquet file a corpus; delete a file to make it anew.

    Returns:
        LABELLED, corpus after corpus in the order of the names.

    Raises:
        ValueError: a corpus is unknown, or its files are not there.
    """
    if unknown := [name for name in names if name not in CORPORA]:
        raise ValueError(f"no corpus is named {unknown[0]!r}; there is {', '.join(CORPORA)}")
    tables = [_load_corpus(data_dir, name, cache / f"{name}.parquet") for name in names]
    return pa.concat_tables(tables) if tables else LABELLED.empty_table()


def _load_corpus(data_dir: Path, name: str, path: Path) -> pa.Table:
    """Return a corpus from its file; where there is none, or it is torn or has other columns, make it."""
    with suppress(FileNotFoundError, ValueError):
        return pq.read_table(path).cast(LABELLED)
    table = CORPORA[name](data_dir)
    if not table.num_rows:
        raise ValueError(f"no document of the corpus {name!r} in {data_dir}: give the folder that holds the real data")
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return table.cast(LABELLED)


def episode_key(corpus: str, film: str) -> str:
    """Return what a document must not share with one of another part of a split.

    Episodes have one key in all corpora, such as "friends S01E05"; one that is shown in two parts goes by its first.
    What is no episode keeps the name of its film.

    Args:
        corpus: name of the corpus, which tells apart films of one name that are no episodes.
        film: the column `film`.
    """
    match = _EPISODE.match(film.lower())
    return (
        f"{match['show'].replace('_', ' ')} S{int(match['season']):02d}E{int(match['episode']):02d}"
        if match
        else f"{corpus} {film}"
    )


def count_labels(table: pa.Table) -> dict[str, float]:
    """Count the documents, sentences and labelled seams of a LABELLED table, and return shares of the labelled seams.

    Returns:
        `documents`, `sentences`, `labelled`; and `new_turn`, `inside` (a block), `new_inside` (of those inside),
        `doubtful` (confidence below 0.5), 0 to 1.
    """
    same = table["same_turn"].combine_chunks().flatten().to_numpy()
    sure = table["label_confidence"].combine_chunks().flatten().to_numpy()
    flat, _ = unnest(table, "sentences")
    first, last = (flat.field(name).fill_null(-1).to_numpy() for name in ("first_block", "last_block"))
    known = same >= 0
    inside = (first == np.r_[-1, last[:-1]]) & (first >= 0)
    shares = {
        "new_turn": same[known] == 0,
        "inside": inside[known],
        "new_inside": same[known & inside] == 0,
        "doubtful": sure[known] < 0.5,
    }
    counts = {"documents": table.num_rows, "sentences": len(same), "labelled": int(known.sum())}
    return counts | {name: round(float(holds.mean()), 3) if len(holds) else 0.0 for name, holds in shares.items()}


def main() -> None:
    """Make the corpora and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", default=list(CORPORA))
    arguments = parser.parse_args()
    for name in arguments.corpora:
        figures = count_labels(load_corpora(arguments.data_dir, [name], arguments.cache))
        print(f"{name:28}" + "  ".join(f"{key} {value}" for key, value in figures.items()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
