"""Code in a process of its own."""

import subprocess
import sys


def in_another_process(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **options,
    )
