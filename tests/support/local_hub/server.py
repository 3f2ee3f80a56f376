"""A small Hub on this machine: the HTTP API that `huggingface_hub` calls, over a real socket, with failures on demand.

Left out: Xet (clients set HF_HUB_DISABLE_XET), pull requests, git itself, redirects to a CDN, the dataset viewer.
"""

import json
import re
import shutil
import socket
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import parse_qs, unquote, urlsplit

from local_hub.api import HANDLERS, ROUTES, Answer, user_of
from local_hub.store import Objects, Refused, Repo


def client_environment(url, home):
    """Return the variables that clients of a Hub read when they are imported."""
    switches = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1"}
    return {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **switches}


@dataclass
class Failure:
    """What happens to calls instead of their answer; see `LocalHub.fail`."""

    status: int | None
    cut: str | None
    skip: int
    times: float
    headers: dict[str, str]
    message: str


@dataclass
class LocalHub:
    """The server; use it as a context manager.

    Attributes:
        folder: where large files lie; removed at the end.
        tokens: token → name of its user, who owns the namespace of that name; an unknown token is refused.
        readers: tokens that may not write.
        repos: (models, datasets or spaces; namespace/name) → repository.
        calls: (route, method, path) of every call so far.
        sent: path of a file → bytes of it that were asked for.
        page: entries of a tree listing in one answer.
        port: where it listens; by default at any free one.
        connections: open ones.
    """

    folder: Path = field(default_factory=lambda: Path(mkdtemp(prefix="hub-")))
    tokens: dict[str, str] = field(default_factory=lambda: {"hf_ns": "ns", "hf_reader": "ns", "hf_other": "other"})
    readers: set[str] = field(default_factory=lambda: {"hf_reader"})
    repos: dict[tuple[str, str], Repo] = field(default_factory=dict)
    calls: list[tuple[str | None, str, str]] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    page: int = 1000
    port: int = 0
    connections: set[socket.socket] = field(default_factory=set)
    _failures: dict[str, Failure] = field(default_factory=dict)

    def __enter__(self):
        self.objects, self.lock = Objects(self.folder / "objects"), threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        for connection in list(self.connections):  # a client that kept one would talk to this Hub for ever
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fail(self, route, status=None, *, cut=None, skip=0, times=1, headers=None, message="injected"):
        """Let calls of a route fail; a later call of this method for the same route takes its place.

        Args:
            route: a name of ROUTES.
            status: HTTP status of the answer; the call has no effect.
            cut: instead: the connection ends without an answer "before" or "after" the call had its effect, or "within"
                the body of the answer, at half.
            skip: calls that still work before.
            times: calls that fail then.
            headers: of the answer.
            message: of the answer.
        """
        assert route in ROUTES
        assert status is not None or cut in ("before", "after", "within")
        self._failures[route] = Failure(status, cut, skip, times, headers or {}, message)

    def failure(self, route):
        """Return the failure that a call of a route now meets, or None, and count it."""
        with self.lock:
            failure = self._failures.get(route)
            if failure is None:
                return None
            if failure.skip:
                failure.skip -= 1
                return None
            failure.times -= 1
            return failure if failure.times >= 0 else None

    def called(self, *routes):
        """Return how often these routes were called."""
        return sum(route in routes for route, _, _ in self.calls)

    def environment(self, home, token="hf_ns"):
        """Return the variables by which a fresh process talks to this Hub; `home` is a folder for its caches."""
        return {**client_environment(self.url, home), "HF_TOKEN": token}


class _Handler(BaseHTTPRequestHandler):
    """Reads a request, finds its route, lets the function of that name answer, and writes the answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: LocalHub

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.hub.connections.add(self.connection)

    def finish(self):
        self.hub.connections.discard(self.connection)
        super().finish()

    def _serve(self):
        url = urlsplit(self.path)
        self.query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        matches = (
            (route, re.fullmatch(pattern, url.path))
            for route, (methods, pattern) in ROUTES.items()
            if self.command in methods.split("|")
        )
        route, match = next(((route, match) for route, match in matches if match), (None, None))
        self.hub.calls.append((route, self.command, unquote(url.path)))
        self.received = self._receive()
        failure = self.hub.failure(route)
        try:
            if failure and failure.cut == "before":
                self._cut()
            elif failure and failure.status:
                self._send(
                    Answer(
                        {"error": failure.message},
                        {"X-Error-Message": failure.message, **failure.headers},
                        failure.status,
                    )
                )
            else:
                answer = self._call(route, match)
                if failure and failure.cut == "after":
                    self._cut()
                else:
                    self._send(answer, half=failure is not None)
        finally:
            self.received.unlink(missing_ok=True)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def _call(self, route, match):
        try:
            if match is None:
                raise Refused(404, f"no route {self.command} {self.path}")
            self.parts = {key: unquote(part) for key, part in match.groupdict().items() if part is not None}
            with self.hub.lock:
                answer = HANDLERS[route](self.hub, self, user_of(self.hub, self, route))
            return answer if isinstance(answer, Answer) else Answer(answer)
        except Refused as refused:
            headers = {"X-Error-Message": refused.message, **({"X-Error-Code": refused.code} if refused.code else {})}
            return Answer({"error": refused.message, **refused.body}, headers, refused.status)

    def _receive(self):
        """Write the body of the request to a file. It is always read, or the connection could not be used again."""
        path = self.hub.folder / f"received-{threading.get_ident()}"
        with path.open("wb") as target:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    target.write(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
            left = int(self.headers.get("Content-Length") or 0)
            while left and (block := self.rfile.read(min(left, 1 << 20))):
                left -= len(block)
                target.write(block)
        return path

    @property
    def body(self):
        """The request's JSON, or its form."""
        data = self.received.read_bytes()
        if "form" in self.headers.get("Content-Type", ""):
            return parse_qs(data.decode())
        return json.loads(data or b"{}")

    def lines(self):
        """Return the request's JSON lines."""
        return [json.loads(line) for line in self.received.read_bytes().splitlines() if line]

    def _cut(self):
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, answer, half=False):
        if answer.file is not None:
            with answer.file:
                self._send_file(answer, half)
            return
        data = json.dumps(answer.body).encode()
        self._head(answer.status, {"Content-Type": "application/json", "Content-Length": len(data), **answer.headers})
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self._cut()

    def _send_file(self, answer, half):
        """Send a file, or the part that the header Range asks for: `bytes=first-last`, `bytes=first-` or
        `bytes=-number`.
        """
        first, last, status, headers = 0, answer.size - 1, 200, answer.headers
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if wanted:
            first, last = (
                (int(wanted[1]), min(int(wanted[2] or last), last))
                if wanted[1]
                else (max(0, answer.size - int(wanted[2])), last)
            )
            status, headers = 206, {**headers, "Content-Range": f"bytes {first}-{last}/{answer.size}"}
            if first > last:
                self._head(416, {"Content-Length": 0, "Content-Range": f"bytes */{answer.size}"})
                return
        self._head(status, {"Content-Length": last - first + 1, "Accept-Ranges": "bytes", **headers})
        answer.file.seek(first)
        left = (last - first + 1) // (2 if half else 1) if self.command != "HEAD" else 0
        while left and (block := answer.file.read(min(left, 1 << 20))):
            left -= len(block)
            self.hub.sent[self.parts["path"]] += len(block)
            self.wfile.write(block)
        if half:
            self._cut()

    def _head(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
