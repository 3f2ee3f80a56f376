"""What a run takes as its corpus grows: time, memory of the driver and of its workers, disk and files; and the corpus
steps alone, on keys.

    python benchmarks/growth.py FOLDER_WITH_OPUS_XML --sentences 100000 1000000 10000000 --keys 1000000 100000000

The corpora are zip archives of OPUS XML made of the real files, words changed in each copy as in benchmarks/curate.py.
Every run is a process of its own with two workers. The first size runs three times, the others once. A slope is that
of log seconds by log size, by least squares, with its 95 % interval by Student's t; 1 is in proportion. What is there
is kept: a size that stands in the JSON is measured again only with --again. Writes benchmarks/growth.json and
growth.png.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.growth_corpora import files_below, write_keys, write_members, write_zip
from benchmarks.growth_picture import draw
from benchmarks.machine import command_line, describe_machine
from edos_dataset.runs.shards import write_text

WORKERS = 2

_MEASURE = """
import json, resource, runpy, sys
try:
    runpy.run_module("edos_dataset", run_name="__main__")
except SystemExit as stop:
    code = stop.code or 0
own, workers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime
print(json.dumps({"cpu_seconds": seconds, "code": code}), file=sys.stderr)
"""

_DECIDE = """
import json, resource, sys, time
from pathlib import Path
import edos_dataset.cli  # Arrow takes its memory as in every command
import pyarrow.parquet as pq
from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates
from edos_dataset.runs.engines.local import LocalEngine
if __name__ == "__main__":
    shards, work, name, workers = sorted(Path(sys.argv[1]).glob("*.parquet")), Path(sys.argv[2]), *sys.argv[3:]
    removals = [work.parent / f"{name}-removals" / shard.name for shard in shards]
    step = CapUtterances() if name == "cap" else DropDuplicates(share=None)
    began = time.perf_counter()
    with LocalEngine(int(workers)) as engine:
        step.decide_together(shards, removals, work, engine)
    seconds = time.perf_counter() - began
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    removed = sum(pq.read_metadata(path).num_rows for path in removals)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "removed": removed}))
"""

_OPEN = """
import json, re, sys, time, zipfile
from pathlib import Path
from edos_dataset.sources.directories import open_archive
def peak():  # of this program alone; that of getrusage is also that of the one which started it
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
before, began = peak(), time.process_time()
archive = {"zipfile": zipfile.ZipFile, "ours": open_archive}[sys.argv[2]](open(sys.argv[1], "rb"))
archive.getinfo("OpenSubtitles/xml/en/2000/1/1.xml")
seconds = time.process_time() - began
print(json.dumps({"mib": (peak() - before) / 1024, "cpu_seconds": seconds}))
"""


def environment() -> dict[str, str]:
    """Return the variables of a measured process: without the network, one thread a process."""
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}


def run_watched(command: Sequence[str]) -> tuple[str, str, dict[str, int]]:
    """Run a command; return what it writes to both streams, and the peak memory of it and of the largest of the
    processes that it starts, in MiB, looked up in /proc every half a second.

    Raises:
        RuntimeError: it failed.
    """
    peaks = {"driver_mib": 0, "worker_mib": 0}
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=printed, stderr=told, env=environment())
        while process.poll() is None:
            peaks["driver_mib"] = max(peaks["driver_mib"], peak_mib(process.pid))
            peaks["worker_mib"] = max([peaks["worker_mib"], *map(peak_mib, children_of(process.pid))])
            time.sleep(0.5)
        for stream in (printed, told):
            stream.seek(0)
        if process.returncode:
            raise RuntimeError(f"{command[0]} failed: {told.read()[-2000:]}")
        return printed.read(), told.read(), peaks


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started and that have not ended."""
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def peak_mib(process: int) -> int:
    """Return the peak memory of a process so far, in MiB; 0 where it has ended. That of `getrusage` would be that of
    the process which started it, too.
    """
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii")):
            return int(found[1]) // 1024
    return 0


def of_corpus(source: Path, sentences: int, place: Path) -> dict[str, Any]:
    """Make a corpus and curate it; return what that took."""
    archive, out = place / "en.zip", place / "edos"
    corpus = write_zip(source, archive, sentences)
    began = time.perf_counter()
    given = ["curate", str(archive), "--out", str(out), "--no-labels", "--workers", str(WORKERS), "--json"]
    printed, told, peaks = run_watched([sys.executable, "-c", _MEASURE, *given])
    seconds = time.perf_counter() - began
    manifest, used = json.loads(printed), json.loads(told.splitlines()[-1]) | peaks
    stages = {stage["stage"]: stage["seconds"] for stage in manifest["stages"]}
    kept = {"run": list(files_below(out / ".run")), "published": list(files_below(out / "os"))}
    disk = {name: sum(path.stat().st_size for path in paths) for name, paths in kept.items()}
    return {
        **corpus,
        "zip_bytes": archive.stat().st_size,
        "seconds": round(seconds, 2),
        **used,
        "stages": stages,
        "stage_seconds": round(sum(stages.values()), 2),
        "shards": manifest["shards"]["total"],
        "files_of_run": len(kept["run"]),
        "files_published": len(kept["published"]),
        "bytes_a_sentence": {name: round(size / corpus["sentences"], 1) for name, size in disk.items()},
        "load": round(os.getloadavg()[0], 1),
    }


