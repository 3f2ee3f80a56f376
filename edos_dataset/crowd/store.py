"""The SQLite database of a batch's answers and workers, stored next to its HITs.

Its write-ahead log is synchronised with the disk at every commit, so neither a killed process nor a power cut loses an
acknowledged answer. Each thread has one connection; whatever must not happen twice is in one immediate transaction.
"""

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS workers (
    id TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, made REAL NOT NULL, consented REAL);
CREATE TABLE IF NOT EXISTS assignments (
    id INTEGER PRIMARY KEY, hit TEXT NOT NULL, worker TEXT NOT NULL REFERENCES workers (id), platform TEXT,
    began REAL NOT NULL, seen REAL NOT NULL, finished REAL, released REAL, UNIQUE (hit, worker));
CREATE INDEX IF NOT EXISTS assignments_of_worker ON assignments (worker);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, given TEXT NOT NULL UNIQUE, assignment INTEGER NOT NULL REFERENCES assignments (id),
    place INTEGER NOT NULL, value TEXT, typed TEXT, seconds REAL NOT NULL, checked INTEGER NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS answers_of_assignment ON answers (assignment);
"""
_NUMBER, _NONE = "('integer', 'real')", "('integer', 'real', 'null')"
_STRANGE = f"""
SELECT 'assignments', rowid FROM assignments WHERE typeof(id) != 'integer' OR typeof(hit) != 'text'
    OR typeof(worker) != 'text' OR typeof(platform) NOT IN ('text', 'null') OR typeof(began) NOT IN {_NUMBER}
    OR typeof(seen) NOT IN {_NUMBER} OR typeof(finished) NOT IN {_NONE} OR typeof(released) NOT IN {_NONE}
UNION ALL SELECT 'workers', rowid FROM workers WHERE typeof(id) != 'text' OR typeof(token) != 'text'
    OR typeof(origin) != 'text' OR typeof(consented) NOT IN {_NONE}
UNION ALL SELECT 'meta', rowid FROM meta WHERE typeof(value) != 'text'
UNION ALL SELECT given, assignment + place + value + typed + seconds + checked + at FROM answers WHERE number IS NULL
"""
"""Rows of types that this package never writes, as SQLite's columns hold values of any; those of `answers` are checked
where they are read (`assignments.stored`), but its columns must be there.
"""
_FORM = "1"
_BUSY = 30.0  # seconds to wait for another writer
_OF_THE_SYSTEM = re.compile(r"locked|readonly|full|unable to open|disk I/O")
"""Errors that say nothing of what the file holds."""


class DamagedError(ValueError):
    """The file of answers holds what this package never writes; the message says where."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is damaged, or was changed by another program ({what}): restore a copy of it, or mend it with "
            "`sqlite3`"
        )


class _NoDatabaseError(Exception):
    """The file is of another program."""


