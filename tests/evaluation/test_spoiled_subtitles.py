"""The ways in which subtitles are spoiled, and that each of them has a low certainty in the record."""

import json
from pathlib import Path

import pytest

from evaluation import spoiled_subtitles
from evaluation.spoiled_subtitles import WAYS, bare, cues_of, joined, segments, words_of, written

CUES = [(1.0, 2.0, "No, no."), (3.0, 4.5, "I was late, Ann.")]


def test_cues_are_written_as_they_are_read() -> None:
    assert cues_of(written(CUES).encode()) == CUES


def test_cues_are_cut_joined_and_stripped() -> None:
    assert words_of(CUES)[:3] == [(1.0, 1.5, "No,"), (1.5, 2.0, "no."), (3.0, 3.375, "I")]
    assert joined(words_of(CUES), 6) == [(1.0, 4.5, "No, no. I was late, Ann.")]
    assert segments(CUES, 4) == [(0, 4, "No, no. I was late,"), (4, 8, "Ann.")]
    assert bare([*CUES, (5, 6, "...")]) == [(1.0, 2.0, "no no"), (3.0, 4.5, "i was late ann")]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_spoiled_is_never_certain(way: str) -> None:
    record = json.loads(Path(spoiled_subtitles.__file__).with_suffix(".json").read_text())["ways"]
    is_sound = record[way]["relative"] > 0.9
    assert (record[way]["most_certain"] > 0.9) == is_sound
