"""The leaderboard of labelers: the page is that of the records, and a user's file gets the same tables."""

import json

import numpy as np
import pytest

from edos_dataset.labels import LABEL_IDS
from evaluation import leaderboard, nearest
from evaluation.leaderboard import HERE, PAGE, SETS, main, page

LINES = [
    {"turns": [{"text": "Oh no, what happened?", "label": "questioning"}, {"text": "I lost my job.", "label": "sad"}]},
    {"turns": [{"text": "We won, we really won!", "label": "joyful|excited"}]},
]


def write(path, lines=LINES):
    path.write_text("".join(json.dumps({"dialogue_id": str(at), **line}) + "\n" for at, line in enumerate(lines)))
    return path


def test_the_page_is_that_of_the_records():
    """Else run `python evaluation/leaderboard.py page`."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_the_best_comes_first():
    lines = page().split("## MELD")[1].split("##")[0].splitlines()
    rows = [line.split("|") for line in lines if "%" in line and line.startswith("| ")]
    f1 = [float(row[3].split("%")[0].strip().split("–")[-1]) for row in rows]
    assert f1 == sorted(f1, reverse=True) and len(f1) >= 8
    assert {row[2].strip() for row in rows} == {"ours", "plain", "published"}


def test_published_figures_name_their_part():
    for each in json.loads((HERE / "published.json").read_text())["figures"]:
        assert each["set"] in SETS and each["part"] and each["method"]
        values = [value for key, found in each.items() if isinstance(found, list) for value in found]
        assert values and all(0 < value < 1 for value in values)


def test_a_file_gets_the_same_tables(tmp_path, capsys):
    main(["file", str(write(tmp_path / "mine.jsonl")), "--models", "fast"])
    found = capsys.readouterr().out
    assert "The labelled turns of mine.jsonl. 3 turns." in found and "| `fast` |" in found
    assert "always `" in found and "intents found" in found and "| questioning | 1 |" in found
    main(["file", str(write(tmp_path / "none.jsonl", LINES[1:])), "--models", "fast"])
    assert "No turn has an intent." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mine.jsonl", "--models", "nothing"), "model 'nothing' is neither one of"),
        (("gone.jsonl", "--models", "fast"), "gone.jsonl"),
        (("bad.jsonl", "--models", "fast"), "bad.jsonl, line 1.*sed"),
    ],
)
def test_what_cannot_be_measured_is_said(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write(tmp_path / "mine.jsonl")
    write(tmp_path / "bad.jsonl", [{"turns": [{"text": "Hi", "label": "sed"}]}])
    with pytest.raises(SystemExit, match=f"^error: .*{said}"):
        main(["file", *words])


class Letters:
    """Embeds a text by two of its letters."""

    identity = "letters@0"

    def encode(self, texts):
        return np.array([[text.count("a"), text.count("b")] for text in texts], np.float32)


def test_the_nearest_turn_gives_its_label(monkeypatch):
    monkeypatch.setattr(nearest, "Encoder", Letters)
    labeler = nearest.Nearest(HERE)
    labeler.__dict__["_labelled"] = ["aaa", "bb"], np.array([LABEL_IDS["sad"], LABEL_IDS["joyful"]])
    found = labeler.predict_proba([["a", "abb"], ["none"]])
    assert found.argmax(axis=1)[:2].tolist() == [LABEL_IDS["sad"], LABEL_IDS["joyful"]]
    assert np.allclose(found.max(axis=1), [1, 2 / 5**0.5, 1 / 41]) and np.allclose(found.sum(axis=1), 1)
    assert labeler.identity.startswith("nearest@")
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    with pytest.raises(ValueError, match="set EDOS_DATA_DIR"):
        nearest.Nearest()


def test_the_neighbour_is_measured_on_every_set(monkeypatch, tmp_path):
    held = leaderboard.read_labelled_file(write(tmp_path / "mine.jsonl"))
    monkeypatch.setattr(leaderboard, "read_set", lambda *_: held)
    monkeypatch.setattr(leaderboard, "SETS", {"mine": "Mine"})
    monkeypatch.setattr(leaderboard, "RECORD", tmp_path / "it.json")
    monkeypatch.setattr(nearest, "Encoder", Letters)
    texts = ["aaa", "bb"], np.array([LABEL_IDS["sad"], LABEL_IDS["joyful"]])
    monkeypatch.setattr(nearest.Nearest, "_labelled", texts)
    main(["nearest", "--data-dir", str(tmp_path)])
    own = json.loads((tmp_path / "it.json").read_text())["sets"]["mine"]
    assert {"accuracy", "weighted_f1", "macro_f1", "sure", "intervals", "by_class"} == own.keys()
