"""Files of a run: whole or absent, recorded last, and one process at a time."""

import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.runs import shards
from edos_dataset.runs.shards import (
    MOST_FILES,
    ShardRecord,
    StageCount,
    Totals,
    cut_by_hash,
    cut_in_order,
    digest,
    first_files,
    left_by_killed,
    numbered,
    read_checked,
    read_record,
    remove_others,
    replacing,
    temporary_beside,
    write_checked,
    write_record,
    write_shard,
    write_text,
)
from processes import in_another_process

TABLE = pa.table({"a": range(1000)})


@pytest.fixture
def shard(tmp_path):
    """A shard with its record."""
    path = tmp_path / "phase" / "00000.parquet"
    file_digest = write_shard(path, TABLE)
    counts = [StageCount("toy", "turns", 7, 4, {"bad": 2, "worse": 1}, {"gap_s:1": 3}, 0.5)]
    record = ShardRecord(
        "key",
        file_digest,
        path.stat().st_size,
        TABLE.num_rows,
        counts,
        [{"path": "ü.srt", "reason": "r", "detail": "d"}],
        "abc",
    )
    write_record(path, record)
    return path, record


def test_write_and_read(shard):
    path, record = shard
    assert read_record(path) == record
    assert pq.read_table(path).equals(TABLE)
    assert record.digest == digest(path)
    assert sorted(os.listdir(path.parent)) == ["00000.json", "00000.parquet"]


def test_same_table_same_bytes(tmp_path, shard):
    assert write_shard(tmp_path / "again.parquet", TABLE) == shard[1].digest


def damage_tail(path):
    path.write_bytes(path.read_bytes()[:-1])


