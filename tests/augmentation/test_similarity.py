"""The tiled search, against all cosines in float64."""

import tracemalloc

import numpy as np
import pytest

from edos_dataset.augmentation import similarity
from edos_dataset.augmentation import similarity as tiles
from edos_dataset.augmentation.similarity import Tiles, nearest, take

DIM = 48
SMALL = 300_000  # bytes


def drawn(n, seed, dtype=np.float16, clusters=40):
    """Vectors around common centres, some of them twice, of lengths that are not 1."""
    centres = np.random.default_rng(0).normal(size=(clusters, DIM))
    generator = np.random.default_rng(seed)
    vectors = centres[generator.integers(0, clusters, n)] + generator.normal(size=(n, DIM)) * 0.3
    vectors[n // 2 : n // 2 + n // 10] = vectors[: n // 10]
    return (vectors * generator.uniform(0.5, 2, (n, 1))).astype(dtype)


def brute_force(seeds, pool, threshold, top_k):
    """All cosines, sorted."""
    seeds, pool = (np.asarray(vectors, np.float64) for vectors in (seeds, pool))
    cosines = (pool @ seeds.T) / np.linalg.norm(pool, axis=1)[:, None] / np.linalg.norm(seeds, axis=1)
    cosines = np.round(cosines, 12)  # copies of another length tie
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :top_k]
    best = np.take_along_axis(cosines, order, axis=1)
    rows, _ = np.nonzero(best >= threshold)
    return rows, order[best >= threshold], best[best >= threshold]


def assert_equal(found, expected):
    rows, seeds, similarities = expected
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.seeds, seeds)
    np.testing.assert_allclose(found.similarities, similarities, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("threshold", "top_k"), [(0.92, 3), (0.9, 1), (0.5, 1000), (-1, 5), (1, 10)])
@pytest.mark.parametrize("memory", [similarity.TWO_GB, SMALL])
def test_equal_to_brute_force(threshold, top_k, memory, dtype):
    seeds, pool = drawn(110, 1, dtype), drawn(330, 2, dtype)
    assert_equal(nearest(seeds, pool, threshold, top_k, memory), brute_force(seeds, pool, threshold, top_k))
    assert threshold != 0.92 or 100 < len(brute_force(seeds, pool, threshold, top_k)[0]) < 3 * 330, (
        "the case says something"
    )


@pytest.mark.parametrize(
    ("pool_rows", "seed_rows", "pairs"), [(1, 1, 1), (7, 5, 3), (64, 300, 50), (600, 13, 4096), (512, 2048, 1)]
)
def test_no_bit_depends_on_the_tiles(monkeypatch, pool_rows, seed_rows, pairs):
    seeds, pool = drawn(40, 1), drawn(70, 2)
    whole = nearest(seeds, pool, 0.8, 4)
    for name, value in (("POOL_ROWS", pool_rows), ("SEED_ROWS", seed_rows), ("_PAIRS", pairs)):
        monkeypatch.setattr(tiles, name, value)
    cut = nearest(seeds, pool, 0.8, 4)
    for name in ("rows", "seeds", "similarities"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(whole, name))


def test_shards_and_memory_maps_count_as_one_array(tmp_path):
    seeds, pool = drawn(50, 1), drawn(230, 2)
    np.save(tmp_path / "pool.npy", pool)
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    shards = [mapped[:100], pool[100:100], mapped[100:103], pool[103:]]
    assert_equal(nearest([seeds[:20], seeds[20:]], shards, 0.8, 4), brute_force(seeds, pool, 0.8, 4))
    rows = np.array([0, 99, 100, 102, 103, 229])
    np.testing.assert_array_equal(take(shards, rows), pool[rows])
    np.testing.assert_array_equal(take(mapped, rows), pool[rows])


def test_equally_near_seeds_come_in_their_order():
    seeds = np.array([[1, 0], [0, 1], [1, 0], [2, 0], [1, 0.1]])
    found = nearest(seeds, np.array([[1.0, 0], [0, 0], [0, 3]]), 0.9, 3)
    assert (
        found.rows.tolist() == [0, 0, 0, 2]
        and found.seeds.tolist() == [0, 2, 3, 1]
        and found.similarities.tolist() == [1] * 4
    )
    assert nearest(seeds[::-1], np.array([[1.0, 0]]), 0.9, 2).seeds.tolist() == [1, 2]


