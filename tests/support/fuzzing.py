"""Fuzzing: broken inputs, a time budget instead of a number of examples, and what holds of every command.

`make fuzz` runs for an hour, `make test` for 18 seconds, over all targets together. EDOS_FUZZ_SECONDS and
EDOS_FUZZ_SEED change that; a failure is shrunk, printed, and repeated by the same seed.
"""

import faulthandler
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from edos_dataset.cli.app import app

TARGETS = 16
"""Tests in tests/fuzz, which share the time; the readers count as one."""
SECONDS = float(os.environ.get("EDOS_FUZZ_SECONDS", "18")) / TARGETS
SEED = int(os.environ.get("EDOS_FUZZ_SEED", "0"))
LONGEST = 10.0
"""CPU seconds that one file may take."""
_HANGS = 300
_EXAMPLES = 500  # of one seed, before the next one begins at simple examples again

Example = TypeVar("Example")


def fuzz(strategy: st.SearchStrategy[Example], check: Callable[[Example, Path], None], share: float = 1.0) -> None:
    """Check examples, each in an empty folder, until this target's share of the time is used.

    Args:
        strategy: what draws examples.
        check: fails for a defect.
        share: fraction of the time of one target that it takes.
    """
    until, examples, failed = time.monotonic() + SECONDS * share, 0, False

    def once(example: Example) -> None:
        nonlocal examples, failed
        if time.monotonic() > until and not failed:  # once one failed, it is shrunk without haste
            return
        examples += 1
        try:
            faulthandler.dump_traceback_later(_HANGS, exit=True)
            with TemporaryDirectory() as folder:
                check(example, Path(folder))
        except BaseException:
            failed = True
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    number, most = SEED, min(_EXAMPLES, max(10, int(200 * SECONDS * share)))
    while time.monotonic() < until:
        limits = settings(
            max_examples=most,  # those behind the end of the time are drawn, too
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            print_blob=False,
        )
        seed(number)(limits(given(strategy)(once)))()
        number += 1
    print(f"{check.__name__}: {examples} examples")  # noqa: T201 - `make fuzz` shows it


def edos(*arguments: object, files: int = 1, **more: str) -> Result:
    """Run a command: it succeeds or ends in one message, without a traceback, and in time.

    Args:
        arguments: words of the command line.
        files: how many files it reads.
        more: what `CliRunner.invoke` takes.
    """
    began = time.process_time()
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert time.process_time() - began < LONGEST * files, f"{time.process_time() - began:.1f} s for {files} files"
    if result.exit_code not in (0, 3, 5):
        assert result.stderr.strip(), "a command failed without a word"
        assert len(result.stderr) < 4_000, "a message that nobody reads to its end"
        assert "Traceback" not in result.stderr
    return result


_KINDS = ("cut", "drop", "flip", "insert", "bytes", "repeat", "other", "blank")


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Draw a whole file with up to six wounds: parts cut off, dropped, flipped, repeated, swapped for those of another
    file, or with words inserted that matter in its format.
    """
    data = bytearray(draw(st.sampled_from(seeds)))
    for kind in draw(st.lists(st.sampled_from(_KINDS), max_size=6)):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.integers(1, 40))
        if kind == "cut":
            del data[place:]
        elif kind == "drop":
            del data[place : place + length]
        elif kind == "flip" and data:
            data[place] ^= draw(st.integers(1, 255))
        elif kind == "insert" and words:
            data[place:place] = draw(st.sampled_from(words)) * draw(st.sampled_from((1, 1, 1, 2, 30, 5_000)))
        elif kind == "bytes":
            data[place:place] = draw(st.binary(min_size=1, max_size=40))
        elif kind == "repeat":
            data[place:place] = data[place : place + length] * draw(st.sampled_from((1, 2, 30, 2_000)))
        elif kind == "other":
            other = draw(st.sampled_from(seeds))
            data[place : place + length] = other[place : place + 10 * length]
        elif kind == "blank":
            data[place : place + length] = bytes(length)
    return bytes(data[:400_000])


def check_counts(manifest: Mapping[str, object]) -> None:
    """Every stage of a run accounts for everything that it read."""
    stages = manifest["stages"]
    assert isinstance(stages, list)
    for stage in stages:
        assert stage["kept"] + sum(stage["rejected"].values()) == stage["read"], stage


def read_json(path: Path) -> dict[str, object]:
    """Return the content of a JSON file."""
    content: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return content
