"""Mechanical Turk from beginning to end against a double that checks requests by botocore's own service model: refused,
throttled and cut requests, killed commands, lost journals; nothing is created or paid twice.
"""

import json
import random
import re

import pytest
from lxml import etree, html

from command_line import edos
from crowd_people import careful, judging, labelling, straight, written

boto3 = pytest.importorskip("boto3")

from edos_dataset.crowd.assignments import Work  # noqa: E402
from edos_dataset.crowd.hit_answers import Given  # noqa: E402
from edos_dataset.crowd.mturk import client as mturk_client  # noqa: E402
from edos_dataset.crowd.mturk.publishing import batch_id  # noqa: E402
from edos_dataset.crowd.mturk.questions import external_question, html_question  # noqa: E402
from edos_dataset.crowd.store import Store, welcome  # noqa: E402
from turk_double import Turk  # noqa: E402

WORKERS = ("A1ANN", "A2BOB", "A3CID")
SESSION, SESSIONS = boto3.session.Session, []
"""One for all tests: each reads the whole list of AWS's services anew."""


@pytest.fixture
def turk(monkeypatch):
    double = Turk()
    for name, value in {
        "AWS_ENDPOINT_URL_MTURK": double.url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    }.items():
        monkeypatch.setenv(name, value)
    SESSIONS[:] = SESSIONS or [boto3.session.Session()]
    monkeypatch.setattr(boto3.session, "Session", lambda: SESSIONS[0])
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda self, context: 0)
    yield double
    double.close()
    assert double.bad == []


@pytest.fixture(params=["labelling", "judging"])
def batch(request):
    return labelling(40) if request.param == "labelling" else judging(20)


def run(command, *arguments):
    done = edos("crowd", "mturk", command, *arguments, "--json", *(["--yes"] if command in ("create", "bonus") else []))
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def fields_of(hit, how, draw):
    """Fill the form of a HIT in, as a browser would send it."""
    fields = {"seconds": json.dumps([4.5] * len(hit.items))}
    for number, item in enumerate(hit.items, 1):
        value = how(item, draw)
        if isinstance(value, tuple):
            fields |= {f"grade{number}_{place}": grade for place, grade in enumerate(value, 1)}
        else:
            fields |= {f"label{number}": value, f"other{number}": ""}
    return fields


def answer_all(turk, batch, workers=WORKERS):
    draw = random.Random(1)
    for hit in batch.hits:
        for worker in workers:
            turk.answer(hit.id, worker, fields_of(hit, straight if worker == "A9EVE" else careful, draw))


def test_from_creation_to_bonus_with_refusals_and_cuts(turk, batch, tmp_path):
    folder = written(tmp_path / "batch", batch)
    turk.faults = [("CreateHIT", "cut after"), ("CreateHIT", "throttle"), ("CreateHIT", "refuse")]
    failed = edos("crowd", "mturk", "create", folder, "--yes")
    assert failed.exit_code == 1 and "not enough money (AWS.MechanicalTurk.InsufficientFunds)" in failed.stderr
    assert len(turk.hits) == 1
    assert run("create", folder) == {"hits": len(batch.hits), "created": len(batch.hits) - 1, "there": len(batch.hits)}
    assert run("create", folder)["created"] == 0
    assert sorted(hit["RequesterAnnotation"] for hit in turk.hits.values()) == sorted(
        f"edos {batch_id(batch)} {hit.id}" for hit in batch.hits
    )
    assert {hit["MaxAssignments"] for hit in turk.hits.values()} == {batch.workers}
    assert run("status", folder)["by_status"] == {"Assignable": len(batch.hits)}

    answer_all(turk, batch, [*WORKERS, "A9EVE"])
    turk.faults = [("ListAssignmentsForHIT", "throttle"), ("ListAssignmentsForHIT", "cut before")]
    report = run("fetch", folder)
    assert report["assignments"] == 4 * len(batch.hits) and report["broken"] == report["rejected"] == 0
    assert report["answers"] == 4 * sum(len(hit.items) for hit in batch.hits)
    assert not any(worker in (folder / "answers.jsonl").read_text() for worker in WORKERS)
    rows = json.loads(edos("crowd", "workers", folder, "--json").stdout)["workers"]
    assert sorted(row["verdict"] for row in rows) == ["discard", "keep", "keep", "keep"]
    assert {row["median_seconds"] for row in rows} == {4.5}

    turk.faults = [("SendBonus", fault) for fault in ("cut after", "", "cut before", "", "refuse")]
    failed = edos("crowd", "mturk", "bonus", folder, "--yes")
    assert failed.exit_code == 1 and "not enough money" in failed.stderr
    run("bonus", folder)
    assert run("bonus", folder)["paid"] == 0
    earned = sum(row["bonuses"] for row in rows)
    assert len(turk.bonuses) == len({one["AssignmentId"] for one in turk.bonuses}) == earned > 0
    assert {one["BonusAmount"] for one in turk.bonuses} == {"0.10"}


