"""Transfers over real connections that are cut, refused and changed under way."""

import base64
import hashlib
import json
import random
import socket
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread

import pytest

from edos_dataset.downloads.transfer import DownloadError, Server, asked_wait, httpx
from edos_dataset.runs.retries import TransientError, call_with_retries

CONTENT = random.Random(0).randbytes(300_000)


@pytest.fixture
def part(tmp_path):
    return tmp_path / "folder" / "en.zip.part"


@pytest.fixture
def server():
    return Server(wait=0.001, timeout=5)


def fetch(server, url, part, progress=lambda *_: None):
    return server.fetch(server.ask(url), part, progress)


def gets(served):
    return [asked for method, asked in served.requests if method == "GET"]


def test_whole_file_and_what_the_server_says(files, server, part):
    sha256, md5 = hashlib.sha256(CONTENT), hashlib.md5(CONTENT)
    headers = {
        "Repr-Digest": f"sha-256=:{base64.b64encode(sha256.digest()).decode()}:",
        "x-goog-hash": f"crc32c=AAAAAA==, md5={base64.b64encode(md5.digest()).decode()}",
    }
    url = files.serve("/en.zip", CONTENT, headers=headers)
    offer = server.ask(url)
    assert (offer.size, offer.sha256, offer.md5) == (len(CONTENT), sha256.hexdigest(), md5.hexdigest())
    assert gets(files.files["/en.zip"]) == []
    seen = []
    assert server.fetch(offer, part, lambda *step: seen.append(step)) == offer
    assert part.read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT)) and seen[-1] == (len(CONTENT), len(CONTENT))


def test_cut_connections_go_on_where_they_stopped(files, server, part):
    url = files.serve(
        "/en.zip", CONTENT, cut_after=[100_000] + [1_000] * 8
    )  # more cuts than tries: those that bring bytes don't count
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT
    ranges = gets(files.files["/en.zip"])
    assert ranges[:3] == [None, "bytes=100000-", "bytes=101000-"] and len(ranges) == 10


def test_a_later_call_goes_on(files, server, part):
    url = files.serve("/en.zip", CONTENT)
    with pytest.raises(KeyboardInterrupt):
        fetch(server, url, part, stop_at(50_000))
    there = part.stat().st_size
    assert 0 < there < len(CONTENT)
    fetch(Server(wait=0.001), url, part)
    assert part.read_bytes() == CONTENT
    assert f"bytes={there}-" in gets(files.files["/en.zip"])


def stop_at(count):
    def progress(done, _):
        if done >= count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("blind", [False, True])
def test_a_changed_file_begins_anew(files, server, part, blind):
    """Also where the server goes on with the new file's bytes, as it should not."""
    url = files.serve("/en.zip", CONTENT)
    with pytest.raises(KeyboardInterrupt):
        fetch(server, url, part, stop_at(50_000))
    new = CONTENT[::-1]
    files.serve("/en.zip", new, blind=blind)
    assert fetch(server, url, part).etag == files.files["/en.zip"].etag
    assert part.read_bytes() == new


def test_changed_between_question_and_transfer(files, server, part):
    url = files.serve("/en.zip", CONTENT)
    offer = server.ask(url)
    files.serve("/en.zip", CONTENT[:1000])
    assert server.fetch(offer, part, lambda *_: None).size == 1000
    assert part.read_bytes() == CONTENT[:1000]


def test_a_part_without_its_state_or_of_another_address_begins_anew(files, server, part):
    part.parent.mkdir()
    part.write_bytes(b"of who knows what")
    url = files.serve("/en.zip", CONTENT)
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT
    other = files.serve("/de.zip", CONTENT[:5000], etag=files.files["/en.zip"].etag)
    fetch(server, other, part)
    assert part.read_bytes() == CONTENT[:5000]


@pytest.mark.parametrize("behaviour", [{"ranges": False}, {"etag": ""}, {"etag": 'W/"weak"'}])
def test_without_ranges_or_what_tells_versions_apart_it_begins_anew(files, server, part, behaviour):
    url = files.serve("/en.zip", CONTENT, cut_after=[100_000], **behaviour)
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT


