"""Annotators' answers as one table `task, worker, label`.

They are read from the EDOS authors' file, result files of Mechanical Turk, JSON lines, or answers to HITs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.crowd.batches import HITS, RECORD, read_batch
from edos_dataset.crowd.hit_answers import HitAnswers, check_item, items_by_id, read_hit_answers
from edos_dataset.crowd.hits import Hit, read_hits
from edos_dataset.crowd.mturk_columns import SEVERAL, TASK_ANSWERS, plain_columns
from edos_dataset.crowd.names import EDOS, MISSING, TYPED, Answer, read_answer
from edos_dataset.crowd.splits import plain_text, split_turns
from edos_dataset.crowd.text_files import read_csv, read_objects
from edos_dataset.label_sets import BUILT_IN, LabelMap, LabelSet, load_label_set
from edos_dataset.runs.arguments import check_file
from edos_dataset.text import shown
from edos_dataset.wording import counted, unit_of


@dataclass
class Answers:
    """Tasks and their answers.

    Attributes:
        tasks: [tasks] unique names.
        names: [tasks] names of the dialogues shown; splits keep the tasks of a dialogue together.
        dialogues: [tasks] the turns shown, oldest first, of which the last is labelled; empty if the file has no text.
        stated: [tasks] the agreed label according to the file, "" where it gives none; empty if it has no such column.
        task: [answers] index of the task.
        worker: [answers] id of the worker.
        given: [answers] the answer as the file has it; blank answers are dropped.
        label: [answers] id of the label, MISSING for an answer outside the label set.
        left_out: counts by reason of rejected assignments and of second answers of a worker to a task.
        label_set: the labels that people chose from.
    """

    tasks: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    dialogues: list[list[str]] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    task: list[int] = field(default_factory=list)
    worker: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    label_set: LabelSet = EDOS

    def __post_init__(self) -> None:
        """Create the indices for adding rows."""
        self._rows: dict[str, int] = {name: row for row, name in enumerate(self.tasks)}
        self._seen = set(zip(self.task, self.worker, strict=True))

    @property
    def label(self) -> Ints:
        """[answers] ids of the labels, as above."""
        return np.array([self.read(given).label for given in self.given], dtype=np.int64)

    def read(self, given: str) -> Answer:
        """Return what an answer means in the label set."""
        return read_answer(given, self.label_set)

    @property
    def keys(self) -> list[str]:
        """[tasks] the words of the whole dialogue, for finding equal texts; the task's name if it has no text."""
        return [
            "text " + plain_text(" ".join(turns)) if turns else "task " + task
            for task, turns in zip(self.tasks, self.dialogues, strict=True)
        ]

    def add_task(self, task: str, turns: list[str], name: str = "") -> int:
        """Return the index of a task, adding it if it is new; a task without text takes the text given later.

        Raises:
            ValueError: the task exists with another text.
        """
        if task not in self._rows:
            self._rows[task] = len(self.tasks)
            self.tasks.append(task)
            self.names.append(name or task)
            self.dialogues.append(turns)
        row = self._rows[task]
        self.dialogues[row] = self.dialogues[row] or turns
        if turns and turns != self.dialogues[row]:
            raise ValueError(
                f"task {task!r} comes with two texts, first {self.dialogues[row][-1][:40]!r}, then {turns[-1][:40]!r}; "
                "give the tasks different names"
            )
        return row

    def add(self, row: int, worker: str, given: str) -> None:
        """Add an answer to the task `row`, unless it is blank or the worker has already answered."""
        if not self.read(given).text:
            return
        if (row, worker) in self._seen:
            self.leave_out("second answer of a worker")
            return
        self._seen.add((row, worker))
        self.task.append(row)
        self.worker.append(worker)
        self.given.append(given)

    def leave_out(self, reason: str) -> None:
        """Count something left out of the table."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def repeated_texts(answers: Answers, won: Ints) -> dict[str, int]:
    """Count the `texts` that occur in several tasks, these `tasks`, and the texts with `conflicting` agreed labels.

    Args:
        answers: the table.
        won: [tasks] the agreed category, or MISSING.
    """
    labels: dict[str, list[int]] = {}
    for key, winner in zip(answers.keys, won.tolist(), strict=True):
        labels.setdefault(key, []).append(winner)
    repeated = [own for own in labels.values() if len(own) > 1]
    return {
        "texts": len(repeated),
        "tasks": sum(map(len, repeated)),
        "conflicting": sum(len(set(own) - {MISSING}) > 1 for own in repeated),
    }


AGREED = "Agreed emotion (2/3 vote)"
_LINE = '{"task": ..., "worker": ..., "label": ...}'
_EDOS, _MTURK, _PLAIN = ("DialogID", "Dialog", "Worker 1 answer"), ("HITId", "WorkerId"), ("task", "worker", "label")
_NAMES = (*_EDOS, *_MTURK, *_PLAIN, AGREED, "AssignmentStatus", TASK_ANSWERS, "turns", "dialogue_id")


@dataclass(frozen=True)
class MTurkColumns:
    """Names of the columns in a result file of Amazon Mechanical Turk.

    A HIT may bundle tasks: `{n}` stands for a task's number, or for nothing. Columns that match no pattern, such as
    those of quiz questions, are ignored.

    Attributes:
        answer: the label picked.
        typed: the label typed; it counts if nothing, or "Other", was picked.
        task: name of the task; without this column, the HIT's id and the task's number.
        dialogue: the task's text, one turn per line; may be absent.
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