@pytest.mark.parametrize(
    ("lost", "fault"),
    [("journal", "cut after"), ("token", "cut after"), ("both", "cut after"), ("token", "cut before")],
)
def test_killed_commands_do_nothing_twice(turk, tmp_path, monkeypatch, lost, fault):
    """A command that dies right after its request, and a token that the API has forgotten, as it does after a day."""
    batch = labelling(40)
    folder = written(tmp_path / "batch", batch)
    monkeypatch.setattr(mturk_client, "_ATTEMPTS", 1)

    def interrupted(operation, *command):
        turk.faults = [(operation, ""), (operation, fault)]
        done = edos("crowd", "mturk", *command, folder, "--yes")
        assert done.exit_code == 1 and "nothing is created or paid twice" in done.stderr
        if lost in ("token", "both"):
            turk.tokens.clear()
        if lost in ("journal", "both"):
            (folder / "mturk-sandbox.jsonl").unlink()
        else:
            with (folder / "mturk-sandbox.jsonl").open("a") as file:
                file.write('{"intended": "cre')  # the disk was full, or the power went
        run(*command, folder)

    interrupted("CreateHIT", "create")
    assert len(turk.hits) == len({hit["RequesterAnnotation"] for hit in turk.hits.values()}) == len(batch.hits)
    answer_all(turk, batch)
    interrupted("SendBonus", "bonus")
    assert len(turk.bonuses) == len({one["AssignmentId"] for one in turk.bonuses}) > 3


def test_what_it_costs_is_told_before_and_nothing_happens_without_consent(turk, tmp_path):
    folder = written(tmp_path / "batch", labelling(30))
    done = edos("crowd", "mturk", "create", folder)
    # 2 HITs for 3 people at $0.40, 20 % on top; with all bonuses of $0.10, and their 20 %
    assert "2 HITs for 3 people each, at 0.40 US dollars: 2.88 with the fee, 3.60 with all bonuses" in done.stderr
    assert "sandbox" in done.stderr and "give --yes" in done.stderr
    assert done.exit_code == 1 and turk.hits == {} and turk.asked["CreateHIT"] == 0
    many = written(tmp_path / "many", labelling(30, workers=10))
    assert "11.20 with the fee" in edos("crowd", "mturk", "create", many).stderr


def test_workers_need_qualifications_and_stop_at_their_share(turk, tmp_path):
    batch = labelling(40, rules={"most_hits": 2, "countries": ["DE"]})
    folder = written(tmp_path / "batch", batch)
    run("create", folder)
    needs = next(iter(turk.hits.values()))["QualificationRequirements"]
    assert [(need["QualificationTypeId"], need["Comparator"]) for need in needs] == [
        ("00000000000000000071", "In"),
        ("00000000000000000040", "GreaterThanOrEqualTo"),
        ("000000000000000000L0", "GreaterThanOrEqualTo"),
        ("Q0", "DoesNotExist"),
    ]
    assert needs[0]["LocaleValues"] == [{"Country": "DE"}] and needs[1]["IntegerValues"] == [100]
    draw = random.Random(2)
    for number, hit in enumerate(batch.hits):
        for worker in WORKERS[: 2 if number < 2 else 1]:
            turk.answer(hit.id, worker, fields_of(hit, careful, draw))
    assert run("fetch", folder)["enough"] == 2 and turk.enough == ["A1ANN", "A2BOB"]


