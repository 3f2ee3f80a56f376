"""The filters of the Gutenberg Dialogue Dataset by words (Csaky and Recski 2021, Section 3).

The pre-filter drops books whose words are far from those of all books: old language and noise. Its words are split at
whitespace, case and punctuation kept. All figures are exact.

The post-filter drops dialogues with many rare words: 20 % of them or more not among the 100,000 most frequent of all
dialogues of the language. The authors clean an utterance and split it with NLTK's `word_tokenize`, whose rules for
English they use for every language. `tokens` does the same in one pass: in lower case, without the marks that their
cleaning deletes, and with the short forms of English split ("do n't"). It keeps the letters of every alphabet. Two of
its oddities are kept: curly apostrophes are deleted, so that "don’t" is another word than "don't"; and a German hyphen
does not split words.
"""

import re
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
"""Divergence (nats) from which a book is dropped, …"""
SIZE_THRESHOLD = 20_000
"""… unless it has fewer words."""
_ROWS_AT_ONCE = 1 << 20


VOCABULARY = 100_000
"""How many words are not rare."""
RARE_SHARE = 0.2
"""Fraction of rare words from which a dialogue is dropped."""

PLACEHOLDER = "<PLACEHOLDER>"
"""The only token of an utterance without words; it is always rare."""

_SHORT_FORM = re.compile(r"n't(?!\w)|'(?:ll|re|ve|s|m|d)(?!\w)")
_TOKEN = re.compile(r"'?[^\W_]+(?:['/][^\W_]+)*|[.?!,:\"'/-]")
_GERMAN_TOKEN = re.compile(r"'?[^\W_]+(?:['/-][^\W_]+)*|[.?!,:\"'/-]")
_TOKEN_MARKS = '.?!,:"-'  # each a token
_INNER, _GERMAN_INNER = "'/", "'/-"  # what may be part of a word
_SPLIT_AT = bytes(  # whatever belongs to no token becomes a space
    code if chr(code).isascii() and (chr(code).isalnum() or chr(code) in _TOKEN_MARKS + _INNER) else 32
    for code in range(256)
)


class WordCounts(NamedTuple):
    """Distinct words, and how often each occurs."""

    words: pa.StringArray
    counts: Ints


def count_words(text: str) -> int:
    """Return `len(text.split())`, without making the words."""
    marks = np.frombuffer(_spaced(text).encode("utf-8", "surrogatepass").translate(_MARKS), np.bool_)
    return int(np.count_nonzero(marks[1:] > marks[:-1])) + bool(marks[:1].any())


def _spaced(text: str) -> str:
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
    # Each has the space behind it, which is trimmed from the distinct ones; an empty one is nothing but the space.
    words = pa.StringArray.from_buffers(len(spaces), pa.py_buffer(begins), pa.py_buffer(data))
    found = pc.value_counts(words)
    return _not_empty(pc.ascii_rtrim(found.field(0), " "), found.field(1))


def counted(words: pa.StringArray | pa.ChunkedArray) -> WordCounts:
    """Return how often each word occurs in an array; an empty text is not a word."""
    found = pc.value_counts(words)
    return _not_empty(found.field(0), found.field(1))


def _not_empty(words: pa.StringArray, counts: pa.Int64Array) -> WordCounts:
    kept = pc.not_equal(words, "")
    return WordCounts(words.filter(kept), counts.filter(kept).to_numpy())


def add_up(books: Iterable[WordCounts]) -> WordCounts:
    """Return the word counts of all books together; it takes memory for these and about a million rows more."""
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
        total: the words of all books of the language (`add_up`), including these.
        size: words of all books, where `total` lacks some of them.

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
    """Return which books the pre-filter drops: those of `size` words or more that diverge by `threshold` or more."""
    return (divergence >= threshold) & (words >= size)


def sizes_of(books: Iterable[WordCounts]) -> Iterator[int]:
    """Yield the number of words of each book."""
    return (int(book.counts.sum()) for book in books)


def tokens(text: str, language: str) -> list[str]:
    """Return the tokens of an utterance as the post-filter counts them.

    Args:
        text: an utterance.
        language: its code; only German has rules of its own.
    """
    text = text.lower()
    for deleted in "’‘_":
        text = text.replace(deleted, "")
    if "'" in text:
        text = _SHORT_FORM.sub(r" \g<0>", text).replace("'tis", "'t is").replace("'twas", "'t was")
    text = text.replace("cannot", "can not").replace("—", " ")
    pattern, inner = (_GERMAN_TOKEN, _GERMAN_INNER) if language == "de" else (_TOKEN, _INNER)
    return (_split(text, pattern, inner) if text.isascii() else pattern.findall(text)) or [PLACEHOLDER]


def _split(text: str, pattern: re.Pattern[str], inner: str) -> list[str]:
    """Return what a pattern finds in a text of ASCII; it is applied only to words with marks inside."""
    for mark in _TOKEN_MARKS:
        if mark in text and mark not in inner:
            text = text.replace(mark, f" {mark} ")
    found = text.encode().translate(_SPLIT_AT).decode().split()
    if not any(mark in text for mark in inner):
        return found
    return [
        token for word in found for token in ((word,) if word.isalnum() or len(word) == 1 else pattern.findall(word))
    ]


def tokens_of(dialogues: Sequence[Sequence[str]], language: str) -> pa.ListArray:
    """Return the tokens of each dialogue's utterances, as a list of strings for each dialogue."""
    flat: list[str] = []
    offsets = [0]
    for dialogue in dialogues:
        for utterance in dialogue:
            flat += tokens(utterance, language)
        offsets.append(len(flat))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat, pa.string()))


def most_frequent(total: WordCounts, size: int = VOCABULARY) -> WordCounts:
    """Return the most frequent tokens, without `PLACEHOLDER`; of equals the first in alphabetical order. Applied to the
    results for several parts of the tokens, it gives the same as for all.

    Args:
        total: the tokens of all dialogues of a language: `add_up` of `counted(tokens_of(…).flatten())`.
        size: tokens at most.
    """
    known = pa.table({"word": total.words, "count": total.counts}).filter(pc.field("word") != PLACEHOLDER)
    if known.num_rows > size:
        known = known.sort_by([("count", "descending"), ("word", "ascending")]).slice(0, size)
    return WordCounts(known["word"].combine_chunks(), known["count"].to_numpy())


def unknown_shares(dialogues: pa.ListArray | pa.LargeListArray, known: pa.StringArray) -> Doubles:
    """Return the fraction of each dialogue's tokens that are not known, 0 to 1; 0 for one without tokens.

    Args:
        dialogues: as `tokens_of` returns them, or with a dictionary of their words.
        known: of `most_frequent`.
    """
    lengths = pc.list_value_length(dialogues).to_numpy(zero_copy_only=False)
    words = dialogues.flatten()
    if isinstance(words, pa.DictionaryArray):
        unknown = ~pc.is_in(words.dictionary, value_set=known).to_numpy(zero_copy_only=False)[words.indices.to_numpy()]
    else:
        unknown = ~pc.is_in(words, value_set=known).to_numpy(zero_copy_only=False)
    of_dialogue = np.repeat(np.arange(len(lengths)), lengths)
    shares: Doubles = np.bincount(of_dialogue, unknown, minlength=len(lengths)) / np.maximum(lengths, 1)
    return shares


def are_rare(shares: Doubles, threshold: float = RARE_SHARE) -> Bools:
    """Return which dialogues the post-filter drops, by their fractions of unknown tokens."""
    return shares >= threshold
