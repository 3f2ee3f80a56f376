import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE, SENTENCES
from training.turns import boundaries as labelled_boundaries
from training.turns import metrics, report

PICTURES = ["ablation.png", "learning_curve.png", "precision_recall.png", "reliability.png"]


def document(name, corpus, sentences):
    """Return a labelled document from (text, dash, label)."""
    texts, dashes, labels = zip(*sentences, strict=True)
    count = len(texts)
    columns = {
        "id": range(1, count + 1),
        "text": texts,
        "start": np.arange(count) * 2.0,
        "end": np.arange(count) * 2.0 + 1.5,
        "dash": dashes,
    }
    columns |= {"first_block": range(count), "last_block": range(count), "speaker": [None] * count}
    facts = {"document_id": name, "film": name, "language": "en", "source": {"kind": "subtitle"}}
    table = pa.table(
        {
            **{field.name: pa.array([facts.get(field.name)], field.type) for field in SENTENCES},
            "sentences": nest([0, count], LINE, columns),
        }
    )
    table = table.append_column("same_turn", pa.array([labels], pa.list_(pa.int8())))
    return table.append_column("label_confidence", pa.array([[1.0] * count], pa.list_(pa.float32()))).append_column(
        "corpus", pa.array([corpus])
    )


@pytest.fixture
def documents(tmp_path):
    """Return two files of documents of two shows."""
    lines = [
        ("Where is the ladder?", False, -1),
        ("In the barn.", True, 0),
        ("And I left it there", False, 1),
        ("when it rained.", False, 1),
        ("Fine.", True, 0),
    ]
    paths = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    pq.write_table(pa.concat_tables([document("a", "mill", lines), document("b", "mill", lines)]), paths[0])
    pq.write_table(document("c", "harbour", lines), paths[1])
    return paths


def results(**parts):
    generator = np.random.default_rng(0)
    same = generator.integers(0, 2, 400).astype(np.int8)
    boundaries = labelled_boundaries.Boundaries(same, np.repeat(np.arange(8), 50), np.ones(400, np.float32))
    good, poor = (np.clip(same + generator.normal(0, spread, 400), 0, 1).astype(np.float32) for spread in (0.4, 0.9))
    rows = [
        metrics.ablation_row(name, boundaries, score, good) for name, score in (("all", good), ("without words", poor))
    ]
    curve = [
        {"scorer": "good", "seams": size, **metrics.measure(boundaries, score)}
        for size, score in ((100, poor), (1000, good))
    ]
    return report.Results(
        "Trial", {"seed": 1}, {"good": metrics.measure(boundaries, good)}, ablation=rows, learning_curve=curve, **parts
    )


def test_report_holds_numbers_tables_and_pictures(tmp_path):
    found = results()
    files = report.write_report(tmp_path / "new" / "folder", found)
    assert sorted(path.name for path in files) == sorted(["report.json", "report.md", *PICTURES])
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files[2:])
    assert json.loads(files[0].read_text())["ablation"][1]["features"] == "without words"
    text = files[1].read_text()
    whole, without = found.ablation
    assert (
        f"| without words | {100 * without['accuracy']:.1f} | {100 * (without['accuracy'] - whole['accuracy']):.1f} |"
        in text
    )
    assert all(f"]({name})" in text for name in PICTURES)
    assert "## Sources" not in text, "an empty part is left out"


def test_reports_are_equal_byte_for_byte(tmp_path):
    first, again = (report.write_report(tmp_path / name, results()) for name in ("first", "again"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_tables_are_well_formed():
    lines = report.render(results(), {}).splitlines()
    width = 0
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|"):
            width = width if before.startswith("|") else line.count("|")
            assert line.count("|") == width > 2


def test_scorers_of_the_package_are_measured_on_every_corpus(documents, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["report.py", "--scorer", "rules", "--out", str(tmp_path / "out"), *map(str, documents)]
    )
    report.main()
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert list(found["sources"]["rules"]) == ["mill", "harbour"]
    assert [found["sources"]["rules"][corpus]["seams"] for corpus in ("mill", "harbour")] == [8, 4]
    assert found["scorers"]["rules"]["seams"] == 12 and found["scorers"]["rules"]["documents"] == 3
    assert found["sources"]["rules"]["harbour"]["accuracy"] == 1
    assert found["facts"]["seams without label"] == 3


def test_first_scorer_is_compared_with_the_others(documents):
    table = labelled_boundaries.read_labelled(documents)
    same = table["same_turn"].combine_chunks().flatten().to_numpy()
    scores = {"right": (same == 1).astype(np.float32), "wrong": (same != 1).astype(np.float32)}
    found = report.assess("t", table, scores, {"right": 0.5, "wrong": 0.5})
    with pytest.raises(ValueError, match="none of the 15 boundaries has a label"):
        report.assess("t", table, scores, {"right": 0.5, "wrong": 0.5}, least=1.01)
    (row,) = found.comparisons
    assert (row["first"], row["second"], row["accuracy_difference"], row["only_first_right"]) == (
        "right",
        "wrong",
        1,
        12,
    )
    assert "| right | wrong | 100.0 | [100.0, 100.0] |" in report.render(found, {})
