"""Whole dialogues are drawn, read without their source, kept without texts, and counted."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.schema import arrow_schema
from evaluation.judged_dialogues import KINDS, READING, Read, tally


def read(number, errors=None, turns=3, certainty=None):
    """Return a dialogue that was read."""
    ids = [[turn] for turn in range(1, turns + 1)]
    return Read(number, "show", f"{number}.srt", f"d#{number}", ids, ["0"] * turns, 4 * turns, certainty, errors)


@pytest.fixture
def run(tmp_path):
    """Return a run of six dialogues of two shows."""
    rows = [
        {
            "dialogue_id": f"films/{show}/{film}.srt#{film}",
            "document_id": f"films/{show}/{film}.srt",
            "turns": [
                {"text": f"Where is {show}{film}?", "start": 1.0, "end": 2.0, "sentence_ids": [film]},
                {"text": "Gone, I fear.", "start": 3.5, "end": 4.0, "sentence_ids": [film + 1, film + 2]},
                {"text": "No time here.", "start": None, "end": None, "sentence_ids": [film + 3]},
            ],
        }
        for show in ("ann", "bob")
        for film in (1, 2, 3)
    ]
    (tmp_path / "run/os").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, arrow_schema("os")), tmp_path / "run/os/train-00000-of-00001.parquet")
    return tmp_path / "run"


def step(*arguments):
    READING.main([str(argument) for argument in arguments])


def test_a_sheet_tells_turns_and_pauses_and_no_source(run, tmp_path):
    """The same sheet each time; the key keeps no text; the verdicts come to figures."""
    given = ("sample", "--run", run, "--pools", "a=films/ann/*", "b=films/bob/*", "--dialogues", 5)
    step(*given, "--out", tmp_path / "one")
    step(*given, "--out", tmp_path / "two")
    sheet, key = ((tmp_path / "one" / name).read_text() for name in ("sheet.txt", "key.jsonl"))
    assert sheet == (tmp_path / "two/sheet.txt").read_text()
    assert sheet.count("===") == 5 and "films" not in sheet and "Gone" not in key
    assert "2. [1.5 s] Gone, I fear.\n3. No time here.\n" in sheet
    assert all(kind in sheet for kind in KINDS)
    assert [json.loads(line)["pool"] for line in key.splitlines()].count("a") == 3

    verdicts = tmp_path / "verdicts.txt"
    verdicts.write_text("# mine\n1 ok\n2 two 2 1 | ocr 3\n\n3 ok\n4 ok\n5 border 2\n")
    judged = tmp_path / "judged.jsonl"
    step("tally", "--key", tmp_path / "one/key.jsonl", "--verdicts", verdicts, "--judged", judged)
    figures = json.loads(judged.with_suffix(".json").read_text())
    assert figures["without_error"]["share"] == 0.6
    assert figures["without"]["two"]["share"] == figures["without"]["border"]["share"] == 0.8
    assert figures["turns_with"] == {"two": round(2 / 15, 4), "ocr": round(1 / 15, 4), "border": round(1 / 15, 4)}
    assert figures["turns_per_dialogue"] == 3
    assert READING.read(judged)[1].errors == {"two": [1, 2], "ocr": [3]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 ok\n3 ok", "line 2: the sheet has no dialogue 3"),
        ("1 ok", "1 dialogues are not read, such as 2"),
        ("1 ok\n1 two 1\n2 ok", "line 2: dialogue 1 is read already"),
        ("1 tow 2", "'tow' is no kind of error; there are two, border"),
        ("1 two 4", "dialogue 1 has turns 1 to 3, got 'two 4'"),
        ("1 two", "dialogue 1 has turns 1 to 3, got 'two'"),
        ("one ok", "expected NUMBER ok"),
    ],
)
def test_verdicts_of_another_form_are_refused(tmp_path, lines, message):
    """With file and line."""
    file = tmp_path / "verdicts.txt"
    file.write_text(lines)
    with pytest.raises(ValueError, match=message):
        READING.with_verdicts([read(1), read(2)], [file])


def test_certainty_is_told_in_bands():
    """Of those that the program is as sure of, the share without error."""
    records = [read(number, {} if number % 2 else {"two": [1]}, certainty=0.75) for number in range(1, 5)]
    figures = tally([*records, read(5, {}, certainty=0.2), read(6, {})])
    assert [(band["from"], band["dialogues"], band["share"]) for band in figures["certainty"]] == [
        (0.1, 1, 1.0),
        (0.7, 4, 0.5),
    ]


def test_a_pool_with_too_few_dialogues(run, tmp_path):
    """Says how many there are."""
    with pytest.raises(SystemExit, match="the pool 'a' has 3 dialogues, fewer than 10"):
        step("sample", "--run", run, "--pools", "a=films/ann/*", "--dialogues", 10, "--out", tmp_path)
