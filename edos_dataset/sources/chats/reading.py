"""Any export of a chat, recognised by its content, as lines with speakers."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from edos_dataset.sources.chats.discord import is_discord, is_discord_csv, read_discord, read_discord_csv
from edos_dataset.sources.chats.messages import Conversation
from edos_dataset.sources.chats.messenger import is_messenger, read_messenger
from edos_dataset.sources.chats.slack import is_slack, read_slack
from edos_dataset.sources.chats.telegram import is_telegram, is_telegram_page, read_telegram, read_telegram_page
from edos_dataset.sources.chats.whatsapp import is_whatsapp, read_whatsapp
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Parsed, ReadError, refuse_more
from edos_dataset.text import normal_form
from edos_dataset.wording import counted

NOT_A_CHAT = "not_a_chat"
"""Reason for a file that is not an export of a chat."""

_KNOWN = (
    "WhatsApp's text, Telegram's result.json or messages.html, Discord's JSON or CSV, Slack's JSON or Messenger's JSON"
)


_DISCORD_TEXT = re.compile(r"={20,}\nGuild: ")


class NotAChatError(ReadError):
    """A file is not an export of a chat."""


_KEYS = ('"participants"', '"guild"', '"from_id"', '"actor"', '"chats"', '"ts"')
_JSON: tuple[tuple[Callable[[Any], bool], Callable[[Any], Conversation]], ...] = (
    (is_discord, read_discord),
    (is_messenger, read_messenger),
    (is_telegram, read_telegram),
    (is_slack, read_slack),
)


def read_chat(data: bytes, language: str = "en") -> Parsed:
    """Read an export of a chat: its messages in chronological order, each a line with its speaker.

    Times are seconds since the first message. Notices, media without text and deleted messages are left out and
    counted.

    Args:
        data: content of the file.
        language: code of the language, for guessing an encoding.

    Raises:
        ReadError: with the reason not_a_chat, unknown_encoding or not_subtitles (binary data).
    """
    text, encoding, confidence = decode(data, None, language)
    found = conversation_of(text.replace("\r\n", "\n").replace("\r", "\n"))
    refuse_more("messages", len(found.messages), MOST_LINES)
    messages = sorted(found.messages, key=lambda message: message.time)
    if not messages:
        left = ", ".join(counted(number, kind) for kind, number in sorted(found.left_out.items()))
        raise ReadError(NOT_A_CHAT, f"an export of a chat without any message in words ({left or 'it is empty'})")
    times = np.array([message.time - messages[0].time for message in messages]).round(3)
    blocks = np.arange(len(messages), dtype=np.int32)
    return Parsed(
        ids=blocks + 1,
        texts=[normal_form(message.text) for message in messages],
        starts=times,
        ends=times,
        first_blocks=blocks,
        last_blocks=blocks,
        bad_times=0,
        encoding=encoding,
        encoding_confidence=confidence,
        speakers=[normal_form(message.speaker) for message in messages],
        left_out=dict(found.left_out),
    )


def may_be_chat(head: bytes) -> bool:
    """Whether a file with this beginning, some thousand bytes, may be the export of a chat."""
    text = head.decode("utf-8", "replace")
    if is_whatsapp(text.replace("\r\n", "\n")):  # before JSON: the stamps of iOS begin with a bracket
        return True
    bare = text.lstrip("\ufeff \t\r\n")
    if bare[:1] in ("{", "["):
        return any(key in bare for key in _KEYS)
    return is_telegram_page(bare) or is_discord_csv(bare.partition("\n")[0])


def check_beginning(head: bytes, language: str = "en") -> bool:
    """Return whether a file that begins with these lines is an export of a chat; false if only the whole file shows it,
    as JSON does.

    Raises:
        NotAChatError: it is no export of a chat; the message says what it looks like.
        ReadError: the encoding is unknown.
    """
    text = decode(head, None, language)[0].replace("\r\n", "\n").replace("\r", "\n")
    bare = text.lstrip("\ufeff \t\n")
    if is_whatsapp(text) or is_telegram_page(bare) or is_discord_csv(bare.partition("\n")[0]):
        return True
    if bare[:1] in ("{", "["):
        return False
    raise _refusal(_looks_like(bare))


def conversation_of(text: str) -> Conversation:
    """Return the conversation of an export of any kind.

    Raises:
        NotAChatError: it is not an export of a chat; the message says what it looks like.
        ReadError: it is an export but cannot be read.
    """
    bare = text.lstrip("\ufeff \t\n")
    if _DISCORD_TEXT.match(bare):
        raise ReadError(
            NOT_A_CHAT, "Discord's export as plain text: export it as JSON or CSV, which say who wrote what"
        )
    if is_whatsapp(text):
        return read_whatsapp(text)
    if bare[:1] in ("{", "["):
        return _conversation_of_json(bare)
    if is_telegram_page(bare):
        return read_telegram_page(bare)
    if is_discord_csv(bare.partition("\n")[0]):
        return read_discord_csv(text)
    raise _refusal(_looks_like(bare))


def _conversation_of_json(text: str) -> Conversation:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines[:3]):
            raise _refusal("JSON lines (label them by `edos label`)") from error
        raise _refusal(f"damaged JSON ({error})") from error
    for recognises, reader in _JSON:
        if recognises(value):
            try:
                return reader(value)
            except (AttributeError, TypeError, KeyError) as error:
                kind = reader.__name__.removeprefix("read_").capitalize()
                raise ReadError(NOT_A_CHAT, f"looks like an export of {kind}, but is not complete ({error})") from error
    keys = ", ".join(map(repr, list(value)[:4])) if isinstance(value, dict) else f"a list of {len(value):,}"
    raise _refusal(f"other JSON ({keys})")


def _looks_like(text: str) -> str:
    first = text.partition("\n")[0]
    delimiter = next((mark for mark in ("\t", ";", ",") if first.count(mark) >= 2), None)
    if delimiter and text.count("\n") and text.split("\n")[1].count(delimiter) >= first.count(delimiter):
        return f"a table with the columns {first[:80]!r} (label it by `edos label`)"
    if "-->" in text[:2_000]:
        return "subtitles: give it the suffix .srt or .vtt"
    if first.startswith("<"):
        return "a page of HTML"
    return "a plain text (books are read by `edos books`, dialogues by `edos label`)"


def _refusal(what: str) -> "NotAChatError":
    return NotAChatError(NOT_A_CHAT, f"looks like {what}, not like the export of a chat: {_KNOWN}")
