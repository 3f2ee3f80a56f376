"""The cost of `edos report` on 10,000, 100,000 and 1,000,000 dialogues: seconds, memory, and size of the page.

    python benchmarks/report.py --sizes 10000 100000 1000000

The dialogues are made of words drawn by Zipf's law, with the lengths of EDOS, every turn labelled. Each report is a
separate process, run as by a user; memory is the peak of the largest of its processes. Writes benchmarks/report.json.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.machine import command_line, describe_machine
from edos_dataset.arrays import nest
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import write_text
from edos_dataset.schema import arrow_schema

TURNS, TOKENS, WORDS = 2.83, 13.9, 200_000
"""Turns per dialogue, tokens per turn (EDOS paper, Table 3), and words in the vocabulary."""
_ROWS, _FILE = 10_000, 100_000


def make_folder(folder: Path, dialogues: int, seed: int = 0) -> None:
    """Write dialogues as the config "edos" of a folder."""
    generator = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfw"))
    words = pa.array(["".join(generator.choice(letters, size)) for size in generator.integers(2, 10, WORDS)])
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    schema, of_config = arrow_schema("edos"), folder / "edos"
    of_config.mkdir(parents=True)
    files = -(-dialogues // _FILE)
    for number in range(files):
        path = of_config / f"train-{number:05d}-of-{files:05d}.parquet"
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for begin in range(number * _FILE, min(dialogues, (number + 1) * _FILE), _ROWS):
                rows = min(_ROWS, dialogues - begin)
                writer.write_table(_table(generator, words, shares, begin, rows, schema))


def _table(
    generator: np.random.Generator, words: pa.Array, shares: np.ndarray, begin: int, rows: int, schema: pa.Schema
) -> pa.Table:
    sizes = 2 + generator.poisson(TURNS - 2, rows)
    offsets = np.r_[0, np.cumsum(sizes)]
    lengths = 1 + generator.poisson(TOKENS - 1, offsets[-1])
    drawn = np.searchsorted(shares, generator.random(lengths.sum()) * shares[-1])
    parts = pa.ListArray.from_arrays(pa.array(np.r_[0, np.cumsum(lengths)], pa.int32()), words.take(pa.array(drawn)))
    labels = generator.integers(0, len(LABELS), (offsets[-1], 3))
    item = schema.field("turns").type.value_type
    top_item = item.field("top").type.value_type
    top = nest(
        np.arange(0, 3 * offsets[-1] + 1, 3),
        top_item,
        {"label": labels.ravel(), "probability": np.tile(np.array([0.5, 0.2, 0.1], np.float32), offsets[-1])},
    )
    columns = {
        "text": pc.binary_join(parts, " "),
        "label": labels[:, 0],
        "confidence": generator.random(offsets[-1]).astype(np.float32),
        "top": top,
    }
    numbers = np.arange(begin, begin + rows)
    names = [f"{1950 + film % 70}/{film}/{film}.xml" for film in (numbers // 20).tolist()]
    source = [{"kind": "opus", "year": 1950 + int(film) % 70} for film in (numbers // 20).tolist()]
    given = {
        "dialogue_id": [f"{name}#{number}" for name, number in zip(names, numbers.tolist(), strict=True)],
        "document_id": names,
        "source": pa.array(source, schema.field("source").type),
        "certainty": generator.random(rows).astype(np.float32),
        "turns": nest(offsets, item, columns),
    }
    return pa.table({name: given.get(name, pa.nulls(rows, schema.field(name).type)) for name in schema.names}, schema)


def measure(dialogues: int, workers: int) -> dict[str, Any]:
    """Return the cost of a report on a number of dialogues."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "data", Path(scratch) / "report.html"
        make_folder(folder, dialogues)
        edos = [sys.executable, "-m", "edos_dataset", "--quiet", "report", str(folder), "--out", str(out)]
        began, before = time.perf_counter(), os.times()
        process = subprocess.Popen([*edos, "--workers", str(workers)], stdout=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, *map(_peak, (process.pid, *_children(process.pid))))
            time.sleep(0.05)
        if process.returncode:
            raise SystemExit(f"{' '.join(edos)} failed")
        after = os.times()
        return {
            "dialogues": dialogues,
            "seconds": round(time.perf_counter() - began, 1),
            "cpu_seconds": round(after.children_user + after.children_system - sum(before[2:4]), 1),
            "most_mib_of_a_process": most >> 10,
            "page_mb": round(out.stat().st_size / 1e6, 2),
            "json_mb": round(out.with_suffix(".json").stat().st_size / 1e6, 2),
        }


def _peak(process: int) -> int:
    """Return the peak memory of a process in KiB; ru_maxrss of a child would include the memory of its parent."""
    with suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        return max([0, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
    return 0


def _children(process: int) -> list[int]:
    with suppress(OSError):
        found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
        return list(map(int, found.split()))
    return []


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    rows = []
    for size in arguments.sizes:
        rows.append(measure(size, arguments.workers))
        print(rows[-1])  # noqa: T201
    result = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "workers": arguments.workers,
        "reports": rows,
    }
    write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
