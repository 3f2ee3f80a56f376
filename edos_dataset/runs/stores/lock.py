"""A lock in a store: an object that its owner rewrites regularly as a heartbeat.

It is acquired by a conditional write: a free lock if the object does not exist, a dead owner's lock if the object is
unchanged. The store lets only one of several processes succeed. An owner that was merely slow finds at its next
heartbeat that it has lost the lock, and stops.
"""

import _thread
import json
import os
import platform
import signal
import threading
import time
from contextlib import suppress
from typing import Any
from uuid import uuid4

from edos_dataset.runs.processes import boot, has_ended, machine
from edos_dataset.runs.stores.paths import RemotePath
from edos_dataset.runs.stores.store import Status, StoreError
from edos_dataset.runs.untrusted import json_of

BEAT, DEAD = 10.0, 60.0
"""Seconds between two heartbeats, and seconds without a heartbeat after which an owner counts as dead."""


class HeldError(StoreError):
    """Another process has the lock; the message says which, and when the lock is free at the latest."""


class StoreLock:
    """A lock that is an object; see `acquire`.

    Args:
        path: the object.

    Attributes:
        lost: whether another process has taken it, or no heartbeat could be written for too long.
    """

    def __init__(self, path: RemotePath) -> None:
        self.path, self.lost = path, False
        space = f"{boot()} {machine()}"
        self._owner = {"machine": platform.node(), "process": os.getpid(), "space": space, "id": uuid4().hex}
        self._written: Status | None = None
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Acquire the lock, if it is free, its owner on this machine has ended, or an owner has had no heartbeat for a
        minute.

        Raises:
            HeldError: another process has it.
            StoreError: the store does not answer.
        """
        self._written = self._write(self._dead_lock())
        if self._written is None:
            raise HeldError(f"{_name_of(self._read())} has just begun in {self.path.parent.parent}")
        self._thread = threading.Thread(target=self._keep_alive, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Release the lock, unless another process has taken it."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(StoreError, OSError):  # it will be a dead owner's
            if self._read().get("id") == self._owner["id"]:
                self.path.unlink()

    def _dead_lock(self) -> Status | None:
        """Return the status of a dead owner's lock, or None if there is no lock."""
        there = self.path.status()
        if there is None:
            return None
        owner = self._read()
        if owner.get("space") == self._owner["space"] and has_ended(owner.get("process")):
            return there
        age = max(self._now() - there.written, 0.0)
        if age > DEAD:
            return there
        raise HeldError(
            f"{_name_of(owner)} is running in {self.path.parent.parent} (its last sign of life was {age:.0f} s ago; if "
            f"it was killed, the folder is free {DEAD:.0f} s after that)"
        )

    def _now(self) -> float:
        """Return the time of the store's clock, by writing an object."""
        probe = self.path.with_name(f"clock-{uuid4().hex}")
        try:
            probe.store.put_if(probe.key, b"x", None)
            written = probe.status()
        finally:
            probe.unlink()
        return written.written if written else time.time()

    def _write(self, expected: Status | None) -> Status | None:
        beat = json.dumps({**self._owner, "beat": uuid4().hex[:8]})
        return self.path.store.put_if(self.path.key, beat.encode(), expected)

    def _read(self) -> dict[str, Any]:
        try:
            content = json_of(self.path.read_bytes())
            return content if isinstance(content, dict) else {}
        except (OSError, ValueError):
            return {}

    def _keep_alive(self) -> None:
        """Write heartbeats until the end; if the lock is lost, stop the run as Ctrl-C does."""
        heard = time.monotonic()
        while not self._end.wait(BEAT):
            try:
                written = self._write(self._written)
            except (StoreError, OSError):
                if time.monotonic() - heard < DEAD - BEAT:
                    continue  # the network may recover
                written = None
            if written is None:
                self.lost = True
                main = threading.main_thread().ident
                if not self._end.is_set() and main is not None:
                    if hasattr(signal, "pthread_kill"):
                        signal.pthread_kill(main, signal.SIGINT)
                    else:  # Windows
                        _thread.interrupt_main()
                return
            self._written, heard = written, time.monotonic()


def _name_of(owner: dict[str, Any]) -> str:
    return f"process {owner['process']} on {owner['machine']}" if {"process", "machine"} <= owner.keys() else "somebody"
