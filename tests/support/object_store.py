"""An S3 server of this process, and a wire to it that breaks."""

import random
import socket
import threading
from contextlib import contextmanager, suppress

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
        with pointing_to(f"http://{host}:{port}", folder):
            yield boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    finally:
        server.stop()


@contextmanager
def pointing_to(endpoint, folder):
    """Set the environment of this process, and of those that it starts, to an endpoint."""
    from edos_dataset.runs.stores import addresses

    with pytest.MonkeyPatch.context() as patch:
        given = {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1", "ENDPOINT_URL": endpoint}
        for name, value in given.items():
            patch.setenv(f"AWS_{name}", value)
        patch.setenv("EDOS_COPIES", str(folder))
        addresses._store.cache_clear()
        yield
    addresses._store.cache_clear()


class Wire:
    """A port of this machine that leads to another one, counts bytes, and cuts connections at random ones.

    Args:
        port: where it leads.
        cut: share of the connections that are cut, after 1 byte to `longest` from either side.
        longest: see `cut`.
    """

    def __init__(self, port, cut=0.0, longest=5_000):
        self.to, self.cut, self.longest = port, cut, longest
        self.random, self.cuts, self.connections, self.received = random.Random(3), 0, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                self.connections += 1
                left = self.random.randint(1, self.longest) if self.random.random() < self.cut else None
                threading.Thread(target=self._carry, args=(here, left), daemon=True).start()

    def _carry(self, here, left):
        there = socket.create_connection(("127.0.0.1", self.to))
        budget, lock = [left], threading.Lock()

        def pump(source, target, counted):
            with suppress(OSError):
                while data := source.recv(1 << 16):
                    with lock:
                        if budget[0] is not None:
                            data, budget[0] = data[: budget[0]], budget[0] - len(data[: budget[0]])
                    target.sendall(data)
                    self.received += len(data) * counted
                    if budget[0] == 0:
                        self.cuts += 1
                        break
                else:
                    with suppress(OSError):
                        target.shutdown(socket.SHUT_WR)
                    return
            for side in (here, there):
                with suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)

        back = threading.Thread(target=pump, args=(there, here, 1), daemon=True)
        back.start()
        pump(here, there, 0)
        back.join()
        here.close()
        there.close()


def film(number, lines=40):
    """Return a subtitle in which two people take turns."""
    cues = []
    for line in range(lines):
        start = line * 2 + (line // 8) * 20  # scenes of eight lines
        clock = f"00:{start // 60:02d}:{start % 60:02d}"
        said = f"In film{number} we say{line} what{number} nobody{line} hears{number}."
        cues.append(f"{line + 1}\n{clock},000 --> {clock},900\n- {said}\n")
    return "\n".join(cues)
