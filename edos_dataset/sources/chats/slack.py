"""Slack: a day of a channel from an export, or a response of its API."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from edos_dataset.sources.chats.messages import NOTICE, Conversation, seconds, unescape
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.parsed import Parsed, ReadError

_SAID = frozenset({None, "thread_broadcast", "me_message", "bot_message", "file_comment"})
_PEOPLE = "users.json"
_OF_AN_EXPORT = frozenset(
    (_PEOPLE, "channels.json", "groups.json", "dms.json", "mpims.json", "integration_logs.json", "canvases.json")
)
_MOST_BYTES = 1 << 26
_ID = re.compile(r"[UWB][A-Z0-9]+")
_MENTION = re.compile(rf"@({_ID.pattern})\b")
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


def with_names(parsed: Parsed, location: str, member: str | None = None) -> Parsed:
    """Return a chat in which people have the names that an export of Slack lists in its `users.json`, beside the file
    or in a folder above it, instead of their ids; any other chat as it is.

    Args:
        parsed: the chat.
        location: its file, or the zip archive that holds it.
        member: its name in the archive, or null.
    """
    ids = {name for name in parsed.speakers or () if name and _ID.fullmatch(name)}
    names = next((found for found in _lists_of_people(location, member) if ids & set(found)), {}) if ids else {}
    if not names:
        return parsed
    return replace(
        parsed,
        speakers=[name and names.get(name, name) for name in parsed.speakers or ()],
        texts=[_MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", text) for text in parsed.texts],
    )


def is_of_an_export(path: Path) -> bool:
    """Whether a file is one of those of an export of Slack that list people or channels."""
    if path.name not in _OF_AN_EXPORT:
        return False
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return False
    return isinstance(value, list) and not any(isinstance(one, dict) and "ts" in one for one in value)


def _lists_of_people(location: str, member: str | None) -> Iterator[Mapping[str, str]]:
    """Yield the names of people by id in each list beside a file or above it."""
    if member is not None:
        yield from (_people(location, str(above / _PEOPLE)) for above in PurePosixPath(member).parents)
        return
    folder = location.replace("\\", "/").rpartition("/")[0] or "."
    yield from (_people(f"{above}/{_PEOPLE}", None) for above in (folder, folder.rpartition("/")[0] or f"{folder}/.."))


@lru_cache(maxsize=64)
def _people(location: str, member: str | None) -> Mapping[str, str]:
    try:
        listed = json.loads(read_bytes(location, member, _MOST_BYTES))
    except (ReadError, OSError, ValueError, RecursionError):
        return {}
    people = [one for one in listed if isinstance(one, dict) and "id" in one] if isinstance(listed, list) else []
    named = {str(one["id"]): _name({"user_profile": {**one, **_profile(one)}}) for one in people}
    return {id_: name for id_, name in named.items() if name}


def _profile(person: Mapping[str, Any]) -> Mapping[str, Any]:
    profile = person.get("profile")
    return profile if isinstance(profile, dict) else {}


def _messages(value: Any) -> list[Any]:  # noqa: ANN401
    value = value.get("messages") if isinstance(value, dict) else value
    return value if isinstance(value, list) else []


def _name(message: dict[str, Any]) -> str | None:
    profile = message.get("user_profile") or {}
    name = profile.get("display_name") or profile.get("real_name") or profile.get("name")
    return str(name) if name else None
