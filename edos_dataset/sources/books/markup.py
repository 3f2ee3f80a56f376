"""Conversion of a tree of elements, in any vocabulary, to paragraphs."""

import html
from collections.abc import Callable
from typing import NamedTuple

from lxml import etree

from edos_dataset.sources.books.marks import CLOSE, Marks, without_signs
from edos_dataset.sources.parsed import ReadError

SKIP, BLOCK, INSIDE, LINE, BREAK, SPEAKER, SCENE = "skip", "block", "inside", "line", "break", "speaker", "scene"
PREFORMATTED, QUOTED, SAID = "preformatted", "quoted", "said"
"""What an element does besides having a kind: it is left out; it is a paragraph; nothing; it is a line of verse; it
ends a line; it names the speaker; it contains the speaker's words; it is a block in which empty lines end paragraphs;
it is in quotes, which are added if they are missing; it is also speech for certain.
"""

_OPENING_QUOTES = frozenset("\"'“„‘‚«‹")
_OWN_QUOTES = _OPENING_QUOTES | frozenset("»”—–―-") | {""}
_FEW = 8  # characters of an opening quote, of the sign behind it, and of spaces and dashes
MOST_TAGS = 5_000_000
"""Maximum number of tags in a page or file; no book has as many."""


class Role(NamedTuple):
    """What an element is."""

    does: str = INSIDE
    kind: str | None = None  # of it and its content; null: that of its parent
    aside: bool = False  # a note within a paragraph, which continues after it
    speaker: str | None = None  # who says what is SAID, or speaks in a SCENE, if the element tells


class Piece(NamedTuple):
    """A paragraph, split into lines if the tree has lines."""

    text: str
    kind: str | None  # null if no element states one
    speaker: str | None = None


def refuse_many_tags(text: str, reason: str) -> None:
    """Refuse a text with more tags than any book.

    Raises:
        ReadError: with the reason given.
    """
    if (tags := text.count("<")) > MOST_TAGS:
        raise ReadError(reason, f"{tags:,} tags, and no book has more than {MOST_TAGS:,}")


def paragraphs(
    root: etree._Element, role_of: Callable[[etree._Element], Role], verse: str, marks: Marks
) -> list[Piece]:
    """Return the paragraphs of a tree in order; notes within a paragraph follow it.

    Args:
        root: the tree.
        role_of: returns the role of an element.
        verse: the kind of lines outside any element with a kind.
        marks: gives the signs that stand around what is SAID in the text of the paragraphs.
    """
    collected = _Collected(verse, marks)
    preformatted = 0
    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event in ("start", "end") and isinstance(node.tag, str):
            role = role_of(node)
            if event == "start":
                if role.does == SKIP:
                    walk.skip_subtree()
                else:
                    collected.start(role)
                    if role.does in (QUOTED, SAID):
                        collected.open_quote(node, role)
                    preformatted += role.does == PREFORMATTED
                    (collected.preformatted if preformatted else collected.say)(node.text)
                continue
            if role.does in (QUOTED, SAID):
                collected.close_quote()
            if role.does != SKIP:
                collected.end(role)
                preformatted -= role.does == PREFORMATTED
        elif event == "end":
            collected.say(html.unescape(node.text or ""))  # a reference to an entity
        elif event == "start":
            continue
        (collected.preformatted if preformatted else collected.say)(node.tail)
    collected.flush()
    return collected.done


