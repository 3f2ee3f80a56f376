"""Cleans lines: removes markup, moves dashes and speakers into their fields, and rejects what is not speech."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.cleaning import captions
from edos_dataset.cleaning.neighbours import continue_songs, find_edge_credits, find_loops
from edos_dataset.cleaning.ocr import repair_documents
from edos_dataset.cleaning.rejects import split_members
from edos_dataset.languages import primary_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import LINE
from edos_dataset.sources.formats import with_speakers
from edos_dataset.sources.subtitles.speakers import one_spelling

REASONS = ("too_long", "credit", "music", "sound", "empty", "loop")
"""Reason codes of the stage."""

# Lines that match none of these, half of a usual file, pass unchanged without a Python call.
# They are separate because RE2 takes three times as long for one joint pattern.
# The last matches letters that optical character recognition confuses.
_SUSPECT = (
    r"[<>{}&\\\[\]()*#~♩♪♫♬¶©@]|[^\S ]|  |^ | $|^[\"'“]?[-‐‑‒–—―−]",
    r"^.{1,48}:",
    "[\u00a0\u00ad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ufff9-\ufffb\x00-\x1f\x7f]",
    r"(?i:www\.|subti|caption|sync|copyright|rights reserved|download|addic7ed|subscene|podnapisi"
    r"|untertitel|felirat|sous-titr|sottotit|legendas|ondertit)",
    r"^\W*(?i:advertise|support us|transl|corre|edited|timed|adapted|improved|proofread|revis|created|provided|shared"
    r"|uploaded|made|ripp|encod|transcri)",
    r"^\W*(?i:subs\b|fordít|szöveg|időzít|übersetz|traduc|tradu|vertal)",
    r"(?i:\w\.(?:com|org|net|eu|tv|app|link|io|info|to|cc|xyz|site|live|club|online)\b)",
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

    Markup, invisible characters and descriptions of sounds are removed; leading dashes become `dash`, "NAME:" becomes
    `speaker`; English letters confused by optical character recognition are corrected. Credits, songs, empty lines,
    lines with sounds only, and lines longer than a screen could show are rejected.

    The papers know of no such step. They need a part of it all the same: OPUS, which they read, has taken markup out,
    and the rules for turns expect neither dashes nor names. `only_speech` tells that part from the rest.

    Args:
        max_characters: longest line that is not rejected, from 1 to 20,000; a broken file may have megabytes in a line.
        mend: repair words that optical character recognition broke ("i n", "ofyou"), a lower-case "i", and lower-case
            letters at the beginning of sentences, in English documents that show such damage; read "NAME;" as "NAME:";
            and reject lines that only their neighbours show not to be speech: all of an advertisement's block, and of
            one of credits at the beginning or end, songs left open, loops.
        only_speech: whether credits, songs and descriptions of sounds are removed, and confused letters corrected;
            otherwise they stay for the rules for turns, as in the papers.
    """

    max_characters: int = 2000
    mend: bool = True
    only_speech: bool = True

    name: ClassVar[str] = "lines"
    unit: ClassVar[Unit] = "lines"
    needs, gives = ("lines",), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, max_characters=(1, 20_000))
        if self.mend and not self.only_speech:
            raise ValueError(
                "mend is true, and only_speech false: what mending rejects would stay; give mend false too"
            )

    def __call__(self, table: pa.Table) -> pa.Table:
        """Clean a batch of documents."""
        lines, offsets = unnest(table, "lines")
        too_long = pc.greater(pc.utf8_length(lines.field("text")), self.max_characters)
        texts = pc.if_else(too_long, "", lines.field("text")).to_pylist()
        dash = pc.fill_null(lines.field("dash"), False).to_numpy(zero_copy_only=False).copy()
        speaker = lines.field("speaker").to_pylist()
        codes = np.zeros(len(texts), np.int64)
        english = [primary_language(language or "en") == "en" for language in table["language"].to_pylist()]
        chats = with_speakers(table["source"])
        for row, start, stop in _suspect_blocks(lines, offsets, self.mend):
            if chats[row]:  # in chats and screenplays, text in brackets or asterisks is said too
                continue
            block = texts[start:stop]
            clean = (
                _clean_block(block, english[row], self.mend) if self.only_speech else _bare_block(block, english[row])
            )
            for place, line in enumerate(clean, start):
                texts[place] = line.text
                dash[place] |= line.dash
                speaker[place] = line.speaker or speaker[place]
                codes[place] = REASONS.index(line.reason) + 1 if line.reason else 0
        if self.mend:
            _judge_by_neighbours(texts, lines, offsets, dash, speaker, codes)
        codes[too_long.to_numpy(zero_copy_only=False)] = REASONS.index("too_long") + 1
        spoken = pa.array(texts, pa.string())
        if self.mend:
            kept = pa.array(codes == 0)
            looked_at = pc.if_else(kept, spoken, "")
            repaired = repair_documents(lines.field("text"), looked_at, offsets, np.array(english, bool) & ~chats, dash)
            spoken = pc.if_else(kept, repaired, spoken)
        for row in np.flatnonzero(~chats).tolist():
            start, stop = int(offsets[row]), int(offsets[row + 1])
            speaker[start:stop] = one_spelling(speaker[start:stop])
        columns = {field.name: lines.field(field.name) for field in LINE}
        columns |= {
            "text": pc.if_else(too_long, columns["text"], spoken),
            "dash": pa.array(dash),
            "speaker": pa.array(speaker, pa.string()),
        }
        cleaned = table.set_column(
            table.column_names.index("lines"), table.schema.field("lines"), nest(offsets, LINE, columns)
        )
        return split_members(cleaned, "lines", codes, REASONS)


