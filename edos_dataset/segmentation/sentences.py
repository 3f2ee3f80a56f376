"""Joins lines to sentences, as subtitlers cut where the screen ends, not where the sentence does.

Whether a sentence continues in the next line is decided by the punctuation, capitals and times of both lines and by the
habits of their document.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.languages import CAPITALISED_NOUNS, primary_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import LINE, SENTENCES
from edos_dataset.sources.formats import formats

_AFTER_MARK = "\"'”’»)]*"
_BEFORE_WORD = "\"'“„«»‘¿¡([*"
_TAKEN_UP = re.compile(r"(?:\.\.+|…)\s*")
_TITLE = re.compile(
    r"(?<![^\W_])(?:Mr|Mrs|Ms|Dr|Prof|St|Sgt|Capt|Lt|Col|Gen|Rev|Hon|Messrs|Mme|Mlle|vs|Hr|Fr|bzw|dr|ifj|özv|(?<!\w\.)[A-HJ-Z])\.$"
)
_SHORT_FORM = re.compile(r"(?<![^\W_])(?:Jr|Sr|etc|approx|usw|ca|pl|stb|[ap]\.m|[A-Za-z]\.[A-Za-z])\.$")
_NUMBER = re.compile(r"(?<![^\W_])(?:No|Nos|Nr)\.$")

_MARKS = (".", "!", "?", "…", ":", ";")
_TRAILS = ("..", "…", "--", "—", "–")
_SELF = re.compile(r"I(?:['’ ]|$)")
_CAPITALISED = re.compile(
    r"([^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:['’][^\W\d_]+)*)(?![\w'’-])(?! [\"'“‘]?[^\W\d_a-zß-öø-ÿ](?!['’ ]))"
)
_UNUSUAL = 0.25  # what occurs in a larger fraction of a document is its habit, and means nothing

_BOUNDARY = re.compile(r"(?:(?<![.!?])[.!?]+|…)[\"'”’»)\]]*\s+(?=[\"'“„«»‘¿¡(\[]*(?:[-–—]+\s*)?[^\W_a-zß-öø-ÿ])")
_SECOND_VOICE = re.compile(r"[-–—]+\s*")


class Line(NamedTuple):
    """A line or a sentence; the fields are those of `schema.tables.LINE`."""

    id: int
    text: str
    start: float | None
    end: float | None
    first_block: int
    last_block: int
    dash: bool
    speaker: str | None
    scene: int | None = None
    manner: str | None = None
    voice: str | None = None


class Habits(NamedTuple):
    """The habits of a document's punctuation and spelling.

    Attributes:
        marked: it marks the ends of its sentences.
        capitals: a capital counts, as its language doesn't capitalise every noun.
        split: blocks whose first dash may precede a sentence that continues (`_split_blocks`).
        openings: ids of lines that begin a sentence although the line before has no final mark (`_lost_ends`).
        named: it names the speaker of every line.
    """

    marked: bool
    capitals: bool
    split: frozenset[int] = frozenset()
    openings: frozenset[int] = frozenset()
    named: bool = False


@dataclass(frozen=True)
class SplitSentences(Stage):
    """Join the lines of subtitles to sentences; documents in formats with whole sentences, such as OPUS, are unchanged.

    Whether a sentence continues across the boundary of two blocks depends on how the first block ends, how the second
    begins, and the pause between them. The name of another speaker always begins a sentence, a dash nearly always.

    Args:
        max_words: a sentence of this many words, 1 to 100,000, ends with its line, whatever follows.
        go_on_at_dash: the first line of a block that dashes split among speakers may continue the sentence before, if
            the marks and letters of both sides indicate it; otherwise a dash always begins a sentence.
        end_at_capital: after a line without a final mark, the capital of a word that the document otherwise writes in
            lower case begins a sentence in the next block; otherwise a lost full stop joins two sentences.
        name_all: where every line has a speaker, every sentence has one; otherwise only the first sentence of a line.
    """

    max_words: int = 60
    go_on_at_dash: bool = True
    end_at_capital: bool = True
    name_all: bool = True

    name: ClassVar[str] = "sentences"
    unit: ClassVar[Unit] = "files"
    needs, gives, ends = ("lines",), ("sentences",), ("lines",)

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_ranges(self, max_words=(1, 100_000))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn LINES into SENTENCES, a document a row."""
        lines, offsets = unnest(table, "lines")
        pieces: list[pa.StructArray] = []
        known = formats()
        for row, (source, language) in enumerate(
            zip(table["source"].to_pylist(), table["language"].to_pylist(), strict=True)
        ):
            document = lines.slice(offsets[row], offsets[row + 1] - offsets[row])
            format = known.get(source["kind"])
            whole = format is not None and format.whole_sentences
            alone = format is not None and format.scripted
            pieces.append(document if whole else self._split(document, language, alone))
        flat = pa.concat_arrays(pieces) if pieces else lines
        ends = np.cumsum([0, *map(len, pieces)])
        columns = {name: table[name] for name in SENTENCES.names if name != "sentences"}
        return pa.table(
            {**columns, "sentences": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat)}, schema=SENTENCES
        )

    def _split(self, lines: pa.StructArray, language: str | None, alone: bool = False) -> pa.StructArray:
        """Return the sentences of a document; `alone` if none goes on in the next line, as in screenplays."""
        columns = [lines.field(field.name).to_pylist() for field in LINE]
        rows = [*map(Line._make, zip(*columns, strict=True))]
        capitals = primary_language(language) not in CAPITALISED_NOUNS
        habits = Habits(
            marked=_marks_ends(lines),
            capitals=capitals,
            split=_split_blocks(rows) if self.go_on_at_dash else frozenset(),
            openings=_lost_ends(rows) if self.end_at_capital and capitals else frozenset(),
            named=self.name_all and all(row.speaker is not None for row in rows),
        )
        sentences: list[Line] = []
        for run in ([row] for row in rows) if alone else self._runs(rows, habits):
            sentences += _sentences(run, habits)
        fields = (
            dict(zip(Line._fields, zip(*sentences, strict=True), strict=True))
            if sentences
            else dict.fromkeys(Line._fields, ())
        )
        flat: pa.StructArray = nest([0, len(sentences)], LINE, {**fields, "id": range(1, len(sentences) + 1)}).flatten()
        return flat

    def _runs(self, lines: Iterable[Line], habits: Habits) -> Iterator[list[Line]]:
        run: list[Line] = []
        words = 0
        speaker: str | None = None
        for line in lines:
            dash = line.dash and not (run and _continues_at_dash(run[-1], line, habits))
            new_speaker = dash or line.speaker not in (None, speaker)
            if run and (words >= self.max_words or new_speaker or _ends_with_block(run[-1], line, habits)):
                yield run
                run, words = [], 0
            if dash or line.speaker is not None:
                speaker = line.speaker
            run.append(line)
            end = max(map(line.text.rfind, (". ", "! ", "? ")))
            words = (words if end < 0 else 0) + line.text.count(" ", max(end + 2, 0)) + 1
        if run:
            yield run