def read_labelled(path: Path, columns: MTurkColumns | None = None, labels: LabelSet | None = None) -> Answers:
    """Read answers that are labels of a label set.

    Raises:
        ValueError: as for `read_answers`; or no answer is a label of the set.
    """
    answers = read_answers(path, columns, labels)
    if (answers.label == MISSING).all():
        raise ValueError(f"{path}: {outside_the_set(answers)}")
    return answers


def translated(answers: Answers, mapped: LabelMap) -> Answers:
    """Return answers in the target of a label map: each becomes the label with the largest share; those outside the
    label set stay as they are, and those that correspond to no label are left out.
    """

    def target(given: str) -> str | None:
        label = answers.read(given).label
        return given if label == MISSING else mapped(answers.label_set.labels[label])

    found = replace(
        answers,
        stated=[target(given) or "" if given else "" for given in answers.stated],
        label_set=mapped.target,
        left_out=dict(answers.left_out),
        task=[],
        worker=[],
        given=[],
    )
    for task, worker, given in zip(answers.task, answers.worker, answers.given, strict=True):
        if (name := target(given)) is None:
            found.leave_out(f"no label of {mapped.target.name} corresponds")
        else:
            found.add(task, worker, name)
    return found


def outside_the_set(answers: Answers) -> str:
    """Return a sentence on the answers outside the label set, with the remedy; "" if there are none."""
    outside = [given for given, label in zip(answers.given, answers.label.tolist(), strict=True) if label == MISSING]
    if not outside:
        return ""
    texts = Counter(outside)
    given = ", ".join(f"{shown(text)} {count:,}" for text, count in texts.most_common(5)) + ", ..." * (len(texts) > 5)
    whole = [
        name
        for name, each in zip(BUILT_IN, map(load_label_set, BUILT_IN), strict=True)
        if all(each.find(TYPED.sub("", text)) is not None for text in answers.given)
    ]
    meant = f"; {whole[0]} has all of them" if whole else ""
    return (
        f"{len(outside):,} of {counted(len(answers.given), 'answers')} {unit_of(len(outside), 'are')} none of the "
        f"{counted(len(answers.label_set), 'labels')} of "
        f"{answers.label_set.name!r} ({given}): name the labels that people chose from by --label-set NAME|FILE{meant}"
    )


def read_answers(path: Path, columns: MTurkColumns | None = None, labels: LabelSet | None = None) -> Answers:
    """Read answers from a file whose columns tell its format.

    - The EDOS authors' CSV, `DialogID, Dialog, Worker 1 answer, Worker 2 answer, ...`. The workers are anonymous and
      named "1", "2", "3" by column. A column mixes many people's answers, so models of workers (Dawid–Skene, MACE)
      learn about columns, not people. A repeated DialogID is a task of its own, named `ID#2`.
    - A result CSV of Amazon Mechanical Turk, `HITId, WorkerId, Answer.…, Input.…`, read by `columns`. Rejected
      assignments are left out.
    - A CSV with the columns `task, worker, label`, or JSON lines with these keys; `turns`, a list of texts, and
      `dialogue_id` are optional.
    - Answers to HITs, JSON lines as in `hit_answers`, next to the `hits.jsonl` of their batch.

    Args:
        path: the file.
        columns: those of a Mechanical Turk file.
        labels: the labels people chose from; by default those of the batch in the file's folder, or of EDOS.

    Raises:
        ValueError: the file has none of these formats, a row is malformed, or there are no answers; the message names
            file, line and value.
    """
    check_file(path, "a file of answers")
    labels, columns = labels or _labels_of_batch(path.parent), columns or MTurkColumns()
    answers, used = Answers(label_set=labels), columns == MTurkColumns()
    if are_of_hits(path):
        answers = _of_hits(path, labels)
    elif path.suffix in (".jsonl", ".json", ".ndjson"):
        _read_objects(read_objects(path, _LINE), answers, path)
    else:
        used = _read_table(path, answers, columns) or used
    if not used:
        raise ValueError(f"--column is for results of Mechanical Turk, and {path} is none: leave it out")
    if not answers.task:
        raise ValueError(f"{path} holds no answers")
    return answers


