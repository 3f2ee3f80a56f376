"""The choice of dialogues from a run made for it: the papers' way, and what fills up labels that fall short."""

import json
import math

import pytest

from edos_dataset.crowd.selection import BELOW, CONFIDENT, GUESSED, STEPS, SelectionRules, select_tasks
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError
from published_folder import manifest_of
from readability_runs import ANGRY, SAD, dialogues, write_run


def papers(run, *limits):
    return select_tasks(run, SelectionRules.papers(*limits)).tasks


def test_turns_above_the_confidence_come_with_their_history_once_a_dialogue_and_text(tmp_path):
    tasks = papers(write_run(tmp_path, dialogues()), 5)
    assert [(task["task"], task["label"]) for task in tasks if task["label"] == "angry"] == [
        ("b#1@1", "angry"),
        ("d#1@1", "angry"),
    ]
    sad = [task for task in tasks if task["label"] == "sad"]
    assert len(sad) == 1 and sad[0]["dialogue_id"] == "a#1"
    assert sad[0]["turns"] == [text for text, *_ in dialogues()["a#1"]][: int(sad[0]["task"].split("@")[1])]
    assert sad[0]["top"][0] == "sad" and len(sad[0]["top"]) == 3
    assert all(task["score"] == pytest.approx(task["f"] + 0.04 * task["d"]) for task in tasks)
    assert len(papers(tmp_path, 5, 0.95)) == 3


def test_the_border_of_the_confidence_belongs_to_it(tmp_path):
    run = write_run(tmp_path, {"c#1": [("you", ANGRY, 0.9)]})
    assert len(papers(run)) == 1  # stored as float32, 0.9 is 0.89999998


def test_the_choice_does_not_depend_on_the_order(tmp_path):
    many = {
        f"m#{number}": [(f"{'you ' * (number % 7 + 1)}w{number % 40}", SAD if number % 3 else ANGRY, 0.95)]
        for number in range(120)
    }
    first, second = (
        papers(write_run(tmp_path / name, many, reverse), 4) for name, reverse in (("a", False), ("b", True))
    )
    assert len(first) == 8
    for task, other in zip(first, second, strict=True):
        assert (
            math.isclose(task.pop("score"), other.pop("score"))
            and math.isclose(task.pop("f"), other.pop("f"))
            and task == other
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_label": 0}, "at least 1"),
        ({"confidence": 1.5}, "from 0 to 1"),
        ({"confidence": 0.5, "floor": 0.6}, "not above the confidence"),
        ({"history": -1}, "history is -1"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        SelectionRules(**options)


def test_a_folder_of_edos_label_counts_its_own_words(tmp_path):
    expected = papers(write_run(tmp_path / "run", dialogues()), 5)
    run = write_run(tmp_path / "labelled", dialogues())
    (run / "edos_initial").rename(run / "edos")
    (run / "manifest.json").write_text(json.dumps(manifest_of("edos")))
    assert papers(run, 5) == expected


def test_runs_without_labels(tmp_path):
    with pytest.raises(FolderError, match="empty folder, not one that this package wrote"):
        select_tasks(tmp_path)
    run = write_run(tmp_path, dialogues())
    with pytest.raises(FolderError, match="'os' .* has no labels: give a run"):
        select_tasks(run, config="os")
    (run / "manifest.json").write_text(json.dumps(manifest_of("os")))
    with pytest.raises(FolderError, match="no config 'edos_initial'; it has os"):
        select_tasks(run)


SECOND = LABELS[SAD + 1]
"""The second guess wherever "sad" is the first, as `write_run` has it."""


def tasks_of(chosen, label):
    return [(task["task"], task["chosen"]) for task in chosen.tasks if task["label"] == label]


def test_labels_that_fall_short_are_filled_up_band_by_band_then_by_later_guesses(tmp_path):
    run = write_run(
        tmp_path,
        {
            "a#1": [("Zounds gadzooks.", SAD, 0.95)],
            "b#1": [("You know him well, you know it.", SAD, 0.61)],
            "c#1": [("Gnarly fjords.", SAD, 0.72)],
            "d#1": [("You know.", SAD, 0.3)],
            "e#1": [("Quixotic", SAD, 0.19)],
        },
    )
    chosen = select_tasks(run, SelectionRules(per_label=3))
    assert tasks_of(chosen, "sad") == [("a#1@1", CONFIDENT), ("c#1@1", BELOW), ("b#1@1", BELOW)]
    # d is left, but its second guess has 0.15, below the floor; the others are taken for "sad".
    assert tasks_of(chosen, SECOND) == []
    lower = select_tasks(run, SelectionRules(per_label=3, floor=0.15))
    assert tasks_of(lower, SECOND) == [("d#1@1", GUESSED)]
    assert [(task["guess"], task["confidence"]) for task in lower.tasks if task["label"] == SECOND] == [(2, 0.15)]
    assert len(select_tasks(run, SelectionRules(per_label=3, floor=0.9)).tasks) == 1
    assert chosen.available[SAD].tolist() == [1, 1, 2, 3, 3, 3, 4, 4, 5] and len(STEPS) == 9
    assert len({task["task"] for task in lower.tasks}) == len(lower.tasks)


def test_the_turns_nearest_to_the_one_to_label_are_shown(tmp_path):
    texts = [f"You know him {number}." for number in range(5)]
    run = write_run(tmp_path, {"a#1": [(text, ANGRY, 0.9 if text == texts[-1] else 0.1) for text in texts]})
    for history, shown in ((None, texts), (3, texts[1:]), (0, texts[4:])):
        (task,) = select_tasks(run, SelectionRules(history=history)).tasks[:1]
        assert (task["task"], task["turns"]) == ("a#1@5", shown)


def test_a_text_comes_for_one_label_only(tmp_path):
    run = write_run(tmp_path, {"a#1": [("You!", ANGRY, 0.95)], "b#1": [("you", SAD, 0.95)], "c#1": [("I", SAD, 0.9)]})
    assert [(task["task"], task["label"]) for task in select_tasks(run).tasks] == [("a#1@1", "angry"), ("c#1@1", "sad")]
