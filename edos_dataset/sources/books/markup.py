"""Paragraphs out of a tree of elements, whichever vocabulary names them."""

import html
from collections.abc import Callable
from typing import NamedTuple

from lxml import etree

SKIP, BLOCK, INSIDE, LINE, BREAK, SPEAKER, SCENE = "skip", "block", "inside", "line", "break", "speaker", "scene"
"""What an element does beside being of a kind: it is left out; it is a paragraph; nothing; it is a line of verse; it
ends a line; it names who speaks; it is where that holds.
"""


class Role(NamedTuple):
    """What an element is."""

    does: str = INSIDE
    kind: str | None = None  # of it and what lies in it; null: as what it lies in
    aside: bool = False  # a note within a paragraph, which goes on behind it


class Piece(NamedTuple):
    """A paragraph; in lines where the tree says so."""

    text: str
    kind: str | None  # null where no element says one
    speaker: str | None = None


def paragraphs(root: etree._Element, role_of: Callable[[etree._Element], Role], verse: str) -> list[Piece]:
    """Return the paragraphs of a tree in their order; notes within one follow it.

    Args:
        root: the tree.
        role_of: says what an element is.
        verse: the kind of lines that lie in nothing of a kind.
    """
    collected = _Collected(verse)
    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event in ("start", "end") and isinstance(node.tag, str):
            role = role_of(node)
            if event == "start":
                if role.does == SKIP:
                    walk.skip_subtree()
                else:
                    collected.start(role)
                    collected.say(node.text)
                continue
            if role.does != SKIP:
                collected.end(role)
        elif event == "end":
            collected.say(html.unescape(node.text or ""))  # a reference to an entity
        elif event == "start":
            continue
        collected.say(node.tail)
    collected.flush()
    return collected.done


class _Collected:
    """The paragraphs so far, and the one that is open."""

    def __init__(self, verse: str) -> None:
        self.done: list[Piece] = []
        self._verse = verse
        self._text: list[str] = []
        self._kinds: list[str | None] = [None]  # of the elements that are open
        self._lines: str | None = None  # kind of the lines that are open
        self._speaker: str | None = None
        self._notes: list[Piece] = []  # of the paragraph that is open
        self._around: list[str] | None = None  # text of the paragraph around an open note
        self._depth = 0  # elements open in a note

    def say(self, text: str | None) -> None:
        """Add text."""
        if text:
            self._text.append(text.replace("\n", " "))

    def start(self, role: Role) -> None:
        """Open an element."""
        if self._around is not None:
            self._depth += 1
            self._text += "\n" if role.does in (BLOCK, LINE, BREAK) else ""
        elif role.aside:
            self._around, self._text, self._depth = self._text, [], 1
        elif role.does in (BLOCK, SPEAKER):
            self.flush()
        elif role.does == LINE:
            if not self._lines:
                self.flush()
                self._lines = role.kind or self._kinds[-1] or self._verse
        elif role.does == BREAK:
            self._text.append("\n")
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
            self._speaker, self._text = _tidy(self._text).replace("\n", " ").strip(" .:_") or None, []
        elif role.does in (BLOCK, SCENE):
            self.flush()
            self._speaker = None if role.does == SCENE else self._speaker
        elif role.does == LINE:
            self._text.append("\n")
        self._kinds.pop()

    def flush(self) -> None:
        """End the paragraph that is open."""
        if text := _tidy(self._text):
            self.done.append(Piece(text, self._lines or self._kinds[-1], self._speaker))
        self._text, self._lines = [], None
        self.done += self._notes
        self._notes = []


def _tidy(pieces: list[str]) -> str:
    lines = "".join(pieces).split("\n")
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)
