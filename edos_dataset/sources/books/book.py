"""A book as read: blocks of text, each of one kind, and what the file states about itself."""

from typing import NamedTuple

#: The kinds of a block. SPEECH: a line of a play, its speaker known; NOTE: a footnote or an editor's apparatus;
#: CONTENTS: a table of contents, a list, a title page, a transcriber's notes.
PARAGRAPH, HEADING, VERSE, SPEECH, NOTE, CONTENTS = "paragraph", "heading", "verse", "speech", "note", "contents"


class Said(NamedTuple):
    """Speech in a paragraph, as the file marks it."""

    start: int
    end: int  # its characters in the text of the block, with quotes and dashes if they stand inside the mark
    speaker: str | None  # name of who says it; None if the mark does not tell


class Block(NamedTuple):
    """A paragraph of a book, in NFC, with white space collapsed to single spaces."""

    text: str  # without the name before a speech in a play
    kind: str = PARAGRAPH
    chapter: int = 0  # number of headings before it
    speaker: str | None = None  # of a SPEECH
    said: tuple[Said, ...] = ()  # of a PARAGRAPH, in order; empty if the file marks no speech in it


class Book(NamedTuple):
    """A book: its blocks in order, and what the file states about itself."""

    blocks: tuple[Block, ...]
    language: str | None  # code that the file itself states
    title: str | None
    author: str | None
    year: int | None
    encoding: str
    encoding_confidence: float  # between 0 and 1
