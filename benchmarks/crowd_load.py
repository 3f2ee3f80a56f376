"""Many workers at once on the pages of `edos crowd serve`, some of whom leave and come back, while the server is
killed: is every answer stored once that a worker was told to be stored, and how long do pages take?

    python benchmarks/crowd_load.py --workers 50 --seconds 600 --leaving 0.2 --kills 2 --out benchmarks/crowd_load.json

The workers are scripts, in this process; the server is a process of its own, on the same machine, killed by SIGKILL at
even distances and started again. Dialogues are invented. A worker's request that meets no server is sent again under
the same id, as the pages do.
"""

import argparse
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.crowd_workers import Log, ScriptedWorker, Sent
from benchmarks.machine import command_line, describe_machine
from edos_dataset.crowd.batches import ANSWERS, Batch, write_batch
from edos_dataset.crowd.hit_sources import read_quiz
from edos_dataset.crowd.hits import judge_hits, label_hits
from edos_dataset.crowd.store import Store
from edos_dataset.crowd.workers import invite
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import write_text

PASSWORD = "of the benchmark"
_START = 120.0  # seconds that a server may take to answer, on a busy machine


class Server:
    """`edos crowd serve` as a process, which may be killed.

    Args:
        batch: folder.
        port: that it listens at.
    """

    def __init__(self, batch: Path, port: int) -> None:
        """Start it."""
        self.batch, self.port = batch, port
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
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
        """Let it die at once, whatever it does."""
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
    """Return how what is stored differs from what was sent."""
    with sqlite3.connect(folder / ANSWERS) as connection:
        rows = connection.execute("SELECT given, assignment, place, value FROM answers").fetchall()
        finished = {number for (number,) in connection.execute("SELECT id FROM assignments WHERE finished IS NOT NULL")}
    sent: dict[str, Sent] = {one.id: one for log in logs for one in log.sent}
    stored = {given: (assignment, place, json.loads(value)) for given, assignment, place, value in rows}
    told = {one.id for one in sent.values() if one.stored}
    places = [(assignment, place) for _, assignment, place, _ in rows]
    return {
        "sent": len(sent),
        "acknowledged": len(told),
        "stored": len(rows),
        "lost": len(told - stored.keys()),
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
    """Return the median and the 99th percentile of the milliseconds that requests took, by what they asked for."""
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
    """Return what came of it; nothing was lost where `compare` says so.

    Args:
        folder: of the batch, to be made.
        port: of the server.
        kind: the task.
        workers: scripted ones.
        seconds: that they work.
        leaving: share of them who drop out now and then.
        kills: of the server.
        pause: mean seconds between the answers of a worker.
        seed: of all that is drawn.
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
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("labelling", "judging"), default="labelling")
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--leaving", type=float, default=0.2, help="share of workers who drop out now and then")
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
