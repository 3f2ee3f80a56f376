"""Questions to other tools and answers back: what `edos crowd export` and `edos crowd import` do."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from edos_dataset.commands.crowd_answers import ANSWERED
from edos_dataset.crowd.aliases import alias_of
from edos_dataset.crowd.batches import WORKERS, read_batch
from edos_dataset.crowd.exchange import argilla, label_studio, tables
from edos_dataset.crowd.exchange.questions import Questions
from edos_dataset.crowd.hit_answers import (
    HitAnswer,
    HitAnswers,
    check_item,
    items_by_id,
    read_hit_answers,
    write_hit_answers,
)
from edos_dataset.crowd.hit_sources import read_tasks
from edos_dataset.crowd.hits import SUGGESTIONS, Hit, Item
from edos_dataset.runs.out_file import check_out_file
from edos_dataset.runs.shards import write_text

EXPORTS: Mapping[str, Callable[[Questions], dict[str, str]]] = {
    "argilla": argilla.export,
    "label-studio": label_studio.export,
    "prolific-csv": tables.export,
}
"""Tool → what makes its files."""

IMPORTS: Mapping[str, Callable[[Path, Questions, Callable[[str], str]], Iterable[HitAnswer]]] = {
    "argilla": argilla.read,
    "label-studio": label_studio.read,
    "prolific-csv": tables.read,
    "mturk-csv": tables.read_mturk,
}
"""Tool → what reads its answers."""

_T = TypeVar("_T")

TASKS = "tasks"
"""Id of the HIT that stands for a file of tasks, which knows none."""


def open_questions(source: Path) -> Questions:
    """Return the questions of a batch's folder, or of a file of `edos crowd select`.

    Raises:
        ValueError: it is neither.
    """
    if source.is_dir():
        batch = read_batch(source)
        return Questions(batch.hits, batch.kind == "judging", batch.workers)
    items = [
        Item(
            task["task"],
            "label",
            tuple(task["turns"]),
            tuple(task["top"][:SUGGESTIONS]),
            None,
            {"dialogue_id": task["dialogue_id"]},
        )
        for task in read_tasks(source)
    ]
    if not items:
        raise ValueError(f"{source} holds no tasks")
    return Questions([Hit(TASKS, tuple(items))], False, WORKERS["labelling"])


def write_export(source: Path, tool: str, out: Path) -> list[str]:
    """Write the files of a tool into a folder, which is made; return their names.

    Raises:
        ValueError: the tool is unknown, the source is none, or the folder is there and not empty.
    """
    made = _known(EXPORTS, tool, "--to")(open_questions(source))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already and not empty: give another --out")
    for name, text in made.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(out / name, text)
    return list(made)


def read_import(path: Path, tool: str, source: Path) -> list[HitAnswer]:
    """Return the answers that a tool gave back, workers under an alias.

    Args:
        path: the tool's file or folder.
        tool: its name.
        source: what was exported.

    Raises:
        ValueError: the tool is unknown, or the file is none of its own, of another batch, or without answers.
    """
    read, questions = _known(IMPORTS, tool, "--from"), open_questions(source)
    found = list(read(path, questions, alias_of(source if source.is_dir() else source.parent)))
    if not found:
        raise ValueError(f"{path} holds no answers")
    items = items_by_id(questions.hits)
    for answer in found:
        check_item(items, answer)
    return found


def write_import(path: Path, tool: str, source: Path, out: Path | None, force: bool = False) -> tuple[Path, int]:
    """Write what a tool gave back: of a batch beside the answers that are there, else as `task, worker, label, turns`;
    return the file and how many answers came.

    Errors as of `read_import`.
    """
    found = read_import(path, tool, source)
    if not source.is_dir() and out is None:
        raise ValueError("--out: name the file that the answers go into")
    if source.is_dir() and out is None:
        out = source / ANSWERED
        answers = read_hit_answers([out]) if out.exists() else HitAnswers()
        last = {(one.hit, one.item, one.worker): one for one in [*answers.given, *found]}
        write_hit_answers(out, HitAnswers(list(last.values()), answers.finished))
        return out, len(found)
    target = check_out_file(out or source, force=force)
    if source.is_dir():
        write_hit_answers(target, HitAnswers(found))
        return target, len(found)
    items = items_by_id(open_questions(source).hits)
    rows = []
    for one in found:
        item = items[one.hit, one.item]
        row = {"task": one.item, "worker": one.worker, "label": one.value or one.typed, "turns": list(item.turns)}
        rows.append(row | {"dialogue_id": item.facts["dialogue_id"]})
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return target, len(found)


def _known(tools: Mapping[str, _T], name: str, option: str) -> _T:
    if name not in tools:
        raise ValueError(f"{option} is {name!r}: give one of {', '.join(tools)}")
    return tools[name]
