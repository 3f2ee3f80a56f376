"""A server of files on this machine that can be told to fail: what `edos download` is tested against, over real TCP."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Served:
    """A file on the server and how it behaves.

    Attributes:
        content: its bytes.
        etag: what tells its versions apart; "" for none.
        ranges: whether a Range is honoured.
        head: whether HEAD is answered.
        cut_after: bytes of a body after which the connection is cut, one number for each answer that is to be cut.
        failures: statuses to answer instead, one for each GET that is to fail.
        headers: further ones of every answer with a body; with a Location it is a redirection.
        blind: forget If-Range: go on with whatever there is now.
        without_length: don't state one.
    """

    def __init__(self, content, **behaviour):
        self.content, self.ranges, self.head, self.blind = content, True, True, False
        self.etag = f'"{hashlib.sha256(content).hexdigest()[:12]}"'
        self.cut_after, self.failures, self.headers, self.without_length = [], [], {}, False
        self.requests = []  # of each: its method and its Range, or None
        vars(self).update(behaviour)


class FileServer:
    """Serves `files`, path → Served, while it is entered."""

    def __init__(self):
        self.files = {}

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"files": self.files}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def serve(self, path, content, **behaviour):
        self.files[path] = Served(content, **behaviour)
        return f"{self.url}{path}"


class _Handler(BaseHTTPRequestHandler):
    files: dict
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        file = self._asked_for()
        if file is not None:
            self._status(405) if not file.head else self._begin(file, 0)

    def do_GET(self):
        file = self._asked_for()
        if file is None:
            return
        start = self._start(file)
        if file.failures:
            self._status(file.failures.pop(0))
        elif start and start >= len(file.content):
            self._status(416)
        else:
            self._begin(file, start)
            self._body(file, start)

    def _asked_for(self):
        file = self.files.get(self.path)
        if file is None:
            self._status(404)
        else:
            file.requests.append((self.command, self.headers.get("Range")))
        return file

    def _start(self, file):
        asked = self.headers.get("Range")
        same = file.blind or self.headers.get("If-Range") in (None, file.etag)
        return int(asked.removeprefix("bytes=").rstrip("-")) if asked and file.ranges and same else 0

    def _begin(self, file, start):
        size = len(file.content)
        headers = {**({} if file.without_length else {"Content-Length": str(size - start)}), **file.headers}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        if file.etag:
            headers["ETag"] = file.etag
        self.send_response(206 if start else 302 if "Location" in headers else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self, file, start):
        content = file.content[start:]
        if file.cut_after:
            content = content[: file.cut_after.pop(0)]
            self.close_connection = True
        self.wfile.write(content)
        self.wfile.flush()

    def _status(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