def test_a_whole_part_is_not_fetched_again(files, server, part):
    url = files.serve("/en.zip", CONTENT)
    fetch(server, url, part)
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT
    assert len(gets(files.files["/en.zip"])) == 1


def test_a_part_longer_than_the_file(files, server, part):
    url = files.serve("/en.zip", CONTENT)
    fetch(server, url, part)
    with part.open("ab") as file:
        file.write(b"more")
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT


def test_failures_that_pass(files, server, part):
    url = files.serve("/en.zip", CONTENT, head=False)
    offer = server.ask(url)
    assert offer.size == len(CONTENT)  # HEAD is not answered
    files.files["/en.zip"].failures = [503, 429, 500, 408]
    server.fetch(offer, part, lambda *_: None)
    assert part.read_bytes() == CONTENT


def test_failures_that_do_not_pass(files, server, part):
    url = files.serve("/en.zip", CONTENT, failures=[503] * 5)
    with pytest.raises(
        DownloadError, match=r"failed at 5 tries \(503 Service Unavailable\): give the same command again later"
    ):
        fetch(server, url, part)
    with pytest.raises(DownloadError, match="answers 404 Not Found: the file may have moved"):
        server.ask(f"{files.url}/other.zip")
    files.serve("/page", b"<html>", headers={"Content-Type": "text/html; charset=utf-8"})
    with pytest.raises(DownloadError, match="gives a web page"):
        server.ask(f"{files.url}/page")
    with pytest.raises(DownloadError, match="failed at 5 tries"):
        server.ask("http://127.0.0.1:9/nobody")


