"""Exact search for similar dialogues in tiles, compared with the authors' method, one matrix of all cosines: time,
memory, and fraction of the machine's GEMM rate.

    python benchmarks/similarity.py --seeds 8912 --pool 4000000 --dense 200000

Seeds and pool are clustered unit vectors, drawn with a fixed seed; the pool is a memory-mapped .npy file of float16 in
the work folder (3 GB for 4,000,000 of 384). Each search runs in a separate process, in which a thread samples the
memory that is not file pages (RssAnon): its largest increase over the initial value and its total are reported. The
rate of float32 products is measured in that process with the same threads, before and after the search, for products of
several shapes, with numpy and, in another process, with torch; the fraction is relative to the fastest of all. Both
methods search the same part of the pool; the dense method is `sklearn.metrics.pairwise.cosine_similarity` and a
comparison with the threshold. Rows of the result, with and without matches, are compared with all their cosines in
float64. Linux only. Writes benchmarks/similarity.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe_machine, write_result
from benchmarks.searches import dense, gemm_rate, tiles, unit

BLOCK = 50_000


def draw(path: Path, rows: int, dim: int, seed: int, clusters: int) -> None:
    """Write clustered unit vectors, float16 [rows, dim]; members of a cluster have a cosine of about 0.85 with each
    other, some above 0.92.
    """
    generator = np.random.default_rng(seed)
    centres = unit(np.random.default_rng(0).standard_normal((clusters, dim), np.float32))
    vectors = np.lib.format.open_memmap(path, "w+", np.float16, (rows, dim))
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        spread = generator.uniform(0.15, 0.6, (count, 1)).astype(np.float32)
        noise = unit(generator.standard_normal((count, dim), np.float32))
        vectors[start : start + count] = unit(centres[generator.integers(0, clusters, count)] + spread * noise)
    vectors.flush()


def child(mode: str, rows: int, arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Run a search in a separate process."""
    options = [
        "--mode",
        mode,
        "--pool",
        str(rows),
        "--work",
        str(work),
        "--threads",
        str(arguments.threads),
        "--memory",
        str(arguments.memory),
    ]
    options += ["--threshold", str(arguments.threshold), "--top-k", str(arguments.top_k), "--dim", str(arguments.dim)]
    done = subprocess.run([sys.executable, __file__, *options], stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_mode(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the mode for which the process was started."""
    from threadpoolctl import threadpool_limits

    if arguments.mode == "torch":
        import torch

        torch.set_num_threads(arguments.threads)
        return {"gflops": round(gemm_rate(arguments.dim, torch=True), 1)}
    seeds, pool = (np.load(arguments.work / f"{name}.npy", mmap_mode="r") for name in ("seeds", "pool"))
    with threadpool_limits(arguments.threads):
        return (tiles if arguments.mode == "tiles" else dense)(np.array(seeds), pool[: arguments.pool], arguments)


def compare(arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Draw the vectors and search them with both methods."""
    clusters = max(1, arguments.seeds // 3)
    draw(work / "seeds.npy", arguments.seeds, arguments.dim, 1, clusters)
    draw(work / "pool.npy", arguments.pool, arguments.dim, 2, clusters)
    result: dict[str, Any] = {
        "tiles": child("tiles", arguments.pool, arguments, work),
        "torch_gemm": child("torch", 0, arguments, work),
    }
    fastest = max(*result["tiles"]["numpy_gemm_gflops"], result["torch_gemm"]["gflops"])
    result["tiles"]["share_of_gemm_rate"] = round(result["tiles"]["gflops"] / fastest, 3)
    result["tiles"]["whole_matrix_would_take_mb"] = round(4 * arguments.seeds * arguments.pool / 1e6)
    rows = min(arguments.dense, arguments.pool)
    result["on_a_part"] = {
        "pool": rows,
        "tiles": child("tiles", rows, arguments, work),
        "dense": child("dense", rows, arguments, work),
    }
    ours, theirs = result["on_a_part"]["tiles"], result["on_a_part"]["dense"]
    result["on_a_part"]["ratio"] = {
        name: round(theirs[name] / max(ours[name], 1e-3), 2) for name in ("seconds", "peak_mb")
    }
    return result


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8912)
    parser.add_argument("--pool", type=int, default=4_000_000)
    parser.add_argument(
        "--dense",
        type=int,
        default=200_000,
        help="rows of the pool for the dense method, which needs 4 bytes per pair and copies",
    )
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.92)
    parser.add_argument("--top-k", type=int, default=10)
    parser.add_argument("--memory", type=int, default=2 << 30, help="memory of the search in bytes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder for the vectors; by default a temporary one")
    parser.add_argument("--mode", choices=("tiles", "dense", "torch"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    if arguments.mode:
        sys.stdout.write(json.dumps(run_mode(arguments)))
        return
    if arguments.work:
        arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        results = compare(arguments, Path(work))
    report = {**facts(arguments), **results}
    write_result(arguments.out, report)


def facts(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return a description of the measurement and the machine."""
    given = [Path(part).name if part.startswith("/") else part for part in sys.argv[1:]]
    return {
        "command": " ".join(["python", "benchmarks/similarity.py", *given]),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("numpy", "torch", "scikit-learn")},
        "vectors": {
            "seeds": arguments.seeds,
            "pool": arguments.pool,
            "dim": arguments.dim,
            "pool_file_mb": round(2 * arguments.pool * arguments.dim / 1e6),
        },
        "search": {name: getattr(arguments, name) for name in ("threshold", "top_k", "memory", "threads")},
    }


if __name__ == "__main__":
    main()
