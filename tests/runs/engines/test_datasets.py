"""What `Dataset.map` makes of tasks; whole runs are in test_matrix and test_kills."""

import os
import signal

import datasets
import multiprocess
import pytest

from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.runs.engines.datasets import DatasetsEngine


def kill_myself_on_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_on_three(number):
    if number == 3:
        raise RuntimeError("three")
    return number


def test_the_settings_of_datasets_stay_as_they_were():
    method, quiet = multiprocess.get_start_method(allow_none=True), datasets.are_progress_bars_disabled()
    with DatasetsEngine(1) as engine:
        assert sorted(engine.map(abs, iter([-2, 1]))) == [1, 2]
    assert (multiprocess.get_start_method(allow_none=True), datasets.are_progress_bars_disabled()) == (method, quiet)


def test_an_error_of_a_task_is_the_run_s():
    with pytest.raises(RuntimeError, match="three"), DatasetsEngine(1) as engine:
        list(engine.map(fail_on_three, range(5)))


@pytest.mark.slow
def test_a_killed_worker_is_reported():
    variables, before = os.environ, dict(os.environ)
    with pytest.raises(WorkerDied, match="fewer --workers; the same command resumes"), DatasetsEngine(2) as engine:
        list(engine.map(kill_myself_on_three, range(6)))
    assert os.environ is variables and dict(variables) == before  # rich, for one, holds that very object
