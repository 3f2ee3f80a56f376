"""Shared code of the chat readers: messages, what is left out of a conversation, times, and formatting marks."""

import html
import re
from collections import Counter
from datetime import datetime, timezone
from typing import NamedTuple

NOTICE, MEDIA, DELETED = "notices", "media", "deleted messages"
"""What is left out of a chat: joins, calls and other notices; pictures and files without text; deleted messages."""

_LATEST = 1e15  # milliseconds of 30,000 years
_DIGITS = re.compile(r"\d{1,14}(?:\.\d{0,9})?")
_FRACTION = re.compile(r"(\.\d{6})\d+")
_HALF = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can name but no text can hold."""
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_EMPHASIS = re.compile(r"(?<![\w*_~|])(\*{1,3}|_{1,3}|~{1,2}|\|\|)(?=\S)([^*_~|\n]+?)(?<=\S)\1(?![\w*_~|])")
_CODE = re.compile(r"`{1,3}([^`]*)`{1,3}")


class Message(NamedTuple):
    """A message of one person.

    Attributes:
        time: seconds; only differences are meaningful.
        speaker: who wrote it.
        text: its text on one line, without formatting marks.
    """

    time: float
    speaker: str
    text: str


class Conversation:
    """The messages of a file, and what was left out of it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.left_out: Counter[str] = Counter()

    def add(self, time: float | None, speaker: str | None, text: str) -> None:
        """Add a message; one without text is counted as media, one without time or speaker as a notice."""
        said = plain(text)
        if not said:
            self.left_out[MEDIA] += 1
        elif time is None or not speaker or not speaker.strip():
            self.left_out[NOTICE] += 1
        else:
            self.messages.append(Message(time, " ".join(_visible(speaker).split()), said))


def plain(text: str) -> str:
    """Return a text on one line, without invisible characters and formatting marks: "*No*" becomes "No"."""
    text = _EMPHASIS.sub(r"\2", _CODE.sub(r"\1", _visible(text)))
    return " ".join(text.split())


def _visible(text: str) -> str:
    return _INVISIBLE.sub("", _HALF.sub("\ufffd", text))


def seconds(stamp: object) -> float | None:
    """Return a time in JSON, a number or an ISO 8601 date, as seconds; null for anything else."""
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return float(stamp) if abs(stamp) < _LATEST else None
    if not isinstance(stamp, str):
        return None
    if _DIGITS.fullmatch(stamp):
        return float(stamp)
    try:
        time = datetime.fromisoformat(_FRACTION.sub(r"\1", stamp.strip()).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


def unescape(text: str) -> str:
    """Return a text with its HTML entities replaced by characters."""
    return html.unescape(text)
