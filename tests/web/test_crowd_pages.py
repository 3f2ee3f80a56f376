"""The pages of a crowd as a browser's requests meet them: who may do what, what is stored, what a page lets out."""

import json
import re
import uuid

import pytest

from crowd_batches import HOSTILE, answer_all, judging, labelling
from edos_dataset.crowd.assignments import Work
from edos_dataset.crowd.store import invite
from edos_dataset.web.crowd import pages

pytest.importorskip("starlette", reason='the pages need starlette: pip install "edos-dataset[crowd]"')
from starlette.testclient import TestClient  # noqa: E402

from edos_dataset.web.crowd.server import make_app  # noqa: E402
from edos_dataset.web.crowd.visitors import Doors  # noqa: E402


@pytest.fixture
def work(tmp_path):
    batch, kept = labelling(tmp_path / "batch")
    return Work(kept, batch)


@pytest.fixture
def browser(work):
    """Make a browser that has come in as a new worker, or as nobody."""

    def make(worker="", base="http://testserver", **doors):
        client = TestClient(make_app(work, Doors("secret", **doors)), base_url=base, follow_redirects=True)
        if worker:
            page = client.get(f"/w/{invite(work.store, [worker])[worker]}")
            client.post("/consent", data={"csrf": csrf(page)})
        return client

    return make


def csrf(page):
    return re.search(r'name="csrf" content="(\w+)"', page.text)[1]


def opened(client):
    """Open what comes next; return the assignment, and how its page asks to answer."""
    page = client.get("/")
    assignment = int(page.url.path.rpartition("/")[2])

    def answer(place, value, typed=None, **more):
        body = {"assignment": assignment, "place": place, "value": value, "typed": typed, "id": uuid.uuid4().hex}
        return client.post("/api/answer", json=body | more, headers={"x-csrf-token": csrf(page)})

    return assignment, answer


def test_a_worker_comes_in_agrees_answers_goes_on_and_hands_in(work, browser):
    token = invite(work.store, ["anna"])["anna"]
    client = TestClient(make_app(work, Doors("secret")))
    page = client.get(f"/w/{token}")
    assert "18 or older" in page.text and "0.40 US dollars" in page.text and "about 1 minute" in page.text
    cookie = page.history[0].headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    page = client.post("/consent", data={"csrf": csrf(page)})
    assert page.url.path == "/work/1" and page.text.count("<dt>") >= 41
    _, answer = opened(client)
    hit = client.get("/api/hit/1").json()
    assert len(hit["items"]) == 4 and hit["labels"]["sad"]["example"]
    assert answer(0, "sad").status_code == 200
    assert answer(1, None, "weary").status_code == 200

    elsewhere = TestClient(make_app(work, Doors("secret")))  # another browser, after a restart
    assert elsewhere.get(f"/w/{token}").url.path == "/work/1"
    items = elsewhere.get("/api/hit/1").json()["items"]
    assert [item["answer"] for item in items] == [
        {"value": "sad", "typed": None}, {"value": None, "typed": "weary"}, None, None,
    ]  # fmt: skip
    _, answer = opened(elsewhere)
    finish = {"headers": {"x-csrf-token": csrf(elsewhere.get("/work/1"))}, "json": {"assignment": 1}}
    assert elsewhere.post("/api/finish", **finish).json() == {"missing": 2}
    assert all(answer(place, "sad").status_code == 200 for place in (2, 3))
    assert elsewhere.post("/api/finish", **finish).json() == {"missing": None}
    done = elsewhere.get("/work/1")
    assert done.url.path == "/done/1" and re.search(r"\d of 2 quiz questions were right", done.text)
    assert answer(0, "proud").status_code == 409


def test_a_page_tells_nothing_that_a_worker_must_not_know(work, browser):
    client = browser("cleo")
    number, _ = opened(client)
    shown = client.get(f"/api/hit/{number}").json()
    known = {"turns", "speakers", "choices", "kind", "answer", "told"}
    assert {key for item in shown["items"] for key in item} == known
    assert {item["kind"] for item in shown["items"]} == {"labelling"}
    assert "film#" not in json.dumps(shown) and not {"quiz", "truth"} & set(re.findall(r"\w+", json.dumps(shown)))


