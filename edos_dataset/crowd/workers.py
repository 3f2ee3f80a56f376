"""The people of a batch: invited by a link of their own, or come by themselves, and what they agreed to."""

import hashlib
import re
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edos_dataset.crowd.store import Store, now

Origin = Literal["invited", "open", "mturk"]

NAME = re.compile(r"[\w.@+-]{1,64}")
"""What a worker may be called."""


@dataclass(frozen=True)
class Worker:
    """Somebody who answers.

    Attributes:
        id: the name; never published.
        consented: whether they agreed to what is done with their answers.
    """

    id: str
    consented: bool


def invite(store: Store, names: Sequence[str], origin: Origin = "invited") -> dict[str, str]:
    """Return the token of each new worker, which is in their link and kept as a digest alone.

    Raises:
        ValueError: a name is none, or taken.
    """
    tokens = {name: secrets.token_urlsafe(24) for name in names}
    if strange := [name for name in names if not NAME.fullmatch(name)]:
        raise ValueError(f"{strange[0]!r} is no name of a worker: give 1 to 64 letters, digits, or any of . @ + - _")
    try:
        with store.writing() as connection:
            for name, token in tokens.items():
                connection.execute(
                    "INSERT INTO workers (id, token, origin, made) VALUES (?, ?, ?, ?)",
                    (name, _digest(token), origin, now()),
                )
    except sqlite3.IntegrityError as error:
        raise ValueError(
            f"one of {', '.join(names)} is taken: whoever has the name goes on by their own link; choose another name"
        ) from error
    return tokens


def welcome(store: Store, name: str) -> str:
    """Return the token of a worker of Mechanical Turk, who comes by a name that the platform vouches for.

    Raises:
        ValueError: the name is none.
    """
    if not NAME.fullmatch(name):
        raise ValueError("this is no worker id")
    token = store.sign("mturk", name)
    with store.writing() as connection:
        connection.execute(
            "INSERT OR IGNORE INTO workers (id, token, origin, made) VALUES (?, ?, ?, ?)",
            (f"mturk:{name}", _digest(token), "mturk", now()),
        )
    return token


def worker_of(store: Store, token: str) -> Worker | None:
    """Return whose token this is."""
    rows = store.read("SELECT id, consented FROM workers WHERE token = ?", (_digest(token),))
    return Worker(rows[0][0], rows[0][1] is not None) if rows else None


def consent(store: Store, worker: str) -> None:
    """Keep that a worker agrees."""
    with store.writing() as connection:
        connection.execute("UPDATE workers SET consented = coalesce(consented, ?) WHERE id = ?", (now(), worker))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
