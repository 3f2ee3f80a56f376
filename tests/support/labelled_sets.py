"""Small labelled sets of other makers, each in its maker's form, for the tests of `train_labels.py`."""

import csv
import json
import random

from classifier_fixtures import NOUNS

MELD = ("anger", "joy", "neutral", "sadness")
EMORYNLP = {"anger": "Mad", "joy": "Joyful", "neutral": "Neutral", "sadness": "Sad"}
XED = {"anger": 1, "joy": 5, "neutral": 9, "sadness": 6}
SAID = {"anger": "angry", "joy": "joyful", "neutral": "neutral", "sadness": "sad"}
"""A label of MELD → the word of a turn by which it is told."""


def said(label, draw):
    """Return an invented turn that is no near-copy of another, nor has six words in a row with one."""
    word, other = SAID[label], (f"x{draw.getrandbits(40)}" for _ in range(2))
    return " ".join(part for mark in other for part in (word, word, draw.choice(NOUNS), mark))


def write_meld(path, dialogues):
    """Write dialogues of (text, label)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Sr No.", "Utterance", "Speaker", "Emotion", "Sentiment", "Dialogue_ID", "Utterance_ID"])
        for number, turns in enumerate(dialogues):
            for place, (text, label) in enumerate(turns):
                rows.writerow([place, text, "Ann", label, "neutral", number, place])


def write_emorynlp(path, scenes):
    """Write scenes of (text, label of MELD); their ids are their numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = [
        {
            "scene_id": str(number),
            "utterances": [
                {"transcript": text, "speakers": ["Ann"], "emotion": EMORYNLP[label]} for text, label in turns
            ],
        }
        for number, turns in enumerate(scenes)
    ]
    path.write_text(json.dumps({"episodes": [{"scenes": content}]}))


def write_xed(folder, sentences):
    """Write sentences (text, label of MELD)."""
    folder.mkdir(parents=True, exist_ok=True)
    emotions = [(text, label) for text, label in sentences if label != "neutral"]
    (folder / "en-annotated.tsv").write_text("".join(f"{text}\t{XED[label]}\n" for text, label in emotions))
    neutral = [text for text, label in sentences if label == "neutral"]
    (folder / "neu_en.txt").write_text("".join(f"9\t{text}\n" for text in neutral))


def write_sets(folder, dialogues=24, turns=4):
    """Write MELD with a development part, EmoryNLP and XED: turns whose first word tells the label."""
    draw = random.Random(0)

    def drawn(number):
        return [[(said(label, draw), label) for label in draw.choices(MELD, k=turns)] for _ in range(number)]

    write_meld(folder / "meld" / "train_sent_emo.csv", drawn(dialogues))
    write_meld(folder / "meld" / "dev_sent_emo.csv", drawn(dialogues // 2))
    write_emorynlp(folder / "emorynlp" / "dev.json", drawn(dialogues))
    write_xed(folder / "xed", [turn for dialogue in drawn(dialogues) for turn in dialogue])
    return folder
