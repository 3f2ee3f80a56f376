"""Splits sentences into a flat stream of tokens with lemmas. Each distinct piece of text between spaces is processed
once.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import simplemma

from edos_dataset.arrays import Hashes, Ints
from edos_dataset.languages import CAPITALISED_NOUNS, primary_language
from edos_dataset.text import hash64

_TOKEN = re.compile(
    r"(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)|(?P<number>\d+(?:[.,:]\d+)*)|(?P<trail>\.\.+|…|--+|[—–])|(?P<mark>[.!?,;:])|\S"
)
_CURLY = str.maketrans("’", "'")
NAME = np.uint64(hash64("<name>"))
"""Hash that replaces masked names."""

NUMBER = np.uint64(hash64("0"))
"""Hash of every number."""

_LONGEST_WORD = 40  # characters that are looked up
WORD, MARK = 0, 1
LOWER, CAPITALISED, OTHER_CASE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of some sentences, sentence after sentence.

    Attributes:
        surface: uint64 [tokens], hash of the token in lower case; marks that mean the same ("...", "…") are equal.
        lemma: uint64 [tokens], hash of its lemma.
        kind: int8 [tokens], WORD or MARK.
        case: int8 [tokens], LOWER, CAPITALISED ("Anna") or OTHER_CASE ("I'm", "ANNA", "7").
        word: int64 [tokens], number of the token in lower case, below `words`; the same for all spellings that differ
            in capitals only.
        words: the number of distinct ones.
        offsets: int64 [sentences + 1], positions at which the tokens of each sentence begin.
    """

    surface: Hashes
    lemma: Hashes
    kind: npt.NDArray[np.int8]
    case: npt.NDArray[np.int8]
    word: Ints
    words: int
    offsets: Ints


def hash_tokens(texts: pa.StringArray, language: str | None) -> Tokens:
    """Split sentences into words, numbers and marks.

    Args:
        texts: one sentence each.
        language: ISO 639-1 code of the language, for lemmatisation; words of a language without a lemmatiser are their
            own lemmas.
    """
    lists = pc.utf8_split_whitespace(texts)
    pieces = lists.flatten().dictionary_encode()
    spoken = primary_language(language)
    known = [_split(piece, spoken) for piece in pieces.dictionary.to_pylist()]
    counts = np.fromiter(map(len, known), np.int64, len(known))
    rows = np.fromiter(chain.from_iterable(chain.from_iterable(known)), np.uint64).reshape(-1, 4)
    begins = np.cumsum(counts) - counts
    piece = pieces.indices.to_numpy()
    ends = np.r_[0, np.cumsum(counts[piece])]
    index = np.repeat(begins[piece] - ends[:-1], counts[piece]) + np.arange(ends[-1])
    surface, lemma, kind, case = rows.T
    distinct, word = np.unique(surface, return_inverse=True)
    offsets = ends[lists.offsets.to_numpy() - lists.offsets[0].as_py()]
    narrow = kind.astype(np.int8), case.astype(np.int8)
    return Tokens(surface[index], lemma[index], narrow[0][index], narrow[1][index], word[index], len(distinct), offsets)


def mask_names(tokens: Tokens, documents: Ints) -> Tokens:
    """Mask names, as those of one show say nothing about another.

    A name is a word that a document capitalises inside sentences and never writes in lower case.
    """
    inner = np.ones(len(tokens.word), bool)
    inner[tokens.offsets[:-1][np.diff(tokens.offsets) > 0]] = False
    is_name = np.zeros(len(tokens.word), bool)
    for begin, end in pairwise(documents.tolist()):
        word, case = tokens.word[begin:end], tokens.case[begin:end]
        named = np.zeros(tokens.words, bool)
        named[word[(case == CAPITALISED) & inner[begin:end]]] = True
        named[word[case == LOWER]] = False
        is_name[begin:end] = named[word]
    surface, lemma = np.where(is_name, NAME, tokens.surface), np.where(is_name, NAME, tokens.lemma)
    return Tokens(surface, lemma, tokens.kind, tokens.case, tokens.word, tokens.words, tokens.offsets)


@lru_cache(maxsize=1 << 14)
def _split(piece: str, language: str) -> tuple[tuple[int, int, int, int], ...]:
    """Return (surface, lemma, kind, case) of every token of a text without spaces."""
    return tuple(_describe(match.group(), match.lastgroup, language) for match in _TOKEN.finditer(piece))


@lru_cache(maxsize=1 << 14)
def _describe(text: str, form: str | None, language: str) -> tuple[int, int, int, int]:
    text = text.translate(_CURLY)
    if form == "word":
        capitalised = text[0].isupper() and text[1:2].islower() and language not in CAPITALISED_NOUNS
        case = CAPITALISED if capitalised else LOWER if text[0].islower() else OTHER_CASE
        small = text.lower()
        return hash64(small), hash64(_lemma(small, language)), WORD, case
    if form == "number":
        return int(NUMBER), int(NUMBER), WORD, OTHER_CASE
    code = hash64("..." if form == "trail" and text[0] in ".…" else text[:2])
    return code, code, MARK, OTHER_CASE


def _lemma(word: str, language: str) -> str:
    if len(word) > _LONGEST_WORD:
        return word
    try:
        return simplemma.lemmatize(word, language).lower()
    except ValueError:  # no dictionary for this language
        return word