class Store:
    """The database of a batch's answers.

    Args:
        path: the file, created if missing.

    Raises:
        ValueError: the file is not such a database.
    """

    def __init__(self, path: Path) -> None:
        """Open the database, and create missing tables."""
        self.path = path
        self._of_thread = threading.local()
        try:
            with self.writing() as connection:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                for name, value in (
                    ("form", _FORM),
                    ("secret", secrets.token_hex(32)),
                    ("salt", secrets.token_hex(16)),
                ):
                    connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
            strange = self.read(_STRANGE)
            self._meta = dict(self.read("SELECT name, value FROM meta"))
        except (sqlite3.DatabaseError, _NoDatabaseError) as error:
            raise ValueError(f"{path} is no file of answers ({error}): move it away") from error
        if strange:
            raise DamagedError(path, "the row {1} of {0}".format(*strange[0]))
        if self._meta["form"] != _FORM:
            raise ValueError(f"{path} was written by another version of this package: answer with that one")

    @property
    def _connection(self) -> sqlite3.Connection:
        if not hasattr(self._of_thread, "connection"):
            connection = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._of_thread.connection = connection
        found: sqlite3.Connection = self._of_thread.connection
        return found

    def read(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises:
            ValueError: the file is damaged.
        """
        with self._readable():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open an exclusive transaction, durable at the end, and yield its connection.

        Raises:
            ValueError: the file is damaged.
        """
        with self._readable():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Report a file whose pages are damaged; other errors of the database pass."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a text, or a message on one, may be no UTF-8
            if isinstance(error, sqlite3.IntegrityError) or _OF_THE_SYSTEM.search(str(error)):
                raise
            if "not a database" in str(error):
                raise _NoDatabaseError(str(error)) from error
            raise DamagedError(self.path, str(error)) from error

    def sign(self, *parts: str) -> str:
        """Return a signature, 64 hexadecimal digits, that cannot be forged without the file."""
        return hmac.new(self._meta["secret"].encode(), "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    def alias(self, worker: str) -> str:
        """Return a worker's alias for publication: a digest, salted per batch."""
        return hmac.new(self._meta["salt"].encode(), worker.encode(), hashlib.sha256).hexdigest()[:12]


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


Origin = Literal["invited", "open", "mturk"]

NAME = re.compile(r"[\w.@+-]{1,64}")
"""Pattern of worker names."""


@dataclass(frozen=True)
class Worker:
    """An annotator of a batch.

    Attributes:
        id: the name, which is never published.
        consented: whether they agreed to the use of their answers.
    """

    id: str
    consented: bool


def invite(store: Store, names: Sequence[str], origin: Origin = "invited", *, reissue: bool = False) -> dict[str, str]:
    """Return each worker's token, which is part of their link and stored only as a digest.

    Args:
        store: database of the batch.
        names: names of the workers.
        origin: how they joined.
        reissue: replace the tokens of known workers; their answers stay.

    Raises:
        ValueError: a name is malformed, or taken and not to be reissued.
    """
    tokens = {name: secrets.token_urlsafe(24) for name in names}
    if strange := [name for name in names if not NAME.fullmatch(name)]:
        raise ValueError(f"{strange[0]!r} is no name of a worker: give 1 to 64 letters, digits, or any of . @ + - _")
    try:
        with store.writing() as connection:
            for name, token in tokens.items():
                connection.execute(
                    "INSERT INTO workers (id, token, origin, made) VALUES (?, ?, ?, ?)"
                    + " ON CONFLICT (id) DO UPDATE SET token = excluded.token" * reissue,
                    (name, _digest(token), origin, now()),
                )
    except sqlite3.IntegrityError as error:
        raise ValueError(
            f"one of {', '.join(names)} is taken: its owner resumes by their own link; choose another name"
        ) from error
    return tokens


def welcome(store: Store, name: str) -> str:
    """Return the token of a worker authenticated by Mechanical Turk.

    Raises:
        ValueError: the name is malformed.
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
    """Return the worker with a token, None if there is none."""
    rows = store.read("SELECT id, consented FROM workers WHERE token = ?", (_digest(token),))
    return Worker(rows[0][0], rows[0][1] is not None) if rows else None


def consent(store: Store, worker: str) -> None:
    """Record a worker's consent."""
    with store.writing() as connection:
        connection.execute("UPDATE workers SET consented = coalesce(consented, ?) WHERE id = ?", (now(), worker))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


SALT = "workers.salt"


def alias_of(folder: Path) -> Callable[[str], str]:
    """Return the function from a worker's name to a digest of it, 12 hexadecimal digits, which cannot be reversed or
    guessed without the salt in the folder. The first call creates the salt, which should not be published.
    """
    path = folder / SALT
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(16))
            file.flush()
            os.fsync(file.fileno())
    salt = path.read_bytes()
    return lambda worker: hmac.new(salt, worker.encode(), hashlib.sha256).hexdigest()[:12]
