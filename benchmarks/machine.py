"""The machine that a measurement was taken on."""

import os
import platform
import re
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
