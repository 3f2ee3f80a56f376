"""Load test of `edos crowd serve`: many concurrent workers, some of whom leave and return, while the server is killed.
Is every acknowledged answer stored once, and how long do pages take?

    python benchmarks/crowd_load.py --workers 50 --seconds 600 --leaving 0.2 --kills 2 --out benchmarks/crowd_load.json

The workers are threads of this process; the server is a separate process on the same machine, which is killed with
SIGKILL at equal intervals and restarted. Dialogues are invented. A worker's request that finds no server is repeated
with the same id, as the pages do.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import command_line, describe_machine
from edos_dataset.crowd.batches import ANSWERS, Batch, write_batch
from edos_dataset.crowd.hits import judge_hits, label_hits, read_quiz
from edos_dataset.crowd.store import Store, invite
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import write_text

RATINGS = ("good", "okay", "bad")


class GoneError(Exception):
    """The server did not answer, because it was not running or was killed."""


@dataclass
class Sent:
    """An answer that a worker sent.

    Attributes:
        id: its id.
        assignment: the assignment; `place` is the index of the item.
        value: the answer.
        stored: whether the server acknowledged it.
    """

    id: str
    assignment: int
    place: int
    value: Any
    stored: bool = False


@dataclass
class Log:
    """What a worker did.

    Attributes:
        sent: answers, in order.
        seconds: duration of each answered request, by kind: "page", "hit", "answer".
        left: how often the worker left and returned.
        again: number of repeated requests.
        wrong: descriptions of wrong responses of the server.
        finished: submitted assignments.
    """

    sent: list[Sent] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    left: int = 0
    again: int = 0
    wrong: list[str] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)


class ScriptedWorker(threading.Thread):
    """A simulated worker, who answers until stopped.

    Args:
        port: port of the server.
        token: token of the invitation.
        pause: mean seconds between answers.
        leaves: whether the worker leaves now and then.
        seed: seed of the answers and their times.
        stop: set to end the test.
    """

    def __init__(self, port: int, token: str, pause: float, leaves: bool, seed: int, stop: threading.Event) -> None:
        """Start without a session."""
        super().__init__(daemon=True)
        self.log, self.port, self.pause, self.leaves, self.stop = Log(), port, pause, leaves, stop
        self._random, self._cookie, self._csrf, self._token = random.Random(seed), "", "", token
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        """Work until stopped; errors are logged."""
        try:
            self._ask("GET", f"/w/{self._token}")
            while not self.stop.is_set() and self._hit():
                pass
        except Exception as error:  # a thread's error must not get lost
            self.log.wrong.append(f"the worker stopped: {error!r}")

    def _hit(self) -> bool:
        status, text, address = self._ask("GET", "/", "page")
        if "I agree" in text:
            self._csrf = _csrf(text)
            self._ask("POST", "/consent", form=f"csrf={self._csrf}&next=/")
            status, text, address = self._ask("GET", "/", "page")
        if not address.startswith("/work/"):
            return False
        assignment = int(address.rsplit("/", 1)[1])
        self._csrf = _csrf(self._ask("GET", address, "page")[1])
        items = json.loads(self._ask("GET", f"/api/hit/{assignment}", "hit")[1])["items"]
        self._look(assignment, items)
        for place, item in enumerate(items):
            if item["answer"] is None:
                if self.stop.wait(self._random.expovariate(1 / self.pause)):
                    return False
                if not self._answer(assignment, place, item):
                    return True  # the worker left, and returns to the same HIT
        done = json.loads(self._ask("POST", "/api/finish", body={"assignment": assignment})[1])
        if done != {"missing": None}:
            self.log.wrong.append(f"assignment {assignment} is not finished: {done}")
        self.log.finished.add(assignment)
        return True

    def _look(self, assignment: int, items: list[dict[str, Any]]) -> None:
        """Compare the answers that the server shows with those that it acknowledged."""
        for sent in self.log.sent:
            shown = items[sent.place]["answer"] if sent.assignment == assignment else None
            if sent.assignment == assignment and sent.stored and (shown is None or shown["value"] != sent.value):
                self.log.wrong.append(f"assignment {assignment} shows {shown} at {sent.place}, stored was {sent.value}")

    def _answer(self, assignment: int, place: int, item: Mapping[str, Any]) -> bool:
        judged = item["kind"] != "labelling"
        value: Any = [self._random.choice(RATINGS) for _ in item["choices"]] if judged else self._choice(item)
        sent = Sent(uuid.uuid4().hex, assignment, place, value)
        self.log.sent.append(sent)
        body = {"assignment": assignment, "place": place, "id": sent.id, "value": value, "seconds": 1.5}
        if self.leaves and self._random.random() < 0.08:
            self.log.left += 1
            if self._random.random() < 0.5:  # without waiting for the response
                with suppress(OSError, http.client.HTTPException):
                    self._send("POST", "/api/answer", body)
            self._close()
            self.stop.wait(self._random.uniform(1, 5))
            return False
        status, text, _ = self._ask("POST", "/api/answer", "answer", body)
        if status == 200:
            sent.stored = True
        else:
            self.log.wrong.append(f"{status} to the answer {sent.id}: {text[:200]}")
        return True

    def _choice(self, item: Mapping[str, Any]) -> str:
        return str(self._random.choice(item["choices"]))

    def _ask(
        self, method: str, path: str, kind: str = "", body: Mapping[str, Any] | None = None, form: str | None = None
    ) -> tuple[int, str, str]:
        """Repeat a request until it is answered; return its status, text, and redirect address ("" if none)."""
        while True:
            began = time.perf_counter()
            try:
                self._send(method, path, body, form)
                status, text, address = self._read()
            except (OSError, http.client.HTTPException):
                self._close()
                self.log.again += 1
                time.sleep(0.3)
                continue
            if status in (429, 500, 502, 503):
                self.log.again += 1
                if status == 500:
                    self.log.wrong.append(f"500 to {method} {path}")
                time.sleep(1)
                continue
            self.log.seconds.setdefault(kind, []).append(time.perf_counter() - began)
            return status, text, address

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None, form: str | None = None) -> None:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"cookie": self._cookie, "x-csrf-token": self._csrf}
        data = form
        if body is not None:
            headers["content-type"], data = "application/json", json.dumps(body)
        elif form is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        self._connection.request(method, path, data, headers)

    def _read(self) -> tuple[int, str, str]:
        if self._connection is None:
            raise GoneError
        response = self._connection.getresponse()
        text = response.read().decode()
        if cookie := response.headers.get("set-cookie"):
            self._cookie = cookie.partition(";")[0]
        return response.status, text, response.headers.get("location", "")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _csrf(page: str) -> str:
    match = re.search(r'name="csrf" content="(\w+)"', page)
    return match[1] if match else ""


PASSWORD = "of the benchmark"
_START = 120.0  # seconds in which the server must answer, on a busy machine


class Server:
    """`edos crowd serve` as a process that can be killed.

    Args:
        batch: folder of the batch.
        port: port on which it listens.
    """

    def __init__(self, batch: Path, port: int) -> None:
        """Start the server."""
        self.batch, self.port = batch, port
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ["--port", str(self.port), "--most-hits", "100000"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "edos_dataset", "crowd", "serve", str(self.batch), *options],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "EDOS_CROWD_PASSWORD": PASSWORD},
        )
        ends = time.monotonic() + _START
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/static/style.css", timeout=5).close()
                return
            except OSError as error:
                if time.monotonic() > ends or self._process.poll() is not None:
                    raise RuntimeError("the server does not answer") from error
                time.sleep(0.1)

    def kill(self) -> None:
        """Kill the process immediately."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def invented_batch(kind: str, dialogues: int, workers: int) -> Batch:
    """Return a batch of invented dialogues."""
    turns = [[f"Invented turn {number}.", f"An answer to turn {number}."] for number in range(dialogues)]
    if kind == "labelling":
        tasks = [
            {"task": f"t{n}", "turns": own, "label": LABELS[n % 41], "top": [LABELS[(n + k) % 41] for k in range(3)]}
            for n, own in enumerate(turns)
        ]
        return Batch("labelling", label_hits(tasks, read_quiz()), workers)
    judged = [
        {
            "dialogue_id": f"d{n}",
            "turns": own,
            "answers": [{"model": f"m{k}", "text": f"Reply {k} to {n}."} for k in range(4)],
            "truth": f"True reply to {n}.",
        }
        for n, own in enumerate(turns)
    ]
    return Batch("judging", judge_hits(judged), workers)


