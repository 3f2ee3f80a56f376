"""The turns of paragraphs in which the file itself marks what is speech, and may state who says it."""

import re
from collections.abc import Sequence

from edos_dataset.segmentation.books.paragraphs import Parts
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speech import Turn
from edos_dataset.segmentation.books.turns import ANOTHER_SPEAKER, Quote, begun, finish, go_on
from edos_dataset.sources.books.book import Block, Said

_OPENING, _CLOSING = '"“”„‟«»‹›—–― ', '"“”«»‹› '
_SINGLE = re.compile(r"[‘'‚](.*)[’'‘]", re.DOTALL)
_LETTER = re.compile(r"[^\W_]")


def marked_turns(block: Block, number: int, rules: Rules) -> list[Turn]:
    """Return the turns of a paragraph with marked speech. Who says it is given where the mark tells, and found by
    dialogue tags elsewhere.

    Args:
        block: the paragraph.
        number: of the block.
        rules: of the language.
    """
    texts, marks = _split(block)
    turns: list[Turn] = []
    quote, before = Quote(turns, Parts(texts), rules), texts[0]
    for said, speech, after in zip(marks, texts[1::2], texts[2::2], strict=True):
        quote.read(speech, before, after)
        if not turns or _is_of_another(quote, said):
            turns.append(begun(quote, number))
            if said.speaker is not None:
                turns[-1].name, turns[-1].given = said.speaker, True
        else:
            go_on(turns[-1], quote)
        before = after
    finish(turns, before)
    return turns


def _split(block: Block) -> tuple[list[str], list[Said]]:
    """Return narration, speech, …, narration, without the quotes and dashes between them, and the marks of the speech;
    what has no letter is neither.
    """
    texts: list[str] = []
    marks: list[Said] = []
    narration: list[str] = []
    place = 0
    for said in block.said:
        narration.append(_narration(block.text[place : said.start]))
        place, speech = said.end, _bare(block.text[said.start : said.end])
        if _LETTER.search(speech) is not None:
            texts += [" ".join(filter(None, narration)), speech]
            marks.append(said)
            narration = []
    narration.append(_narration(block.text[place:]))
    return [*texts, " ".join(filter(None, narration))], marks


def _bare(speech: str) -> str:
    bare = speech.lstrip(_OPENING).rstrip(_CLOSING)
    inside = _SINGLE.fullmatch(bare)
    return inside[1] if inside else bare


def _narration(text: str) -> str:
    return text.strip(' "“”„‟«»‹›‘—–―').removeprefix("’").lstrip()


def _is_of_another(quote: Quote, said: Said) -> bool:
    """Return whether speech is another person's than the last turn before it in the paragraph."""
    last = quote.turns[-1]
    if said.speaker is not None and last.given:
        return said.speaker != last.name
    return ANOTHER_SPEAKER.decide(quote) or False


def is_marked_throughout(marked: Sequence[bool], heard: Sequence[bool]) -> bool:
    """Return whether a book marks its speech, so that quotes without a mark are none: at least as many paragraphs have
    marks as have only quotes or dashes.

    Args:
        marked: whether each paragraph has marked speech.
        heard: whether each would have speech by its quotes and dashes.
    """
    only_heard = sum(by_quotes and not by_marks for by_marks, by_quotes in zip(marked, heard, strict=True))
    return any(marked) and sum(marked) >= only_heard
