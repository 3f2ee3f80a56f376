"""The report on a classifier, from the command line."""

import json
import sys

import numpy as np
import pytest

from edos_dataset.labels import LABEL_IDS, LABELS
from evaluation import classifier_report as script
from training.predictions import evaluate_predictions

SAD, LONELY, JOYFUL = (LABEL_IDS[name] for name in ("sad", "lonely", "joyful"))
# 10 sad: 6 right, 3 called lonely, 1 joyful; 5 lonely: 4 right, 1 sad.
TRUE = np.array([SAD] * 10 + [LONELY] * 5)
PREDICTED = np.array([SAD] * 6 + [LONELY] * 3 + [JOYFUL] + [LONELY] * 4 + [SAD])


def model_folder(tmp_path, **changes):
    arrays = {"logits": 3 * np.eye(41, dtype=np.float32)[PREDICTED], "labels": TRUE, **changes}
    folder = tmp_path / "model"
    folder.mkdir()
    np.savez_compressed(
        folder / "predictions.npz", **{name: array for name, array in arrays.items() if array is not None}
    )
    (folder / "record.json").write_text(json.dumps({"name": "weak-tiny", "task": "weak", "temperature": 1.5}))
    (folder / "metrics.json").write_text(json.dumps({"accuracy": 0.9, "validation": {"accuracy": 0.7}}))
    return folder


def run(monkeypatch, folder, out):
    monkeypatch.setattr(sys, "argv", ["classifier_report.py", "--metrics", str(folder), "--out", str(out)])
    script.main()


@pytest.mark.slow
def test_report(tmp_path, monkeypatch):
    groups = np.arange(15) // 3
    folder, out = model_folder(tmp_path, groups=groups), tmp_path / "a" / "report"
    run(monkeypatch, folder, out)
    metrics = json.loads((out / "metrics.json").read_text())
    expected = evaluate_predictions(3 * np.eye(41)[PREDICTED], TRUE, 1.5, groups)
    assert metrics == {**expected, "validation": {"accuracy": 0.7}}, "measured again, what else was known kept"
    assert (metrics["accuracy"], metrics["temperature"], metrics["resampling"]["groups"]) == (0.6667, 1.5, 5)
    text = (out / "report.md").read_text()
    assert text.startswith("# weak-tiny: test part\n")
    assert "Of 10 examples that are **sad**, 3 (30%) are called **lonely**; the other way round 1 of 5." in text
    assert "Of 5 errors, 4 (80%) stay within" in text
    names = {path.name for path in out.iterdir()}
    assert names == {"metrics.json", "report.md", "confusion.png", "reliability.png", "f1_by_label.png"}
    assert all(
        f"]({name})" in text and (out / name).read_bytes().startswith(b"\x89PNG")
        for name in names
        if name.endswith("png")
    )


def test_pictures_show_every_label_once():
    assert sorted(script.ORDER) == list(range(len(LABELS)))
    assert script.GROUP_STARTS[-1] == len(LABELS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "no array 'labels', only logits"),
        ({"labels": TRUE[:3]}, r"got \[15, 41\] and 3 labels"),
        ({"logits": np.zeros((15, 40))}, r"\[n, 41\].*got \[15, 40\]"),
        ({"labels": TRUE + 40}, "label 67 of example 0"),
        ({"labels": TRUE.astype(np.float32)}, "got an array of float32"),
        ({"labels": np.array([None] * 15)}, "holds no named arrays of numbers"),
    ],
)
def test_arrays_that_do_not_fit_leave_nothing_behind(tmp_path, monkeypatch, changes, message):
    with pytest.raises(SystemExit, match=f"error: .*{message}"):
        run(monkeypatch, model_folder(tmp_path, **changes), tmp_path / "report")
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("predictions.npz", None, "predictions.npz is not there"),
        ("predictions.npz", b"text", "holds no named arrays"),
        ("predictions.npz", b"", "holds no named arrays"),
        ("record.json", None, "record.json is not there"),
        ("record.json", b"{", "record.json is no JSON"),
        ("metrics.json", b"[]", "metrics.json should hold an object"),
    ],
)
def test_files_that_are_missing_or_no_such_files(tmp_path, monkeypatch, file, content, message):
    folder = model_folder(tmp_path)
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises(SystemExit, match=f"error: .*{message}"):
        run(monkeypatch, folder, tmp_path / "report")
    assert not (tmp_path / "report").exists()
