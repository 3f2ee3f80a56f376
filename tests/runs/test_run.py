"""Runs over toy stages: what is made, what is reused, and that the result depends on the input alone."""

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.pipeline import REMOVALS, CorpusStep, Output, Stage
from edos_dataset.runs.run import Phase, Run, phases, run_stage
from edos_dataset.runs.shards import Part, StageCount, numbered
from edos_dataset.schema import DETAIL, FILE, FILMS, REASON


@dataclass(frozen=True)
class Open(Stage):
    """A row a file; files without bytes leave, with a message."""

    patience: int = 1  # changes nothing

    name: ClassVar[str] = "open"
    unit: ClassVar[str] = "files"

    def __call__(self, table):
        files = [file for row in table["files"].to_pylist() for file in row]
        bad = [None if file["size"] else "no_bytes" for file in files]
        return pa.table(
            {
                "document_id": pa.array([file["document_id"] for file in files], pa.string()),
                "source": pa.array([{"path": file["path"]} for file in files], pa.struct({"path": pa.string()})),
                "size": pa.array([file["size"] for file in files], pa.int64()),
                REASON: pa.array(bad, pa.string()),
                DETAIL: pa.array([reason and "the file is empty" for reason in bad], pa.string()),
            }
        )

    def notes(self, rejected):
        rows = rejected.select(["document_id", REASON, DETAIL]).to_pylist()
        return [{"document": row["document_id"], "reason": row[REASON], "detail": row[DETAIL]} for row in rows]

    def tally(self, table):
        return {f"size:{size}": count for size, count in Counter(table["size"].to_pylist()).items()}


@dataclass(frozen=True)
class DropMultiples(Stage):
    """Sizes that `of` divides leave."""

    of: int = 5
    poison: int = -1

    name: ClassVar[str] = "multiples"
    unit: ClassVar[str] = "files"

    def __call__(self, table):
        sizes = table["size"].to_numpy()
        if (sizes == self.poison).any():
            raise ValueError(f"poisoned by {self.poison}")
        return table.append_column(
            REASON, pa.array(np.where(sizes % self.of == 0, f"divided_by_{self.of}", None), pa.string())
        )


@dataclass(frozen=True)
class KeepLargest(CorpusStep):
    """The `number` largest files of the corpus stay."""

    number: int = 5

    name: ClassVar[str] = "largest"
    unit: ClassVar[str] = "files"

    def decide(self, shards):
        tables = [pq.read_table(shard) for shard in shards]
        sizes = sorted((size for table in tables for size in table["size"].to_pylist()), reverse=True)
        last = sizes[: self.number][-1] if sizes else 0
        for table in tables:
            rows = np.flatnonzero(table["size"].to_numpy() < last)
            yield pa.table(
                {"row": rows, "turn": pa.nulls(len(rows), pa.int32()), "reason": ["small"] * len(rows)}
            ).cast(REMOVALS)


@dataclass(frozen=True)
class Double(Stage):
    times: int = 2

    name: ClassVar[str] = "double"
    unit: ClassVar[str] = "files"

    def __call__(self, table):
        return table.set_column(table.column_names.index("size"), "size", pc.multiply(table["size"], self.times))


@dataclass(frozen=True)
class Lose(Stage):
    name: ClassVar[str] = "lose"
    unit: ClassVar[str] = "files"

    def __call__(self, table):
        return table.slice(1)


PIPELINE = [Open(), DropMultiples(), Output("os"), KeepLargest(), Double(), Output("edos")]
OPEN, LARGEST = "01-multiples", "02-double"


def film_table(sizes):
    """Films of one file each; the size of the file is its content."""
    rows = [
        {
            "film": f"f{number:03d}",
            "files": [
                {**dict.fromkeys(FILE.names), "document_id": f"d{number:03d}", "path": f"{number}.srt", "size": size}
            ],
        }
        for number, size in enumerate(sizes)
    ]
    return pa.Table.from_pylist(rows, FILMS)


def shards_of(sizes, films_a_shard=3):
    table = film_table(sizes)
    return list(numbered(table.slice(start, films_a_shard) for start in range(0, len(sizes), films_a_shard)))


SIZES = [7, 0, 3, 10, 11, 12, 13, 0, 20, 21, 4]  # four shards


