"""Scripted workers of `crowd_load.py`: each asks for the pages as a browser does, answers, sometimes leaves in the
middle, and keeps what was sent and what the server said to have stored.
"""

import http.client
import json
import random
import re
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

RATINGS = ("good", "okay", "bad")


class GoneError(Exception):
    """The server did not answer: it is dead, or was killed while it did."""


@dataclass
class Sent:
    """An answer that a worker sent.

    Attributes:
        id: its own.
        assignment: and `place`, what it answers.
        value: the answer.
        stored: whether the server said that it has it.
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
        seconds: of each request that was answered, by kind: "page", "hit", "answer".
        left: how often they left and came back.
        again: requests that had to be sent again.
        wrong: what the server answered wrongly, sentences.
        finished: assignments that were handed in.
    """

    sent: list[Sent] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    left: int = 0
    again: int = 0
    wrong: list[str] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)


class ScriptedWorker(threading.Thread):
    """Somebody who answers until told to stop.

    Args:
        port: of the server.
        token: of the invitation.
        pause: mean seconds between answers.
        leaves: whether they drop out now and then.
        seed: of what they answer and when.
        stop: set when it is enough.
    """

    def __init__(self, port: int, token: str, pause: float, leaves: bool, seed: int, stop: threading.Event) -> None:
        """Begin outside."""
        super().__init__(daemon=True)
        self.log, self.port, self.pause, self.leaves, self.stop = Log(), port, pause, leaves, stop
        self._random, self._cookie, self._csrf, self._token = random.Random(seed), "", "", token
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        """Work, come what may."""
        try:
            self._ask("GET", f"/w/{self._token}")
            while not self.stop.is_set() and self._hit():
                pass
        except Exception as error:  # a thread's error must not get lost
            self.log.wrong.append(f"the worker stopped: {error!r}")

    def _hit(self) -> bool:
        """Work on the HIT that is given; return whether there was one."""
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
                    return True  # they left, and come back to the same HIT
        done = json.loads(self._ask("POST", "/api/finish", body={"assignment": assignment})[1])
        if done != {"missing": None}:
            self.log.wrong.append(f"assignment {assignment} is not finished: {done}")
        self.log.finished.add(assignment)
        return True

    def _look(self, assignment: int, items: list[dict[str, Any]]) -> None:
        """Compare what the server shows as answered with what it said to have stored."""
        for sent in self.log.sent:
            shown = items[sent.place]["answer"] if sent.assignment == assignment else None
            if sent.assignment == assignment and sent.stored and (shown is None or shown["value"] != sent.value):
                self.log.wrong.append(f"assignment {assignment} shows {shown} at {sent.place}, stored was {sent.value}")

    def _answer(self, assignment: int, place: int, item: Mapping[str, Any]) -> bool:
        """Answer an item; return whether the worker stays."""
        judged = item["kind"] != "labelling"
        value: Any = [self._random.choice(RATINGS) for _ in item["choices"]] if judged else self._choice(item)
        sent = Sent(uuid.uuid4().hex, assignment, place, value)
        self.log.sent.append(sent)
        body = {"assignment": assignment, "place": place, "id": sent.id, "value": value, "seconds": 1.5}
        if self.leaves and self._random.random() < 0.08:
            self.log.left += 1
            if self._random.random() < 0.5:  # without waiting for what the server says
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
        """Ask until there is an answer; return its status, text, and the address that it leads to, "" for none."""
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
