"""Lines of a pasted text: subtitles as their blocks, dialogues written in one line as their turns, else as they are."""

import re

from edos_dataset.cleaning.captions import strip_markup
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.subtitles.reading import read_any

_TIMES = re.compile(r"^[^\S\n]*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->", re.MULTILINE)
_DASHES = "-–—"
_ENDS = tuple(".!?…\"”'’)]♪")


def lines_of(text: str) -> list[str]:
    """Return the lines of a pasted text, one for each turn.

    Args:
        text: SubRip or WebVTT, whose blocks give a line each, or one for each dash in them; a block that ends within a
            sentence goes on in the next one. A line that begins with a dash is also split at the same dash before a new
            sentence ("- Hello. - Hi."). Other lines stay.
    """
    if _TIMES.search(text):
        try:
            return _blocks(text)
        except ReadError:
            pass  # no subtitles after all
    return [part for line in text.splitlines() for part in _split(line)]


def _blocks(text: str) -> list[str]:
    found = read_any(text.encode())
    speakers = found.speakers or [None] * len(found.texts)
    lines: list[str] = []
    before = None
    for said, speaker, block in zip(found.texts, speakers, found.first_blocks.tolist(), strict=True):
        shown = strip_markup(said).strip()
        if not shown:
            continue
        new = bool(speaker) or shown[0] in _DASHES or _has_speaker(shown)
        goes_on = bool(lines) and (block == before or not lines[-1].endswith(_ENDS))
        if goes_on and not new:
            lines[-1] = f"{lines[-1]} {shown}"
        else:
            lines.append(f"{speaker}: {shown}" if speaker else shown)
        before = block
    return [part for line in lines for part in _split(line)]


def _has_speaker(text: str) -> bool:
    return re.match(r"[A-Z][A-Z .'\d]{0,30}:\s", text) is not None


def _split(line: str) -> list[str]:
    stripped = line.strip()
    if not stripped or stripped[0] not in _DASHES:
        return [line]
    dash = re.escape(stripped[0])
    return re.split(rf"(?<=[.!?…\"”])\s+(?={dash}\s?\S)", stripped)
