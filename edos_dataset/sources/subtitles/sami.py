"""SAMI: the captions of one language, each shown until the next one or an empty one (`&nbsp;`)."""

import math
import re
from collections import defaultdict

from edos_dataset.languages import same_language
from edos_dataset.sources.parsed import MOST_LINES, refuse_more
from edos_dataset.sources.subtitles.cue import Cue, lines_of

_SYNC = re.compile(
    r"<sync\b[^<>]{0,99}?\bstart\s{0,9}=\s{0,9}[\"']?\s{0,9}(-?\d{1,12})[^<>]{0,99}>", re.IGNORECASE | re.ASCII
)
_PARAGRAPH = re.compile(r"<p\b([^<>]*)>", re.IGNORECASE)
_CLASS = re.compile(r"\bclass\s{0,9}=\s{0,9}[\"']?([\w-]+)", re.IGNORECASE)
_STYLE = re.compile(r"\.([\w-]+)\s{0,9}\{([^{}]*)\}")
_LANGUAGE = re.compile(r"\blang\s{0,9}:\s{0,9}[\"']?([A-Za-z]{2,3})", re.IGNORECASE)
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"&(?:nbsp|#160|#xa0);?", re.IGNORECASE)


def read_sami(text: str, language: str) -> list[Cue]:
    """Read the captions of one class: the one whose style names the language, else the one with the most captions."""
    pieces = _SYNC.split(text)
    refuse_more("times", len(pieces) // 2, MOST_LINES)
    shown: dict[str, list[tuple[float, list[str]]]] = defaultdict(list)
    for start, body in zip(pieces[1::2], pieces[2::2], strict=True):
        for name, spoken in _by_class(body).items():
            shown[name].append((int(start) / 1000, spoken))
    wanted = _wanted(shown, text[: len(pieces[0])], language)
    if not wanted:
        return []
    following = [start for start, _ in shown[wanted][1:]] + [math.nan]
    return [Cue(start, end, lines) for (start, lines), end in zip(shown[wanted], following, strict=True) if lines]


def _wanted(shown: dict[str, list[tuple[float, list[str]]]], head: str, language: str) -> str | None:
    languages = {name.lower(): _LANGUAGE.search(style) for name, style in _STYLE.findall(head)}
    ours = [name for name in shown if (code := languages.get(name)) and same_language(code[1].lower(), language)]
    return max(ours or shown, key=lambda name: sum(bool(lines) for _, lines in shown[name]), default=None)


def _by_class(body: str) -> dict[str, list[str]]:
    pieces = _PARAGRAPH.split(_without_comments(body))
    spoken: dict[str, list[str]] = {}
    for attributes, text in zip(pieces[1::2], pieces[2::2], strict=True):
        name = _CLASS.search(attributes)
        spoken.setdefault(name[1].lower() if name else "", []).extend(_lines(text))
    return spoken or {"": _lines(body)}


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin)) >= 0:
        kept.append(text[at:begin])
        at = end + len("-->")
    return "".join([*kept, text[at:]])


def _lines(text: str) -> list[str]:
    flowing = _BREAK.sub("\0", _SPACE.sub(" ", text).replace("\n", " "))
    return lines_of(_TAG.sub("", flowing).replace("\0", "\n"))
