"""`edos segment` as a user sees it, on the packaged sample and on bad inputs."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import groupby

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from command_line import edos
from edos_dataset.commands.segment import segment
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.run import run_stage
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import find_films

FIELDS = ["document_id", "sentence_id", "start", "end", "text", "turn_id", "same_turn_score"]
GOOD = "1\n00:00:01,000 --> 00:00:03,000\n- Where have you been all night?\n- I was waiting at the station.\n"


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "films"
    assert edos("sample", folder).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def turns(films):
    out = films.parent / "turns.jsonl"
    done = edos("segment", films, "--out", out, "--workers", 1)
    assert done.exit_code == 0, done.stderr
    assert f"{len(rows(out)):,} sentences" in done.stdout
    assert "truncated films/broken/cut_short.xml.gz" in done.stdout
    return out


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "good.srt").write_text(GOOD)
    return folder


def test_every_line_says_what_is_promised(turns):
    found = rows(turns)
    assert len(found) > 3000
    for row in found:
        assert list(row) == FIELDS + ["speaker"] * bool(row.get("speaker"))
        assert row["start"] is None or row["start"] >= 0
    documents = [list(group) for _, group in groupby(found, key=lambda row: row["document_id"])]
    assert len(documents) == len({row["document_id"] for row in found}) == 26
    for document in documents:
        assert document[0]["turn_id"] == 0
        assert {
            after["turn_id"] - before["turn_id"] for before, after in zip(document, document[1:], strict=False)
        } == {0, 1}
        assert document[0]["same_turn_score"] is None
        assert all(0 <= row["same_turn_score"] <= 1 for row in document[1:])


def test_turns_are_those_of_curate_before_cleaning(films, turns, tmp_path):
    stages = yaml.safe_load(edos("recipe", "--no-labels").stdout)["stages"][:6] + [{"output": "os"}]
    (tmp_path / "turns.yaml").write_text(yaml.safe_dump({"stages": stages}))
    done = edos(
        "curate",
        films,
        "--out",
        tmp_path / "edos",
        "--no-labels",
        "--recipe",
        tmp_path / "turns.yaml",
        "--workers",
        1,
        "--set",
        "turns.least_certainty=0",
    )
    assert done.exit_code == 0, done.stderr
    dialogues = [
        row for path in (tmp_path / "edos" / "os").glob("*.parquet") for row in pq.read_table(path).to_pylist()
    ]
    theirs = {(row["document_id"], *turn["sentence_ids"]) for row in dialogues for turn in row["turns"]}
    ours = {
        (document, *(row["sentence_id"] for row in turn))
        for (document, _), turn in groupby(rows(turns), key=lambda row: (row["document_id"], row["turn_id"]))
    }
    assert ours == theirs


def test_scores_and_options_decide(films, tmp_path):
    out = tmp_path / "turns.jsonl"
    counts = []
    for threshold in (0, 0.3, 0.9):
        assert (
            edos(
                "segment",
                films / "srt",
                "--out",
                out,
                "--force",
                "--threshold",
                threshold,
                "--scorer",
                "rules",
                "--workers",
                1,
            ).exit_code
            == 0
        )
        found = rows(out)
        counts.append(len({(row["document_id"], row["turn_id"]) for row in found}))
        for before, row in zip(found, found[1:], strict=False):
            if row["same_turn_score"] is not None and row["same_turn_score"] < threshold:
                assert row["turn_id"] == before["turn_id"] + 1
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.slow
def test_the_same_bytes_always(films, turns, tmp_path):
    again = tmp_path / "again.jsonl"
    assert edos("segment", films, "--out", again, "--workers", 2).exit_code == 0
    assert again.read_bytes() == turns.read_bytes()
    done = edos("segment", films, "--out", "-", "--workers", 1)
    assert done.stdout_bytes == turns.read_bytes()
    assert "could not be read" in done.stderr
    segment(find_films([films], "en"), again, shard_sentences=100, force=True)
    assert again.read_bytes() == turns.read_bytes()


def test_another_language(films, tmp_path):
    (tmp_path / "film.srt").write_text(GOOD.replace("all night", "die ganze Nacht"))
    out = tmp_path / "out.jsonl"
    assert edos("segment", tmp_path, "--out", out, "--language", "de", "--workers", 1).exit_code == 0
    assert [row["turn_id"] for row in rows(out)] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "x"], "nowhere: No such file"),
        (["empty", "--out", "x"], "no subtitles in empty"),
        (["films", "--out", "x", "--scorer", "psychic"], "'psychic'; there is rules"),
        (["films", "--out", "x", "--threshold", "1.5"], "threshold is 1.5"),
        (["films", "--out", "x", "--threshold", "nan"], "threshold is nan"),
        (["films", "--out", "missing/x"], "missing; make it first"),
        (["films", "--out", "empty"], "empty is a folder"),
        (["films", "--out", os.devnull], "no plain file"),
        (["films", "--out", "films/good.srt"], "films/good.srt lies inside the source films"),
        (["films", "--out", "films/good.srt/x"], "good.srt"),
        (["films", "--out", "films/turns.json"], "films/turns.json lies inside the source films"),
    ],
)
def test_mistakes_are_explained(arguments, message, small, monkeypatch):
    monkeypatch.chdir(small.parent)
    (small.parent / "empty").mkdir()
    done = edos("segment", *arguments, "--workers", 1)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert {path.name for path in small.parent.rglob("*")} == {"films", "empty", "good.srt"}
    assert (small / "good.srt").read_text() == GOOD


def test_too_many_bad_files(small, tmp_path):
    for number in range(3):
        (small / f"bad{number}.srt").write_text("")
    done = edos("segment", small, "--out", tmp_path / "out.jsonl", "--workers", 1)
    assert done.exit_code == 3
    assert done.stdout.count("empty_file") == 3
    assert "75% of the files could not be read" in done.stderr
    assert len(rows(tmp_path / "out.jsonl")) == 2
    assert (
        edos("segment", small, "--out", tmp_path / "out.jsonl", "--max-bad", 0.8, "--workers", 1, "--force").exit_code
        == 0
    )


def test_an_existing_file_stays_until_the_new_one_is_whole(small, tmp_path, monkeypatch):
    kept, out = tmp_path / "kept.jsonl", tmp_path / "out.jsonl"
    kept.write_text("old\n")
    out.symlink_to(kept)

    def fail(self, table, scores):
        assert kept.read_text() == "old\n"
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(SegmentTurns, "begins", fail)
        done = edos("segment", small, "--out", out, "--workers", 1, "--force")
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr
    assert kept.read_text() == "old\n"
    assert not list(tmp_path.glob(".*"))
    refused = edos("segment", small, "--out", out, "--workers", 1)
    assert refused.exit_code == 1 and "is there already: give another --out, or --force" in refused.stderr
    assert edos("segment", small, "--out", out, "--workers", 1, "--force").exit_code == 0
    assert out.is_symlink() and len(rows(kept)) == 2


@pytest.mark.slow
def test_whoever_reads_the_pipe_may_leave(films):
    command = [sys.executable, "-m", "edos_dataset", "segment", str(films), "--out", "-", "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert json.loads(process.stdout.readline())["turn_id"] == 0
        process.stdout.close()
        errors = process.stderr.read()
    assert "Traceback" not in errors and "Exception" not in errors and "error" not in errors


@pytest.mark.slow
def test_ctrl_c_leaves_no_file_and_the_same_command_goes_on(films, turns, tmp_path, tmp_path_factory):
    at_work = tmp_path_factory.mktemp("signs") / "at_work"  # the signal must not come while modules are still loaded
    waiting = f"lambda *_: (open({str(at_work)!r}, 'w').close(), time.sleep(60))"
    # a shell's background jobs ignore it
    heed = "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = (
        f"{heed}\nfrom edos_dataset.segmentation.turns.stage import SegmentTurns; SegmentTurns.score = {waiting}\n"
        "from edos_dataset.cli.app import app; app()"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "segment",
        str(films),
        "--out",
        str(tmp_path / "out.jsonl"),
        "--workers",
        "1",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not at_work.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert "Stopped" in errors and "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl.parts"]
    assert edos("segment", films, "--out", tmp_path / "out.jsonl", "--workers", 1).exit_code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == turns.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_scores_are_those_of_the_stage(films, turns):
    """To the last bit of a float32, and written no longer than that takes: 0.3, not 0.30000001192092896."""
    table = find_films([films], "en").films
    for stage in subtitles_to_dialogues()[:3]:
        table, _, _ = run_stage(stage, stage, table)
    theirs = SegmentTurns().score(table)
    ours = [row["same_turn_score"] for row in rows(turns)]
    assert np.array_equal(np.array(ours, np.float32), theirs, equal_nan=True)
    assert all(repr(score) == str(np.float32(score)) for score in ours if score is not None)