class _Collected:
    def __init__(self, verse: str, marks: Marks) -> None:
        self.done: list[Piece] = []
        self._verse, self._marks = verse, marks
        self._text: list[str] = []
        self._kinds: list[str | None] = [None]  # of the open elements
        self._quotes: list[str] = []  # closing quotes of open speech; empty if the text has its own
        self._said: list[str] = []  # signs before open speech; empty unless that is marked and the outermost
        self._lines: str | None = None  # kind of the open lines
        self._speaker: str | None = None
        self._stated: str | None = None  # speaker that the open scene states
        self._notes: list[Piece] = []  # of the open paragraph
        self._around: list[str] | None = None  # text of the paragraph around an open note
        self._depth = 0  # elements open in a note

    def say(self, text: str | None) -> None:
        """Add text."""
        if text:
            self._text.append(without_signs(text).replace("\n", " "))

    def preformatted(self, text: str | None) -> None:
        """Add text whose line breaks count; an empty line ends a paragraph."""
        first, *rest = (text or "").split("\n")
        self.say(first)
        for line in rest:
            self.break_line()
            self.say(line)

    def break_line(self) -> None:
        """End a line; if it is empty, also end the paragraph, unless that is a heading or a note."""
        last = next((piece for piece in reversed(self._text) if piece == "\n" or piece.strip()), None)
        if last == "\n" and self._around is None and self._kinds[-1] is None and not self._lines:
            self.flush()
        else:
            self._text.append("\n")

    def open_quote(self, node: etree._Element, role: Role) -> None:
        """Begin speech, in quotes unless the text has its own quotes or a dash, and a sign if it is marked."""
        own = "".join(map(str, node.itertext())).strip()[:1]
        before = "".join(self._text[-2:]).rstrip()[-1:]
        level = sum(map(bool, self._quotes)) % 2
        opening, closing = ("“‘"[level], "”’"[level])
        bare = not (own in _OWN_QUOTES or before in _OPENING_QUOTES)
        self._quotes.append(closing if bare else "")
        self.say(opening if bare else "")
        sign = "" if role.does != SAID or any(self._said) else self._marks.opening(role.speaker)
        self._said.append(sign)
        self._text.append(sign)

    def close_quote(self) -> None:
        """End speech."""
        sign, quote = self._said.pop(), self._quotes.pop()
        if not (sign or quote):
            return
        while self._text and not self._text[-1].strip():
            self._text.pop()
        if sign and self._text == [sign] and self.done:  # its last paragraph has ended
            self._text, last = [], self.done[-1]
            self.done[-1] = last._replace(text=last.text + quote)
            return
        if self._text:
            self._text[-1] = self._text[-1].rstrip()
        self._text.append((CLOSE if sign else "") + quote)

    def start(self, role: Role) -> None:
        """Open an element."""
        if self._around is not None:
            self._depth += 1
            self._text += "\n" if role.does in (BLOCK, LINE, BREAK) else ""
        elif role.aside:
            self._around, self._text, self._depth = self._text, [], 1
        elif role.does in (BLOCK, PREFORMATTED, SPEAKER, SCENE):
            self.flush()
            if role.does == SCENE:
                self._speaker = self._stated = role.speaker
        elif role.does == LINE:
            if not self._lines:
                self.flush()
                self._lines = role.kind or self._kinds[-1] or self._verse
        elif role.does == BREAK:
            self.break_line()
        self._kinds.append(role.kind or self._kinds[-1])

    def end(self, role: Role) -> None:
        """Close an element."""
        if self._around is not None:
            self._depth -= 1
            if not self._depth:
                if text := _tidy(self._text):
                    self._notes.append(Piece(text, self._kinds[-1]))
                self._text, self._around = self._around, None
        elif role.does == SPEAKER:
            name = _tidy(self._text).replace("\n", " ").strip(" .:_") or None
            self._speaker, self._text = self._stated or name, []
        elif role.does in (BLOCK, PREFORMATTED, SCENE):
            self.flush()
            if role.does == SCENE:
                self._speaker = self._stated = None
        elif role.does == LINE:
            self._text.append("\n")
        self._kinds.pop()

    def flush(self) -> None:
        """End the open paragraph; speech that is open goes on in the next one."""
        sign = next(filter(None, self._said), "")
        text = _tidy(self._text)
        if sign and not any(map(str.isalnum, text)):  # no more than its opening quote, which opens the next one
            self._text = [text if len(text) < _FEW else sign]
        else:
            if without_signs(text).strip():
                self.done.append(Piece(text + (CLOSE if sign else ""), self._lines or self._kinds[-1], self._speaker))
            self._text = [sign] if sign else []
        self._lines = None
        self.done += self._notes
        self._notes = []


def _tidy(pieces: list[str]) -> str:
    lines = "".join(pieces).split("\n")
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)
