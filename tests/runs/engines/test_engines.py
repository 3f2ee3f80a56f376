"""Engines by their names."""

import os

import pytest

from edos_dataset.runs import engines
from edos_dataset.runs.engines import ENGINES, default_engine, default_workers, engine_of, take_engine


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "ray"])  # which takes seconds: in test_ray
def test_every_engine_carries_out_tasks(name):
    with engine_of(name, 1) as engine:
        assert engine.is_main
        assert sorted(engine.map(abs, engine.share([-3, 2]))) == [2, 3]
        assert list(engine.map(abs, [])) == []
        assert sorted(engine.corpus.map(abs, [-1])) == [1]
        engine.wait()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("workers", [0, -1])
def test_at_least_one_worker(name, workers):
    if name == "ray":
        pytest.importorskip("ray")
    with pytest.raises(ValueError, match=f"at least 1, got {workers}"):
        engine_of(name, workers)


@pytest.mark.parametrize(
    ("name", "hint"), [("lokal", "did you mean 'local'"), ("xyz", "there are local, accelerate, datasets")]
)
def test_an_unknown_engine(name, hint):
    with pytest.raises(ValueError, match=f"unknown engine '{name}'; {hint}"):
        engine_of(name)


def test_what_is_taken_where_nothing_is_named(monkeypatch):
    monkeypatch.setattr(engines, "available_cores", lambda: 8)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (default_engine(), default_workers(), default_workers("cuda")) == ("local", 8, 2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (default_engine(), default_workers(), default_workers("cuda:1")) == ("accelerate", 1, 2)


def test_what_a_command_takes(monkeypatch):
    monkeypatch.setattr(engines, "available_cores", lambda: 8)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RAY_ADDRESS", "")
    assert take_engine(None, None) == ("local", 8)
    assert take_engine("datasets", 3, "cuda") == ("datasets", 3)
    assert take_engine("ray", 4, address="head:6379") == ("ray", 4)
    assert os.environ["RAY_ADDRESS"] == "head:6379"
    with pytest.raises(ValueError, match="head:6379 is that of a Ray cluster: give --engine ray"):
        take_engine(None, 1, address="head:6379")
