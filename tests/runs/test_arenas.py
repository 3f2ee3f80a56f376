"""Processes of our own keep the memory of all threads in one arena."""

import os
import subprocess
import sys

import pytest

COUNT = """
import ctypes, threading
from edos_dataset.runs.processes import use_one_arena
{call}
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
threads = [threading.Thread(target=libc.malloc, args=(5000,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def arenas(call, **more):
    """Return how many arenas a process has that started three threads."""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"} | more
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(call=call)], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has arenas")
def test_all_threads_share_an_arena_unless_the_user_said_otherwise():
    assert arenas("pass") > 1
    assert arenas("use_one_arena()") == 1
    assert arenas("use_one_arena()", MALLOC_ARENA_MAX="8") > 1