def damage_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [damage_tail, damage_byte, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_a_damaged_shard_or_record_does_not_exist(shard, suffix, damage):
    path, _ = shard
    damage(path.with_suffix(suffix))
    assert read_record(path) is None


@pytest.mark.parametrize(
    "text", ["[]", "{}", "null", '{"key": "key", "counts": [{"colour": 1}]}', '{"counts": 3}', "\x00"]
)
def test_a_strange_record_does_not_exist(shard, text):
    path, _ = shard
    path.with_suffix(".json").write_text(text)
    assert read_record(path) is None


def test_a_record_with_an_unknown_field_does_not_exist(shard):
    path, _ = shard
    record = path.with_suffix(".json")
    record.write_text(record.read_text().replace('"rows"', '"new_in_version_9": 1, "rows"'))
    assert read_record(path) is None


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_error_while_replacing_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "text"
    write_text(path, "old")
    with pytest.raises(error), replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["text"]


def test_a_full_disk_while_writing_leaves_the_old_file(shard, monkeypatch):
    path, record = shard
    monkeypatch.setattr(
        "pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space left"):
        write_shard(path, TABLE.slice(1))
    assert read_record(path) == record


def test_a_kill_while_replacing_leaves_the_old_file(tmp_path):
    path = tmp_path / "text"
    write_text(path, "old")
    code = (
        "import os, sys, pathlib, edos_dataset.runs.shards as s\nwith s.replacing(pathlib.Path(sys.argv[1])) as t: "
        "t.write_text('new'); os.kill(os.getpid(), 9)"
    )
    assert in_another_process(code, path).returncode == -signal.SIGKILL
    assert path.read_text() == "old"


KILLED = """
import os, sys, pathlib, edos_dataset.runs.shards as s
with s.replacing(pathlib.Path(sys.argv[1])) as t:
    t.write_text("new")
    print(t.name, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_killed_processes_left_is_found_and_nothing_else(tmp_path):
    out = tmp_path / "a[1].jsonl"
    left = in_another_process(KILLED, out).stdout.strip()
    machine, number = left.removeprefix(".a[1].jsonl.").removesuffix(".tmp").split(".")
    mine = [
        f".a[1].jsonl.{number}.tmp",  # no machine
        f".a[1].jsonl.000000.{number}.tmp",  # another machine's, which may be at work
        f".a[1].jsonl.{machine}.{os.getpid()}.tmp",  # a process that lives
        f".a[1].jsonl.{machine}.1.tmp",
        f".a[1].jsonl.{machine}.0.tmp",
        f".a[1].jsonl.{machine}.{number}.tmp.bak",
        f"a[1].jsonl.{machine}.{number}.tmp",
    ]
    for name in [*mine, f".b.jsonl.{machine}.{number}.tmp"]:
        (tmp_path / name).write_text("")
    assert left_by_killed(tmp_path, out.name) == [tmp_path / left]
    assert sorted(path.name for path in left_by_killed(tmp_path)) == [left, f".b.jsonl.{machine}.{number}.tmp"]


@pytest.mark.skipif(sys.platform != "linux", reason="process namespaces are Linux's")
def test_containers_that_share_a_machine_s_name_and_a_folder_do_not_share_temporary_files(tmp_path, monkeypatch):
    """Their processes may have the same numbers, and neither can tell whether one of the other has ended."""
    monkeypatch.setattr(shards, "_machine", shards._machine.__wrapped__)  # not kept for later tests
    ended = int(in_another_process("import os; print(os.getpid())").stdout)
    monkeypatch.setattr(os, "getpid", lambda: ended)
    names = set()
    for space in ("pid:[1]", "pid:[2]"):
        monkeypatch.setattr(os, "readlink", lambda _, space=space: space)
        temporary = temporary_beside(tmp_path / "a")
        temporary.write_text("half")
        names.add(temporary)
        assert left_by_killed(tmp_path) == [temporary]
    assert len(names) == 2


def test_what_lost_workers_left_of_shards_goes_with_shards_that_are_no_more(tmp_path):
    left = [".0101.parquet.0a1b2c.77.tmp", ".00003.rejects.parquet.0a1b2c.8.tmp", ".0101.json.0a1b2c.77.tmp"]
    gone = [*left, "0111.parquet", "0111.json", "0101.rejects.parquet"]
    stay = ["0101.parquet", "0101.json", "decided.json", ".notes.parquet.0a1b2c.77.tmp", ".0101.parquet"]
    for name in (*gone, *stay):
        (tmp_path / name).touch()
    remove_others(tmp_path, ["0101"])
    assert {path.name for path in tmp_path.iterdir()} == set(stay)


def test_a_record_comes_back_or_nothing_does(tmp_path):
    path = tmp_path / "record.json"
    write_checked(path, {"labels": {10: 1, 9: 2, None: 3}, "shares": (0.1, 1e300), "é": "\ud800"})
    assert read_checked(path) == {"labels": {"10": 1, "9": 2, "null": 3}, "shares": [0.1, 1e300], "é": "\ud800"}
    path.write_text(path.read_text().replace("1e+300", "1e+301"))
    assert read_checked(path) == {} == read_checked(tmp_path / "nowhere")


def test_counts_add_up():
    total = StageCount("toy", "turns")
    total.add(StageCount("toy", "turns", 5, 3, {"a": 2}, {"x": 1}, 0.25))
    total.add(StageCount("toy", "turns", 5, 2, {"b": 2, "a": 1}, {"x": 1}, 0.5))
    assert total == StageCount("toy", "turns", 10, 5, {"a": 3, "b": 2}, {"x": 2}, 0.75)


WEIGHTS = st.lists(st.one_of(st.floats(1, 50), st.just(5_000.0)), max_size=60)


def films(number):
    return pa.table({"film": [f"film {place}" for place in range(number)], "size": range(number)})


def names(parts):
    return {part.name: part.rows["film"].to_pylist() for part in parts}


@given(WEIGHTS, st.integers(1, 2_000))
def test_nothing_is_lost_and_no_shard_too_heavy(weights, target):
    table = films(len(weights))
    parts = cut_by_hash(table, "film", np.array(weights), target)
    assert sorted(row for part in parts for row in part.rows["size"].to_pylist()) == list(range(len(weights)))
    assert all(part.rows.num_rows for part in parts) or not weights
    for part in parts:
        load = sum(max(round(weights[row]), 1) for row in part.rows["size"].to_pylist())
        assert load <= target or part.rows.num_rows == 1


@given(st.integers(1, 60), st.integers(1, 500), st.integers(1, 500))
def test_the_order_is_the_same_however_the_rows_are_cut_or_given(number, target, other):
    table, weights = films(number), np.full(number, 100.0)
    backwards = table.take(pa.array(range(number)[::-1]))
    orders = [
        pa.concat_tables([part.rows for part in cut_by_hash(given, "film", weights, size)]).to_pylist()
        for given, size in ((table, target), (table, other), (backwards, target))
    ]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("number", [40, 100, 320])
def test_one_film_more_changes_one_shard(number):
    # The total stays on one side of the boundary at which the target is halved.
    before = names(cut_by_hash(films(number), "film", np.full(number, 100.0), 500))
    after = names(cut_by_hash(films(number + 1), "film", np.full(number + 1, 100.0), 500))
    gone, new = set(before) - set(after), set(after) - set(before)
    changed = {name for name in set(before) & set(after) if before[name] != after[name]}
    assert len(changed) + len(gone) == 1
    if gone:  # the shard was split in two
        [prefix] = gone
        assert all(name.startswith(prefix) for name in new)


def test_small_shards_are_merged():
    parts = cut_by_hash(films(1_000), "film", np.full(1_000, 10.0), 500)
    assert len(parts) < 2 * 1_000 * 10 / 500 * 1.5  # on the average more than a third full


def test_equal_hashes_end_in_one_shard(monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.shards.hash64", lambda text: 5)
    [part] = cut_by_hash(films(3), "film", np.full(3, 100.0), 1)
    assert part.rows["film"].to_pylist() == ["film 0", "film 1", "film 2"]


@given(WEIGHTS, st.integers(1, 2_000))
def test_in_order(weights, target):
    table = films(len(weights))
    parts = [part.rows for part in cut_in_order(table, np.array(weights), target)]
    assert pa.concat_tables(parts).equals(table)
    assert all(part.num_rows for part in parts) or not weights
    loads = np.split(np.array(weights), np.cumsum([part.num_rows for part in parts])[:-1])
    limit = max(1, min(target, int(sum(weights)) // 8))
    for load in loads:
        assert load.sum() < limit + load.max(initial=0) + 1e-6


@pytest.mark.parametrize(
    ("weights", "target", "sizes"),
    [
        ([], 10, [0]),
        ([1_000_000], 10, [1]),
        ([10] * 16, 20, [1, 2, 2, 2, 2, 2, 2, 2, 1]),
        ([1, 1, 100_000, 1, 1], 10, [2, 3]),
        ([1] * 4, 1_000, [1, 1, 1, 1]),
    ],
)
def test_cases_in_order(weights, target, sizes):
    parts = cut_in_order(films(len(weights)), np.array(weights, float), target)
    assert [part.rows.num_rows for part in parts] == sizes


def test_numbered():
    assert [part.name for part in numbered([films(1), films(2)])] == ["00000", "00001"]


@pytest.mark.parametrize("seed", range(3))
def test_of_many_files_the_first_ones_are_named_however_they_are_divided(monkeypatch, tmp_path, seed):
    monkeypatch.setattr(shards, "_MOST_WAITING", 500)
    reasons = {"a": 30, "b": MOST_FILES + 700}
    files = [
        {"stage": "s", "reason": reason, "path": f"{n:04}"} for reason, count in reasons.items() for n in range(count)
    ]
    expected = files[: 30 + MOST_FILES]
    random.Random(seed).shuffle(files)
    totals = Totals()
    for start in range(0, len(files), 150):
        some = first_files(files[start : start + 150])
        totals.add(tmp_path / str(start), ShardRecord("", "", 0, 0, [], left_out=some))
    totals.finish()
    assert totals.left_out == expected
