"""Formats of captions and transcripts other than SubRip, WebVTT and ASS, recognised by their content."""

import re
from collections.abc import Sequence

from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.subtitles.cue import Cue
from edos_dataset.sources.subtitles.line_formats import line_format
from edos_dataset.sources.subtitles.sami import read_sami
from edos_dataset.sources.subtitles.timedtext import read_timed_xml
from edos_dataset.sources.subtitles.transcripts import read_json
from edos_dataset.sources.subtitles.ttml import read_ttml

_HEAD = 4096
_PROLOGUE = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^<>\[]*>", re.DOTALL)
_ROOT = re.compile(r"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_JSON = re.compile(r"""\{\s*(?:"|\})|\[\s*[\[{]""")
TIME = re.compile(r"\d[:.,]\d{2,3}\s{0,9}-->")
"""A time of SubRip or WebVTT, up to the arrow."""


def root_of(head: str) -> str | None:
    """Return the lower-case name of the root element of XML, "json" or "json3" for JSON, and None for other text.

    Args:
        head: the beginning of a file, without byte order mark.
    """
    head = head[:_HEAD]
    at = 0
    while found := _PROLOGUE.match(head, at):
        at = found.end()
    if _JSON.match(head, at):
        return "json3" if '"wireMagic"' in head else "json"
    root = _ROOT.match(head, at)
    return root[1].lower() if root else None


def read_captions(text: str, language: str) -> Sequence[Cue] | None:
    """Return the cues of a file, or None if it is in none of these formats.

    Args:
        text: the file, with line feeds between lines.
        language: code of the wanted language, used if a file has several.

    Raises:
        ReadError: the file is in one of these formats, but malformed.
    """
    root = root_of(text.lstrip("\ufeff"))
    cues: Sequence[Cue] | None = None
    name = root
    if root == "tt":
        cues, name = read_ttml(text, language), "TTML"
    elif root == "sami":
        cues, name = read_sami(text, language), "SAMI"
    elif root in ("timedtext", "transcript"):
        cues, name = read_timed_xml(text), "YouTube's timed text"
    elif root in ("json", "json3"):
        cues, name = read_json(text), "JSON"
    elif not TIME.search(text) and (format := line_format(text)):
        cues, name = format.reader(text), format.name
    if cues is not None and not any(cue.lines for cue in cues):
        raise ReadError("not_subtitles", f"{name} without a cue that has words")
    return cues
