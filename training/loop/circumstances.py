"""When, on what and with which versions a training ran, for the record of what it made."""

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import torch

PACKAGES = ("torch", "transformers", "accelerate", "numpy")


def circumstances() -> dict[str, Any]:
    """Return `date`, `hardware` and `versions`."""
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "hardware": f"{platform.machine()}, {os.cpu_count()} processors{gpu}",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }
