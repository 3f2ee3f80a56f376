"""What Ray makes of tasks and of whole runs: the same bytes, also where workers and nodes are lost on the way."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from test_local import alive, fail_on_three, note_or_fail, square
from test_matrix import CORPORA, SETTINGS, by_one_process, content, make

from edos_dataset.cleaning.duplicates import CapUtterances
from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.engines import check_printing, engine_of
from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.runs.recipes import override
from edos_dataset.sources.inventory import find_films
from sudden_death import untimed

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
CORPUS = "films of every size"


def process_of(_):
    time.sleep(0.05)  # so that no worker takes all
    return os.getpid(), threading.current_thread() is threading.main_thread(), os.environ.get("CUDA_VISIBLE_DEVICES")


def kill_myself_once(path):
    """Kill the worker at the first attempt."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def kill_myself_on_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.fixture(scope="module")
def cluster():
    """A node for four workers, with a GPU that is none."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("RAY_ADDRESS", raising=False)
        node = {"num_cpus": 4, "num_gpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, connect=True, head_node_args=node)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    for name, texts in CORPORA.items():
        (folder / name).mkdir()
        for number, text in enumerate(texts):
            (folder / name / f"film {number}.srt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(films, tmp_path_factory):
    return by_one_process(films, tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize(("corpus", "workers"), [(CORPUS, 1), *((name, 2) for name in CORPORA), (CORPUS, 4)])
def test_the_same_bytes(cluster, films, expected, tmp_path, corpus, workers):
    make(films / corpus, tmp_path / "out", "ray", workers)
    assert content(tmp_path / "out") == expected[corpus]


def test_a_worker_stays_takes_tasks_as_needed_and_sees_its_share_of_the_gpu(cluster):
    taken = []
    with engine_of("ray", 2, "cuda") as engine:
        first, again = (set(engine.map(process_of, range(12))) for _ in range(2))
        results = engine.map(square, (taken.append(task) or task for task in range(40)))
        next(results)
        assert len(taken) <= 4  # two a worker
        assert len(list(results)) == 39
        assert list(engine.map(square, [])) == []
    assert first == again  # so what is loaded once, such as a model, is there for the next phase
    assert len(first) == 2
    assert {place[1:] for place in first} == {(True, "0")}  # the alarm of `time_limit` rings in the main thread alone


def test_an_error_comes_through_as_it_was_and_no_worker_is_left(cluster, tmp_path):
    with engine_of("ray", 2) as engine:
        with pytest.raises(ValueError, match="^failed$") as caught:
            list(engine.map(note_or_fail, [tmp_path / "slow", tmp_path / "fail"]))
        assert type(caught.value) is ValueError
        # before the lock of the folder can go
        assert not alive(int((tmp_path / "slow").read_text()))
        with pytest.raises(ValueError, match="^three$"):
            list(engine.map(fail_on_three, range(6)))
        assert sorted(engine.map(square, range(3))) == [0, 1, 4]


def test_the_task_of_a_lost_worker_is_another_s(cluster, tmp_path):
    with engine_of("ray", 2) as engine:
        names = ["a", "b"]
        assert sorted(engine.map(kill_myself_once, [tmp_path / name for name in names])) == names


def test_a_task_that_no_worker_survives_ends_the_run(cluster, monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.engines.ray.RETRIES", 1)
    with pytest.raises(WorkerDied, match="the same command resumes"), engine_of("ray", 2) as engine:
        list(engine.map(kill_myself_on_three, range(6)))


def make_and_disturb(films, out, workers, disturb):
    """Run with a call of `disturb` after the third shard of a phase that has more, until it returns true."""
    done = []

    def progress(phase, shards, of, *_):
        if 3 <= shards < of and not done and disturb():
            done.append(phase)

    pipeline = override(subtitles_to_dialogues(), SETTINGS)
    curate(
        find_films([films], "en"), out, pipeline, workers=workers, engine="ray", shard_sentences=100, progress=progress
    )
    return done


def workers_below(process):
    """Return the workers of the engine that a node, given by its raylet, has started."""
    children = psutil.Process(process).children()
    return [child for child in children if any("EdosWorker" in part or "make_shard" in part for part in title(child))]


def title(process):
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def test_a_worker_is_killed_in_the_middle(cluster, films, expected, tmp_path):
    killed = []

    def kill():
        killed.extend(workers_below(raylet(cluster.head_node))[:1])
        return [worker.kill() for worker in killed]

    assert make_and_disturb(films / CORPUS, tmp_path / "out", 2, kill)
    assert len(killed) == 1
    assert content(tmp_path / "out") == expected[CORPUS]
    assert not list((tmp_path / "out").rglob(".*.tmp"))


def test_a_node_is_killed_in_the_middle(cluster, films, expected, tmp_path):
    """A spot node that vanishes: its raylet is killed, and with it go its workers."""
    node = cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
    lost = []

    def kill():
        lost.extend(workers_below(raylet(node)))
        if lost:
            cluster.remove_node(node, allow_graceful=False)
        return lost

    assert make_and_disturb(films / CORPUS, tmp_path / "out", 6, kill)  # more than the nodes that stay can hold
    assert lost
    assert content(tmp_path / "out") == expected[CORPUS]
    assert not psutil.wait_procs(lost, timeout=60)[1]


def test_the_command_on_a_cluster(cluster, films, expected, tmp_path):
    """Paths are relative to where the command is given; nothing of Ray's is in what it says."""
    (tmp_path / CORPUS).symlink_to(films / CORPUS)
    given = ["curate", CORPUS, "--out", "out", "--no-labels", *(f"--set={setting}" for setting in SETTINGS)]
    given += ["--engine", "ray", "--address", cluster.address]
    done = subprocess.run(
        [sys.executable, "-m", "edos_dataset", *given], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert "ray" not in done.stderr.lower()
    made, wanted = (
        {name: data for name, data in files.items() if name.endswith(".parquet")}
        for files in (untimed(tmp_path / "out"), expected[CORPUS][0])
    )
    assert wanted and made == wanted


def test_another_version_on_a_node(cluster, monkeypatch):
    from edos_dataset.runs.engines import ray as ray_workers

    monkeypatch.setattr(ray_workers, "_code", lambda: "other")
    with pytest.raises(ValueError, match="install the same on all nodes"), engine_of("ray", 1) as engine:
        list(engine.map(square, [1]))


def test_names_for_the_dashboard(tmp_path):
    from edos_dataset.runs.engines.ray import monitored_name
    from edos_dataset.runs.partitions import _Job
    from edos_dataset.runs.run import Phase, ShardTask, make_shard
    from edos_dataset.runs.shuffle import Removals

    task = ShardTask("", tmp_path, tmp_path, Phase("03-dialogues", None, (), ()), None, None)
    folder = tmp_path / "05-cap" / "decision"
    job = _Job(1, folder, CapUtterances(), 1, Removals.of(1, folder))
    assert monitored_name(make_shard, task) == "03-dialogues make_shard"
    assert monitored_name(job.rank, 0) == "05-cap rank"
    assert monitored_name(abs, -1) == "abs"


def test_wrong_use(monkeypatch):
    with pytest.raises(ValueError, match="give 'cuda', not 'cuda:1'"):
        engine_of("ray", 1, "cuda:1")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with (
        pytest.raises(ValueError, match="no Ray cluster to work with at '127.0.0.1:1'.*leave --address"),
        engine_of("ray"),
    ):
        pass
    with pytest.raises(ValueError, match="give a file as --out"):
        check_printing("ray")


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "edos_dataset.runs.engines.ray", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "edos-dataset\[ray\]"'):
        engine_of("ray")
