"""Reader of subtitles, captions, screenplays and transcripts, which are cut into turns and dialogues; only noise is
left out.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.releases.formats.forms import form_by_name
from edos_dataset.releases.formats.records import Dialogue, Place
from edos_dataset.runs.pipeline import Stage, split_rejects
from edos_dataset.schema import REASON
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.documents import OTHER_LANGUAGE
from edos_dataset.sources.formats import formats_by_suffix, split_suffix
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.names import name_file
from edos_dataset.sources.read import ReadFilms
from edos_dataset.sources.scripts import may_be_script
from edos_dataset.sources.subtitles.transcripts import may_be_transcript

_HEAD = 1 << 15  # bytes
_STAGES: tuple[Stage, ...] = (
    CleanLines(),
    SplitSentences(),
    SegmentTurns(),
    SegmentDialogues(),
)


def film_in(file: BinaryIO, path: Path) -> list[Dialogue] | None:
    """Return the dialogues of subtitles, captions, a screenplay or a transcript; None if it is something else.

    Of subtitles in two languages at once the lines in the language that the name states are read, by default English.
    Lines without speech are left out; turns and scenes are found as by `edos curate`. Each turn has its `start` and
    `end` in seconds, and its `speaker`, and of a screenplay its `scene`, `manner` and `voice`, where the file has them.

    Raises:
        ValueError: The file is damaged, or has no speech.
    """
    if not _may_be_film(file, path):
        return None
    language = name_file(path.name, path.name).language or "en"
    table = find_films([path], language).films
    if not table.num_rows:
        return None  # JSON that is not a transcript
    for stage in (_reading(table, language), *_STAGES):
        table, rejected = split_rejects(stage(table))
        if not table.num_rows:
            notes = stage.notes(rejected) if rejected is not None else []
            raise ValueError(f"{path}: {notes[0]['detail'] or notes[0]['reason'] if notes else 'nothing is said'}")
    place = Place(f"{path}, dialogue", "dialogue")
    return [_dialogue(row, place, number) for number, row in enumerate(table.to_pylist(), 1)]


def _reading(films: pa.Table, language: str) -> ReadFilms:
    """Return the stage that reads a film, which may be in any other language, too."""
    stage = ReadFilms(language)
    _, rejected = split_rejects(stage(films))
    others = rejected is not None and OTHER_LANGUAGE in rejected[REASON].to_pylist()
    return replace(stage, detect_language=False) if others else stage


def _may_be_film(file: BinaryIO, path: Path) -> bool:
    suffix = split_suffix(path.name)[1]
    if suffix not in formats_by_suffix():
        return False
    if form_by_name(path.name) is None:
        return True
    head = file.read(_HEAD)
    file.seek(0)
    if suffix.startswith(".txt"):
        return may_be_script(head)
    return suffix.startswith(".json") and may_be_transcript(head)


def _dialogue(row: dict[str, Any], place: Place, number: int) -> Dialogue:
    kept = ("speaker", "scene", "manner", "voice", "start", "end")
    beside = [{name: turn[name] for name in kept if turn[name] is not None} for turn in row["turns"]]
    extras = [json.dumps(values, ensure_ascii=False) if values else None for values in beside]
    return Dialogue(row["dialogue_id"], [turn["text"] for turn in row["turns"]], place, number, None, extras)
