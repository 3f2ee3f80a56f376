"""Who works on which HIT, and what they answer: handed out at one stroke, stored once, gone on with after a break."""

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.store import Store, now
from edos_dataset.labels import LABEL_IDS

RATINGS = ("good", "okay", "bad")
"""What a candidate response may be, best first: Xie & Pu, Section 5.4."""

LONGEST_TYPED = 100
"""Characters of a label that a worker types."""

_GIVEN = re.compile(r"[0-9a-f]{32}")
_LONGEST = 86_400.0  # seconds that an answer may have taken


class NotYoursError(ValueError):
    """The assignment is not this worker's, or not any more."""


@dataclass(frozen=True)
class Assignment:
    """A HIT that a worker has.

    Attributes:
        id: number.
        hit: the HIT.
        finished: whether all is answered and handed in.
        platform: of Mechanical Turk, its own id of the assignment.
    """

    id: int
    hit: Hit
    finished: bool
    platform: str | None


@dataclass(frozen=True)
class Given:
    """An answer as it comes from a page.

    Attributes:
        id: made by the page, 32 hexadecimal digits: what comes again under it counts once.
        place: of the item in its HIT, from 0.
        value: name of a label, or null beside what was typed; to judge, one of RATINGS for each choice.
        typed: a label of the worker's own.
        seconds: that the item was looked at.
        check: whether the worker asks for the result of a bonus task.
    """

    id: str
    place: int
    value: Any
    typed: str | None = None
    seconds: float = 0.0
    check: bool = False


class Work:
    """The HITs of a batch, given to people.

    Args:
        store: of the answers.
        batch: of the HITs.
        patience: seconds after which the place of somebody who is gone may be given to another.
        most_hits: that a worker gets (Xie & Pu, Appendix C).
    """

    def __init__(self, store: Store, batch: Batch, patience: float = 3600.0, most_hits: int = 50) -> None:
        """Keep the HITs by name."""
        self.store, self.batch, self.patience, self.most_hits = store, batch, patience, most_hits
        self.hits = {hit.id: hit for hit in batch.hits}

    def hand_out(self, worker: str, hit: str | None = None, platform: str | None = None) -> Assignment | None:
        """Return what a worker has to do: the HIT that they have begun, else a new one, begun ones first so that they
        are done early; None where there is nothing more for them.

        Args:
            worker: the id.
            hit: where a platform says which; it hands out by itself, so no count is kept here.
            platform: its id of the assignment.

        Raises:
            NotYoursError: the platform names a HIT of another batch.
        """
        if hit is not None and hit not in self.hits:
            raise NotYoursError("this question is not of this batch")
        with self.store.writing() as connection:
            moment = now()
            if hit is None:
                hit = self._begun(connection, worker, moment) or self._free(connection, worker, moment)
            if hit is None:
                return None
            connection.execute(
                "INSERT INTO assignments (hit, worker, platform, began, seen) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (hit, worker) DO UPDATE SET seen = excluded.seen, "
                "platform = coalesce(excluded.platform, platform)",
                (hit, worker, platform, moment, moment),
            )
            row = connection.execute(
                "SELECT id, finished, platform FROM assignments WHERE hit = ? AND worker = ?", (hit, worker)
            ).fetchone()
        return Assignment(row[0], self.hits[hit], row[1] is not None, row[2])

    def _begun(self, connection: sqlite3.Connection, worker: str, moment: float) -> str | None:
        """Return the HIT that a worker has begun; one that is done by others since then is released."""
        rows = connection.execute(
            "SELECT id, hit, seen FROM assignments WHERE worker = ? AND finished IS NULL AND released IS NULL "
            "AND platform IS NULL",
            (worker,),
        ).fetchall()
        for number, hit, seen in rows:
            if seen >= moment - self.patience or self._taken(connection, moment).get(hit, 0) < self.batch.workers:
                return str(hit)
            connection.execute("UPDATE assignments SET released = ? WHERE id = ?", (moment, number))
        return None

    def _free(self, connection: sqlite3.Connection, worker: str, moment: float) -> str | None:
        """Return a HIT that a worker has not had and that lacks people, the one that most have begun."""
        had = {hit for (hit,) in connection.execute("SELECT hit FROM assignments WHERE worker = ?", (worker,))}
        if len(had) >= self.most_hits:
            return None
        taken = self._taken(connection, moment)
        free = [hit for hit in self.hits if hit not in had and taken.get(hit, 0) < self.batch.workers]
        return max(free, key=lambda hit: taken.get(hit, 0), default=None)

    def _taken(self, connection: sqlite3.Connection, moment: float) -> dict[str, int]:
        """Return how many people have each HIT: done, or not long away from it."""
        rows = connection.execute(
            "SELECT hit, count(*) FROM assignments WHERE released IS NULL AND (finished IS NOT NULL OR seen >= ?) "
            "GROUP BY hit",
            (moment - self.patience,),
        )
        return dict(rows.fetchall())

    def answered(self, assignment: int) -> dict[int, dict[str, Any]]:
        """Return the latest answer to each item of an assignment, by its place: `value`, `typed`, `checked`."""
        rows = self.store.read(
            "SELECT place, value, typed, checked FROM answers WHERE assignment = ? ORDER BY number", (assignment,)
        )
        return {
            int(place): {"value": json.loads(value), "typed": typed, "checked": bool(checked)}
            for place, value, typed, checked in rows
        }

    def give(self, worker: str, assignment: int, given: Given) -> dict[str, Any]:
        """Store an answer; at the return it is on the disk. Later ones replace it, but not that of a quiz question, of
        which the right answer is known by then.

        Returns:
            What the worker may know: `right` and `truth`, the label, of a quiz question; `bonus` of a bonus task that
            was asked to be checked.

        Raises:
            NotYoursError: the worker has no such assignment, or it is finished or given to another.
            ValueError: the answer is none to this item.
        """
        with self.store.writing() as connection:
            hit, over = _of_worker(connection, worker, assignment)
            item = _item(self.hits[hit], given.place)
            _check(given, item)
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
        return told(item, json.loads(value), given.check)

    def finish(self, worker: str, assignment: int) -> int | None:
        """Hand an assignment in; again is no harm. Return the place of the first item without an answer, where there is
        one: then it is not finished.

        Raises:
            NotYoursError: as of `give`, but for what is finished.
        """
        with self.store.writing() as connection:
            hit, over = _of_worker(connection, worker, assignment)
            places = connection.execute("SELECT DISTINCT place FROM answers WHERE assignment = ?", (assignment,))
            lacking = set(range(len(self.hits[hit].items))) - {place for (place,) in places}
            if lacking:
                if over:
                    raise NotYoursError(over)
                return min(lacking)
            connection.execute(
                "UPDATE assignments SET finished = coalesce(finished, ?), released = NULL, seen = ? WHERE id = ?",
                (now(), now(), assignment),
            )
        return None