def compare(folder: Path, logs: Sequence[Log]) -> dict[str, Any]:
    """Return the differences between the stored and the sent answers."""
    with sqlite3.connect(folder / ANSWERS) as connection:
        rows = connection.execute("SELECT given, assignment, place, value FROM answers").fetchall()
        finished = {number for (number,) in connection.execute("SELECT id FROM assignments WHERE finished IS NOT NULL")}
    sent: dict[str, Sent] = {one.id: one for log in logs for one in log.sent}
    stored = {given: (assignment, place, json.loads(value)) for given, assignment, place, value in rows}
    acknowledged = {one.id for one in sent.values() if one.stored}
    places = [(assignment, place) for _, assignment, place, _ in rows]
    return {
        "sent": len(sent),
        "acknowledged": len(acknowledged),
        "stored": len(rows),
        "lost": len(acknowledged - stored.keys()),
        "doubled": len(rows) - len(stored) + len(places) - len(set(places)),
        "never_sent": len(stored.keys() - sent.keys()),
        "other_than_sent": sum(
            one.id in stored and stored[one.id] != (one.assignment, one.place, one.value) for one in sent.values()
        ),
        "finished": len(finished),
        "finished_lost": len({number for log in logs for number in log.finished} - finished),
        "wrong": [sentence for log in logs for sentence in log.wrong],
    }


