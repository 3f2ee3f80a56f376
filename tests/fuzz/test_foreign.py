"""What strangers send and give: requests to the crowd's server and its database, answers of other tools, judgements of
audits, answers of a store, and books of any size.
"""

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import strategies as st

from crowd_batches import answer_all, judging, labelling
from edos_dataset.commands.crowd_batches import IMPORTS, open_answers, read_import
from edos_dataset.crowd.assignments import Work, answer_lines
from edos_dataset.crowd.batches import ANSWERS
from edos_dataset.crowd.progress import progress
from edos_dataset.crowd.store import Store, invite
from edos_dataset.runs.stores import store as store_module
from edos_dataset.runs.stores.paths import place_of, uploaded
from edos_dataset.runs.stores.store import StoreError
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.formats import BOOK_FORMATS
from edos_dataset.sources.parsed import ReadError
from fuzzing import edos, fuzz, mutated
from object_store import aws, pointing_to

pytestmark = pytest.mark.slow

NUMBERS = (b"-1", b"1e999", b"NaN", b"9223372036854775808", b"1" + b"0" * 400, b"null", b"true", b"[]", b"{}", b'""')
JSON = (*NUMBERS, b"[" * 3_000, b'{"a":' * 3_000, b'"\\ud800"', b"\x00", b"\xff", b'"[/b]"', b",", b'"', b"\n")


# --- the crowd's server ---------------------------------------------------------------------------------------------

PARTS = st.one_of(
    st.sampled_from(
        [
            "",
            "work",
            "done",
            "api",
            "hit",
            "answer",
            "finish",
            "w",
            "join",
            "consent",
            "mturk",
            "admin",
            "login",
            "1",
            "2",
        ]
        + ["progress", "static", "crowd.js", "..", "%2e%2e", "%00", "9" * 30, "-1", "\u0663", "tutorial"]
    ),
    st.text(max_size=6),
)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=5),
    st.sampled_from(["sad", "good", 10**400, 1 << 63, "\ud800"]),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
BODY = st.fixed_dictionaries(
    {},
    optional={
        "assignment": st.just(1) | VALUES,
        "place": st.integers(-1, 4) | VALUES,
        "value": st.sampled_from(["sad", None, ["good", "bad"]]) | VALUES,
        "typed": st.none() | VALUES,
        "id": st.sampled_from(["0" * 32, "a" * 32]) | VALUES,
        "seconds": VALUES,
        "check": VALUES,
    },
)
REQUEST = st.tuples(
    st.sampled_from(["GET", "POST", "HEAD", "PUT", "BREW"]),
    st.one_of(st.just(["api", "answer"]), st.just(["api", "finish"]), st.lists(PARTS, max_size=4)),
    st.dictionaries(
        st.sampled_from(["origin", "cookie", "host", "x-forwarded-for", "content-length", "range", "content-type"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20),
        max_size=2,
    ),
    st.one_of(
        BODY.map(lambda body: json.dumps(body).encode()), mutated([b'{"assignment": 1}', b"name=a&csrf=b"], JSON)
    ),
)


def check_requests(requests: list[Any], folder: Path) -> None:
    """Whatever is asked, the server answers, without an error of its own."""
    from starlette.testclient import TestClient

    from edos_dataset.web.crowd.server import make_app
    from edos_dataset.web.crowd.visitors import FIELD, HEADER, Doors

    def csrf(page: Any) -> str:  # noqa: ANN401
        return re.search(r'name="csrf" content="(\w+)"', page.text)[1]

    batch, store = labelling(folder / "batch")
    client = TestClient(make_app(Work(store, batch), Doors("secret", open=True, per_host=1e6)), follow_redirects=True)
    page = client.get(f"/w/{invite(store, ['ann'])['ann']}")
    client.post("/consent", data={"csrf": csrf(page)})
    token = csrf(client.get("/work/1"))
    for method, parts, headers, body in requests:
        address = "http://testserver/" + "/".join(
            quote(part.encode("utf-8", "replace"), safe="%./?&=") for part in parts
        )
        given = {HEADER: token, FIELD: token} | {name: text.encode("latin-1") for name, text in headers.items()}
        answer = client.request(method, address, headers=given, content=body)
        assert answer.status_code < 500 and "Traceback" not in answer.text, (method, address, headers, body)
    list(answer_lines(store, batch, True))
    progress(Work(store, batch))


def test_requests() -> None:
    pytest.importorskip("starlette")
    fuzz(st.lists(REQUEST, min_size=1, max_size=8), check_requests)


TABLES = {
    "answers": ("number", "given", "assignment", "place", "value", "typed", "seconds", "checked", "at"),
    "assignments": ("id", "hit", "worker", "platform", "began", "seen", "finished", "released"),
    "workers": ("id", "token", "origin", "made", "consented"),
    "meta": ("name", "value"),
}
CELL = st.one_of(
    st.none(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(),
    st.binary(max_size=4),
    st.sampled_from(["", "sad", "x", "[", "5", '["good"]', "[" * 5_000 + "]" * 5_000, "NaN", '"\\ud800"', 99, -1]),
)
CHANGE = st.one_of(
    st.sampled_from([(table, column) for table, columns in TABLES.items() for column in columns]).flatmap(
        lambda place: st.tuples(st.just(place), CELL)
    ),
    st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=40)),
)