def _ends_with_block(before: Line, line: Line, habits: Habits) -> bool:
    return line.first_block != before.last_block and _continuation_score(before, line, habits) <= 0


def _marks_ends(lines: pa.StructArray) -> bool:
    """Return whether a document marks the ends of its sentences; in most, half of the blocks end with a mark."""
    block = lines.field("last_block").to_numpy()
    last = pc.take(lines.field("text"), pa.array(np.flatnonzero(np.r_[block[1:] != block[:-1], len(block) > 0])))
    return bool((pc.mean(pc.match_substring_regex(last, r"[.!?…:;][\"'”’»)\]]*$")).as_py() or 0.0) > 0.25)


def _split_blocks(lines: Sequence[Line]) -> frozenset[int]:
    """Return the blocks that dashes split among several speakers; none if the document writes lower case after dashes
    even where a sentence has ended.
    """
    dashes = Counter(line.first_block for line in lines if line.dash)
    after_mark = [line.text for before, line in pairwise(lines) if line.dash and before.text.endswith((".", "!", "?"))]
    if sum(text[:1].islower() for text in after_mark) > _UNUSUAL * len(after_mark):
        return frozenset()
    return frozenset(block for block, number in dashes.items() if number > 1)


def _continues_at_dash(before: Line, line: Line, habits: Habits) -> bool:
    """Return whether the sentence of `before` continues in `line`, the first of a later block that dashes split.

    The dashes show that two people speak in the block; the first may be the one who spoke before. That is certain if
    the line before has no final mark and this one begins with a lower-case letter, if a comma precedes an English "I",
    and if the second line begins with the dots that end the first. evaluation/sentence_borders.py measures how often it
    is true in series with known speakers.
    """
    if line.first_block == before.last_block or line.first_block not in habits.split:
        return False
    end = before.text.rstrip(_AFTER_MARK)
    if _TAKEN_UP.match(line.text):
        return end.endswith(_TRAILS)
    text = line.text.lstrip(_BEFORE_WORD)
    comma = end.endswith(",")
    return (comma or end[-1:].isalnum()) and (text[:1].islower() or (comma and _SELF.match(text) is not None))


