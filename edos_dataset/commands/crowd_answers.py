"""Answers to a batch, found where a command is told to look."""

import json
from dataclasses import dataclass
from pathlib import Path

from edos_dataset.crowd.answers import are_of_hits
from edos_dataset.crowd.batches import ANSWERS, RECORD, Batch, read_batch
from edos_dataset.crowd.collected import answer_lines
from edos_dataset.crowd.hit_answers import HitAnswers, collect_answers, label_table, read_hit_answers
from edos_dataset.crowd.quality import QualityRules, read_rules
from edos_dataset.crowd.store import Store
from edos_dataset.crowd.worker_rows import discarded
from edos_dataset.runs.out_file import check_out_file
from edos_dataset.runs.shards import write_text

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
        source: the batch's folder, whose answers are those that `edos crowd serve` keeps there, or else those of its
            `answers.jsonl`; or a file of answers.
        batch: the folder, where it is not the one that the file lies in.

    Raises:
        ValueError: the folder has no answers or is no batch, or a line is broken.
    """
    if (source / ANSWERS).is_file():
        served = read_batch(source)
        rows = answer_lines(Store(source / ANSWERS), served, unfinished=True)
        return Answered(served, collect_answers((str(source / ANSWERS), row) for row in rows))
    path = source / ANSWERED if source.is_dir() else source
    if source.is_dir() and not path.is_file():
        raise ValueError(
            f"{source} holds no answers: collect them by `edos crowd serve`, `edos crowd mturk fetch` or "
            "`edos crowd import`, or give a file of answers"
        )
    if not are_of_hits(path):
        return None
    folder = batch or path.parent
    if not (folder / RECORD).is_file():
        raise ValueError(f"{path} holds answers to HITs, but {folder} is no batch: name its folder with --batch")
    return Answered(read_batch(folder), read_hit_answers([path]))


def write_kept(out: Path, answered: Answered | None, rules: QualityRules, force: bool = False) -> None:
    """Write the answers to dialogues to label that the rules let count, as lines `task, worker, label, turns`.

    Raises:
        ValueError: they come without HITs, so no rule can be followed; none is left; or the file is there.
    """
    if answered is None or answered.batch.kind != "labelling":
        raise ValueError(
            f"--kept {out}: only answers to HITs of the labelling task can be kept by the rules of quality"
        )
    target = check_out_file(out, force=force)
    hits = answered.batch.hits
    table = label_table(hits, answered.answers, discarded(hits, answered.answers, rules))
    if not table.task:
        raise ValueError(f"--kept {out}: the rules discard all answers; `edos crowd workers` tells why")
    rows = (
        {
            "task": table.tasks[task],
            "worker": worker,
            "label": given,
            "turns": table.dialogues[task],
            "dialogue_id": table.names[task],
        }
        for task, worker, given in zip(table.task, table.worker, table.given, strict=True)
    )
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def rules_of(batch: Batch | None, recipe: Path | None) -> QualityRules:
    """Return the rules of quality: the defaults, changed by those of a batch, and by a recipe.

    Raises:
        ValueError: one of them names no rule.
    """
    rules = QualityRules().override(batch.rules if batch else {})
    return read_rules(recipe, rules) if recipe else rules