def check_database(example: tuple[bool, list[Any]], folder: Path) -> None:
    """A damaged or foreign file of answers is read, or refused with a sentence."""
    judged, changes = example
    batch, store = (judging if judged else labelling)(folder / "batch")
    invite(store, ["ann", "bob"])
    answer_all(Work(store, batch), "ann")
    Work(store, batch).hand_out("bob")
    store.read("PRAGMA wal_checkpoint(TRUNCATE)")
    path = folder / "batch" / ANSWERS
    for where, value in changes:
        if isinstance(where, int):
            data = bytearray(path.read_bytes())
            data[where % len(data) : where % len(data) + len(value)] = value
            path.write_bytes(data)
            continue
        try:
            with sqlite3.connect(path) as connection:
                connection.execute(f"UPDATE {where[0]} SET {where[1]} = ?", (value,))  # noqa: S608
                connection.commit()
            connection.close()
        except (sqlite3.Error, UnicodeDecodeError):  # a message on damage may be no UTF-8
            pass
    for run in (lambda: open_answers(folder / "batch"), lambda: _serve(batch, path)):
        try:
            run()
        except ValueError as error:
            assert 0 < len(str(error)) < 4_000 and not isinstance(error, UnicodeError | json.JSONDecodeError), error
    for command in ("workers", "agreement", "judgements"):
        edos("crowd", command, folder / "batch")


def _serve(batch: Any, path: Path) -> None:  # noqa: ANN401
    work = Work(Store(path), batch)
    progress(work)
    for worker in ("ann", "bob"):
        if given := work.hand_out(worker):
            work.answered(given)


def test_database() -> None:
    fuzz(st.tuples(st.booleans(), st.lists(CHANGE, min_size=1, max_size=3)), check_database)


# --- files of other tools -------------------------------------------------------------------------------------------


def exports(hit: str, item: str) -> dict[str, bytes]:
    """Return an export of each tool that answers one question."""
    result = [{"type": "choices", "from_name": "label", "value": {"choices": ["sad"]}}]
    one = {"completed_by": {"id": 7}, "lead_time": 2.5, "updated_at": "2026-01-04", "result": result}
    table = f"META_hit,META_item,participant_id,seconds,label,other\n{hit},{item},p,2.5,sad,\n"
    turk = f"Input.hit,WorkerId,AssignmentStatus,WorkTimeInSeconds,Answer.label1\n{hit},w,Approved,9,sad\n"
    answers = {"label": [{"value": "sad", "user_id": "u"}]}
    return {
        "argilla": json.dumps([{"metadata": {"hit": hit, "item": item}, "responses": answers}]).encode(),
        "label-studio": json.dumps([{"data": {"hit": hit, "item": item}, "annotations": [one]}]).encode(),
        "prolific-csv": table.encode(),
        "mturk-csv": turk.encode(),
    }


