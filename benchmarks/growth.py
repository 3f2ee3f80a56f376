"""The cost of a run as its corpus grows: time, memory of the driver and of its workers, disk and files; and the corpus
steps alone, on synthetic keys.

    python benchmarks/growth.py FOLDER_WITH_OPUS_XML --sentences 100000 1000000 10000000 --keys 1000000 100000000

The corpora are zip archives of OPUS XML made from the real files, with words replaced in each copy as in
benchmarks/curate.py. Every run is a separate process with two workers. The first size is run three times, the others
once. A slope is that of log seconds by log size, by least squares, with its 95 % interval from Student's t; 1 means
proportional. Existing results are kept: a size in the JSON is measured again only with --again. Writes
benchmarks/growth.json and growth.png.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.curate import change_words, words_of
from benchmarks.machine import command_line, describe_machine
from edos_dataset.runs.shards import replacing, write_shard, write_text

SHARD_KEYS = 20_000
"""Number of turns in a shard of keys."""

_TURNS = 10
_COPIED = 0.01  # fraction of the dialogues that are copies, in each of a hundred shards


def write_zip(source: Path, target: Path, sentences: int, processes: int = 2) -> dict[str, int]:
    """Write copies of OPUS files, each with many words replaced, up to a number of sentences.

    Returns:
        Number of files, `bytes` unpacked, `sentences`.
    """
    sources = [path.read_bytes() for path in sorted(source.rglob("*.xml"))]
    lengths = [data.count(b"<s ") for data in sources]
    copies = max(1, round(sentences / sum(lengths)))
    work = partial(_copy, sources, words_of(sources))
    size = 0
    with (
        multiprocessing.get_context("fork").Pool(processes) as pool,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for number, data in enumerate(pool.imap(work, range(copies * len(sources)), chunksize=4)):
            archive.writestr(f"OpenSubtitles/xml/en/{1950 + number % 70}/{1000 + number}/{number}.xml", data)
            size += len(data)
    return {"files": copies * len(sources), "bytes": size, "sentences": copies * sum(lengths)}


def _copy(sources: Sequence[bytes], words: Sequence[bytes], number: int) -> bytes:
    return change_words(sources[number % len(sources)], words, number)


def write_keys(folder: Path, keys: int, processes: int = 2) -> list[Path]:
    """Write shards of dialogues of ten turns, with the keys that the steps for utterances and exact duplicates read.

    30 % of the turns are from a hundred thousand utterances, whose frequencies follow Zipf's law, and all others are
    unique; 1 % of the dialogues are copies of dialogues in another shard.
    """
    folder.mkdir(parents=True)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return pool.map(partial(_write_keys, folder), range(max(1, keys // SHARD_KEYS)), chunksize=8)


def _write_keys(folder: Path, number: int) -> Path:
    dialogues = SHARD_KEYS // _TURNS
    own, shared = np.random.default_rng([1, number]), np.random.default_rng([2, number // 100])
    keys = _keys(own, dialogues)
    copied = int(_COPIED * dialogues)
    keys[:copied] = _keys(shared, copied)  # the same in a hundred shards
    turns = pa.StructArray.from_arrays([pa.array(keys.ravel())], names=["key"])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(dialogues + 1) * _TURNS, pa.int32()), turns)
    path = folder / f"{number:06d}.parquet"
    write_shard(path, pa.table({"dialogue_id": [f"{number}/{row}" for row in range(dialogues)], "turns": lists}))
    return path


def _keys(dice: np.random.Generator, dialogues: int) -> np.ndarray:
    """Return the keys of dialogues, int64 [dialogues, turns]."""
    shape = (dialogues, _TURNS)
    single = dice.integers(-(1 << 63), 1 << 63, shape, np.int64)
    frequent = (100_000.0 ** dice.random(shape)).astype(np.int64)
    return np.where(dice.random(shape) < 0.3, frequent, single)


def write_members(target: Path, members: int) -> None:
    """Write a zip archive of empty members with names like those of OPUS."""
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(members):
            archive.writestr(zipfile.ZipInfo(f"OpenSubtitles/xml/en/2000/{number}/{number}.xml"), b"")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder."""
    return (path for path in folder.rglob("*") if path.is_file())


_BLUE, _ORANGE, _GREEN = "#2060a0", "#c06000", "#208040"