def test_rejected_and_broken_assignments(turk, tmp_path):
    batch = labelling(15)
    folder = written(tmp_path / "batch", batch)
    run("create", folder)
    fields = fields_of(batch.hits[0], careful, random.Random(3))
    fields |= {"label1": "other", "other1": " smug ", "label2": "", "seconds": "["}
    turk.answer(batch.hits[0].id, "A1", fields)
    turk.answer(batch.hits[0].id, "A2", fields, status="Rejected")
    number = turk.answer(batch.hits[0].id, "A3", {})
    turk.assignments[number]["Answer"] = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;'
    report = run("fetch", folder)
    assert (report["assignments"], report["rejected"], report["broken"], report["answers"]) == (2, 1, 1, 19)
    first, second = (json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()[:2])
    assert (first["value"], first["typed"], first["seconds"]) == (None, "smug", None)
    assert second["item"] == batch.hits[0].items[2].id


def test_questions_are_well_formed_and_hold_no_truth(batch):
    for hit in batch.hits:
        question = etree.fromstring(html_question(hit).encode())
        page = question.findtext("{*}HTMLContent")
        tree = html.fromstring(page)
        assert len(tree.findall(".//fieldset")) == len(hit.items)
        for item, shown in zip(hit.items, tree.findall(".//fieldset"), strict=True):
            assert shown.findtext(".//p[@class='last']") == item.turns[-1]
            names = {radio.get("name") for radio in shown.iter("input") if radio.get("type") == "radio"}
            assert len(names) == (len(item.choices) if batch.kind == "judging" else 1)
        assert "quiz" not in page and "truth" not in page and not re.search(r"(?:src|href)=", page)
    url = etree.fromstring(external_question("https://example.org/", batch.hits[0]).encode()).findtext("{*}ExternalURL")
    assert url == f"https://example.org/mturk?hit={batch.hits[0].id}"


def test_errors(turk, tmp_path, monkeypatch):
    folder = written(tmp_path / "batch", labelling(15))
    long = written(tmp_path / "long", labelling(15))
    text = (long / "hits.jsonl").read_text()
    (long / "hits.jsonl").write_text(text.replace("How is 3?", "x" * 70_000))
    for arguments, message in (
        ((folder, "--url", "http://example.org"), "give the HTTPS address"),
        ((long,), "Mechanical Turk takes 65,535"),
        ((tmp_path,), "holds no batch"),
    ):
        done = edos("crowd", "mturk", "create", *arguments, "--yes")
        assert done.exit_code == 1 and message in done.stderr, done.stderr
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setattr(boto3.session, "Session", SESSION)
    done = edos("crowd", "mturk", "create", folder, "--yes")
    assert done.exit_code == 1 and "no credentials of AWS" in done.stderr
    assert turk.hits == {}


def test_external_questions_are_answered_on_the_pages_and_rewarded_by_the_platform(turk, tmp_path):
    batch = labelling(15)
    folder = written(tmp_path / "batch", batch)
    run("create", folder, "--url", "https://labels.example.org")
    (hit,) = batch.hits
    number = turk.answer(hit.id, "A1ANN", {"done": "yes"})
    work = Work(Store(folder / "answers.sqlite"), batch)
    welcome(work.store, "A1ANN")
    mine = work.hand_out("mturk:A1ANN", hit.id, f"{number} https://workersandbox.mturk.com")
    for place, item in enumerate(hit.items):
        work.give("mturk:A1ANN", mine.id, Given(f"{place:032x}", place, item.truth or item.choices[0], seconds=3.0))
    work.finish("mturk:A1ANN", mine.id)
    assert run("fetch", folder)["answers"] == len(hit.items)
    assert run("bonus", folder)["paid"] == 1 and turk.bonuses[0]["WorkerId"] == "A1ANN"
    (row,) = json.loads(edos("crowd", "workers", folder, "--json").stdout)["workers"]
    assert (row["right"], row["bonuses"], row["items"]) == (5, 1, len(hit.items))
