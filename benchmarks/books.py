"""CPU seconds per megabyte of English books, from their text to the kept dialogues: recipe `papers` compared with the
same steps line by line, with the authors' code (measured elsewhere), and with one pass of a regular expression; the
same for the default recipe, starting from the files; and the peak memory of `edos books` on many times as many books.

    python benchmarks/books.py $EDOS_DATA_DIR --copies 3 --repeats 5

FOLDER/gutenberg/en has the books, which are copied --copies times; plays are left out, which the plain variant does not
support. All variants run alternately in one process on one core, so that a busy machine slows all; the median and the
minimum of --repeats are reported in processor seconds. `papers` is pre-filter, extraction, length and rare words; its
reading (encoding, header) is measured separately. `default` is reading (including the kinds of paragraphs), pre-filter,
extraction with certainty, and rare words; duplicate removal is in neither. `plain` writes and reads files between its
steps, like the authors' code (`plain_books.py`). `papers` and `plain` must find the same dialogues. Writes
benchmarks/books.json.
"""

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import plain_books
from benchmarks.curate import change_words, words_of
from benchmarks.machine import command_line, describe_machine, write_result
from benchmarks.memory import run_measured
from edos_dataset.arrays import nest
from edos_dataset.cleaning.vocabulary import DropRareWords
from edos_dataset.schema.tables import BOOK_TURN
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.papers import extract_as_papers
from edos_dataset.segmentation.books.papers_words import (
    add_up,
    are_rare,
    are_strange,
    counted,
    divergences,
    most_frequent,
    sizes_of,
    tokens_of,
    unknown_shares,
    word_counts,
)
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.formats import read_book, read_plain

STATED = (0.67, 0.80)
"""CPU seconds per megabyte of the authors' code on 18.59 MB of English, measured elsewhere."""

FILLS = (5, 50)
"""Factors by which the books are multiplied to measure memory: enough for shards of full size, and ten times as many.
Row groups of published files reach their full size at a factor of thirty.
"""

PLAYS = ("en_faust_1.txt",)
_WORD = re.compile(rb"\b()([a-z]{3,})\b")
_QUOTED = re.compile('“[^“”]*”|"[^"]*"|‘[^‘’]*’')


class Clock:
    """Processor seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.process_time()

    def lap(self, step: str) -> None:
        """Add the time since the last call to a step."""
        now = time.process_time()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._since
        self._since = now


def read(path: Path) -> str:
    """Return the text of a book without header and licence."""
    return read_plain(path.read_bytes(), path.name)


def as_papers(texts: Sequence[str], clock: Clock) -> list[list[str]]:
    """Return the dialogues that recipe `papers` keeps, and record the time of its steps."""
    counts = [word_counts(text) for text in texts]
    strange = are_strange(divergences(counts, add_up(counts)), np.fromiter(sizes_of(counts), np.int64))
    clock.lap("pre_filter")
    books = [extract_as_papers(text, "en").dialogues for text, drop in zip(texts, strange, strict=True) if not drop]
    clock.lap("extract")
    dialogues = [[utterance.text for utterance in dialogue] for book in books for dialogue in book]
    words = tokens_of(dialogues, "en")
    rare = are_rare(unknown_shares(words, most_frequent(counted(words.flatten())).words))
    kept = [dialogue for dialogue, drop in zip(dialogues, rare, strict=True) if not drop]
    clock.lap("post_filter")
    return kept


def by_default(books: Sequence[Path]) -> dict[str, float]:
    """Return the seconds of the default recipe's steps, from files to the dialogues that it keeps."""
    clock, rules, speech, rare = Clock(), load_rules("en"), Speech(), DropRareWords()
    read_books = [read_book(path.read_bytes(), path.name, "en") for path in books]
    clock.lap("default: reading")
    counts = [word_counts(" ".join(block.text for block in book.blocks)) for book in read_books]
    strange = are_strange(divergences(counts, add_up(counts)), np.fromiter(sizes_of(counts), np.int64))
    clock.lap("default: pre_filter")
    found = [extract(book.blocks, rules, speech) for book, drop in zip(read_books, strange, strict=True) if not drop]
    dialogues = [dialogue for each in found for dialogue in each.dialogues]
    clock.lap("default: extract")
    ends = np.cumsum([0, *map(len, dialogues)])
    turns = nest(ends, BOOK_TURN, {"text": [utterance.text for dialogue in dialogues for utterance in dialogue]})
    words = rare.words(pa.table({"turns": turns}))
    known = rare.known(counted(words.flatten()))
    rare.leave(words, known, known)
    clock.lap("default: post_filter")
    return clock.seconds | {"default": sum(clock.seconds.values())}


