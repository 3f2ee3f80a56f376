"""The answers of a batch while people give them: SQLite beside the HITs, safe at the moment that each is acknowledged.

Write-ahead log, synchronised with the disk at every commit: a process that is killed, or a power cut, takes nothing
that was acknowledged. One connection a thread; what must not happen twice happens in one immediate transaction.
"""

import hashlib
import hmac
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
_FORM = "1"
_BUSY = 30.0  # seconds that a writer waits for another


class Store:
    """The database of a batch.

    Args:
        path: of the file, which is made.

    Raises:
        ValueError: it is no database of this form.
    """

    def __init__(self, path: Path) -> None:
        """Open it, and make what is missing."""
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
            self._meta = dict(self.read("SELECT name, value FROM meta"))
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} is no file of answers ({error}): move it away") from error
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
        """Return the rows of a query."""
        return self._connection.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection within a transaction that no other writer comes into; it is on the disk at the end."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def sign(self, *parts: str) -> str:
        """Return a signature that nobody can make without the file, 64 hexadecimal digits."""
        return hmac.new(self._meta["secret"].encode(), "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    def alias(self, worker: str) -> str:
        """Return what a worker is called in what is published: a digest, salted by this batch alone."""
        return hmac.new(self._meta["salt"].encode(), worker.encode(), hashlib.sha256).hexdigest()[:12]


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()
