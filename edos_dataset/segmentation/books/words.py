"""Words in small letters, and how the narrator's are looked up: sets of words, phrases, beginnings of sentences."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
_SMALL = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalpha() else 32 for code in range(256))


def small_words(text: str) -> list[str]:
    """Return the words of a text in small letters; what is no letter parts them."""
    if text.isascii():  # the same, five times as fast
        return text.encode().translate(_SMALL).decode().split()
    return _WORD.findall(text.lower())


class Words(frozenset[str]):
    """A set of words in small letters; one that ends in * stands for all that begin so."""

    def __new__(cls, words: Iterable[str] = ()) -> "Words":
        """Return the words, as a plain set where none ends in *."""
        words = tuple(words)
        return super().__new__(_Beginnings if any(word.endswith("*") for word in words) else cls, words)

    def meet(self, words: Sequence[str]) -> bool:
        """Say whether one of some words, in small letters, is one."""
        return not self.isdisjoint(words)


class _Beginnings(Words):
    """Words of which some stand for all that begin so."""

    def __init__(self, _: Iterable[str] = ()) -> None:
        beginnings = tuple(word[:-1] for word in self if word.endswith("*"))
        self._begins = lru_cache(maxsize=1 << 14)(lambda word: word.startswith(beginnings))  # most words come often

    def __contains__(self, word: object) -> bool:
        """Say whether a word, in small letters, is one."""
        return super().__contains__(word) or self._begins(word)

    def meet(self, words: Sequence[str]) -> bool:
        """Say whether one of some words, in small letters, is one."""
        return not self.isdisjoint(words) or True in map(self._begins, words)


class Phrases:
    """Texts to look for in narration, whatever their case."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self._texts = tuple(text.lower() for text in texts)
        self._pieces = tuple(_pieces_of(self._texts))

    def within(self, narration: str) -> bool:
        """Say whether one of them stands in some narration."""
        if not self._texts:
            return False
        narration = narration.lower()
        for piece in self._pieces:  # a hundredth of the time of an expression without case
            if piece in narration:
                return any([text in narration for text in self._texts])
        return False


def _pieces_of(texts: Sequence[str]) -> Iterator[str]:
    """Yield few short texts of which each of some texts holds one: where none of these stands, none of them does."""
    while texts:
        in_texts = [{text[at : at + 4] for at in range(max(len(text) - 3, 1))} for text in texts]
        pieces = Counter(piece for each in in_texts for piece in each)
        best = max(pieces, key=lambda piece: (pieces[piece], piece))
        yield _longest_around(best, [text for text in texts if best in text])
        texts = [text for text in texts if best not in text]


def _longest_around(piece: str, texts: Sequence[str]) -> str:
    """Return the longest text around a piece that all of some texts hold: it stands in less narration."""
    first = texts[0]
    begin = first.index(piece)
    end = begin + len(piece)
    while begin and all(first[begin - 1 : end] in text for text in texts):
        begin -= 1
    while end < len(first) and all(first[begin : end + 1] in text for text in texts):
        end += 1
    return first[begin:end]


class Later:
    """What begins a narrator's sentence when time or place have changed."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        # Marks come first, so that it looks no further where no sentence begins.
        self._pattern = re.compile(rf"[.!?…] (?:{'|'.join(texts)})\b", re.IGNORECASE)

    def begins_in(self, narration: str) -> bool:
        """Say whether a sentence of some narration, in single spaces, begins so."""
        return self._pattern.search(f". {narration}") is not None
