"""Speech that a file marks up, such as `<said who="#anna">` of TEI, from the tree of elements to the blocks of a book.

Between the two the text of a paragraph is tidied, joined and cut, so that places in it would go astray. So while it is
read a sign of private use stands in it where a mark begins, another for each speaker, and one where a mark ends.
"""

import re
from collections.abc import Iterable, Iterator

from edos_dataset.sources.books.book import PARAGRAPH, Block, Said

_FIRST, _LAST = 0xF0000, 0xFFFFC
CLOSE = chr(_LAST + 1)
_SIGN = re.compile(f"[{chr(_FIRST)}-{CLOSE}]")
_SPACE_INSIDE = re.compile(f"([{chr(_FIRST)}-{chr(_LAST)}]) +")


class Marks:
    """The signs of a book, and the speakers for whom they stand."""

    def __init__(self) -> None:
        self._speakers: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def opening(self, speaker: str | None) -> str:
        """Return the sign with which speech of somebody begins; one without a name if there are too many."""
        number = self._numbers.setdefault(speaker, len(self._speakers))
        if _FIRST + number > _LAST:
            return chr(_FIRST)
        if number == len(self._speakers):
            self._speakers.append(speaker)
        return chr(_FIRST + number)

    def said_in(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without signs, each paragraph with the speech that they enclosed."""
        for block in blocks:
            if block.text.isascii() or _SIGN.search(block.text) is None:
                yield block
                continue
            text, said = _without_signs(_SPACE_INSIDE.sub(r"\1", block.text), self._speakers)
            if text:
                yield block._replace(text=text, said=tuple(said) if block.kind == PARAGRAPH else ())


def without_signs(text: str) -> str:
    """Return a text without signs."""
    return text if text.isascii() else _SIGN.sub("", text)


def _without_signs(text: str, names: list[str | None]) -> tuple[str, list[Said]]:
    """Return a text without signs, and the speech between them."""
    pieces: list[str] = []
    said: list[Said] = []
    length = begin = last = 0
    speaker: int | None = None
    for found in _SIGN.finditer(text):
        pieces.append(text[last : found.start()])
        length, last = length + found.start() - last, found.end()
        if found[0] != CLOSE:
            begin, speaker = length, ord(found[0]) - _FIRST
        elif speaker is not None:
            said.append(Said(begin, length, names[speaker]))
            speaker = None
    pieces.append(text[last:])
    if speaker is not None:
        said.append(Said(begin, length + len(pieces[-1]), names[speaker]))
    return "".join(pieces), [each for each in said if each.end > each.start]
