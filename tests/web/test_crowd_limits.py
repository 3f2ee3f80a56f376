"""What others send cannot stop a crowd's server: numbers, connections, guesses, and a file that was changed."""

import socket
import sqlite3
import threading
import time
from contextlib import suppress

import pytest

from crowd_batches import judging, labelling
from edos_dataset.crowd.assignments import Work, answer_lines
from edos_dataset.crowd.progress import progress
from edos_dataset.crowd.store import Store, invite

pytest.importorskip("starlette", reason='the pages need starlette: pip install "edos-dataset[crowd]"')
import uvicorn  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402
from test_crowd_pages import csrf, opened  # noqa: E402

from edos_dataset.web.crowd.connections import bounded  # noqa: E402
from edos_dataset.web.crowd.server import make_app  # noqa: E402
from edos_dataset.web.crowd.visitors import Doors  # noqa: E402


@pytest.fixture
def work(tmp_path):
    batch, kept = labelling(tmp_path / "batch")
    return Work(kept, batch)


@pytest.fixture
def client(work):
    client = TestClient(make_app(work, Doors("secret")), follow_redirects=True)
    page = client.get(f"/w/{invite(work.store, ['anna'])['anna']}")
    client.post("/consent", data={"csrf": csrf(page)})
    return client


@pytest.mark.parametrize("number", ["1" + "0" * 400, "9" * 5000, "9223372036854775808", "-1", "x", "1.5", "٣"])
def test_a_number_in_an_address_is_one_of_64_bits(client, number):
    for address in ("/work", "/done", "/api/hit"):
        answer = client.get(f"{address}/{number}")
        assert answer.status_code in (404, 409) and "Traceback" not in answer.text


NUMBERS = [("assignment", 1 << 63), ("assignment", -(1 << 70)), ("seconds", 10**400), ("seconds", [1])]


@pytest.mark.parametrize(("name", "value"), [*NUMBERS, ("seconds", "1e999"), ("place", 1 << 80)])
def test_a_number_in_an_answer_is_checked(client, name, value):
    assignment, _ = opened(client)
    token = csrf(client.get(f"/work/{assignment}"))
    body = {"assignment": assignment, "place": 0, "value": "sad", "id": "0" * 32, name: value}
    sent = client.post("/api/answer", json=body, headers={"x-csrf-token": token})
    assert sent.status_code in (400, 409) and sent.json()["error"]


def test_seconds_without_end_are_no_answer(client):
    _, answer = opened(client)
    page = client.get("/work/1")
    body = '{"assignment": 1, "place": 0, "value": "sad", "id": "' + "0" * 32 + '", "seconds": Infinity}'
    sent = client.post("/api/answer", content=body, headers={"x-csrf-token": csrf(page)})
    assert sent.status_code == 400


def test_guesses_of_a_password_are_counted_whatever_addresses_are_stated(work):
    app, answers = make_app(work, Doors("secret")), []
    for guess in range(60):
        visitor = TestClient(app, client=(f"10.0.0.{guess}", 1), follow_redirects=True)
        page = visitor.get("/admin")
        answers.append(visitor.post("/admin/login", data={"csrf": csrf(page), "password": "x"}).status_code)
    assert 429 in answers and answers.count(403) < 40


DAMAGED = [
    ("value", "[" * 100_000 + "]" * 100_000),
    ("value", "{"),
    ("value", b"\xff\x00"),
    ("value", "5"),
    ("value", None),
    ("value", '["good", "splendid"]'),
    ("place", -1),
    ("place", 99),
    ("place", b"\xff"),
    ("typed", b"\xff"),
]


@pytest.mark.parametrize(("column", "value"), DAMAGED)
def test_answers_that_this_package_never_wrote_are_told(work, client, column, value):
    _, answer = opened(client)
    assert answer(0, "sad").status_code == 200
    with sqlite3.connect(work.store.path) as connection:
        connection.execute(f"UPDATE answers SET {column} = ?", (value,))
    with pytest.raises(ValueError, match="is damaged, or was changed by another program"):
        list(answer_lines(work.store, work.batch, True))
    if column != "typed":
        with pytest.raises(ValueError, match="the answer with the number 1 is none"):
            progress(work)
    for page in ("/api/hit/1", "/done/1"):
        with sqlite3.connect(work.store.path) as connection:
            connection.execute("UPDATE assignments SET finished = ?", (None if "hit" in page else 1.0,))
        assert client.get(page).status_code == 400


