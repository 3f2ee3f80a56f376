"""Result columns of Amazon Mechanical Turk's Crowd HTML Elements, converted to one column per question.

`Answer.taskAnswers` holds JSON; radio buttons have a column of true and false for each `Answer.QUESTION.CHOICE`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from edos_dataset.runs.untrusted import json_of

TASK_ANSWERS = "Answer.taskAnswers"
SEVERAL = "several choices of one question"
"""Stands for an answer with more than one choice."""

_TRUTHS = ("true", "false", "")
_PREFIX = "Answer."


def plain_columns(rows: Sequence[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Return numbered rows in which `Answer.QUESTION` holds the choice that was picked.

    Raises:
        ValueError: a JSON answer is malformed; the message names the line.
    """
    unpacked = [(line, _unpacked(line, row)) for line, row in rows]
    columns = dict.fromkeys(column for _, row in unpacked for column in row)
    questions: dict[str, list[str]] = {}
    for column in columns:
        question, dot, _ = column.removeprefix(_PREFIX).partition(".")
        if column.startswith(_PREFIX) and dot and all(_truth(row, column) in _TRUTHS for _, row in unpacked):
            questions.setdefault(_PREFIX + question, []).append(column)
    return [(line, _merged(row, columns, questions)) for line, row in unpacked]


def _merged(row: dict[str, Any], columns: Iterable[str], questions: dict[str, list[str]]) -> dict[str, Any]:
    plain = {column: row.get(column, "") for column in columns}
    for question, choices in questions.items():
        picked = [choice.removeprefix(f"{question}.") for choice in choices if _truth(row, choice) == "true"]
        for choice in choices:
            del plain[choice]
        plain[question] = _only(picked) or plain.get(question, "")
    return plain


def _truth(row: dict[str, Any], column: str) -> str:
    return str(row.get(column, "")).strip().lower()


def _unpacked(line: int, row: dict[str, Any]) -> dict[str, Any]:
    if not row.get(TASK_ANSWERS):
        return {column: value for column, value in row.items() if column != TASK_ANSWERS}
    try:
        given = json_of(row[TASK_ANSWERS])
        questions = [pair for each in (given if isinstance(given, list) else [given]) for pair in each.items()]
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"line {line}: {TASK_ANSWERS} is no JSON of answers, got {row[TASK_ANSWERS][:60]!r}; "
            "mend or remove the line"
        ) from error
    plain = {column: value for column, value in row.items() if column != TASK_ANSWERS}
    return plain | {_PREFIX + question: _choice(value) for question, value in questions}


def _choice(value: object) -> str:
    """Return what was picked: the text, the label of a classifier, or the choices that are true."""
    if isinstance(value, dict):
        if isinstance(value.get("label"), str):
            return str(value["label"])
        return _only([choice for choice, picked in value.items() if picked is True or picked == "true"])
    if isinstance(value, list):
        return _only([str(each) for each in value])
    return "" if value is None else str(value)


def _only(picked: Sequence[str]) -> str:
    return SEVERAL if len(picked) > 1 else "".join(picked)
