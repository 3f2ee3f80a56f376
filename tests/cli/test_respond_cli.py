"""`edos respond` as a user sees it: texts, files, a chat, and what it refuses."""

import csv
import json
import logging
import re

import pytest
from rich.console import Console

import edos_dataset
from command_line import edos
from edos_dataset.cli import console
from edos_dataset.generation import shipped
from edos_dataset.labels import LABELS
from small_responders import EMPATHETIC, save_responder

FEW = ("--labeler", "fast", "--beams", 2, "--device", "cpu")
SECRET = "the dog was home on a quiet zephyr evening"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("respond")
    save_responder(folder / "chat", **EMPATHETIC)
    save_responder(folder / "alone", predictor=False, **EMPATHETIC)
    save_responder(folder / "plain", predictor=False)
    return folder


def respond(models, *arguments, model="chat", **more):
    return edos("respond", *arguments, "--model", models / model, *FEW, **more)


def python(models, turns, model="chat", **given):
    return edos_dataset.respond([turns], models / model, labeler="fast", beams=2, device="cpu", **given)[0]


def rows(candidates):
    return [each.as_row() for each in candidates]


def test_a_chat_shows_drawn_answers_as_they_grow(models, monkeypatch):
    """In a terminal each form replaces the one before; elsewhere only the whole answer is printed."""
    drawn = ("respond", "--chat", "--sample", "--model", models / "chat", "--labeler", "fast", "--device", "cpu")
    plain = edos(*drawn, "--max-tokens", 9, input="where is the dog\n")
    assert plain.exit_code == 0 and len(plain.stdout.splitlines()) == 1
    monkeypatch.setattr(console, "terminal", lambda stderr=False: Console(force_terminal=not stderr, width=60))
    shown = edos(*drawn, "--max-tokens", 9, input="where is the dog\n").stdout
    answer = plain.stdout.split(maxsplit=2)[2].strip()
    assert shown.count("\x1b[2K") > 3 and answer in re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)


