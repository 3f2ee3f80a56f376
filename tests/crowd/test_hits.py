"""HITs: what they hold, that they come out the same, and what is wrong with a file is told."""

import json
from collections import Counter

import pytest

from crowd_batches import judged, quiz, tasks
from edos_dataset.crowd.hits import (
    join_answers,
    judge_hits,
    label_hits,
    read_evaluation,
    read_hits,
    read_judged_dialogues,
    read_quiz,
    read_tasks,
    write_hits,
)
from edos_dataset.crowd.texts import texts_of
from edos_dataset.label_sets.translations import LANGUAGES
from edos_dataset.labels import GROUPS, LABELS


def test_labelling_shares_dialogues_and_labels_evenly_and_mixes_the_quiz_in():
    hits = label_hits(tasks(82, of_label=2), read_quiz(), seed=3)
    assert [sum(item.kind == "label" for item in hit.items) for hit in hits] == [14, 14, 14, 14, 13, 13]
    assert {sum(item.kind == "quiz" for item in hit.items) for hit in hits} == {5}
    asked = [item for hit in hits for item in hit.items]
    labelled = {item.id: item for item in asked if item.kind == "label"}
    assert sorted(labelled) == sorted(task["task"] for task in tasks(82))
    assert all(
        max(Counter(item.facts.get("label") for item in hit.items if item.kind == "label").values()) == 1
        for hit in hits
    )
    assert all(
        set(item.choices) == set(tasks(82, of_label=2)[int(name[5:-2])]["top"][:3]) for name, item in labelled.items()
    )
    assert len({item.choices.index(item.facts["label"]) for item in labelled.values()}) == 3, (
        "the likeliest is not always first"
    )
    assert len({hit.items.index(item) for hit in hits for item in hit.items if item.kind == "quiz"}) > 5
    for item in asked:
        if item.kind == "quiz":
            assert item.truth in item.choices and len(set(item.choices)) == 3
            assert len({group for group, own in GROUPS.items() for name in item.choices if name in own}) == 3


def test_the_same_input_and_seed_give_the_same_hits_and_files(tmp_path):
    one, same, other = (label_hits(tasks(20), quiz(5), seed) for seed in (1, 1, 2))
    assert one == same and {hit.id for hit in one}.isdisjoint(hit.id for hit in other)
    write_hits(tmp_path / "hits.jsonl", one)
    assert read_hits(tmp_path / "hits.jsonl") == one


def test_judging_has_bonus_tasks_with_the_truth_and_knows_whose_replies_are_shown():
    dialogues = judged(25, truths=12)
    dialogues[0]["answers"][1]["text"] = dialogues[0]["answers"][0]["text"]
    hits = judge_hits(dialogues, seed=5)
    assert [len(hit.items) for hit in hits] == [9, 8, 8]
    for hit in hits:
        assert sum(item.kind == "bonus" for item in hit.items) == 3
    items = {item.id: item for hit in hits for item in hit.items}
    assert len({item.facts["models"].index(["a"]) for name, item in items.items() if name != "d0"}) >= 4
    for item in items.values():
        assert len(item.choices) == (4 if item.kind == "judge" else 5) - (item.id == "d0")
        assert (item.truth in item.choices) if item.kind == "bonus" else item.truth is None
        for text, models in zip(item.choices, item.facts["models"], strict=True):
            assert (
                models == ["a", "b"] if item.id == "d0" and text == "a says 0" else len(models) == (text != item.truth)
            )
    with pytest.raises(ValueError, match="8 of 25 dialogues have a true response"):
        judge_hits(judged(25, truths=8))


@pytest.mark.parametrize("language", LANGUAGES)
def test_our_quiz_and_tutorial_have_every_label_and_no_question_is_an_example(language):
    questions, examples = read_quiz(language=language), texts_of(language).examples
    assert {question["label"] for question in questions} == set(LABELS) == set(examples)
    assert set(examples.values()).isdisjoint(turn for each in questions for turn in each["turns"])


@pytest.mark.parametrize(
    ("read", "line", "message"),
    [
        (read_tasks, {"task": "a", "turns": [], "top": ["sad"]}, "line 1: turns must be a list of texts"),
        (read_tasks, {"task": "a", "turns": ["b"], "top": ["sda"]}, "did you mean 'sad'"),
        (read_quiz, {"turns": ["a"], "label": "sad", "choices": ["proud"]}, "the right label, sad, is not among"),
        (
            read_judged_dialogues,
            {"dialogue_id": "a", "turns": ["b"], "answers": [{"model": "c", "text": "d"}]},
            "two models",
        ),
        (
            read_judged_dialogues,
            {"dialogue_id": "a", "turns": ["b"], "answers": []},
            "answers must be a list of objects",
        ),
        (read_hits, {"id": "a", "items": [{"kind": "riddle"}]}, "line 1: no HIT"),
        (read_hits, {"id": "a"}, "line 1: no HIT"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(tmp_path, read, line, message):
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_answers_of_several_files_are_joined_by_dialogue(tmp_path):
    for name in ("one", "two"):
        rows = [
            {
                "dialogue_id": f"d{n}",
                "turns": [{"text": "Hi.", "label": 1}],
                "answers": [{"text": f"{name} {n}"}, {"text": "no"}],
            }
            for n in range(2)
        ]
        if name == "two":
            rows = [row | {"truth": "t"} for row in reversed(rows)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    joined = join_answers({name: tmp_path / name for name in ("one", "two")})
    assert joined[1] == {
        "dialogue_id": "d1",
        "turns": ["Hi."],
        "answers": [{"model": "one", "text": "one 1"}, {"model": "two", "text": "two 1"}],
        "truth": "t",
    }
    (tmp_path / "two").write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(ValueError, match="'d0' is not answered in all of"):
        join_answers({name: tmp_path / name for name in ("one", "two")})


def test_records_of_the_evaluation_are_judged_by_set_and_row(tmp_path):
    contexts = [{"turns": ["Hi."], "truth": "Hello!", "document": "d", "labels": [1], "label": 2}]
    (tmp_path / "matrix.json").write_text(
        json.dumps({"sets": {"ed": {"digest": "x", "contexts": contexts}}, "models": []})
    )
    for row in ("one", "two", "RT", "GT"):
        cell = {"row": row, "set": "ed", "digest": "x", "answers": [f"{row} answers"]}
        (tmp_path / f"ed--{row}.json").write_text(json.dumps(cell))
    (found,) = read_evaluation(tmp_path)
    assert found["truth"] == "Hello!" and [answer["model"] for answer in found["answers"]] == ["one", "two"]
    assert [answer["text"] for answer in read_evaluation(tmp_path, ["RT", "one"])[0]["answers"]] == [
        "RT answers",
        "one answers",
    ]
    with pytest.raises(ValueError, match="no row 'three'; its rows are GT, RT, one, two"):
        read_evaluation(tmp_path, ["one", "three"])