def _lost_ends(lines: Sequence[Line]) -> frozenset[int]:
    """Return the ids of lines that begin a sentence although the line before, in an earlier block, has no final mark.

    The sign is a capital with no other reason: within sentences the document writes the word in lower case more often
    than not, no other capital follows, as in a title, and the lines around are not verses, which all begin with a
    capital. If many of the lines after an unmarked one begin with such a capital, none are returned: the document
    capitalises lines, not sentences.
    """
    bare = [before.text[-1:].isalnum() and not line.dash for before, line in pairwise(lines)]
    capital = [is_bare and line.text[:1].isupper() for is_bare, line in zip(bare, lines[1:], strict=True)]
    found: dict[int, str] = {}
    for place, (before, line) in enumerate(pairwise(lines)):
        if _stands_alone(capital, place) and line.speaker is None and line.first_block != before.last_block:
            word = _capitalised(line.text)
            if word:
                found[line.id] = word
    if not found:
        return frozenset()
    ordinary = _usually_small(lines, set(found.values()))
    openings = frozenset(number for number, word in found.items() if word in ordinary)
    return openings if len(openings) <= _UNUSUAL * sum(bare) else frozenset()


def _stands_alone(flags: Sequence[bool], place: int) -> bool:
    return flags[place] and not any(flags[max(place - 1, 0) : place]) and not any(flags[place + 1 : place + 2])


def _capitalised(text: str) -> str | None:
    """Return the first word of a text if it has one capital and is not "I"."""
    word = _CAPITALISED.match(text)
    return word[1] if word and not _SELF.match(text) and not word[1][1:].isupper() else None


def _usually_small(lines: Sequence[Line], words: Set[str]) -> set[str]:
    """Return the capitalised words that a document writes in lower case more often than not inside sentences."""
    text = "\n".join(line.text for line in lines)
    ends = "|".join(sorted({re.escape(word[1:]) for word in words}))
    inside = Counter(re.findall(rf"(?<=[\w,][ \n])\w(?:{ends})(?![\w'’])", text))
    inside.subtract(re.findall(rf"(?<=[\w,]\n)[^\W\d_a-zß-öø-ÿ](?:{ends})(?![\w'’])", text))
    return {word for word in words if inside[word[0].lower() + word[1:]] > inside[word]}


def _continuation_score(before: Line, line: Line, habits: Habits) -> float:
    """Return a score above 0 if the sentence of `before` continues in `line`, which is in a later block."""
    end = before.text.rstrip(_AFTER_MARK)
    score = _score_of_end(end, habits) + _score_of_beginning(line, end.endswith(_TRAILS), habits)
    if line.start is not None and before.end is not None:
        pause = line.start - before.end
        score -= 3.0 if pause > 3 else 1.0 if pause > 1 else 0.0
    return score


