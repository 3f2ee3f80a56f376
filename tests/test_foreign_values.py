"""Whatever value stands in a field of a file of others, it is read or refused with a sentence: no traceback, nothing
that is no text, and nothing that is no number.

In each example every value is replaced by each of `hostile.HOSTILE`. `fuzz` does the same at random, over whole
commands.
"""

import json

import pyarrow as pa
import pytest

from edos_dataset.commands.options import parse_size
from edos_dataset.crowd.mturk.client import Journal
from edos_dataset.crowd.mturk.results import _times
from edos_dataset.crowd.mturk_columns import TASK_ANSWERS, plain_columns
from edos_dataset.exports.segments import is_segmented, segmented
from edos_dataset.label_sets import load_label_set
from edos_dataset.label_sets.label_map import load_label_map
from edos_dataset.label_sets.schemas import label_set_of
from edos_dataset.labeling.models.endpoint.answers import read_answer
from edos_dataset.releases.dialogues import read_source
from edos_dataset.releases.formats.selection import ALL
from edos_dataset.sources.formats import formats_by_suffix
from edos_dataset.sources.parsed import ReadError
from hostile import check_refusal, replaced

LABELS = load_label_set({"labels": ["joy", "fear", "none"]})


def timed(suffix):
    def read(text, _):
        parsed = formats_by_suffix()[suffix].reader(text.encode(), "en")
        for said in (*parsed.texts, *(name or "" for name in parsed.speakers or ())):
            said.encode()

    return read


def dialogues(text, folder):
    (folder / "x.jsonl").write_text(text + "\n")
    for table in read_source(folder / "x.jsonl", 1_000, ALL):
        table.to_pylist()


def segments(text, folder):
    path = folder / "turns.jsonl"
    path.write_text(text + "\n")
    is_segmented(path)
    for dialogue in segmented(path):
        assert all(turn.start is None or abs(turn.start) < 1e9 for turn in dialogue.turns)


def journal(text, folder):
    (folder / "mturk-sandbox.jsonl").write_text(text + "\n")
    with Journal(folder, False):
        pass


def times(text, _):
    assert all(time is None or 0 <= time <= 86_400 for time in _times(text, 2))


def parsed(text):
    """Return the value of a text that is refused before it is read where it is nested too deeply (`untrusted`)."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return {}


def labels(text, _):
    if isinstance(given := parsed(text), dict):
        load_label_set(given)


def label_map(text, _):
    if isinstance(given := parsed(text), dict):
        load_label_map(given, LABELS)


def features(text, _):
    label_set_of(pa.schema([], metadata={b"huggingface": text.encode()}))


def answered(text, _):
    for several in (False, True):
        reply = parsed(text) if '"choices"' in text else {"choices": [{"message": {"content": text}}]}
        found = read_answer(reply, LABELS, several) if isinstance(reply, dict) else None
        assert found is None or all(0 <= chance <= 1 + 1e-9 for chance in found.probabilities.values())


TOKEN = {"token": "joy", "logprob": -0.1, "top_logprobs": [{"token": "fear", "logprob": -3}]}
CHOICE = {"message": {"content": "joy", "refusal": None}, "finish_reason": "stop", "logprobs": {"content": [TOKEN]}}
SAID = {
    "type": "message",
    "date_unixtime": "1",
    "date": "2026-01-04T19:00:00",
    "from": "A",
    "text": ["x", {"text": "y"}],
}
WORD = {"word": "a", "start": 1.0, "end": 1.5, "speaker": "S"}
SEGMENT = {"start": 1.0, "end": 2.0, "text": "a b", "speaker": "S", "words": [WORD]}
MESSENGER = {"sender_name": "A", "timestamp_ms": 1, "content": "x"}
SET = {
    "name": "m",
    "labels": ["joy", "fear"],
    "neutral": "fear",
    "groups": {"good": ["joy"]},
    "colours": {"joy": "#ff0000"},
}
READERS = {
    "telegram": (timed(".json"), {"name": "x", "messages": [SAID]}),
    "discord": (
        timed(".json"),
        {"channel": {}, "messages": [{"timestamp": "2026-01-04T19:00:00", "author": {"name": "a"}, "content": "x"}]},
    ),
    "slack": (
        timed(".json"),
        [{"type": "message", "user": "U", "ts": "1.1", "text": "<@U>", "user_profile": {"display_name": "B"}}],
    ),
    "messenger": (timed(".json"), {"participants": [], "messages": [MESSENGER]}),
    "transcript": (timed(".json"), {"segments": [SEGMENT]}),
    "chunks": (timed(".json"), {"chunks": [{"timestamp": [1, 2], "text": "x"}]}),
    "offsets": (timed(".json"), {"transcription": [{"offsets": {"from": 9, "to": 99}, "text": "x"}]}),
    "youtube": (
        timed(".json3"),
        {"wireMagic": "pb3", "events": [{"tStartMs": 900, "dDurationMs": 50, "segs": [{"utf8": "x"}]}]},
    ),
    "messages": (dialogues, {"id": 1, "messages": [{"role": "user", "content": "x"}]}),
    "turns": (dialogues, {"dialogue_id": "a", "turns": ["x", "y"]}),
    "rows": (dialogues, {"dialogue_id": "a", "turn": 1, "text": "x", "start": 1.5, "label": "sad"}),
    "segments": (
        segments,
        {"document_id": "a", "sentence_id": 1, "start": 1.0, "end": 2.0, "text": "x", "turn_id": 1, "speaker": "A"},
    ),
    "task answers": (
        lambda text, _: plain_columns([(1, {TASK_ANSWERS: text})]),
        [{"q1": {"a": True, "b": False}, "q2": {"label": "x"}, "q3": ["x"], "q4": "y"}],
    ),
    "times": (times, [1.0, 2]),
    "journal": (journal, {"done": "hit", "key": "k", "id": "x", "at": 1.0}),
    "label set": (labels, SET),
    "label map": (label_map, {"joy": "positive", "fear": {"negative": 0.5, "neutral": 0.5}, "none": "neutral"}),
    "features of a table": (features, {"info": {"features": {"label": {"names": ["a", "b"], "_type": "ClassLabel"}}}}),
    "endpoint": (answered, {"choices": [CHOICE], "usage": {"prompt_tokens": 1}}),
    "confidence": (answered, {"label": "joy", "confidence": 0.5}),
    "several labels": (answered, {"labels": [{"label": "joy", "confidence": 0.5}, "fear"]}),
}


@pytest.mark.parametrize("name", READERS)
def test_a_sentence_for_every_value(name, tmp_path):
    read, example = READERS[name]
    read(json.dumps(example), tmp_path)  # the example itself is read
    for text in replaced(example):
        try:
            read(text, tmp_path)
        except ReadError as error:
            assert 0 < len(error.detail) < 1_000, error
        except ValueError as error:
            check_refusal(error)


@pytest.mark.parametrize("text", ["9" * 400, "9" * 400 + "GB", "1." + "9" * 30 + "TB", "-1", "1e9", ""])
def test_a_size_is_a_number_of_bytes(text):
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
