"""Peak memory of `edos curate` on a corpus and on one ten times as large: it must not grow.

    python benchmarks/memory.py FOLDER_WITH_OPUS_XML --copies 60

Runs the command in a process of its own, with one worker, without labels (the whole corpus) and with labels (on a tenth
of each, as encoding takes longer), and reports the largest resident set of each. Writes benchmarks/memory.json.
"""

import argparse
import json
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.curate import make_corpus
from benchmarks.growth import run_watched
from benchmarks.machine import command_line, describe_machine
from edos_dataset.runs.shards import write_text


def run_measured(*arguments: str) -> tuple[Any, int]:
    """Run `edos` in a process of its own; return what it prints with --json, and its largest resident set in MiB."""
    printed, _, peaks = run_watched([sys.executable, "-m", "edos_dataset", *arguments, "--json"])
    return json.loads(printed), peaks["driver_mib"]


def peak(folder: Path, labels: bool) -> dict[str, int]:
    """Curate in a process of its own; return its sentences and its largest resident set in MiB."""
    with tempfile.TemporaryDirectory() as out:
        options = ["--out", f"{out}/edos", "--workers", "1", "--labels" if labels else "--no-labels"]
        printed, mib = run_measured("curate", str(folder), *options)
        sentences = next(stage["read"] for stage in printed["stages"] if stage["unit"] == "sentences")
        return {"sentences": sentences, "peak_mib": mib}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--copies", type=int, default=60, help="copies of each file in the small corpus")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
    }
    for labels, copies in ((False, arguments.copies), (True, max(1, arguments.copies // 10))):
        rows = []
        for times in (1, 10):
            with tempfile.TemporaryDirectory() as folder:
                make_corpus(arguments.source, Path(folder) / "opus", copies * times)
                rows.append(peak(Path(folder) / "opus", labels))
        growth = round(rows[1]["peak_mib"] / rows[0]["peak_mib"], 2)
        result["with_labels" if labels else "without_labels"] = {
            "small": rows[0],
            "ten_times": rows[1],
            "growth": growth,
        }
    write_text(arguments.out, json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
