"""Answers for the tests of the crowd."""

from edos_dataset.crowd.answers import Answers

EDOS = "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer\n"


def answers_of(rows, dialogues=None, names=None):
    """Return a table of one task a row of answers, blank ones left out; the workers are called by column."""
    answers = Answers()
    for number, row in enumerate(rows):
        task = answers.add_task(f"t{number}", dialogues[number] if dialogues else [], names[number] if names else "")
        for worker, given in enumerate(row):
            answers.add(task, f"w{worker}", given)
    return answers
