"""Killed runs resume, on every engine, and leave no process behind that writes."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from test_matrix import CORPORA, content, launch, make

pytestmark = pytest.mark.slow
CORPUS = "films of every size"
RAY = pytest.param("ray", 2, marks=pytest.mark.skipif(find_spec("ray") is None, reason="no Ray"))

ONE = """
import signal, sys
from pathlib import Path
if __name__ == "__main__":
    from test_matrix import make  # here, so that the workers import only what they work with
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background it is ignored
    make(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    for number, text in enumerate(CORPORA[CORPUS]):
        (folder / f"film {number}.srt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(films, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "out"
    make(films, out, "local", 1)
    return content(out)


def start(tmp_path, films, engine, workers, python=sys.executable):
    """Start a run; return its processes."""
    script = tmp_path / "one.py"  # spawned workers import the main module by its file
    script.write_text(ONE)
    arguments = [films, tmp_path / "out", engine, workers]
    if engine == "accelerate":
        return launch(2, ONE, *arguments, output=subprocess.DEVNULL, python=python)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    # No pipe: a process that is left over would keep it open.
    with (tmp_path / "errors").open("w") as errors:
        return [subprocess.Popen([python, script, *map(str, arguments)], env=environment, stderr=errors)]


def made(out):
    return len(list(out.glob(".run/0[1-9]-*/*.json")))


def kill_when(processes, condition):
    """Kill processes as soon as a condition holds; return those that they had started. A run may
    also be done before.
    """
    while not condition() and any(process.poll() is None for process in processes):
        time.sleep(0.01)
    children = [child for process in processes for child in children_of(process.pid)]
    for process in processes:
        process.kill()
        process.wait()
    return children


def children_of(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def still_alive(children):
    """Wait for all processes that a run had started, also those without a task and those that pass messages; return
    those that stay. The agents of Ray's node, which work on nothing, look for it only now and then, and end themselves.
    """
    _, alive = psutil.wait_procs([child for child in children if not _is_agent_of_ray(child)], timeout=60)
    return alive


def _is_agent_of_ray(process):
    try:
        return any("Agent" in part or "agent" in Path(part).stem for part in (process.name(), *process.cmdline()))
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


@pytest.mark.parametrize(("engine", "workers"), [("local", 2), ("datasets", 2), ("accelerate", 1), RAY])
def test_killed_runs_go_on_to_the_same_bytes(films, expected, tmp_path, commands, engine, workers):
    out = tmp_path / "out"
    children = kill_when(start(tmp_path, films, engine, workers), lambda: made(out) >= 5)
    assert not still_alive(children)
    before = made(out)
    assert 5 <= before < len(expected[1])
    time.sleep(0.5)
    assert made(out) == before  # nobody writes any more
    for process in start(tmp_path, films, engine, workers, commands / "python"):
        assert process.wait(timeout=600) == 0, (tmp_path / "errors").read_text()
    assert content(out) == expected
    assert not list(out.rglob(".*.tmp"))


@pytest.mark.parametrize(("engine", "workers"), [("datasets", 2), RAY])
def test_an_interrupted_run_ends_its_workers(films, tmp_path, engine, workers):
    [process] = start(tmp_path, films, engine, workers)
    while made(tmp_path / "out") < 2 and process.poll() is None:
        time.sleep(0.01)
    children = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert process.returncode != 0
    assert not still_alive(children)