def test_requests_of_others_change_nothing(work, browser):
    anna, ben = browser("anna"), browser("ben")
    number, answer = opened(anna)
    body = {"assignment": number, "place": 0, "value": "sad", "id": uuid.uuid4().hex}
    page = ben.get("/")
    token = {"x-csrf-token": csrf(page)}
    assert anna.post("/api/answer", json=body).status_code == 403
    assert anna.post("/api/answer", json=body, headers=token).status_code == 403
    assert ben.post("/api/answer", json=body, headers=token).status_code == 409
    assert ben.get(f"/api/hit/{number}").status_code == 409
    own = {"x-csrf-token": csrf(anna.get("/"))}
    assert anna.post("/api/answer", json=body, headers=own | {"origin": "https://evil.example"}).status_code == 403
    assert anna.post("/api/answer", json=body, headers=own | {"origin": "null"}).status_code == 403
    assert browser().post("/api/answer", json=body, headers=own).status_code == 401
    assert browser().get("/w/unknown").status_code == 404
    assert not work.store.read("SELECT * FROM answers")
    assert anna.post("/api/answer", json=body, headers=own | {"origin": "http://testserver"}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"assignment": "1"}', b'{"assignment": 1}', b"[" * 9000, b"\xff", b'{"assignment": true}'],
)
def test_broken_requests_are_told_so(work, browser, body):
    client = browser("anna")
    number, _ = opened(client)
    headers = {"x-csrf-token": csrf(client.get("/")), "content-type": "application/json"}
    told = client.post("/api/answer", content=body, headers=headers)
    assert told.status_code == 400 and told.json()["error"] and not work.store.read("SELECT * FROM answers")


@pytest.mark.parametrize(
    "field", [{"place": 1e9}, {"place": "0"}, {"value": {}}, {"seconds": float("1e400")}, {"id": 5}]
)
def test_strange_answers_are_refused(work, browser, field):
    client = browser("anna")
    number, _ = opened(client)
    body = {"assignment": number, "place": 0, "value": "sad", "id": uuid.uuid4().hex} | field
    headers = {"x-csrf-token": csrf(client.get("/")), "content-type": "application/json"}
    assert client.post("/api/answer", content=json.dumps(body), headers=headers).status_code == 400
    assert not work.store.read("SELECT * FROM answers")


def test_every_page_forbids_scripts_of_others_and_asks_no_other_site(work, browser):
    client = browser("anna", open=True)
    assert work.batch.kind == "labelling"
    for address in ("/", "/tutorial", "/admin", "/nothing", "/static/work.js", "/api/hit/1"):
        headers = client.get(address).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["script-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and policy["form-action"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
    for name in (path.name for path in (pages.files("edos_dataset.web.crowd") / "assets").iterdir()):
        text = pages.asset(name)
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text), name
        assert not re.search(r"<script(?! type=\"module\" src)|\son\w+=|style=\"|innerHTML|insertAdjacentHTML", text), (
            name
        )


def test_texts_of_films_and_people_are_escaped(work, browser, tmp_path):
    client = browser("anna", open=True, consent=HOSTILE)
    hit = client.get("/api/hit/1")
    assert hit.headers["content-type"] == "application/json"
    page = TestClient(make_app(work, Doors("secret", consent=HOSTILE))).get(f"/w/{invite(work.store, ['ben'])['ben']}")
    assert "&lt;script&gt;alert(1)" in page.text and "<script>alert" not in page.text
    told = client.post("/join", data={"csrf": csrf(page), "name": HOSTILE})
    assert "<script>alert" not in told.text


