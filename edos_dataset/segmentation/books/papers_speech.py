"""Paragraphs → utterances → dialogues as the authors of the Gutenberg Dialogue Dataset find them, by kind of delimiter.

A paragraph is given as its lines; it counts as these with a space behind each, so one character more than it has.
"""

from collections.abc import Sequence
from typing import NamedTuple

from edos_dataset.segmentation.books.speech import Utterance

_CLOSING = {"„": "“", "»": "«", '"': '"'}


class Found(NamedTuple):
    """Dialogues of a book, some of one utterance or none, and in how many paragraphs of speech stand two dashes."""

    dialogues: list[list[Utterance]]
    doubles: int = 0


def find_quotes(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech in quotes, as in English and Dutch.

    A paragraph is an utterance if its quotes are balanced and the first begins with a capital.

    Args:
        paragraphs: of a book, without empty ones.
        delimiter: `"`, the left double or the left single quote.
        gap: characters behind the last quote and in paragraphs without one beyond which a new dialogue begins.
    """
    dialogues: list[list[Utterance]] = []
    closing = {"“": "”", "‘": "’ "}.get(delimiter, delimiter)
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines and closing[0] not in lines:
            silence += len(lines) + 1
            continue
        paragraph = lines.replace("\n", " ") + " "
        if closing != delimiter:
            paragraph = paragraph.replace(closing, delimiter + closing[1:])
        if delimiter not in paragraph:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        pieces = paragraph.split(delimiter)
        if len(pieces) % 2:
            first = pieces[1][:1]
            if first == first.lower():
                silence += len(lines) + 1
                continue
            dialogues[-1].append(_utterance(" ".join(pieces[1::2]), number))
        silence = len(pieces[-1])
    return Found(dialogues)


def find_plays(paragraphs: Sequence[str], gap: int) -> Found:
    """Find the lines of a play, which begin with a name between underscores; stage directions in underscores stay."""
    dialogues: list[list[Utterance]] = []
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if not lines.startswith("_"):
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        dialogues[-1].append(_utterance(" ".join(lines.split("_")[2:]), number))
        silence = 0
    return Found(dialogues)


def find_german(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech in German quotes: a paragraph is an utterance if one opens in its first two characters.

    A quote that is not closed goes on to the end of the paragraph, and what stands behind the last one is no gap.
    """
    dialogues: list[list[Utterance]] = []
    silence = gap + 1
    closing = _CLOSING[delimiter]
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines[:2]:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        quotes = (piece.partition(closing)[0] for piece in lines.split(delimiter)[1:])
        dialogues[-1].append(_utterance("".join(quotes), number))
        silence = 0
    return Found(dialogues)


def find_dashes(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech behind dashes: a paragraph is an utterance if one stands in its first two characters.

    The second dash begins narration, the third speech again, and so on.
    """
    dialogues: list[list[Utterance]] = []
    doubles = 0
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines[:2]:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        pieces = lines.split(delimiter)[1:]
        doubles += len(pieces) > 1
        dialogues[-1].append(_utterance(" ".join(pieces[::2]), number))
        silence = 0
    return Found(dialogues, doubles)


def _utterance(text: str, paragraph: int) -> Utterance:
    return Utterance(" ".join(text.split()), (paragraph,))
