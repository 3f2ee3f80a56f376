import signal
import threading
import time
from collections.abc import Iterator

import pytest

from edos_dataset.sources.documents import time_limit
from edos_dataset.sources.parsed import ReadError


@pytest.fixture(autouse=True)
def no_other_alarm() -> Iterator[None]:
    """pytest-timeout has one."""
    handler = signal.getsignal(signal.SIGALRM)
    waiting = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *waiting)


def forever() -> None:
    while True:
        try:
            time.sleep(10)
        except Exception:
            continue


def test_a_reader_that_takes_too_long_is_stopped() -> None:
    began = time.monotonic()
    with pytest.raises(ReadError, match="too_slow: not read within 0.1 seconds"), time_limit(0.1):
        forever()
    assert time.monotonic() - began < 9
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_reader_that_catches_everything_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edos_dataset.sources.documents._ALARM_AGAIN", 0.05)
    caught = 0
    with pytest.raises(ReadError, match="too_slow"), time_limit(0.05):
        while True:
            try:
                forever()
            except BaseException:
                caught += 1
                if caught == 3:
                    raise


def test_an_alarm_that_was_set_before_rings() -> None:
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(ReadError), time_limit(0.05):
        forever()
    assert not rung and 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
    time.sleep(0.3)
    assert len(rung) == 1
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with time_limit(5):  # its time comes within
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            pass
    time.sleep(0.01)
    assert len(rung) == 2


def test_other_threads_are_not_bounded() -> None:
    done = []

    def work() -> None:
        with time_limit(0.01):
            time.sleep(0.05)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
