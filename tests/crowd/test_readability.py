"""Readability by hand, and the choice of dialogues from a run made for it."""

import json
import math

import pytest

from edos_dataset.crowd.readability import Readability, select_tasks, token_frequencies
from edos_dataset.runs.folder import FolderError
from published_folder import manifest_of
from readability_runs import ANGRY, SAD, dialogues, write_run


def test_frequencies_are_shares_of_all_tokens(tmp_path):
    run = write_run(tmp_path, {"a": [("No, no!", SAD, 0.5)], "b": [("Oh no.", SAD, 0.5)]})
    assert token_frequencies(run) == pytest.approx({"no": 3 / 7, ",": 1 / 7, "!": 1 / 7, "oh": 1 / 7, ".": 1 / 7})


def test_score_by_hand():
    readability = Readability({"no": 0.5, "!": 0.25}, alpha=7, weight=0.1)
    # Tokens: no no ! oh; words: no no oh.
    f, d, score = readability.score(["No no!", "Oh"])
    assert (f, d) == (pytest.approx(1.25 / (7 + 4)), pytest.approx(2 / 3))
    assert score == pytest.approx(1.25 / 11 + 0.1 * 2 / 3)
    assert Readability({}).alpha == 87 and Readability({}).weight == 0.04
    assert readability.score(["..."]) == (0, 0, 0)


def test_what_the_paper_wants_of_the_score():
    """Rare words make a dialogue hard; so does repetition, which f alone would reward."""
    frequent = {"you": 0.03, "know": 0.01, "him": 0.01, "well": 0.005}
    readability = Readability(frequent)
    assert readability.score(["You know him well"])[2] > readability.score(["Thou gnarly quixotic fjord"])[2]
    repeated, plain = readability.score(["you you you you"]), readability.score(["you know him well"])
    assert repeated[0] > plain[0] and repeated[2] < plain[2]


def test_turns_above_the_confidence_come_with_their_history_once_a_dialogue_and_text(tmp_path):
    tasks = select_tasks(write_run(tmp_path, dialogues()), per_label=5)
    assert [(task["task"], task["label"]) for task in tasks if task["label"] == "angry"] == [
        ("b#1@1", "angry"),
        ("d#1@1", "angry"),
    ]
    sad = [task for task in tasks if task["label"] == "sad"]
    assert len(sad) == 1 and sad[0]["dialogue_id"] == "a#1"
    assert sad[0]["turns"] == [text for text, *_ in dialogues()["a#1"]][: int(sad[0]["task"].split("@")[1])]
    assert sad[0]["top"][0] == "sad" and len(sad[0]["top"]) == 3
    assert all(task["score"] == pytest.approx(task["f"] + 0.04 * task["d"]) for task in tasks)
    assert len(select_tasks(tmp_path, per_label=5, confidence=0.95)) == 3


def test_the_border_of_the_confidence_belongs_to_it(tmp_path):
    run = write_run(tmp_path, {"c#1": [("you", ANGRY, 0.9)]})
    assert len(select_tasks(run)) == 1  # stored as float32, 0.9 is 0.89999998


def test_the_choice_does_not_depend_on_the_order(tmp_path):
    many = {
        f"m#{number}": [(f"{'you ' * (number % 7 + 1)}w{number % 40}", SAD if number % 3 else ANGRY, 0.95)]
        for number in range(120)
    }
    first, second = (
        select_tasks(write_run(tmp_path / name, many, reverse), per_label=4)
        for name, reverse in (("a", False), ("b", True))
    )
    assert len(first) == 8
    for task, other in zip(first, second, strict=True):
        assert (
            math.isclose(task.pop("score"), other.pop("score"))
            and math.isclose(task.pop("f"), other.pop("f"))
            and task == other
        )


@pytest.mark.parametrize(
    ("options", "message"), [({"per_label": 0}, "at least 1"), ({"confidence": 1.5}, "from 0 to 1")]
)
def test_parameters_out_of_range(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        select_tasks(tmp_path, **options)


def test_a_folder_of_edos_label_counts_its_own_words(tmp_path):
    expected = select_tasks(write_run(tmp_path / "run", dialogues()), per_label=5)
    run = write_run(tmp_path / "labelled", dialogues())
    (run / "edos_initial").rename(run / "edos")
    (run / "manifest.json").write_text(json.dumps(manifest_of("edos")))
    assert select_tasks(run, per_label=5) == expected


def test_runs_without_labels(tmp_path):
    with pytest.raises(FolderError, match="manifest.json"):
        select_tasks(tmp_path)
    run = write_run(tmp_path, dialogues())
    with pytest.raises(FolderError, match="'os' .* has no labels: give a run"):
        select_tasks(run, config="os")
    (run / "manifest.json").write_text(json.dumps(manifest_of("os")))
    with pytest.raises(FolderError, match="no config 'edos_initial'; it has os"):
        select_tasks(run)
