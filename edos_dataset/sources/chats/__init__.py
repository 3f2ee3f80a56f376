"""Exports of messengers as sources: messages in chronological order, each with its speaker."""

from edos_dataset.sources.chats.reading import NotAChatError as NotAChatError
from edos_dataset.sources.chats.reading import check_beginning as check_beginning
from edos_dataset.sources.chats.reading import may_be_chat as may_be_chat
from edos_dataset.sources.chats.reading import read_chat as read_chat
from edos_dataset.sources.chats.slack import is_of_an_export as is_of_an_export
from edos_dataset.sources.chats.slack import with_names as with_names
