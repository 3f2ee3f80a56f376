"""CSV files: a data set for Prolific's task builder with its results, and the result file of Mechanical Turk's site."""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from edos_dataset.crowd.cells import csv_text, restored
from edos_dataset.crowd.exchange.questions import Questions, answer_of, speakers
from edos_dataset.crowd.hit_answers import HitAnswer, items_by_id
from edos_dataset.crowd.mturk.layout import split_kinds
from edos_dataset.crowd.mturk.questions import value_of

_HIT, _ITEM, _GROUP = "META_hit", "META_item", "META_TASK_GROUP_ID"
_PARTICIPANTS = ("participant_id", "Participant id", "worker")
_SECONDS = ("seconds", "time_taken", "Time taken")
_TIMES = ("completed_at", "Completed at", "created_at", "at")


def export(questions: Questions) -> dict[str, str]:
    """Return the file `dataset.csv`, a question a line; participants do not see the columns that begin with META_, and
    those of one META_TASK_GROUP_ID are given to the same person, as a HIT is.
    """
    shown = [f"reply{place}" for place in range(1, questions.most + 1)] if questions.judging else ["suggested"]
    rows = []
    for hit, item in questions.each():
        turns = "\n".join(f"{name}: {turn}" for name, turn in speakers(item))
        choices = (
            [*item.choices, *[""] * (len(shown) - len(item.choices))]
            if questions.judging
            else [", ".join(item.choices)]
        )
        rows.append([turns, *choices, hit, item.id, hit])
    return {"dataset.csv": csv_text(["dialogue", *shown, _HIT, _ITEM, _GROUP], rows)}


def read(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers of a table with `META_hit`, `META_item`, `participant_id`, and `label` and `other`, or
    `grade1`, ...; `seconds` and `completed_at` may stand beside.

    Raises:
        ValueError: a column is missing, or a line is of another batch.
    """
    items = items_by_id(questions.hits)
    for line, row in _rows(path):
        worker = _first(row, _PARTICIPANTS)
        if not worker or _HIT not in row or _ITEM not in row:
            raise ValueError(
                f"{path}, line {line}: needs {_HIT}, {_ITEM} and participant_id; its columns are {', '.join(row)}"
            )
        seconds = _number(_first(row, _SECONDS))
        try:
            answer = answer_of(
                items, row[_HIT], row[_ITEM], alias(worker), row, seconds=seconds, at=_first(row, _TIMES)
            )
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {error}") from error
        if answer:
            yield answer


def read_mturk(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers of the result file that Mechanical Turk's site gives for `edos crowd mturk files`; rejected
    assignments are left out, and the time of an assignment is shared by its items.

    Raises:
        ValueError: a column is missing, or a line is of another batch.
    """
    hits = {hit.id: hit for hit in questions.hits}
    for line, row in _rows(path):
        if not {"Input.hit", "WorkerId"} <= row.keys() or row["Input.hit"] not in hits:
            raise ValueError(
                f"{path}, line {line}: needs WorkerId and Input.hit, a HIT of the batch, got "
                f"{row.get('Input.hit', 'no such column')!r}; give the result file and the batch that was uploaded"
            )
        if row.get("AssignmentStatus", "").lower() == "rejected":
            continue
        hit, whole = hits[row["Input.hit"]], _number(row.get("WorkTimeInSeconds", ""))
        seconds = None if whole is None else round(whole / len(hit.items), 2)
        for name, typed, own in zip(("label", "quiz"), ("other", "quizother"), split_kinds(hit), strict=True):
            for number, item in enumerate(own, 1):
                fields = {
                    "label1": row.get(f"Answer.{name}{number}", ""),
                    "other1": row.get(f"Answer.{typed}{number}", ""),
                }
                if given := value_of(item, 1, fields):
                    yield HitAnswer(hit.id, item.id, alias(row["WorkerId"]), *given, seconds, row.get("SubmitTime", ""))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            for row in reader:
                yield reader.line_num, {str(name): restored(str(cell or "")) for name, cell in row.items()}
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}") from error


def _first(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _number(text: str) -> float | None:
    try:
        return max(float(text), 0.0)
    except ValueError:
        return None
