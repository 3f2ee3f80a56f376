"""Small batches of both tasks, as folders, and answers to all of a HIT."""

import uuid

from edos_dataset.crowd.batches import ANSWERS, Batch, write_batch
from edos_dataset.crowd.hit_answers import Given
from edos_dataset.crowd.hits import judge_hits, label_hits
from edos_dataset.crowd.store import Store
from edos_dataset.labels import LABELS

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'& </textarea>"
"""A turn that some film has."""


def tasks(number, of_label=1):
    return [
        {
            "task": f"film#{n}@2",
            "dialogue_id": f"film#{n}",
            "turns": [f"How are you, number {n}?", HOSTILE if n == 0 else f"Well enough, {n}."],
            "label": LABELS[n // of_label % 41],
            "confidence": 0.95,
            "top": [LABELS[(n // of_label + step) % 41] for step in (0, 1, 2, 3)],
        }
        for n in range(number)
    ]


def quiz(number=4):
    return [{"turns": [f"I wept over letter {n}."], "label": "sad"} for n in range(number)]


def judged(number, truths=None):
    return [
        {
            "dialogue_id": f"d{n}",
            "turns": ["Hello.", HOSTILE if n == 0 else f"My cat {n} is gone."],
            "answers": [{"model": model, "text": f"{model} says {n}"} for model in "abcd"],
            **({"truth": f"the truth of {n}"} if truths is None or n < truths else {}),
        }
        for n in range(number)
    ]


def labelling(folder, dialogues=4, workers=3, size=2, quizzes=2, **more):
    batch = Batch("labelling", label_hits(tasks(dialogues), quiz(), 0, size, quizzes), workers, **more)
    write_batch(folder, batch)
    return batch, Store(folder / ANSWERS)


def judging(folder, dialogues=4, workers=2, size=2, bonus=1, **more):
    batch = Batch("judging", judge_hits(judged(dialogues), 0, size, bonus), workers, **more)
    write_batch(folder, batch)
    return batch, Store(folder / ANSWERS)


def given(place, value=None, typed=None, **more):
    return Given(uuid.uuid4().hex, place, value, typed, **more)


def answer_all(work, worker, right=True, label="joyful"):
    """Answer the HIT that a worker gets, and hand it in; return the assignment."""
    assignment = work.hand_out(worker)
    for place, item in enumerate(assignment.hit.items):
        if item.kind in ("judge", "bonus"):
            own = ["good" if text == item.truth and right else "bad" for text in item.choices]
            work.give(worker, assignment.id, given(place, own, seconds=2))
        else:
            value = item.truth if item.kind == "quiz" and right else label
            work.give(worker, assignment.id, given(place, value, seconds=2))
    assert work.finish(worker, assignment.id) is None
    return assignment
