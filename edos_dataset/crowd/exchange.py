"""Questions as files for annotation tools (Argilla, Label Studio, Prolific), and answers read from the exports of these
tools and of Mechanical Turk's requester website.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from edos_dataset.crowd.hit_answers import GRADES, HitAnswer, Value, items_by_id
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.mturk.questions import split_kinds, value_of
from edos_dataset.crowd.names import EDOS
from edos_dataset.crowd.text_files import csv_text, read_csv, restored
from edos_dataset.label_sets import LabelSet
from edos_dataset.runs.untrusted import UntrustedInputError, json_of, shown
from edos_dataset.text import clipped

_CENTURY = 3.2e9  # seconds

OTHER = "other"
"""The choice for none of the suggested labels."""

PROMPT = "Which emotion or intention does the last turn show?"
JUDGE = "Is each reply emotionally appropriate after what was said before?"


@dataclass(frozen=True)
class Questions:
    """The questions of a batch, one by one, as other tools have no HITs.

    Attributes:
        hits: the HITs with their items.
        judging: whether replies are judged.
        workers: number of different people per question.
        labels: the labels to choose from.
    """

    hits: Sequence[Hit]
    judging: bool
    workers: int
    labels: LabelSet = EDOS

    def each(self) -> Iterable[tuple[str, Item]]:
        """Yield each question with the id of its HIT."""
        return ((hit.id, item) for hit in self.hits for item in hit.items)

    @property
    def most(self) -> int:
        """The largest number of candidate replies to a question."""
        return max(len(item.choices) for _, item in self.each())


def speakers(item: Item) -> list[tuple[str, str]]:
    """Return the turns with alternating speakers, A and B."""
    return [("AB"[number % 2], turn) for number, turn in enumerate(item.turns)]


def answer_of(
    questions: Mapping[tuple[str, str], Item],
    hit: str,
    item: str,
    worker: str,
    fields: Mapping[str, str],
    **facts: Any,  # noqa: ANN401 - those of HitAnswer
) -> HitAnswer | None:
    """Return the answer in a tool's fields (`label` and `other`, or `grade1`, ...); None if they are empty.

    Raises:
        ValueError: the batch has no such question, or a grade is invalid.
    """
    asked = questions.get((hit, item))
    if asked is None:
        raise ValueError(f"no question {shown(item)} of HIT {shown(hit)} in the batch; give the one that was exported")
    value: Value
    typed = fields.get("other", "").strip()
    if asked.kind in ("judge", "bonus"):
        grades = tuple(fields.get(f"grade{place}", "").strip().lower() for place in range(1, len(asked.choices) + 1))
        if not any(grades):
            return None
        if strange := [grade for grade in grades if grade not in GRADES]:
            raise ValueError(
                f"a grade of {item!r} is {shown(strange[0])}: expected {', '.join(GRADES)} for every reply"
            )
        return HitAnswer(hit, item, worker, grades, "", **facts)
    label = fields.get("label", "").strip()
    if label and label.lower() != OTHER:
        value, typed = label, ""
    else:
        value = None
    return HitAnswer(hit, item, worker, value, typed, **facts) if value or typed else None


_ARGILLA_RECORDS = "records.json"


def argilla_files(questions: Questions) -> dict[str, str]:
    """Return the files by name: `.argilla/dataset.json`, `.argilla/settings.json`, `records.json`.

    Argilla's options are the same for all records, so the choice is among all labels. The three suggested ones are
    shown with the dialogue; none is preselected.
    """
    guidelines = JUDGE if questions.judging else PROMPT
    distribution = {"strategy": "overlap", "min_submitted": questions.workers}
    replies = range(1, questions.most + 1)
    fields = [_argilla_field("dialogue", "Dialogue", {"type": "chat", "use_markdown": False})]
    if questions.judging:
        text = {"type": "text", "use_markdown": False}
        fields += [_argilla_field(f"reply{place}", f"Reply {place}", text, place <= 2) for place in replies]
        asked = [_argilla_question(f"grade{place}", f"Reply {place}", GRADES, place <= 2) for place in replies]
    else:
        fields.append(_argilla_field("suggested", "Suggested", {"type": "text", "use_markdown": False}))
        typed = {"name": "other", "title": "Another word", "required": False}
        asked = [
            _argilla_question("label", PROMPT, (*questions.labels.labels, OTHER)),
            {**typed, "settings": {"type": "text", "use_markdown": False}},
        ]
    settings = {
        "guidelines": guidelines,
        "fields": fields,
        "questions": asked,
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": distribution,
        "mapping": None,
    }
    dataset = {
        "name": "edos_judging" if questions.judging else "edos_labelling",
        "status": "draft",
        "guidelines": guidelines,
        "allow_extra_metadata": True,
        "distribution": distribution,
    }
    records = [_argilla_record(hit, item, questions) for hit, item in questions.each()]
    content = {".argilla/dataset.json": dataset, ".argilla/settings.json": settings, _ARGILLA_RECORDS: records}
    return {name: json.dumps(value, ensure_ascii=False, indent=1) for name, value in content.items()}


def _argilla_field(name: str, title: str, settings: dict[str, Any], required: bool = True) -> dict[str, Any]:
    return {"name": name, "title": title, "required": required, "settings": settings}


def _argilla_question(name: str, title: str, options: tuple[str, ...], required: bool = True) -> dict[str, Any]:
    chosen = [{"value": option, "text": option, "description": None} for option in options]
    settings = {"type": "label_selection", "options": chosen, "visible_options": len(options)}
    return {"name": name, "title": title, "required": required, "settings": settings}


def _argilla_record(hit: str, item: Any, questions: Questions) -> dict[str, Any]:  # noqa: ANN401 - an Item
    fields: dict[str, Any] = {
        "dialogue": [{"role": name, "content": turn} for name, turn in speakers(item)],
    }
    if questions.judging:
        fields |= {f"reply{place}": text for place, text in enumerate(item.choices, 1)}
    else:
        fields["suggested"] = ", ".join(item.choices)
    facts = {"hit": hit, "item": item.id}
    empty: dict[str, Any] = {"suggestions": {}, "responses": {}, "vectors": {}}
    return {"id": f"{hit}/{item.id}", "fields": fields, "metadata": facts, **empty, "status": "pending"}


def read_argilla(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers in a folder written by `to_disk`, or in its `records.json`.

    Raises:
        ValueError: there is no such file, or it belongs to another batch.
    """
    path, items = path / _ARGILLA_RECORDS if path.is_dir() else path, items_by_id(questions.hits)
    try:
        for record in json_of(path.read_bytes()):
            users: dict[str, dict[str, str]] = {}
            for name, responses in (record["responses"] or {}).items():
                for one in responses:
                    users.setdefault(str(one["user_id"]), {})[name] = str(one["value"] or "")
            hit, item = record["metadata"]["hit"], record["metadata"]["item"]
            for user, fields in users.items():
                if answer := answer_of(items, hit, item, alias(user), fields):
                    yield answer
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is none of Argilla's records ({shown(error)}): give the folder of `to_disk`"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def label_studio_files(questions: Questions) -> dict[str, str]:
    """Return the files by name: `config.xml` for the project's labeling interface, `tasks.json` to import."""
    tasks = []
    for hit, item in questions.each():
        data: dict[str, Any] = {"hit": hit, "item": item.id}
        data["dialogue"] = [{"author": name, "text": turn} for name, turn in speakers(item)]
        if questions.judging:
            data |= {f"reply{place + 1}": "" for place in range(questions.most)}
            data |= {f"reply{place}": text for place, text in enumerate(item.choices, 1)}
        else:
            data["choices"] = [{"value": name} for name in (*item.choices, OTHER)]
        tasks.append({"data": data})
    return {
        "config.xml": _label_studio_config(questions),
        "tasks.json": json.dumps(tasks, ensure_ascii=False, indent=1),
    }


