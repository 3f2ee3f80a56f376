"""Subtitles, transcripts and chats as dialogues to label."""

import json
from pathlib import Path

import pytest

from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import read_given

SRT = """1
00:00:02,000 --> 00:00:04,000
- You said you would be home by eight.
- I know. I'm really sorry.

2
00:01:40,000 --> 00:01:43,000
My mother called this morning.
"""
WHISPER = {
    "text": "You said so. I know.",
    "segments": [
        {"start": 0.0, "end": 1.5, "text": " You said so.", "speaker": "SPEAKER_00"},
        {"start": 1.7, "end": 2.4, "text": " I know.", "speaker": "SPEAKER_01"},
    ],
}
WHATSAPP = """[14/10/2025, 3:35:01\u202fPM] Anna: You said you would be home by eight.
[14/10/2025, 3:36:12\u202fPM] Ben: I know. I'm really sorry.
[15/10/2025, 9:00:00\u202fAM] Anna: My mother called.
"""


def turns_of(path: Path) -> list[list[tuple[str, str | None]]]:
    return [
        [
            (text, json.loads(extra or "{}").get("speaker"))
            for text, extra in zip(dialogue.texts, dialogue.turn_extras or [], strict=True)
        ]
        for dialogue in read_given(str(path), Selection())
    ]


def test_subtitles_are_cut_into_turns_and_scenes(tmp_path: Path) -> None:
    (film := tmp_path / "film.srt").write_text(SRT)
    first, second = turns_of(film)
    assert first == [("You said you would be home by eight.", None), ("I know. I'm really sorry.", None)]
    assert second == [("My mother called this morning.", None)]


def test_speakers_of_a_transcript_are_turns(tmp_path: Path) -> None:
    (talk := tmp_path / "talk.json").write_text(json.dumps(WHISPER))
    assert turns_of(talk) == [[("You said so.", "SPEAKER_00"), ("I know.", "SPEAKER_01")]]


def test_exports_of_ios_begin_like_json_and_are_chats(tmp_path: Path) -> None:
    (chat := tmp_path / "chat.txt").write_text(WHATSAPP, encoding="utf-8")
    assert [[speaker for _, speaker in turns] for turns in turns_of(chat)] == [["Anna", "Ben"], ["Anna"]]


def test_json_of_dialogues_with_times_is_no_transcript(tmp_path: Path) -> None:
    turns = [{"text": "Hello.", "start": 0.0}, {"text": "Hi.", "start": 2.0}]
    (own := tmp_path / "own.json").write_text(json.dumps([{"dialogue_id": "a", "turns": turns}]))
    [dialogue] = read_given(str(own), Selection())
    assert (dialogue.id, dialogue.texts) == ("a", ["Hello.", "Hi."])


def test_subtitles_without_speech_are_refused_with_the_reason(tmp_path: Path) -> None:
    (film := tmp_path / "film.srt").write_text("no times here\n")
    with pytest.raises(ValueError, match=r"film\.srt: .*no block with a time"):
        list(read_given(str(film), Selection()))


ENGLISH = [
    "You said you would be home.",
    "I know, and I am really sorry.",
    "I cooked for three hours.",
    "It never stopped snowing.",
]
GERMAN = [
    "Du wolltest zu Hause sein.",
    "Ich weiß, und das tut mir leid.",
    "Ich habe drei Stunden gekocht.",
    "Der Schnee fiel lange.",
]


def as_srt(cues: list[str]) -> str:
    return "".join(
        f"{number}\n00:00:{2 * number:02},000 --> 00:00:{2 * number + 1:02},800\n{cue}\n\n"
        for number, cue in enumerate(cues, 1)
    )


@pytest.mark.parametrize(("name", "wanted"), [("film.srt", ENGLISH), ("film.de.srt", GERMAN)])
def test_of_two_languages_that_of_the_name_is_read(name: str, wanted: list[str], tmp_path: Path) -> None:
    cues = [f"{german}\n{english}" for german, english in zip(GERMAN, ENGLISH, strict=True)]
    (tmp_path / name).write_text(as_srt(cues))
    [found] = turns_of(tmp_path / name)
    assert " ".join(text for text, _ in found) == " ".join(wanted)


def test_a_film_may_be_in_any_language(tmp_path: Path) -> None:
    for name in ("film.srt", "film.de.srt"):
        (tmp_path / name).write_text(as_srt(GERMAN * 4))
        found = [text for dialogue in turns_of(tmp_path / name) for text, _ in dialogue]
        assert " ".join(found) == " ".join(GERMAN * 4)


@pytest.mark.parametrize(
    "lines",
    [
        ["2024년 3월 12일 오후 2:00, Anna : Where are you?", "2024년 3월 12일 오후 2:01, Ben : At home.", "And you?"],
        ["Anna de Vries  0:03", "Where are you?", "", "Ben  1:04:05", "At home."],
        ["(14:00) Anna> Where are you?", "(14:01) Ben> At home.", "(14:02) Anna> Oh."],
    ],
)
def test_stamps_of_an_unknown_chat_are_not_labelled(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text("\n".join(lines * 3))
    with pytest.raises(
        ValueError, match="chat.txt looks like a chat or transcript in a form that is not known, as lines"
    ):
        turns_of(tmp_path / "chat.txt")


def test_turns_may_begin_with_a_number(tmp_path: Path) -> None:
    (tmp_path / "turns.txt").write_text("At what time?\n5:30 is fine.\nWhere?\nAt home.\n12:00 is too late.\nYes.\n")
    [dialogue] = read_given(str(tmp_path / "turns.txt"), Selection())
    assert len(dialogue.texts) == 6
