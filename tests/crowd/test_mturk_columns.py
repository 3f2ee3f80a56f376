"""Answers of Crowd HTML Elements, and answer files of spreadsheets."""

import csv
import json

import pytest

from edos_dataset.crowd.answers import MTurkColumns, read_answers
from edos_dataset.crowd.store import Store, invite, worker_of

COLUMNS = MTurkColumns(answer="Answer.emotion")


def write(path, rows, **options):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    "answers",
    [
        lambda label: {"Answer.taskAnswers": json.dumps([{"emotion": {"label": label}}])},
        lambda label: {
            "Answer.taskAnswers": json.dumps([{"emotion": {"sad": label == "sad", "proud": label == "proud"}}])
        },
        lambda label: {"Answer.taskAnswers": json.dumps({"emotion": label})},
        lambda label: {f"Answer.emotion.{each}": str(each == label).lower() for each in ("sad", "proud")},
    ],
)
def test_what_was_picked_is_read(tmp_path, answers):
    rows = [
        {"HITId": "h", "WorkerId": worker, "Input.task": "t", **answers(label)}
        for worker, label in (("a", "sad"), ("b", "proud"), ("c", "sad"))
    ]
    assert read_answers(write(tmp_path / "a.csv", rows), COLUMNS).given == ["sad", "proud", "sad"]


def test_true_is_no_label(tmp_path):
    path = write(tmp_path / "a.csv", [{"HITId": "h", "WorkerId": "a", "Answer.emotion": "true"}])
    with pytest.raises(ValueError, match="only true and false"):
        read_answers(path, COLUMNS)


def test_several_choices_are_left_out_and_counted(tmp_path):
    rows = [
        {"HITId": "h", "WorkerId": worker, "Answer.emotion.sad": "true", "Answer.emotion.proud": other}
        for worker, other in (("a", "true"), ("b", "false"))
    ]
    answers = read_answers(write(tmp_path / "a.csv", rows), COLUMNS)
    assert answers.given == ["sad"]
    assert answers.left_out == {"several choices of one question": 1}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_of_spreadsheets(tmp_path, delimiter):
    path = write(tmp_path / "a.csv", [{"Task": "1", "WORKER": "a", "Label": "sad"}], delimiter=delimiter)
    assert read_answers(path).given == ["sad"]


def test_a_lost_link_is_replaced_only_on_demand(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    (old,) = invite(store, ["ann"]).values()
    with pytest.raises(ValueError, match="taken"):
        invite(store, ["ann"], "open")
    (new,) = invite(store, ["ann"], reissue=True).values()
    assert worker_of(store, old) is None
    assert worker_of(store, new).id == "ann"
