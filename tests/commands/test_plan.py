"""`edos plan` from Python: what it measures on the packaged sample, against what a run does there."""

import pytest

from command_line import edos
from edos_dataset.commands.curate import curate
from edos_dataset.commands.plan import plan
from edos_dataset.planning.machines import Cluster, Machine
from edos_dataset.planning.measured import draw, measured
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.sources.inventory import SourceError, find_films

HERE = [Cluster("one", (Machine("one", 1, 4.0, price=2.0),))]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan") / "films"
    assert edos("sample", folder).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def pipeline():
    return pipeline_of(labels=False)


@pytest.fixture(scope="module")
def found(films, pipeline):
    return plan([films], pipeline, HERE, sample=1000, measure=measured)


def test_a_plan_of_all_films_counts_what_a_run_counts(films, pipeline, found, tmp_path):
    manifest = curate(find_films([films], "en"), tmp_path / "edos", pipeline)
    rows = {row["stage"]: row for row in found["plans"][0]["stages"]}
    for stage in manifest["stages"]:
        assert rows[stage["stage"]]["unit"] == stage["unit"]
        assert rows[stage["stage"]]["units"] == pytest.approx(stage["read"], rel=0.05, abs=2), stage
    assert found["corpus"]["files"] == manifest["input"]["files"]
    written = sum(path.stat().st_size for path in (tmp_path / "edos").rglob("*.parquet"))
    assert 0.5 < found["plans"][0]["total"]["disk"] / written < 2


def test_what_it_comes_to_is_the_sum_of_its_stages(found):
    (one,) = found["plans"]
    total = one["total"]
    assert total["hours"] == pytest.approx(sum(row["hours"] for row in one["stages"]), abs=1e-3)
    assert total["money"] == pytest.approx(2 * total["hours"], abs=0.01)
    longest = max(one["stages"], key=lambda row: row["hours"])
    assert one["binds"]["stage"] == longest["stage"] and 0 < one["binds"]["share"] <= 1
    assert all(row["hours"] >= 0 and row["core_hours"] >= 0 for row in one["stages"])


def test_a_worker_has_more_memory_than_one_that_waits(found):
    peaks = [stage["peak_memory"] for stage in found["sample"]["stages"]]
    assert min(peaks) > 50 << 20 and max(peaks) < 4 << 30


def test_a_corpus_that_is_not_at_hand(films, pipeline):
    asked = {"sample": 6, "measure": measured}
    large = plan([films], pipeline, HERE, sentences=441_000_000, files=447_000, films=149_000, **asked)
    rows = {row["stage"]: row for row in large["plans"][0]["stages"]}
    assert rows["read"]["units"] == 447_000 and rows["turns"]["units"] == pytest.approx(147_000_000, rel=0.01)
    assert large["corpus"]["shards"] == 32_768
    assert any("times the sample" in remark for remark in large["remarks"])


def test_files_that_are_listed_but_not_there_are_remarked(films, pipeline, tmp_path):
    first = sorted((films / "srt").rglob("*.srt"))[0]
    (tmp_path / "list.txt").write_text(f"{first}\n{tmp_path / 'gone.srt'}\n")
    found = plan([], pipeline, HERE, files_from=tmp_path / "list.txt", sample=1, measure=measured)
    [remark] = [each for each in found["remarks"] if "cannot be read" in each]
    assert remark.startswith("1 file cannot be read, such as ") and "gone.srt" in remark


def test_the_draw_is_that_of_its_seed(films):
    table = find_films([films], "en").films
    one, same, other = (draw(table, 5, seed)["film"].to_pylist() for seed in (1, 1, 2))
    assert one == same != other and len(set(one)) == 5
    assert sorted(draw(table, 10_000, 3)["film"].to_pylist()) == table["film"].to_pylist()


def test_what_cannot_be_planned_is_told(films, pipeline, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no subtitles"):
        plan([tmp_path / "empty"], pipeline, HERE)
    (tmp_path / "empty" / "a.srt").write_bytes(b"\x00\x01" * 50)
    with pytest.raises(ValueError, match="none of 1 film of the sample has a sentence"):
        plan([tmp_path / "empty"], pipeline, HERE, measure=measured)
    with pytest.raises(ValueError, match="sentences must be at least 1, got 0"):
        plan([films], pipeline, HERE, sentences=0)
    with pytest.raises(ValueError, match="a film has a file at least"):
        plan([films], pipeline, HERE, files=2, films=3)
    small = [Cluster("small", (Machine("small", 1, 0.1),))]
    with pytest.raises(ValueError, match="a worker takes .* GiB, and the machine has 0.1"):
        plan([films], pipeline, small, sample=2, measure=measured)
