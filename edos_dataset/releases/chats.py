"""Pseudonyms for the speakers of users' dialogues."""

import json
from collections.abc import Hashable, Iterable
from typing import Any

from edos_dataset.cleaning.pseudonyms import Pseudonyms, pseudonymized, speakers_in
from edos_dataset.releases.formats.columns import SPEAKER_KEYS
from edos_dataset.releases.formats.records import Dialogue

_NAMES = frozenset(SPEAKER_KEYS) - {"role", "rolle"}


def renamed(dialogues: Iterable[Dialogue]) -> list[dict[str, Any]]:
    """Return dialogues as records in which speakers have pseudonyms.

    A speaker of a chat has the same pseudonym in all of its dialogues, and so has a speaker of a table in which every
    row is a dialogue; otherwise each dialogue has its own.
    """
    found, documents = list(dialogues), dict[Hashable, Pseudonyms]()
    for dialogue in found:  # a text may mention a person who speaks only later
        known = documents.setdefault(_document(dialogue), Pseudonyms())
        known.add(speakers_in(_extras(dialogue), _NAMES))
    return [_record(dialogue, documents[_document(dialogue)]) for dialogue in found]


def _document(dialogue: Dialogue) -> Hashable:
    return dialogue.place if dialogue.place.unit == "message" or _is_row(dialogue) else dialogue.id


def _is_row(dialogue: Dialogue) -> bool:
    """Return whether a dialogue is one row of a table without ids of dialogues."""
    return dialogue.rows is not None and dialogue.extra is not None


def _extras(dialogue: Dialogue) -> list[str | None]:
    if _is_row(dialogue):
        return [dialogue.extra]
    return dialogue.turn_extras or [None] * len(dialogue.texts)


def _record(dialogue: Dialogue, known: Pseudonyms) -> dict[str, Any]:
    texts, extras = pseudonymized(dialogue.texts, _extras(dialogue), known, _NAMES)
    besides: list[dict[str, Any]] = [json.loads(extra) if extra else {} for extra in extras]
    if _is_row(dialogue):
        return {"dialogue_id": known.in_name(dialogue.id), "turns": texts} | besides[0]
    turns = [{"text": text} | beside for text, beside in zip(texts, besides, strict=True)]
    record = {"dialogue_id": known.in_name(dialogue.id), "turns": turns}
    return record | (json.loads(dialogue.extra) if dialogue.extra else {})
