"""JSON of speech recognition: segments with times, and often with speakers.

Supported are Whisper, WhisperX, whisper.cpp, the pipelines of `transformers`, podcast JSON, YouTube transcripts, and
the utterances of Deepgram and AssemblyAI. YouTube's `json3` is in `timedtext`.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from edos_dataset.sources.parsed import MOST_LINES, ReadError, refuse_more
from edos_dataset.sources.subtitles.cue import Cue, lines_of, number_of
from edos_dataset.sources.subtitles.timedtext import read_timed_json

_SEGMENTS = ("segments", "chunks", "transcription", "utterances")
_TEXTS = ("text", "body", "transcript")
_LONGEST_NAME = 200


def may_be_transcript(head: bytes) -> bool:
    """Return whether a JSON file that begins with these bytes, some thousand, can be a transcript."""
    return any(f'"{name}"'.encode() in head for name in (*_SEGMENTS, "events"))


class NotATranscriptError(ReadError):
    """The JSON is not a transcript."""


def read_json(text: str) -> list[Cue]:
    """Read JSON in any supported form.

    Raises:
        NotATranscriptError: it has no supported form.
        ReadError: with the reason not_subtitles if it has more cues than any film.
    """
    try:
        document = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}, column {error.colno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise NotATranscriptError("not_subtitles", f"{place}not JSON, or cut off ({type(error).__name__})") from error
    if isinstance(document, dict) and _are_objects(document.get("events")):
        return read_timed_json(document)
    segments = _segments(document)
    refuse_more("segments", len(segments), MOST_LINES)
    return [cue for segment in segments for cue in _cues_of(segment)]


def _segments(document: object) -> list[dict[str, Any]]:
    for place in _places(document):
        segments = [segment for segment in _list(place) if isinstance(segment, dict)]
        if any(_text_of(segment) is not None and _has_time(segment) for segment in segments):
            return segments
    keys = ", ".join(f"{key[:20]!r}" for key in list(document)[:5]) if isinstance(document, dict) else "a list"
    raise NotATranscriptError(
        "not_subtitles", f"JSON ({keys}), but no transcript: expected segments with start, end and text, or events"
    )


def _places(document: object) -> list[object]:
    """Return the values that may be the list of segments."""
    if not isinstance(document, dict):
        return [document]
    holders = [holder for holder in (document.get("results"), document) if isinstance(holder, dict)]
    return [holder.get(name) for holder in holders for name in _SEGMENTS]


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _text_of(segment: dict[str, Any]) -> str | None:
    return next((text for name in _TEXTS if isinstance(text := segment.get(name), str)), None)


def _has_time(segment: dict[str, Any]) -> bool:
    return any(name in segment for name in ("start", "startTime", "timestamp", "timestamps", "offsets"))


def _cues_of(segment: dict[str, Any]) -> Iterator[Cue]:
    """Yield a segment as cues, split where the speaker of the words changes."""
    start, end = _times(segment)
    words = [word for word in _list(segment.get("words")) if isinstance(word, dict) and _word(word)]
    speakers = {_speaker(word) for word in words} - {None}
    if len(speakers) < 2:
        spoken = _text_of(segment)
        yield Cue(start, end, lines_of(spoken or ""), _speaker(segment) or next(iter(speakers), None))
        return
    speaker = _speaker(segment)
    named = []  # a word without a speaker has that of the word before
    for word in words:
        speaker = _speaker(word) or speaker
        named.append((speaker, word))
    for who, run in groupby(named, key=lambda pair: pair[0]):
        of_run = [word for _, word in run]
        text = " ".join(_word(word).strip() for word in of_run)
        times = _times(of_run[0])[0], _times(of_run[-1])[1]
        yield Cue(*times, lines_of(text), who)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(word: dict[str, Any]) -> str:
    text = word.get("word", word.get("text"))
    return text if isinstance(text, str) else ""


def _speaker(segment: dict[str, Any]) -> str | None:
    name = segment.get("speaker")
    if isinstance(name, bool) or not isinstance(name, int | str):
        return None
    return " ".join(lines_of(str(name)[:_LONGEST_NAME])) or None


def _times(segment: dict[str, Any]) -> tuple[float, float]:
    pair, offsets = segment.get("timestamp"), segment.get("offsets")
    if isinstance(pair, list) and len(pair) == 2:
        return number_of(pair[0]), number_of(pair[1])
    if isinstance(offsets, dict):  # whisper.cpp, in milliseconds
        return number_of(offsets.get("from"), 1 / 1000), number_of(offsets.get("to"), 1 / 1000)
    # AssemblyAI counts whole milliseconds, and only it has a confidence beside them.
    scale = 1 / 1000 if isinstance(segment.get("start"), int) and "confidence" in segment else 1.0
    start = number_of(segment.get("start", segment.get("startTime")), scale)
    end = segment.get("end", segment.get("endTime"))
    return start, start + number_of(segment.get("duration")) if end is None else number_of(end, scale)
