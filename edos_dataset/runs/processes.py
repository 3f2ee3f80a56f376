"""Processes that share a folder: where they run, and whether they have ended."""

import os
import platform
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
