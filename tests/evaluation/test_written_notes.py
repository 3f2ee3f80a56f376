"""The writer's own word: what notes stand for, which speeches count, and how answers are counted."""

import json

import numpy as np
import pytest

from edos_dataset.labels import LABEL_IDS, LABELS
from evaluation import written_notes
from training.written_notes import held_out_script, read_lexicon, read_notes, shares_of_note

HELD = next(name for name in map(str, range(100)) if held_out_script(name))
OTHER = next(name for name in map(str, range(100)) if not held_out_script(name))


@pytest.fixture
def folder(tmp_path):
    lines = [
        "0\tANN\t\tWhere were you?",
        "0\tBOB\tbeat\tOut.",
        "0\tANN\t\tOut where?",
        "0\tBOB\t\tJust out.",
        "0\tANN\tfurious\tGet out of here!",
        "1\tBOB\tnot amused\tVery funny.",
        "1\tBOB\tsad, to Carl\tShe left me.",
    ]
    for name in (HELD, OTHER):
        path = tmp_path / "film_scripts" / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def named(note):
    return {LABELS[label]: share for label, share in shares_of_note(note, read_lexicon()).items()}


def test_a_note_stands_for_the_labels_that_its_words_name():
    assert named("FURIOUS") == {"furious": 1}
    assert named("pissed off") == {"angry": 1}, "a phrase and a word of it count once for the label"
    assert named("uneasy") == {"anxious": 0.5, "apprehensive": 0.5}
    assert named("sad, angry") == {"sad": 0.5, "angry": 0.5}
    for other in ("quietly", "not amused", "mock surprise", "angry at the whole world", ""):
        assert named(other) == {}, other


def test_the_lexicon_has_words_for_every_emotion_that_it_lists_and_no_word_twice_under_a_label():
    lexicon = read_lexicon()
    assert all(word == word.lower() and word.split() for word in lexicon)
    assert all(len(set(labels)) == len(labels) for labels in lexicon.values())


def test_a_speech_is_read_with_those_before_it_in_its_scene(folder):
    found = list(read_notes(folder, held_out=True))
    assert [(each.film, each.line, each.note) for each in found] == [(HELD, 5, "furious"), (HELD, 7, "sad, to Carl")]
    assert found[0].turns == ("Out.", "Out where?", "Just out.", "Get out of here!")
    assert found[1].turns == ("Very funny.", "She left me.")
    assert {each.film for each in read_notes(folder, held_out=False)} == {OTHER}


def test_what_is_no_screenplay_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="has no screenplays"):
        next(read_notes(tmp_path / "nowhere", held_out=True))
    (folder / "film_scripts" / f"{HELD}.tsv").write_text("0\tANN\tHello.\n")
    with pytest.raises(ValueError, match=r"line 1: expected scene, speaker, note and text"):
        next(read_notes(folder, held_out=True))


class Furious:
    """Says furious, then neutral."""

    source = "furious@1"

    def predict_proba(self, dialogues):
        found = np.full((sum(map(len, dialogues)), 41), 0.001, np.float32)
        found[:, LABEL_IDS["furious"]], found[:, LABEL_IDS["neutral"]] = 0.6, 0.36
        return found


def test_answers_are_counted_by_label(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(written_notes, "load_labeler", lambda _: Furious())
    out = tmp_path / "notes.json"
    written_notes.main(["--data-dir", str(folder), "--models", "mine", "--out", str(out)])
    found = json.loads(out.read_text())
    assert (found["cases"], found["films"]) == (2, 1)
    mine = found["models"]["mine"]
    assert mine["source"] == "furious@1" and mine["first"] == 0.5 and mine["no_emotion"] == 0
    assert mine["by_label"] == {"furious": {"cases": 1, "right": 1.0}, "sad": {"cases": 1, "right": 0.0}}
    assert mine["by_chance"] == 0.5
    assert "mine: 50.0 % of 2 right" in capsys.readouterr().out


def test_a_folder_without_held_out_notes_is_refused(folder, tmp_path):
    (folder / "film_scripts" / f"{HELD}.tsv").unlink()
    with pytest.raises(SystemExit, match="no held-out screenplay has a note that names a label"):
        written_notes.main(["--data-dir", str(folder), "--out", str(tmp_path / "x.json")])
