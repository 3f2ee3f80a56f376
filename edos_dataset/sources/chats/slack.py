"""Slack: a day of a channel from an export, or a response of its API."""

import re
from typing import Any

from edos_dataset.sources.chats.messages import NOTICE, Conversation, seconds, unescape

_SAID = frozenset({None, "thread_broadcast", "me_message", "bot_message", "file_comment"})
_LINK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def is_slack(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is an export of Slack."""
    messages = _messages(value)
    return bool(messages) and all(isinstance(one, dict) and "ts" in one and "type" in one for one in messages[:5])


def read_slack(value: Any) -> Conversation:  # noqa: ANN401 - a list, or an object that holds it
    """Return the conversation; people appear by name if the messages contain their profiles, otherwise by id."""
    found, messages = Conversation(), _messages(value)
    names = {one["user"]: name for one in messages if one.get("user") and (name := _name(one))}

    def link(match: re.Match[str]) -> str:
        sign, target, label = match.groups()
        return f"{'' if sign == '!' and label else sign.replace('!', '@')}{label or names.get(target, target)}"

    for one in messages:
        if one.get("type") != "message" or one.get("subtype") not in _SAID:
            found.left_out[NOTICE] += 1
            continue
        user = one.get("user")
        speaker = names.get(user) or user or one.get("username") or one.get("bot_id")
        found.add(seconds(one.get("ts")), speaker, unescape(_LINK.sub(link, one.get("text") or "")))
    return found


def _messages(value: Any) -> list[Any]:  # noqa: ANN401
    value = value.get("messages") if isinstance(value, dict) else value
    return value if isinstance(value, list) else []


def _name(message: dict[str, Any]) -> str | None:
    profile = message.get("user_profile") or {}
    name = profile.get("display_name") or profile.get("real_name") or profile.get("name")
    return str(name) if name else None
