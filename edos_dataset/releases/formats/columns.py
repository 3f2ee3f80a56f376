"""Columns and keys of dialogues, found by name in any case."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from edos_dataset.releases.formats.forms import DIALOGUE_KEYS, TEXT_KEYS
from edos_dataset.releases.formats.selection import ALL, Selection

ID_KEYS = (
    "dialogue_id", "conversation_id", "conv_id", "dialog_id", "thread_id", "chat_id", "session_id", "channel_id",
    "room_id", "interview_id", "thread", "chat", "channel", "interview", "dialognr", "dialognummer", "gespraech_id",
    "gesprächs_id", "gespräch", "gespraech", "chatverlauf", "sitzung", "sitzungs_id", "sitzungsnummer", "sitzungsnr",
)  # fmt: skip
"""Names of columns of dialogue ids, the least ambiguous first; case, spaces and punctuation are ignored."""

ROW_ID = "id"
"""Name of the dialogue id if none of ID_KEYS is present; in a table it may also number the rows."""

SURE_SPEAKER_KEYS = ("speaker", "role", "from")
SPEAKER_KEYS = (
    *SURE_SPEAKER_KEYS, "author", "sender", "name", "user", "username", "participant", "speaker_id", "speaker_name",
    "from_name", "who", "sprecher", "sprecherin", "absender", "autor", "person", "teilnehmer", "rolle",
)  # fmt: skip

NUMBER_KEYS = ("turn_number", "turn_id", "turn_idx", "turn", "utterance_idx", "turn_index", "turn_no")
_SURE_NUMBERS = NUMBER_KEYS[:5]
DATE_KEYS = ("date", "day", "datum", "tag")
TIME_KEYS = (
    "timestamp", "datetime", "date_time", "created_at", "sent_at", "when", "sent", "zeitstempel", "zeitpunkt", "time",
    "zeit", "uhrzeit",
)  # fmt: skip
_WHOLE_TIMES = 9  # the first of TIME_KEYS, whose times contain the date


class Columns(NamedTuple):
    """The keys of a record by their meaning; None if there is no such key.

    Attributes:
        dialogue: Key of the list of turns.
        text: Key of the text of a turn.
        id: Key of the id of the dialogue.
        speaker: Key of the speaker.
        number: Key of the number of the turn.
        times: Keys of the time of the turn: none, one, or two for day and time.
        unlinked: A key that only a turn of a longer dialogue has, if there is no id.
        own_id: Key of the id of the record itself, used if `id` is the key of its list of turns.
    """

    dialogue: str | None = None
    text: str | None = None
    id: str | None = None
    speaker: str | None = None
    number: str | None = None
    times: tuple[str, ...] = ()
    unlinked: str | None = None
    own_id: str | None = None


def plain(name: str) -> str:
    """Return a name in lower case without spaces and punctuation: both "Dialogue ID" and "dialogue_id" give
    "dialogueid".
    """
    return re.sub(r"[\W_]+", "", name).casefold()


def find(names: Iterable[str], keys: Sequence[str]) -> str | None:
    """Return the name that matches the first possible one of several known keys; None if no key is among the names."""
    there: dict[str, str] = {}
    for name in names:
        there.setdefault(plain(name), name)
    return next((there[wanted] for wanted in map(plain, keys) if wanted in there), None)


def named(name: str, names: Sequence[str]) -> str | None:
    """Return the column that a user means: the one with that name, else the only one that matches by `plain`."""
    if name in names:
        return name
    alike = [each for each in names if plain(each) == plain(name)]
    return alike[0] if len(alike) == 1 else None


def text_column(names: Sequence[str], column: str | None) -> str | None:
    """Return the name of the column of texts or dialogues: the one given, else the first known one; None if there is
    none.
    """
    return named(column, names) if column is not None else find(names, (*DIALOGUE_KEYS, *TEXT_KEYS))


@lru_cache(maxsize=1024)
def columns_of(names: tuple[str, ...], meant: Selection = ALL) -> Columns:
    """Return the meaning of the keys of a record: as the user chose, else by their names."""
    if meant.column is not None:
        dialogue = text = named(meant.column, names)
    else:
        dialogue, text = find(names, DIALOGUE_KEYS), find(names, TEXT_KEYS)
    others = [name for name in names if name not in ((dialogue, text) if meant.column is None else (text,))]
    number = find(others, NUMBER_KEYS) if meant.time_column is None else None
    id_ = _named_or(meant.id_column, names, ID_KEYS, others)
    if id_ is None and meant.id_column is None:
        # "dialogue" beside a text is the id of the dialogue, unless it holds a list of turns: see `records`
        id_ = dialogue if dialogue and text and dialogue != text else find(others, (ROW_ID,))
    speaker = _named_or(meant.speaker_column, names, SPEAKER_KEYS, [name for name in others if name != id_])
    unlinked = find(others, (*SURE_SPEAKER_KEYS, *_SURE_NUMBERS)) if id_ is None else None
    times, own_id = _times(others, meant, names), find(others, (*ID_KEYS, ROW_ID))
    return Columns(dialogue, text, id_, speaker, number, times, unlinked, own_id)


def _named_or(wanted: str | None, names: Sequence[str], keys: Sequence[str], others: Sequence[str]) -> str | None:
    return named(wanted, names) if wanted is not None else find(others, keys)


def _times(others: Sequence[str], meant: Selection, names: Sequence[str]) -> tuple[str, ...]:
    if meant.time_column is not None:
        return tuple(filter(None, (named(meant.time_column, names),)))
    if whole := find(others, TIME_KEYS[:_WHOLE_TIMES]):
        return (whole,)
    date, time = find(others, DATE_KEYS), find(others, TIME_KEYS[_WHOLE_TIMES:])
    return tuple(name for name in (date, time) if name is not None)