@pytest.mark.parametrize(
    "damage", ["UPDATE answers SET value = CAST(x'80' AS TEXT)", "DROP TABLE answers", "ALTER TABLE answers DROP value"]
)
def test_a_database_that_is_damaged_while_it_is_open(work, client, damage):
    _, answer = opened(client)
    assert answer(0, "sad").status_code == 200
    with sqlite3.connect(work.store.path) as connection:
        connection.execute(damage)
    with pytest.raises(ValueError, match="is damaged, or was changed by another program"):
        progress(work)


STRANGE = [
    "UPDATE assignments SET seen = x'ff'",
    "UPDATE assignments SET finished = 'yesterday'",
    "UPDATE assignments SET hit = x'00'",
    "UPDATE workers SET consented = 'x'",
    "UPDATE meta SET value = x'ff' WHERE name = 'secret'",
    "ALTER TABLE answers RENAME COLUMN typed TO written",
]


@pytest.mark.parametrize("change", STRANGE)
def test_a_file_with_values_of_other_types_is_not_served(work, client, change):
    opened(client)
    with sqlite3.connect(work.store.path) as connection:
        connection.execute(change)
    with pytest.raises(ValueError, match="is damaged|no file of answers"):
        Store(work.store.path)


def test_a_task_of_a_batch_that_was_rewritten_is_not_shown(work, client):
    _, answer = opened(client)
    with sqlite3.connect(work.store.path) as connection:
        connection.execute("UPDATE assignments SET hit = 'elsewhere'")
    assert client.get("/api/hit/1").status_code == answer(0, "sad").status_code == 409
    assert client.get("/").url.path == "/work/2"
    assert progress(work)["open"] == 1


def test_half_a_character_is_no_label_of_ones_own(client):
    opened(client)
    body = '{"assignment": 1, "place": 0, "value": null, "typed": "\\ud800", "id": "' + "0" * 32 + '"}'
    sent = client.post("/api/answer", content=body, headers={"x-csrf-token": csrf(client.get("/work/1"))})
    assert sent.status_code == 400 and "this is no answer" in sent.json()["error"]


def test_grades_that_are_too_few_are_told(tmp_path):
    batch, kept = judging(tmp_path / "batch")
    work = Work(kept, batch)
    invite(work.store, ["anna"])
    given = work.hand_out("anna")
    with sqlite3.connect(work.store.path) as connection:
        row = ("0" * 32, given.id, 0, '["good"]', None, 1.0, 0, 1.0)
        connection.execute(
            "INSERT INTO answers (given, assignment, place, value, typed, seconds, checked, at) VALUES "
            "(?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
    with pytest.raises(ValueError, match="the answer with the number 1 is none"):
        progress(work)


def test_a_page_of_the_file_that_is_damaged_late_is_told(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    root = store.read("SELECT rootpage FROM sqlite_master WHERE name = 'answers'")[0][0]
    store.read("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(store.path.read_bytes())
    data[4096 * (root - 1) : 4096 * root] = b"\x7f" * 4096
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(data)
    fresh = Store(damaged)
    with pytest.raises(ValueError, match="is damaged"):
        fresh.read("SELECT * FROM answers")


def test_a_schema_that_is_no_text_is_told(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    store.read("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(store.path.read_bytes().replace(b"ON answers (", b"\x80N answers ("))
    with pytest.raises(ValueError, match="is damaged|no file of answers"):
        Store(damaged)


@pytest.fixture
def port():
    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http=bounded(most=5, patience=0.4), log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(60)


def asks(port):
    with socket.create_connection(("127.0.0.1", port), 5) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return visitor.recv(100)


def test_connections_that_ask_for_nothing_keep_nobody_out(port):
    idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(20)]
    assert b"200" in asks(port)
    assert idle[0].recv(1) == b"", "the first of them was closed to make room"
    for each in idle:
        each.close()


def test_a_request_that_comes_byte_by_byte_is_cut_off(port):
    with socket.create_connection(("127.0.0.1", port), 5) as slow, suppress(OSError):
        began = time.monotonic()
        while time.monotonic() - began < 4:
            slow.sendall(b"G")
            time.sleep(0.05)
        raise AssertionError("it was heard for ever")
    assert b"200" in asks(port)
