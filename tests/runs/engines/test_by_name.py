"""Engines by their names."""

import pytest

from edos_dataset.runs.engines import by_name
from edos_dataset.runs.engines.by_name import ENGINES, default_engine, default_workers, engine_of


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_carries_out_tasks(name):
    with engine_of(name, 1) as engine:
        assert engine.leads
        assert sorted(engine.map(abs, engine.share([-3, 2]))) == [2, 3]
        assert list(engine.map(abs, [])) == []
        assert sorted(engine.corpus.map(abs, [-1])) == [1]
        engine.wait()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("workers", [0, -1])
def test_at_least_one_worker(name, workers):
    with pytest.raises(ValueError, match=f"at least 1, got {workers}"):
        engine_of(name, workers)


@pytest.mark.parametrize(
    ("name", "hint"), [("lokal", "did you mean 'local'"), ("xyz", "there are local, accelerate, datasets")]
)
def test_an_unknown_engine(name, hint):
    with pytest.raises(ValueError, match=f"unknown engine '{name}'; {hint}"):
        engine_of(name)


def test_what_is_taken_where_nothing_is_named(monkeypatch):
    monkeypatch.setattr(by_name, "available_cores", lambda: 8)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (default_engine(), default_workers(), default_workers("cuda")) == ("local", 8, 2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (default_engine(), default_workers(), default_workers("cuda:1")) == ("accelerate", 1, 2)
