"""Shared by all benchmarks: the description of machine and command, and the output of a result."""

import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from edos_dataset.runs.shards import write_text


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, load and Python version."""
    names: list[str] = []
    with suppress(OSError):
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


def command_line() -> str:
    """Return the command of this process, with absolute paths shortened to names."""
    return " ".join(["python", *[Path(part).name if part.startswith("/") else part for part in sys.argv]])


def write_result(path: Path, result: Mapping[str, Any], ascii_only: bool = True) -> None:
    """Write a result as JSON, and print it."""
    text = json.dumps(result, indent=1, ensure_ascii=ascii_only)
    write_text(path, text + "\n")
    sys.stdout.write(text + "\n")
