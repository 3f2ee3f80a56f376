"""Processes that share a folder: where they run, and whether they have ended."""

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path


def machine() -> str:
    """Return a name of this machine and its process namespace: containers may share the name of their machine, and
    number their processes alike.
    """
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not on Linux
        return platform.node()


def boot() -> str:
    """Return what is another text after each start of this machine; "" where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def use_one_arena() -> None:
    """Let glibc keep the memory of all threads of this process in one arena. Each thread would otherwise have its own,
    which keeps what is freed in it: a twelfth of the peak of `edos books`.

    Call it in processes of our own, before they start threads. Arrow's columns have an allocator of their own and are
    not affected; elsewhere than in Linux with glibc, or where MALLOC_ARENA_MAX is set, it does nothing.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes

        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def has_ended(process: object) -> bool:
    """Return whether a process of this machine has certainly ended; a number in use again counts as not ended."""
    if os.name != "posix":  # on Windows, os.kill would end the process
        return False
    try:
        os.kill(int(str(process)), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):  # somebody else's process, or no number
        return False
    return False
