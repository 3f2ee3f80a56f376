"""Reader of messenger exports: each chat is cut into dialogues at long silences, with speakers and times."""

import json
import os
from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from edos_dataset.releases.formats.records import Dialogue, Place
from edos_dataset.releases.formats.texts import LARGEST
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.chats import NotAChatError, may_be_chat, read_chat, with_names
from edos_dataset.sources.parsed import Parsed, ReadError

_HEAD = 1 << 16  # bytes
_SUFFIXES = (".txt", ".json", ".csv", ".html", ".htm", "")


def chat_in(file: BinaryIO, name: str) -> list[Dialogue] | None:
    """Return the dialogues of a messenger export; None if the file is something else.

    Successive messages of one person within `SegmentTurns.message_pause` form one turn, and a silence longer than
    `SegmentDialogues.chat_gap` ends a dialogue. Each turn has its `speaker` and its `start`, in seconds since the first
    message.

    Raises:
        ValueError: The file is an export that cannot be read as a chat.
    """
    stem, suffix = os.path.splitext(name.removesuffix(".gz"))
    if suffix.lower() not in _SUFFIXES:
        return None
    head = file.read(_HEAD)
    file.seek(0)
    if not may_be_chat(head):
        return None
    try:
        data = file.read(LARGEST + 1)
        parsed = read_chat(data) if len(data) <= LARGEST else None
    except NotAChatError:
        parsed = None
    except ReadError as error:
        if error.reason == "not_a_chat":
            raise ValueError(f"{name}: {error.detail}") from error
        parsed = None
    finally:
        file.seek(0)
    if parsed is None:
        return None
    parsed = with_names(parsed, name) if place_of(name).is_file() else parsed
    return _dialogues_of(parsed, PurePath(stem).name, Place(f"{name}, message", "message"))


def _dialogues_of(parsed: Parsed, stem: str, place: Place) -> list[Dialogue]:
    pauses = np.diff(parsed.starts, prepend=parsed.starts[:1])
    speakers = parsed.speakers or [None] * len(parsed.texts)
    found: list[list[int]] = []
    for number, pause in enumerate(pauses.tolist()):
        if not found or pause > SegmentDialogues.chat_gap:
            found.append([])
        found[-1].append(number)
    return [_dialogue(parsed, speakers, pauses, numbers, stem, place) for numbers in found]


def _dialogue(
    parsed: Parsed,
    speakers: list[str | None],
    pauses: np.ndarray,
    numbers: list[int],
    stem: str,
    place: Place,
) -> Dialogue:
    texts: list[str] = []
    extras: list[str | None] = []
    before: int | None = None
    for number in numbers:
        same = before is not None and speakers[before] == speakers[number]
        if same and pauses[number] <= SegmentTurns.message_pause:
            texts[-1] += f" {parsed.texts[number]}"
        else:
            texts.append(parsed.texts[number])
            beside = {"speaker": speakers[number], "start": float(parsed.starts[number])}
            extras.append(json.dumps(beside, ensure_ascii=False))
        before = number
    first = numbers[0] + 1
    return Dialogue(f"{stem}#{first}", texts, place, first, None, list(extras))
