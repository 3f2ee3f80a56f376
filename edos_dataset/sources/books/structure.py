"""From paragraphs to the blocks of a book: what stands around a paragraph decides of which kind it is."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE, Block
from edos_dataset.sources.books.drama import find_cues, is_direction
from edos_dataset.sources.books.kinds import Kinds, is_prose, is_title, opens_contents, opens_transcriber
from edos_dataset.sources.books.layout import Laid, Raw

_MOST_ENTRIES = 600  # paragraphs of a table of contents
_LONGEST_NOTE = 60  # paragraphs of a footnote
_BACK = 0.9  # of a book, behind which what a transcriber says goes to the end
_MARKS = re.compile(r"(?<![_\w])_(?!_)|(?<!_)_(?![_\w])|(?<=\w)_(?=\w)")
_REFERENCE = re.compile(r"\s?\[(?:\d{1,3}|[*†‡]{1,3}|[A-H])\]|\{\d{1,4}\}")
_BOLD = re.compile(r"(?<!\S)=([^=\n]{1,200})=(?!\w)")
_PAGE = re.compile(r"\s*\d{1,4}\s*$|[.\s]{3,}")


def structure(laid: Laid) -> tuple[Block, ...]:
    """Tell the kinds of the paragraphs of a plain text and make them blocks."""
    paragraphs = laid.paragraphs
    kinds = list(map(Kinds(laid.width).kind_of, paragraphs))
    _mark_notes(paragraphs, kinds)
    _mark_contents(paragraphs, kinds)
    _mark_title_page(paragraphs, kinds)
    _mark_transcriber(paragraphs, kinds)
    return tuple(_blocks(paragraphs, kinds))


def clean(text: str) -> str:
    """Return a paragraph on one line, without the marks of italics, bold print, footnotes and soft hyphens."""
    if "_" in text:
        text = _MARKS.sub("", text)
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


def _blocks(paragraphs: Sequence[Raw], kinds: Sequence[str]) -> Iterator[Block]:
    cues = find_cues([raw.text if kind not in (NOTE, CONTENTS) else "" for raw, kind in zip(paragraphs, kinds, strict=True)])
    chapter, speaker, waits = 0, None, False  # who speaks, and whether nothing of it was read yet
    for number, (raw, kind) in enumerate(zip(paragraphs, kinds, strict=True)):
        text, spoken = raw.text, False
        if cues and (cue := cues.get(number)):
            speaker, kind, text = cue.name, SPEECH, cue.said
            waits = not text.strip()
        elif speaker and kind == HEADING and raw.blanks > 1:
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


def _is_aside(paragraphs: Sequence[Raw], kinds: Sequence[str], cues: dict[int, object], number: int) -> bool:
    """Whether the line below a name says how it is spoken: a single one, with verses of the speech behind it."""
    behind = number + 1
    return (
        "\n" not in paragraphs[number].text
        and behind < len(paragraphs)
        and behind not in cues
        and kinds[behind] == VERSE
    )


def _mark_notes(paragraphs: Sequence[Raw], kinds: list[str]) -> None:
    """A note in brackets goes on until they close."""
    for number, (raw, kind) in enumerate(zip(paragraphs, kinds, strict=True)):
        if kind != NOTE or not raw.text.lstrip().startswith("["):
            continue
        open_brackets = raw.text.count("[") - raw.text.count("]")
        if open_brackets <= 0:
            continue
        for place in range(number + 1, min(number + _LONGEST_NOTE, len(paragraphs))):
            open_brackets += paragraphs[place].text.count("[") - paragraphs[place].text.count("]")
            if open_brackets <= 0:
                kinds[number + 1 : place + 1] = [NOTE] * (place - number)
                break


def _mark_contents(paragraphs: Sequence[Raw], kinds: list[str]) -> None:
    """A table of contents goes on until prose comes, or its first entry once more."""
    for number, raw in enumerate(paragraphs):
        if kinds[number] == PARAGRAPH or len(raw.text) > 5000 or not opens_contents(raw.text):
            continue
        kinds[number] = CONTENTS
        seen: set[str] = set()
        stop = number + 1
        for place in range(number + 1, min(number + _MOST_ENTRIES, len(paragraphs))):
            text = paragraphs[place].text
            entry = _PAGE.sub(" ", text.split("\n")[0]).strip(" ._").casefold()
            if entry in seen and kinds[place] == HEADING:
                stop = place
                break
            if kinds[place] == PARAGRAPH and is_prose(text):
                titles = sum(1 for _ in takewhile(lambda kind: kind == HEADING, reversed(kinds[stop:place])))
                stop = place - min(titles, 2)
                break
            seen.add(entry)
        else:
            continue
        kinds[number + 1 : stop] = [CONTENTS] * (stop - number - 1)


def _mark_title_page(paragraphs: Sequence[Raw], kinds: list[str]) -> None:
    """What stands before the first prose is a title page, but for the title of the first chapter."""
    most = min(len(paragraphs), 200)
    first = next((place for place in range(most) if _is_text(paragraphs[place], kinds[place])), 0)
    keep = first
    while keep and kinds[keep - 1] == HEADING and first - keep < 2 and _is_chapter(paragraphs[keep - 1].text):
        keep -= 1
    for place in range(keep):
        if kinds[place] != NOTE:
            kinds[place] = CONTENTS


def _is_text(raw: Raw, kind: str) -> bool:
    quoted = raw.text[0] in "“\"«„—-–" and len(raw.text) > 30
    return kind == PARAGRAPH and (is_prose(raw.text) or quoted) and "copyright" not in raw.text.lower()


def _is_chapter(text: str) -> bool:
    return is_title(text.strip(" _=").split("\n")[0])


def _mark_transcriber(paragraphs: Sequence[Raw], kinds: list[str]) -> None:
    """At the end of a book all behind the heading of a transcriber's notes is theirs."""
    begin = int(_BACK * len(paragraphs))
    for place in range(begin, len(paragraphs)):
        if kinds[place] in (CONTENTS, HEADING) and opens_transcriber(paragraphs[place].text):
            kinds[place:] = [CONTENTS] * (len(kinds) - place)
            return