def test_the_threshold_itself_is_near_enough():
    pool = np.array([[3.0, 4.0]])
    assert len(nearest(np.array([[1.0, 0.0]]), pool, 0.6, 1)) == 1
    assert len(nearest(np.array([[1.0, 0.0]]), pool, np.nextafter(0.6, 1), 1)) == 0
    assert nearest(np.array([[1.0, 0.0]]), pool, -1, 1).similarities.tolist() == [0.6]


def test_many_seeds_closer_together_than_float32_can_tell():
    angles = np.arange(500) * 1e-9 + 0.3
    seeds = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = nearest(seeds, np.array([[1.0, 0.0]]), 0.9, 3)
    assert found.seeds.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("threshold", "top_k"), [(0.9, 20), (-1, 1), (-1, 20)])
def test_memory_stays_in_its_budget(tmp_path, threshold, top_k):
    dim, memory = 128, 2_000_000
    seeds = np.random.default_rng(0).normal(size=(1500, dim)).astype(np.float16)
    pool = np.lib.format.open_memmap(tmp_path / "pool.npy", "w+", np.float16, (400, dim))
    pool[:] = np.random.default_rng(1).normal(size=pool.shape)
    assert Tiles.fit(1500, dim, memory).memory <= memory < 4 * 1500 * 400, "the whole matrix would not fit"
    nearest(seeds[:1], pool[:1], 0.9, 1)  # what is made once
    tracemalloc.start()
    try:
        found = nearest(seeds, pool, threshold, top_k, memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= memory + 48 * len(found)


def test_more_seeds_than_memory_are_read_again():
    seeds, pool = drawn(4000, 1), drawn(50, 2)
    tiles = Tiles.fit(4000, DIM, 400_000)
    assert not tiles.hold and tiles.memory <= 400_000
    assert_equal(nearest(seeds, pool, 0.9, 4, 400_000), brute_force(seeds, pool, 0.9, 4))


def test_nothing_to_search():
    some, none = np.ones((3, 4)), np.zeros((0, 4))
    assert len(nearest(none, some, 0.9, 1)) == len(nearest(some, none, 0.9, 1)) == len(nearest([], [], 0.9, 1)) == 0


def test_progress_counts_the_rows(monkeypatch):
    monkeypatch.setattr(tiles, "POOL_ROWS", 512)
    seen = []
    nearest(drawn(30, 1), [drawn(600, 2), drawn(30, 3)], 0.9, 1, progress=seen.append)
    assert seen == [300, 600, 630]


NAN = np.array([[1.0, 0.0], [np.nan, 0.0]])


@pytest.mark.parametrize(
    ("seeds", "pool", "threshold", "top_k", "memory", "message"),
    [
        (np.eye(2), np.eye(2), 1.01, 1, 1 << 30, "from -1 to 1, got 1.01"),
        (np.eye(2), np.eye(2), np.nan, 1, 1 << 30, "from -1 to 1, got nan"),
        (np.eye(2), np.eye(2), 0.9, 0, 1 << 30, "top_k must be at least 1"),
        (np.eye(2), np.eye(3), 0.9, 1, 1 << 30, r"one dimension, got \[2, 3\]"),
        (np.ones(2), np.eye(2), 0.9, 1, 1 << 30, r"seeds must be .* shape \[2\]"),
        (np.eye(2), np.eye(2, dtype=int), 0.9, 1, 1 << 30, "pool must be floating-point"),
        (np.eye(2), NAN, 0.9, 1, 1 << 30, "pool row 1 .* not finite"),
        (NAN, np.eye(2), 0.9, 1, 1 << 30, "seed 1 .* not finite"),
        (np.eye(2), np.eye(2), 0.9, 1, 1000, "memory of 1,000 bytes .* at least"),
    ],
)
def test_what_cannot_be_searched_is_named(seeds, pool, threshold, top_k, memory, message):
    with pytest.raises(ValueError, match=message):
        nearest(seeds, pool, threshold, top_k, memory)