def _step(axes: "Axes", rows: Sequence[Mapping[str, Any]], step: str, colour: str) -> None:
    own = [row for row in rows if row["step"] == step]
    _line(axes, [row["keys"] for row in own], [row["cpu_seconds"] for row in own], step, colour)


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw the measurements as a PNG; dashed lines are proportional to the size."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    time, memory, disk, keys = figure.subplots(1, 4)
    runs, rows = result["corpora"], result["keys"]
    sizes = [run["sentences"] for run in runs]
    _points(time, "time, two workers", "sentences", "seconds")
    _line(time, sizes, [run["seconds"] for run in runs], "clock", _BLUE)
    _line(time, sizes, [run["cpu_seconds"] for run in runs], "processors", _ORANGE)
    _points(memory, "peak memory", "sentences", "MiB")
    memory.set_yscale("linear")
    memory.plot(sizes, [run["driver_mib"] for run in runs], "o-", label="driver", color=_BLUE)
    memory.plot(sizes, [run["worker_mib"] for run in runs], "o-", label="largest worker", color=_ORANGE)
    memory.set_ylim(bottom=0)
    _points(disk, "disk", "sentences", "bytes a sentence")
    bytes_of = [run["bytes_a_sentence"] for run in runs]
    disk.plot(sizes, [each["run"] for each in bytes_of], "o-", label="run", color=_BLUE)
    disk.plot(sizes, [each["published"] for each in bytes_of], "o-", label="published", color=_ORANGE)
    _points(keys, "corpus steps alone", "keys", "seconds of the processors")
    _step(keys, rows, "cap", _BLUE)
    _step(keys, rows, "duplicates", _GREEN)
    for axes in (time, memory, disk, keys):
        if axes.lines:
            axes.legend(frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110, metadata={"Software": None})  # the same bytes each time


def _points(axes: Axes, title: str, along: str, up: str) -> None:
    axes.set(title=title, xlabel=along, ylabel=up, xscale="log", yscale="log")
    axes.grid(True, which="major", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)


def _line(axes: Axes, sizes: Sequence[float], values: Sequence[float], label: str, colour: str) -> None:
    if not sizes:
        return
    axes.plot(sizes, values, "o", label=label, color=colour)
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    ends = [min(sizes), max(sizes)]
    axes.plot(ends, [values[largest] * end / sizes[largest] for end in ends], "--", color=colour, linewidth=1)


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

_OPEN = r"""
import json, re, sys, time, zipfile
from pathlib import Path
from edos_dataset.sources.archives import open_archive
def peak():  # of this program alone; that of getrusage is also that of the one which started it
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
before, began = peak(), time.process_time()
archive = {"zipfile": zipfile.ZipFile, "ours": open_archive}[sys.argv[2]](open(sys.argv[1], "rb"))
archive.getinfo("OpenSubtitles/xml/en/2000/1/1.xml")
seconds = time.process_time() - began
print(json.dumps({"mib": (peak() - before) / 1024, "cpu_seconds": seconds}))
"""


def environment() -> dict[str, str]:
    """Return the variables of a measured process: no network, one thread per process."""
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}


def run_watched(command: Sequence[str]) -> tuple[str, str, dict[str, int]]:
    """Run a command; return its two output streams, and the peak memory of the command and of the largest of its child
    processes, in MiB, read from /proc every half second.

    Raises:
        RuntimeError: the command failed.
    """
    peaks = {"driver_mib": 0, "worker_mib": 0}
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=printed, stderr=errors, env=environment())
        while process.poll() is None:
            peaks["driver_mib"] = max(peaks["driver_mib"], peak_mib(process.pid))
            peaks["worker_mib"] = max([peaks["worker_mib"], *map(peak_mib, children_of(process.pid))])
            time.sleep(0.5)
        for stream in (printed, errors):
            stream.seek(0)
        if process.returncode:
            raise RuntimeError(f"{command[0]} failed: {errors.read()[-2000:]}")
        return printed.read(), errors.read(), peaks


def children_of(process: int) -> list[int]:
    """Return the running child processes of a process."""
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def peak_mib(process: int) -> int:
    """Return the peak memory of a process so far, in MiB; 0 if it has ended. `getrusage` would include the memory of
    the process that started it.
    """
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii")):
            return int(found[1]) // 1024
    return 0


