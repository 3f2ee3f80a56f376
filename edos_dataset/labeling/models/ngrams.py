"""The n-grams of a turn, each known by a hash, and where they stand in a table: what the `fast` tier counts."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, Hashes, Ints
from edos_dataset.segmentation.turns.tokens import Tokens, hash_tokens
from edos_dataset.text import hash64

Codes = npt.NDArray[np.uint32]
Kind = tuple[Codes, Ints]

FIRST = ("words", "lemmas", "pairs")
"""Kinds that tables count which don't say what they count."""

_EDGE = np.uint64(hash64("<edge>"))
_LEMMA, _LEFT, _RIGHT, _BEFORE, _BEHIND, _LENGTH = (
    np.uint64(hash64(f"<{name}>") | 1) for name in ("lemma", "left", "right", "before", "behind", "length")
)
_LONGER = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 31, 45, 70])
"""Tokens from which a turn counts as longer."""
_HALF = np.uint64(32)
_BUCKETS = np.uint32(12)  # bits of a code that do not choose its bucket


def ngrams(texts: Sequence[str], language: str = "en", kinds: Sequence[str] = FIRST) -> Iterator[Kind]:
    """Yield the n-grams of texts, one of the `KINDS` after the other.

    Yields:
        Codes, uint32 [n-grams of this kind], and offsets, int64 [texts + 1]: text i has codes `offsets[i]:offsets[i +
        1]`.
    """
    tokens = hash_tokens(pa.array(texts, pa.string()), language)
    edged = _edged(tokens)
    for kind in kinds:
        yield KINDS[kind](tokens, edged)


def _words(tokens: Tokens, _: Hashes) -> Kind:
    return _short(tokens.surface), tokens.offsets


def _lemmas(tokens: Tokens, _: Hashes) -> Kind:
    differs = tokens.lemma != tokens.surface
    return _short(tokens.lemma[differs] * _LEMMA), np.r_[0, np.cumsum(differs)][tokens.offsets]


def _edged(tokens: Tokens) -> Hashes:
    """Return the words with an edge before, between and behind the texts; one between two texts belongs to both."""
    edged: Hashes = np.insert(tokens.surface, tokens.offsets, _EDGE)
    return edged


def _pairs(tokens: Tokens, edged: Hashes) -> Kind:
    # the pair across an edge is that of an end and a beginning
    return _short(edged[:-1] * _LEFT + edged[1:] * _RIGHT), tokens.offsets + np.arange(len(tokens.offsets))


def _skips(tokens: Tokens, edged: Hashes) -> Kind:
    """Return the pairs of what stands before and behind each token."""
    around = edged[:-2] * _BEFORE + edged[2:] * _BEHIND
    edges = tokens.offsets[1:-1] + np.arange(len(tokens.offsets) - 2)
    return _short(np.delete(around, edges)), tokens.offsets


def _length(tokens: Tokens, _: Hashes) -> Kind:
    longer = np.searchsorted(_LONGER, np.diff(tokens.offsets), side="right").astype(np.uint64)
    return _short((longer + np.uint64(1)) * _LENGTH), np.arange(len(tokens.offsets))


def _short(codes: Hashes) -> Codes:
    """Return the upper half of 64-bit codes, after which a product has mixed all of their bits."""
    return ((codes * _LEFT) >> _HALF).astype(np.uint32)


KINDS: dict[str, Callable[[Tokens, Hashes], Kind]] = {
    "words": _words,
    "lemmas": _lemmas,
    "pairs": _pairs,
    "skips": _skips,
    "length": _length,
}
"""Words and marks; lemmas that differ from their word; pairs of neighbours, with both edges; what stands on both sides
of each token, edges included; about how many tokens there are."""


class Places:
    """Where codes stand among `keys`: uint32, rising, each once.

    As `np.searchsorted` tells, several times as fast: the upper bits of a code tell nearly where it stands.
    """

    def __init__(self, keys: Codes) -> None:
        """Look up where the keys of each bucket begin."""
        self.keys = keys
        buckets = np.arange(1 << (32 - int(_BUCKETS)), dtype=np.uint32) << _BUCKETS
        self._begins = np.searchsorted(keys, buckets).astype(np.int32)

    def find(self, codes: Codes) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Return which of the codes are keys, rising, and the place of each."""
        if not len(self.keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        places = self._begins.take(codes >> _BUCKETS)
        found = self.keys.take(places, mode="clip")
        behind = np.flatnonzero(found < codes)
        while len(behind):
            places[behind] += 1
            behind = behind[places[behind] < len(self.keys)]
            found[behind] = self.keys[places[behind]]
            behind = behind[found[behind] < codes[behind]]
        known: Ints = np.flatnonzero(found == codes).astype(np.int64, copy=False)
        return known, places[known]


def count_ngrams(
    texts: Sequence[str], places: Places, language: str = "en", kinds: Sequence[str] = FIRST
) -> list[csr_array]:
    """Count the known n-grams of texts, a float32 matrix [texts, keys] for every one of `kinds`; an entry may stand
    more than once.
    """
    bags = []
    for codes, offsets in ngrams(texts, language, kinds):
        known, columns = places.find(codes)
        ends = np.searchsorted(known, offsets)
        bags.append(csr_array((np.ones(len(known), np.float32), columns, ends), shape=(len(texts), len(places.keys))))
    return bags


def damping(bags: Sequence[csr_array], power: float) -> Floats:
    """Return what the sums of the rows are multiplied by, float32 [texts]: the number of known n-grams (at least 1) to
    the power of -power.
    """
    counts = sum(np.diff(bag.indptr) for bag in bags)
    factors: Floats = np.maximum(counts, 1).astype(np.float32) ** np.float32(-power)
    return factors
