"""Answers for the tests of the crowd."""

import numpy as np

from edos_dataset.crowd.answers import Answers
from edos_dataset.labels import LABELS

EDOS = "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer\n"


def answers_of(rows, dialogues=None, names=None):
    """Return a table of one task a row of answers, blank ones left out; the workers are called by column."""
    answers = Answers()
    for number, row in enumerate(rows):
        task = answers.add_task(f"t{number}", dialogues[number] if dialogues else [], names[number] if names else "")
        for worker, given in enumerate(row):
            answers.add(task, f"w{worker}", given)
    return answers


DIALOGUES = 90


class ByFirstWord:
    """An encoder by which texts with the same first word are near."""

    def __init__(self, model):
        self.model = model

    def encode(self, texts):
        words = sorted({text.split()[0] for text in texts})
        return np.eye(len(words), dtype=np.float32)[[words.index(text.split()[0]) for text in texts]]


def crowd():
    """Return 90 dialogues of three labels, with planted repeats: equal words, near last turns, one source dialogue."""
    rows = [[LABELS[number % 3]] * 2 + ["hello"] for number in range(DIALOGUES)]
    dialogues = [["Well?", f"word{number} it is."] for number in range(DIALOGUES)]
    names = [f"d{number}" for number in range(DIALOGUES)]
    dialogues[30] = ["well", "Word0, it is!"]  # equal words as 0, and the same label
    dialogues[31] = ["Another opening.", "word1 it was, as everybody knows."]  # near to 1
    dialogues[32] = ["Other.", "Word2 it IS!"]  # last turn of 2
    names[33] = "d3"
    rows[89] = ["Sad", "Angry", "Joyful"]
    return answers_of(rows, dialogues, names)
