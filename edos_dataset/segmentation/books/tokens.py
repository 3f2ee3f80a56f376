"""Words and marks of the narrator's text beside speech."""

import re
from collections.abc import Sequence
from functools import lru_cache

from edos_dataset.segmentation.books.rules import Rules

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[.,;:!?…—–()]|--")
_ASCII_MARKS = (*".,;:!?()", "--")
_ASCII_TOKENS = bytes(  # what is part of no token parts them
    code if code < 128 and (chr(code).isalnum() or chr(code) in ".,;:!?()'-") else 32 for code in range(256)
)
_HANGING = re.compile(r"([^\W_]+)['’-](.+)")


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of some narration."""
    if not text.isascii():
        return _TOKEN.findall(text)
    for mark in _ASCII_MARKS:  # the same, in a third of the time
        if mark in text:
            text = text.replace(mark, f" {mark} ")
    found = text.encode().translate(_ASCII_TOKENS).decode().split()
    if "'" not in text and "-" not in text:
        return found
    return [token for piece in found for token in ((piece,) if piece.isalnum() else _TOKEN.findall(piece))]


@lru_cache(maxsize=1 << 6)  # what stands behind one quote stands before the next
def with_verbs(text: str, rules: Rules) -> Sequence[str]:
    """Return words and marks, a verb of saying parted from what hangs on it: "disse-lhe", "diss'egli"."""
    tokens = tokens_of(text)
    if "'" not in text and "’" not in text and "-" not in text:
        return tokens
    for place in reversed([place for place, token in enumerate(tokens) if not token.isalnum()]):
        if (found := _HANGING.fullmatch(tokens[place])) and found[1].lower() in rules.says:
            tokens[place : place + 1] = found.groups()
    return tokens
