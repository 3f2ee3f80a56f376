"""A server that is killed at work takes nothing with it: scripted workers compare what they sent with what is there."""

import socket

import pytest

from benchmarks.crowd_load import measure

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["labelling", "judging"])
def test_no_answer_is_lost_or_doubled_where_workers_leave_and_the_server_is_killed(tmp_path, kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = measure(tmp_path / "batch", port, kind, workers=10, seconds=4.5, leaving=0.3, kills=2, pause=0.05, seed=1)
    assert made["acknowledged"] > 50 and made["left_and_came_back"] > 0 and made["sent_again"] > 0
    assert made["wrong"] == []
    assert [made[key] for key in ("lost", "doubled", "never_sent", "other_than_sent", "finished_lost")] == [0] * 5
