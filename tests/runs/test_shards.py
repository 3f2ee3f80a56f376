"""Files of a run: whole or absent, recorded last, and one process at a time."""

import os
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.runs.shards import (
    ShardRecord,
    StageCount,
    digest,
    left_by_killed,
    read_checked,
    read_record,
    remove_others,
    replacing,
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
