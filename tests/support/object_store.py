"""An S3 server of this process, and a wire to it, or to another server, that breaks."""

import io
import random
import socket
import threading
import time
import urllib.request
import zipfile
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

KEY, SECRET = "AKIAEXAMPLEOFAKEY000", "s3cReT/wHiCh+nO/fIlE+mAy/hOlD/0123456789"


@contextmanager
def s3_server(folder):
    """Start the server and set the environment to it; skip where there is none.

    Args:
        folder: for copies of objects.

    Yields:
        A client of boto3, straight to the server.
    """
    pytest.importorskip("moto.server", reason="the S3 server of the tests is not installed")
    boto3 = pytest.importorskip("boto3")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with pointing_to(aws(f"http://{host}:{port}"), folder):
            yield boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    finally:
        # All servers of a process share what they hold.
        urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
        server.stop()


def aws(endpoint):
    """The environment for an S3 server."""
    given = {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1", "ENDPOINT_URL": endpoint}
    return {f"AWS_{name}": value for name, value in given.items()}


@contextmanager
def pointing_to(environment, folder):
    """Set the environment of this process, and of those that it starts, to a server."""
    from edos_dataset.runs.stores.paths import store_of

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setenv("EDOS_COPIES", str(folder))
        store_of.cache_clear()
        try:
            yield
        finally:
            store_of.cache_clear()


@contextmanager
def answering(status, body, pause=0.0, headers=()):
    """Give the address of a server that answers every request with this status and text.

    Args:
        status: the status.
        body: the text, or what gives one for each request.
        pause: seconds before each byte of it.
        headers: more headers, by name.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            text = (body() if callable(body) else body).encode()
            self.send_response(status)
            own = {"ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", **dict(headers)}
            for name, value in own.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            if status == 206:
                self.send_header("Content-Range", f"bytes 0-{len(text) - 1}/{len(text)}")
            self.end_headers()
            if pause and self.command == "GET":
                with suppress(OSError):
                    for byte in text:
                        time.sleep(pause)
                        self.wfile.write(bytes([byte]))
            elif self.command == "GET":
                self.wfile.write(text)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Wire:
    """A port of this machine that leads to another one, counts bytes, and cuts connections at random ones: of a request
    that is cut nothing arrives, as S3 keeps none of it either.

    Args:
        port: where it leads.
        cut: fraction of the connections that are cut, after 1 byte to `longest` of request and answer.
        longest: see `cut`.
    """

    def __init__(self, port, cut=0.0, longest=5_000):
        self.to, self.cut, self.longest = port, cut, longest
        self.random, self.cuts, self.received = random.Random(3), 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                left = self.random.randint(1, self.longest) if self.random.random() < self.cut else None
                threading.Thread(target=self._carry, args=(here, left), daemon=True).start()

    def _carry(self, here, left):
        with suppress(OSError), here, socket.create_connection(("127.0.0.1", self.to)) as there:
            if left is None:
                threading.Thread(target=self._pump, args=(here, there), daemon=True).start()
            else:
                request = self._request(here)
                if left >= len(request):
                    there.sendall(request)
            self._pump(there, here, None if left is None else max(left - len(request), 0), counted=True)

    def _pump(self, source, target, left=None, counted=False):
        with suppress(OSError):
            while left != 0 and (data := source.recv(1 << 16)):
                data, left = data[:left], left and left - len(data[:left])
                target.sendall(data)
                self.received += counted and len(data)
        self.cuts += left == 0
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR if left == 0 else socket.SHUT_WR)

    @staticmethod
    def _request(here):
        """Return a whole request; a client that waits for leave to send the rest of it gets it."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += here.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        if b"Expect:" in head:
            here.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        fields = [line for line in head.split(b"\r\n") if not line.startswith(b"Expect:")]
        length = next((int(line[15:]) for line in fields if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += here.recv(1 << 16)
        return b"\r\n".join(fields) + b"\r\n\r\n" + body


def film(number, lines=40):
    """Return a subtitle in which two people take turns."""
    cues = []
    for line in range(lines):
        start = line * 2 + (line // 8) * 20  # scenes of eight lines
        clock = f"00:{start // 60:02d}:{start % 60:02d}"
        said = f"In film{number} we say{line} what{number} nobody{line} hears{number}."
        cues.append(f"{line + 1}\n{clock},000 --> {clock},900\n- {said}\n")
    return "\n".join(cues)


@contextmanager
def broken_wire(url, environment, folder, **how):
    """Set the environment to a wire that leads to a server.

    Args:
        url: of the server.
        environment: gives the environment for an address.
        folder: for copies of objects.
        how: of `Wire`.
    """
    wire = Wire(urlsplit(url).port, **how)
    try:
        with pointing_to(environment(wire.url), folder):
            yield wire
    finally:
        wire.close()


def archive_of_films(films):
    """Return the bytes of a zip of as many subtitles, and beside each 2 MB of noise."""
    packed, noise = io.BytesIO(), random.Random(5)
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(films):
            archive.writestr(f"subs/large {number}.bin", noise.randbytes(2 << 20))
            archive.writestr(f"subs/film {number}.srt", film(number), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
