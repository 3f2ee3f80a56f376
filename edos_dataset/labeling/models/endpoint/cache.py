"""Answers of an endpoint on disk: a run that was killed, or is run again, pays for none of them twice.

They are kept by the hash of everything that was sent; neither texts nor keys are in the file.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from edos_dataset.encoders.folders import kept_folder
from edos_dataset.labeling.models.endpoint.answers import Answer
from edos_dataset.labeling.models.endpoint.settings import EndpointError
from edos_dataset.runs.fingerprints import hash_json

_BUSY = 120.0  # seconds to wait for other processes
_AT_A_TIME = 500  # keys of a query
_TABLES = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS modes (key TEXT PRIMARY KEY, mode TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS usage (run TEXT PRIMARY KEY, requests INTEGER, cached INTEGER, tokens_in INTEGER, "
    "tokens_out INTEGER) WITHOUT ROWID",
)


@dataclass(frozen=True)
class Usage:
    """What a run, or a part of it, needed.

    Attributes:
        requests: requests that were answered, repetitions after unusable answers included.
        cached: questions whose answers were on disk.
        tokens_in: tokens of the prompts, as the server counts them; 0 where it does not.
        tokens_out: tokens of the answers.
    """

    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


class Answers:
    """The answers of one model at one address, in a file that several processes may use.

    Args:
        model: name of the model.
        address: address of the endpoint without credentials.
    """

    def __init__(self, model: str, address: str) -> None:
        name = re.sub(r"[^\w.-]+", "-", f"{address.partition('://')[2]}-{model}")[:80].strip("-.")
        self.path: Path = kept_folder("answers") / f"{name}-{hash_json([model, address])[:8]}.sqlite"

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file, for one transaction: a connection does not survive a fork."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_BUSY)) as connection, connection:
                connection.execute("PRAGMA synchronous = NORMAL")
                for table in _TABLES:
                    connection.execute(table)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise EndpointError(
                f"answers are kept in {self.path}, which cannot be used ({error}): set HF_HOME to a folder that can be "
                "written, or move the file away if it is damaged"
            ) from error

    def found(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return those of some answers that are there, by their keys."""
        wanted = list(keys)
        if not self.path.exists():
            return {}
        rows: list[tuple[str, str]] = []
        with self._opened() as connection:
            for place in range(0, len(wanted), _AT_A_TIME):
                some = wanted[place : place + _AT_A_TIME]
                marks = ", ".join("?" * len(some))
                rows += connection.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", some)
        return {key: Answer(**json.loads(answer)) for key, answer in rows}

    def keep(self, answers: Mapping[str, Answer], run: str, used: Usage) -> None:
        """Keep answers, and add what they needed to a run's usage."""
        with self._opened() as connection:
            rows = [(key, json.dumps(answer._asdict())) for key, answer in answers.items()]
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            connection.execute("INSERT OR IGNORE INTO usage VALUES (?, 0, 0, 0, 0)", (run,))
            connection.execute(
                "UPDATE usage SET requests = requests + ?, cached = cached + ?, tokens_in = tokens_in + ?, "
                "tokens_out = tokens_out + ? WHERE run = ?",
                (*astuple(used), run),
            )

    def final_usage(self, run: str) -> Usage:
        """Return what a run needed in all of its processes that have this file, and forget it."""
        if not self.path.exists():
            return Usage()
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT requests, cached, tokens_in, tokens_out FROM usage WHERE run = ?", (run,)
            ).fetchall()
            connection.execute("DELETE FROM usage WHERE run = ?", (run,))
        return Usage(*rows[0]) if rows else Usage()

    def mode(self, key: str) -> dict[str, object] | None:
        """Return what was found out about the server for a prompt; None if nothing was."""
        if not self.path.exists():
            return None
        with self._opened() as connection:
            rows = connection.execute("SELECT mode FROM modes WHERE key = ?", (key,)).fetchall()
        return dict(json.loads(rows[0][0])) if rows else None

    def keep_mode(self, key: str, mode: Mapping[str, object]) -> None:
        """Keep what was found out about the server for a prompt."""
        with self._opened() as connection:
            connection.execute("INSERT OR REPLACE INTO modes VALUES (?, ?)", (key, json.dumps(dict(mode))))