def test_requests_that_are_too_many_or_too_large_are_refused(work, browser):
    client = browser("anna")
    assert client.post("/api/answer", content=b"x" * 20_000).status_code == 413
    assert client.post("/api/answer", content=(b"x" * 9_000 for _ in range(3))).status_code == 413
    guessing = browser()
    token = csrf(guessing.get("/admin"))
    statuses = [guessing.post("/admin/login", data={"csrf": token, "password": f"p{n}"}).status_code for n in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    slow = browser(per_host=1.0)
    answers = [slow.get("/static/style.css") for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_anybody_may_join_where_the_door_is_open_and_nobody_twice_under_a_name(work, browser):
    client = browser(open=True)
    page = client.post("/join", data={"csrf": csrf(client.get("/")), "name": "anna"})
    assert "Before you begin" in page.text
    for name, status in (("anna", 409), ("two words", 400), ("", 400)):
        other = browser(open=True)
        assert other.post("/join", data={"csrf": csrf(other.get("/")), "name": name}).status_code == status
    closed = browser()
    page = closed.get("/")
    assert "/join" not in page.text
    assert closed.post("/join", data={"csrf": csrf(page), "name": "ben"}).status_code == 403


def test_the_live_page_needs_the_password(work, browser):
    invite(work.store, ["anna"])
    answer_all(work, "anna")
    client = browser(base="https://testserver")
    assert client.get("/admin/progress").status_code == 403
    page = client.get("/admin")
    page = client.post("/admin/login", data={"csrf": csrf(page), "password": "wrong"})
    assert page.status_code == 403 and "not the password" in page.text
    assert client.post("/admin/login", data={"csrf": "x", "password": "secret"}).status_code == 403
    page = client.post("/admin/login", data={"csrf": csrf(page), "password": "secret"})
    cookie = page.history[0].headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/admin", "Secure"))
    told = client.get("/admin/progress").json()
    assert told["assignments"] == 1 and "anna" not in json.dumps(told)


def test_workers_of_mechanical_turk_come_by_the_address_of_the_question(work, browser):
    client = browser(base="https://testserver", mturk=True)
    hit, host = work.batch.hits[1].id, "https://workersandbox.mturk.com"
    asked = {"hit": hit, "hitId": "theirs", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    assert "Accept the HIT" in client.get("/mturk", params=asked).text and not client.cookies
    asked |= {"assignmentId": "as1", "workerId": "A1", "turkSubmitTo": host}
    assert client.get("/mturk", params=asked | {"turkSubmitTo": "https://evil.example"}).status_code == 400
    page = client.get("/mturk", params=asked)
    assert "Before you begin" in page.text
    entered = page.history[0].headers
    assert "SameSite=None; Secure; Partitioned" in entered["set-cookie"]
    assert host in entered["content-security-policy"].split("frame-ancestors")[1]
    target = re.search(r'name="next" value="([^"]+)"', page.text)[1].replace("&amp;", "&")
    page = client.post("/consent", data={"csrf": csrf(page), "next": target})
    number, answer = int(page.url.path.rpartition("/")[2]), {"x-csrf-token": csrf(page)}
    for place in range(4):
        body = {"assignment": number, "place": place, "value": "sad", "id": uuid.uuid4().hex}
        assert client.post("/api/answer", json=body, headers=answer).status_code == 200
    client.post("/api/finish", json={"assignment": number}, headers=answer)
    done = client.get("/mturk", params=asked)
    assert f'action="{host}/mturk/externalSubmit"' in done.text and 'name="assignmentId" value="as1"' in done.text
    assert browser().get("/mturk", params=asked).status_code == 404
    assert browser("ben").post("/consent", data={"csrf": "x", "next": "https://evil.example"}).status_code == 403


def test_a_bonus_task_is_known_as_one_and_its_truth_is_not(tmp_path):
    batch, kept = judging(tmp_path / "batch")
    client = TestClient(make_app(Work(kept, batch), Doors("secret")))
    page = client.get(f"/w/{invite(kept, ['anna'])['anna']}")
    client.post("/consent", data={"csrf": csrf(page)})
    number, answer = opened(client)
    items = client.get(f"/api/hit/{number}").json()["items"]
    assert sorted(item["kind"] for item in items) == ["bonus", "judging"]
    assert {key for item in items for key in item} == {"turns", "speakers", "choices", "kind", "answer", "told"}
    place = [item["kind"] for item in items].index("bonus")
    assert answer(place, ["good"] * 5).json() == {}
    assert answer(place, ["bad"] * 5, check=True).json() == {"bonus": False}
