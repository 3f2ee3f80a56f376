"""A server of this process that speaks Google Cloud Storage's JSON API, with conditions, which the emulator lacks."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from object_store import pointing_to


class UnmetError(Exception):
    """An object is not of the generation that is asked for."""


@contextmanager
def google_server(folder):
    """Start the server and set the environment to it; skip where the emulator or Google's client is not installed.

    Args:
        folder: for copies of objects.

    Yields:
        The server: `url`, `storage`, and `refusals`, statuses that the next requests for contents are answered with.
    """
    pytest.importorskip("google.cloud.storage", reason='gs:// needs pip install "edos-dataset[gs]"')
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="the emulator of gs:// is not installed")
    storage = conditional_storage()
    server = HTTPServer(
        ("127.0.0.1", 0), partial(handler_of(emulator), storage)
    )  # one request at a time: nothing comes between
    server.url, server.storage, server.refusals = f"http://127.0.0.1:{server.server_port}", storage, []
    server.handle_error = lambda *_: None  # connections that are cut
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        with pointing_to({"STORAGE_EMULATOR_HOST": server.url}, folder):
            yield server
    finally:
        server.shutdown()
        server.server_close()


def conditional_storage():
    """Return what the emulator keeps objects in, with conditions."""
    from gcp_storage_emulator.storage import Storage

    class Conditional(Storage):
        """Writes and reads an object only if it is of the generation that the request names, 0 for none."""

        wanted = None

        def create_file(self, bucket_name, file_name, content, file_obj, file_id=None):
            self.check(bucket_name, file_name)
            super().create_file(bucket_name, file_name, content, file_obj, file_id)

        def get_file(self, bucket_name, file_name, show_error=True):
            self.check(bucket_name, file_name)
            return super().get_file(bucket_name, file_name, show_error)

        def check(self, bucket, name):
            there = self.objects.get(bucket, {}).get(name, {"generation": "0"})
            if self.wanted not in (None, there["generation"]):
                raise UnmetError

    return Conditional(use_memory_fs=True)


def handler_of(emulator):
    """Return what answers requests."""

    class Handler(emulator.RequestHandler):
        def answer(self, method):
            """Let the emulator answer, unless the condition is not met, or the request is to be refused."""
            self.storage.wanted = parse_qs(urlsplit(self.path).query).get("ifGenerationMatch", [None])[0]
            # what a cut wire still holds of an earlier test's requests may come now: lists, no contents
            if self.server.refusals and self.path.startswith("/download/"):
                self.send_error(self.server.refusals.pop())
                return
            try:
                method()
            except UnmetError:
                self.send_error(412)

        def do_GET(self):
            self.answer(super().do_GET)

        def do_POST(self):
            self.answer(super().do_POST)

        def do_PUT(self):
            self.answer(super().do_PUT)

        def do_DELETE(self):
            self.answer(super().do_DELETE)

    return Handler