def of_keys(keys: int, place: Path) -> list[dict[str, Any]]:
    """Make shards of keys and let the corpus steps decide over them; return what each took."""
    shards = write_keys(place / "keys", keys)
    rows = []
    for name in ("cap", "duplicates"):
        work = place / name
        arguments = [str(place / "keys"), str(work), name, str(WORKERS)]
        script = place / "decide.py"
        script.write_text(_DECIDE, encoding="utf-8")  # its workers import it again
        printed, _, peaks = run_watched([sys.executable, str(script), *arguments])
        passage = list(files_below(work))
        row = {"step": name, "keys": keys, "shards": len(shards), **json.loads(printed), **peaks}
        row |= {"passage_files": len(passage), "bytes_a_key": sum(path.stat().st_size for path in passage) / keys}
        rows.append(row | {"load": round(os.getloadavg()[0], 1)})
    return rows


def of_directory(members: int, place: Path) -> dict[str, Any]:
    """Return what a worker takes to open a zip of so many members, by `zipfile` and by `sources.directories`."""
    write_members(place / "many.zip", members)
    found: dict[str, Any] = {"members": members}
    for name in ("zipfile", "ours"):
        done = subprocess.run(
            [sys.executable, "-c", _OPEN, str(place / "many.zip"), name],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        )
        found[name] = {key: round(value, 2) for key, value in json.loads(done.stdout).items()}
    return found


def slope(sizes: Sequence[float], values: Sequence[float]) -> dict[str, float | None]:
    """Return the slope of log values by log sizes, with its 95 % interval where there are more than two points."""
    from scipy.stats import linregress, t

    if len(set(sizes)) < 2:
        return {"slope": None, "low": None, "high": None}
    fit = linregress(np.log(sizes), np.log(values))
    if len(sizes) < 3:
        return {"slope": round(float(fit.slope), 3), "low": None, "high": None}
    reach = float(t.ppf(0.975, len(sizes) - 2) * fit.stderr)
    return {name: round(float(fit.slope + sign * reach), 3) for name, sign in (("slope", 0), ("low", -1), ("high", 1))}


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Return slopes, and memory at the largest size as a share of that at the next smaller one."""
    runs, found = result["corpora"], {}
    for name in ("seconds", "cpu_seconds"):
        found[f"corpus {name}"] = slope([run["sentences"] for run in runs], [run[name] for run in runs])
    for step in ("cap", "duplicates"):
        rows = [row for row in result["keys"] if row["step"] == step]
        found[f"{step} cpu_seconds"] = slope([row["keys"] for row in rows], [row["cpu_seconds"] for row in rows])
    sizes = sorted({run["sentences"] for run in runs})
    growth = {}
    for name in ("driver_mib", "worker_mib"):
        most = [max(run[name] for run in runs if run["sentences"] == size) for size in sizes]
        growth[name] = round(most[-1] / most[-2], 3) if len(most) > 1 else None
    if len(sizes) > 1:  # slopes of small sizes are less than 1 for what a run takes however small it is
        per_unit, startup = np.polyfit([run["sentences"] for run in runs], [run["cpu_seconds"] for run in runs], 1)
        found["corpus cpu_seconds"] |= {
            "microseconds_a_sentence": round(1e6 * per_unit, 1),
            "startup": round(startup, 1),
        }
    return {"slopes": found, "memory_of_the_largest_by_the_next": growth}


def main() -> None:
    """Measure what is not there yet, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--sentences", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--keys", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--members", type=int, default=450_000, help="of the zip archive whose directory is read")
    parser.add_argument("--repeats", type=int, default=3, help="of the least size")
    parser.add_argument("--again", action="store_true", help="measure everything again")
    parser.add_argument("--work", type=Path, help="folder for corpora and runs, several times their size")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    there = arguments.out.exists() and not arguments.again
    result = json.loads(arguments.out.read_text(encoding="utf-8")) if there else {"corpora": [], "keys": []}
    wanted = [size for size in arguments.sentences if size not in {run["wanted"] for run in result["corpora"]}]
    for size in sorted(wanted):
        for _ in range(arguments.repeats if size == min(arguments.sentences) else 1):
            with tempfile.TemporaryDirectory(dir=arguments.work) as place:
                result["corpora"].append({"wanted": size, **of_corpus(arguments.source, size, Path(place))})
            save(arguments.out, result)
    for size in sorted(set(arguments.keys) - {row["keys"] for row in result["keys"]}):
        with tempfile.TemporaryDirectory(dir=arguments.work) as place:
            result["keys"] += of_keys(size, Path(place))
        save(arguments.out, result)
    if result.get("directory", {}).get("members") != arguments.members:
        with tempfile.TemporaryDirectory(dir=arguments.work) as place:
            result["directory"] = of_directory(arguments.members, Path(place))
        save(arguments.out, result)


def save(out: Path, result: dict[str, Any]) -> None:
    """Write what is measured so far, and its picture."""
    result |= {"command": command_line(), "date": date.today().isoformat(), "machine": describe_machine()}
    result |= summary(result)
    write_text(out, json.dumps(result, indent=1) + "\n")
    draw(result, out.with_suffix(".png"))
    print(json.dumps(result["slopes"]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