def _read_table(path: Path, answers: Answers, columns: MTurkColumns) -> bool:
    """Add the answers of a CSV file, and return whether it is of Mechanical Turk, so that `columns` was needed."""
    rows = read_csv(path, _NAMES)
    header = next(rows)[1].keys()
    if header >= set(_EDOS):
        _read_edos(rows, answers)
    elif header >= set(_MTURK):
        _read_mturk(rows, answers, columns, path)
        return True
    elif header >= set(_PLAIN):
        _read_objects(rows, answers, path)
    else:
        forms = "; ".join(", ".join(form) for form in (_EDOS, _MTURK, _PLAIN))
        raise ValueError(
            f"{path} has the columns {', '.join(header) or 'none'}: expected those of one of these forms: {forms}"
        )
    return False


def _labels_of_batch(folder: Path) -> LabelSet:
    """Return the labels of the batch in a folder, those of EDOS if it holds none."""
    return read_batch(folder).labels if (folder / RECORD).is_file() else EDOS


def _of_hits(path: Path, labels: LabelSet) -> Answers:
    return label_table(read_hits(path.parent / HITS), read_hit_answers([path]), labels=labels)


def are_of_hits(path: Path) -> bool:
    """Return whether a file holds answers to the items of HITs, judging by its first line.

    Raises:
        ValueError: the first line is malformed.
    """
    if path.suffix not in (".jsonl", ".json", ".ndjson"):
        return False
    return "hit" in next(read_objects(path, _LINE), (0, {}))[1]


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
            if match := re.fullmatch(r"Worker (\d+) answer", column, re.IGNORECASE):
                answers.add(task, match[1], given)


def _read_mturk(
    rows: Iterator[tuple[int, dict[str, Any]]], answers: Answers, columns: MTurkColumns, path: Path
) -> None:
    try:
        table = plain_columns(list(rows))
    except ValueError as error:
        raise error if str(path) in str(error) else ValueError(f"{path}, {error}") from error
    numbers = _task_numbers(list(table[0][1]) if table else [], columns.answer, path)
    _refuse_truths(table, [columns.answer.replace("{n}", number) for number in numbers], path)
    for line, row in table:
        if row.get("AssignmentStatus", "").lower() == "rejected":
            answers.leave_out("rejected assignment")
            continue
        for number in numbers:
            values = {name: row.get(column.replace("{n}", number), "") for name, column in vars(columns).items()}
            name = values["task"] or row["HITId"] + (f"#{number}" if number else "")
            try:
                task = answers.add_task(name, split_turns(values["dialogue"]))
            except ValueError as error:
                raise ValueError(f"{path}, line {line}: {error}") from error
            if values["answer"] == SEVERAL:
                answers.leave_out(SEVERAL)
                continue
            picked_none = values["answer"].strip().lower() in ("", "other")
            answers.add(task, row["WorkerId"], values["typed"] if picked_none else values["answer"])


def _refuse_truths(table: Sequence[tuple[int, dict[str, Any]]], columns: Sequence[str], path: Path) -> None:
    given = {str(row[column]).strip().lower() for _, row in table for column in columns} - {""}
    if given and given <= {"true", "false"}:
        raise ValueError(
            f"{path}: {', '.join(columns)[:200]} hold only true and false, which are no labels: name the column of the "
            "question with --column answer=COLUMN"
        )


def _task_numbers(header: Sequence[str], answer: str, path: Path) -> list[str]:
    pattern = re.compile(re.escape(answer).replace(r"\{n\}", r"(\w*)"))
    matches = [match for column in header if (match := pattern.fullmatch(column))]
    if not matches:
        answer_columns = ", ".join(column for column in header if column.startswith("Answer.")) or "none"
        raise ValueError(
            f"{path} has no column {answer}; its answers are {answer_columns}: name it with --column answer=COLUMN, "
            f"{{n}} for a task's number"
        )
    return [match[1] if pattern.groups else "" for match in matches]


def label_table(
    hits: Sequence[Hit],
    answers: HitAnswers,
    discarded: Mapping[tuple[str, str], str] | None = None,
    labels: LabelSet = EDOS,
) -> Answers:
    """Return the answers to dialogues, without those to quiz questions and judging items.

    Args:
        hits: the HITs.
        answers: the answers to them.
        discarded: (HIT, worker) → why the answers of an assignment are left out.
        labels: the labels that people chose from.

    Raises:
        ValueError: an answer refers to no item of these HITs.
    """
    table, items = Answers(label_set=labels), items_by_id(hits)
    for hit in hits:
        for item in hit.items:
            if item.kind == "label":
                table.add_task(item.id, list(item.turns), str(item.facts.get("dialogue_id", "")))
    for answer in answers.given:
        item = check_item(items, answer)
        reason = (discarded or {}).get((answer.hit, answer.worker))
        if item.kind == "label" and reason:
            table.leave_out(reason)
        elif item.kind == "label":
            given = answer.value if isinstance(answer.value, str) else f"{answer.typed} (Other)" * bool(answer.typed)
            table.add(table.add_task(item.id, []), answer.worker, given)
    return table
