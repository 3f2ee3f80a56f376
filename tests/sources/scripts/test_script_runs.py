"""From files of screenplays to dialogues: by the stages of `edos curate`, and by the doors of `segment` and `label`."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.pseudonyms import PseudonymizeSpeakers
from edos_dataset.commands.curate import are_scripts, script_remarks
from edos_dataset.commands.segment import segment
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.releases.formats.films import film_in
from edos_dataset.runs.pipeline import Output, Stage, split_rejects
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms

FOUNTAIN = """INT. HOUSE - DAY

ANNA
(low)
Come here. Now, ANNA says.

She waits.

ANNA (CONT'D)
(louder)
Come!

BEN (V.O.)
I am on my way, Anna. It takes a while.

EXT. HOUSE - DAY

BEN
Here I am.

ANNA
At last.
"""
SRT = "1\n00:00:01,000 --> 00:00:02,000\nNo, I think not.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "a.fountain").write_text(FOUNTAIN)
    (folder / "b.txt").write_text(FOUNTAIN)
    (folder / "c.html").write_text(f"<html><body><pre>{FOUNTAIN}</pre></body></html>")
    (folder / "readme.txt").write_text("Nothing of interest.\n" * 9)
    (folder / "index.html").write_text("<html><body><p>Nothing of interest.</body></html>")
    return folder


def run(stages: list[Stage], table: pa.Table) -> pa.Table:
    for stage in stages:
        table, _ = split_rejects(stage(table))
    return table


def turns_of(table: pa.Table) -> list[list[tuple[Any, ...]]]:
    fields = ("speaker", "scene", "manner", "voice", "text")
    return [[tuple(turn[name] for name in fields) for turn in row] for row in table["turns"].to_pylist()]


def test_texts_and_pages_are_known_by_their_content(folder: Path) -> None:
    found = find_films([folder], "en")
    kinds = {file["path"]: file["kind"] for row in found.films["files"].to_pylist() for file in row}
    assert kinds == {"scripts/a.fountain": "fountain", "scripts/b.txt": "script", "scripts/c.html": "script"}
    reasons = dict(found.skipped)
    assert set(reasons) == {"scripts/readme.txt", "scripts/index.html"}
    assert all(reason.startswith("not_subtitles: ") for reason in reasons.values())
    assert "no screenplay" in reasons["scripts/index.html"] and "no screenplay" in reasons["scripts/readme.txt"]


def test_large_texts_are_known_by_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(FOUNTAIN * 500)
    (tmp_path / "novel.txt").write_text("It was late, and nobody came to the door.\n\n" * 2_000)
    found = find_films([tmp_path], "en")
    assert [row["film"].rpartition("/")[2] for row in found.films.to_pylist()] == ["long.txt"]
    assert "no screenplay" in found.skipped[0][1]


def test_who_speaks_where_and_how_reaches_the_turns(folder: Path) -> None:
    stages = [ReadFilms(), CleanLines(), SplitSentences(), SegmentTurns(scorer="rules"), SegmentDialogues(scenes=None)]
    table = run(stages, find_films([folder], "en").films)
    expected = [
        [
            ("ANNA", 1, "low; louder", None, "Come here. Now, ANNA says. Come!"),
            ("BEN", 1, None, "voice-over", "I am on my way, Anna. It takes a while."),
        ],
        [("BEN", 2, None, None, "Here I am."), ("ANNA", 2, None, None, "At last.")],
    ]
    assert turns_of(table) == expected * 3
    assert table["dialogue_id"].to_pylist()[:2] == ["scripts/a.fountain#1", "scripts/a.fountain#6"]
    named = run([stages[0], stages[1], PseudonymizeSpeakers(), *stages[2:]], find_films([folder], "en").films)
    assert turns_of(named)[0][0][::4] == ("speaker 1", "Come here. Now, speaker 1 says. Come!")


def test_the_recipe_reads_nothing_else_and_guesses_nothing(folder: Path) -> None:
    pipeline = pipeline_of("scripts", labels=False)
    assert [item.config for item in pipeline if isinstance(item, Output)] == ["scripts"]
    read = pipeline[0]
    assert isinstance(read, ReadFilms) and read.only_scripts
    films = find_films([folder], "en").films
    assert are_scripts(films) and not script_remarks(films, pipeline)
    (folder / "film.srt").write_text(SRT)
    mixed = find_films([folder], "en").films
    assert not are_scripts(mixed)
    assert script_remarks(mixed, [ReadFilms()])[0].startswith("3 files are of screenplays: --recipe scripts")
    _, rejected = split_rejects(read(mixed))
    assert rejected is not None and rejected["reason"].to_pylist() == ["not_a_script"]
    assert read.tally(read(films))["voice: voice-over"] == 3


def test_segment_writes_what_the_script_tells(folder: Path, tmp_path: Path) -> None:
    segment(folder / "a.fountain", tmp_path / "out.jsonl", scorer="rules", progress=False)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["speaker"] for line in lines] == ["ANNA", "ANNA", "ANNA", "BEN", "BEN", "BEN", "ANNA"]
    assert lines[0]["manner"] == "low" and lines[0]["scene"] == 1 and "voice" not in lines[0]
    assert lines[3]["voice"] == "voice-over" and "manner" not in lines[3]


@pytest.mark.parametrize("name", ["a.fountain", "b.txt", "c.html"])
def test_label_reads_it_as_dialogues(folder: Path, name: str) -> None:
    with (folder / name).open("rb") as file:
        dialogues = film_in(file, folder / name)
    assert dialogues is not None and [len(each.texts) for each in dialogues] == [2, 2]
    assert (dialogues[0].turn_extras or [])[0] == '{"speaker": "ANNA", "scene": 1, "manner": "low; louder"}'
    with (folder / "readme.txt").open("rb") as file:
        assert film_in(file, folder / "readme.txt") is None
