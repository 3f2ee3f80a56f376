"""Any screenplay or transcript as lines with speaker, scene and manner."""

import html
import re

import numpy as np

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Parsed, ReadError, refuse_more
from edos_dataset.sources.scripts.fdx import ROOT, read_fdx_text
from edos_dataset.sources.scripts.fountain import read_fountain_text
from edos_dataset.sources.scripts.layout import read_layout
from edos_dataset.sources.scripts.lines import Line, lines_of
from edos_dataset.sources.scripts.marks import is_heading
from edos_dataset.sources.scripts.speeches import Script, with_cast
from edos_dataset.sources.scripts.transcript import is_spoken, marked, read_transcript
from edos_dataset.sources.subtitles.speakers import key_of
from edos_dataset.sources.xml_trees import declared_in_xml
from edos_dataset.wording import counted

NOT_A_SCRIPT = "not_a_script"
"""Reason for a text that is no screenplay."""

_LEAST_SHARE = 0.03  # speeches a line that is not blank, in the barest screenplay
_LEAST_OF_TRANSCRIPT = 0.12  # the same of a transcript, as other texts have labels with a colon, too
_LEAST_SPEECHES, _SURELY = 2, 20
_MARKUP = re.compile(r"<(?:!doctype\s+html|html|head|body|pre|table|p|br|div)\b", re.IGNORECASE)
_UNSEEN = re.compile(
    r"<(script|style|head|title)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
_PRE = re.compile(r"<pre\b[^<>]*>(.*?)(?:</pre\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_BREAK = re.compile(r"<(?:br|/?p|/?div|/?tr|/?li|/?h[1-6]|/?center|/?table)\b[^<>]*>\n?", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_HEAD = 4096


class NotAScriptError(ReadError):
    """A file is not a screenplay."""


def read_script(data: bytes, language: str = "en") -> Parsed:
    """Read a screenplay or a transcript: plain text, or a saved page of HTML; Fountain and Final Draft are recognised.

    Each line is what one person says under one note of the writer, with `speakers`, `scenes`, `manners` and `voices`.
    There are no times.

    Args:
        data: content of the file.
        language: code of the language, for guessing an encoding.

    Raises:
        NotAScriptError: the text is no screenplay; the reason is not_a_script.
        ReadError: with the reason unknown_encoding, not_subtitles (binary data), malformed_xml, truncated or
            forbidden_xml.
    """
    text, encoding, confidence = decode(data, declared_in_xml(data), language)
    if f"<{ROOT}" in text[:_HEAD]:
        return _parsed(read_fdx_text(text), encoding, confidence, "fdx")
    if _MARKUP.search(text, 0, _HEAD):
        text = text_of_page(text)
    return _parsed(script_of(text), encoding, confidence)


def may_be_script(head: bytes) -> bool:
    """Return whether a plain text that begins with these bytes, some ten thousand, surely is a screenplay: it has
    headings of scenes, or many names above speeches. Transcripts are not recognised, as dialogues are written so, too.
    """
    text = head.decode("utf-8", "replace")
    lines = lines_of(text)
    script = read_layout(lines)
    is_long = script.speeches >= _SURELY or any(is_heading(line.text) for line in lines)
    return is_long and _is_script(script, lines, _LEAST_SHARE)


def read_fountain(data: bytes, language: str = "en") -> Parsed:
    """Read a screenplay in Fountain. Arguments and errors are those of `read_script`."""
    text, encoding, confidence = decode(data, None, language)
    return _parsed(read_fountain_text(text), encoding, confidence, "fountain")


def read_fdx(data: bytes, language: str = "en") -> Parsed:
    """Read a screenplay of Final Draft. Arguments and errors are those of `read_script`."""
    text, encoding, confidence = decode(data, declared_in_xml(data), language)
    return _parsed(read_fdx_text(text), encoding, confidence, "fdx")


def text_of_page(page: str) -> str:
    """Return the text of a saved page of HTML: of its `<pre>`, where screenplays stand, otherwise all."""
    page = _UNSEEN.sub("", page)
    preformatted = [match[1] for match in _PRE.finditer(page)]
    if sum(map(len, preformatted)) * 4 > len(page):
        page = "\n".join(preformatted)
    elif not preformatted or "\n" not in max(preformatted, key=len):
        page = " ".join(page.split("\n")) if page.count("<p") > page.count("\n") / 4 else page
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", page)))


def script_of(text: str) -> Script:
    """Return the speeches of a plain text.

    Args:
        text: the text, without markup.

    Raises:
        NotAScriptError: it is no screenplay.
    """
    lines = lines_of(text)
    names = marked(lines)
    layout = read_layout(lines)
    if len(names) > layout.speeches:
        transcript = read_transcript(lines, names)
        if is_spoken(transcript) and _is_script(transcript, lines, _LEAST_OF_TRANSCRIPT):
            return transcript
    if _is_script(layout, lines, _LEAST_SHARE):
        return layout
    in_small = read_layout(lines, title_case=True)
    if is_spoken(in_small) and _is_script(in_small, lines, _LEAST_OF_TRANSCRIPT):
        return in_small
    raise NotAScriptError(NOT_A_SCRIPT, _why_not(lines, layout))


def _is_script(script: Script, lines: list[Line], least: float) -> bool:
    """Return whether the speeches found are those of a screenplay: of several people, one of whom speaks again, and not
    lost in other text.
    """
    if script.speeches < _LEAST_SPEECHES:
        return False
    speakers = [key_of(piece.speaker) for piece in script.pieces]
    again = len(speakers) - len(set(speakers))
    share = script.speeches / max(sum(bool(line.text) for line in lines), 1)
    if any(is_heading(line.text) for line in lines[:400]):
        return share >= least / 3
    return len(set(speakers)) > 1 and again > 0 and again >= 0.3 * len(speakers) and share >= least


def _why_not(lines: list[Line], found: Script) -> str:
    written = sum(bool(line.text) for line in lines)
    if not found.speeches:
        return "no screenplay or transcript: no line has a speaker's name above or before it"
    some = f"only {found.speeches:,} of {counted(written, 'lines')}"
    return f"no screenplay or transcript: {some} may be a speaker's name with speech below or behind it"


def _parsed(script: Script, encoding: str, confidence: float, kind: str = "script") -> Parsed:
    if not script.pieces:
        raise NotAScriptError(NOT_A_SCRIPT, "a screenplay without any speech")
    refuse_more("speeches", len(script.pieces), MOST_LINES)
    pieces = with_cast(script.pieces)
    blocks = np.array([piece.speech for piece in pieces], np.int32)
    unknown = np.full(len(pieces), np.nan)
    return Parsed(
        ids=np.arange(1, len(pieces) + 1, dtype=np.int32),
        texts=[piece.text for piece in pieces],
        starts=unknown,
        ends=unknown,
        first_blocks=blocks,
        last_blocks=blocks,
        bad_times=0,
        encoding=encoding,
        encoding_confidence=confidence,
        speakers=[piece.speaker for piece in pieces],
        scenes=[piece.scene for piece in pieces],
        manners=[piece.manner for piece in pieces],
        voices=[piece.voice for piece in pieces],
        kind=kind,
    )
