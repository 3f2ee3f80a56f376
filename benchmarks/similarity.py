"""Exact search for similar dialogues in tiles beside the authors' way, one matrix of all cosines: time, memory, share
of the machine's own GEMM rate.

    python benchmarks/similarity.py --seeds 8912 --pool 4000000 --dense 200000

Seeds and pool are clustered unit vectors, drawn with a fixed seed; the pool is a .npy file of float16 in the work
folder (3 GB for 4,000,000 of 384), which is mapped into memory. Each search runs in a process of its own, in which a
thread samples the memory that is not the pages of files (RssAnon): reported are its largest rise over what the process
held before, and the whole. The rate of float32 products is measured in that process, with the same threads, before and
after the search, for products of several shapes, once by numpy and once, in another process, by torch; the share is of
the fastest of all. Both ways search the same part of the pool; the dense way is
`sklearn.metrics.pairwise.cosine_similarity` and a comparison with the threshold. Rows of the result, with and without
matches, are compared with all their cosines in float64. Linux only. Writes benchmarks/similarity.json.
"""

import argparse
import ctypes
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 50_000
SHAPES = ((512, 2048), (2048, 2048), (4096, 4096), (1024, 8912))
SAMPLE = 100


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return rows at length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def draw(path: Path, rows: int, dim: int, seed: int, clusters: int) -> None:
    """Write clustered unit vectors, float16 [rows, dim]; a cluster's members have a cosine of about 0.85 with each
    other, and some of over 0.92.
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


def anonymous() -> int:
    """Return the bytes of this process's memory that are no pages of a file."""
    (kib,) = re.findall(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kib) << 10


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what a call gives, its seconds, its seconds of all processors, and the most of its own memory: the rise
    over before, and all of the process.
    """
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not hide what is taken now
    before, peak, done = anonymous(), [0], threading.Event()

    def sample() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], anonymous())

    sampler = threading.Thread(target=sample)
    sampler.start()
    began, began_cpu = time.perf_counter(), time.process_time()
    try:
        result = work()
    finally:
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        peak[0] = max(peak[0], anonymous())
        done.set()
        sampler.join()
    return result, {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_mb": round((peak[0] - before) / 1e6, 1),
        "peak_of_process_mb": round(peak[0] / 1e6, 1),
    }


def gemm_rate(dim: int, torch: bool = False) -> float:
    """Return the most float32 operations a second, in billions, of products over several shapes."""
    best = 0.0
    for rows, columns in SHAPES:
        first, second = (
            np.random.default_rng(0).standard_normal((count, dim), np.float32) for count in (rows, columns)
        )
        out = np.empty((rows, columns), np.float32)
        product = (
            torch_product(first, second, out) if torch else lambda a=first, b=second, c=out: np.matmul(a, b.T, out=c)
        )
        for _ in range(8):
            began = time.perf_counter()
            product()
            best = max(best, 2 * rows * columns * dim / (time.perf_counter() - began) / 1e9)
    return best


def torch_product(first: np.ndarray, second: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
    """Return the same product by torch."""
    import torch

    tensors = [torch.from_numpy(array) for array in (first, second, out)]
    return lambda: torch.mm(tensors[0], tensors[1].T, out=tensors[2])


def tiles(seeds: np.ndarray, pool: np.ndarray, arguments: argparse.Namespace) -> dict[str, Any]:
    """Search in tiles, with the rate of products before and after; check a sample of the rows."""
    from edos_dataset.augmentation.similarity import nearest

    dim = seeds.shape[1]
    nearest(seeds[:8], pool[:8], arguments.threshold, arguments.top_k)  # what is loaded and made once
    before = gemm_rate(dim)
    matches, found = measured(lambda: nearest(seeds, pool, arguments.threshold, arguments.top_k, arguments.memory))
    rates = [before, gemm_rate(dim)]
    found |= {
        "matches": len(matches),
        "rows_with_matches": len(np.unique(matches.rows)),
        "numpy_gemm_gflops": [round(rate, 1) for rate in rates],
    }
    found["gflops"] = round(2 * len(seeds) * len(pool) * dim / found["seconds"] / 1e9, 1)
    generator = np.random.default_rng(1)
    with_matches = generator.choice(np.unique(matches.rows), min(SAMPLE, len(np.unique(matches.rows))), replace=False)
    rows = np.unique([*with_matches, *generator.choice(len(pool), min(SAMPLE, len(pool)), replace=False)]).astype(int)
    cosines = np.round(unit(pool[rows].astype(np.float64)) @ unit(seeds.astype(np.float64)).T, 12)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, : arguments.top_k]
    best = np.take_along_axis(cosines, order, axis=1)
    chosen = np.isin(matches.rows, rows)
    near = best >= arguments.threshold
    equal = (
        matches.seeds[chosen].tolist() == order[near].tolist()
        and matches.rows[chosen].tolist() == rows[np.nonzero(near)[0]].tolist()
    )
    return found | {"sample": {"rows": len(rows), "matches": int(near.sum()), "equal_to_brute_force": bool(equal)}}


def dense(seeds: np.ndarray, pool: np.ndarray, arguments: argparse.Namespace) -> dict[str, Any]:
    """Search as the authors' code does: all cosines in one matrix."""
    from sklearn.metrics.pairwise import cosine_similarity

    def search() -> int:
        return int(
            (cosine_similarity(seeds.astype(np.float32), pool.astype(np.float32)) >= arguments.threshold)
            .any(axis=0)
            .sum()
        )

    rows, found = measured(search)
    return found | {"rows_with_matches": rows}


def child(mode: str, rows: int, arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Run a search in a process of its own."""
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
    """Do what the process was started for."""
    from threadpoolctl import threadpool_limits

    if arguments.mode == "torch":
        import torch

        torch.set_num_threads(arguments.threads)
        return {"gflops": round(gemm_rate(arguments.dim, torch=True), 1)}
    seeds, pool = (np.load(arguments.work / f"{name}.npy", mmap_mode="r") for name in ("seeds", "pool"))
    with threadpool_limits(arguments.threads):
        return (tiles if arguments.mode == "tiles" else dense)(np.array(seeds), pool[: arguments.pool], arguments)


def compare(arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Draw the vectors and search them both ways."""
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
        help="rows of the pool that the dense way searches too: 4 bytes a pair, and copies",
    )
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.92)
    parser.add_argument("--top-k", type=int, default=10)
    parser.add_argument("--memory", type=int, default=2 << 30, help="bytes for the search")
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
        found = compare(arguments, Path(work))
    from benchmarks.encoding import describe_machine  # what it imports is not for the processes that are measured

    report = {
        "command": " ".join(
            [
                "python",
                "benchmarks/similarity.py",
                *[Path(part).name if part.startswith("/") else part for part in sys.argv[1:]],
            ]
        ),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("numpy", "torch", "scikit-learn")},
        "vectors": {
            "seeds": arguments.seeds,
            "pool": arguments.pool,
            "dim": arguments.dim,
            "pool_file_mb": round(2 * arguments.pool * arguments.dim / 1e6),
        },
        "search": {
            "threshold": arguments.threshold,
            "top_k": arguments.top_k,
            "memory": arguments.memory,
            "threads": arguments.threads,
        },
        **found,
    }
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
