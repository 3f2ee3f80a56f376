"""A lock in a store, which knows nothing of processes: an object that its owner writes anew as a sign of life.

It is taken by writing it on the condition that nobody has, and a dead owner's on the condition that it is still the
same: of many who try one is first, and the store decides which. An owner who was only slow finds at the next sign of
life that it has lost the lock, and stops.
"""

import json
import os
import platform
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from edos_dataset.runs.stores.base import StoreError
from edos_dataset.runs.stores.paths import RemotePath

BEAT, DEAD = 10.0, 60.0
"""Seconds between two signs of life, and after which an owner without one is dead."""


class HeldError(StoreError):
    """Somebody else has the lock; the message says who, and when it is free at the latest."""


class StoreLock:
    """A lock that is an object; see `acquire`.

    Args:
        path: the object.

    Attributes:
        lost: whether it was another's by the last sign of life, or none could be given for too long.
    """

    def __init__(self, path: RemotePath) -> None:
        """Take nothing yet."""
        self.path, self.lost = path, False
        self._owner = {"machine": platform.node(), "process": os.getpid(), "space": _space(), "id": uuid4().hex}
        self._tag = ""
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Take the lock, also that of an owner of this machine that has ended, or of any who gave no sign of life for
        a minute.

        Raises:
            HeldError: somebody has it.
            StoreError: the store does not answer.
        """
        tag = self._write(self._tag_of_dead())
        if tag is None:
            raise HeldError(f"{_named(self._read())} has just begun in {self.path.parent.parent}")
        self._tag = tag
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Let go, unless it is somebody else's by now."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(StoreError, OSError):  # it will be a dead owner's
            if self._read().get("id") == self._owner["id"]:
                self.path.unlink()

    def _tag_of_dead(self) -> str | None:
        """Return the tag of a dead owner's lock, None where there is no lock."""
        there = self.path.status()
        if there is None:
            return None
        owner = self._read()
        here = all(owner.get(name) == self._owner[name] for name in ("machine", "space"))
        if there.age > DEAD or (here and _is_dead(owner.get("process"))):
            return there.tag
        raise HeldError(
            f"{_named(owner)} is running in {self.path.parent.parent} (its last sign of life was "
            f"{max(there.age, 0.0):.0f} s ago; if it was killed, the folder is free {DEAD:.0f} s after that)"
        )

    def _write(self, tag: str | None) -> str | None:
        beat = json.dumps({**self._owner, "beat": uuid4().hex[:8]})
        return self.path.store.put_if(self.path.key, beat.encode(), tag)

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_bytes())
            return content if isinstance(content, dict) else {}
        except (OSError, ValueError):
            return {}

    def _live(self) -> None:
        """Give signs of life until the end, or until the lock is lost: then the run is stopped, as by Ctrl-C."""
        heard = time.monotonic()
        while not self._end.wait(BEAT):
            try:
                tag = self._write(self._tag)
            except (StoreError, OSError):
                if time.monotonic() - heard < DEAD - BEAT:
                    continue  # the network may come back
                tag = None
            if tag is None:
                self.lost = True
                main = threading.main_thread().ident
                if not self._end.is_set() and main is not None:
                    signal.pthread_kill(main, signal.SIGINT)
                return
            self._tag, heard = tag, time.monotonic()


def _named(owner: dict[str, Any]) -> str:
    return f"process {owner['process']} on {owner['machine']}" if {"process", "machine"} <= owner.keys() else "somebody"


def _space() -> str:
    """Return a name for what numbers of processes are known in: machines that share a name are not one, nor containers
    of one machine, nor what it was before it was started anew.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return ""


def _is_dead(process: object) -> bool:
    try:
        os.kill(int(str(process)), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return False
