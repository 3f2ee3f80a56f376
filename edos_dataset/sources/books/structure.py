"""Conversion of paragraphs to blocks: their neighbours decide their kind and, in a play, their speaker.

Names in a play are in capitals, in italics or before a colon, beside the speech or on a line above it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE, Block
from edos_dataset.sources.books.kinds import (
    could_be_title,
    is_chapter,
    is_prose,
    is_title,
    opens_contents,
    opens_edition,
    opens_transcriber,
)

_MOST_ENTRIES = 600  # paragraphs of a table of contents
_MOST_TABLES = 20  # tables of contents and lists of pictures
_LONGEST_NOTE = 60  # paragraphs of a footnote
_BACK = 0.9  # fraction of a book; a transcriber's notes that begin after it extend to the end
_OF_EDITION = 40  # paragraphs at either end that may be about the electronic edition
_BEGINS = frozenset("\"“”„‟'‘‚«»‹›「『—–―-")  # quotes and dashes with which speech begins
_ENDS = frozenset(".!?,;:»”\"'’")
_MARKS = re.compile(r"_(?<!__)(?!_)")
_REFERENCE = re.compile(r"\s?\[(?:\d{1,3}|[*†‡]{1,3}|[A-H])\]|\{\d{1,4}\}")
_BOLD = re.compile(r"(?<!\S)=([^=\n]{1,200})=(?!\w)")
_PAGE = re.compile(r"\s*\d{1,4}\s*$|[.\s]{3,}")

_CAPITAL = "A-ZÀ-ÖØ-ÞŐŰŒŠŽ"
_STAGE = r"(?:\s*(?:\([^()]{0,300}\)|\[[^\[\]]{0,300}\]))"
_CUE = re.compile(
    rf"[ \t]*(?:_(?P<italic>[{_CAPITAL}][\w'’. -]{{1,30}}?)(?:[.:]_|_(?=[.:\n]|$|{_STAGE})|(?= \[)|(?=[.:] ))"
    rf"|(?P<capitals>[{_CAPITAL}][{_CAPITAL}'’.\t ,-]{{0,45}}[{_CAPITAL}])(?![\w'’])"
    rf"|(?P<plain>[{_CAPITAL}]\w{{1,15}}(?: [{_CAPITAL}]\w{{1,15}})?)(?=:\s))"
    rf"(?P<stage>{_STAGE}|,? [^\n.:]{{3,60}}(?=[.:]?\n))?"
    r"(?P<end>[.:_]*(?=\s*\n|$)|[._]*[.:]_?(?=\s)|(?<=[.:]_)(?=\s)|(?<=\])_?(?=\s))[ \t]*"
)
_DIRECTION = re.compile(r"\[_?[^\[\]]{0,600}?_?\]\.?|\(_[^()]{0,600}_\)\.?")
_NO_NAMES = frozenset({
    "enter", "exit", "exeunt", "scene", "scena", "szene", "finis", "ende", "note", "mr", "mrs", "dr",
})  # fmt: skip
_NUMERAL = re.compile(r"[IVXLC]+")
_LEAST_CUES = 12
_LEAST_OF_NAME = 3
_LEAST_OF_PLAIN = 8
_NEAR = 5  # maximum distance between cues of a scene, in paragraphs


class Cue(NamedTuple):
    """The beginning of a speech."""

    name: str
    said: str  # its part in the same paragraph, without stage directions; may be empty


class _Candidate(NamedTuple):
    """Text that looks like the beginning of a speech."""

    name: str
    end: int  # end of the name, where the speech begins
    is_plain: bool  # neither in capitals nor in italics

    @property
    def key(self) -> str:
        return self.name.casefold()


def find_cues(paragraphs: Sequence[str]) -> dict[int, Cue]:
    """Find the paragraphs of a book that begin a speech of a play; none if it is not a play.

    A name counts if it appears in this form at least three times (eight if neither capitals nor italics distinguish
    it). A book, or a scene in it, counts as a play if two such names alternate closely.

    Args:
        paragraphs: with their lines.

    Returns:
        Number of a paragraph → its cue.
    """
    found = _candidates(paragraphs)
    close = _alternating(found)
    if not close:
        return {}
    spelling: dict[str, str] = {}
    for candidate in found.values():
        spelling.setdefault(candidate.key, candidate.name)
    cues: dict[int, Cue] = {}
    last = -_NEAR
    for number, candidate in found.items():
        said = without_directions(paragraphs[number][candidate.end :])
        follows = not candidate.is_plain and number - last <= _NEAR and said.strip()
        if (number in close or follows) and not said.isupper():  # a title page: "OF" and the title below it
            cues[number] = Cue(spelling[candidate.key], said)
            last = number
    return cues


def _candidates(paragraphs: Sequence[str]) -> dict[int, _Candidate]:
    found = {}
    for number, text in enumerate(paragraphs):
        if _may_begin_speech(text) and (match := _CUE.match(text)) and (name := _name_of(match)):
            found[number] = _Candidate(name, match.end(), match["plain"] is not None)
    return found


def _may_begin_speech(text: str) -> bool:
    """Return whether a text may begin like "HAMLET. ...", "_Nora._ ..." or "Ann: ...", without matching the pattern."""
    start = text.lstrip()[:2]
    return start.isupper() or start[:1] == "_" or (":" in text[:36] and start[:1].isupper())


def _alternating(found: Mapping[int, _Candidate]) -> set[int]:
    """Return the cues close to another one, if there are enough of them for a play."""
    counts = Counter((candidate.key, candidate.is_plain) for candidate in found.values())
    least = {True: _LEAST_OF_PLAIN, False: _LEAST_OF_NAME}
    known = {key for (key, is_plain), count in counts.items() if count >= least[is_plain]}
    sure = [number for number, candidate in found.items() if candidate.key in known]
    close = {place for one, other in pairwise(sure) if other - one <= _NEAR for place in (one, other)}
    speakers = {found[number].key for number in close}
    is_play = len(close) >= _LEAST_CUES and 2 * len(close) >= len(sure) and len(speakers) >= 2
    return close if is_play else set()


def is_direction(text: str) -> bool:
    """Whether a paragraph is a stage direction: all of it in brackets, or in italics."""
    text = text.strip()
    ends_so = text[-2:] in ("].", "_.") and text[0] in "[_"
    return ends_so or (text[:1], text[-1:]) in {("[", "]"), ("(", ")"), ("_", "_")}


def without_directions(speech: str) -> str:
    """Return a speech without its stage directions."""
    if speech.lstrip().startswith("("):
        speech = re.sub(r"^\s*\([^()]{0,600}\)\.?", "", speech)
    return _DIRECTION.sub(" ", speech) if "[" in speech or "(_" in speech else speech


def _name_of(match: re.Match[str]) -> str | None:
    name = " ".join((match["italic"] or match["capitals"] or match["plain"]).split()).strip("._ ")
    if len(name) < 2 or _NUMERAL.fullmatch(name) or name.split()[0].casefold() in _NO_NAMES or len(name.split()) > 6:
        return None
    is_title_of_chapter = match["capitals"] and is_chapter(name.title())
    return None if is_title_of_chapter else name


def structure(paragraphs: Sequence[str], blanks: Sequence[int], kinds: list[str]) -> tuple[Block, ...]:
    """Turn paragraphs into blocks; the neighbours of a paragraph may change its kind.

    Args:
        paragraphs: paragraphs of the whole book, with their lines.
        blanks: number of blank lines before each.
        kinds: kind of each by itself; changed in place.
    """
    _mark_titles(paragraphs, kinds)
    _mark_notes(paragraphs, kinds)
    table_end = _mark_contents(paragraphs, kinds)
    cues = find_cues(
        [text if kind not in (NOTE, CONTENTS) else "" for text, kind in zip(paragraphs, kinds, strict=True)]
    )
    _mark_title_page(paragraphs, kinds, cues, table_end)
    _mark_transcriber(paragraphs, kinds)
    _mark_edition(paragraphs, kinds)
    return tuple(_blocks(paragraphs, blanks, kinds, cues))


def clean(text: str) -> str:
    """Return a paragraph on one line, without marks for italics, bold print and footnotes, and without soft hyphens."""
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
    chapter, play = 0, _Play(paragraphs, blanks, kinds, cues)
    for number in range(len(paragraphs)):
        text, kind = play.listen(number)
        if text := clean(text):
            yield Block(text, kind, chapter, play.speaker if kind == SPEECH else None)
            chapter += kind == HEADING


class _Play:
    """Keeps track of the speaker, who is always null in a book without cues.

    Attributes:
        speaker: speaker of the current speech, or null.
    """

    def __init__(
        self, paragraphs: Sequence[str], blanks: Sequence[int], kinds: Sequence[str], cues: Mapping[int, Cue]
    ) -> None:
        self._paragraphs, self._blanks, self._kinds, self._cues = paragraphs, blanks, kinds, cues
        self.speaker: str | None = None
        self._is_waiting = False  # nothing of the speech has been read yet

    def listen(self, number: int) -> tuple[str, str]:
        """Return the text of the next paragraph, without the name that begins a speech, and its kind."""
        text, kind = self._paragraphs[number], self._kinds[number]
        if self._cues and kind not in (NOTE, CONTENTS) and (cue := self._cues.get(number)):
            self.speaker, self._is_waiting = cue.name, not cue.said.strip()
            return cue.said, SPEECH
        if self.speaker is None or kind == CONTENTS:
            return text, kind
        if kind == HEADING and self._blanks[number] > 1:
            self.speaker = None
            return text, kind
        if is_direction(text) or (self._is_waiting and self._is_aside(number)):
            return text, PARAGRAPH
        if self._is_waiting or kind == VERSE:
            self._is_waiting = False
            return text, SPEECH
        if kind == PARAGRAPH:
            self.speaker = None
        return text, kind

    def _is_aside(self, number: int) -> bool:
        """Return whether the line below a name says how to speak: a single line, followed by the verses of the
        speech.
        """
        after = number + 1
        is_followed = after < len(self._paragraphs) and after not in self._cues and self._kinds[after] == VERSE
        return "\n" not in self._paragraphs[number] and is_followed


def _mark_titles(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """Mark titles of chapters, which are below their numbers."""
    for number in range(1, len(kinds)):
        if kinds[number] == PARAGRAPH and kinds[number - 1] == HEADING and could_be_title(paragraphs[number]):
            kinds[number] = HEADING


def _mark_notes(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """Mark notes in brackets, which continue until the brackets close."""
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
    """Mark tables of contents, which continue until prose begins or an entry recurs; return where the first one
    ends.
    """
    table_end = last = tables = 0
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
        table_end, last = table_end or place, place
    return table_end


def _mark_title_page(paragraphs: Sequence[str], kinds: list[str], cues: Mapping[int, Cue], table_end: int) -> None:
    """Mark the title page: everything before the first prose except the title of the first chapter. It may also end
    where a table of contents does.

    Args:
        paragraphs: paragraphs of the whole book.
        kinds: their kinds; changed in place.
        cues: the cues of a play.
        table_end: index of the first paragraph after the first table of contents, or 0.
    """
    most = min(len(paragraphs), 300)
    first = next((place for place in range(most) if place in cues or _is_text(paragraphs[place], kinds[place])), 0)
    keep = _first_title(paragraphs, kinds, first)
    if table_end < first and kinds[table_end] == HEADING and first - table_end < 12:
        keep = min(keep, table_end) if table_end else keep
    for place in range(keep):
        if kinds[place] != NOTE:
            kinds[place] = CONTENTS


def _is_text(text: str, kind: str) -> bool:
    if kind == VERSE:
        return text.count("\n") > 2 and text.rstrip("_ ")[-1:] in _ENDS
    quoted = text[0] in _BEGINS and len(text) > 30
    return kind == PARAGRAPH and (is_prose(text) or quoted) and "copyright" not in text.lower()


def _first_title(paragraphs: Sequence[str], kinds: Sequence[str], first: int) -> int:
    """Return where the titles of the first chapter begin, above its first paragraph."""
    top = first
    while top and kinds[top - 1] == HEADING and first - top < 5:
        top -= 1
    titles = [paragraphs[place].strip(" _=").split("\n")[0] for place in range(top, first)]
    numbered = [is_chapter(title) for title in titles]
    if any(numbered):  # the last one, with those of book and part directly above it
        place = len(numbered) - 1 - numbered[::-1].index(True)
        while place and numbered[place - 1]:
            place -= 1
        return top + place
    return max(first - 1, top) if titles and is_title(titles[-1]) else first


def _mark_transcriber(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """Mark everything after the heading of a transcriber's notes at the end of a book as part of them."""
    begin = int(_BACK * len(paragraphs))
    for place in range(begin, len(paragraphs)):
        if kinds[place] in (CONTENTS, HEADING) and opens_transcriber(paragraphs[place]):
            kinds[place:] = [CONTENTS] * (len(kinds) - place)
            return


def _mark_edition(paragraphs: Sequence[str], kinds: list[str]) -> None:
    """Mark what is said about the electronic edition at either end of a book, each from its heading to the next."""
    number = len(paragraphs)
    for begin, end in ((0, min(_OF_EDITION, number)), (max(number - _OF_EDITION, 0), number)):
        inside = False
        for place in range(begin, end):
            inside = opens_edition(paragraphs[place]) or (inside and kinds[place] != HEADING)
            if inside:
                kinds[place] = CONTENTS
