import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE, SENTENCES
from training.turns import boundaries as labelled_boundaries
from training.turns import errors


def boundaries(same):
    return labelled_boundaries.Boundaries(
        np.array(same, np.int8), np.zeros(len(same), np.int64), np.full(len(same), 0.75, np.float32)
    )


def scores(*values):
    return np.array(values, np.float32)


@pytest.fixture
def documents(tmp_path):
    """Return a file with two documents: labels say that every fourth sentence begins a turn, and nothing in the text
    says so.
    """
    tables = []
    for name, length in (("mill", 9), ("harbour", 6)):
        columns = {
            "id": range(1, length + 1),
            "text": [f"{name} sentence {number}." for number in range(1, length + 1)],
            "dash": [False] * length,
        }
        columns |= {
            "start": [None, *np.arange(1.0, length)],
            "end": np.arange(0.5, length),
            "speaker": [None] * (length - 1) + ["MILLER"],
        }
        columns |= {"first_block": range(length), "last_block": [number + (number == 2) for number in range(length)]}
        facts = {"document_id": name, "film": name, "language": "en", "source": {"kind": "subtitle"}}
        table = pa.table(
            {
                **{field.name: pa.array([facts.get(field.name)], field.type) for field in SENTENCES},
                "sentences": nest([0, length], LINE, columns),
            }
        )
        same = [-1, *(int(number % 4 != 0) for number in range(1, length))]
        table = table.append_column("same_turn", pa.array([same], pa.list_(pa.int8())))
        tables.append(
            table.append_column("label_confidence", pa.array([[0.75] * length], pa.list_(pa.float32()))).append_column(
                "corpus", pa.array([name])
            )
        )
    path = tmp_path / "labelled.parquet"
    pq.write_table(pa.concat_tables(tables), path)
    return path


def test_errors_are_chosen_at_random_or_by_confidence():
    known, score = boundaries([-1, 0, 0, 1, 1, 0]), scores(0.9, 0.95, 0.1, 0.4, 0.9, 0.5)
    assert errors.pick_errors(known, score, 0.5, 10, confident=True).tolist() == [1, 3, 5]
    assert errors.pick_errors(known, score, 0.5, 1, confident=True).tolist() == [1]
    assert sorted(errors.pick_errors(known, score, 0.5, 10)) == [1, 3, 5]
    many, wrong = boundaries([1] * 1000), np.zeros(1000, np.float32)
    first, again, other = (errors.pick_errors(many, wrong, 0.5, 20, seed=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert errors.pick_errors(many, wrong, 0.5, 5, seed=1).tolist() == first[:5], "any part is a sample"


def test_an_error_is_shown_with_what_surrounds_it_in_its_document(documents):
    table = labelled_boundaries.read_labelled([documents])
    known = labelled_boundaries.Boundaries.of(table)
    score = np.linspace(0, 1, len(known)).astype(np.float32)
    head, *lines = errors.describe(table, known, score, 4).splitlines()
    assert head == "mill  label NEW TURN (0.75), score of the same turn 0.286"
    assert [line.split("  ")[-1].strip() for line in lines] == [f"mill sentence {number}." for number in range(2, 8)]
    assert [line[:3] for line in lines] == ["  =", "  =", "  =", "> |", "  =", "  ="]
    assert "2.00–2.50 [    2–3]" in lines[1]
    _, *lines = errors.describe(table, known, score, 10).splitlines()
    assert len(lines) == 4 and lines[0].startswith("  ? ") and "~–0.50" in lines[0], "nothing of the document before"
    assert errors.describe(table, known, score, 8).endswith("MILLER: mill sentence 9.")


def test_errors_go_out_and_their_classes_come_back(documents, tmp_path, monkeypatch, capsys):
    out = tmp_path / "errors"
    arguments = [
        "errors.py",
        "show",
        "--scorer",
        "rules",
        "--threshold",
        "0",
        "--count",
        "5",
        "--out",
        str(out),
        str(documents),
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    errors.main()
    text = (out / "errors.txt").read_text()
    assert [number in text for number in ("#1  ", "#2  ", "#3  ", "#4  ")] == [True, True, True, False], (
        "nothing parts: three new turns were missed"
    )
    sheet = out / "errors.tsv"
    assert errors.read_classes(sheet) == {}
    with pytest.raises(ValueError, match="may hold classes that somebody wrote"):
        errors.main()
    sheet.write_text('index\tclass\tnote\n1\tlabel\tsays "no\n2\t\t\n3\tmodel\t\n')
    assert errors.read_classes(sheet) == {1: "label", 3: "model"}
    monkeypatch.setattr(sys, "argv", ["errors.py", "count", str(sheet), "--accuracy", "0.8"])
    errors.main()
    assert '"errors": 2' in capsys.readouterr().out
    sheet.write_text("index\tclass\tnote\n1\tlabel\t\n2\tscript\t\n")
    with pytest.raises(
        ValueError, match="line 3: expected a number and one of model, label, ambiguous, got '2' and 'script'"
    ):
        errors.read_classes(sheet)


def test_classes_say_what_the_labels_allow():
    classes = dict(enumerate(["label"] * 30 + ["ambiguous"] * 10 + ["model"] * 60))
    found = errors.summarise(classes, 0.8)
    assert found["classes"]["label"] == {"count": 30, "share": 0.3, "interval": [0.2189, 0.3958]}
    assert found["ceiling"] == {"accuracy": 0.94, "interval": [0.9208, 0.9562]}
    assert found["ceiling_with_ambiguous"]["accuracy"] == 0.92
    assert found["corrected_accuracy"]["accuracy"] == 0.88
    with pytest.raises(ValueError, match="no error has a class"):
        errors.summarise({}, 0.8)
