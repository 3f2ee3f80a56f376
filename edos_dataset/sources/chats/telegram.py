"""The `result.json` of Telegram's "Export chat history"."""

from typing import Any

from edos_dataset.sources.chats.messages import NOTICE, Conversation, seconds
from edos_dataset.sources.parsed import ReadError
from edos_dataset.wording import counted


def is_telegram(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is an export of Telegram."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("chats"), dict):
        return "list" in value["chats"]
    messages = value.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, dict) and "date" in first and ("from" in first or "actor" in first or "from_id" in first)


def read_telegram(value: dict[str, Any]) -> Conversation:
    """Return the conversation of a chat's export.

    Raises:
        ReadError: it is the export of a whole account with several chats.
    """
    if "chats" in value:
        chats = value["chats"]["list"]
        if len(chats) != 1:
            raise ReadError(
                "not_a_chat", f"Telegram's export of {counted(len(chats), 'chats')}: export each chat by itself"
            )
        value = chats[0]
    found = Conversation()
    for message in value.get("messages", ()):
        if message.get("type") != "message":
            found.left_out[NOTICE] += 1
            continue
        time = seconds(message.get("date_unixtime") or message.get("date"))
        found.add(time, message.get("from") or message.get("from_id"), _text(message.get("text", "")))
    return found


def _text(text: Any) -> str:  # noqa: ANN401 - a string, or pieces
    pieces = text if isinstance(text, list) else [text]
    return "".join(str(piece.get("text", "")) if isinstance(piece, dict) else str(piece) for piece in pieces)
