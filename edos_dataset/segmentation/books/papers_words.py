"""The words of books, and how far a book's are from those of all: the pre-filter of the Gutenberg Dialogue Dataset
(Csaky and Recski 2021, Section 3), which drops old language and noise.

Words are what stands between whitespace, case and punctuation kept. All figures are exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Ints

_ASCII_SPACES = b"\t\n\v\f\r\x1c\x1d\x1e\x1f "
_MARKS = bytes(code not in _ASCII_SPACES for code in range(256))
_ONE_SPACE = bytes(32 if code in _ASCII_SPACES else code for code in range(256))
_OTHER_SPACES = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

KL_THRESHOLD = 2.0
"""Divergence (nats) from which a book is out, …"""
SIZE_THRESHOLD = 20_000
"""… unless it has fewer words."""
_ROWS_AT_ONCE = 1 << 20


class WordCounts(NamedTuple):
    """Different words, and how often each occurs."""

    words: pa.StringArray
    counts: Ints


def count_words(text: str) -> int:
    """Return how many words a text has, as `len(text.split())` does, but without making them."""
    marks = np.frombuffer(_spaced(text).encode("utf-8", "surrogatepass").translate(_MARKS), np.bool_)
    return int(np.count_nonzero(marks[1:] > marks[:-1])) + bool(marks[:1].any())


def _spaced(text: str) -> str:
    """Return a text whose spaces are all of ASCII."""
    if not text.isascii():
        for space in _OTHER_SPACES:
            if space in text:
                text = text.replace(space, " ")
    return text


def word_counts(text: str) -> WordCounts:
    """Return the words of a text (of less than 2 GB) and their counts, those of `text.split()`."""
    data = _spaced(text).encode("utf-8", "surrogatepass").translate(_ONE_SPACE) + b" "
    spaces = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(" "))
    begins = np.append(0, spaces + 1).astype(np.int32)
    # Each has the space behind it, which the different ones alone then lose; one that is no more is empty.
    words = pa.StringArray.from_buffers(len(spaces), pa.py_buffer(begins), pa.py_buffer(data))
    found = pc.value_counts(words)
    return _not_empty(pc.ascii_rtrim(found.field(0), " "), found.field(1))


def counted(words: pa.StringArray | pa.ChunkedArray) -> WordCounts:
    """Return how often each word stands in an array; an empty one is none."""
    found = pc.value_counts(words)
    return _not_empty(found.field(0), found.field(1))


def _not_empty(words: pa.StringArray, counts: pa.Int64Array) -> WordCounts:
    kept = pc.not_equal(words, "")
    return WordCounts(words.filter(kept), counts.filter(kept).to_numpy())


def add_up(books: Iterable[WordCounts]) -> WordCounts:
    """Return the words of all books together, in memory for these and about a million rows more."""
    total, waiting, rows = _empty(), list[WordCounts](), 0
    for book in books:
        waiting.append(book)
        rows += len(book.words)
        if rows > max(_ROWS_AT_ONCE, len(total.words)):
            total, waiting, rows = _sum([total, *waiting]), [], 0
    return _sum([total, *waiting])


def _empty() -> WordCounts:
    return WordCounts(pa.array([], pa.string()), np.zeros(0, np.int64))


def _sum(parts: Sequence[WordCounts]) -> WordCounts:
    coded = pa.chunked_array([part.words for part in parts], pa.string()).dictionary_encode().combine_chunks()
    counts = np.concatenate([part.counts for part in parts])
    of_word = np.bincount(coded.indices.to_numpy(), counts, len(coded.dictionary))  # float64: whole below 2**53
    return WordCounts(coded.dictionary, of_word.astype(np.int64))


def divergences(books: Sequence[WordCounts], total: WordCounts, size: int | None = None) -> Doubles:
    """Return the KL divergence of each book's words from those of all books, KL(book || total).

    Args:
        books: any number; the words of all are looked up in one pass.
        total: the words of all books of the language (`add_up`), these among them.
        size: words of all books, where `total` lacks some of theirs.

    Returns:
        [books] nats; 0 for a book without words.

    Raises:
        ValueError: `total` lacks a word of a book.
    """
    if not books:
        return np.zeros(0)
    words = pa.chunked_array([book.words for book in books], pa.string())
    places = pc.index_in(words, value_set=total.words)
    if places.null_count:
        raise ValueError("a book has a word that the total lacks: the total must be that of all books")
    of_book = np.repeat(np.arange(len(books)), [len(book.words) for book in books])
    counts = np.concatenate([book.counts for book in books])
    sizes = np.fromiter(sizes_of(books), np.int64)
    share = counts / sizes[of_book]
    of_total = total.counts[places.to_numpy()] / (size or total.counts.sum())
    return np.asarray(np.bincount(of_book, share * np.log(share / of_total), minlength=len(books)), np.float64)


def are_strange(divergence: Doubles, words: Ints, threshold: float = KL_THRESHOLD, size: int = SIZE_THRESHOLD) -> Bools:
    """Tell which books the pre-filter drops: those of `size` words or more that diverge by `threshold` or more."""
    return (divergence >= threshold) & (words >= size)


def sizes_of(books: Iterable[WordCounts]) -> Iterator[int]:
    """Yield how many words each book has."""
    return (int(book.counts.sum()) for book in books)
