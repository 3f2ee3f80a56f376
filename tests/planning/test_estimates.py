"""Work computed from a sample, on machines."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from edos_dataset.planning.estimates import rows_of, workers_of
from edos_dataset.planning.machines import GIB, Cluster, Machine, devices
from edos_dataset.planning.measured import listed
from edos_dataset.planning.work import Piece, corpus_of, line, published, work_of
from planned import observed, sample

SHARD = 20_000
LIST = Piece("list", "", 0, "leader", 1, 0.0)


def planned(took, cluster, sentences=16_000_000, **more):
    corpus = corpus_of(took, sentences, SHARD, **more)
    work = work_of(took, corpus, SHARD)
    alone = list(published(took, corpus, work))
    return {row.stage: row for row in rows_of(cluster, work, LIST, alone, took)}, work, [piece for piece, _ in alone]


def cluster(*machines, **more):
    return Cluster("test", machines, **more)


def test_a_line_parts_what_a_shard_and_what_a_sentence_takes():
    few, many = observed(8, 1000, a_shard=0.5), observed(4, 5000, a_shard=0.5)
    found = line(few, many, lambda run: run.phases[0].stages[0].seconds)
    assert found == pytest.approx((0.5, 0.001))
    assert found.at(1024, 16_000_000) == pytest.approx(0.5 * 1024 + 16_000)
    assert line(many, many, lambda run: run.total * 2.0) == (0, 2)  # one film: nothing to part


def test_shards_are_as_many_as_a_run_cuts():
    took = sample()
    assert [corpus_of(took, sentences, SHARD).shards for sentences in (20_001, 160_001, 441_000_000)] == [
        8,
        16,
        1 << 15,
    ]
    assert corpus_of(took, 3_000, SHARD).shards == 3  # a film is not parted


def test_core_hours_are_the_samples_and_hours_what_the_cores_leave_of_them():
    rows, _, _ = planned(sample(), cluster(Machine("a", 4, 64.0, count=2, speed=0.5, price=3.0)))
    assert rows["clean"].core_hours == pytest.approx(16_000 / 3600)
    assert rows["clean"].hours == pytest.approx(16_000 / 3600 / (8 * 0.5))
    assert rows["label"].hours == pytest.approx(2 * rows["clean"].hours)
    assert rows["clean"].money == pytest.approx(rows["clean"].hours * 6)
    assert (rows["clean"].units, rows["label"].units) == (16_000_000, 8_000_000)


def test_a_gpu_takes_the_encoder_stages_and_its_cores_can_hold_it_up():
    fast = Machine("gpus", 4, 64.0, gpu="h100", gpus=1, gpu_speed=40.0)
    rows, _, _ = planned(sample(), cluster(Machine("cores", 100, 64.0), fast))
    assert rows["label"].on == "gpus" and rows["clean"].on == "cores"
    assert rows["label"].hours == pytest.approx(32_000 / 3600 / 40)  # by the GPU alone
    assert rows["clean"].hours == pytest.approx(16_000 / 3600 / 104)
    fed, _, _ = planned(sample(), cluster(Machine(**{**vars(fast), "gpu_speed": 1e6})))
    share = devices()["encoder"]["host_share"]["value"]
    assert fed["label"].hours == pytest.approx(32_000 / 3600 * share / 4) and fed["label"].on == "cores"


def test_memory_bounds_the_workers():
    machine = Machine("a", 16, 3.0)
    (workers,) = workers_of(cluster(machine), GIB)
    assert workers.all == 3
    with pytest.raises(ValueError, match="a worker takes 4.0 GiB, and the machine has 3"):
        workers_of(cluster(machine), 4 * GIB)


def test_memory_grows_with_a_shard_as_it_did_in_the_sample():
    took = sample()
    phases = [
        tuple(replace(phase, peak=peak) for phase in run.phases) for run, peak in ((took.few, 50), (took.many, 70))
    ]
    took = replace(took, few=replace(took.few, phases=phases[0]), many=replace(took.many, phases=phases[1]))
    clean = work_of(took, corpus_of(took, 16_000_000, SHARD), SHARD)[0]
    assert clean.memory == took.memory + 70 + 20 * 18  # 20 bytes a thousand sentences, from two thousand to twenty


def test_what_is_selected_bounds_what_comes_after():
    free, _, _ = planned(sample(), cluster(Machine("a", 4, 64.0)))
    bound, _, _ = planned(sample(most=1_000_000), cluster(Machine("a", 4, 64.0)))
    assert bound["select"].units == free["select"].units == 4_000_000
    assert bound["publish edos"].core_hours == pytest.approx(free["publish edos"].core_hours / 4)
    assert bound["publish edos"].disk == free["publish edos"].disk // 4


def test_every_partition_opens_the_file_of_every_group_of_shards():
    pieces = {piece.how: piece for piece in planned(sample(opening=0.01), cluster(Machine("a", 4, 64.0)))[1][1].pieces}
    assert pieces["partitions"].core == pytest.approx(512 * pieces["partitions"].tasks * 0.01)  # of two shards each


def test_the_workers_write_the_published_files():
    rows, _, pieces = planned(sample(), cluster(Machine("a", 4, 64.0, count=2)))
    assert [(piece.how, piece.tasks) for piece in pieces] == [("files", 320 + 2)]  # 32 million dialogues
    assert rows["publish edos"].hours == pytest.approx(rows["publish edos"].core_hours / 8)
    assert rows["publish edos"].on == "cores"


def test_more_files_a_film_are_read_and_not_kept():
    took = sample()
    corpus = corpus_of(took, 3_000_000, SHARD, files=3000, films=1000)
    assert corpus.kept == 1_000_000
    assert work_of(took, corpus, SHARD)[0].sentences == 1_000_000


def test_stragglers_and_machines_that_are_taken_away_cost_time():
    rough = cluster(Machine("a", 4, 64.0, failures=2.0, start_minutes=3.0), stragglers=0.05, slowdown=5.0)
    calm, _, _ = planned(sample(), cluster(Machine("a", 4, 64.0, start_minutes=3.0)))
    wild, _, _ = planned(sample(), rough)
    assert wild["clean"].hours == pytest.approx(calm["clean"].hours * 1.2 * 1.1)
    assert wild["clean"].core_hours == calm["clean"].core_hours and wild["start"].hours == calm["start"].hours


def test_memory_that_grows_by_chance_between_tiny_shards_is_not_taken_for_theirs():
    few, many = observed(6, 2), observed(8, 10)
    phases = [tuple(replace(phase, peak=peak << 20) for phase in run.phases) for run, peak in ((few, 11), (many, 21))]
    took = replace(sample(), few=replace(few, phases=phases[0]), many=replace(many, phases=phases[1], documents=40))
    clean = work_of(took, corpus_of(took, 40_000, SHARD, files=20_000), SHARD)[0]
    assert clean.memory < GIB  # not a MiB and a quarter a sentence, by which a shard would take twelve


def test_the_start_of_a_listing_is_not_multiplied_by_the_files(monkeypatch):
    clock, calls = iter([0.0, 2.0, 2.0, 2.1, 2.1, 2.2, 2.2, 2.3]), []
    monkeypatch.setattr("edos_dataset.planning.measured.time.process_time", lambda: next(clock))

    def find():
        calls.append(1)
        return SimpleNamespace(files=100)

    assert listed(find, remote=False)[1] == pytest.approx(0.1 / 100) and len(calls) == 2
    assert listed(find, remote=True)[1] == pytest.approx(0.1 / 1_000)
