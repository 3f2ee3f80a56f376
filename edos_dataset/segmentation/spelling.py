"""Words as numbers, so that two spellings of one word are one: "Dr" and "Doctor", "gonna" and "going to", "21" and
"twenty-one", "don't" and "do not".
"""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from edos_dataset.text import normal_form

_SPELLINGS = {
    "gonna": "going to", "wanna": "want to", "gotta": "got to", "kinda": "kind of", "sorta": "sort of",
    "outta": "out of", "lemme": "let me", "gimme": "give me", "dunno": "do not know", "cause": "because",
    "cuz": "because", "em": "them", "til": "until", "till": "until", "ya": "you", "y'all": "you all", "ma'am": "madam",
    "c'mon": "come on", "ok": "okay", "yeah": "yes", "yep": "yes", "yup": "yes", "dr": "doctor", "mr": "mister",
    "mrs": "missus", "prof": "professor", "sgt": "sergeant", "lt": "lieutenant", "vs": "versus", "alright": "all right",
    "cannot": "can not", "won't": "will not", "can't": "can not", "shan't": "shall not", "let's": "let us", "&": "and",
    "%": "percent", "um": "uh", "er": "uh", "erm": "uh", "ah": "oh", "mum": "mom",
}  # fmt: skip
_ENDINGS = {"n't": "not", "'m": "am", "'re": "are", "'ll": "will", "'ve": "have", "'s": "is", "'d": "would"}
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORD = re.compile(r"\n|[^\W_]+(?:'[^\W_]+)*(?:(?<=in)')?|[&%]")
_CONTRACTED = re.compile(r"(.+?)(n't|'m|'re|'ll|'ve|'s|'d)$")
_DROPPED = re.compile("[\u0300-\u036f]+|(?<=[0-9]),(?=[0-9]{3})")  # and the commas of large numbers
_BREAK = "\n"
_LONGEST_WORD = 40  # characters; what is longer stands for nothing but itself


def number_words(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number the words of all texts.

    Args:
        texts: any texts.

    Returns:
        int64 [words], the number of each word, from 0 without gaps, the same for all spellings of one word; and int64
        [words], the index of its text.
    """
    whole = normal_form(_BREAK.join(text.replace(_BREAK, " ") for text in texts), "NFKD")
    words = pa.array(
        _WORD.findall(_DROPPED.sub("", whole).casefold().translate({ord("’"): "'", ord("‘"): "'"})), pa.string()
    ).dictionary_encode()
    spelled = [_spell(word) for word in words.dictionary.to_pylist()]
    known: dict[str, int] = {}
    flat = np.array([known.setdefault(part, len(known)) for parts in spelled for part in parts], np.int64)
    lengths = np.array([len(parts) for parts in spelled], np.int64)
    forms = words.indices.to_numpy()
    counts = lengths[forms]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = flat[np.repeat((np.cumsum(lengths) - lengths)[forms], counts) + within]
    breaks = numbers == known.get(_BREAK, -1)
    _, numbers = np.unique(numbers[~breaks], return_inverse=True)
    return numbers, np.cumsum(breaks)[~breaks]


def _spell(word: str) -> list[str]:
    """Return the words that a written word stands for."""
    if len(word) > _LONGEST_WORD:
        return [word]
    if word in _SPELLINGS:
        return _SPELLINGS[word].split()
    if word.isascii() and word.isdecimal() and len(word) <= 4:
        return _spell_number(int(word)) or [word]
    if word.endswith("in'"):
        return [word[:-1] + "g"]
    parts = _CONTRACTED.match(word)
    return [*_spell(parts[1]), _ENDINGS[parts[2]]] if parts else [word]


def _spell_number(number: int) -> list[str]:
    """Return the words of a number up to 99, or of whole hundreds or thousands up to 9900; of others there is more than
    one reading.
    """
    if number < len(_UNITS):
        return [_UNITS[number]]
    if number < 100:
        return [_TENS[number // 10 - 2], *_UNITS[number % 10 : number % 10 + 1] * (number % 10 > 0)]
    name, size = ("thousand", 1000) if number % 1000 == 0 else ("hundred", 100)
    return [*_spell_number(number // size), name] if number % size == 0 else []
