"""Exports of messengers as sources: messages in chronological order, each with its speaker."""

from edos_dataset.sources.chats.reading import NotAChatError as NotAChatError
from edos_dataset.sources.chats.reading import may_be_chat as may_be_chat
from edos_dataset.sources.chats.reading import read_chat as read_chat