def of_corpus(source: Path, sentences: int, place: Path) -> dict[str, Any]:
    """Make a corpus and curate it; return the cost."""
    archive, out = place / "en.zip", place / "edos"
    corpus = write_zip(source, archive, sentences)
    began = time.perf_counter()
    given = ["curate", str(archive), "--out", str(out), "--no-labels", "--workers", str(WORKERS), "--json"]
    printed, errors, peaks = run_watched([sys.executable, "-c", _MEASURE, *given])
    seconds = time.perf_counter() - began
    manifest, used = json.loads(printed), json.loads(errors.splitlines()[-1]) | peaks
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
    """Make shards of keys and run the corpus steps on them; return the cost of each."""
    shards = write_keys(place / "keys", keys)
    rows = []
    for name in ("cap", "duplicates"):
        work = place / name
        arguments = [str(place / "keys"), str(work), name, str(WORKERS)]
        script = place / "decide.py"
        script.write_text(_DECIDE, encoding="utf-8")  # its workers import it again
        printed, _, peaks = run_watched([sys.executable, str(script), *arguments])
        shuffled = list(files_below(work))
        row = {"step": name, "keys": keys, "shards": len(shards), **json.loads(printed), **peaks}
        row |= {"passage_files": len(shuffled), "bytes_a_key": sum(path.stat().st_size for path in shuffled) / keys}
        rows.append(row | {"load": round(os.getloadavg()[0], 1)})
    return rows


def of_directory(members: int, place: Path) -> dict[str, Any]:
    """Return the cost for a worker of opening a zip with a number of members, with `zipfile` and with
    `sources.archives`.
    """
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
    """Return the slope of log values by log sizes, with its 95 % interval if there are more than two points."""
    from scipy.stats import linregress, t

    if len(set(sizes)) < 2:
        return {"slope": None, "low": None, "high": None}
    fit = linregress(np.log(sizes), np.log(values))
    if len(sizes) < 3:
        return {"slope": round(float(fit.slope), 3), "low": None, "high": None}
    reach = float(t.ppf(0.975, len(sizes) - 2) * fit.stderr)
    return {name: round(float(fit.slope + sign * reach), 3) for name, sign in (("slope", 0), ("low", -1), ("high", 1))}


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Return the slopes, and the memory at the largest size relative to that at the next smaller one."""
    runs, found = result["corpora"], {}
    for name in ("seconds", "cpu_seconds"):
        found[f"corpus {name}"] = slope([run["sentences"] for run in runs], [run[name] for run in runs])
    for step in ("cap", "duplicates"):
        rows = [row for row in result["keys"] if row["step"] == step]
        found[f"{step} cpu_seconds"] = slope([row["keys"] for row in rows], [row["cpu_seconds"] for row in rows])
    if len({run["sentences"] for run in runs}) > 1:  # fixed costs lower the slopes at small sizes
        per_unit, startup = np.polyfit([run["sentences"] for run in runs], [run["cpu_seconds"] for run in runs], 1)
        found["corpus cpu_seconds"] |= {
            "microseconds_a_sentence": round(1e6 * per_unit, 1),
            "startup": round(startup, 1),
        }
    growth = {name: _growth(runs, name) for name in ("driver_mib", "worker_mib")}
    return {"slopes": found, "memory_of_the_largest_by_the_next": growth}


def _growth(runs: list[dict[str, Any]], name: str) -> float | None:
    """Return the peak at the largest size relative to that at the next smaller one."""
    sizes = sorted({run["sentences"] for run in runs})
    most = [max(run[name] for run in runs if run["sentences"] == size) for size in sizes]
    return round(most[-1] / most[-2], 3) if len(most) > 1 else None


def main() -> None:
    """Measure what is missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--sentences", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--keys", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--members", type=int, default=450_000, help="members of the zip archive that is opened")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs of the smallest size")
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
    """Write the results so far, and their chart."""
    result |= {"command": command_line(), "date": date.today().isoformat(), "machine": describe_machine()}
    result |= summary(result)
    write_text(out, json.dumps(result, indent=1) + "\n")
    draw(result, out.with_suffix(".png"))
    print(json.dumps(result["slopes"]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
