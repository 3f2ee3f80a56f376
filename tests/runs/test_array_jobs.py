"""Array jobs: processes that begin and end when they like, one of them killed; `edos merge` names what is missing."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from command_line import edos
from edos_dataset.runs.array_jobs import ArrayEngine, ArrayTask, ranges
from edos_dataset.runs.engines.local import LocalEngine
from sample_books import write_books
from sudden_death import untimed

HERE = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
OPTIONS = ["--no-labels", "--set", "turns.scorer=rules", "--workers", "1"]


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "1/4/2", "1/200000", "a/b"])
def test_what_is_no_share(text, tmp_path):
    with pytest.raises(ValueError, match="is no array task: give I/N"):
        ArrayTask.parse(text)
    assert edos("curate", tmp_path, "--out", tmp_path / "out", f"--shard={text}").exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("items", [0, 1, 7, 8])
def test_every_shard_is_one_shares_own(items):
    places = range(items)
    shares = [ArrayTask(number, 3) for number in (1, 2, 3)]
    own = [list(ArrayEngine(LocalEngine(), share).share(places)) for share in shares]
    assert sorted(place for each in own for place in each) == list(places)
    assert all(share.owner(place) == share.number for share, each in zip(shares, own, strict=True) for place in each)
    assert list(ArrayEngine(LocalEngine(), ArrayTask(0, 3)).share(places)) == []


def test_ranges_are_those_of_slurm():
    assert ranges([1]) == "1"
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("array") / "films"
    assert edos("sample", folder).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def expected(films):
    out = films.with_name("one")
    assert edos("curate", films, "--out", out, *OPTIONS).exit_code == 0
    return untimed(out)


def commands_in(message):
    """Return the command lines that a merge tells, as words without `edos`."""
    return [shlex.split(line)[1:] for line in message.splitlines() if line.startswith("  edos ")]


def test_an_array_job_ends_in_the_bytes_of_one_process(films, expected, commands, monkeypatch):
    """All begin at once; one is killed in the middle; what the merge names is given, until it names nothing."""
    monkeypatch.chdir(films.parent)
    out = films.with_name("array")
    base = ["curate", "films", "--out", "array", *OPTIONS]
    processes = [subprocess.Popen([commands / "edos", "-q", *base, f"--shard={n}/3"], env=HERE) for n in (1, 2, 3)]
    while not list(out.glob(".run/01-*/*.json")):
        assert processes[1].poll() is None, "it ended before it was killed, with nothing made"
        time.sleep(0.005)
    processes[1].send_signal(signal.SIGKILL)
    assert [process.wait(timeout=240) for process in processes][::2] == [0, 0]
    monkeypatch.chdir("/")  # what the command lines name is found from where they were given
    rounds = 0
    while (done := edos("merge", out, "--workers", 1)).exit_code == 4:
        rounds += 1
        commands = commands_in(done.stderr)
        numbers = re.search(r"--array=([\d,-]+)`", done.stderr)[1]
        assert numbers == ("2" if rounds == 1 and len(commands) == 1 else "1-3")
        assert [words[:-1] for words in commands] == [[*base, "--shard"]] * len(commands)
        monkeypatch.chdir(films.parent)
        for words in commands:
            share = edos(*words, "--json")
            assert share.exit_code == 0 and json.loads(share.stdout)["share"] == words[-1], share.stderr
        monkeypatch.chdir("/")
        assert rounds < 9
    assert done.exit_code == 0, done.stderr
    assert untimed(out) == expected
    again = edos("merge", out)
    assert again.exit_code == 1 and "holds no array job to merge" in again.stderr


def test_a_merge_of_the_rest_and_a_share_that_is_damaged(films, expected, monkeypatch):
    out = films.with_name("rest")
    monkeypatch.chdir(films.parent)
    done = edos("curate", "films", "--out", out, *OPTIONS, "--shard", "1/2", "--json")
    first = json.loads(done.stdout)
    assert done.exit_code == 0 and first["made"] > 0 and first["missing"] > 0
    shard = sorted(out.glob(".run/01-*/*.parquet"))[0]
    shard.write_bytes(shard.read_bytes()[:-1])
    done = edos("merge", out)
    assert done.exit_code == 4 and f"{first['missing'] + 1} of " in done.stderr and "`--array=1-2`" in done.stderr
    assert edos("merge", out, "--rest", "--workers", 1, "--json").exit_code == 0
    assert untimed(out) == expected


def test_shares_of_two_runs_are_never_mixed(films, expected, monkeypatch):
    """Neither a share nor a whole run of other parameters or files joins an array job that is not merged."""
    out = films.with_name("mixed")
    monkeypatch.chdir(films.parent)
    base = ["curate", "films", "--out", out, *OPTIONS]
    assert edos(*base, "--shard", "1/2").exit_code == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != "process"}
    for other in (
        [*base, "--set", "cap.limit=1", "--shard", "2/2"],
        [*base, "--limit", "3", "--shard", "2/2"],
        [*base, "--set", "cap.limit=1"],
    ):
        done = edos(*other)
        assert done.exit_code == 1 and "a run never mixes two" in " ".join(done.stderr.split()), done.stderr
        assert before == {path: path.read_bytes() for path in before}
    assert edos(*base, "--shard", "2/2").exit_code == 0
    assert edos("merge", out, "--rest", "--workers", 1).exit_code == 0
    assert untimed(out) == expected
    other = [*base, "--set", "cap.limit=1", "--force"]
    assert edos(*base, "--shard", "1/2").exit_code == 0
    assert edos(*other, "--shard", "1/2").exit_code == edos(*other, "--shard", "2/2").exit_code == 0  # it begins anew
    assert edos("merge", out, "--rest", "--force", "--workers", 1).exit_code == 0
    assert untimed(out) != expected


def test_books_in_two_languages_are_two_array_jobs_in_one_folder(tmp_path):
    one, array = tmp_path / "one", tmp_path / "array"
    jobs = []
    for language in ("en", "de"):
        source = write_books(tmp_path / language, range(4), language)
        jobs.append(["books", source, "--language", language, "--no-labels", "--workers", "1"])
        assert edos(*jobs[-1], "--out", one).exit_code == 0
    while True:
        for job in jobs:
            for share in ("1/2", "2/2"):
                assert edos(*job, "--out", array, "--shard", share).exit_code == 0
        if (done := edos("merge", array, "--workers", "1")).exit_code != 4:
            break
    assert done.exit_code == 0, done.stderr
    assert untimed(array) == untimed(one)


def test_a_record_of_others_says_nothing_for_its_user(films, monkeypatch):
    out = films.with_name("theirs")
    monkeypatch.chdir(films.parent)
    given = ["--shard", "1/2", "--force", "--trust-remote-code"]
    assert edos("curate", "films", "--out", out, *OPTIONS, *given).exit_code == 0
    [record] = out.glob(".run/shares*.json")
    words = json.loads(record.read_text())["arguments"]
    assert not {"--shard", "1/2", "--force", "--trust-remote-code"} & set(words)
    record.write_text(record.read_text().replace('"curate"', '"publish"'))
    assert edos("merge", out).exit_code == 1  # its checksum is wrong: it is no record
    assert os.listdir(out) == [".run"]
