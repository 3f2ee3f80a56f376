"""The duration of commands that do almost nothing: the help, the import of the package, labels for three turns.

    python benchmarks/startup.py --repeats 5

CPU seconds (user and system) of a process and its children, the minimum over all repeats, which alternate; on a busy
machine only these and their ratios are comparable. `import torch` and `import transformers` show how much is due to
them. Writes benchmarks/startup.json.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks.machine import command_line, describe_machine
from edos_dataset.runs.shards import write_text

TURNS = ["I lost my job.", "Oh no, what happened?", "They closed the factory."]


def commands(folder: Path) -> dict[str, list[str]]:
    """Return name → command line."""
    edos = [sys.executable, "-m", "edos_dataset"]
    lines = folder / "three.jsonl"
    lines.write_text(json.dumps({"dialogue_id": "a", "turns": TURNS}) + "\n", encoding="utf-8")
    label = [*edos, "-q", "label", str(lines), "--out", "-"]
    return {
        "python": [sys.executable, "-c", "pass"],
        "import edos_dataset": [sys.executable, "-c", "import edos_dataset"],
        "edos --help": [*edos, "--help"],
        "import torch": [sys.executable, "-c", "import torch"],
        "import transformers": [sys.executable, "-c", "import torch, transformers.modeling_utils"],
        "edos label --model fast": [*label, "--model", "fast"],
        "edos label": label,
    }


def cost(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the wall seconds of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended - began


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = commands(Path(folder))
        cost(measured["edos label"])  # unpacks the model into the cache, once
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in measured}
        for _ in range(arguments.repeats):
            for name, command in measured.items():
                found[name].append(cost(command))
    seconds = {
        name: {"cpu_seconds": round(min(cpu for cpu, _ in each), 3), "seconds": round(min(wall for _, wall in each), 3)}
        for name, each in found.items()
    }
    report = {
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "command": command_line(),
        "repeats": arguments.repeats,
        "commands": seconds,
    }
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")
    for name, row in seconds.items():
        print(f"{name:24} {row['cpu_seconds']:7.3f} s of CPU, {row['seconds']:7.3f} s")  # noqa: T201


if __name__ == "__main__":
    main()