def is_right(item: Item, value: Any) -> bool:  # noqa: ANN401 - as of Given
    """Return whether an answer earns a point: the label of a quiz question, or the true response in good or okay."""
    if item.kind == "bonus":
        return bool(value) and value[item.choices.index(str(item.truth))] != "bad"
    return item.kind == "quiz" and value == item.truth


def told(item: Item, value: Any, checked: bool) -> dict[str, Any]:  # noqa: ANN401 - as of Given
    """Return what a worker may know of an answer."""
    if item.kind == "quiz":
        return {"right": is_right(item, value), "truth": item.truth}
    return {"bonus": is_right(item, value)} if item.kind == "bonus" and checked else {}


def _of_worker(connection: sqlite3.Connection, worker: str, assignment: int) -> tuple[str, str]:
    """Return an assignment's HIT, and why it takes no answers any more, "" if it does."""
    row = connection.execute(
        "SELECT hit, finished, released FROM assignments WHERE id = ? AND worker = ?", (assignment, worker)
    ).fetchone()
    if row is None:
        raise NotYoursError("this is not a task of yours: load the page again")
    over = (
        "this task is handed in" if row[1] else "you were long away, and somebody else has done this" if row[2] else ""
    )
    return row[0], over and f"{over}: load the page again"


def _item(hit: Hit, place: int) -> Item:
    if not 0 <= place < len(hit.items):
        raise ValueError(f"place is {place}, and the task has {len(hit.items)} items")
    return hit.items[place]


def _check(given: Given, item: Item) -> None:
    """Refuse what is no answer to an item."""
    if not _GIVEN.fullmatch(given.id) or not 0 <= given.seconds <= _LONGEST:
        raise ValueError("an answer needs an id of 32 hexadecimal digits, and seconds of a day at most")
    if item.kind in ("judge", "bonus"):
        ratings = given.value if isinstance(given.value, list) else []
        if len(ratings) != len(item.choices) or not all(rating in RATINGS for rating in ratings) or given.typed:
            raise ValueError(f"give one of {', '.join(RATINGS)} for each of the {len(item.choices)} replies")
    elif given.value is None:
        if not given.typed or not given.typed.strip() or len(given.typed) > LONGEST_TYPED:
            raise ValueError(f"type a label of {LONGEST_TYPED} characters at most")
    elif given.typed or not isinstance(given.value, str) or given.value not in LABEL_IDS:
        raise ValueError("give one of the 41 labels, or type another")


def read_given(body: Mapping[str, Any]) -> Given:
    """Return the answer of a page's request.

    Raises:
        ValueError: it is none.
    """
    try:
        typed = body.get("typed")
        seconds = float(body.get("seconds") or 0)
        known = isinstance(body["id"], str) and type(body["place"]) is int and isinstance(typed, str | None)
        if not known or seconds != seconds:
            raise TypeError
        return Given(body["id"], body["place"], body.get("value"), typed, seconds, body.get("check") is True)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("this is no answer: give id, place, value, typed and seconds") from error
