"""Publishing a dataset of the papers' size to a Hub on this machine: time and peak memory, compared with
`upload_folder` of huggingface_hub and with hashing alone.

    python benchmarks/publish.py --dialogues 1000000

The dialogues are synthetic, with the papers' lengths (2.83 turns per dialogue, 14 words per turn), labelled, and
written as by `edos curate`; the Hub is that of the tests, in a separate process. Measured, each in a separate process:
publishing the first version; the same again, which changes nothing; a second version with more dialogues, which is
compared with the first row by row, read from the Hub; and loading the published dataset. For comparison, in the same
run: `HfApi.upload_folder` of the same folder, which checks nothing, and SHA-256 of all bytes, which every upload of
large files needs. Linux only. Writes benchmarks/publish.json.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints
from edos_dataset.runs.shards import write_text

ROOT = Path(__file__).parents[1]
SHARD = 50_000
SENTENCES, WORDS, TURNS = 400_000, 14, (2, 3, 4)
SHARES = (0.4, 0.37, 0.23)
"""Fractions of dialogues with 2, 3 and 4 turns: 2.83 on average."""

HUB = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from local_hub.server import LocalHub
with LocalHub(Path(sys.argv[2]) / "objects") as hub:
    print(hub.url, flush=True)
    sys.stdin.read()
"""
UPLOAD = """
import sys
from huggingface_hub import HfApi
api = HfApi()
api.create_repo("ns/plain", repo_type="dataset")
api.upload_folder(folder_path=sys.argv[1], repo_id="ns/plain", repo_type="dataset", ignore_patterns=[".run/**"])
"""
LOAD = """
import sys
from datasets import load_dataset
data = load_dataset("ns/edos", revision="v1.0.0")
print(sum(map(len, data.values())))
"""


def sentences() -> pa.Array:
    """Return texts of about WORDS words, whose frequencies are distributed as in natural language."""
    generator = np.random.default_rng(0)
    words = np.array(
        ["".join(generator.choice(list("etaoinshrdlucmfwyp"), size)) for size in generator.integers(2, 9, 20_000)]
    )
    frequency = 1 / np.arange(10, 20_010)
    drawn = generator.choice(words, (SENTENCES, WORDS + 6), p=frequency / frequency.sum())
    lengths = generator.integers(WORDS - 6, WORDS + 7, SENTENCES)
    return pa.array([" ".join(row[:length]).capitalize() + "." for row, length in zip(drawn, lengths, strict=True)])


def shard(number: int, rows: int, texts: pa.Array) -> pa.Table:
    """Return labelled dialogues with the columns that a run writes for the config edos."""
    from edos_dataset.arrays import nest
    from edos_dataset.schema import LABELLED, LABELLED_TURN, SOURCE, TOP

    generator = np.random.default_rng(number + 1)
    turns = generator.choice(TURNS, rows, p=SHARES)
    offsets = np.concatenate([[0], np.cumsum(turns)])
    total = int(offsets[-1])
    films = [f"tt{number:04d}{row // 40:05d}" for row in range(rows)]
    top = np.sort(generator.random((total, 3)).astype(np.float32), axis=1)[:, ::-1]
    labels = generator.integers(0, 41, (total, 3))
    columns = {
        "text": texts.take(pa.array(generator.integers(0, len(texts), total))),
        "start": np.round(generator.random(total) * 7000, 3),
        "end": np.round(generator.random(total) * 7000, 3),
        "sentence_ids": nest_numbers(np.arange(total)),
        "label": labels[:, 0],
        "confidence": top[:, 0].copy(),
        "top": nest(
            np.arange(0, 3 * total + 1, 3), TOP, {"label": labels.reshape(-1), "probability": top.reshape(-1).copy()}
        ),
        "label_source": pa.array(["toy"] * total),
    }
    source = [
        {"kind": "opus", "path": f"{film}.xml", "imdb_id": film[2:], "year": 2000 + row % 20, "genres": ["Drama"]}
        for row, film in enumerate(films)
    ]
    table = {
        "dialogue_id": [f"{film}#{row}" for row, film in enumerate(films)],
        "document_id": films,
        "film": films,
        "language": ["en"] * rows,
        "source": pa.array(source, SOURCE),
        "reading": pa.nulls(rows, LABELLED.field("reading").type),
        "turns": nest(offsets, LABELLED_TURN, columns),
        "embeddings": pa.nulls(rows, pa.large_binary()),
        "emotionality": generator.random(rows).astype(np.float32),
        "confidence": generator.random(rows).astype(np.float32),
    }
    return pa.table({field.name: pa.array(table[field.name], field.type) for field in LABELLED}, schema=LABELLED)


