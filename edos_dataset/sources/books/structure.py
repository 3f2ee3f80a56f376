"""From paragraphs to the blocks of a book: what stands around a paragraph decides of which kind it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE, Block
from edos_dataset.sources.books.drama import Cue, find_cues, is_direction
from edos_dataset.sources.books.kinds import (
    could_be_title,
    is_chapter,
    is_prose,
    is_title,
    opens_contents,
    opens_transcriber,
)

_MOST_ENTRIES = 600  # paragraphs of a table of contents
_MOST_TABLES = 20  # tables of contents and lists of pictures
_LONGEST_NOTE = 60  # paragraphs of a footnote
_BACK = 0.9  # of a book, behind which what a transcriber says goes to the end
_ENDS = frozenset(".!?,;:»”\"'’")
_MARKS = re.compile(r"_(?<!__)(?!_)")
_REFERENCE = re.compile(r"\s?\[(?:\d{1,3}|[*†‡]{1,3}|[A-H])\]|\{\d{1,4}\}")
_BOLD = re.compile(r"(?<!\S)=([^=\n]{1,200})=(?!\w)")
_PAGE = re.compile(r"\s*\d{1,4}\s*$|[.\s]{3,}")


def structure(paragraphs: Sequence[str], blanks: Sequence[int], kinds: list[str]) -> tuple[Block, ...]:
    """Make paragraphs blocks: what stands around one may change its kind.

    Args:
        paragraphs: of the whole book, with their lines.
        blanks: blank lines before each.
        kinds: of each by itself; changed in place.
    """
    _mark_titles(paragraphs, kinds)
    _mark_notes(paragraphs, kinds)
    behind = _mark_contents(paragraphs, kinds)
    cues = find_cues(
        [text if kind not in (NOTE, CONTENTS) else "" for text, kind in zip(paragraphs, kinds, strict=True)]
    )
    _mark_title_page(paragraphs, kinds, cues, behind)
    _mark_transcriber(paragraphs, kinds)
    return tuple(_blocks(paragraphs, blanks, kinds, cues))


def clean(text: str) -> str:
    """Return a paragraph on one line, without the marks of italics, bold print, footnotes and soft hyphens."""
    if "_" in text:
        text = _MARKS.sub("", text) if "__" in text else text.replace("_", "")
    if "[" in text or "{" in text:
        text = _REFERENCE.sub("", text)
    if "=" in text:
        text = _BOLD.sub(r"\1", text)
    if "\xad" in text:
        text = text.replace("\xad", "")
    text = text.replace("\n", " ")
    if "  " in text or "\t" in text or "\xa0" in text or text[:1] == " " or text[-1:] == " ":
        text = " ".join(text.split())
    return text


def _blocks(
    paragraphs: Sequence[str], blanks: Sequence[int], kinds: Sequence[str], cues: Mapping[int, Cue]
) -> Iterator[Block]:
    chapter, speaker, waits = 0, None, False  # who speaks, and whether nothing of it was read yet
    for number, (text, kind) in enumerate(zip(paragraphs, kinds, strict=True)):
        spoken = False
        if cues and kind not in (NOTE, CONTENTS) and (cue := cues.get(number)):
            speaker, kind, text = cue.name, SPEECH, cue.said
            waits = not text.strip()
        elif speaker and kind == HEADING and blanks[number] > 1:
            speaker = None
        elif speaker and kind in (VERSE, PARAGRAPH, NOTE, HEADING):
            if is_direction(text) or (waits and _is_aside(paragraphs, kinds, cues, number)):
                kind = PARAGRAPH
            elif waits or kind == VERSE:
                spoken = True
            elif kind == PARAGRAPH:
                speaker = None
        if spoken:
            kind, waits = SPEECH, False
        text = clean(text)
        if not text:
            continue
        yield Block(text, kind, chapter, speaker if kind == SPEECH else None)
        chapter += kind == HEADING


def _is_aside(paragraphs: Sequence[str], kinds: Sequence[str], cues: Mapping[int, Cue], number: int) -> bool:
    """Whether the line below a name says how it is spoken: a single one, with verses of the speech behind it."""
    behind = number + 1
    return "\n" not in paragraphs[number] and behind < len(paragraphs) and behind not in cues and kinds[behind] == VERSE


def _mark_titles(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """Below the number of a chapter stands its title."""
    for number in range(1, len(kinds)):
        if kinds[number] == PARAGRAPH and kinds[number - 1] == HEADING and could_be_title(paragraphs[number]):
            kinds[number] = HEADING


def _mark_notes(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """A note in brackets goes on until they close."""
    for number, (text, kind) in enumerate(zip(paragraphs, kinds, strict=True)):
        if kind != NOTE or not text.lstrip().startswith("["):
            continue
        open_brackets = text.count("[") - text.count("]")
        if open_brackets <= 0:
            continue
        for place in range(number + 1, min(number + _LONGEST_NOTE, len(paragraphs))):
            open_brackets += paragraphs[place].count("[") - paragraphs[place].count("]")
            if open_brackets <= 0:
                kinds[number + 1 : place + 1] = [NOTE] * (place - number)
                break


def _mark_contents(paragraphs: Sequence[str], kinds: list[str]) -> int:
    """A table of contents goes on until prose comes, or its first entry once more. Return where the first one ends."""
    behind = last = tables = 0
    for number, title in enumerate(paragraphs):
        if kinds[number] == PARAGRAPH or len(title) > 5000 or number < last or not opens_contents(title):
            continue
        kinds[number] = CONTENTS
        tables += 1
        if tables > _MOST_TABLES:
            break
        seen: set[str] = set()
        for place in range(number + 1, min(number + _MOST_ENTRIES, len(paragraphs))):
            text = paragraphs[place]
            entry = _PAGE.sub(" ", text.split("\n")[0]).strip(" ._").casefold()
            if kinds[place] == HEADING and entry in seen:
                break
            if kinds[place] in (PARAGRAPH, VERSE) and is_prose(text):
                titles = sum(1 for _ in takewhile(lambda kind: kind == HEADING, reversed(kinds[number + 1 : place])))
                place -= min(titles, 2)
                break
            seen.add(entry)
        else:
            continue
        kinds[number + 1 : place] = [CONTENTS] * (place - number - 1)
        behind, last = behind or place, place
    return behind


def _mark_title_page(paragraphs: Sequence[str], kinds: list[str], cues: Mapping[int, Cue], behind: int) -> None:
    """What stands before the first prose is a title page, but for the title of the first chapter, and where a table of
    contents ends.

    Args:
        paragraphs: of the whole book.
        kinds: theirs; changed in place.
        cues: of a play.
        behind: the first paragraph behind the first table of contents, or 0.
    """
    most = min(len(paragraphs), 300)
    first = next((place for place in range(most) if place in cues or _is_text(paragraphs[place], kinds[place])), 0)
    keep = _first_title(paragraphs, kinds, first)
    if behind < first and kinds[behind] == HEADING and first - behind < 12:
        keep = min(keep, behind) if behind else keep
    for place in range(keep):
        if kinds[place] != NOTE:
            kinds[place] = CONTENTS


def _is_text(text: str, kind: str) -> bool:
    if kind == VERSE:
        return text.count("\n") > 2 and text.rstrip("_ ")[-1:] in _ENDS
    quoted = text[0] in '“"«„—-–' and len(text) > 30
    return kind == PARAGRAPH and (is_prose(text) or quoted) and "copyright" not in text.lower()


def _first_title(paragraphs: Sequence[str], kinds: Sequence[str], first: int) -> int:
    """Return where the titles of the first chapter begin, above its first paragraph."""
    top = first
    while top and kinds[top - 1] == HEADING and first - top < 5:
        top -= 1
    titles = [paragraphs[place].strip(" _=").split("\n")[0] for place in range(top, first)]
    numbered = [is_chapter(title) for title in titles]
    if any(numbered):  # the last one, and those of the book and the part right above it
        place = len(numbered) - 1 - numbered[::-1].index(True)
        while place and numbered[place - 1]:
            place -= 1
        return top + place
    return max(first - 1, top) if titles and is_title(titles[-1]) else first


def _mark_transcriber(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """At the end of a book all behind the heading of a transcriber's notes is theirs."""
    begin = int(_BACK * len(paragraphs))
    for place in range(begin, len(paragraphs)):
        if kinds[place] in (CONTENTS, HEADING) and opens_transcriber(paragraphs[place]):
            kinds[place:] = [CONTENTS] * (len(kinds) - place)
            return