def _score_of_end(end: str, habits: Habits) -> float:
    if end.endswith(_TRAILS):
        return 1.0
    if not end.endswith(_MARKS) or _TITLE.search(end):
        return 2.0 if habits.marked else 0.0
    return -1.0 if _SHORT_FORM.search(end) or _NUMBER.search(end) else -4.0


def _score_of_beginning(line: Line, trailed: bool, habits: Habits) -> float:
    """Score the beginning of a line; `trailed` says whether the line before trailed off."""
    taken_up = _TAKEN_UP.match(line.text)
    text = line.text[taken_up.end() :] if taken_up else line.text.lstrip(_BEFORE_WORD)
    first, score = text[:1], 2.0 if taken_up else 0.0
    if first.islower():
        return score + 2.0
    if first.isdigit():
        return score + 0.5
    if habits.capitals and first.isupper() and (trailed or not _SELF.match(text)):
        return score - (3.0 if line.id in habits.openings else 1.5)
    return score


def _sentences(run: list[Line], habits: Habits) -> Iterator[Line]:
    """Split a run of lines at the ends of sentences."""
    text, begins = _join(run)
    boundaries = [match.end() for match in _BOUNDARY.finditer(text) if _ends_sentence(text, match, habits.capitals)]
    if not boundaries and len(run) == 1:
        yield run[0]
        return
    start = first = 0
    for boundary in [*boundaries, len(text)]:
        first = _last_before(begins, first, start + 1)
        opening, closing = run[first], run[_last_before(begins, first, boundary)]
        voice = _SECOND_VOICE.match(text, start, boundary) if start else None
        yield Line(
            id=0,
            text=text[voice.end() if voice else start : boundary].strip(),
            start=opening.start,
            end=closing.end,
            first_block=opening.first_block,
            last_block=closing.last_block,
            dash=voice is not None or (start == 0 and opening.dash),
            speaker=opening.speaker if start == 0 or (habits.named and voice is None) else None,
            scene=opening.scene,
            manner=opening.manner,
            voice=opening.voice,
        )
        start = boundary


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, given without line breaks."""
    ends = [match.end() for match in _BOUNDARY.finditer(text) if _ends_sentence(text, match, True)]
    return [text[start:stop].strip() for start, stop in pairwise([0, *ends, len(text)])]


def _last_before(begins: Sequence[int], place: int, limit: int) -> int:
    """Return the last line, from `place` on, that begins before a limit; the first one always does."""
    while place + 1 < len(begins) and begins[place + 1] < limit:
        place += 1
    return place


def _ends_sentence(text: str, boundary: re.Match[str], upper_counts: bool) -> bool:
    """Return whether the marks at a boundary end a sentence rather than an abbreviation.

    An ellipsis ends one only if a capital follows and capitals count.
    """
    if boundary.group().startswith(("..", "…")):
        return upper_counts
    if boundary.group()[0] != ".":
        return True
    head = text[max(0, boundary.start() - 12) : boundary.start() + 1]
    if _TITLE.search(head) or _SHORT_FORM.search(head):
        return False
    return not (_NUMBER.search(head) and text[boundary.end()].isdigit())


def _join(run: list[Line]) -> tuple[str, list[int]]:
    """Return the joined text of the lines and the position of each line in it; the "..." that link two lines are
    dropped.
    """
    pieces = [run[0].text]
    begins = [0]
    length = len(pieces[0])
    for line in run[1:]:
        added = line.text
        if taken_up := _TAKEN_UP.match(added):
            added = added[taken_up.end() :]
            last = pieces.pop()
            pieces.append(_without_trail(last))
            length -= len(last) - len(pieces[-1])
            if last and not pieces[-1] and len(pieces) > 1:  # the line before held only the marks
                del pieces[-2:]
                length -= 1
        begins.append(length + 1)
        pieces += [" ", added]
        length += 1 + len(added)
    return "".join(pieces), begins


def _without_trail(text: str) -> str:
    """Return a text without the "..." at its end and the blanks before it."""
    head = text[:-1] if text.endswith("…") else text.rstrip(".")
    return head.rstrip() if text.endswith(("…", "..")) else text
