"""The shares of a labeler of other languages are taken from turns of books, each language alike."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.labels import LABEL_IDS, LABELS
from evaluation import priors

SAD, NEUTRAL = LABEL_IDS["sad"], LABEL_IDS["neutral"]


class Labeler:
    """Is sure that German is sad, and all else neutral."""

    identity = "mine@0123456789abcdef"

    def predict_proba(self, dialogues):
        rows = np.zeros((sum(map(len, dialogues)), len(LABELS)), np.float32)
        german = [turn.startswith("Ich") for dialogue in dialogues for turn in dialogue]
        rows[np.arange(len(rows)), np.where(german, SAD, NEUTRAL)] = 1
        return rows


def run_of(folder, language, turns):
    (folder / language / f"gutenberg_{language}").mkdir(parents=True)
    rows = [{"dialogue_id": f"{language}{at}", "turns": [{"text": text}] * 2} for at, text in enumerate(turns)]
    pq.write_table(
        pa.Table.from_pylist(rows), folder / language / f"gutenberg_{language}" / "train-00000-of-00001.parquet"
    )
    return folder / language


def test_languages_count_alike_and_other_models_stay(tmp_path, monkeypatch):
    runs = run_of(tmp_path, "de", ["Ich gehe."]), run_of(tmp_path, "hu", ["Megyek.", "Nem.", "Igen."])
    shares = tmp_path / "shares.json"
    shares.write_text(json.dumps({"corpora": {}, "models": {"other": {"shares": {}}}}))
    monkeypatch.setattr(priors, "load_labeler", lambda _: Labeler())
    priors.main(["--data-dir", str(tmp_path), "--models", "mine", "--books", *map(str, runs), "--shares", str(shares)])
    models = json.loads(shares.read_text())["models"]
    assert list(models) == ["other", "mine"] and models["mine"]["identity"] == Labeler.identity
    found = {label: share for label, share in models["mine"]["shares"].items() if share}
    assert found == {"sad": 0.5, "neutral": 0.5}


def test_a_folder_without_dialogues_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty has no dialogues: name folders that `edos books` wrote"):
        priors.of_books(Labeler(), [tmp_path / "empty"])
