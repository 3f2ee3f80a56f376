"""Speakers that files name, from the file to the published rows, with their names or under pseudonyms."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import edos_dataset

TALK = [
    ("Anna de Vries (she/her)", "You said you would be home by eight, Ben."),
    ("Ben's iPhone", "I know. I am really sorry, Anna."),
    ("Anna de Vries (she/her)", "I cooked for three hours."),
    ("Ben's iPhone", "The train stood still in the snow."),
]
MEETING = "WEBVTT\n\n" + "\n\n".join(
    f"00:00:{3 * n:02}.000 --> 00:00:{3 * n + 2:02}.500\n{name}: {text}" for n, (name, text) in enumerate(TALK)
)
HOURS = ["19:00", "19:04", "19:05", "19:30", "23:50", "23:51"]
CHAT = "\n".join(
    f"04.01.26, {hour} - {name}: {text}"
    for hour, name, text in zip(
        HOURS,
        ["Anna", "Ben", "Ben", "Anna", "Ben", "Anna"],
        ["Where are you (again)?", "On the train.", "It snows here.", "Oh no, Ben!", "I am home now.", "I am so glad."],
        strict=True,
    )
)


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    (folder / "meeting.vtt").write_text(MEETING)
    (folder / "Chat with Anna.txt").write_text(CHAT)
    (folder / "README.txt").write_text("These are talks.\n")
    return folder


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    files = sorted((folder / "os").glob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return {row["dialogue_id"]: row["turns"] for row in rows}


def test_known_speakers_are_published(talks: Path, tmp_path: Path) -> None:
    done = edos_dataset.curate(talks, tmp_path / "out", labels=False, progress=False)
    assert [path for path, _ in done["input"]["skipped"]] == ["talks/README.txt"]
    rows = rows_of(tmp_path / "out")
    assert [(turn["speaker"], turn["text"]) for turn in rows["talks/meeting.vtt#1"]] == [
        (name.removesuffix(" (she/her)"), text) for name, text in TALK
    ]
    first, second = (rows[f"talks/Chat with Anna.txt#{number}"] for number in (1, 5))
    assert [(turn["speaker"], turn["text"], turn["start"]) for turn in first] == [
        ("Anna", "Where are you (again)?", 0.0),
        ("Ben", "On the train. It snows here.", 240.0),
        ("Anna", "Oh no, Ben!", 1800.0),
    ]
    assert [turn["new_speaker"] for turn in first] == [None, 1.0, 1.0]
    assert [turn["speaker"] for turn in second] == ["Ben", "Anna"]


def test_a_silence_ends_a_dialogue_of_a_chat_and_minutes_end_a_turn(talks: Path, tmp_path: Path) -> None:
    settings = ["dialogues.chat_gap=36000", "turns.message_pause=30", "turns.least_certainty=0"]
    settings.append("dialogues.least_certainty=0")
    chat = talks / "Chat with Anna.txt"
    edos_dataset.curate(chat, tmp_path / "out", labels=False, settings=settings, progress=False)
    [turns] = rows_of(tmp_path / "out").values()
    assert [turn["speaker"] for turn in turns] == ["Anna", "Ben", "Ben", "Anna", "Ben", "Anna"]


def test_no_name_is_in_what_is_published_under_pseudonyms(talks: Path, tmp_path: Path) -> None:
    edos_dataset.curate(talks, tmp_path / "out", labels=False, pseudonymize=True, progress=False)
    rows = rows_of(tmp_path / "out")
    assert not any(name in json.dumps(rows) for name in ("Anna", "Ben", "Vries"))
    assert [turn["text"] for turn in rows["talks/meeting.vtt#1"]][:2] == [
        "You said you would be home by eight, speaker 2.",
        "I know. I am really sorry, speaker 1.",
    ]
    assert {turn["speaker"] for turns in rows.values() for turn in turns} == {"speaker 1", "speaker 2"}
    assert "pseudonyms" in (tmp_path / "out" / "recipe.yaml").read_text()


@pytest.mark.parametrize("pseudonymize", [False, True])
def test_lines_of_segment_name_speakers_where_they_are_known(talks: Path, tmp_path: Path, pseudonymize: bool) -> None:
    (talks / "film.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nIt rains again today.\n")
    out = tmp_path / "turns.jsonl"
    edos_dataset.segment(talks, out, pseudonymize=pseudonymize, progress=False)
    rows = list(map(json.loads, out.read_text().splitlines()))
    assert ("Anna" in out.read_text()) is not pseudonymize
    film = [row for row in rows if row["document_id"] == "talks/film.srt"]
    meeting = [row for row in rows if row["document_id"] == "talks/meeting.vtt"]
    assert [list(row)[-1] for row in film] == ["same_turn_score"]
    assert [row["speaker"][:6] for row in meeting] == (
        ["speake"] * 5 if pseudonymize else ["Anna d", "Ben's ", "Ben's ", "Anna d", "Ben's "]
    )


def test_label_reads_chats_and_renames_speakers(talks: Path) -> None:
    chat = talks / "Chat with Anna.txt"
    labelled: Any = edos_dataset.label(chat)
    assert [dialogue["dialogue_id"] for dialogue in labelled] == ["Chat with Anna#1", "Chat with Anna#5"]
    assert [(turn["speaker"], turn["text"], turn["start"]) for turn in labelled[0]["turns"]][1] == (
        "Ben", "On the train. It snows here.", 240.0,
    )  # fmt: skip
    renamed: Any = edos_dataset.label(chat, pseudonymize=True)
    assert [turn["speaker"] for turn in renamed[1]["turns"]] == ["speaker 2", "speaker 1"]
    assert not any(name in json.dumps(renamed) for name in ("Anna", "Ben"))
    talk = [{"turns": [{"speaker": "Ann", "text": "Hi, Bo."}, {"speaker": "Bo", "text": "Hello Ann, you will win."}]}]
    [found] = edos_dataset.label(talk, pseudonymize=True)
    assert [turn["text"] for turn in found["turns"]] == ["Hi, speaker 2.", "Hello speaker 1, you will win."]


def test_a_person_who_speaks_only_later_has_a_pseudonym_from_the_beginning(tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text(
        "04.01.26, 19:00 - Ann: I miss Cleo.\n04.01.26, 19:01 - Ben: So do I.\n"
        "05.01.26, 09:00 - Cleo: I am back!\n05.01.26, 09:01 - Ann: We are so glad.\n"
    )
    labelled: Any = edos_dataset.label(chat, model="fast", pseudonymize=True)
    assert [[turn["speaker"] for turn in dialogue["turns"]] for dialogue in labelled] == [
        ["speaker 1", "speaker 2"],
        ["speaker 3", "speaker 1"],
    ]
    assert labelled[0]["turns"][0]["text"] == "I miss speaker 3."


def test_pseudonyms_in_a_table_and_what_was_found_in_it_is_said(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("Sprecher;Text\nAnn;Hello Ben.\nBen;\nBen;Hello Ann.\n")
    with pytest.warns(UserWarning, match="each of 2 rows is a dialogue of its own"):
        done = edos_dataset.label(table, out=tmp_path / "out.csv", model="fast", pseudonymize=True, skip_bad=True)
    out = (tmp_path / "out.csv").read_text()
    assert "Ann" not in out and "Ben" not in out and "speaker 1" in out and "Hello speaker 2." in out
    assert "columns: text 'Text', speaker 'Sprecher'" in done["remarks"] and done["bad"].total() == 1


def test_sessions_of_a_german_table_are_dialogues(tmp_path: Path) -> None:
    table = tmp_path / "sitzungen.csv"
    table.write_text("Sitzung;Sprecherin;Äußerung\n1;A;Wie geht es?\n1;B;Gut.\n2;A;Hallo.\n", encoding="utf-8")
    labelled: Any = edos_dataset.label(table, model="fast")
    assert [len(dialogue["turns"]) for dialogue in labelled] == [2, 1]
