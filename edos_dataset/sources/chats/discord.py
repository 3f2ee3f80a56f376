"""The JSON and CSV files of DiscordChatExporter."""

import csv
import io
import re
from datetime import datetime, timezone
from typing import Any

from edos_dataset.sources.chats.messages import NOTICE, Conversation, seconds
from edos_dataset.sources.parsed import ReadError

_SAID = ("Default", "Reply", "ThreadStarterMessage", "0", "19")
_EMOJI = re.compile(r"<a?(:\w+:)\d+>")
_DATES = ("%d-%b-%y %I:%M %p", "%d-%b-%y %H:%M", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M")


def is_discord(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is an export of Discord."""
    return isinstance(value, dict) and "channel" in value and isinstance(value.get("messages"), list)


def read_discord(value: dict[str, Any]) -> Conversation:
    """Return the conversation of a channel or direct messages."""
    found = Conversation()
    for message in value["messages"]:
        if str(message.get("type", "Default")) not in _SAID:
            found.left_out[NOTICE] += 1
            continue
        author = message.get("author") or {}
        found.add(
            seconds(message.get("timestamp")),
            author.get("nickname") or author.get("name") or author.get("id"),
            _EMOJI.sub(r"\1", message.get("content") or ""),
        )
    return found


def is_discord_csv(header: str) -> bool:
    """Whether the first line of a table is the header of a Discord export."""
    names = {name.strip('" \ufeff').casefold() for name in header.split(",")}
    return {"author", "date", "content"} <= names


def read_discord_csv(text: str) -> Conversation:
    """Return the conversation of a table.

    Raises:
        ReadError: it is no valid CSV.
    """
    found = Conversation()
    try:
        rows = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline=None)))
    except csv.Error as error:
        raise ReadError("not_a_chat", f"a table of Discord that cannot be read ({error}); export it again") from error
    for row in rows:
        named = {(name or "").casefold(): value or "" for name, value in row.items() if not isinstance(value, list)}
        found.add(_time(named.get("date", "")), named.get("author"), _EMOJI.sub(r"\1", named.get("content", "")))
    return found


def _time(date: str) -> float | None:
    if (known := seconds(date)) is not None:
        return known
    for form in _DATES:
        try:
            return datetime.strptime(date, form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    return None