def spent(work: Callable[[], object]) -> float:
    """Return the processor seconds of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measure_speed(books: Sequence[Path], repeats: int) -> dict[str, Any]:
    """Return the CPU seconds per megabyte of each variant.

    Args:
        books: files in their published form.
        repeats: number of rounds; in each, every variant runs once.
    """
    texts = [read(path) for path in books]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.txt" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        ours, plain = as_papers(texts, Clock()), plain_books.run(paths, folder)
        for _ in range(repeats):
            clock = Clock()
            as_papers(texts, clock)
            round_of = {f"papers: {step}": value for step, value in clock.seconds.items()}
            round_of["papers"] = sum(clock.seconds.values())
            round_of["papers: reading, apart"] = spent(lambda: [read(path) for path in books])
            round_of |= by_default(books)
            round_of["plain"] = spent(lambda: plain_books.run(paths, folder))
            round_of["regular expression"] = spent(lambda: [sum(1 for _ in _QUOTED.finditer(text)) for text in texts])
            for way, value in round_of.items():
                seconds.setdefault(way, []).append(value / megabytes)
    if [[" ".join(text.split()) for text in dialogue] for dialogue in plain] != ours:
        raise ValueError("recipe papers and the plain way find other dialogues")
    return {"megabytes": round(megabytes, 2), "books": len(texts), "dialogues": len(ours), **figures(seconds)}


def figures(seconds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return medians and minima of the seconds per megabyte, and their ratios."""
    median = {way: statistics.median(each) for way, each in seconds.items()}
    papers = median["papers"] + median["papers: reading, apart"]
    return {
        "cpu_seconds_a_megabyte": {
            way: {"median": round(median[way], 4), "fastest": round(min(each), 4)} for way, each in seconds.items()
        },
        "plain_words": plain_books.word_tokenizer()[0],
        "times_plain": round(median["plain"] / median["papers"], 1),
        "times_stated": [round(stated / median["papers"], 1) for stated in STATED],
        "times_regular_expression": round(median["papers"] / median["regular expression"], 1),
        "with_reading": {
            recipe: {
                "cpu_seconds_a_megabyte": round(seconds_of, 4),
                "times_plain": round(median["plain"] / seconds_of, 1),
                "times_stated": [round(stated / seconds_of, 1) for stated in STATED],
                "times_regular_expression": round(seconds_of / median["regular expression"], 1),
            }
            for recipe, seconds_of in (("papers", papers), ("default", median["default"]))
        },
    }


def measure_memory(books: Sequence[Path], recipe: str, fills: Sequence[int]) -> dict[str, Any]:
    """Return the peak memory of `edos books` on multiples of the books, none of which is a copy of another."""
    rows = []
    for times in fills:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "books"
            write_others(books, folder, times)
            options = ["--language", "en", "--recipe", recipe, "--no-labels", "--workers", "1"]
            _, mib = run_measured("books", str(folder), *options, "--out", f"{name}/out")
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            rows.append({"megabytes": round(size, 1), "peak_mib": mib})
    return {"small": rows[0], "large": rows[1], "growth": round(rows[1]["peak_mib"] / rows[0]["peak_mib"], 2)}


def copy(books: Sequence[Path], folder: Path, times: int) -> list[Path]:
    """Write each book several times under different names."""
    folder.mkdir(parents=True)
    paths = []
    for number in range(times):
        for path in books:
            paths.append(folder / f"copy{number:03d}-of-{path.name}")
            paths[-1].write_bytes(path.read_bytes())
    return paths


def write_others(books: Sequence[Path], folder: Path, times: int) -> None:
    """Write each book, and variants of it in which two in five words are replaced."""
    texts = [path.read_bytes() for path in copy(books, folder, 1)]
    words = words_of(texts, _WORD)
    for number in range(1, times):
        for path, text in zip(books, texts, strict=True):
            (folder / f"other{number:03d}-of-{path.name}").write_bytes(change_words(text, words, number, _WORD))


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--fills", type=int, nargs=2, default=FILLS, help="multiples of the books, to measure memory")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    books = sorted(path for path in (arguments.folder / "gutenberg" / "en").glob("*.txt") if path.name not in PLAYS)
    if not books:
        parser.error(f"{arguments.folder / 'gutenberg' / 'en'} has no books: give the folder with gutenberg/")
    with tempfile.TemporaryDirectory() as name:
        speed = measure_speed(copy(books, Path(name) / "books", arguments.copies), arguments.repeats)
    facts = {"command": command_line(), "date": str(date.today()), "machine": describe_machine()}
    memory = {recipe: measure_memory(books, recipe, arguments.fills) for recipe in ("papers", "default")}
    result = {**facts, **speed, "memory": memory}
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
