"""Dialogues of books drawn, shown without their source, judged and counted."""

import json
from pathlib import Path

import pytest

from evaluation.judged_books import READING, in_braces

main = READING.main

TALK = "“Will you come?” asked Tom.\n\n“I will,” said Ann.\n\n“Today?”\n\n"


@pytest.fixture
def books(tmp_path: Path) -> Path:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "one.txt").write_text((TALK + "He left. " * 300 + "\n\n") * 12, encoding="utf-8")
    (folder / "two.txt").write_text((TALK + "She left. " * 300 + "\n\n") * 12, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("unit", "turns"), [("dialogues", 3), ("pairs", 2)])
def test_draws_evenly_judges_and_counts(books: Path, tmp_path: Path, unit: str, turns: int) -> None:
    """As many of each book are drawn, none is named on the sheet, and the verdicts are counted by kind."""
    out, judged = tmp_path / "read", tmp_path / "judged.jsonl"
    sampled = ["sample", "--books", str(books), "--language", "en", "--unit", unit, "--number", "6"]
    main([*sampled, "--out", str(out)])
    key = [json.loads(line) for line in (out / "key.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(record["book"] for record in key) == ["one.txt"] * 3 + ["two.txt"] * 3
    assert {len(record["digests"]) for record in key} == {turns}
    sheet = (out / "sheet.txt").read_text(encoding="utf-8")
    assert ".txt" not in sheet
    assert f"[{turns}] " in sheet
    verdicts = tmp_path / "verdicts.txt"
    verdicts.write_text("1 ok\n2 speakers\n3 gap_big same\n4 ok\n5 ok\n6 speakers\n")
    tally = ["tally", "--key", str(out / "key.jsonl"), "--verdicts", str(verdicts), "--judged", str(judged)]
    main(tally)
    main(tally)
    figures = json.loads(judged.with_suffix(".json").read_text(encoding="utf-8"))[f"en {unit}"]
    assert (figures["read"], figures["without_error"], figures["without_error_but_speakers"]) == (6, 3, 5)
    assert figures["errors"] == {"speakers": 2, "same": 1, "gap_big": 1}
    assert "come" not in judged.read_text(encoding="utf-8")


def test_counts_every_error_of_a_turn(books: Path, tmp_path: Path) -> None:
    """Of the unit "turns" a kind counts as often as the reader names it, by boundary and by turn."""
    out, judged = tmp_path / "read", tmp_path / "judged.jsonl"
    sampled = ["sample", "--books", str(books), "--language", "en", "--unit", "turns", "--number", "4"]
    main([*sampled, "--out", str(out)])
    verdicts = tmp_path / "verdicts.txt"
    verdicts.write_text("1 ok\n2 same nobody same\n3 gap_small\n4 paragraph\n")
    main(["tally", "--key", str(out / "key.jsonl"), "--verdicts", str(verdicts), "--judged", str(judged)])
    figures = json.loads(judged.with_suffix(".json").read_text(encoding="utf-8"))["en turns"]
    assert figures["errors"] == {"gap_small": 1, "same": 2, "nobody": 1, "paragraph": 1}
    counted = [figures[name] for name in ("boundaries", "wrong_boundaries", "turns", "no_speech")]
    assert counted == [8, 3, 12, 1]


def test_dialogues_of_two_recipes_stand_on_one_sheet_and_are_counted_apart(books: Path, tmp_path: Path) -> None:
    """As many of each recipe are drawn, half of them from the books in which both find dialogues; the sheet tells of no
    recipe, and the default's errors are counted again for these books.
    """
    other = TALK.replace("“", "«").replace("”", "»")
    for name, talk in (("one", TALK), ("two", TALK), ("three", other)):
        (books / f"{name}.txt").write_text((talk + "She left. " * 20 + "\n\n") * 12, encoding="utf-8")
    out, judged = tmp_path / "read", tmp_path / "judged.jsonl"
    sampled = ["sample", "--books", str(books), "--language", "en", "--unit", "turns", "--number", "4"]
    main([*sampled, "--recipes", "default", "papers", "--out", str(out)])
    key = [json.loads(line) for line in (out / "key.jsonl").read_text(encoding="utf-8").splitlines()]
    drawn = sorted((record["recipe"], record["book"]) for record in key)
    of_default = [("default", book) for book in ("one.txt", "three.txt", "three.txt", "two.txt")]
    assert drawn == [*of_default, *(("papers", book) for book in ("one.txt", "one.txt", "two.txt", "two.txt"))]
    sheet = (out / "sheet.txt").read_text(encoding="utf-8")
    assert "papers" not in sheet and "“I will,” {said Ann}." in sheet
    verdicts = tmp_path / "verdicts.txt"
    wrong = next(record["number"] for record in key if record["book"] == "three.txt")
    verdicts.write_text("".join(f"{each['number']} {'same' if each['number'] == wrong else 'ok'}\n" for each in key))
    main(["tally", "--key", str(out / "key.jsonl"), "--verdicts", str(verdicts), "--judged", str(judged)])
    figures = json.loads(judged.with_suffix(".json").read_text(encoding="utf-8"))
    assert (figures["en turns"]["wrong_boundaries"], figures["en turns, papers"]["wrong_boundaries"]) == (1, 0)
    assert figures["en turns"]["share"] == 0.125 and figures["en turns"]["share_interval"][0] == 0
    assert figures["en turns, papers"]["default in the same books"]["boundaries"] == 4


def test_words_outside_of_a_turn_stand_in_braces() -> None:
    """Braces are around narration, also around a part of it, and nowhere else."""
    assert in_braces("“No,” said Ann, “not today.”", "No, not today.") == "“No,” {said Ann}, “not today.”"
    assert in_braces("“Never!”", "Never!") == "“Never!”"


@pytest.mark.parametrize(
    ("verdict", "message"), [("1 wrong", "no kind of error"), ("9 ok", "no dialogue 9"), ("ok", "expected NUMBER")]
)
def test_refuses_wrong_verdicts(books: Path, tmp_path: Path, verdict: str, message: str) -> None:
    """A verdict of another form is an error in a sentence."""
    out = tmp_path / "read"
    main(["sample", "--books", str(books), "--language", "en", "--number", "1", "--out", str(out)])
    (tmp_path / "verdicts.txt").write_text(verdict + "\n")
    with pytest.raises(SystemExit, match=message):
        main(["tally", "--key", str(out / "key.jsonl"), "--verdicts", str(tmp_path / "verdicts.txt")])


def test_refuses_more_than_there_are(books: Path, tmp_path: Path) -> None:
    """More than there are cannot be drawn."""
    with pytest.raises(SystemExit, match=r"there are \d+ to draw 50 from"):
        main(["sample", "--books", str(books), "--language", "en", "--out", str(tmp_path / "read")])
