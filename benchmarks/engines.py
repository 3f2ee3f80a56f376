"""Seconds of the same run with each engine, from OPUS XML to labelled dialogues, compared with `local`, in one run.

    python benchmarks/engines.py FOLDER_WITH_OPUS_XML --copies 40 --repeats 3

The corpus is that of `benchmarks/curate.py`; turns are segmented by the default scorer and labelled by `fast`. Every
run is a separate process, `edos curate` with `--engine`; `accelerate` launches as many processes as the others have
workers. Engines alternate, so that a busy machine slows all; the ratios are those of the minima, and all published
files must be equal. A run of one film shows the start-up cost of an engine. Writes benchmarks/engines.json.
"""

import argparse
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.curate import make_corpus
from benchmarks.machine import describe_machine, write_result


def command(films: Path, out: Path, engine: str, workers: int, limit: int | None) -> list[str]:
    """Return the command line of a run."""
    models = ["--weak-model", "fast", "--model", "fast"]
    limited = [] if limit is None else ["--limit", str(limit)]
    own = 1 if engine == "accelerate" else workers
    return [
        *(sys.executable, "-m", "edos_dataset", "curate", str(films), "--out", str(out), *models, *limited),
        *("--engine", engine, "--workers", str(own)),
    ]


def run(films: Path, out: Path, engine: str, workers: int, limit: int | None = None) -> float:
    """Run `edos curate` with an engine; return seconds.

    Raises:
        RuntimeError: the command failed.
    """
    line = command(films, out, engine, workers, limit)
    count = workers if engine == "accelerate" else 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", **(launch if count > 1 else {})}
    began = time.perf_counter()
    processes = [
        subprocess.Popen(
            line,
            env={**environment, **({"RANK": str(rank), "LOCAL_RANK": str(rank)} if count > 1 else {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for rank in range(count)
    ]
    for process in processes:
        _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{' '.join(line)} ended with {process.returncode}: {errors.decode()[-500:]}")
    return time.perf_counter() - began


def published(out: Path) -> str:
    """Return a digest of all published Parquet files."""
    digest = hashlib.sha256()
    for path in sorted(out.glob("*/*.parquet")):
        digest.update(path.relative_to(out).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def compare(films: Path, work: Path, engines: list[str], workers: int, repeats: int) -> dict[str, Any]:
    """Run the engines alternately; return the seconds of each run and of a run of one film, and the ratios to the first
    engine.
    """
    seconds: dict[str, list[float]] = {engine: [] for engine in engines}
    start: dict[str, list[float]] = {engine: [] for engine in engines}
    digests = set()
    for repeat in range(repeats):
        for engine in engines:
            seconds[engine].append(run(films, work / f"{engine}{repeat}", engine, workers))
            digests.add(published(work / f"{engine}{repeat}"))
            start[engine].append(run(films, work / f"{engine}{repeat}-one", engine, workers, limit=1))
            sys.stderr.write(f"{engine}: {seconds[engine][-1]:.1f} s, one film {start[engine][-1]:.1f} s\n")
    if len(digests) != 1:
        raise RuntimeError(f"the engines published {len(digests)} different data sets")
    base, least = min(seconds[engines[0]]), {engine: min(times) for engine, times in seconds.items()}
    return {
        "seconds": {engine: [round(time, 2) for time in times] for engine, times in seconds.items()},
        "seconds_of_one_film": {engine: [round(time, 2) for time in times] for engine, times in start.items()},
        f"ratio_to_{engines[0]}": {engine: round(time / base, 3) for engine, time in least.items()},
        "published_files_equal": True,
    }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--engines", nargs="+", default=["local", "accelerate", "datasets"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = make_corpus(arguments.source, work / "films", arguments.copies)
        result = compare(work / "films", work, arguments.engines, arguments.workers, arguments.repeats)
        manifest = json.loads((work / f"{arguments.engines[0]}0" / "manifest.json").read_text(encoding="utf-8"))
    turns = manifest["configs"]["edos"]["turns"]
    facts = {"date": str(date.today()), "machine": describe_machine(), "files": len(files), "turns": turns}
    write_result(arguments.out, {**facts, "workers": arguments.workers, **result})


if __name__ == "__main__":
    main()
