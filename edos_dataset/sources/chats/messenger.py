"""The `message_1.json` of Facebook Messenger and Instagram."""

import re
from typing import Any

from edos_dataset.sources.chats.messages import DELETED, MEDIA, NOTICE, Conversation, seconds

_NOTICE = re.compile(
    r"(?:.{1,80} (?:sent an attachment|sent a (?:photo|video|voice message|sticker|GIF|link|location)|missed your call"
    r"|called you|joined the (?:call|group)|left the group|named the group .*|changed the .*)\.?"
    r"|Reacted .{1,20} to your message\.?|Liked a message|You (?:sent an attachment|are now connected on Messenger)\.?)"
)
_SAID = frozenset({None, "Generic", "Share", "text"})


def is_messenger(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is an export of Messenger."""
    return isinstance(value, dict) and "participants" in value and isinstance(value.get("messages"), list)


def read_messenger(value: dict[str, Any]) -> Conversation:
    """Return the conversation, with letters that Facebook wrote byte by byte restored."""
    found = Conversation()
    for message in value["messages"]:
        text = mended(message.get("content") or message.get("text") or "")
        if message.get("is_unsent") or message.get("isUnsent"):
            found.left_out[DELETED] += 1
        elif message.get("type") not in _SAID:
            found.left_out[MEDIA if message.get("type") == "media" else NOTICE] += 1
        elif _NOTICE.fullmatch(text):
            found.left_out[NOTICE] += 1
        else:
            speaker = mended(message.get("sender_name") or message.get("senderName") or "")
            stamp = message.get("timestamp_ms", message.get("timestamp"))
            time = seconds(stamp)
            found.add(None if time is None else time / 1000, speaker, text)
    return found


def mended(text: str) -> str:
    """Return a text whose UTF-8 bytes were read as Latin-1, with the original letters."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
