"""The answers of the EDOS crowd, given once more on our pages, agree as they do in the authors' file."""

import os
import re
import uuid
from collections import Counter
from pathlib import Path

import pytest

from command_line import edos
from crowd_tables import answers_of
from edos_dataset.crowd.agreement import measure
from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.assignments import Work
from edos_dataset.crowd.batches import ANSWERS, Batch, write_batch
from edos_dataset.crowd.hits import label_hits
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.store import Store, invite
from edos_dataset.labels import LABELS

pytest.importorskip("starlette", reason='the pages need starlette: pip install "edos-dataset[crowd]"')
MOST_HITS = 50
EVERY = 60
"""One in so many of the 10,250 tasks."""


def some_of(path):
    """Return some dialogues of the authors' file that have text and three answers, and these."""
    whole = read_answers(path)
    given = {}
    for task, answer in zip(whole.task, whole.given, strict=True):
        given.setdefault(task, []).append(answer)
    rows = [row for row in range(0, len(whole.tasks), EVERY) if len(given.get(row, ())) == 3 and whole.dialogues[row]]
    return [whole.dialogues[row] for row in rows], [given[row] for row in rows]


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real data")
def test_what_the_crowd_answered_gives_the_same_labels_and_kappa_through_the_server(tmp_path):
    from starlette.testclient import TestClient

    from edos_dataset.web.crowd.server import make_app
    from edos_dataset.web.crowd.visitors import Doors

    dialogues, given = some_of(Path(os.environ["EDOS_DATA_DIR"]) / "edos_amt" / "mturk_groundtruth_labels.csv")
    tasks = [
        {"task": f"t{n}", "dialogue_id": f"t{n}", "turns": turns, "label": LABELS[n % 41], "top": list(LABELS[:3])}
        for n, turns in enumerate(dialogues)
    ]
    batch = Batch("labelling", label_hits(tasks, [], quizzes=0))
    write_batch(tmp_path / "batch", batch)
    work = Work(Store(tmp_path / "batch" / ANSWERS), batch)
    places = {(hit.id, place): int(item.id[1:]) for hit in batch.hits for place, item in enumerate(hit.items)}
    seen = Counter()
    people = 3 * -(-len(batch.hits) // MOST_HITS)
    for worker, token in invite(work.store, [f"w{number}" for number in range(people)]).items():
        client = TestClient(make_app(work, Doors("secret", per_host=1e6)))
        csrf = re.search(r'name="csrf" content="(\w+)"', client.get(f"/w/{token}").text)[1]
        page = client.post("/consent", data={"csrf": csrf})
        while page.url.path.startswith("/work/"):
            assignment = int(page.url.path.rpartition("/")[2])
            hit = work.of_worker(worker, assignment).hit
            turn, seen[hit.id] = seen[hit.id], seen[hit.id] + 1
            for place in range(len(hit.items)):
                answer = given[places[hit.id, place]][turn]
                label = read_answer(answer).label
                said = {"value": None, "typed": answer} if label == MISSING else {"value": LABELS[label]}
                body = {"assignment": assignment, "place": place, "id": uuid.uuid4().hex, "seconds": 2, **said}
                assert client.post("/api/answer", json=body, headers={"x-csrf-token": csrf}).status_code == 200
            done = client.post("/api/finish", json={"assignment": assignment}, headers={"x-csrf-token": csrf})
            assert done.json() == {"missing": None}
            page = client.get("/")
    assert edos("crowd", "answers", tmp_path / "batch", "--out", tmp_path / "answers.jsonl").exit_code == 0
    back, first = measure(read_answers(tmp_path / "answers.jsonl"), resamples=20), measure(answers_of(given, dialogues))
    assert back["rows"] == len(dialogues) > 100
    for name in ("agreed", "fleiss_kappa", "krippendorff_alpha", "pairwise_agreement", "repeated_texts"):
        assert back[name] == first[name], name
    assert {name: row["agreed"] for name, row in back["per_label"].items()} == {
        name: row["agreed"] for name, row in first["per_label"].items()
    }
