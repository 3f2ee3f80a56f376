"""Answers to the items of HITs: as a page sends them, and as lines of JSON.

A line is an answered item, `hit, item, worker, value, typed, seconds, at`, or a finished HIT, `hit, worker, finished,
at`. `value` is the name of a label; null if something was typed; or, for a judging item, a list of "good", "okay" and
"bad" in the order of the choices.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.names import EDOS
from edos_dataset.crowd.text_files import read_objects
from edos_dataset.label_sets import LabelSet
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import shown
from edos_dataset.wording import counted

GRADES = ("good", "okay", "bad")
"""Grades of a candidate response (Xie & Pu, Section 5.4)."""

_FORM = '{"hit": ..., "item": ..., "worker": ..., "value": ..., "typed": ..., "seconds": ..., "at": ...}'

Value = str | tuple[str, ...] | None


@dataclass(frozen=True)
class HitAnswer:
    """One answer.

    Attributes:
        hit: id of the HIT.
        item: id of the item in it.
        worker: who answered.
        value: a label's name, the grades of the candidates in the order shown, or None if something was typed.
        typed: what was typed instead.
        seconds: time the worker took, None if unknown.
        at: time of the answer, in the source's format.
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
    """All answers to a batch; for each worker and item, only the last one.

    Attributes:
        given: the answers.
        finished: (HIT, worker) → the line that says so, with `at` and anything else that the source records.
    """

    given: list[HitAnswer] = field(default_factory=list)
    finished: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def by_assignment(self) -> dict[tuple[str, str], list[HitAnswer]]:
        """Return the answers of each (HIT, worker), in order of arrival."""
        found: dict[tuple[str, str], list[HitAnswer]] = {}
        for answer in self.given:
            found.setdefault((answer.hit, answer.worker), []).append(answer)
        return found


def read_hit_answers(paths: Iterable[Path]) -> HitAnswers:
    """Return the answers in files of JSON lines; later answers replace earlier ones.

    Raises:
        ValueError: a line is not an answer; the message names file and line.
    """
    return collect_answers(
        (f"{path}, line {number}", row) for path in paths for number, row in read_objects(path, _FORM)
    )


