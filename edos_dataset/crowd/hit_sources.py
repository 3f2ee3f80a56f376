"""What HITs are made of: tasks of `edos crowd select`, quiz questions, and models' answers to dialogues."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.labels import LABELS, parse_label

QUIZ = "quiz.jsonl"
MATRIX, REFERENCES = "matrix.json", ("RT", "GT")
"""Of the records of `evaluation/generation.py`: the file that tells of all, and the rows that are no models."""


def read_tasks(path: Path) -> list[dict[str, Any]]:
    """Return the tasks that `edos crowd select` wrote, or others of their form: `task`, `turns`, `top` (names of
    labels, the likeliest first), and perhaps `label`, else the first of `top`, and `dialogue_id`, else the task.

    Raises:
        ValueError: a line lacks something, or names a label that is none; the message names file and line.
    """
    tasks = []
    for number, row in read_objects(path, '{"task": ..., "turns": [...], "top": [...]}'):
        try:
            top = [_label(name) for name in _texts(row, "top")]
            found = {**row, "task": _text(row, "task"), "turns": _texts(row, "turns"), "top": top}
            found |= {
                "label": _label(row.get("label", top[0])),
                "dialogue_id": str(row.get("dialogue_id", row["task"])),
            }
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
        tasks.append(found)
    return tasks


def read_quiz(path: Path | None = None) -> list[dict[str, Any]]:
    """Return quiz questions: `turns`, `label`, and perhaps `choices`, names of labels with the right one.

    Args:
        path: of JSON lines; by default those of this package, at least one for each label.

    Raises:
        ValueError: as of `read_tasks`; two questions are the same.
    """
    path = path or Path(str(files("edos_dataset.crowd") / QUIZ))
    quiz: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, row in read_objects(path, '{"turns": [...], "label": ...}'):
        try:
            found: dict[str, Any] = {"turns": _texts(row, "turns"), "label": _label(_text(row, "label"))}
            if "choices" in row:
                found["choices"] = [_label(name) for name in _texts(row, "choices")]
                if found["label"] not in found["choices"]:
                    raise ValueError(f"the right label, {found['label']}, is none of the choices")
            if tuple(found["turns"]) in quiz:
                raise ValueError("the question has been there already")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
        quiz[tuple(found["turns"])] = found
    return list(quiz.values())


def read_judged_dialogues(path: Path) -> list[dict[str, Any]]:
    """Return dialogues with the answers of several models: `dialogue_id`, `turns`, `answers` (a list of `model` and
    `text`), and perhaps `truth`, the true response, and `set`, the test set.

    Raises:
        ValueError: as of `read_tasks`.
    """
    found = []
    for number, row in read_objects(path, '{"dialogue_id": ..., "turns": [...], "answers": [{"model": ..., ...}]}'):
        try:
            answers = [{"model": _text(each, "model"), "text": _text(each, "text")} for each in _answers(row)]
            if len({answer["model"] for answer in answers}) < max(2, len(answers)):
                raise ValueError("answers need two models or more, one answer each")
            found.append({**_dialogue(row), "answers": answers})
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
    return found


def join_answers(sources: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return what several models answered to the same dialogues, as `read_judged_dialogues` gives it.

    Args:
        sources: model → a file that `edos respond --out` wrote; the first of its answers counts. `truth` may stand
            beside in any of them.

    Raises:
        ValueError: a line lacks something, or the files do not answer the same dialogues.
    """
    joined: dict[str, dict[str, Any]] = {}
    for model, path in sources.items():
        seen = set()
        for number, row in read_objects(path, '{"dialogue_id": ..., "turns": [...], "answers": [{"text": ...}]}'):
            try:
                dialogue, text = _dialogue(row), _text(_answers(row)[0], "text")
                kept = joined.setdefault(dialogue["dialogue_id"], {**dialogue, "answers": []})
                if kept["turns"] != dialogue["turns"] or dialogue["dialogue_id"] in seen:
                    raise ValueError(
                        f"the dialogue {dialogue['dialogue_id']!r} has been there with other turns or twice"
                    )
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}; give answers to the same dialogues") from error
            seen.add(dialogue["dialogue_id"])
            kept.update({key: value for key, value in dialogue.items() if key not in kept})
            kept["answers"].append({"model": model, "text": text})
    if lacking := next((name for name, each in joined.items() if len(each["answers"]) < len(sources)), None):
        raise ValueError(
            f"the dialogue {lacking!r} is not answered in all of {', '.join(map(str, sources.values()))}: give answers "
            "to the same dialogues"
        )
    return list(joined.values())


def read_evaluation(records: Path, rows: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the answers that `evaluation/generation.py --records` kept, as `read_judged_dialogues` gives them, with
    the true responses.

    Args:
        records: the folder.
        rows: of its table that are judged; by default all models.

    Raises:
        ValueError: the folder has no records, a row is none, or there are fewer than two.
    """
    if not (records / MATRIX).is_file():
        raise ValueError(f"{records} holds no {MATRIX}: give the folder of --records of evaluation/generation.py")
    sets = json.loads((records / MATRIX).read_text(encoding="utf-8"))["sets"]
    cells = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(records.glob("*--*.json"))]
    cells = [cell for cell in cells if cell["digest"] == sets.get(cell["set"], {}).get("digest")]
    known = {cell["row"]: None for cell in cells}
    wanted = list(rows) or [row for row in known if row not in REFERENCES]
    if len(wanted) < 2 or (strange := [row for row in wanted if row not in known]):
        told = f"no row {strange[0]!r}" if len(wanted) > 1 else "fewer than two rows to judge"
        raise ValueError(f"{records} has {told}; its rows are {', '.join(known) or 'none'}")
    found = []
    for name, held in sets.items():
        answers = {cell["row"]: cell["answers"] for cell in cells if cell["set"] == name and cell["row"] in wanted}
        if len(answers) < len(wanted):
            continue  # a set on which not all were measured
        found += [
            {
                "dialogue_id": f"{name}#{number}",
                "set": name,
                "turns": list(context["turns"]),
                "answers": [{"model": row, "text": answers[row][number]} for row in wanted],
                "truth": context["truth"],
            }
            for number, context in enumerate(held["contexts"])
        ]
    return found


def _dialogue(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("turns")
    turns = [turn["text"] if isinstance(turn, dict) and "text" in turn else turn for turn in given or []]
    found = {"dialogue_id": _text(row, "dialogue_id"), "turns": _texts({"turns": turns}, "turns")}
    return found | {key: _text(row, key) for key in ("truth", "set") if row.get(key) is not None}


def _answers(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = row.get("answers")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise ValueError(f"answers must be a list of objects, got {str(given)[:60]}")
    return given


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{key} must be a text, got {str(value)[:60]!r}")
    return str(value)


def _texts(row: Mapping[str, Any], key: str) -> list[str]:
    values = row.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(each, str) and each.strip() for each in values):
        raise ValueError(f"{key} must be a list of texts, got {str(values)[:60]}")
    return values


def _label(name: object) -> str:
    return LABELS[parse_label(str(name))]
