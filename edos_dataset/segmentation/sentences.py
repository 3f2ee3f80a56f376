"""Lines to sentences: subtitlers cut where the screen ends, not where the sentence does."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.languages.codes import CAPITALISED_NOUNS, primary_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import LINE, SENTENCES
from edos_dataset.segmentation.continuing import (
    NUMBER,
    SHORT_FORM,
    TAKEN_UP,
    TITLE,
    Habits,
    Line,
    goes_on_at_dash,
    lost_ends,
    parted_blocks,
    weigh,
)
from edos_dataset.sources.formats import formats

_BORDER = re.compile(r"(?:(?<![.!?])[.!?]+|…)[\"'”’»)\]]*\s+(?=[\"'“„«»‘¿¡(\[]*(?:[-–—]+\s*)?[^\W_a-zß-öø-ÿ])")
_SECOND_VOICE = re.compile(r"[-–—]+\s*")


@dataclass(frozen=True)
class SplitSentences(Stage):
    """Join the lines of subtitles to sentences; documents of formats that give whole sentences, as OPUS does, pass.

    A sentence goes on over the border of two blocks if the evidence says so: how the block before ended, how the new
    one begins, and the pause between them. The name of another speaker always begins a sentence, a dash nearly always.

    Args:
        max_words: a sentence of this many words, 1 to 100,000, ends with its line, whatever follows.
        go_on_at_dash: the first line of a block that several dashes part goes on with the sentence before, where the
            marks and letters of both sides say so; otherwise a dash always begins a sentence.
        end_at_capital: where a line has no mark at its end, the capital of a word that the document otherwise writes
            small begins a sentence in the next block; otherwise a full stop that was lost joins two sentences.
    """

    max_words: int = 60
    go_on_at_dash: bool = True
    end_at_capital: bool = True

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
            whole = source["kind"] in known and known[source["kind"]].whole_sentences
            pieces.append(document if whole else self._split(document, language))
        flat = pa.concat_arrays(pieces) if pieces else lines
        ends = np.cumsum([0, *map(len, pieces)])
        columns = {name: table[name] for name in SENTENCES.names if name != "sentences"}
        return pa.table(
            {**columns, "sentences": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat)}, schema=SENTENCES
        )

    def _split(self, lines: pa.StructArray, language: str | None) -> pa.StructArray:
        columns = [lines.field(field.name).to_pylist() for field in LINE]
        rows = [*map(Line._make, zip(*columns, strict=True))]
        capitals = primary_language(language) not in CAPITALISED_NOUNS
        habits = Habits(
            marked=_marks_ends(lines),
            capitals=capitals,
            parted=parted_blocks(rows) if self.go_on_at_dash else frozenset(),
            openings=lost_ends(rows) if self.end_at_capital and capitals else frozenset(),
        )
        sentences: list[Line] = []
        for passage in self._passages(rows, habits):
            sentences += _sentences(passage, capitals)
        fields = (
            dict(zip(Line._fields, zip(*sentences, strict=True), strict=True))
            if sentences
            else dict.fromkeys(Line._fields, ())
        )
        flat: pa.StructArray = nest([0, len(sentences)], LINE, {**fields, "id": range(1, len(sentences) + 1)}).flatten()
        return flat

    def _passages(self, lines: Iterable[Line], habits: Habits) -> Iterator[list[Line]]:
        """Yield runs of lines between which a sentence may go on."""
        passage: list[Line] = []
        words = 0
        speaker: str | None = None
        for line in lines:
            dash = line.dash
            if passage:
                before = passage[-1]
                new_block = line.first_block != before.last_block
                if dash and new_block and line.first_block in habits.parted:
                    dash = not goes_on_at_dash(before, line)
                goes_on = words < self.max_words and not dash and line.speaker in (None, speaker)
                if goes_on and new_block:
                    goes_on = weigh(before, line, habits) > 0
                if not goes_on:
                    yield passage
                    passage, words = [], 0
            if dash or line.speaker is not None:
                speaker = line.speaker
            passage.append(line)
            end = max(map(line.text.rfind, (". ", "! ", "? ")))
            words = (words if end < 0 else 0) + line.text.count(" ", max(end + 2, 0)) + 1
        if passage:
            yield passage


def _marks_ends(lines: pa.StructArray) -> bool:
    """Return whether a document marks the ends of its sentences: half of the blocks of a usual one end with a mark."""
    block = lines.field("last_block").to_numpy()
    last = pc.take(lines.field("text"), pa.array(np.flatnonzero(np.r_[block[1:] != block[:-1], len(block) > 0])))
    return bool((pc.mean(pc.match_substring_regex(last, r"[.!?…:;][\"'”’»)\]]*$")).as_py() or 0.0) > 0.25)


def _sentences(passage: list[Line], upper_counts: bool) -> Iterator[Line]:
    """Split a passage at the ends of sentences."""
    text, begins = _join(passage)
    borders = [match.end() for match in _BORDER.finditer(text) if _ends_sentence(text, match, upper_counts)]
    if not borders and len(passage) == 1:
        yield passage[0]
        return
    start = first = 0
    for border in [*borders, len(text)]:
        while first + 1 < len(passage) and begins[first + 1] <= start:
            first += 1
        last = first
        while last + 1 < len(passage) and begins[last + 1] < border:
            last += 1
        opening, closing = passage[first], passage[last]
        voice = _SECOND_VOICE.match(text, start, border) if start else None
        yield Line(
            id=0,
            text=text[voice.end() if voice else start : border].strip(),
            start=opening.start,
            end=closing.end,
            first_block=opening.first_block,
            last_block=closing.last_block,
            dash=voice is not None or (start == 0 and opening.dash),
            speaker=opening.speaker if start == 0 else None,
        )
        start = border


def _ends_sentence(text: str, border: re.Match[str], upper_counts: bool) -> bool:
    """Say whether the marks of a border end a sentence rather than a short form; an ellipsis does so only where a
    capital follows that counts.
    """
    if border.group().startswith(("..", "…")):
        return upper_counts
    if border.group()[0] != ".":
        return True
    head = text[max(0, border.start() - 12) : border.start() + 1]
    if TITLE.search(head) or SHORT_FORM.search(head):
        return False
    return not (NUMBER.search(head) and text[border.end()].isdigit())


def _join(passage: list[Line]) -> tuple[str, list[int]]:
    """Return the text of the lines as one, and where each line begins in it; where a line is taken up by "..." the
    marks of both sides go.
    """
    pieces = [passage[0].text]
    begins = [0]
    length = len(pieces[0])
    for line in passage[1:]:
        added = line.text
        if taken_up := TAKEN_UP.match(added):
            added = added[taken_up.end() :]
            last = pieces.pop()
            pieces.append(_without_trail(last))
            length -= len(last) - len(pieces[-1])
            if last and not pieces[-1] and len(pieces) > 1:  # nothing but the marks stood on the line before
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
