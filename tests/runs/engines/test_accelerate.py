"""What a launched process makes of its place among the others; real launches are in test_matrix."""

import os
from types import SimpleNamespace

import pytest

from edos_dataset.runs.engines.local import AccelerateEngine


class State:
    """A stand-in for `accelerate.PartialState`: the second of three processes."""

    found = 3
    device = "cpu"

    def __init__(self, cpu, timeout):
        self.cpu, self.num_processes, self.process_index, self.local_process_index = cpu, self.found, 1, 1
        self.device, self.waited = SimpleNamespace(type=type(self).device), 0

    def wait_for_everyone(self):
        self.waited += 1


@pytest.fixture
def launched(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setattr("accelerate.PartialState", State)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_alone_without_a_launcher(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with AccelerateEngine(1) as engine:
        assert engine.is_main
        assert engine.corpus is engine
        assert engine.share([1, 2, 3]) == [1, 2, 3]
        assert list(engine.map(str, [1, 2])) == ["1", "2"]
        engine.wait()


def test_each_takes_its_share_and_waits_for_the_others(launched):
    with AccelerateEngine(1) as engine:
        assert not engine.is_main
        assert engine.share(range(8)) == range(1, 8, 3)
        engine.wait()
        assert engine._state.waited == 1
        assert engine._state.cpu


@pytest.mark.parametrize(("visible", "own"), [(None, "1"), ("4,6,7", "6")])
def test_what_it_starts_sees_its_own_gpu(launched, monkeypatch, visible, own):
    monkeypatch.setattr(State, "device", "cuda")
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that what the engine sets is undone
    engine = AccelerateEngine(2, "cuda")
    assert not engine._state.cpu
    assert os.environ["CUDA_VISIBLE_DEVICES"] == own


def test_processes_that_did_not_find_each_other(launched, monkeypatch):
    monkeypatch.setattr(State, "found", 1)
    with pytest.raises(RuntimeError, match="the launcher started 3 processes, but accelerate made 1 of them"):
        AccelerateEngine(1)
