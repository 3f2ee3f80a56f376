"""Runs as discrete events, against what can be reckoned."""

import numpy as np
import pytest

from edos_dataset.planning.simulation import Crew, Round, simulate


def run(rounds, crews, seed=0):
    return simulate(rounds, crews, np.random.default_rng(seed))


def test_one_worker_takes_the_sum():
    seconds = np.random.default_rng(1).gamma(2, 3, 100)
    done = run([Round("a", (seconds,)), Round("b", (seconds,), before=5)], [Crew(1, 1, start=7)])
    assert done.seconds == pytest.approx(2 * seconds.sum() + 12)
    assert done.busy == pytest.approx(2 * seconds.sum()) and (done.lost, done.retries) == (0, 0)


@pytest.mark.parametrize(("tasks", "machines", "workers"), [(7, 2, 2), (8, 4, 2), (9, 1, 8), (3, 10, 10)])
def test_equal_tasks_go_in_waves(tasks, machines, workers):
    done = run([Round("a", ([2.0] * tasks,))], [Crew(machines, workers)])
    assert done.seconds == 2 * -(-tasks // (machines * workers))
    assert done.utilisation == pytest.approx(2 * tasks / (machines * workers * done.seconds))


def test_any_order_of_tasks_ends_within_the_bounds_of_list_scheduling():
    """Graham (1966): no later than (2 - 1/n) times the best order, which takes at least the mean load."""
    seconds = np.random.default_rng(2).gamma(0.5, 10, 200)
    done = run([Round("a", (seconds,))], [Crew(3, 4)])
    least = max(seconds.sum() / 12, seconds.max())
    assert least <= done.seconds <= (2 - 1 / 12) * least


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_failures_cost_as_many_retries_as_expected(seconds):
    """A task of d seconds survives with probability e^-(f d), so it is done e^(f d) times; what is lost of each failure
    is what a failure before d leaves: in all 1/f each for its retries, less the d that the last one takes.
    """
    failures, tasks = 0.3, 20_000
    done = run([Round("a", ([seconds] * tasks,))], [Crew(1, 1, failures)])
    times = np.exp(failures * seconds)
    assert done.retries / tasks == pytest.approx(times - 1, rel=0.05)
    assert done.seconds / tasks == pytest.approx((times - 1) / failures, rel=0.05)
    assert done.lost + done.busy == pytest.approx(done.seconds)


def test_a_failure_takes_all_workers_of_its_machine_and_its_time_to_come_back():
    quiet = run([Round("a", ([1.0] * 4000,))], [Crew(1, 4)])
    failing = run([Round("a", ([1.0] * 4000,))], [Crew(1, 4, 0.02, start=10)])
    fewest = failing.retries / 4  # failures, if every one finds four tasks
    assert failing.seconds > quiet.seconds + 10 * fewest


def test_a_barrier_waits_for_the_slowest_and_the_leader_for_nobody():
    done = run([Round("a", ([1.0, 9.0],)), Round("b", ([1.0, 1.0],), before=2)], [Crew(2, 1)])
    assert done.ends == (9.0, 12.0)


def test_a_crew_that_takes_nothing_stays_idle_and_the_faster_one_goes_first():
    done = run([Round("a", (None, [1.0] * 4)), Round("b", ([5.0], [1.0]))], [Crew(1, 4), Crew(1, 1)])
    assert done.ends == (4.0, 5.0)


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    rounds, crews = [Round("a", (np.random.default_rng(3).gamma(2, 2, 500),))], [Crew(5, 2, 0.01, 3)]
    assert run(rounds, crews, 4) == run(rounds, crews, 4) != run(rounds, crews, 5)


def test_what_never_ends_and_what_nobody_takes_are_errors():
    with pytest.raises(ValueError, match="never end"):
        run([Round("a", ([1000.0],))], [Crew(1, 1, failures=1.0)])
    with pytest.raises(ValueError, match="no machine"):
        run([Round("a", (None,))], [Crew(1, 1)])
