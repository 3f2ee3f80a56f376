"""Lines to clean lines: markup away, dashes and speakers into their fields, and out with what is not speech."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.cleaning import captions
from edos_dataset.cleaning.markup import repair_letters, strip_markup
from edos_dataset.cleaning.ocr import mend_documents
from edos_dataset.cleaning.rejects import part
from edos_dataset.languages.codes import primary_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import LINE

REASONS = ("too_long", "credit", "music", "sound", "empty")
"""Reason codes of the stage."""

# Lines that match none of these pass untouched, without a Python call. Half of all lines of a usual file do.
# They stay apart: as one pattern they take RE2 three times as long.
# The last is what optical character recognition confuses.
_SUSPECT = (
    r"[<>{}&\\\[\]()*#♩♪♫♬¶©@]|[^\S ]|  |^ | $|^[\"'“]?[-‐‑‒–—―−]",
    r"^.{1,48}:",
    "[\u00a0\u00ad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ufff9-\ufffb\x00-\x1f\x7f]",
    r"(?i:www\.|subti|caption|sync|copyright|rights reserved|download|addic7ed|subscene|podnapisi"
    r"|untertitel|felirat|sous-titr|sottotit|legendas|ondertit)",
    r"^\W*(?i:advertise|support us|transl|corre|edited|timed|adapted|improved|proofread|revis|created|provided|shared"
    r"|uploaded|made|ripp|encod|transcri)",
    r"^\W*(?i:subs\b|fordít|szöveg|időzít|übersetz|traduc|tradu|vertal)",
    r"\bl\b|\bl['’tnfs]|\b1['’]|[a-z]I|\bI[aeiou]|\bll",
)
_MISREAD = r"\bi\b|^[A-Z][A-Z.'’ -]{2,30};"
_SPOKEN = r"[\p{L}\p{N}]"


class _Line(NamedTuple):
    text: str
    dash: bool
    speaker: str | None
    reason: str | None


@dataclass(frozen=True)
class CleanLines(Stage):
    """Clean the text of LINES.

    Markup, invisible characters and descriptions of sounds go; leading dashes become `dash` and "NAME:" becomes
    `speaker`; English letters confused by optical character recognition are put right. Lines leave that are credits,
    sung, sounds only, or empty; and those that no screen could show.

    Args:
        max_characters: longest line that is looked at, from 1 to 20,000; a broken file may hold megabytes in one.
        mend: put words right that optical character recognition broke, in English documents that show it ("i n",
            "ofyou"), a small "i", and small letters where sentences begin; and take "NAME;" for "NAME:".
    """

    max_characters: int = 2000
    mend: bool = True

    name: ClassVar[str] = "lines"
    unit: ClassVar[Unit] = "lines"
    needs, gives = ("lines",), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, max_characters=(1, 20_000))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Clean a batch of documents."""
        lines, offsets = unnest(table, "lines")
        too_long = pc.greater(pc.utf8_length(lines.field("text")), self.max_characters)
        texts = pc.if_else(too_long, "", lines.field("text")).to_pylist()
        dash = pc.fill_null(lines.field("dash"), False).to_numpy(zero_copy_only=False).copy()
        speaker = lines.field("speaker").to_pylist()
        codes = np.zeros(len(texts), np.int64)
        english = [primary_language(language or "en") == "en" for language in table["language"].to_pylist()]
        for row, start, stop in _suspect_blocks(lines, offsets, self.mend):
            for place, line in enumerate(_clean_block(texts[start:stop], english[row], self.mend), start):
                texts[place] = line.text
                dash[place] |= line.dash
                speaker[place] = line.speaker or speaker[place]
                codes[place] = REASONS.index(line.reason) + 1 if line.reason else 0
        codes[too_long.to_numpy(zero_copy_only=False)] = REASONS.index("too_long") + 1
        spoken = pa.array(texts, pa.string())
        if self.mend:
            kept = pa.array(codes == 0)
            looked_at = pc.if_else(kept, spoken, "")
            mended = mend_documents(lines.field("text"), looked_at, offsets, np.array(english, bool), dash)
            spoken = pc.if_else(kept, mended, spoken)
        columns = {field.name: lines.field(field.name) for field in LINE}
        columns |= {
            "text": pc.if_else(too_long, columns["text"], spoken),
            "dash": pa.array(dash),
            "speaker": pa.array(speaker, pa.string()),
        }
        clean = table.set_column(
            table.column_names.index("lines"), table.schema.field("lines"), nest(offsets, LINE, columns)
        )
        return part(clean, "lines", codes, REASONS)


def _suspect_blocks(lines: pa.StructArray, offsets: np.ndarray, mend: bool) -> list[tuple[int, int, int]]:
    """Return row, first and last + 1 line of the blocks in which any line may need cleaning."""
    texts = lines.field("text")
    suspect = pc.invert(pc.match_substring_regex(texts, _SPOKEN))
    for pattern in (*_SUSPECT, _MISREAD) if mend else _SUSPECT:
        suspect = pc.or_(suspect, pc.match_substring_regex(texts, pattern))
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    block = lines.field("first_block").to_numpy(zero_copy_only=False)
    starts = (
        np.flatnonzero(np.r_[len(rows) > 0, (rows[1:] != rows[:-1]) | (block[1:] != block[:-1])])
        if len(rows)
        else np.zeros(0, np.int64)
    )
    stops = np.r_[starts[1:], len(rows)] if len(starts) else starts
    chosen = np.unique(np.searchsorted(starts, np.flatnonzero(suspect), side="right") - 1)
    return list(zip(rows[starts[chosen]].tolist(), starts[chosen].tolist(), stops[chosen].tolist(), strict=True))


def _clean_block(raw: list[str], english: bool, mend: bool) -> list[_Line]:
    """Clean the lines of one block together: brackets, songs and names go on from line to line."""
    texts = [strip_markup(text) for text in raw]
    if english:
        texts = [repair_letters(text) for text in texts]
    credit = [captions.is_credit(text) for text in texts]
    for place in range(1, len(texts)):
        credit[place] |= credit[place - 1] and captions.credits_next(texts[place - 1])
    notes = [captions.count_notes(text) for text in texts]
    spoken = [captions.strip_song(text) if note else text for text, note in zip(texts, notes, strict=True)]
    undashed = [captions.split_dash(text) for text in spoken]
    bare = captions.strip_sounds("\n".join(captions.name_speaker(text) for text, _ in undashed)).split("\n")
    lines: list[_Line] = []
    waiting: str | None = None  # a name that stood alone on the line before
    for place, (text, (before, dash)) in enumerate(zip(bare, undashed, strict=True)):
        whole = captions.tidy(text)
        text, dash_after_sound = captions.split_dash(whole)
        text, speaker = captions.split_speaker(text, english, semicolon=mend)
        dash |= dash_after_sound
        if text != whole:
            text, dash_after_name = captions.split_dash(captions.tidy(text))
            dash |= dash_after_name
        # A song that one line leaves open goes on in the block, up to a line that is marked as somebody's speech.
        sung = notes[place] > 0 or (any(note % 2 for note in notes) and not dash and speaker is None)
        if credit[place]:
            reason: str | None = "credit"
        elif captions.has_speech(text):
            reason = "music" if sung and not notes[place] else None
        elif sung:
            reason = "music"
        else:
            reason = "sound" if captions.has_speech(before) and speaker is None else "empty"
        lines.append(_Line(texts[place] if reason else text, dash, speaker or waiting, reason))
        waiting = speaker if reason == "empty" else None
    return lines