def test_imports(tmp_path: Path) -> None:
    batch, _ = labelling(tmp_path / "batch")
    made = exports(batch.hits[0].id, next(item.id for item in batch.hits[0].items if item.kind == "label"))
    assert made.keys() == IMPORTS.keys()

    def check_imports(example: tuple[str, bytes], folder: Path) -> None:
        """Answers of another tool are read, or refused with a sentence."""
        tool, data = example
        (folder / "export").write_bytes(data)
        out = folder / "answers.jsonl"
        done = edos("crowd", "import", folder / "export", "--from", tool, "--batch", tmp_path / "batch", "--out", out)
        assert out.exists() == (done.exit_code == 0)
        if done.exit_code == 0:
            read_import(folder / "export", tool, tmp_path / "batch")

    fuzz(st.one_of([st.tuples(st.just(tool), mutated([data], JSON)) for tool, data in made.items()]), check_imports)


LABELS = {"step": 1, "method": "spread", "label": "sad", "draw": "random", "verdict": "right", "rows": 3, "own": None}
GROUPS = {"source": "s", "document_id": "d", "language": "en", "split": "train"}
JUDGED = [
    {
        "reader": "a",
        "config": "os",
        "labels": ["sad", "joy"],
        "judgements": [LABELS | {"item": "i", "digest": "x"}] * 2,
    },
    {
        **{"kind": "subtitles", "unit": "dialogues", "config": "os", "reader": "a"},
        "judgements": [{"item": "i", "digest": "x", "errors": ["two"], **GROUPS}],
    },
]


def check_judgements(data: bytes, folder: Path) -> None:
    """Judgements of readers are counted, or refused with a sentence."""
    (folder / "judged.json").write_bytes(data)
    edos("audit", folder / "judged.json")
    edos("audit", folder / "judged.json", "--json", "--by", "document_id")


def test_judgements() -> None:
    fuzz(mutated([json.dumps(one).encode() for one in JUDGED], JSON), check_judgements)


# --- a store --------------------------------------------------------------------------------------------------------

LISTING = b"""<?xml version="1.0"?><ListBucketResult><Name>b</Name><Prefix>k/</Prefix><KeyCount>2</KeyCount>
<IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>k/c/</Prefix></CommonPrefixes><Contents><Key>k/a.srt</Key>
<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"x"</ETag><Size>3</Size></Contents><Contents><Key>k/b.srt
</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"y"</ETag><Size>0</Size></Contents>
</ListBucketResult>"""
WORDS = (
    *(b"true", b"<NextContinuationToken>t</NextContinuationToken>", b"-1", b"99999999999999999999", b"k/../x", b"/"),
    *(b"2026-01-01T00:00:00", b"<Key>", b"</Key>", b"<Contents>", b"&lol;", b"<!DOCTYPE d [", b"\x00", b"\xff", b""),
)
HEADERS = {
    "ETag": ['"1"', "", "x", '"\u00e9"'],
    "Last-Modified": ["Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T00:00:00", "", "99"],
    "Content-Range": ["bytes 0-2/3", "bytes 0-2/*", "bytes 5-2/3", "bytes 0-99999999999999999999/3", "x"],
    "Location": ["/", "/b/k", "http://127.0.0.1:9/", "x"],
    "Content-Type": ["application/xml", "text/html; charset=x"],
    "Content-Encoding": ["gzip", "x"],
    "x-amz-meta-sha256": ["", "x"],
}
ANSWER = st.tuples(
    st.sampled_from([200, 206, 206, 204, 301, 302, 304, 307, 400, 403, 404, 412, 416, 429, 500]),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in HEADERS.items()}),
    mutated([LISTING, b"abc", b""], WORDS),
    st.sampled_from([0, 0, 0, 1, -1]),
)


