"""`edos crowd` as a user sees it."""

import json

import pytest

from command_line import edos
from crowd_tables import EDOS
from readability_runs import dialogues, write_run

ROWS = (
    '1,a,10,"Oh no !",Sad,Sad,Sad,greeting (Other)\n2,b,11,Yes .,-,Sad,Angry,Joyful\n3,c,12,Go '
    "!,Angry,Angry,Angry,Angry\n"
)


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(EDOS + ROWS)
    return path


def test_agreement_as_json(answers):
    report = json.loads(edos("crowd", "agreement", answers, "--json").stdout)
    assert (report["rows"], report["agreed"], report["agreed_share"]) == (3, 2, 0.6667)
    assert {
        "fleiss_kappa",
        "krippendorff_alpha",
        "agreed_share_interval",
        "fleiss_kappa_interval",
        "krippendorff_alpha_interval",
        "per_label",
    } <= report.keys()
    assert report["outside"] == {"greeting": 1}
    assert (
        json.loads(edos("crowd", "agreement", answers, "--json", "--outside", "missing").stdout)["rule"]["outside"]
        == "missing"
    )


def test_agreement_for_a_person(answers):
    text = edos("crowd", "agreement", answers).stdout
    assert "3 tasks, 9 answers, 2 tasks agreed on" in text
    assert "1 answer is outside the 41 labels: greeting 1" in text
    assert "fleiss kappa" in text and "sympathizing" in text


def test_select_writes_lines_and_names_what_falls_short(tmp_path):
    run = write_run(tmp_path / "run", dialogues())
    done = edos("crowd", "select", run, "--papers", "--per-label", 2, "--out", tmp_path / "tasks.jsonl")
    assert done.exit_code == 0
    tasks = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert [task["label"] for task in tasks] == ["angry", "angry", "sad"]
    assert "3 dialogues, 2 per label requested" in done.stdout
    short = {line.split()[1]: "short" in line for line in done.stdout.splitlines() if line.startswith("│")}
    assert short["sad"] and short["joyful"] and not short["angry"]


def test_what_is_chosen_can_be_answered_and_measured(tmp_path):
    edos("crowd", "select", write_run(tmp_path / "run", dialogues()), "--papers", "--out", tmp_path / "tasks.jsonl")
    tasks = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    answered = [{**task, "worker": worker, "label": task["top"][worker % 2]} for task in tasks for worker in range(3)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answered))
    report = json.loads(edos("crowd", "agreement", tmp_path / "answers.jsonl", "--json").stdout)
    assert (report["rows"], report["agreed"], report["pairwise_agreement"]) == (3, 3, 0.3333)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agreement", "nowhere.csv"], "there is no file nowhere.csv: give"),
        (["agreement", "answers.csv", "--outside", "all"], "outside is 'all'"),
        (["agreement", "answers.csv", "--column", "x"], "column setting 'x'"),
        (["seed", "answers.csv", "--out", "seed", "--ties", "coin"], "ties is 'coin'"),
        (["seed", "answers.csv", "--out", "seed", "--shares", "1", "1", "1"], "shares are"),
        (["select", ".", "--out", "tasks.jsonl"], "was not written by this package: give"),
    ],
)
def test_errors_are_one_message(answers, monkeypatch, arguments, message):
    monkeypatch.chdir(answers.parent)
    done = edos("crowd", *arguments)
    assert done.exit_code == 1 and message in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in answers.parent.iterdir()] == ["answers.csv"]
