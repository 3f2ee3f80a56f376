"""Hashes of runs of consecutive words (shingles), for finding near-duplicate texts."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Hashes, Ints
from edos_dataset.runs.near_duplicates import SKETCH
from edos_dataset.text import hash64, normal_form, normalise

WIDTH = 4
"""Words per shingle. Two different episodes of one show have 1 to 2 % of them in common with 4 words, up to 6 % with
3; with 5, fewer survive where one word is wrong (evaluation/same_films.json)."""

_CONFUSED = {"l": "i", "1": "i", "|": "i", "0": "o"}  # letters that optical character recognition confuses
_SAME_LETTER = str.maketrans(_CONFUSED)
_BYTES = bytes(  # UTF-8 bytes; those beyond ASCII stay as they are
    ord(normalise(chr(code)).translate(_SAME_LETTER) or " ") if code < 128 else code for code in range(256)
)
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]")
_MOST_SIGNS = 64  # distinct signs that are replaced one by one
_MARK = re.compile(r"[\u0300-\u036f]")
_BETWEEN = (b"",) * (WIDTH - 1)  # keeps shingles from reaching into the next text
_AT_ONCE = 1 << 19  # characters of texts processed together; their words take sixty times as much memory
_ALL = 2.0**64
_STEP = np.uint64(0x9E3779B97F4A7C15)


def words_of(text: str) -> list[bytes]:
    """Return the words of a text in UTF-8, without case, punctuation and accents, with confused letters unified."""
    if not text.isascii():
        text = _MARK.sub("", normal_form(text, "NFKD"))
    if not text.isascii():  # `normalise` takes five times as long as this
        text = text.casefold()
        signs = [sign for sign in set(_BEYOND_ASCII.findall(text)) if not normalise(sign)]
        if len(signs) > _MOST_SIGNS:
            text = normalise(text)
        else:
            for sign in signs:
                text = text.replace(sign, " ")
    return text.encode().translate(_BYTES).split()


def sketch(texts: Sequence[str], languages: Sequence[str | None], names: Sequence[str], most: int) -> pa.Table:
    """Return the MinHash signatures of texts (`runs.near_duplicates.SKETCH`), a row for each shingle of a text.

    A text of fewer than `WIDTH` words has one shingle of all of them, a text without words none. Shingles of two
    languages are never equal. For a text with more than `most` shingles, the signature holds all hashes below a limit
    that is chosen so that about `most` are expected.

    The better of two texts is the one with more repeated words: it is longer, or less damaged, as few damaged words
    occur twice. Ties are broken by the smallest shingle, which copies mostly have in common, and then by the hash of
    the name, so the order of the texts does not matter.

    Args:
        texts: the texts.
        languages: their language codes, or None.
        names: unique names of the texts.
        most: approximate number of hashes of a signature.
    """
    tables, ends = [SKETCH.empty_table()], np.cumsum([0, *map(len, texts)])
    first = 0
    while first < len(texts):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _AT_ONCE, side="right")) - 1)
        tables.append(_sketch(texts[first:last], languages[first:last], names[first:last], most, first))
        first = last
    return pa.concat_tables(tables)


def _sketch(
    texts: Sequence[str], languages: Sequence[str | None], names: Sequence[str], most: int, first: int
) -> pa.Table:
    words: list[bytes] = []
    lengths, different = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    for number, text in enumerate(texts):
        said = words_of(text)
        lengths[number], different[number] = len(said), len(set(said))
        if said:
            words += said
            words += _BETWEEN
    spaced = lengths + len(_BETWEEN) * (lengths > 0)
    seed = {language: hash64(language or "") for language in set(languages)}
    seeds = np.fromiter(map(seed.__getitem__, languages), np.uint64, len(texts))
    keys = _runs_of(words) ^ np.repeat(seeds, spaced)
    possible = (lengths - WIDTH + 1).clip(min=1)
    reach = np.minimum(1, most / possible)
    limits = (reach * _ALL).clip(max=_ALL - 2048).astype(np.uint64)
    owners = np.repeat(np.arange(len(texts)), spaced)
    kept = np.flatnonzero((keys < limits[owners]) & _begin(spaced, possible))
    keys, owners = keys[kept], owners[kept]
    ranking = np.argsort(keys)  # by owner and key, in a tenth of the time of a lexsort
    ranking = ranking[np.argsort(owners[ranking].astype(np.min_scalar_type(len(texts))), kind="stable")]
    keys, owners = keys[ranking], owners[ranking]
    new = np.r_[True, (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])][: len(keys)]
    keys, owners = keys[new], owners[new]
    sizes = np.bincount(owners, minlength=len(texts)) / reach
    least = np.zeros(len(texts), np.uint64)
    least[owners[::-1]] = keys[::-1]
    rank = ((1 << 20) - 1 - (lengths - different).clip(max=(1 << 20) - 1)).astype(np.uint64)
    order = rank << np.uint64(44) | least >> np.uint64(50) << np.uint64(30) | _hashes(names) >> np.uint64(34)
    columns = (keys, (owners + first).astype(np.int32), order[owners], sizes[owners], reach[owners])
    return pa.table(dict(zip(SKETCH.names, columns, strict=True)), schema=SKETCH)


def _runs_of(words: Sequence[bytes]) -> Hashes:
    """Return the hash of each word with the `WIDTH` - 1 words after it, [words]."""
    codes = pa.array(words, pa.binary()).dictionary_encode()
    hashes: Hashes = _hashes(codes.dictionary.to_pylist())[codes.indices.to_numpy()]
    rolling = hashes.copy()
    for place in range(1, WIDTH):
        rolling *= _STEP
        rolling[: len(hashes) - place] += hashes[place:]
    return rolling


def _begin(spaced: Ints, possible: Ints) -> Bools:
    """Return for each word whether a shingle begins with it.

    Args:
        spaced: [texts] number of words, including those between the texts, or 0.
        possible: [texts] number of shingles, including repeated ones.
    """
    place = np.arange(spaced.sum()) - np.repeat(np.cumsum(spaced) - spaced, spaced)
    begins: Bools = place < np.repeat(possible, spaced)
    return begins


def _hashes(texts: Sequence[str] | Sequence[bytes]) -> Hashes:
    return np.fromiter(map(hash64, texts), np.uint64, len(texts))
