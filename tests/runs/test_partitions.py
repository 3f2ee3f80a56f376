"""What a corpus step in partitions must say of itself, and that no process needs all that leaves; what it decides,
tests/cleaning/test_duplicates.py shows.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates
from edos_dataset.runs import shuffle
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.partitions import PartitionedStep, decide_in_parts
from edos_dataset.runs.shards import write_shard
from edos_dataset.runs.shuffle import Shuffle, groups_of, partitions_for

NO_ROWS = pa.table({})


@pytest.mark.parametrize("name", ["limit_of_key", "partition_bytes", "count", "keys", "occurrences", "surplus"])
def test_what_a_step_does_not_define_is_named(name):
    with pytest.raises(TypeError, match=f"PartitionedStep .*{name}"):
        PartitionedStep()


def test_without_shards_nothing_leaves(tmp_path):
    decide_in_parts(CapUtterances(), [], [], tmp_path, LocalEngine())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("units", "memory", "parts"),
    [
        (0, 1 << 30, 1),
        (10, 1 << 30, 1),
        (1_000_001, 1 << 30, 3),
        (10**9, 1 << 30, 512),  # the workers are busy with fewer than 500,000 units each
        (10**10, 1 << 30, 932),  # what the memory takes
        (10**10, 1 << 20, 10_000),
    ],
)
def test_partitions_fit_the_memory_and_are_no_more_than_keep_workers_busy(units, memory, parts):
    assert partitions_for(units, 100, memory) == parts


class Watching(LocalEngine):
    """Knows whether a task is under way."""

    inside = False

    def map(self, function, tasks):
        for task in tasks:
            self.inside = True
            result = function(task)
            self.inside = False
            yield result


def shard_paths(folder, count):
    """Shards of dialogues that say few things, some of them the same ones."""
    paths = [folder / f"{number}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        texts = [[f"Where have you been all day, number {(number + row) % 5}?", "No."] for row in range(8)]
        turns = [[{"text": text, "key": len(text) + row % 2} for text in said] for row, said in enumerate(texts)]
        rows = {"dialogue_id": [f"{number}#{row}" for row in range(8)], "language": ["en"] * 8, "turns": turns}
        write_shard(path, pa.table(rows))
    return paths


STEPS = [CapUtterances(3), CapUtterances(3, memory=600), DropDuplicates(share=None), DropDuplicates(memory=20_000)]


@pytest.mark.parametrize("step", STEPS)
def test_the_process_that_leads_reads_nothing_of_what_leaves(tmp_path, monkeypatch, step):
    engine, read, footers = Watching(), [], []
    monkeypatch.setattr(
        pq, "read_metadata", lambda path: footers.append(engine.inside) or pq.ParquetFile(path).metadata
    )

    def watched(name, function):
        def call(self, what, *arguments):
            read.append((engine.inside, name, what.rstrip("0123456789")))
            return function(self, what, *arguments)

        return call

    for name in ("read", "read_part"):
        monkeypatch.setattr(Shuffle, name, watched(name, getattr(Shuffle, name)))
    paths = shard_paths(tmp_path, 6)
    removals = [tmp_path / "removals" / path.name for path in paths]
    assert step.decide_together(paths, removals, tmp_path / "work", engine) is None
    assert footers and all(footers)  # what these take would stay
    assert sum(pq.read_metadata(path).num_rows for path in removals) > 6
    assert {what for inside, _, what in read if not inside} <= {"left", "units"}  # a number a partition or group
    assert (True, "read_part", "surplus") in read


@pytest.mark.parametrize(("step", "least"), [*zip(STEPS, (100, 100, 100, 1000), strict=True)])  # what a unit takes
def test_groups_of_shards_bound_the_files_and_change_nothing(tmp_path, monkeypatch, step, least):
    paths, found = shard_paths(tmp_path, 7), []
    for most, buffer, piece in ((512, 1 << 25, 1 << 25), (3, 1 << 25, 1 << 12), (2, 100, least)):
        monkeypatch.setattr(shuffle, "_MOST_GROUPS", most)
        monkeypatch.setattr(shuffle, "_BUFFER", buffer)
        monkeypatch.setattr(shuffle, "_BYTES_A_SLICE", piece)
        work = tmp_path / str(most)
        removals = [work / "removals" / path.name for path in paths]
        step.decide_together(paths, removals, work, LocalEngine())
        found.append([path.read_bytes() for path in removals])
        written = [path.name for path in work.glob("*.arrow") if path.name.startswith(("occurrences-", "sketches-"))]
        assert 0 < len(written) <= most
    assert found[0] == found[1] == found[2]


def test_split_rows_are_read_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(shuffle, "_BUFFER", 100)
    tables = [pa.table({"key": np.arange(20, dtype=np.uint64), "value": np.arange(20) + 20 * n}) for n in range(5)]
    files = Shuffle(3, tmp_path)
    files.write_parts("numbers", 0, tables)
    files.write_parts("numbers", 1, tables[:1])
    for part in range(3):
        expected = [
            value for table in [*tables, tables[0]] for value in table["value"].to_pylist() if value % 20 % 3 == part
        ]
        assert files.read_part("numbers", part, 2)["value"].to_pylist() == expected


@pytest.mark.parametrize("bytes_a_row", [1, 100, 1_000, 100_000])
@pytest.mark.parametrize("buffer", [0, 1 << 10, 1 << 30])
def test_slices_of_a_partition(tmp_path, monkeypatch, bytes_a_row, buffer):
    monkeypatch.setattr(shuffle, "_BUFFER", buffer)
    monkeypatch.setattr(shuffle, "_BYTES_A_SLICE", 10_000)
    dice = np.random.default_rng(7)
    tables = [pa.table({"of": dice.integers(0, 300, 200), "value": np.arange(200) + 200 * n}) for n in range(4)]
    files = Shuffle(2, tmp_path)
    for number in range(2):
        files.write_parts("numbers", number, tables[2 * number :][:2], hashed)
    slices = list(files.read_slices("numbers", 1, 2, bytes_a_row, hashed))
    whole = files.read_part("numbers", 1, 2)
    most = 10_000 // bytes_a_row
    assert sorted(value for each in slices for value in each["value"].to_pylist()) == sorted(whole["value"].to_pylist())
    assert len(slices) == (1 if most > 400 else 64 if most < 7 else len(slices))
    keys = [set(each["of"].to_pylist()) for each in slices]
    assert sum(map(len, keys)) == len(set().union(*keys)) == len(set(whole["of"].to_pylist()))
    if 7 < most < 400:
        assert max(map(len, slices)) < 2 * most  # keys come unevenly
    for each in slices:
        values = each["value"].to_numpy()
        for key in set(each["of"].to_pylist()):
            assert (np.diff(values[each["of"].to_numpy() == key]) > 0).all()  # in their order


def hashed(table):
    return table["of"].to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)


@pytest.mark.parametrize(
    ("shards", "groups", "size"), [(0, 0, 0), (1, 1, 1), (512, 512, 1), (513, 257, 2), (32_768, 512, 64)]
)
def test_shards_in_groups(shards, groups, size):
    paths = [Path(str(number)) for number in range(shards)]
    found = groups_of(paths)
    assert len(found) == groups and [pair for group in found for pair in group.numbered()] == list(enumerate(paths))
    assert [group.number for group in found] == list(range(groups))
    assert max((len(group.paths) for group in found), default=0) == size