def _judge_by_neighbours(
    texts: list[str],
    lines: pa.StructArray,
    offsets: np.ndarray,
    dash: np.ndarray,
    speaker: list[str | None],
    codes: np.ndarray,
) -> None:
    """Reject whole blocks of credits, songs that an earlier block leaves open, and text recognised in silence."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    block = lines.field("first_block").to_numpy(zero_copy_only=False)
    marked = dash | np.array([name is not None for name in speaker], bool)
    credit = codes == REASONS.index("credit") + 1
    edges = np.array([*find_edge_credits(texts, block, rows, credit, marked)], np.int64)
    codes[edges[codes[edges] == 0]] = REASONS.index("credit") + 1
    sung = codes == REASONS.index("music") + 1
    if sung.any():
        codes[[*continue_songs(texts, sung, marked, block, rows)]] = REASONS.index("music") + 1
    loops = find_loops(texts, lines, rows)
    codes[loops[codes[loops] == 0]] = REASONS.index("loop") + 1


def _suspect_blocks(lines: pa.StructArray, offsets: np.ndarray, mend: bool) -> list[tuple[int, int, int]]:
    """Return row, first line and end (last + 1) of the blocks in which any line may need cleaning."""
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
    """Clean the lines of one block together: brackets, songs and names continue from line to line."""
    texts = list(map(captions.strip_markup, raw))
    if english:
        texts = list(map(captions.repair_letters, texts))
    credit = _are_credits(texts, mend)
    notes = list(map(captions.count_notes, texts))
    spoken = [captions.strip_song(text) if note else text for text, note in zip(texts, notes, strict=True)]
    undashed = list(map(captions.split_dash, spoken))
    bare = captions.strip_sounds("\n".join(captions.name_speaker(text) for text, _ in undashed)).split("\n")
    has_open_song = any(note % 2 for note in notes)
    lines: list[_Line] = []
    waiting: str | None = None  # a name that was alone on the previous line
    for place, (text, (before, dash)) in enumerate(zip(bare, undashed, strict=True)):
        text, dash_inside, speaker = _split_dash_and_speaker(text, english, mend)
        dash |= dash_inside
        # A song that a line leaves open continues in the block up to a line marked as speech.
        is_marked = dash or speaker is not None
        reason = _reason_of_line(text, before, speaker, notes[place], has_open_song and not is_marked)
        reason = "credit" if credit[place] else reason
        lines.append(_Line(texts[place] if reason else text, dash, speaker or waiting, reason))
        waiting = speaker if reason == "empty" else None
    return lines


def _bare_block(raw: list[str], english: bool) -> list[_Line]:
    """Take markup, dashes and names out of the lines of one block, and nothing else; only empty lines are rejected."""
    lines: list[_Line] = []
    waiting: str | None = None  # a name that was alone on the previous line
    for text in map(captions.strip_markup, raw):
        text, dash, speaker = _split_dash_and_speaker(text, english, mend=False)
        lines.append(_Line(text, dash, speaker or waiting, None if text else "empty"))
        waiting = None if text else speaker
    return lines


def _reason_of_line(text: str, before: str, speaker: str | None, notes: int, continues_song: bool) -> str | None:
    """Return the reason to reject a line, or None.

    Args:
        text: the cleaned text.
        before: the same with the descriptions of sounds.
        speaker: the speaker named in it, or None.
        notes: number of song marks in it.
        continues_song: whether another line of the block leaves a song open.
    """
    if captions.has_speech(text):
        return "music" if continues_song and not notes else None
    if notes or continues_song:
        return "music"
    return "sound" if captions.has_speech(before) and speaker is None else "empty"


def _are_credits(texts: list[str], whole: bool) -> list[bool]:
    credit = [captions.is_credit(text) for text in texts]
    for place in range(1, len(texts)):
        credit[place] |= credit[place - 1] and captions.credits_next(texts[place - 1])
    if whole and any(map(captions.has_address, texts)):
        return [not captions.split_dash(text)[1] or is_credit for text, is_credit in zip(texts, credit, strict=True)]
    return credit


def _split_dash_and_speaker(text: str, english: bool, mend: bool) -> tuple[str, bool, str | None]:
    """Return a line without the dashes before and after "NAME:", whether there was one, and the name."""
    whole = captions.tidy(text)
    text, dash = captions.split_dash(whole)
    text, speaker = captions.split_speaker(text, english, semicolon=mend)
    if text != whole:
        text, dash_after_name = captions.split_dash(captions.tidy(text))
        dash |= dash_after_name
    return text, dash, speaker
