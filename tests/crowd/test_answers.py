"""One table out of three kinds of files, and what is said of broken ones."""

import csv
import json

import pytest

from crowd_tables import EDOS
from edos_dataset.crowd.answers import MTurkColumns, read_answers
from edos_dataset.labels import LABEL_IDS


def table(answers):
    return [
        (answers.tasks[task], worker, given)
        for task, worker, given in zip(answers.task, answers.worker, answers.given, strict=True)
    ]


def write_csv(path, header, rows):
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_the_authors_file_has_a_worker_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        EDOS
        + (
            '1,a,10,"Run !\n- I can \'t .",Afraid,Afraid,Afraid,Odd (Other)\n2,b,10,No .,-,Sad,,-\n3,c,11,Yes '
            ".,Sad,Sad,Sad,Sad\n"
        )
    )
    answers = read_answers(path)
    assert answers.tasks == ["10", "10#2", "11"]
    assert answers.names == ["10", "10", "11"]
    assert answers.dialogues == [["Run!", "I can't."], ["No."], ["Yes."]]
    assert answers.stated == ["Afraid", "-", "Sad"]
    assert table(answers)[:4] == [
        ("10", "1", "Afraid"),
        ("10", "2", "Afraid"),
        ("10", "3", "Odd (Other)"),
        ("10#2", "1", "Sad"),
    ]
    assert answers.label[:4].tolist() == [LABEL_IDS["afraid"], LABEL_IDS["afraid"], -1, LABEL_IDS["sad"]]
    assert len(answers.task) == 7, "blank answers and '-' are none"


def test_mechanical_turk_with_several_tasks_a_hit(tmp_path):
    header = [
        "HITId",
        "WorkerId",
        "AssignmentStatus",
        "Input.dialogue1",
        "Input.dialogue2",
        "Answer.label1",
        "Answer.other1",
        "Answer.label2",
        "Answer.quiz1",
    ]
    rows = [
        ["H", "W1", "Approved", "Hello there.", "Oh no!\nSorry.", "Other", "greeting", "Consoling", "right"],
        ["H", "W2", "Submitted", "Hello there.", "Oh no!\nSorry.", "Neutral", "unused", "Sad", "wrong"],
        ["H", "W3", "Rejected", "Hello there.", "Oh no!\nSorry.", "Sad", "", "Sad", ""],
        ["H", "W1", "Approved", "Hello there.", "Oh no!\nSorry.", "Sad", "", "", ""],
    ]
    answers = read_answers(write_csv(tmp_path / "batch.csv", header, rows))
    assert answers.dialogues == [["Hello there."], ["Oh no!", "Sorry."]]
    assert table(answers) == [
        ("H#1", "W1", "greeting"),
        ("H#2", "W1", "Consoling"),
        ("H#1", "W2", "Neutral"),
        ("H#2", "W2", "Sad"),
    ]
    assert answers.left_out == {"rejected assignment": 1, "second answer of a worker": 1}


def test_mechanical_turk_with_other_columns(tmp_path):
    path = write_csv(
        tmp_path / "batch.csv", ["HITId", "WorkerId", "Input.id", "Answer.emotion"], [["H", "W", "t7", "Sad"]]
    )
    assert table(read_answers(path, MTurkColumns().override(["answer=Answer.emotion", "task=Input.id"]))) == [
        ("t7", "W", "Sad")
    ]
    with pytest.raises(
        ValueError, match=r"no column Answer.label\{n\}; its answers are Answer.emotion: name it with --column"
    ):
        read_answers(path)
    with pytest.raises(
        ValueError, match="'emotion=x': expected NAME=COLUMN with a NAME of answer, typed, task, dialogue"
    ):
        MTurkColumns().override(["emotion=x"])


def test_json_lines_and_a_plain_table(tmp_path):
    lines = [
        {"task": 1, "worker": "w", "label": "Sad"},
        {"task": 1, "worker": "v", "label": None, "turns": ["Hm.", "Oh."], "dialogue_id": "d"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n".join(map(json.dumps, lines)))
    answers = read_answers(path)
    assert (answers.tasks, answers.dialogues, table(answers)) == (["1"], [["Hm.", "Oh."]], [("1", "w", "Sad")])
    assert table(read_answers(write_csv(tmp_path / "a.csv", ["task", "worker", "label"], [["1", "w", "Sad"]]))) == [
        ("1", "w", "Sad")
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "one,two\n1,2\n", "has the columns one, two: expected those of one of these forms: DialogID"),
        ("a.csv", "", "has the columns none"),
        ("a.csv", "task,worker,label\n1,2,3,4\n", "a.csv, line 2: the row has more values"),
        ("a.csv", "task,worker,label\n1,w,-\n", "holds no answers"),
        ("a.csv", bytes(range(256)) * 9, "is no CSV file"),
        ("a.jsonl", '{"task": "1"\n', "a.jsonl, line 1: no JSON"),
        ("a.jsonl", '{"task": "1", "worker": "w", "label": "sad", "turns": ["\\ud800"]}\n', "a.jsonl, line 1: no JSON"),
        ("a.jsonl", "[1]\n", r"line 1: expected \{"),
        ("a.jsonl", '{"task": "1", "worker": ["w"], "label": "Sad"}\n', "line 1: needs task, worker"),
        ("a.jsonl", '{"task": "1", "worker": "w", "label": "Sad", "turns": [3]}\n', "turns must be a list of texts"),
        (
            "a.jsonl",
            '{"task":"1","worker":"w","label":"Sad","turns":["a"]}\n{"task":"1","worker":"v","label":"Sad","turns":["b"]}',
            "line 2: task '1' comes with two texts",
        ),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_answers(path)
