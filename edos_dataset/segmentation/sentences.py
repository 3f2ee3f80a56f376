"""Lines to sentences: subtitlers cut sentences where the screen ends, not where the sentence does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from edos_dataset.pipeline import Stage, Unit
from edos_dataset.schema import LINE, SENTENCES, nest, unnest

_ENDED = re.compile(r"(?:[.!?…:;]|\.\.\.)[\"'”’»)\]]*$")
_TRAILED = re.compile(r"(?:\.\.+|…|--|[—–])[\"'”’»]*$")
_OPENED = re.compile(r"^(?:\.\.+|…)\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“-])(?:Mr|Mrs|Ms|Dr|Prof|St|Sgt|Capt|Lt|Col|Gen|Rev|Hon|Jr|Sr|Messrs|Mme|Mlle|vs|etc|approx|No|Nr|Hr|Fr|bzw|usw|ca|pl|stb|dr|"
    r"(?:[A-Za-z]\.)*[A-Z]|[ap]\.m|[A-Za-z]\.[A-Za-z])\.$"
)
_BORDER = re.compile(r"(?:[.!?]+|…)[\"'”’»)\]]*\s+(?=[\"'“„«»‘¿¡(\[-]*[^\W_a-zß-öø-ÿ])")
_SECOND_VOICE = re.compile(r"[-–—]+\s*(?=[^\W_a-z])")
_NOUNS_CAPITALISED = ("de",)
_SELF = re.compile(r"I(?:['’ ]|$)")


class _Line(NamedTuple):
    id: int
    text: str
    start: float | None
    end: float | None
    first_block: int
    last_block: int
    dash: bool
    speaker: str | None


@dataclass(frozen=True)
class SplitSentences(Stage):
    """Join the lines of subtitles to sentences; OPUS documents have sentences already and pass.

    A sentence goes on over a border of blocks if the evidence says so: how the block before ended, how the new one begins, and the pause between them.
    A dash or a speaker's name always begins a sentence.

    Args:
        max_words: a sentence of this many words ends with its block, whatever follows.
    """

    max_words: int = 60

    name: ClassVar[str] = "sentences"
    unit: ClassVar[Unit] = "files"

    def __post_init__(self) -> None:
        """Check the parameter."""
        if self.max_words < 1:
            raise ValueError(f"max_words is {self.max_words}, but a sentence has at least 1 word")

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn LINES into SENTENCES, a document a row."""
        lines, offsets = unnest(table, "lines")
        kinds = [source["kind"] for source in table["source"].to_pylist()]
        pieces: list[pa.Array] = []
        lengths: list[int] = []
        for row, (kind, language) in enumerate(zip(kinds, table["language"].to_pylist(), strict=True)):
            document = lines.slice(offsets[row], offsets[row + 1] - offsets[row])
            if kind != "opus":
                document = self._split(document, (language or "")[:2].lower())
            pieces.append(document)
            lengths.append(len(document))
        flat = pa.concat_arrays(pieces) if pieces else lines
        lists = pa.ListArray.from_arrays(pa.array(np.cumsum([0, *lengths]), pa.int32()), flat)
        columns = {name: table[name] for name in SENTENCES.names if name != "sentences"}
        return pa.table({**columns, "sentences": lists}, schema=SENTENCES)

    def _split(self, lines: pa.StructArray, language: str) -> pa.StructArray:
        columns = [lines.field(field.name).to_pylist() for field in LINE]
        found = [
            sentence
            for passage in self._passages(map(_Line._make, zip(*columns, strict=True)), language not in _NOUNS_CAPITALISED)
            for sentence in _sentences(passage)
        ]
        rows: dict[str, Any] = {field.name: column for field, column in zip(LINE, zip(*found, strict=True), strict=True)} if found else {}
        rows["id"] = range(1, len(found) + 1)
        flat: pa.StructArray = nest([0, len(found)], LINE, {field.name: rows.get(field.name, []) for field in LINE}).flatten()
        return flat

    def _passages(self, lines: Iterator[_Line], upper_counts: bool) -> Iterator[list[_Line]]:
        """Yield runs of lines between which a sentence may go on."""
        passage: list[_Line] = []
        words = 0
        for line in lines:
            if passage and (line.dash or line.speaker is not None or not _goes_on(passage[-1], line, upper_counts, words >= self.max_words)):
                yield passage
                passage, words = [], 0
            passage.append(line)
            words = len(line.text.split()) + (0 if _ENDED.search(line.text) else words)
        if passage:
            yield passage


def _goes_on(before: _Line, line: _Line, upper_counts: bool, too_long: bool) -> bool:
    """Weigh whether the sentence that `before` ends with may go on in `line`."""
    if line.first_block == before.last_block:
        return True
    if too_long:
        return False
    ended = _ENDED.search(before.text) is not None and _ABBREVIATION.search(before.text) is None
    trailed = _TRAILED.search(before.text) is not None
    score = 1.0 if trailed else -4.0 if ended else 2.0
    opened = _OPENED.match(line.text)
    text = line.text[opened.end() :] if opened else line.text.lstrip("\"'“„«‘¿¡")
    score += 2.0 if opened else 0.0
    if text[:1].islower():
        score += 2.0
    elif text[:1].isdigit():
        score += 0.5
    elif upper_counts and text[:1].isupper() and not (_SELF.match(text) and not trailed):
        score -= 1.5
    pause = (line.start or 0.0) - (before.end or 0.0) if line.start is not None and before.end is not None else 0.0
    return score - (1.0 if pause > 1 else 0.0) - (2.0 if pause > 3 else 0.0) > 0


def _sentences(passage: list[_Line]) -> Iterator[_Line]:
    """Split a passage at the ends of sentences."""
    text, begins = _join(passage)
    start = 0
    borders = [match.end() for match in _BORDER.finditer(text) if not _ABBREVIATION.search(text[max(0, match.start() - 12) : match.end()].rstrip())]
    first = 0
    for border in [*borders, len(text)]:
        piece = text[start:border].strip()
        if not piece:
            continue
        last = first
        while last + 1 < len(passage) and begins[last + 1] < border:
            last += 1
        while first < last and begins[first + 1] <= start:
            first += 1
        voice = _SECOND_VOICE.match(piece) if start else None
        opening, closing = passage[first], passage[last]
        yield _Line(
            id=0,
            text=piece[voice.end() :] if voice else piece,
            start=opening.start,
            end=closing.end,
            first_block=opening.first_block,
            last_block=closing.last_block,
            dash=voice is not None or (start == 0 and opening.dash),
            speaker=opening.speaker if start == 0 else None,
        )
        start = border


def _join(passage: list[_Line]) -> tuple[str, list[int]]:
    """Return the text of the lines as one, and where each line begins in it; marks of continuation at both sides of a border go."""
    text = passage[0].text
    begins = [0]
    for line in passage[1:]:
        added = line.text
        if opened := _OPENED.match(added):
            added = added[opened.end() :]
            text = re.sub(r"\s*(?:\.\.+|…)$", "", text)
        text += " "
        begins.append(len(text))
        text += added
    return text, begins