def quantiles(logs: Sequence[Log]) -> dict[str, dict[str, float]]:
    """Return the median and the 99th percentile of the requests' duration in milliseconds, by kind."""
    found = {}
    for kind in ("page", "hit", "answer"):
        seconds = sorted(second for log in logs for second in log.seconds.get(kind, []))
        if len(seconds) > 1:
            found[kind] = {
                "requests": len(seconds),
                "median_ms": round(1000 * statistics.median(seconds), 1),
                "p99_ms": round(1000 * statistics.quantiles(seconds, n=100)[98], 1),
            }
    return found


def measure(
    folder: Path,
    port: int,
    kind: str,
    workers: int,
    seconds: float,
    leaving: float,
    kills: int,
    pause: float,
    seed: int,
) -> dict[str, Any]:
    """Return the results of a load test; `compare` shows whether anything was lost.

    Args:
        folder: folder of the batch, which is created.
        port: port of the server.
        kind: the task.
        workers: number of simulated workers.
        seconds: duration of the test.
        leaving: fraction of the workers who leave now and then.
        kills: how often the server is killed.
        pause: mean seconds between the answers of a worker.
        seed: seed of all randomness.
    """
    per_hit = 3
    write_batch(folder, invented_batch(kind, 60 + int(2 * workers * seconds / pause / per_hit), per_hit))
    tokens = invite(Store(folder / ANSWERS), [f"worker-{number}" for number in range(workers)])
    server, stop = Server(folder, port), threading.Event()
    people = [
        ScriptedWorker(port, token, pause, number < leaving * workers, seed + number, stop)
        for number, token in enumerate(tokens.values())
    ]
    for person in people:
        person.start()
    try:
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))
            server.kill()
            time.sleep(1)
            server.start()
        time.sleep(seconds / (kills + 1))
        stop.set()
        for person in people:
            person.join(60)
    finally:
        stop.set()
        server.kill()
    logs = [person.log for person in people]
    return {
        **compare(folder, logs),
        "left_and_came_back": sum(log.left for log in logs),
        "sent_again": sum(log.again for log in logs),
        "milliseconds": quantiles(logs),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the load test and write its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("labelling", "judging"), default="labelling")
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--leaving", type=float, default=0.2, help="fraction of the workers who leave now and then")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between the answers of a worker")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="JSON file")
    given = parser.parse_args(arguments)
    settings = {key: value for key, value in vars(given).items() if key not in ("out", "port")}
    with tempfile.TemporaryDirectory() as folder:
        made = measure(Path(folder) / "batch", port=given.port, **settings)
    record = {"command": command_line(), "machine": describe_machine(), **settings, **made}
    write_text(given.out, json.dumps(record, indent=1) + "\n")
    sys.stdout.write(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
