"""The time to read a CSV file of turns into dialogues, compared with pandas.

    python -m benchmarks.tables --rows 1000000

The file is generated with a fixed seed: dialogues of five turns with `dialogue_id`, `speaker`, `time` and a quoted
`text` of nine words, either dialogue by dialogue or with the rows of all dialogues mixed. Measured are
`pandas.read_csv`; the same with the texts grouped by dialogue and ordered by time (`sort_values`, `groupby`,
`agg(list)`); and `read_source`, which also detects columns, delimiter and encoding, checks every row, orders the turns
by time, and writes the other columns as JSON, into the tables that `edos label` labels. Each runs in a separate
process, alternately; the minimum of all repeats is reported. `rows` is the reader for files that Arrow does not read
according to the standard, measured on a tenth of the rows. Linux only, because of the memory. Writes
benchmarks/tables.json.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine, write_result

TURNS = 5
WORDS = (
    "I",
    "you",
    "lost",
    "won",
    "my",
    "job",
    "oh",
    "no",
    "what",
    "happened",
    "they",
    "closed",
    "the",
    "shop",
    "great",
)
SHARD_TURNS = 20_000


def draw(path: Path, rows: int, mixed: bool) -> None:
    """Write a file with this number of rows."""
    drawn = random.Random(0)
    lines = [
        f'd{row // TURNS},{"AB"[row % 2]},{row},"{" ".join(drawn.choices(WORDS, k=9))}, {row}"' for row in range(rows)
    ]
    if mixed:
        drawn.shuffle(lines)
    path.write_text("\n".join(["dialogue_id,speaker,time,text", *lines, ""]), encoding="utf-8")


def read(way: str, path: Path) -> int:
    """Read a file; return the number of its rows or dialogues."""
    if way.startswith("pandas"):
        import pandas as pd

        frame = pd.read_csv(path)
        if way == "pandas":
            return len(frame)
        return len(frame.sort_values("time", kind="stable").groupby("dialogue_id", sort=False)["text"].agg(list))
    from edos_dataset.releases.dialogues import read_source
    from edos_dataset.releases.formats import flat

    if way == "rows":
        flat.MOST_BYTES = 0
    return sum(table.num_rows for table in read_source(path, SHARD_TURNS))


def measure(way: str, path: Path) -> dict[str, float]:
    """Read a file in a separate process; imports are counted only in the memory."""
    code = f"""
import json, sys, time
from pathlib import Path
from benchmarks.tables import read
small, path = Path(sys.argv[1]), Path(sys.argv[2])
read({way!r}, small)
cpu, began = time.process_time(), time.perf_counter()
read({way!r}, path)
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
print(json.dumps([time.process_time() - cpu, time.perf_counter() - began, peak]))
"""
    small = path.with_name("small.csv")
    draw(small, 50, mixed=False)
    done = subprocess.run([sys.executable, "-c", code, small, path], check=True, capture_output=True, text=True)
    cpu, wall, peak = json.loads(done.stdout.splitlines()[-1])
    return {"cpu_seconds": cpu, "seconds": wall, "peak_mib": peak}


def _least(repeats: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: round(min(each[key] for each in repeats), 3) for key in repeats[0]}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, mixed in (("together", 1, False), ("mixed", 1, True), ("tenth", 10, False)):
            path = Path(folder) / f"{name}.csv"
            draw(path, arguments.rows // rows, mixed)
            ways = ("rows", "arrow") if name == "tenth" else ("pandas", "pandas grouped", "arrow")
            repeats = [{way: measure(way, path) for way in ways} for _ in range(arguments.repeats)]
            found[name] = {way: _least([each[way] for each in repeats]) for way in ways}
            found[name]["megabytes"] = round(path.stat().st_size / 1e6, 1)
            path.unlink()
    for name in ("together", "mixed"):
        each = found[name]
        each["beside_pandas"] = round(each["arrow"]["seconds"] / each["pandas"]["seconds"], 2)
        each["beside_pandas_grouped"] = round(each["arrow"]["seconds"] / each["pandas grouped"]["seconds"], 2)
    report = {
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "command": f"python -m benchmarks.tables --rows {arguments.rows}",
    }
    write_result(arguments.out, report | {"rows": arguments.rows, "repeats": arguments.repeats, "files": found})


if __name__ == "__main__":
    main()
