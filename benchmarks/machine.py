"""The machine that a measurement was taken on, and the command that took it."""

import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


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
    """Return the command of this process; of paths from the root only the name."""
    return " ".join(["python", *[Path(part).name if part.startswith("/") else part for part in sys.argv]])
