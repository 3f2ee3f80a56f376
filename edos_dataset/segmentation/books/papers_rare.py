"""Dialogues with many rare words, the post-filter of the Gutenberg Dialogue Dataset (Csaky and Recski 2021, Section 3):
20 % of the words or more not among the 100,000 most frequent of all dialogues of the language.

The authors clean an utterance and split it with NLTK's `word_tokenize`, whose rules for English they use for every
language. `tokens` does the same in one pass: in lower case, without the marks that their cleaning deletes, and with the
short forms of English parted ("do n't"). It keeps the letters of every alphabet. Two of its oddities are kept: curly
apostrophes are deleted, so that "don’t" is another word than "don't"; and a German hyphen parts no words.
"""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles
from edos_dataset.segmentation.books.papers_words import WordCounts

VOCABULARY = 100_000
"""Words that are not rare."""
RARE_SHARE = 0.2
"""Share of rare words from which a dialogue is out."""

PLACEHOLDER = "<PLACEHOLDER>"
"""The only token of an utterance without words; it is always rare."""

_SHORT_FORM = re.compile(r"n't(?!\w)|'(?:ll|re|ve|s|m|d)(?!\w)")
_TOKEN = re.compile(r"'?[^\W_]+(?:['/][^\W_]+)*|[.?!,:\"'/-]")
_GERMAN_TOKEN = re.compile(r"'?[^\W_]+(?:['/-][^\W_]+)*|[.?!,:\"'/-]")
_MARKS = '.?!,:"-'  # each a token
_INNER, _GERMAN_INNER = "'/", "'/-"  # what may be part of a word
_PARTED = bytes(  # what is part of no token parts words
    code if chr(code).isascii() and (chr(code).isalnum() or chr(code) in _MARKS + _INNER) else 32 for code in range(256)
)


def tokens(text: str, language: str) -> list[str]:
    """Return the tokens of an utterance as the post-filter counts them.

    Args:
        text: an utterance.
        language: its code; only German is another.
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
    """Return what a pattern finds in a text of ASCII, which it looks at only where marks may be part of a word."""
    for mark in _MARKS:
        if mark in text and mark not in inner:
            text = text.replace(mark, f" {mark} ")
    found = text.encode().translate(_PARTED).decode().split()
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
    """Return the most frequent tokens, `PLACEHOLDER` never among them; of equals the first of the alphabet. Those of
    what this makes of several parts of the tokens are those of all.

    Args:
        total: the tokens of all dialogues of a language: `add_up` of `counted(tokens_of(…).flatten())`.
        size: tokens at most.
    """
    known = pa.table({"word": total.words, "count": total.counts}).filter(pc.field("word") != PLACEHOLDER)
    if known.num_rows > size:
        known = known.sort_by([("count", "descending"), ("word", "ascending")]).slice(0, size)
    return WordCounts(known["word"].combine_chunks(), known["count"].to_numpy())


def unknown_shares(dialogues: pa.ListArray | pa.LargeListArray, known: pa.StringArray) -> Doubles:
    """Return the share of each dialogue's tokens that are not known, 0 to 1; 0 for one without tokens.

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
    """Tell which dialogues the post-filter drops, by their shares of unknown tokens."""
    return shares >= threshold
