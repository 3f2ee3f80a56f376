"""Answers to a batch, found where a command is told to look."""

from dataclasses import dataclass
from pathlib import Path

from edos_dataset.crowd.batches import RECORD, Batch, read_batch
from edos_dataset.crowd.hit_answers import HitAnswers, read_hit_answers
from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.crowd.quality import QualityRules, read_rules

ANSWERED = "answers.jsonl"
"""Where a batch's answers lie, in its folder, unless another file is given."""


@dataclass(frozen=True)
class Answered:
    """A batch with its answers."""

    batch: Batch
    answers: HitAnswers


def open_answers(source: Path, batch: Path | None = None) -> Answered | None:
    """Return a batch and the answers to it; None for a file that has no answers to HITs, but perhaps to tasks.

    Args:
        source: the batch's folder, whose `answers.jsonl` is read, or a file of answers.
        batch: the folder, where it is not the one that the file lies in.

    Raises:
        ValueError: the folder has no answers or is no batch, or a line is broken.
    """
    path = source / ANSWERED if source.is_dir() else source
    if source.is_dir() and not path.is_file():
        raise ValueError(
            f"{source} holds no {ANSWERED}: write it by `edos crowd answers`, `edos crowd mturk fetch` or "
            "`edos crowd import`, or give a file of answers"
        )
    if path.suffix == ".csv" or not ({"hit", "worker"} <= next(read_objects(path, "an answer"), (0, {}))[1].keys()):
        return None
    folder = batch or path.parent
    if not (folder / RECORD).is_file():
        raise ValueError(f"{path} holds answers to HITs, but {folder} is no batch: name its folder with --batch")
    return Answered(read_batch(folder), read_hit_answers([path]))


def rules_of(batch: Batch | None, recipe: Path | None) -> QualityRules:
    """Return the rules of quality: the defaults, changed by those of a batch, and by a recipe.

    Raises:
        ValueError: one of them names no rule.
    """
    rules = QualityRules().override(batch.rules if batch else {})
    return read_rules(recipe, rules) if recipe else rules
