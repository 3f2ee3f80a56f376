"""Files of results, and standard output in their place."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def target_file(out: Path) -> Iterator[Path]:
    """Give the file to write; where `out` is "-", one whose lines go to standard output when it is whole."""
    if str(out) != "-":
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="edos-") as folder:
        target = Path(folder) / "lines.jsonl"
        yield target
        with target.open("rb") as lines:
            shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def shards_from_before(done: dict[str, Any]) -> str:
    """Return what to say of the shards that an earlier call left, of the `reused` and `shards` of a command."""
    return f", {done['reused']:,} of {done['shards']:,} shards from before" if done["reused"] else ""
