"""People's answers, read from the authors' file, Amazon Mechanical Turk's result files, and JSON lines, of HITs too."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.batches import HITS
from edos_dataset.crowd.hit_answers import label_table, read_hit_answers
from edos_dataset.crowd.hits import read_hits
from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.crowd.splits import split_turns

AGREED = "Agreed emotion (2/3 vote)"
_LINE = '{"task": ..., "worker": ..., "label": ...}'
_EDOS, _MTURK, _PLAIN = ("DialogID", "Dialog", "Worker 1 answer"), ("HITId", "WorkerId"), ("task", "worker", "label")


@dataclass(frozen=True)
class MTurkColumns:
    """Which columns of a result file of Amazon Mechanical Turk hold what.

    A HIT may bundle tasks: `{n}` stands for their numbers, or for nothing. Columns of no pattern, such as those of quiz
    questions, are passed over.

    Attributes:
        answer: what was picked.
        typed: what was typed beside; it counts where nothing, or "Other", was picked.
        task: name of the task; without such a column it is the HIT's id, and the task's number.
        dialogue: the task's text, a turn a line; may be absent.
    """

    answer: str = "Answer.label{n}"
    typed: str = "Answer.other{n}"
    task: str = "Input.task{n}"
    dialogue: str = "Input.dialogue{n}"

    def override(self, settings: Sequence[str]) -> "MTurkColumns":
        """Return the columns with changes such as `answer=Answer.emotion{n}`.

        Raises:
            ValueError: a setting has no "=", or names none of the four.
        """
        known = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for setting in settings:
            name, equals, column = setting.partition("=")
            if not equals or name not in known or not column:
                raise ValueError(
                    f"column setting {setting!r}: expected NAME=COLUMN with a NAME of {', '.join(known)}, such as "
                    f"answer=Answer.emotion{{n}}"
                )
            known[name] = column
        return MTurkColumns(**known)


def read_answers(path: Path, columns: MTurkColumns | None = None) -> Answers:
    """Read answers; the form of the file is known by its columns.

    - The EDOS authors' CSV, `DialogID, Dialog, Worker 1 answer, Worker 2 answer, ...`. The workers are anonymous, so
      they are called "1", "2", "3" by column. A column is no person: it holds many people's answers, so models of
      workers (Dawid–Skene, MACE) learn nothing of persons from it, only of columns. A DialogID that comes again is a
      task of its own, called `ID#2`.
    - A result CSV of Amazon Mechanical Turk, `HITId, WorkerId, Answer.…, Input.…`, read by `columns`. Rejected
      assignments are left out.
    - A CSV with the columns `task, worker, label`, or lines of JSON with these keys; `turns`, a list of texts, and
      `dialogue_id` may stand beside.
    - Answers to HITs, lines of JSON as of `hit_answers`, beside the `hits.jsonl` of their batch.

    Raises:
        ValueError: the file is none of these, a row is broken, or there are no answers; the message names file, line
            and value.
    """
    answers = Answers()
    if are_of_hits(path):
        answers = label_table(read_hits(path.parent / HITS), read_hit_answers([path]))
    elif path.suffix in (".jsonl", ".json", ".ndjson"):
        _read_objects(read_objects(path, _LINE), answers, path)
    else:
        rows = _rows(path)
        header = next(rows)[1]
        if all(column in header for column in _EDOS):
            _read_edos(rows, answers)
        elif all(column in header for column in _MTURK):
            _read_mturk(rows, answers, list(header), columns or MTurkColumns(), path)
        elif all(column in header for column in _PLAIN):
            _read_objects(rows, answers, path)
        else:
            forms = "; ".join(", ".join(form) for form in (_EDOS, _MTURK, _PLAIN))
            raise ValueError(
                f"{path} has the columns {', '.join(header) or 'none'}: expected those of one of these forms: {forms}"
            )
    if not answers.task:
        raise ValueError(f"{path} holds no answers")
    return answers


def are_of_hits(path: Path) -> bool:
    """Return whether a file holds answers to the items of HITs, by its first line.

    Raises:
        ValueError: the first line is broken.
    """
    if path.suffix not in (".jsonl", ".json", ".ndjson"):
        return False
    return "hit" in next(read_objects(path, _LINE), (0, {}))[1]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the header as a row of its own names, then the rows of a CSV file, each with its line number."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            yield 1, {name: name for name in reader.fieldnames or []}
            for row in reader:
                if None in row:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: the row has more values than the header has names; put texts "
                        "with commas in quotes"
                    )
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}") from error


def _read_objects(rows: Iterator[tuple[int, dict[str, Any]]], answers: Answers, path: Path) -> None:
    for number, row in rows:
        values = [row.get(key) for key in _PLAIN]
        if not all(isinstance(value, str | int) for value in values[:2]) or not isinstance(values[2], str | None):
            raise ValueError(
                f"{path}, line {number}: needs task, worker (texts or numbers) and label (a text), got "
                f"{str(row)[:80]}; mend or remove the line"
            )
        turns = row.get("turns") or []
        turns = turns.splitlines() if isinstance(turns, str) else turns
        if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
            raise ValueError(
                f"{path}, line {number}: turns must be a list of texts, got {str(turns)[:60]}; mend or remove the line"
            )
        try:
            task = answers.add_task(str(values[0]), turns, str(row.get("dialogue_id") or ""))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
        answers.add(task, str(values[1]), values[2] or "")


def _read_edos(rows: Iterator[tuple[int, dict[str, Any]]], answers: Answers) -> None:
    times: dict[str, int] = {}
    for _, row in rows:
        name = row["DialogID"].strip()
        times[name] = times.get(name, 0) + 1
        task = answers.add_task(name if times[name] == 1 else f"{name}#{times[name]}", split_turns(row["Dialog"]), name)
        if AGREED in row:
            answers.stated.append(row[AGREED])
        for column, given in row.items():
            if match := re.fullmatch(r"Worker (\d+) answer", column):
                answers.add(task, match[1], given)


def _read_mturk(
    rows: Iterator[tuple[int, dict[str, Any]]], answers: Answers, header: list[str], columns: MTurkColumns, path: Path
) -> None:
    pattern = re.compile(re.escape(columns.answer).replace(r"\{n\}", r"(\w*)"))
    answer_columns = [match for column in header if (match := pattern.fullmatch(column))]
    numbers = [match[1] if pattern.groups else "" for match in answer_columns]
    if not numbers:
        there = ", ".join(column for column in header if column.startswith("Answer.")) or "none"
        raise ValueError(
            f"{path} has no column {columns.answer}; its answers are {there}: name it with --column answer=COLUMN, "
            f"{{n}} for a task's number"
        )
    for line, row in rows:
        if row.get("AssignmentStatus", "").lower() == "rejected":
            answers.leave_out("rejected assignment")
            continue
        for number in numbers:
            of = {
                entry.name: row.get(getattr(columns, entry.name).replace("{n}", number), "")
                for entry in fields(columns)
            }
            name = of["task"] or row["HITId"] + (f"#{number}" if number else "")
            try:
                task = answers.add_task(name, split_turns(of["dialogue"]))
            except ValueError as error:
                raise ValueError(f"{path}, line {line}: {error}") from error
            answers.add(
                task, row["WorkerId"], of["typed"] if of["answer"].strip().lower() in ("", "other") else of["answer"]
            )