def test_a_dialogue_is_answered_as_from_python(models):
    turns = ["where is the dog", "so", "I am happy"]
    done = respond(models, *turns, "--candidates", 3, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["answers"] == rows(python(models, turns, candidates=3))
    assert len({each["label"] for each in told["answers"]}) == 3
    assert [turn["text"] for turn in told["turns"]] == turns and {turn["label"] for turn in told["turns"]} < set(LABELS)
    seen = respond(models, *turns, "--candidates", 3).stdout
    assert [line.split()[0] for line in seen.splitlines()] == [each["label"] for each in told["answers"]]


def test_a_table_gets_a_row_for_each_dialogue(models, tmp_path):
    (tmp_path / "in.csv").write_text("Conversation,Text\na,where is the dog\nb,so\na,I am happy\nb,\n")
    source = (tmp_path / "in.csv", "--skip-bad", "--candidates", 2)
    done = respond(models, *source, "--out", tmp_path / "out.tsv")
    assert done.exit_code == 0 and "1 bad record left out" in done.stderr, done.stderr
    with (tmp_path / "out.tsv").open(encoding="utf-8", newline="") as file:
        header, *found = csv.reader(file, delimiter="\t")
    assert header[:4] == ["dialogue_id", "text", "answer", "label"] and "answer_2" in header
    assert [row[:2] for row in found] == [["a", "I am happy"], ["b", "so"]]


def test_a_label_is_forced_and_answers_are_drawn_by_a_seed(models):
    done = respond(models, "where is the dog", "--label", "Consoling", "--candidates", 2, "--json")
    answers = json.loads(done.stdout)["answers"]
    assert answers == rows(python(models, ["where is the dog"], label="consoling", candidates=2))
    assert {each["label"] for each in answers} == {"consoling"} and answers[0]["probability"] is None
    asked = ("respond", "so", "--model", models / "chat", "--labeler", "fast", "--device", "cpu", "--label", "sad")
    drawn = [edos(*asked, "--json", "--sample", "--seed", seed).stdout for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_model_without_labels_answers_without(models):
    told = json.loads(respond(models, "where is the dog", "--json", model="plain").stdout)
    assert told["turns"][0]["label"] is told["answers"][0]["label"] is None and told["answers"][0]["text"]


@pytest.mark.parametrize("name", ["talks.jsonl", "talks.csv", "talks.txt"])
def test_a_file_becomes_lines(models, tmp_path, name):
    dialogues = {"a": ["where is the dog", "so"], "b": ["I am happy"]}
    written = {
        "talks.jsonl": "".join(json.dumps({"dialogue_id": key, "turns": dialogues[key]}) + "\n" for key in dialogues),
        "talks.csv": "dialogue_id,text\n" + "".join(f"{key},{text}\n" for key in dialogues for text in dialogues[key]),
        "talks.txt": "\n".join("".join(f"{text}\n" for text in turns) for turns in dialogues.values()),
    }
    (tmp_path / name).write_text(written[name])
    out = tmp_path / "out.jsonl"
    command = (tmp_path / name, "--candidates", 2, "--workers", 1)
    done = respond(models, *command, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert f"2 dialogues answered by {models / 'chat'}" in done.stdout.replace("\n", "")
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [[turn["text"] for turn in row["turns"]] for row in found] == list(dialogues.values())
    for row, turns in zip(found, dialogues.values(), strict=True):
        assert row["answers"] == rows(python(models, turns, candidates=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["out.jsonl", name]), "shards are gone"
    assert respond(models, *command, "--out", "-").stdout == out.read_text()
    assert "already" in respond(models, *command, "--out", out).stderr


def test_what_stood_beside_is_kept_and_lines_can_be_answered_again(models):
    line = {"dialogue_id": "a", "film": 3, "turns": [{"text": "so", "speaker": "A"}, {"text": "I am happy"}]}
    done = respond(models, "-", "--out", "-", "--workers", 1, input=json.dumps(line))
    first = json.loads(done.stdout)
    assert first.pop("answers") and first == line
    again = respond(models, "-", "--out", "-", "--workers", 1, input=done.stdout)
    assert json.loads(again.stdout)["given_answers"] == json.loads(done.stdout)["answers"]


def test_a_chat_keeps_its_history_and_takes_labels(models):
    said = ["where is the dog", "/label consoling", "so", "/label", "/new", "where is the dog"]
    done = respond(models, "--chat", "--json", input="\n".join(said) + "\n\n")
    assert done.exit_code == 0, done.stderr
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert first == third and first["answers"] == rows(python(models, ["where is the dog"]))
    assert second["answers"][0]["label"] == "consoling"
    seen = respond(models, "--chat", input="where is the dog\n")
    assert seen.stdout.startswith(first["answers"][0]["label"]) and "cannot help people in distress" in seen.stderr


def test_a_chat_goes_on_after_errors(models):
    done = respond(models, "--chat", input="/label consolin\n/quit\n\0\nso\n")
    assert done.exit_code == 0 and len(done.stdout.splitlines()) == 1
    for message in ("did you mean 'consoling'?", "/quit is not a command", "NUL"):
        assert message in done.stderr
    done = respond(models, "--chat", input="/label sad\nso\n", model="plain")
    assert "trained without labels" in done.stderr and done.stdout


@pytest.mark.parametrize("how", ["text", "chat", "file"])
def test_no_text_is_logged_or_kept(models, tmp_path, monkeypatch, caplog, how):
    """Neither by us, nor by a library, whatever is logged."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    if how == "text":
        done = respond(models, SECRET)
    elif how == "chat":
        done = respond(models, "--chat", input=f"{SECRET}\n")
    else:
        done = respond(models, "-", "--out", "-", input=json.dumps({"turns": [SECRET]}))
    assert done.exit_code == 0 and "zephyr" not in caplog.text + done.stderr
    assert set(tmp_path.rglob("*")) == before


def test_without_a_model_the_default_one_answers(models, monkeypatch):
    monkeypatch.setattr(shipped, "DEFAULT_MODEL", str(models / "chat"))
    told = json.loads(edos("respond", "where is the dog", "--json", *FEW).stdout)
    assert told["answers"] == rows(python(models, ["where is the dog"]))


def test_a_turn_that_is_cut_is_said(models):
    done = respond(models, "where is the dog " * 40)
    assert done.exit_code == 0 and "the model reads only the last 58" in " ".join(done.stderr.split())
    assert "reads only the last" not in respond(models, "where is the dog").stderr


BAD = {
    "no such label": (["so", "--label", "happyness"], 1, "unknown label 'happyness'"),
    "blank": ([" "], 1, "turn 1: a turn has no text"),
    "no text": ([], 2, "give a text to answer"),
    "chat and text": (["so", "--chat"], 2, "neither texts nor --out"),
    "two sources": (["so", "so", "--out", "x"], 2, "one source of dialogues"),
    "a source": (["-"], 2, "a source of dialogues, not a text"),
    "no source": (["no-such-file.jsonl", "--out", "-"], 1, "no-such-file.jsonl"),
    "beams": (["so", "--beams", "0"], 2, "beams"),
    "labeler": (["so", "--labeler", "no-such"], 1, "no-such"),
    "no model": (["so", "--model", "no/such"], 1, "'no/such' is neither a folder nor a model"),
    "no revision": (
        ["so", "--model", "no/such", "--model-revision", "v1"],
        1,
        "'no/such' in the revision 'v1' is neither",
    ),
    "of a folder": (["so", "--model-revision", "v1"], 1, "but only the Hub has revisions"),
    "of what": (["so", "--revision", "v1"], 2, "for the model use --model-revision"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_sentences(models, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    arguments, code, message = BAD[name]
    options = ["--model", models / "chat", "--device", "cpu"] if "--model" not in arguments else []
    done = edos("respond", *options, *arguments)
    assert done.exit_code == code and message in " ".join(done.stderr.replace("│", " ").split()), done.stderr
    assert "Traceback" not in done.stderr and not done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", [["so"], ["--chat"], ["-", "--out", "-"]])
def test_a_model_that_cannot_answer_so_says_it_first(models, how):
    done = respond(models, *how, model="alone", input="")
    assert done.exit_code == 1 and "no predictor of the answer's label" in done.stderr
    done = respond(models, *how, "--label", "sad", model="plain", input="")
    assert done.exit_code == 1 and "trained without labels" in done.stderr