class Server(ThreadingHTTPServer):
    """A server that gives the answers of `left`, the last one again and again."""

    left: list[Any]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        left = self.server.left
        status, headers, body, more = left.pop(0) if len(left) > 1 else left[0]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(max(len(body) + more, 0)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def strange_store() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _upload(path: Any) -> None:  # noqa: ANN401
    with uploaded(path) as temporary:
        temporary.write_bytes(b"abc")


def test_answers_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a store answers, a file is read, or an error of files says what is wrong."""
    pytest.importorskip("obstore")
    monkeypatch.setattr(store_module, "TRIES", 2)
    monkeypatch.setattr(store_module, "WAIT", 0.001)

    def check_store(answers: list[Any], folder: Path) -> None:
        for use in (
            lambda path: list(path.below()),
            lambda path: path.is_dir(),
            lambda path: path.read_bytes(),
            lambda path: path.stat(),
            _upload,
            lambda path: path.unlink(),
        ):
            server.left = list(answers)
            try:
                use(place_of("s3://b/k"))
            except (OSError, StoreError) as error:
                assert 0 < len(str(error)) < 2_000
                assert "Traceback" not in str(error)

    with strange_store() as server, pointing_to(aws(f"http://127.0.0.1:{server.server_port}"), tmp_path):
        fuzz(st.lists(ANSWER, min_size=1, max_size=3), check_store)


# --- books ----------------------------------------------------------------------------------------------------------

TALK = [
    "“Will you come?” asked Tom.",
    "“No,” said Ann; “not I.”",
    "He went. ‘Oh!’ cried she, ‘so late?’",
    "— Sí —dijo.",
]
TEI = "<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader/><text><body>{}</body></text></TEI>"
BOOKS = {
    ".txt": [("CHAPTER I\n\n" + "\n\n".join(TALK * 20)).encode()],
    ".html": [("<html><body><h2>I</h2>" + "".join(f"<p>{line}</p>" for line in TALK * 20) + "</body></html>").encode()],
    ".xml": [
        TEI.format("".join(f"<sp><speaker>Ann</speaker><p>{line}</p></sp>" for line in TALK * 20)).encode(),
        TEI.format("<div>" + "".join(f"<p><said who='#a'>{line}</said></p>" for line in TALK * 20) + "</div>").encode(),
    ],
}
MARKS = (
    *(
        "“".encode(),
        "”".encode(),
        "‘".encode(),
        "’".encode(),
        "—".encode(),
        b'"',
        b"'",
        b"said ",
        b" said Ann, ",
        b"\n\n",
    ),
    *(
        b"<p>",
        b"</p>",
        b"<div>",
        b"<sp>",
        b"<speaker>",
        b"<said>",
        b"<q>",
        b"&lol;",
        b"<!--",
        b"\x00",
        b"\xff",
        b"Mr. ",
    ),
)
PER_BYTE = 1e-4
"""CPU seconds that a byte of a book may take, on a busy machine."""


def check_books(example: tuple[str, bytes, int, str], folder: Path) -> None:
    """A book of any size is read in time in proportion to it, or refused with a reason."""
    suffix, data, times, language = example
    data = (data * times)[:1_000_000]
    began = time.process_time()
    try:
        book = BOOK_FORMATS[suffix].reader(data, f"x{suffix}", language)
        extract(book.blocks, load_rules(language), Speech())
    except ReadError as error:
        assert error.reason and len(error.detail) < 1_000
    taken = time.process_time() - began
    assert taken < 1 + PER_BYTE * len(data), f"{taken:.1f} s for {len(data):,} bytes"


def test_books() -> None:
    kinds = [
        st.tuples(
            st.just(suffix), mutated(seeds, MARKS), st.sampled_from([1, 1, 10, 100]), st.sampled_from(["en", "de"])
        )
        for suffix, seeds in BOOKS.items()
    ]
    fuzz(st.one_of(kinds), check_books)