def test_redirections_are_followed(files, server, part):
    files.serve("/latest", b"", headers={"Location": files.serve("/en.zip", CONTENT)})
    assert fetch(server, f"{files.url}/latest", part).url == f"{files.url}/latest"
    assert part.read_bytes() == CONTENT


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_keeps_what_came(files, part):
    """A limit on the size of files stands for the full disk: the write fails in the middle of the file."""
    url = files.serve("/en.zip", CONTENT)
    code = f"""
import resource, pathlib
from edos_dataset.downloads.transfer import Server
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
server = Server()
try:
    server.fetch(server.ask({url!r}), pathlib.Path({str(part)!r}), lambda *_: None)
except OSError as error:
    print(error.strerror, error.filename)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[0] == f"File too large {part}"
    assert 0 < part.stat().st_size <= 100_000
    Server().fetch(Server().ask(url), part, lambda *_: None)
    assert part.read_bytes() == CONTENT
    assert json.loads(part.with_name("en.zip.part.json").read_text())["size"] == len(CONTENT)


def test_nothing_comes_unencrypted_where_it_was_asked_for_encrypted():
    answer = httpx.Response(200, request=httpx.Request("HEAD", "http://mirror.example/en.zip"))
    with pytest.raises(DownloadError, match="leads to http://mirror.example/en.zip, which is not encrypted"):
        Server._offer("https://files.example/en.zip", answer)
    assert Server._offer("http://files.example/en.zip", answer).url == "http://files.example/en.zip"


def test_how_long_to_wait():
    assert asked_wait("7") == 7
    assert asked_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert asked_wait("") is None and asked_wait("soon") is None


def test_more_than_was_agreed_to_does_not_come(files, server, part):
    url = files.serve("/en.zip", b"ten bytes.")
    offer = server.ask(url)
    files.serve("/en.zip", CONTENT)
    with pytest.raises(DownloadError, match="has grown from 10 to 300,000 bytes since it was asked about"):
        server.fetch(offer, part, lambda *_: None)
    assert not part.exists() or part.stat().st_size == 0


def test_a_body_without_end_ends(files, server, part, monkeypatch):
    monkeypatch.setattr("edos_dataset.downloads.transfer._UNSTATED", 50_000)
    chunks = b"".join(b"2710\r\n" + bytes(10_000) + b"\r\n" for _ in range(30))  # no last one
    headers = {"Transfer-Encoding": "chunked"}
    url = files.serve("/en.zip", chunks, headers=headers, without_length=True)
    with pytest.raises(DownloadError, match="sends more than the 50,000 bytes"):
        fetch(server, url, part)
    assert part.stat().st_size <= 50_000


@pytest.mark.parametrize("leads", ["/en.zip", "file:///etc/passwd", "//"])
def test_redirections_that_lead_nowhere(files, server, part, leads):
    url = files.serve("/en.zip", b"", headers={"Location": leads, "Content-Length": "0"})
    with pytest.raises(DownloadError, match="leads nowhere"):
        fetch(server, url, part)


@pytest.mark.parametrize(
    "asked", ["9" * 400, "86400", "Fri, 31 Dec 9999 23:59:59 -2359", "Fri, 31 Dec 2999 23:59:59 GMT"]
)
def test_a_server_that_asks_for_too_much_patience(asked):
    wait = asked_wait(asked)
    assert wait is None or wait > 3600

    class Busy(httpx.BaseTransport):
        def handle_request(self, request):
            return httpx.Response(503, headers={"Retry-After": asked})

    server = Server(wait=0.001)
    server._client = httpx.Client(transport=Busy())
    with pytest.raises(DownloadError, match="asks to wait for|failed at 5 tries"):
        server.ask("http://films.example/en.zip")


@pytest.mark.parametrize("state", ["[" * 5_000, "[]", '{"url": 1}', '{"url": "x", "size": "7"}', '{"size": null}'])
def test_a_damaged_state_begins_anew(files, server, part, state):
    url = files.serve("/en.zip", CONTENT)
    part.parent.mkdir()
    part.write_bytes(CONTENT[:1000])
    part.with_name(f"{part.name}.json").write_text(state)
    fetch(server, url, part)
    assert part.read_bytes() == CONTENT


def test_a_server_that_sends_its_header_byte_by_byte_is_cut_off(part):
    """A byte now and then is enough against every time-out between two bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle():
            with suppress(OSError):
                while True:
                    visitor, _ = listening.accept()
                    Thread(target=feed, args=(visitor,), daemon=True).start()

        def feed(visitor):
            with suppress(OSError), visitor:
                visitor.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while True:
                    visitor.sendall(b"x")
                    time.sleep(0.01)

        Thread(target=trickle, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(DownloadError, match="failed at 5 tries"):
            Server(wait=0.001, timeout=0.05).ask(f"http://127.0.0.1:{listening.getsockname()[1]}/en.zip")
        assert time.monotonic() - began < 60


@pytest.mark.parametrize(("pause", "kept"), [(0.02, True), (0.0, False)])
def test_a_body_that_trickles_is_given_up(files, part, monkeypatch, pause, kept):
    """A byte now and then is enough against every time-out between two bytes; what came stays."""
    monkeypatch.setattr("edos_dataset.downloads.transfer._SLOWEST", 10_000)
    url = files.serve("/en.zip", CONTENT[:3_000])
    server = Server(wait=0.001, timeout=0.1)
    offer = server.ask(url)
    raw = httpx.Response.iter_raw

    def slow(response, *arguments):
        for block in raw(response, *arguments):
            for place in range(0, len(block), 30):
                time.sleep(pause)
                yield block[place : place + 30]

    monkeypatch.setattr(httpx.Response, "iter_raw", slow)
    if not kept:
        server.fetch(offer, part, lambda *_: None)
        assert part.read_bytes() == CONTENT[:3_000]
        return
    with pytest.raises(DownloadError, match="sends fewer than 10,000 bytes a second: what came is kept"):
        server.fetch(offer, part, lambda *_: None)
    assert 0 < part.stat().st_size < 3_000
    monkeypatch.undo()
    server.fetch(offer, part, lambda *_: None)
    assert part.read_bytes() == CONTENT[:3_000]


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5_000, "\u0661" * 12])
def test_a_wait_beyond_all_measure_is_bounded(value):
    assert asked_wait(value) == 1e9
    slept = []
    tries = iter([TransientError("busy", 1e9), None])

    def call():
        if (failure := next(tries)) is not None:
            raise failure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edos_dataset.runs.retries.time.sleep", slept.append)
        call_with_retries(call, lambda error: error, lambda failure: failure, 2, 1.0)
    assert slept == [3_600]
