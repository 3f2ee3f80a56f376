"""Handing out, answering, going on: at one stroke, once, and where one was."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from crowd_batches import answer_all, given, judging, labelling
from edos_dataset.crowd import assignments, store
from edos_dataset.crowd.assignments import NotYoursError, Work
from edos_dataset.crowd.store import consent, invite, welcome, worker_of


@pytest.fixture
def people():
    return [f"w{number}" for number in range(30)]


@pytest.fixture
def work(tmp_path, people):
    batch, kept = labelling(tmp_path / "batch", dialogues=8)
    invite(kept, people)
    return Work(kept, batch, patience=3600)


def test_each_hit_goes_to_three_of_many_who_ask_at_once_begun_ones_first(work, people):
    with ThreadPoolExecutor(30) as pool:
        got = list(pool.map(work.hand_out, people))
    assert sum(one is not None for one in got) == 12
    assert set(Counter(one.hit.id for one in got if one).values()) == {3}
    assert len({one.id for one in got if one}) == 12
    again = [work.hand_out(worker) for worker in people]
    assert [one and one.id for one in again] == [one and one.id for one in got], "whoever comes back goes on"


def test_a_worker_gets_each_hit_once_and_no_more_than_the_limit(work):
    done = [answer_all(work, "w0").hit.id for _ in range(4)]
    assert len(set(done)) == 4 and work.hand_out("w0") is None
    work.most_hits = 2
    assert answer_all(work, "w1") and answer_all(work, "w1") and work.hand_out("w1") is None


def test_who_is_long_away_loses_the_place_only_to_somebody_else(work, people, monkeypatch):
    first = work.hand_out("w0")
    work.give("w0", first.id, given(0, "sad"))
    clock = store.now()
    monkeypatch.setattr(assignments, "now", lambda: clock + 4000)
    assert work.hand_out("w0").id == first.id, "nobody took it"
    monkeypatch.setattr(assignments, "now", lambda: clock + 9000)
    others = [answer_all(work, worker).hit.id for worker in people[1:4]]
    assert others == [first.hit.id] * 3
    with_another = work.hand_out("w0")
    assert with_another.hit.id != first.hit.id
    with pytest.raises(NotYoursError, match="long away"):
        work.give("w0", first.id, given(1, "sad"))
    assert work.answered(first)[0]["value"] == "sad", "what was answered is kept"


def test_an_answer_counts_once_and_a_later_one_replaces_it(work):
    mine = work.hand_out("w0")
    place = next(place for place, item in enumerate(mine.hit.items) if item.kind == "label")
    answer = given(place, "sad")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: work.give("w0", mine.id, answer), range(8))) == [{}] * 8
    assert work.store.read("SELECT count(*) FROM answers") == [(1,)]
    work.give("w0", mine.id, given(place, None, "weary"))
    assert work.answered(mine)[place] == {"value": None, "typed": "weary", "checked": False}
    with pytest.raises(ValueError, match="that of another one"):
        work.give("w0", mine.id, replace(answer, place=(place + 1) % 4))
    with pytest.raises(NotYoursError, match="not a task of yours"):
        work.give("w1", mine.id, given(place, "sad"))


def test_of_a_quiz_question_the_first_answer_counts_and_the_right_one_is_told(work):
    mine = work.hand_out("w0")
    place = next(place for place, item in enumerate(mine.hit.items) if item.kind == "quiz")
    assert work.give("w0", mine.id, given(place, "proud")) == {"right": False, "truth": "sad"}
    assert work.give("w0", mine.id, given(place, "sad")) == {"right": False, "truth": "sad"}
    assert work.answered(mine)[place]["value"] == "proud"


def test_a_complete_hit_is_submitted_and_then_closed_except_for_repeats(work):
    mine = work.hand_out("w0")
    answers = [given(place, "sad") for place in range(4)]
    for answer in answers[:2]:
        work.give("w0", mine.id, answer)
    assert work.finish("w0", mine.id) == 2
    for answer in answers[2:]:
        work.give("w0", mine.id, answer)
    assert work.finish("w0", mine.id) is None and work.finish("w0", mine.id) is None
    work.give("w0", mine.id, answers[3])  # its acknowledgement was lost
    with pytest.raises(NotYoursError, match="submitted"):
        work.give("w0", mine.id, given(0, "proud"))


def test_a_bonus_is_told_when_it_is_asked_for_and_may_be_earned_later(tmp_path):
    batch, kept = judging(tmp_path / "batch")
    invite(kept, ["w0"])
    work = Work(kept, batch)
    mine = work.hand_out("w0")
    place, item = next((place, item) for place, item in enumerate(mine.hit.items) if item.kind == "bonus")
    worst = ["bad"] * 5
    assert work.give("w0", mine.id, given(place, worst)) == {}
    assert work.give("w0", mine.id, given(place, worst, check=True)) == {"bonus": False}
    better = ["okay" if text == item.truth else "bad" for text in item.choices]
    assert work.give("w0", mine.id, given(place, better, check=True)) == {"bonus": True}


@pytest.mark.parametrize(
    "answer",
    [
        given(4, "sad"),
        given(-1, "sad"),
        given(0, "happy"),
        given(0, ["good"]),
        given(0, None, "  "),
        given(0, None, "x" * 101),
        given(0, "sad", "and typed"),
        given(0, "sad", seconds=1e9),
        replace(given(0, "sad"), id="x"),
    ],
    ids=lambda answer: f"{answer.place}-{str(answer.value)[:8]}",
)
def test_what_is_no_answer_is_refused(work, answer):
    mine = work.hand_out("w0")
    with pytest.raises(ValueError, match=r".") as caught:
        work.give("w0", mine.id, answer)
    assert not isinstance(caught.value, NotYoursError) and work.answered(mine) == {}


@pytest.mark.parametrize("value", [["good"] * 3, ["good"] * 4 + ["fine"], "good", None, [["good"]] * 5])
def test_what_is_no_judgement_is_refused(tmp_path, value):
    batch, kept = judging(tmp_path / "batch", bonus=2)
    invite(kept, ["w0"])
    work = Work(kept, batch)
    with pytest.raises(ValueError, match="for each of the 5 replies"):
        work.give("w0", work.hand_out("w0").id, given(0, value))


def test_a_platform_hands_out_by_itself(work):
    welcome(work.store, "A1")
    hit = work.batch.hits[2].id
    mine = work.hand_out("mturk:A1", hit, "assignment host")
    assert (mine.hit.id, mine.platform) == (hit, "assignment host")
    assert work.hand_out("mturk:A1", work.batch.hits[1].id, "b host").id != mine.id
    with pytest.raises(NotYoursError, match="not of this batch"):
        work.hand_out("mturk:A1", "unknown", "c host")


def test_workers_are_known_by_their_tokens_alone(work):
    token = invite(work.store, ["eve"])["eve"]
    assert worker_of(work.store, token).id == "eve" and worker_of(work.store, "eve") is None
    assert not worker_of(work.store, token).consented
    consent(work.store, "eve")
    assert worker_of(work.store, token).consented
    assert token not in work.store.path.read_bytes().decode("latin-1")
    with pytest.raises(ValueError, match="taken"):
        invite(work.store, ["new", "eve"])
    with pytest.raises(ValueError, match="no name of a worker"):
        invite(work.store, ["two words"])
    assert worker_of(work.store, welcome(work.store, "A1")) == worker_of(work.store, welcome(work.store, "A1"))


def test_a_file_of_something_else_is_told(tmp_path):
    (tmp_path / "answers.sqlite").write_text("no database, but long enough to be looked at as one" * 20)
    with pytest.raises(ValueError, match="is no file of answers"):
        store.Store(tmp_path / "answers.sqlite")
