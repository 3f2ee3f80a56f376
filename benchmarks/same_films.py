"""The cost of finding copies in a run: CPU time from OPUS XML to cleaned dialogues with the step "films" and
near-duplicate removal, compared with the same run without them and with a bare lxml parse-and-walk; and the memory of a
partition per hash.

    python benchmarks/same_films.py FOLDER_WITH_OPUS_XML --copies 60 --repeats 3

There is one worker, in this process, so that its CPU time is complete; the runs alternate, and the ratios are those of
the minima. The copies are those of benchmarks/curate.py. Writes benchmarks/same_films.json.
"""

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.curate import bare_walk, make_corpus
from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.cleaning.duplicates import DropSameFilms
from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.near_duplicates import BYTES_A_HASH, SKETCH, NearDuplicates, decide_near_duplicates
from edos_dataset.runs.recipes import Item, override
from edos_dataset.runs.shards import write_shard


def pipelines(scorer: str) -> dict[str, list[Item]]:
    """Return the pipeline with and without the search for copies."""
    whole = override(subtitles_to_dialogues(), [f"turns.scorer={scorer}"])
    without = [item for item in override(whole, ["duplicates.share=null"]) if not isinstance(item, DropSameFilms)]
    return {"with": whole, "without": without}


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call in this process, and its result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def run(folder: Path, pipeline: list[Item]) -> dict[str, Any]:
    """Curate into a new folder; return the manifest."""
    with tempfile.TemporaryDirectory() as out:
        return dict(curate(folder, Path(out) / "edos", pipeline))


def same_hashes(table: pa.Table) -> pa.Table:
    """Return MinHash signatures of rows in groups of forty with equal hashes: about the worst case for a partition."""
    rows = np.repeat(np.arange(table.num_rows), 100)
    groups, places = rows // 40, np.tile(np.arange(100), table.num_rows)
    mixed = (groups * 100 + places).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    columns = (mixed, rows.astype(np.int32), rows.astype(np.uint64), np.full(len(rows), 100.0), np.ones(len(rows)))
    return pa.table(dict(zip(SKETCH.names, columns, strict=True)), schema=SKETCH)


def bytes_a_hash(units: int = 2_000) -> float:
    """Return the maximum memory of a partition per hash, of Python and Arrow together."""
    pool = pa.default_memory_pool()
    comparison = NearDuplicates(same_hashes, ("unit",), 0.5, 8, "alike", 1 << 40)
    with tempfile.TemporaryDirectory() as folder:
        write_shard(Path(folder) / "0.parquet", pa.table({"unit": np.arange(units)}))
        before = pool.max_memory()
        tracemalloc.start()
        shards, removals = ([Path(folder) / f"{name}.parquet"] for name in ("0", "removals"))
        decide_near_duplicates(comparison, 1, shards, removals, Path(folder) / "work", LocalEngine())
        most = tracemalloc.get_traced_memory()[1] + pool.max_memory() - before
        tracemalloc.stop()
    return float(most) / (100 * units)


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--copies", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    measured = bytes_a_hash()
    result: dict[str, Any] = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "bytes_a_hash": {"measured": round(measured), "stated": BYTES_A_HASH},
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "opus"
        files = make_corpus(arguments.source, folder, arguments.copies)
        for scorer in ("rules", "blend"):
            seconds: dict[str, list[float]] = {"walk": [], "with": [], "without": []}
            for _ in range(arguments.repeats):
                seconds["walk"].append(cpu_seconds(partial(bare_walk, files))[0])
                for name, pipeline in pipelines(scorer).items():
                    spent, manifest = cpu_seconds(partial(run, folder, pipeline))
                    seconds[name].append(spent)
            least = {name: min(values) for name, values in seconds.items()}
            stages = {stage["stage"]: stage for stage in manifest["stages"]}
            result[scorer] = {
                "sentences": next(stage["read"] for stage in stages.values() if stage["unit"] == "sentences"),
                "cpu_seconds": {name: [round(value, 2) for value in values] for name, values in seconds.items()},
                "with_over_without": round(least["with"] / least["without"], 3),
                "times_the_walk": {name: round(least[name] / least["walk"], 2) for name in ("with", "without")},
            }
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