def nest_numbers(values: Ints) -> pa.ListArray:
    """Return a list of one number each."""
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1), pa.int32()), pa.array(values, pa.int32()))


def write_run(folder: Path, work: Path, dialogues: int) -> float:
    """Write a folder like `edos curate`; return the seconds of writing the published files."""
    from edos_dataset.publishing.cards.dataset import dataset_card
    from edos_dataset.publishing.layout import write_config
    from edos_dataset.runs.shards import write_shard

    sizes = [min(SHARD, dialogues - start) for start in range(0, dialogues, SHARD)]
    shards = [work / f"{number:05d}-{size}.parquet" for number, size in enumerate(sizes)]
    texts = None
    for number, (path, size) in enumerate(zip(shards, sizes, strict=True)):
        if not path.is_file():
            texts = sentences() if texts is None else texts
            write_shard(path, shard(number, size, texts))
    began = time.perf_counter()
    written = write_config("edos", shards, folder)
    seconds = time.perf_counter() - began
    (folder / "README.md").write_text(dataset_card([written], "en", {}, []), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps({"configs": {"edos": {"dialogues": dialogues}}}), encoding="utf-8")
    return seconds


def measured(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run a command; return its seconds, its processor seconds, its peak memory in MiB, and the end of its output."""
    before, began = os.times(), time.perf_counter()
    peak = 0
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            with suppress(OSError):  # VmHWM, since ru_maxrss of a child includes the memory of its parent
                status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
                peak = max([peak, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
            time.sleep(0.01)
        seconds, after = time.perf_counter() - began, os.times()
        printed.seek(0)
        text = printed.read().strip()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {text[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": round(seconds, 2), "cpu_seconds": round(used, 2), "peak_mib": peak >> 10, "printed": text}


def main() -> None:
    """Write, publish, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=1_000_000)
    parser.add_argument("--more", type=int, default=50_000, help="number of dialogues added in the second version")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="publish-"))
    server = subprocess.Popen(
        [sys.executable, "-c", HUB, str(ROOT / "tests" / "support"), str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None and server.stdin is not None
    try:
        endpoint = server.stdout.readline().strip()
        environment = {
            **os.environ,
            "HF_ENDPOINT": endpoint,
            "HF_TOKEN": "hf_ns",
            "HF_HOME": str(work / "home"),
            "HF_HUB_DISABLE_XET": "1",
        }
        environment |= {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "COLUMNS": "200"}
        result = compare(work, environment, arguments.dialogues, arguments.more)
    finally:
        server.stdin.close()
        server.wait()
        shutil.rmtree(work, ignore_errors=True)
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    write_text(arguments.json, json.dumps(result, indent=1) + "\n")


def compare(work: Path, environment: dict[str, str], dialogues: int, more: int) -> dict[str, Any]:
    """Measure everything with the server that the environment names."""
    edos = [sys.executable, "-m", "edos_dataset", "publish"]
    run, larger = work / "run", work / "larger"
    result: dict[str, Any] = {
        "dialogues": dialogues,
        "write_config_seconds": round(write_run(run, work / "shards", dialogues), 2),
    }
    files = sorted(path for path in run.rglob("*") if path.is_file())
    result |= {"files": len(files), "bytes": sum(path.stat().st_size for path in files)}
    began = time.perf_counter()
    for path in files:
        with path.open("rb") as file:
            hashlib.file_digest(file, "sha256")
    result["sha256_seconds"] = round(time.perf_counter() - began, 2)
    result["upload_folder"] = measured([sys.executable, "-c", UPLOAD, str(run)], environment)
    shutil.rmtree(
        work / "objects" / "objects", ignore_errors=True
    )  # so that the next upload sends the same bytes again
    (work / "objects" / "objects").mkdir(parents=True, exist_ok=True)
    first = [*edos, str(run), "--repo", "ns/edos", "--version", "1.0.0"]
    result["publish"] = measured(first, environment)
    result["publish_again"] = measured(first, environment)
    assert "already published" in result["publish_again"]["printed"]
    result["load"] = measured([sys.executable, "-c", LOAD], environment)
    assert result["load"].pop("printed") == str(dialogues), result["load"]
    write_run(larger, work / "shards", dialogues + more)
    result["publish_second"] = measured([*edos, str(larger), "--repo", "ns/edos", "--version", "1.1.0"], environment)
    assert f"{more:,} added" in result["publish_second"]["printed"]
    result["publish_against_upload_folder"] = round(
        result["publish"]["seconds"] / result["upload_folder"]["seconds"], 2
    )
    names = ("pyarrow", "huggingface_hub", "datasets")
    for name in ("upload_folder", "publish", "publish_again", "publish_second"):
        del result[name]["printed"]
    return result | {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in names},
    }


if __name__ == "__main__":
    main()
