"""Answers are drawn and read without knowing whose they are, kept without texts, and counted by row."""

import json

import pytest

from evaluation.generation_sets import as_json
from evaluation.judged_responses import READING, VERDICTS, Read, tally


def read(number, **verdicts):
    """Return a context with two answers, of two rows and of one."""
    return Read(number, "ed", f"d{number}", "00", {"a": ["plain", "RT"], "b": ["GT"]}, {"a": "1", "b": "2"}, verdicts)


@pytest.fixture
def records(tmp_path):
    """Return records of two sets with four contexts each, and of ours, which are not read."""
    contexts = [{"document": f"film {number}", "turns": [f"Where is {number}?"]} for number in range(4)]
    sets = {name: {"digest": name, "contexts": contexts} for name in ("os", "ed", "invented")}
    (tmp_path / "records").mkdir()
    (tmp_path / "records/matrix.json").write_text(as_json({"models": ["plain"], "sets": sets}))
    for name in sets:
        for row in ("plain", "RT", "GT"):
            answers = [f"{name} true {number}" if row == "GT" else f"Gone {number}" for number in range(4)]
            cell = {"row": row, "set": name, "digest": name, "answers": answers}
            cell |= {"model": row, "condition": "none"} if row == "plain" else {}
            (tmp_path / f"records/{name}--{row}.json").write_text(as_json(cell))
    return tmp_path / "records"


def step(*arguments):
    READING.main([str(argument) for argument in arguments])


def test_a_sheet_tells_no_model_and_its_key_no_text(records, tmp_path):
    """The same sheet each time, equal answers once; the verdicts come to figures of every row."""
    given = ("sample", "--records", records, "--contexts", 5)
    step(*given, "--out", tmp_path / "one")
    step(*given, "--out", tmp_path / "two")
    sheet, key = ((tmp_path / "one" / name).read_text() for name in ("sheet.txt", "key.jsonl"))
    assert sheet == (tmp_path / "two/sheet.txt").read_text()
    assert sheet.count("===") == 5 and sheet.count("Gone") == 5 and "invented" not in sheet
    assert not any(word in sheet for word in ("plain", "RT", "film")) and "Gone" not in key and "Where" not in key
    rows = [json.loads(line) for line in key.splitlines()]
    assert [row["set"] for row in rows].count("os") == 3
    assert {letter for row in rows for letter, own in row["rows"].items() if own == ["GT"]} == {"a", "b"}

    verdicts = tmp_path / "verdicts.txt"
    lines = []
    for place, row in enumerate(rows):
        said = {
            letter: "fits" if own == ["GT"] else ("wrong", "generic")[place > 0] for letter, own in row["rows"].items()
        }
        lines.append(f"{row['number']} " + " | ".join(f"{letter} {verdict}" for letter, verdict in said.items()))
    verdicts.write_text("# mine\n" + "\n\n".join(reversed(lines)) + "\n")
    judged = tmp_path / "judged.jsonl"
    step("tally", "--key", tmp_path / "one/key.jsonl", "--verdicts", verdicts, "--judged", judged)
    figures = json.loads(judged.with_suffix(".json").read_text())
    assert figures["answers"] == 10 and figures["rows"]["plain"] == figures["rows"]["RT"]
    assert figures["rows"]["GT"]["all"]["fits"]["share"] == 1
    plain = figures["rows"]["plain"]["all"]
    assert (plain["generic"]["share"], plain["wrong"]["share"], plain["answers"]) == (0.8, 0.2, 5)
    assert plain["wrong"]["interval"][0] < 0.2 < plain["wrong"]["interval"][1]
    assert [record.number for record in READING.read(judged)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 a fits | b wrong", "1 contexts are not read, such as 2"),
        ("1 a fits | b wrong\n3 a fits", "line 2: the sheet has no context 3"),
        ("1 a fits | b wrong\n1 a fits | b wrong", "line 2: context 1 is read already"),
        ("1 a fits", "context 1 has the answers a, b: give each a verdict, once"),
        ("1 a fits | a wrong | b fits", "give each a verdict, once"),
        ("1 a good | b wrong", f"'good' is no verdict; there are {', '.join(VERDICTS)}"),
        ("1 fits", "context 1: expected a VERDICT"),
        ("1 a fits 2 | b wrong", "context 1: expected a VERDICT LEVEL"),
        ("1 a fits 3 | b wrong 0", "'3' is no level of empathy; there are 0, 1, 2"),
    ],
)
def test_verdicts_that_cannot_be(lines, message, tmp_path):
    """The message names file, line and context."""
    path = tmp_path / "verdicts.txt"
    path.write_text(lines + "\n")
    with pytest.raises(ValueError, match=r"\w") as error:
        READING.with_verdicts([read(1), read(2)], [path])
    assert message in str(error.value)


def test_a_tally_counts_an_answer_for_each_row_that_gave_it():
    """Shares by row and set."""
    figures = tally([read(1, a="generic", b="fits"), read(2, a="fits", b="fits")])
    assert figures["rows"]["plain"]["ed"]["generic"]["share"] == figures["rows"]["RT"]["all"]["fits"]["share"] == 0.5
    assert figures["contexts"] == 2 and figures["answers"] == 4


def test_what_cannot_be_drawn_is_said(records, tmp_path):
    """Too few contexts, an unknown row, one without answers to a set."""
    given = ("sample", "--records", records, "--out", tmp_path / "out")
    with pytest.raises(SystemExit, match="os has 4 contexts, fewer than 10"):
        step(*given, "--contexts", 20)
    with pytest.raises(SystemExit, match="the matrix has no row 'other'; it has GT, RT, plain"):
        step(*given, "--rows", "other")
    (records / "ed--plain.json").unlink()
    with pytest.raises(SystemExit, match="the row 'plain' has no answers to ed"):
        step(*given, "--contexts", 2)


def test_empathy_is_counted_where_it_was_judged():
    judged = READING.judge({1: read(1)}, "1 a fits 2 | b generic 1")
    assert judged.verdicts == {"a": "fits", "b": "generic"} and judged.empathy == {"a": 2, "b": 1}
    rows = tally([judged, READING.judge({2: read(2)}, "2 a wrong 0 | b fits 1")])["rows"]
    assert rows["plain"]["all"]["empathy"] == {"0": 0.5, "1": 0.0, "2": 0.5, "mean": 1.0}
    assert "empathy" not in tally([READING.judge({1: read(1)}, "1 a fits | b wrong")])["rows"]["GT"]["all"]
