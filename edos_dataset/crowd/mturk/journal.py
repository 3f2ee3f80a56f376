"""What was asked of Mechanical Turk, written down before and after, so that a killed command does nothing twice."""

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from edos_dataset.crowd.aliases import alias_of


class Journal:
    """The lines of a batch on one of the two sites; each is on the disk before the next request goes out.

    Args:
        folder: of the batch.
        live: whether it is the site where money is paid.

    Raises:
        ValueError: another command is at work on the batch, or a line is broken.
    """

    def __init__(self, folder: Path, live: bool) -> None:
        """Name the file."""
        self.path = folder / f"mturk-{'live' if live else 'sandbox'}.jsonl"
        self._lock = FileLock(self.path.with_suffix(".lock"), timeout=0)
        self.done: dict[tuple[str, str], dict[str, Any]] = {}
        self.alias = alias_of(folder)

    def __enter__(self) -> "Journal":
        """Lock and read it; a last line that was cut short was never acted upon, so it goes."""
        try:
            self._lock.acquire()
        except Timeout as error:
            raise ValueError(f"{self.path.parent} is in use by another `edos crowd mturk`: wait for it") from error
        lines = self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []
        if lines and not lines[-1].endswith(b"\n"):
            os.truncate(self.path, sum(map(len, lines[:-1])))
            lines.pop()
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                if "done" in row:
                    self.done[row["done"], row["key"]] = row
            except (ValueError, KeyError, AttributeError) as error:
                self._lock.release()
                raise ValueError(f"{self.path}, line {number}: no line of the journal ({error!r})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unlock it."""
        self._lock.release()

    def intend(self, what: str, key: str) -> None:
        """Write down what is about to be asked for."""
        self._write({"intended": what, "key": key})

    def finish(self, what: str, key: str, **facts: str) -> None:
        """Write down what was done."""
        self.done[what, key] = facts
        self._write({"done": what, "key": key, **facts})

    def _write(self, row: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(row | {"at": round(time.time(), 3)}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