def _label_studio_config(questions: Questions) -> str:
    lines = ['<Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>']
    if questions.judging:
        lines.append(f"<Header value={quoteattr(JUDGE)}/>")
        for place in range(1, questions.most + 1):
            lines.append(f'<Text name="reply{place}" value="$reply{place}"/>')
            lines.append(f'<Choices name="grade{place}" toName="reply{place}" choice="single" showInline="true">')
            lines += [*(f'<Choice value="{grade}"/>' for grade in GRADES), "</Choices>"]
    else:
        lines.append(f"<Header value={quoteattr(PROMPT)}/>")
        lines.append('<Choices name="label" toName="dialogue" choice="single" required="true" value="$choices"/>')
        lines.append(
            '<TextArea name="other" toName="dialogue" maxSubmissions="1" placeholder="another word" '
            f'visibleWhen="choice-selected" whenTagName="label" whenChoiceValue="{OTHER}"/>'
        )
    return "\n".join(["<View>", *lines, "</View>", ""])


def read_label_studio(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers of a JSON export; cancelled annotations are left out.

    Raises:
        ValueError: the file is no such export, or belongs to another batch.
    """
    items = items_by_id(questions.hits)
    try:
        tasks = json_of(path.read_bytes())
        for task in tasks:
            for one in task["annotations"]:
                if one.get("was_cancelled"):
                    continue
                facts = {
                    "seconds": _number(one.get("lead_time")),
                    "at": str(one.get("updated_at") or one.get("created_at") or ""),
                }
                hit, item, worker = task["data"]["hit"], task["data"]["item"], alias(_annotator(one))
                if answer := answer_of(items, hit, item, worker, _label_studio_fields(one), **facts):
                    yield answer
    except (KeyError, TypeError, AttributeError, RecursionError, UntrustedInputError) as error:
        raise ValueError(
            f"{path} is no JSON export of Label Studio ({shown(error)}): export it as JSON, not JSON-MIN"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _annotator(annotation: Mapping[str, Any]) -> str:
    user = annotation.get("completed_by", "")
    return str(user.get("id") or user.get("email") if isinstance(user, dict) else user)


def _label_studio_fields(annotation: Mapping[str, Any]) -> dict[str, str]:
    fields = {}
    for region in annotation["result"]:
        if region.get("type") == "relation":  # joins two regions, and has no value
            continue
        value = region["value"].get("choices") or region["value"].get("text") or [""]
        fields[region["from_name"]] = str(value if isinstance(value, str) else value[0])
    return fields


_HIT, _ITEM, _GROUP = "META_hit", "META_item", "META_TASK_GROUP_ID"
_PARTICIPANTS = ("participant_id", "Participant id", "worker")
_SECONDS = ("seconds", "time_taken", "Time taken")
_TIMES = ("completed_at", "Completed at", "created_at", "at")
_OF_MTURK = ("Input.hit", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds", "SubmitTime")


def prolific_files(questions: Questions) -> dict[str, str]:
    """Return the file `dataset.csv`, one question per line.

    Participants do not see columns that begin with META_; questions with the same META_TASK_GROUP_ID go to the same
    person, like a HIT.
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


def read_prolific(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers in a table with `META_hit`, `META_item`, `participant_id`, and `label` and `other`, or
    `grade1`, ...; `seconds` and `completed_at` are optional.

    Raises:
        ValueError: a column is missing, or a line belongs to another batch.
    """
    items = items_by_id(questions.hits)
    for line, row in _rows(path):
        worker = _first(row, _PARTICIPANTS)
        if not worker or _HIT not in row or _ITEM not in row:
            raise ValueError(
                f"{path}, line {line}: needs {_HIT}, {_ITEM} and participant_id; its columns are "
                f"{clipped(', '.join(row), 200)}"
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


def read_mturk_table(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers in the result file of Mechanical Turk's website for `edos crowd mturk files`.

    Rejected assignments are left out; an assignment's time is divided equally among its items.

    Raises:
        ValueError: a column is missing, or a line belongs to another batch.
    """
    hits = {hit.id: hit for hit in questions.hits}
    for line, row in _rows(path):
        if not {"Input.hit", "WorkerId"} <= row.keys() or row["Input.hit"] not in hits:
            raise ValueError(
                f"{path}, line {line}: needs WorkerId and Input.hit, a HIT of the batch, got "
                f"{shown(row.get('Input.hit', 'no such column'))}; give the result file and the batch that was uploaded"
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
    names = (_HIT, _ITEM, *_PARTICIPANTS, *_SECONDS, *_TIMES, "label", "other", *_OF_MTURK)
    for line, row in islice(read_csv(path, names), 1, None):
        yield line, {name: restored(cell or "") for name, cell in row.items()}


def _first(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _number(given: Any) -> float | None:  # noqa: ANN401 - whatever a tool writes
    """Return the seconds in a cell or a field; None where it has no number, or one of more than a century."""
    try:
        seconds = max(float(given), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds < _CENTURY else None
