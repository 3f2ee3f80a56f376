"""Telegram's "Export chat history": its `result.json`, and its pages, `messages.html`."""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from edos_dataset.sources.chats.messages import NOTICE, Conversation, seconds
from edos_dataset.sources.parsed import ReadError
from edos_dataset.wording import counted

_MESSAGE = re.compile(r"""<div\s+class=["']message (?:default|service)\b""")
_STAMP = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d:\d\d(?::\d\d)?)(?: UTC([+-]\d\d:\d\d))?", re.ASCII)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_QUOTED = ("reply_to", "media_wrap")


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


def is_telegram_page(text: str) -> bool:
    """Whether a text, or its beginning, is a page of Telegram's export."""
    return text.startswith("<") and _MESSAGE.search(text) is not None


def read_telegram_page(text: str) -> Conversation:
    """Return the conversation of a page; "joined" messages are by the sender of the message above."""
    parser = etree.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8")
    root = etree.fromstring(_BREAK.sub("\n", text).encode("utf-8", "surrogatepass"), parser)
    found, speaker = Conversation(), None
    for message in root.iter("div") if root is not None else ():
        classes = _classes(message)
        if not {"message", "service"} - classes and not message.get("id", "").startswith("message-"):  # a day's date
            found.left_out[NOTICE] += 1
        elif not {"message", "default"} - classes:
            body = next(_divisions(message, "body"), message)
            name = next((_words(node) for node in body.iterchildren("div") if "from_name" in _classes(node)), None)
            speaker = name or (speaker if "joined" in classes else None)
            date = next((node.get("title") for node in _divisions(body, "date")), None)
            found.add(_time(date), speaker, " ".join(map(_words, _divisions(body, "text"))))
    return found


def _classes(node: etree._Element) -> set[str]:
    return set((node.get("class") or "").split())


def _divisions(node: etree._Element, name: str) -> Iterator[etree._Element]:
    """Yield the parts of a message of a class, without those in what it replies to or shows."""
    for child in node.iterchildren("div"):
        classes = _classes(child)
        if name in classes:
            yield child
        elif not classes.intersection(_QUOTED):
            yield from _divisions(child, name)


def _words(node: etree._Element) -> str:
    """Return the text of an element; after a sender's name may stand the date of what they forward."""
    return (node.text or "").strip() if "from_name" in _classes(node) else "".join(map(str, node.itertext()))


def _time(stamp: str | None) -> float | None:
    if not stamp or not (match := _STAMP.match(stamp)):
        return None
    day, month, year, time, zone = match.groups()
    return seconds(f"{year}-{month}-{day}T{time}{zone or ''}")