def collect_answers(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> HitAnswers:
    """Return the answers in rows shaped like a line, each given with its location; later answers replace earlier ones.

    Raises:
        ValueError: a row is not an answer; the message states its location.
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
    """Write answers as lines of JSON, atomically."""
    rows = [*map(asdict, answers.given), *answers.finished.values()]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _answer(row: Mapping[str, Any]) -> HitAnswer:
    value, typed, seconds = row.get("value"), row.get("typed"), row.get("seconds")
    if isinstance(value, list) and all(grade in GRADES for grade in value):
        value = tuple(value)
    if not isinstance(value, str | tuple | None) or not isinstance(typed, str | None):
        raise ValueError(f"value must be a text, null, or a list of {', '.join(GRADES)}, got {str(value)[:60]}")
    if not isinstance(seconds, int | float | None) or isinstance(seconds, bool) or not 0 <= (seconds or 0) < 1e18:
        raise ValueError(f"seconds must be a number from 0 or null, got {str(seconds)[:60]}")
    at = str(row.get("at") or "")
    return HitAnswer(_text(row, "hit"), _text(row, "item"), _text(row, "worker"), value, typed or "", seconds, at)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str | int) or not str(value):
        raise ValueError(f"{key} must be a text, got {str(value)[:60]!r}; expected {_FORM}")
    return str(value)


def items_by_id(hits: Sequence[Hit]) -> dict[tuple[str, str], Item]:
    """Return the items of HITs by (HIT id, item id)."""
    return {(hit.id, item.id): item for hit in hits for item in hit.items}


def check_item(items: Mapping[tuple[str, str], Item], answer: HitAnswer) -> Item:
    """Return the item that an answer belongs to.

    Raises:
        ValueError: there is no such item, or the answer does not fit its form.
    """
    item = items.get((answer.hit, answer.item))
    where = f"the answer of {shown(answer.worker)} to item {shown(answer.item)} of HIT {shown(answer.hit)}"
    if item is None:
        raise ValueError(f"{where}: the batch has no such item; give the batch that was answered")
    judged = isinstance(answer.value, tuple)
    if judged != (item.kind in ("judge", "bonus")) or (judged and len(answer.value or ()) != len(item.choices)):
        expected = counted(len(item.choices), "grades") if item.kind in ("judge", "bonus") else "a label"
        raise ValueError(f"{where} is {str(answer.value)[:60]}: the item asks for {expected}")
    return item


LONGEST_TYPED = 100
"""Maximum number of characters of a typed label."""

_GIVEN = re.compile(r"[0-9a-f]{32}")
_LONGEST = 86_400.0  # maximum seconds for an answer


@dataclass(frozen=True)
class Given:
    """An answer as a page sends it.

    Attributes:
        id: 32 hexadecimal digits generated by the page, so that a repeated request counts once.
        place: position of the item in its HIT, from 0.
        value: name of a label, or null if something was typed; for a judging item, one of GRADES for each choice.
        typed: a label of the worker's own.
        seconds: time spent on the item.
        check: whether the worker requests the result of a bonus task.
    """

    id: str
    place: int
    value: Any
    typed: str | None = None
    seconds: float = 0.0
    check: bool = False


def is_right(item: Item, value: Any) -> bool:  # noqa: ANN401 - as of Given
    """Return whether an answer earns a point: the label of a quiz question, or the true response in good or okay."""
    if item.kind == "bonus":
        return bool(value) and value[item.choices.index(str(item.truth))] != "bad"
    return item.kind == "quiz" and value == item.truth


def feedback(item: Item, value: Any, checked: bool) -> dict[str, Any]:  # noqa: ANN401 - as of Given
    """Return what a worker may know of an answer."""
    if item.kind == "quiz":
        return {"right": is_right(item, value), "truth": item.truth}
    return {"bonus": is_right(item, value)} if item.kind == "bonus" and checked else {}


def check_given(given: Given, item: Item, labels: LabelSet = EDOS) -> None:
    """Check that an answer fits its item and its label set.

    Raises:
        ValueError: it does not; the message tells why.
    """
    if not _GIVEN.fullmatch(given.id) or not 0 <= given.seconds <= _LONGEST:
        raise ValueError("an answer needs an id of 32 hexadecimal digits, and seconds of a day at most")
    if item.kind in ("judge", "bonus"):
        if given.typed or not _are_grades(given.value, len(item.choices)):
            raise ValueError(f"give one of {', '.join(GRADES)} for each of the {counted(len(item.choices), 'replies')}")
    elif given.value is None:
        if not 0 < len((given.typed or "").strip()) <= len(given.typed or "") <= LONGEST_TYPED:
            raise ValueError(f"type a label of {LONGEST_TYPED} characters at most")
    elif given.typed or not isinstance(given.value, str) or given.value not in labels.ids:
        raise ValueError(f"give one of the {counted(len(labels), 'labels')}, or type another")


def _are_grades(value: object, candidates: int) -> bool:
    return isinstance(value, list) and len(value) == candidates and all(grade in GRADES for grade in value)


def read_given(body: Mapping[str, Any]) -> Given:
    """Return the answer of a page's request.

    Raises:
        ValueError: it is not an answer.
    """
    try:
        typed = body.get("typed")
        seconds = float(body.get("seconds") or 0)
        known = isinstance(body["id"], str) and type(body["place"]) is int and isinstance(typed, str | None)
        if not known or seconds != seconds:
            raise TypeError
        (typed or "").encode()  # JSON allows half a character, the database doesn't
        return Given(body["id"], body["place"], body.get("value"), typed, seconds, body.get("check") is True)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError("this is no answer: give id, place, value, typed and seconds") from error
