"""Who works on which HIT, and what they answer: handed out at one stroke, stored once, gone on with after a break."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.given import Given, check_given, told
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.crowd.store import Store, now

_GLANCE = 20.0  # seconds within which looking at a page again is not kept: every change waits for the disk


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
                "platform = coalesce(excluded.platform, platform) WHERE excluded.platform IS NOT platform OR seen < ?",
                (hit, worker, platform, moment, moment, moment - _GLANCE),
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

    def of_worker(self, worker: str, assignment: int) -> Assignment:
        """Return an assignment of a worker, who is there.

        Raises:
            NotYoursError: it is none of theirs.
        """
        with self.store.writing() as connection:
            _of_worker(connection, worker, assignment)
            connection.execute(
                "UPDATE assignments SET seen = ? WHERE id = ? AND seen < ?", (now(), assignment, now() - _GLANCE)
            )
            query = "SELECT hit, finished, platform FROM assignments WHERE id = ?"
            hit, finished, platform = connection.execute(query, (assignment,)).fetchone()
        return Assignment(assignment, self.hits[hit], finished is not None, platform)

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
            check_given(given, item)
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
