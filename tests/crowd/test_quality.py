"""Whose answers count: careful people, those who don't read, and those who are too quick for it."""

import dataclasses

import pytest

from crowd_people import answered, careful, judging, labelling, straight
from edos_dataset.crowd.answers import label_table
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, read_hit_answers, write_hit_answers
from edos_dataset.crowd.names import read_answer
from edos_dataset.crowd.quality import QualityRules, agreements, assignments, discarded, read_rules, worker_rows

PEOPLE = {"ann": (careful, 12.0), "bob": (careful, 9.0), "eve": (straight, 8.0), "max": (careful, 0.5)}


def rows_of(batch, answers, **rules):
    return {row.worker: row for row in worker_rows(batch.hits, answers, QualityRules(**rules))}


def test_the_same_grade_for_every_reply_earns_no_bonus():
    [hit, *_] = judging().hits
    okay = [HitAnswer(hit.id, item.id, "ann", ("okay",) * len(item.choices), "", 9.0, "1") for item in hit.items]
    [one] = assignments([hit], HitAnswers(okay), QualityRules())
    assert one.right == one.checks > 0 and not one.earned
    okay[0] = dataclasses.replace(okay[0], value=("bad", *okay[0].value[1:]))
    [one] = assignments([hit], HitAnswers(okay), QualityRules(bonus_right=1))
    assert one.earned


@pytest.mark.parametrize("batch", [labelling(), judging()], ids=["labelling", "judging"])
def test_verdicts(batch):
    answers = answered(batch, PEOPLE)
    rows = rows_of(batch, answers)
    assert {name: row.verdict for name, row in rows.items()} == {
        "ann": "keep",
        "bob": "keep",
        "eve": "discard",
        "max": "discard",
    }
    assert rows["eve"].reason.startswith("same position: 100%") and rows["max"].reason.startswith("too fast: 0.5")
    ann = rows["ann"]
    assert ann.hits == len(batch.hits) and ann.items == sum(len(hit.items) for hit in batch.hits)
    assert ann.checks == sum(item.truth is not None for hit in batch.hits for item in hit.items)
    assert ann.right / ann.checks >= 0.7 and ann.bonuses >= 1 and ann.agreement > rows["eve"].agreement
    assert rows["eve"].bonuses <= ann.bonuses
    assert rows_of(batch, answers, most_hits=2)["ann"].verdict == "stop"
    gone = discarded(batch.hits, answers, QualityRules())
    assert {worker for _, worker in gone} >= {"eve", "max"} and len(gone) >= 2 * len(batch.hits)


def test_a_bonus_needs_the_whole_hit_and_three_of_five():
    batch = labelling(15)
    (hit,) = batch.hits
    quiz = [item.id for item in hit.items if item.truth]
    for right in range(6):
        given = [
            HitAnswer(
                hit.id, item.id, "w", item.truth if item.id in quiz[:right] else "wrong" * bool(item.truth) or "sad"
            )
            for item in hit.items
        ]
        (one,) = assignments([hit], HitAnswers(given), QualityRules())
        assert (one.right, one.earned, one.minutes, one.discarded) == (right, right >= 3, None, "")
        (part,) = assignments([hit], HitAnswers(given[1:]), QualityRules())
        assert not part.earned


def test_judgements_count_with_two_bonus_tasks_right():
    batch = judging(10)
    (hit,) = batch.hits
    bonus = [item.id for item in hit.items if item.kind == "bonus"]
    for right, (earned, reason) in enumerate([(False, "x"), (False, "x"), (False, ""), (True, "")]):
        given = [
            HitAnswer(
                hit.id,
                item.id,
                "w",
                tuple(
                    ("okay" if item.id in bonus[:right] else "bad") if choice == item.truth else "good"
                    for choice in item.choices
                ),
                "",
                20.0,
            )
            for item in hit.items
        ]
        (one,) = assignments([hit], HitAnswers(given), QualityRules())
        assert (one.earned, one.discarded) == (earned, reason and "too fast, and bonus tasks wrong")
        slow = [dataclasses.replace(answer, seconds=31.0) for answer in given]
        assert assignments([hit], HitAnswers(slow), QualityRules())[0].discarded == (reason and "bonus tasks wrong")


def test_agreement_by_hand():
    votes = [("q", "a", 1), ("q", "b", 1), ("q", "c", 2), ("r", "a", "hello"), ("r", "c", "hello"), ("s", "d", 3)]
    assert agreements(votes) == {"a": 2 / 3, "b": 1 / 2, "c": 1 / 3}


def test_answers_go_into_a_file_and_become_the_table_that_agreement_reads(tmp_path):
    batch = labelling()
    answers = answered(batch, PEOPLE)
    write_hit_answers(tmp_path / "answers.jsonl", answers)
    later = HitAnswer(*[getattr(answers.given[0], key) for key in ("hit", "item", "worker")], None, "smug")
    write_hit_answers(tmp_path / "later.jsonl", HitAnswers([later]))
    again = read_hit_answers([tmp_path / "answers.jsonl", tmp_path / "later.jsonl"])
    assert again.given[1:] == answers.given[1:] and again.given[0] == later and again.finished == answers.finished
    table = label_table(batch.hits, answers, discarded(batch.hits, answers, QualityRules()))
    assert len(table.tasks) == 30 and set(table.worker) == {"ann", "bob"} and len(table.task) == 60
    assert sum(table.left_out.values()) == 60
    assert "smug (Other)" in label_table(batch.hits, again).given and read_answer("smug (Other)").text == "smug"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"hit": "h", "item": "i", "worker": "w", "value": 3}', "line 1: value must be a text"),
        ('{"hit": "h", "item": "i", "worker": "w", "value": ["fine"]}', "line 1: value must be a text"),
        ('{"hit": "h", "item": "i", "worker": "w", "value": "sad", "seconds": -1}', "seconds must be a number from 0"),
        ('{"hit": "h", "worker": "w", "value": "sad"}', "line 1: item must be a text"),
        ("[1]", "line 1: expected"),
    ],
)
def test_broken_answers(tmp_path, line, message):
    (tmp_path / "answers.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        read_hit_answers([tmp_path / "answers.jsonl"])


def test_answers_to_another_batch():
    batch = labelling(15)
    for answer, message in (
        (HitAnswer("x", "y", "w", "sad"), "no such item"),
        (HitAnswer(batch.hits[0].id, batch.hits[0].items[0].id, "w", ("good",)), "asks for a label"),
    ):
        with pytest.raises(ValueError, match=message):
            worker_rows(batch.hits, HitAnswers([answer]), QualityRules())


def test_rules_are_a_recipe(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text("quiz_right: 4\ncountries: [DE, CH]\n")
    assert read_rules(path, QualityRules(most_hits=9)) == QualityRules(4, most_hits=9, countries=("DE", "CH"))
    for text, message in (
        ("quiz: 4", "no quality rule 'quiz'"),
        ("quiz_right: many", "quiz_right is 'many'"),
        ("countries: [Germany]", "codes such as US"),
        ("same_position: 2", "from 0 to 1"),
        ("- 4", "expected lines such as"),
        ("a: [", "holds no quality rules"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_rules(path)