def execute(folder, films=None, pipeline=PIPELINE, workers=1, keep_rejects=False):
    with LocalEngine(workers) as engine:
        run = Run(folder, engine, keep_rejects)
        run.outputs = run.execute(shards_of(SIZES) if films is None else films, pipeline)
    return run


def files(folder, pattern="0[1-9]-*/*.parquet"):
    """The shards, rejects and removals that are there, and inode and time of each: others after it was written anew."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.glob(pattern)
    }


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def counts(run):
    return [(count.stage, count.unit, count.read, count.kept, count.rejected) for count in run.counts]


def written_anew(folder, before):
    return {name for name, written in files(folder).items() if before.get(name) != written}


A, B, C = Open(), DropMultiples(), Double()
STEP = KeepLargest()
OS, EDOS = Output("os"), Output("edos")


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ([], []),
        ([A], [Phase("01-open", None, (A,), ())]),
        ([A, B, OS], [Phase("01-multiples", None, (A, B), ("os",))]),
        ([A, STEP, B], [Phase("01-open", None, (A,), ()), Phase("02-multiples", STEP, (B,), ())]),
        (
            [A, STEP, STEP, OS],
            [
                Phase("01-open", None, (A,), ()),
                Phase("02-largest", STEP, (), ()),
                Phase("03-largest", STEP, (), ("os",)),
            ],
        ),
        ([A, OS, EDOS], [Phase("01-open", None, (A,), ("os", "edos"))]),
        ([A, OS, B, EDOS], [Phase("01-open", None, (A,), ("os",)), Phase("02-multiples", None, (B,), ("edos",))]),
        ([A, OS, STEP, C, EDOS], [Phase("01-open", None, (A,), ("os",)), Phase("02-double", STEP, (C,), ("edos",))]),
        ([STEP, A], [Phase("01-open", STEP, (A,), ())]),
    ],
)
def test_phases(pipeline, expected):
    assert phases(pipeline) == expected


@pytest.mark.parametrize(
    ("pipeline", "message"), [([OS, A], "'os' comes before any stage"), ([A, OS, B, OS], "'os' comes twice")]
)
def test_outputs_in_the_wrong_place(pipeline, message):
    with pytest.raises(ValueError, match=message):
        phases(pipeline)


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_and_result(tmp_path, workers):
    run = execute(tmp_path, workers=workers)
    assert counts(run) == [
        ("open", "files", 11, 9, {"no_bytes": 2}),
        ("multiples", "files", 9, 7, {"divided_by_5": 2}),
        ("largest", "files", 7, 5, {"small": 2}),
        ("double", "files", 5, 5, {}),
    ]
    assert run.counts[0].tally == {f"size:{size}": SIZES.count(size) for size in sorted(set(SIZES), key=str)}
    assert list(run.counts[0].tally) == sorted(run.counts[0].tally)
    assert run.notes == [
        {"document": f"d{number:03d}", "reason": "no_bytes", "detail": "the file is empty"} for number in (1, 7)
    ]
    assert {config: [path.parent.name for path in paths] for config, paths in run.outputs.items()} == {
        "os": [OPEN] * 4,
        "edos": [LARGEST] * 4,
    }
    sizes = [size for path in run.outputs["edos"] for size in pq.read_table(path)["size"].to_pylist()]
    assert sizes == [14, 22, 24, 26, 42]
    assert pq.read_schema(run.outputs["os"][0]).names == [
        "document_id",
        "source",
        "size",
    ]  # reason and detail stay behind


def test_seconds_of_a_decision_count(tmp_path, monkeypatch):
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("edos_dataset.runs.run.time.perf_counter", lambda: next(clock))
    first, again = execute(tmp_path), execute(tmp_path)
    step = first.counts[2]
    assert step.seconds == again.counts[2].seconds
    assert step.seconds == 10 + 4 * 10  # of deciding, and of applying to each of four shards


def test_the_same_bytes_for_any_number_of_workers(tmp_path):
    execute(tmp_path / "a", workers=1, keep_rejects=True)
    execute(tmp_path / "b", workers=2, keep_rejects=True)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_a_stage_that_loses_a_unit_is_reported(tmp_path):
    with pytest.raises(RuntimeError, match=r"stage 'lose' lost files: read 2, kept 1, rejected \{\}"):
        execute(tmp_path, pipeline=[Open(), Lose()])


def test_run_stage_parts_and_counts():
    kept, rejected, count = run_stage(Open(), Open(), film_table([1, 0]))
    assert (kept.num_rows, rejected.num_rows) == (1, 1)
    assert (count.read, count.kept, count.rejected) == (2, 1, {"no_bytes": 1})
    assert count.seconds > 0


def said(run):
    """What of a run goes to a manifest, but for the times, as it stands there: byte by byte."""
    return json.dumps([run.notes, [{**vars(count), "seconds": 0} for count in run.counts]])


def test_again_nothing_is_made(tmp_path):
    first = execute(tmp_path)
    before = files(tmp_path)
    second = execute(tmp_path)
    assert (first.made, second.made) == (8, 0)
    assert written_anew(tmp_path, before) == set()
    assert counts(second) == counts(first)
    assert (said(second), second.outputs) == (said(first), first.outputs)


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-3])


def remove_record(path):
    path.with_suffix(".json").unlink()


@pytest.mark.parametrize("damage", [cut_off, remove_record, Path.unlink])
@pytest.mark.parametrize("phase", [OPEN, LARGEST])
def test_a_damaged_shard_is_made_again_alone(tmp_path, phase, damage):
    whole = (execute(tmp_path), content(tmp_path))[1]
    before = files(tmp_path)
    damage(tmp_path / phase / "00002.parquet")
    run = execute(tmp_path)
    assert (run.made, written_anew(tmp_path, before)) == (1, {f"{phase}/00002.parquet"})
    assert content(tmp_path) == whole


@pytest.mark.parametrize("file", ["00001.removals.parquet", "decided.json"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"[1]")])
def test_a_damaged_decision_is_made_again(tmp_path, file, damage):
    whole = (execute(tmp_path), content(tmp_path))[1]
    damage(tmp_path / LARGEST / file)
    run = execute(tmp_path)
    assert run.made == 0  # the decision came out the same, so the shards hold
    assert content(tmp_path) == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_after_an_error_the_finished_shards_are_reused(tmp_path, workers):
    poisoned = [Open(), DropMultiples(poison=13), *PIPELINE[2:]]
    with pytest.raises(ValueError, match="poisoned by 13"):
        execute(tmp_path, pipeline=poisoned, workers=workers)
    finished = len(list((tmp_path / OPEN).glob("*.json")))
    assert finished == 2 or workers == 2  # one worker goes in order
    assert (
        not list(tmp_path.rglob(".*.tmp")) or workers == 2
    )  # a worker stopped in the middle leaves one, which `OutputFolder` removes
    before = files(tmp_path)
    # A shard is finished with its record: a worker stopped between the two leaves only the first.
    records = tmp_path.glob("0[1-9]-*/*0.json")
    finished_first = {path.with_suffix(".parquet").relative_to(tmp_path).as_posix() for path in records}
    cured = [
        part if number != 2 else shards_of(SIZES[:6] + [14] + SIZES[7:])[2]
        for number, part in enumerate(shards_of(SIZES))
    ]
    assert execute(tmp_path, cured, poisoned).made == 8 - finished
    assert finished_first.isdisjoint(written_anew(tmp_path, before))


@pytest.mark.parametrize(
    ("change", "phases_made"),
    [
        ({0: Open(patience=2)}, {OPEN}),  # other code or parameters, the same result
        ({1: DropMultiples(of=3)}, {OPEN, LARGEST}),
        ({3: KeepLargest(number=3)}, {LARGEST}),
        ({4: Double(times=3)}, {LARGEST}),
        ({3: KeepLargest(number=5), 4: Double(times=2)}, set()),
    ],
)
def test_a_changed_parameter_remakes_what_depends_on_it(tmp_path, change, phases_made):
    execute(tmp_path)
    before = files(tmp_path)
    changed = [change.get(index, item) for index, item in enumerate(PIPELINE)]
    execute(tmp_path, pipeline=changed)
    anew = {name for name in written_anew(tmp_path, before) if ".removals." not in name}
    assert {name.partition("/")[0] for name in anew} == phases_made
    execute(tmp_path / "fresh", pipeline=changed)
    fresh = content(tmp_path / "fresh")
    assert {name: data for name, data in content(tmp_path).items() if not name.startswith("fresh")} == fresh


def test_only_shards_whose_input_changed_are_remade(tmp_path):
    execute(tmp_path)
    before = files(tmp_path)
    execute(tmp_path, shards_of(SIZES[:-1] + [6]))  # smaller than all that are kept: the decision over the others stays
    anew = {name for name in written_anew(tmp_path, before) if ".removals." not in name}
    assert anew == {f"{OPEN}/00003.parquet", f"{LARGEST}/00003.parquet"}


def test_removed_films_leave_nothing(tmp_path):
    execute(tmp_path / "a", keep_rejects=True)
    (tmp_path / "a" / OPEN / "00003.parquet").unlink()  # as if killed while removing: its record is there
    execute(tmp_path / "a", shards_of(SIZES[:5]), keep_rejects=True)
    execute(tmp_path / "b", shards_of(SIZES[:5]), keep_rejects=True)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert {path.name for path in (tmp_path / "a").glob("*/*.json")} == {
        "00000.json",
        "00001.json",
        "decided.json",
        "index.json",
    }


def rejects(folder):
    return [row for path in sorted(folder.glob("*/*.rejects.parquet")) for row in pq.read_table(path).to_pylist()]


def test_rejects_are_kept_on_request(tmp_path):
    run = execute(tmp_path, keep_rejects=True)
    found = [(row["document_id"], row["stage"], row["reason"]) for row in rejects(tmp_path)]
    assert found == [
        ("d001", "open", "no_bytes"),
        ("d003", "multiples", "divided_by_5"),
        ("d007", "open", "no_bytes"),
        ("d008", "multiples", "divided_by_5"),
        ("d002", "largest", "small"),
        ("d010", "largest", "small"),
    ]
    assert Counter(reason for *_, reason in found) == sum((Counter(count.rejected) for count in run.counts), Counter())
    assert [row.get("detail") for row in rejects(tmp_path)][:2] == ["the file is empty", None]
    assert all({"reason", "stage"} <= set(pq.read_schema(path).names) for path in tmp_path.glob("*/*.rejects.parquet"))


def test_rejects_asked_for_later_and_no_longer(tmp_path):
    execute(tmp_path)
    assert execute(tmp_path, keep_rejects=True).made == 8
    wanted = rejects(tmp_path)
    assert len(wanted) == 6
    cut_off(tmp_path / OPEN / "00001.rejects.parquet")
    assert execute(tmp_path, keep_rejects=True).made == 1
    assert rejects(tmp_path) == wanted
    assert execute(tmp_path).made == 0
    assert rejects(tmp_path) == []
    assert execute(tmp_path, keep_rejects=True).made == 8
    assert rejects(tmp_path) == wanted


def altered(content):
    """Yield a record with every value in it altered, left out, or of another type, one at a time."""
    for key in content:
        others = [content[key] + 1] if isinstance(content[key], int | float) else []
        for other in [*others, None, [["x"]]]:
            if other != content[key]:
                yield {**content, key: other}
        yield {name: value for name, value in content.items() if name != key}
        if isinstance(content[key], list) and content[key] and isinstance(content[key][0], dict):
            for one in altered(content[key][0]):
                yield {**content, key: [one, *content[key][1:]]}
        if isinstance(content[key], dict):
            yield {**content, key: {**content[key], "more": 1}}
            for one in altered(content[key]):
                yield {**content, key: one}


def report_of(run):
    """What a run reports, except its times."""
    counts = [{**vars(count), "seconds": 0} for count in run.counts]
    return (
        counts,
        run.notes,
        run.rows,
        {config: list(map(Path.read_bytes, run.outputs[config])) for config in run.outputs},
    )


@pytest.mark.parametrize("file", [f"{OPEN}/00001.json", f"{LARGEST}/00000.json", f"{LARGEST}/decided.json"])
def test_an_altered_record_is_not_believed(tmp_path, file):
    wanted = report_of(execute(tmp_path))
    path = tmp_path / file
    record = json.loads(path.read_text())
    texts = [json.dumps(content) for content in altered(record)]
    for text in [*texts, "[" * 100_000, "\ud800", '{"sha256": {}}']:
        path.write_text(text, errors="surrogatepass")
        assert report_of(execute(tmp_path)) == wanted, text[:300]
        assert json.loads(path.read_text()).keys() == record.keys(), "made again"


def test_what_a_run_did_not_write_stays_among_its_shards(tmp_path):
    execute(tmp_path)
    mine = [tmp_path / OPEN / name for name in ("notes.txt", "my.parquet", "README", "00001.parquet.bak", "00001.csv")]
    for path in mine:
        path.write_text("mine")
    (tmp_path / OPEN / "00009.parquet").symlink_to(mine[0])
    execute(tmp_path, shards_of(SIZES[:4]))
    assert not (tmp_path / OPEN / "00003.parquet").exists()
    assert [path.read_text() for path in mine] == ["mine"] * 5 and (tmp_path / OPEN / "00009.parquet").is_symlink()


def test_progress(tmp_path):
    calls = []
    with LocalEngine(1) as engine:
        Run(tmp_path, engine, progress=lambda *call: calls.append(call)).execute(shards_of(SIZES), PIPELINE)
        remove_record(tmp_path / OPEN / "00003.parquet")
        first, calls = calls, []
        Run(tmp_path, engine, progress=lambda *call: calls.append(call)).execute(shards_of(SIZES), PIPELINE)
    assert first[:5] == [
        ("multiples", 0, 4, 0, "files"),
        ("multiples", 1, 4, 3, "files"),
        ("multiples", 2, 4, 6, "files"),
        ("multiples", 3, 4, 9, "files"),
        ("multiples", 4, 4, 11, "files"),
    ]
    assert calls == [
        ("multiples", 3, 4, 0, "files"),
        ("multiples", 4, 4, 2, "files"),
        ("double", 4, 4, 0, "files"),
    ]  # the rate is that of shards made now


def test_no_films(tmp_path):
    run = execute(tmp_path, [Part("all", film_table([]))])
    assert counts(run) == [(count[0], "files", 0, 0, {}) for count in counts(execute(tmp_path / "b"))]
    assert [pq.read_table(path).num_rows for path in run.outputs["edos"]] == [0]


def test_paths_do_not_matter(tmp_path, monkeypatch):
    execute(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    execute(Path("b"))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    os.rename(tmp_path / "a", tmp_path / "c")
    assert execute(tmp_path / "c").made == 0  # a moved run goes on


def test_kept_is_what_was_made_for_the_same_key(tmp_path):
    run, made = Run(tmp_path, LocalEngine()), []

    def make():
        made.append(len(made))
        return pa.table({"a": [len(made)]}), StageCount("step", "dialogues", 3, 1, {"far": 2}), {"loss": 0.5, "from": 1}

    first = run.keep("steps/1", "key", make)
    again = run.keep("steps/1", "key", make)
    assert (first[0].to_pylist(), first[1].facts) == ([{"a": 1}], {"loss": 0.5, "from": 1})
    assert again == first and json.dumps(vars(again[1]), default=vars) == json.dumps(vars(first[1]), default=vars)
    assert run.keep("steps/1", "another", make)[0].to_pylist() == [{"a": 2}]
    cut_off(tmp_path / "steps" / "1.parquet")
    run.keep("steps/1", "another", make)
    assert made == [0, 1, 2]


class OneOfTwo(LocalEngine):
    """One of two processes of a run, here of two threads."""

    def __init__(self, number, barrier):
        super().__init__(1)
        self.number, self.barrier, self.is_main = number, barrier, number == 0

    def share(self, items):
        return items[self.number :: 2]

    def wait(self):
        self.barrier.wait(60)


def two_runs(folder):
    """Carry a run out by two at once; return both."""
    barrier = Barrier(2)
    runs = [Run(folder, OneOfTwo(number, barrier)) for number in range(2)]
    with ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(lambda run: run.execute(shards_of(SIZES), PIPELINE), runs))
    assert outputs[0] == outputs[1]
    return runs


def test_two_processes_share_a_run_and_both_know_all_of_it(tmp_path):
    alone = execute(tmp_path / "alone")
    first, second = two_runs(tmp_path / "shared")
    assert content(tmp_path / "shared") == content(tmp_path / "alone")
    assert counts(first) == counts(second) == counts(alone)
    assert said(first) == said(second) == said(alone)
    assert (first.made, second.made) == (4, 4)
    assert [run.made for run in two_runs(tmp_path / "shared")] == [0, 0]


def test_a_folder_that_is_not_shared_is_told(tmp_path):
    apart = Run(tmp_path, OneOfTwo(0, Barrier(1)))
    with pytest.raises(FileNotFoundError, match="do all share the folder"):
        apart.execute(shards_of(SIZES), PIPELINE)
