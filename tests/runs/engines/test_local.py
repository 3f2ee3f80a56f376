"""Workers: all results come, a killed worker is reported, and no worker outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edos_dataset.commands.curate import curate
from edos_dataset.commands.segment import segment
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.engines.base import WorkerDied, available_cores
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.sources.inventory import find_films

PARENT = """
import signal, sys
from pathlib import Path
from edos_dataset.runs.engines.local import LocalEngine
from test_local import note_and_sleep

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may be started deaf to it
    with LocalEngine(2) as engine:
        list(engine.map(note_and_sleep, [Path(sys.argv[1]) / name for name in "ab"]))
"""

ASK = """
import sys
from filelock import FileLock, Timeout
try:
    FileLock(sys.argv[1], timeout=0).acquire()
except Timeout:
    print("held", end="")
"""


def square(number):
    return number * number


def fail_on_three(number):
    if number == 3:
        raise ValueError("three")
    return number


def kill_myself_on_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def note_and_sleep(path):
    path.write_text(str(os.getpid()))
    time.sleep(60)


def note_or_fail(path):
    if path.name == "fail":
        while not path.with_name("slow").exists():
            time.sleep(0.01)
        raise ValueError("failed")
    note_and_sleep(path)


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return (
        Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        if Path("/proc").is_dir()
        else True
    )


def wait_until(true, seconds):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def two_workers():
    with LocalEngine(2) as engine:
        yield engine


def test_one_worker_runs_here_and_lazily():
    asked = []
    with LocalEngine(1) as engine:
        results = engine.map(lambda number: asked.append(number) or os.getpid(), range(3))
        assert asked == []
        assert next(results) == os.getpid()
        assert asked == [0]


@pytest.mark.parametrize("tasks", [0, 1, 3, 40])
def test_all_results_in_any_order(two_workers, tasks):
    assert sorted(two_workers.map(square, range(tasks))) == [square(task) for task in range(tasks)]


def test_tasks_are_taken_as_needed(two_workers):
    taken = []
    results = two_workers.map(square, (taken.append(task) or task for task in range(40)))
    next(results)
    assert len(taken) <= 4  # two a worker
    assert len(list(results)) == 39


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_task_comes_through(workers):
    with pytest.raises(ValueError, match="three"), LocalEngine(workers) as engine:
        list(engine.map(fail_on_three, range(6)))


def test_after_an_error_no_worker_is_left(tmp_path):
    began = time.monotonic()
    with pytest.raises(ValueError, match="failed"), LocalEngine(2) as engine:
        list(engine.map(note_or_fail, [tmp_path / "slow", tmp_path / "fail"]))
    assert not alive(
        int((tmp_path / "slow").read_text())
    )  # at once, not after a while: the folder's lock is about to go
    assert time.monotonic() - began < 20


def test_a_killed_worker_is_reported():
    with pytest.raises(WorkerDied, match="fewer --workers; the same command resumes"), LocalEngine(2) as engine:
        list(engine.map(kill_myself_on_three, range(6)))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_die_with_their_parent(tmp_path, how):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    with subprocess.Popen(
        [sys.executable, script, tmp_path], env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.DEVNULL
    ) as parent:
        notes = [tmp_path / "a", tmp_path / "b"]
        wait_until(lambda: all(note.exists() and note.read_text() for note in notes), 120)
        workers = [int(note.read_text()) for note in notes]
        assert all(map(alive, workers))
        parent.send_signal(how)
        parent.wait(120)
        wait_until(lambda: not any(map(alive, workers)), 60)


def test_the_workers_of_a_command_have_ended_when_its_lock_goes(monkeypatch, tmp_path):
    (tmp_path / "film.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello there.\n")
    inventory, locks, held = find_films([tmp_path / "film.srt"], "en"), ["out", "turns.jsonl.parts"], []

    def leave(self, *_):
        asked = [sys.executable, "-c", ASK, tmp_path / locks[len(held)] / ".run" / "lock"]
        held.append(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)

    monkeypatch.setattr(LocalEngine, "__exit__", leave)
    curate(inventory, tmp_path / "out", subtitles_to_dialogues())
    segment(inventory, tmp_path / "turns.jsonl", scorer="rules")
    assert held == ["held", "held"]


@pytest.mark.parametrize("workers", [0, -1])
def test_at_least_one_worker(workers):
    with pytest.raises(ValueError, match=f"at least 1, got {workers}"):
        LocalEngine(workers)


def test_available_cores():
    assert 1 <= available_cores() <= os.cpu_count()
