"""Answers in CSV files as people save them: any separator, encoding and case of the header."""

import pytest

from edos_dataset.crowd.answers import read_answers

ROWS = [("Task", "WORKER", "label"), ("d1", "Zoë", "Sad"), ("d1", "w2", "sad"), ("d2", "Zoë", "Joyful, though tired")]


def written(path, separator, encoding):
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in ROWS]
    path.write_bytes("\r\n".join(separator.join(row) for row in quoted).encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_any_separator_and_encoding(tmp_path, separator, encoding):
    answers = read_answers(written(tmp_path / "answers.csv", separator, encoding))
    assert answers.tasks == ["d1", "d2"]
    assert answers.worker == ["Zoë", "w2", "Zoë"]
    assert answers.given == ["Sad", "sad", "Joyful, though tired"]


def test_blank_cells_after_the_last_column_do_no_harm_and_texts_do(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("task;worker;label\nd1;w1;sad;;\n")
    assert read_answers(path).given == ["sad"]
    path.write_text("task;worker;label\nd1;w1;sad; or not\n")
    with pytest.raises(ValueError, match="line 2: the row has more values .* texts with semicolons in quotes"):
        read_answers(path)


def test_columns_of_mechanical_turk_in_other_case(tmp_path):
    path = tmp_path / "batch.csv"
    path.write_text(
        "hitid;workerid;ASSIGNMENTSTATUS;input.dialogue;answer.label\nh1;w1;Approved;Hi;sad\nh1;w2;rejected;Hi;sad\n"
    )
    answers = read_answers(path)
    assert (answers.worker, answers.given, answers.left_out) == (["w1"], ["sad"], {"rejected assignment": 1})
