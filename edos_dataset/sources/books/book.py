"""A book as read: blocks of text, each of one kind, and what the file states about itself."""

from typing import NamedTuple

#: The kinds of a block. SPEECH: a line of a play, its speaker known; NOTE: a footnote or an editor's apparatus;
#: CONTENTS: a table of contents, a list, a title page, a transcriber's notes.
PARAGRAPH, HEADING, VERSE, SPEECH, NOTE, CONTENTS = "paragraph", "heading", "verse", "speech", "note", "contents"


class Block(NamedTuple):
    """A paragraph of a book, in NFC, with white space collapsed to single spaces."""

    text: str  # without the name before a speech in a play
    kind: str = PARAGRAPH
    chapter: int = 0  # number of headings before it
    speaker: str | None = None  # of a SPEECH


class Book(NamedTuple):
    """A book: its blocks in order, and what the file states about itself."""

    blocks: tuple[Block, ...]
    language: str | None  # code that the file itself states
    title: str | None
    author: str | None
    year: int | None
    encoding: str
    encoding_confidence: float  # between 0 and 1
