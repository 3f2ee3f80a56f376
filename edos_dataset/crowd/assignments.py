"""Who works on which HIT, and what they answered: assigned atomically, stored once, resumable."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edos_dataset.crowd.answers import Answers
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.hit_answers import GRADES, Given, check_given, feedback
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.store import DamagedError, Store, now
from edos_dataset.crowd.text_files import csv_text
from edos_dataset.crowd.texts import PageError
from edos_dataset.runs.untrusted import json_of, shown
from edos_dataset.wording import counted

_INT64 = 1 << 63  # SQLite has no larger numbers
_GLANCE = 20.0  # seconds between records of activity: every write waits for the disk


class NotYoursError(PageError):
    """The assignment is not, or no longer, this worker's."""


@dataclass(frozen=True)
class Assignment:
    """A HIT assigned to a worker.

    Attributes:
        id: its number.
        hit: the HIT.
        finished: whether it is completely answered and submitted.
        platform: Mechanical Turk's id of the assignment.
    """

    id: int
    hit: Hit
    finished: bool
    platform: str | None


class Work:
    """The HITs of a batch, as assigned to workers.

    Args:
        store: database of the answers.
        batch: the batch.
        patience: seconds after which an inactive worker's HIT may be given to another.
        most_hits: maximum number of HITs per worker (Xie & Pu, Appendix C).
    """

    def __init__(self, store: Store, batch: Batch, patience: float = 3600.0, most_hits: int = 50) -> None:
        """Index the HITs by name."""
        self.store, self.batch, self.patience, self.most_hits = store, batch, patience, most_hits
        self.hits = {hit.id: hit for hit in batch.hits}

    def hand_out(self, worker: str, hit: str | None = None, platform: str | None = None) -> Assignment | None:
        """Return a worker's next assignment, or None if nothing is left for them.

        It is the HIT they have begun, else a new one; HITs that others have begun come first, to complete them early.

        Args:
            worker: the worker's id.
            hit: the HIT assigned by a platform, which itself limits the number of workers.
            platform: the platform's id of the assignment.

        Raises:
            NotYoursError: the platform names a HIT of another batch.
            ValueError: nobody of that name was invited or has joined.
        """
        if hit is not None and hit not in self.hits:
            raise NotYoursError("other_batch")
        with self.store.writing() as connection:
            moment = now()
            if not connection.execute("SELECT 1 FROM workers WHERE id = ?", (worker,)).fetchone():
                raise ValueError(f"{worker!r} is no worker of this batch: invite them first (`edos crowd invite`)")
            if hit is None:
                hit = self._begun(connection, worker, moment) or self._free(connection, worker, moment)
            if hit is None:
                return None
            connection.execute(
                "INSERT INTO assignments (hit, worker, platform, began, seen) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (hit, worker) DO UPDATE SET seen = excluded.seen, "
                "platform = coalesce(excluded.platform, platform) WHERE excluded.platform IS NOT platform OR seen < ?",
                (hit, worker, platform, moment, moment, moment - _GLANCE),
            )
            row = connection.execute(
                "SELECT id, finished, platform FROM assignments WHERE hit = ? AND worker = ?", (hit, worker)
            ).fetchone()
        return Assignment(row[0], self.hits[hit], row[1] is not None, row[2])

    def _begun(self, connection: sqlite3.Connection, worker: str, moment: float) -> str | None:
        rows = connection.execute(
            "SELECT id, hit, seen FROM assignments WHERE worker = ? AND finished IS NULL AND released IS NULL "
            "AND platform IS NULL",
            (worker,),
        ).fetchall()
        for number, hit, seen in rows:
            if hit not in self.hits:  # the batch was rewritten after it
                continue
            if seen >= moment - self.patience or self._taken(connection, moment).get(hit, 0) < self.batch.workers:
                return str(hit)
            connection.execute("UPDATE assignments SET released = ? WHERE id = ?", (moment, number))
        return None

    def _free(self, connection: sqlite3.Connection, worker: str, moment: float) -> str | None:
        return next(iter(self._all_free(connection, worker, moment)), None)

    def _all_free(self, connection: sqlite3.Connection, worker: str, moment: float) -> list[str]:
        had = {hit for (hit,) in connection.execute("SELECT hit FROM assignments WHERE worker = ?", (worker,))}
        taken = self._taken(connection, moment)
        free = [hit for hit in self.hits if hit not in had and taken.get(hit, 0) < self.batch.workers]
        return sorted(free, key=lambda hit: -taken.get(hit, 0))[: max(0, self.most_hits - len(had))]

    def left(self, worker: str) -> int:
        """Return the number of HITs that are left for a worker: one that is begun, and those not yet begun."""
        with self.store.writing() as connection:
            moment = now()
            return int(self._begun(connection, worker, moment) is not None) + len(
                self._all_free(connection, worker, moment)
            )

    def _taken(self, connection: sqlite3.Connection, moment: float) -> dict[str, int]:
        rows = connection.execute(
            "SELECT hit, count(*) FROM assignments WHERE released IS NULL AND (finished IS NOT NULL OR seen >= ?) "
            "GROUP BY hit",
            (moment - self.patience,),
        )
        return dict(rows.fetchall())

    def _hit(self, name: str) -> Hit:
        if name not in self.hits:
            raise NotYoursError("replaced")
        return self.hits[name]

    def of_worker(self, worker: str, assignment: int) -> Assignment:
        """Return a worker's assignment, and record that the worker is active.

        Raises:
            NotYoursError: the worker has no such assignment.
        """
        with self.store.writing() as connection:
            _of_worker(connection, worker, assignment)
            connection.execute(
                "UPDATE assignments SET seen = ? WHERE id = ? AND seen < ?", (now(), assignment, now() - _GLANCE)
            )
            query = "SELECT hit, finished, platform FROM assignments WHERE id = ?"
            hit, finished, platform = connection.execute(query, (assignment,)).fetchone()
        return Assignment(assignment, self._hit(hit), finished is not None, platform)

    def answered(self, assignment: Assignment) -> dict[int, dict[str, Any]]:
        """Return the latest answer to each item of an assignment, by the item's place: `value`, `typed`, `checked`."""
        rows = self.store.read(
            "SELECT number, assignment, place, value, typed, seconds, at, checked FROM answers WHERE assignment = ? "
            "ORDER BY number",
            (assignment.id,),
        )
        return {
            row.place: {"value": row.value, "typed": row.typed, "checked": row.checked > 0}
            for row in (stored(self.store, *each, items=assignment.hit.items) for each in rows)
        }

    def give(self, worker: str, assignment: int, given: Given) -> dict[str, Any]:
        """Store an answer, durably. Later answers replace it, except to a quiz question, whose answer has been shown.

        Returns:
            What the worker may see: `right` and `truth` (the label) of a quiz question; `bonus` of a bonus task whose
            result the worker requested.

        Raises:
            NotYoursError: the worker has no such assignment, or it is finished or given to another.
            ValueError: the answer does not fit this item.
        """
        with self.store.writing() as connection:
            hit, over = _of_worker(connection, worker, assignment)
            item = _item(self._hit(hit), given.place)
            check_given(given, item, self.batch.labels)
            first = connection.execute(
                "SELECT value FROM answers WHERE assignment = ? AND place = ?", (assignment, given.place)
            ).fetchone()
            again = connection.execute("SELECT assignment, place FROM answers WHERE given = ?", (given.id,)).fetchone()
            if again not in (None, (assignment, given.place)):
                raise ValueError("the id of this answer is that of another one")
            if over and not again:
                raise NotYoursError(over)
            value = json.dumps(given.value)
            if item.kind == "quiz" and first is not None:
                value = first[0]
            elif not again:
                row = (given.id, assignment, given.place, value, given.typed, given.seconds, int(given.check), now())
                connection.execute(
                    "INSERT INTO answers (given, assignment, place, value, typed, seconds, checked, at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
            connection.execute("UPDATE assignments SET seen = ? WHERE id = ?", (now(), assignment))
        return feedback(item, json_of(str(value)), given.check)

    def finish(self, worker: str, assignment: int) -> int | None:
        """Submit an assignment, and return None; resubmitting is harmless.

        If items are unanswered, return the place of the first, without submitting.

        Raises:
            NotYoursError: as for `give`, except for finished assignments.
        """
        with self.store.writing() as connection:
            hit, over = _of_worker(connection, worker, assignment)
            places = connection.execute("SELECT DISTINCT place FROM answers WHERE assignment = ?", (assignment,))
            lacking = set(range(len(self._hit(hit).items))) - {place for (place,) in places}
            if lacking:
                if over:
                    raise NotYoursError(over)
                return min(lacking)
            connection.execute(
                "UPDATE assignments SET finished = coalesce(finished, ?), released = NULL, seen = ? WHERE id = ?",
                (now(), now(), assignment),
            )
        return None


class StoredAnswer(NamedTuple):
    """A row of the table `answers`, or the sum of several to one item; see `Given`."""

    assignment: int
    place: int
    value: Any
    typed: str | None
    seconds: float
    at: float
    checked: int


def stored(
    store: Store,
    number: object,
    assignment: object,
    place: object,
    value: object,
    typed: object = None,
    seconds: object = 0.0,
    at: object = 0.0,
    checked: object = 0,
    *,
    items: Sequence[Item] | None = None,
) -> StoredAnswer:
    """Return a row of answers, whose columns SQLite holds without a type.

    Raises:
        DamagedError: it is no answer, or not one to one of the items, if these are given.
    """
    types = ((place, int), (typed, str | None), (assignment, int), (checked, int))
    try:
        if not all(isinstance(given, kind) for given, kind in (*types, (seconds, int | float), (at, int | float))):
            raise TypeError
        read = json_of(value) if isinstance(value, str) else value
        if (read is None and typed is None) or not (_is_value(read) and _fits(read, int(str(place)), items)):
            raise ValueError
    except (TypeError, ValueError) as error:
        raise DamagedError(store.path, f"the answer with the number {shown(number)} is none") from error
    return StoredAnswer(assignment, place, read, typed, float(seconds), float(at), checked)  # type: ignore[arg-type]


def _is_value(value: object) -> bool:
    return isinstance(value, str | None) or (isinstance(value, list) and all(grade in GRADES for grade in value))


def _fits(value: object, place: int, items: Sequence[Item] | None) -> bool:
    """Return whether a value is of the kind that the item at a place asks for; any is if the items are not given."""
    if items is None or not 0 <= place < len(items):
        return items is None and place >= 0
    judged = items[place].kind in ("judge", "bonus")
    if not isinstance(value, list):
        return not judged
    return judged and len(value) == len(items[place].choices)


def _of_worker(connection: sqlite3.Connection, worker: str, assignment: int) -> tuple[str, str]:
    row = None
    if 0 <= assignment < _INT64:
        row = connection.execute(
            "SELECT hit, finished, released FROM assignments WHERE id = ? AND worker = ?", (assignment, worker)
        ).fetchone()
    if row is None:
        raise NotYoursError("not_yours")
    return row[0], "submitted" if row[1] else "long_away" if row[2] else ""


def _item(hit: Hit, place: int) -> Item:
    if not 0 <= place < len(hit.items):
        raise ValueError(f"place is {place}, and the task has {counted(len(hit.items), 'items')}")
    return hit.items[place]


def answer_lines(store: Store, batch: Batch, unfinished: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the latest answer of each worker to each item, then the assignments submitted, in chronological order.

    Args:
        store: database of the answers.
        batch: the batch.
        unfinished: include answers of unsubmitted assignments.

    Yields:
        `hit`, `item`, `worker` (an alias), `value`, `typed`, `seconds`, `at` (seconds since 1970), and for bonus tasks
        `checks`, how often the worker requested the result; for assignments `hit`, `worker`, `finished` (true), `began`
        and `at`.
    """
    items = {hit.id: hit.items for hit in batch.hits}
    rows = store.read(
        # with max, SQLite takes the bare columns from the same row
        "SELECT hit, worker, max(number), assignment, place, value, typed, sum(seconds), at, sum(checked) "
        "FROM answers JOIN assignments ON assignment = assignments.id WHERE finished IS NOT NULL OR ? "
        "GROUP BY assignment, place ORDER BY max(number)",
        (int(unfinished),),
    )
    for hit, worker, *columns in rows:
        if hit not in items:  # the batch was rewritten after these answers
            continue
        row = stored(store, *columns, items=items[hit])
        item = items[hit][row.place]
        line = {"hit": hit, "item": item.id, "worker": store.alias(worker), "value": row.value, "typed": row.typed}
        line |= {"seconds": round(row.seconds, 1), "at": row.at}
        yield line | ({"checks": row.checked} if item.kind == "bonus" else {})
    done = store.read(
        "SELECT hit, worker, began, finished FROM assignments WHERE finished IS NOT NULL ORDER BY finished"
    )
    for hit, worker, began, finished in done:
        if hit in items:
            yield {"hit": hit, "worker": store.alias(worker), "finished": True, "began": began, "at": finished}


def label_rows(store: Store, batch: Batch, unfinished: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the answers to dialogues to label as `read_answers` reads them: `task`, `worker`, `label` (of the 41, or
    what was typed), `turns`, `dialogue_id`; quiz questions are left out.
    """
    items = {(hit.id, item.id): item for hit in batch.hits for item in hit.items if item.kind == "label"}
    for line in answer_lines(store, batch, unfinished):
        if item := items.get((line["hit"], line.get("item", ""))):
            yield {
                "task": item.id,
                "worker": line["worker"],
                "label": line["value"] or line["typed"],
                "turns": list(item.turns),
                "dialogue_id": str(item.facts.get("dialogue_id", item.id)),
            }


def stored_label_table(store: Store, batch: Batch) -> Answers:
    """Return the answers to dialogues to label as a table, including those of unfinished assignments."""
    answers = Answers(label_set=batch.labels)
    for row in label_rows(store, batch, unfinished=True):
        answers.add(answers.add_task(row["task"], row["turns"], row["dialogue_id"]), row["worker"], row["label"])
    return answers


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows of answers as CSV with a header, one turn per line; an apostrophe precedes cells that a spreadsheet
    would take for a formula.
    """
    header = ("task", "worker", "label", "turns", "dialogue_id")
    return csv_text(
        header, ([*map(str, map(row.get, header[:3])), "\n".join(row["turns"]), row["dialogue_id"]] for row in rows)
    )
