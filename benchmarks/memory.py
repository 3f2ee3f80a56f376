"""Peak memory of `edos curate` on a corpus and on one ten times as large, which must be equal.

    python benchmarks/memory.py FOLDER_WITH_OPUS_XML --copies 60

Runs the command in separate processes with one worker, without labels (on the whole corpus) and with labels (on a tenth
of each, since encoding takes longer), and reports the peak resident set size of each. Writes benchmarks/memory.json.
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
from benchmarks.machine import command_line, describe_machine, write_result


def run_measured(*arguments: str) -> tuple[Any, int]:
    """Run `edos` in a separate process; return its --json output, and its peak resident set size in MiB."""
    printed, _, peaks = run_watched([sys.executable, "-m", "edos_dataset", *arguments, "--json"])
    return json.loads(printed), peaks["driver_mib"]


def peak(folder: Path, labels: bool) -> dict[str, int]:
    """Curate in a separate process; return the number of sentences and the peak resident set size in MiB."""
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
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
