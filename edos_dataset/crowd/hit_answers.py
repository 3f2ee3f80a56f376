"""Answers of people to the items of HITs: as lines of JSON, and as the table that agreement and the seed are made of.

A line is an answered item, `hit, item, worker, value, typed, seconds, at`, or a finished HIT, `hit, worker, finished,
at`. `value` is the name of a label, null where something was typed, or for a judging item a list of "good", "okay" and
"bad" in the order of the choices.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.runs.shards import write_text

GRADES = ("good", "okay", "bad")
"""What a candidate response is judged to be (Xie & Pu, Section 5.4)."""

_FORM = '{"hit": ..., "item": ..., "worker": ..., "value": ..., "typed": ..., "seconds": ..., "at": ...}'

Value = str | tuple[str, ...] | None


@dataclass(frozen=True)
class HitAnswer:
    """One answer.

    Attributes:
        hit: id of the HIT.
        item: id of the item in it.
        worker: who answered.
        value: a label's name, the grades of the candidates in the order shown, or None where something was typed.
        typed: what was typed instead.
        seconds: that the worker took for it, None where nobody knows.
        at: when, as the source writes times.
    """

    hit: str
    item: str
    worker: str
    value: Value
    typed: str = ""
    seconds: float | None = None
    at: str = ""


@dataclass
class HitAnswers:
    """All answers to a batch; of several of a worker to an item only the last one.

    Attributes:
        given: the answers.
        finished: (HIT, worker) → the line that says so, with `at`, and what else the source tells of the assignment.
    """

    given: list[HitAnswer] = field(default_factory=list)
    finished: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def by_assignment(self) -> dict[tuple[str, str], list[HitAnswer]]:
        """Return the answers of each (HIT, worker), in the order in which they came."""
        found: dict[tuple[str, str], list[HitAnswer]] = {}
        for answer in self.given:
            found.setdefault((answer.hit, answer.worker), []).append(answer)
        return found


def read_hit_answers(paths: Iterable[Path]) -> HitAnswers:
    """Return the answers of files of JSON lines, the later ones in place of earlier ones.

    Raises:
        ValueError: a line is no answer; the message names file and line.
    """
    return collect_answers(
        (f"{path}, line {number}", row) for path in paths for number, row in read_objects(path, _FORM)
    )


def collect_answers(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> HitAnswers:
    """Return the answers of rows of the form of a line, each with where it stands, the later ones in place of earlier
    ones.

    Raises:
        ValueError: a row is no answer; the message says where it stands.
    """
    found = HitAnswers()
    last: dict[tuple[str, str, str], HitAnswer] = {}
    for where, row in rows:
        try:
            if "finished" in row:
                found.finished[_text(row, "hit"), _text(row, "worker")] = dict(row)
            else:
                answer = _answer(row)
                last[answer.hit, answer.item, answer.worker] = answer
        except ValueError as error:
            raise ValueError(f"{where}: {error}; mend or remove the line") from error
    found.given = list(last.values())
    return found


def write_hit_answers(path: Path, answers: HitAnswers) -> None:
    """Write answers as lines of JSON, at one stroke."""
    rows = [*map(asdict, answers.given), *answers.finished.values()]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _answer(row: Mapping[str, Any]) -> HitAnswer:
    value, typed, seconds = row.get("value"), row.get("typed"), row.get("seconds")
    if isinstance(value, list) and all(grade in GRADES for grade in value):
        value = tuple(value)
    if not isinstance(value, str | tuple | None) or not isinstance(typed, str | None):
        raise ValueError(f"value must be a text, null, or a list of {', '.join(GRADES)}, got {str(value)[:60]}")
    if not isinstance(seconds, int | float | None) or isinstance(seconds, bool) or (seconds or 0) < 0:
        raise ValueError(f"seconds must be a number from 0 or null, got {str(seconds)[:60]}")
    at = str(row.get("at") or "")
    return HitAnswer(_text(row, "hit"), _text(row, "item"), _text(row, "worker"), value, typed or "", seconds, at)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str | int) or not str(value):
        raise ValueError(f"{key} must be a text, got {str(value)[:60]!r}; expected {_FORM}")
    return str(value)


def items_by_id(hits: Sequence[Hit]) -> dict[tuple[str, str], Item]:
    """Return the items of HITs by the ids of HIT and item."""
    return {(hit.id, item.id): item for hit in hits for item in hit.items}


def label_table(
    hits: Sequence[Hit], answers: HitAnswers, discarded: Mapping[tuple[str, str], str] | None = None
) -> Answers:
    """Return the answers to the dialogues that were labelled; quiz questions and judging items are left out.

    Args:
        hits: the HITs; of an answer to another one nothing is known, so it is an error.
        answers: to them.
        discarded: (HIT, worker) → why the answers of an assignment do not count; they are counted as left out.

    Raises:
        ValueError: an answer is to no item of these HITs.
    """
    table, items = Answers(), items_by_id(hits)
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


def check_item(items: Mapping[tuple[str, str], Item], answer: HitAnswer) -> Item:
    """Return the item that an answer is to.

    Raises:
        ValueError: it is none of these, or the answer is of another form than the item asks for.
    """
    item = items.get((answer.hit, answer.item))
    where = f"the answer of {answer.worker!r} to item {answer.item!r} of HIT {answer.hit!r}"
    if item is None:
        raise ValueError(f"{where}: the batch has no such item; give the batch that was answered")
    judged = isinstance(answer.value, tuple)
    if judged != (item.kind in ("judge", "bonus")) or (judged and len(answer.value or ()) != len(item.choices)):
        expected = f"{len(item.choices)} grades" if item.kind in ("judge", "bonus") else "a label"
        raise ValueError(f"{where} is {str(answer.value)[:60]}: the item asks for {expected}")
    return item
