"""Batches of both tasks, and people who answer them in known ways."""

import random

from edos_dataset.crowd.batches import Batch, write_batch
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers
from edos_dataset.crowd.hits import judge_hits, label_hits, read_quiz
from edos_dataset.labels import LABELS

MODELS = ("cold", "even", "level", "warm")
CHANCES = {"cold": (0.1, 0.2), "even": (0.4, 0.3), "level": (0.4, 0.3), "warm": (0.8, 0.15)}
"""Chance of good and of okay that a careful worker gives a model."""


def labelling(number=30, **settings):
    tasks = []
    for task in range(number):
        top = [LABELS[(task + step) % 41] for step in range(3)]
        turns = [f"How is {task}?", f"-Well, it's = {task} <b>&amp;</b>"]
        tasks.append({"task": f"d{task}@2", "dialogue_id": f"d{task}", "turns": turns, "label": top[0], "top": top})
    return Batch("labelling", label_hits(tasks, read_quiz()), **settings)


def judging(number=40, **settings):
    dialogues = [
        {
            "dialogue_id": f"d{row}",
            "set": "films" if row % 2 else "letters",
            "turns": [f"What is {row}?"],
            "answers": [{"model": model, "text": f"{model} says {row}"} for model in MODELS],
            "truth": f"Truly {row}.",
        }
        for row in range(number)
    ]
    return Batch("judging", judge_hits(dialogues), workers=4, **settings)


def careful(item, draw):
    """Answer as somebody who reads: nearly always the weak label, the quiz right, models by their CHANCES."""
    if item.kind in ("judge", "bonus"):
        grades = []
        for models in item.facts["models"]:
            good, okay = CHANCES[models[0]] if models else (0.9, 0.1)
            chance = draw.random()
            grades.append("good" if chance < good else "okay" if chance < good + okay else "bad")
        return tuple(grades)
    return (item.truth or item.facts["label"]) if draw.random() < 0.9 else draw.choice(item.choices)


def straight(item, draw):
    return tuple("bad" for _ in item.choices) if item.kind in ("judge", "bonus") else item.choices[0]


def answered(batch, people, seed=0):
    """Return the answers of people, name → (how, seconds an item), to every HIT of a batch."""
    draw, given, finished = random.Random(seed), [], {}
    for hit in batch.hits:
        for worker, (how, seconds) in people.items():
            given += [HitAnswer(hit.id, item.id, worker, how(item, draw), "", seconds, "1") for item in hit.items]
            finished[hit.id, worker] = {"hit": hit.id, "worker": worker, "finished": True, "at": "2"}
    return HitAnswers(given, finished)


def written(folder, batch):
    write_batch(folder, batch)
    return folder
