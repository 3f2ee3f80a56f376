"""The two searches of `similarity.py`, with the time, memory and matrix-product rate of the process that runs one."""

import argparse
import ctypes
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.floating]
Result = TypeVar("Result")
SHAPES = ((512, 2048), (2048, 2048), (4096, 4096), (1024, 8912))
SAMPLE = 100


def unit(vectors: Vectors) -> Vectors:
    """Return the rows scaled to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def anonymous() -> int:
    """Return the bytes of this process's memory that are not file pages."""
    (kib,) = re.findall(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kib) << 10


def measured(work: Callable[[], Result]) -> tuple[Result, dict[str, Any]]:
    """Return the result of a call, its seconds, its processor seconds, and its peak memory: the increase during the
    call, and the total of the process.
    """
    ctypes.CDLL(None).malloc_trim(0)  # previously freed memory must not hide new allocations
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
    """Return the highest rate of float32 products over several shapes, in billions of operations per second."""
    best = 0.0
    for rows, columns in SHAPES:
        first, second = (
            np.random.default_rng(0).standard_normal((count, dim), np.float32) for count in (rows, columns)
        )
        out = np.empty((rows, columns), np.float32)
        product = torch_product(first, second, out) if torch else partial(np.matmul, first, second.T, out=out)
        for _ in range(8):
            began = time.perf_counter()
            product()
            best = max(best, 2 * rows * columns * dim / (time.perf_counter() - began) / 1e9)
    return best


def torch_product(first: Vectors, second: Vectors, out: Vectors) -> Callable[[], object]:
    """Return the same product computed by torch."""
    import torch

    tensors = [torch.from_numpy(array) for array in (first, second, out)]
    return partial(torch.mm, tensors[0], tensors[1].T, out=tensors[2])


def tiles(seeds: Vectors, pool: Vectors, arguments: argparse.Namespace) -> dict[str, Any]:
    """Search in tiles, and measure the rate of products before and after; check a sample of the rows."""
    from edos_dataset.augmentation.similarity import nearest

    dim = seeds.shape[1]
    nearest(seeds[:8], pool[:8], arguments.threshold, arguments.top_k)  # loads and builds what is needed once
    before = gemm_rate(dim)
    matches, figures = measured(lambda: nearest(seeds, pool, arguments.threshold, arguments.top_k, arguments.memory))
    rates = [before, gemm_rate(dim)]
    figures |= {
        "matches": len(matches),
        "rows_with_matches": len(np.unique(matches.rows)),
        "numpy_gemm_gflops": [round(rate, 1) for rate in rates],
    }
    figures["gflops"] = round(2 * len(seeds) * len(pool) * dim / figures["seconds"] / 1e9, 1)
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
    return figures | {"sample": {"rows": len(rows), "matches": int(near.sum()), "equal_to_brute_force": bool(equal)}}


def dense(seeds: Vectors, pool: Vectors, arguments: argparse.Namespace) -> dict[str, Any]:
    """Search like the authors' code: all cosines in one matrix."""
    from sklearn.metrics.pairwise import cosine_similarity

    def search() -> int:
        return int(
            (cosine_similarity(seeds.astype(np.float32), pool.astype(np.float32)) >= arguments.threshold)
            .any(axis=0)
            .sum()
        )

    rows, figures = measured(search)
    return figures | {"rows_with_matches": rows}
