"""The cost of Ray compared with `local`, and the gain of a second worker: the same runs with both engines, alternately.

    python benchmarks/ray_engine.py FOLDER_WITH_OPUS_XML --copies 40 --repeats 3

The corpus is that of `benchmarks/curate.py`, labelled by `fast`. Every run is a separate process, `edos curate`; each
round runs both engines with 1 and with 2 workers, so that a busy machine slows all, and ratios are medians over rounds.
A run of one film shows the start-up cost of an engine; the additional cost per shard is the rest of the difference,
divided by the shards of all phases. All published files must be equal. Writes benchmarks/ray_engine.json.
"""

import argparse
import statistics
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.curate import make_corpus
from benchmarks.engines import published, run
from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.runs.engines import engine_of

RUNS = [("local", 1), ("ray", 1), ("local", 2), ("ray", 2)]
Seconds = dict[str, list[float]]


def measure(films: Path, work: Path, repeats: int) -> tuple[Seconds, Seconds, int]:
    """Return the seconds of every run and of a run of one film, by engine and workers, and the number of shards in a
    run.

    Raises:
        RuntimeError: a run failed, or its published files differ.
    """
    seconds: Seconds = {f"{engine} {workers}": [] for engine, workers in RUNS}
    one_film: Seconds = {f"{engine} {workers}": [] for engine, workers in RUNS}
    digests, shards = set(), 0
    for repeat in range(repeats):
        for engine, workers in RUNS:
            name, out = f"{engine} {workers}", work / f"{engine}{workers}-{repeat}"
            seconds[name].append(run(films, out, engine, workers))
            one_film[name].append(run(films, work / f"{out.name}-one", engine, workers, limit=1))
            digests.add(published(out))
            shards = len([path for path in out.glob(".run/0[1-9]-*/*.json") if path.name != "decided.json"])
            sys.stderr.write(f"{name}: {seconds[name][-1]:.1f} s, one film {one_film[name][-1]:.1f} s\n")
    if len(digests) != 1:
        raise RuntimeError(f"the engines published {len(digests)} different data sets")
    return seconds, one_film, shards


def start_up(name: str, workers: int) -> dict[str, float]:
    """Return the seconds to start an engine with its workers, to run an empty task, and to stop everything."""
    began = time.perf_counter()
    with engine_of(name, workers) as engine:
        list(engine.map(time.sleep, [0.5] * workers))
        ready = time.perf_counter()
        list(engine.map(abs, range(100)))
        done = time.perf_counter()
    ended = time.perf_counter()
    return {
        "until_ready": round(ready - began - 0.5, 2),
        "per_empty_task": round((done - ready) / 100, 5),
        "until_ended": round(ended - done, 2),
    }


def ratio(seconds: Seconds, over: str, under: str) -> float:
    """Return the median over the rounds of the ratio of two kinds of runs."""
    return round(statistics.median(a / b for a, b in zip(seconds[over], seconds[under], strict=True)), 3)


def compare(seconds: Seconds, one_film: Seconds, shards: int) -> dict[str, Any]:
    """Return the figures derived from the seconds."""
    facts: dict[str, Any] = {"shards_made": shards}
    for workers in (1, 2):
        ray, local = f"ray {workers}", f"local {workers}"
        times = zip(*(kind[name] for kind in (seconds, one_film) for name in (ray, local)), strict=True)
        more = [a - b - (a_one - b_one) for a, b, a_one, b_one in times]
        facts[f"{workers} workers"] = {
            "ray_to_local": ratio(seconds, ray, local),
            "ray_to_local_of_one_film": ratio(one_film, ray, local),
            "seconds_more_per_shard": round(statistics.median(more) / shards, 4),
        }
    for engine in ("local", "ray"):
        facts[f"{engine}: 1 worker to 2"] = ratio(seconds, f"{engine} 1", f"{engine} 2")
    return facts


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    facts: dict[str, Any] = {"date": str(date.today()), "machine": describe_machine(), "command": command_line()}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = make_corpus(arguments.source, work / "films", arguments.copies)
        seconds, one_film, shards = measure(work / "films", work, arguments.repeats)
    rounded = [{name: [round(time, 2) for time in times] for name, times in one.items()} for one in (seconds, one_film)]
    facts |= {"files": len(files), "seconds": rounded[0], "seconds_of_one_film": rounded[1]}
    facts |= compare(seconds, one_film, shards) | {"published_files_equal": True}
    facts["start_up"] = {name: start_up(name, 2) for name in ("local", "ray")}
    write_result(arguments.out, facts)


if __name__ == "__main__":
    main()
