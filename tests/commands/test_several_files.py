"""`edos label` on several files at once, and on folders of them."""

import csv
import json

import pytest

import edos_dataset
from command_line import edos

CHAT = "[12.03.24, 20:15:01] Anna: I lost my job.\n[12.03.24, 20:16:01] Ben: Oh no, what happened?\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two chats of one name with a picture between them, and two tables that share an id."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chats" / "work").mkdir(parents=True)
    for place in (".", "work"):
        (tmp_path / "chats" / place / "Chat with Ben.txt").write_text(CHAT)
    (tmp_path / "chats" / "IMG-1.jpg").touch()
    (tmp_path / "chats" / ".hidden.txt").write_text("x")
    (tmp_path / "a.csv").write_text("id;text\n1;I lost my job.\n2;We won!\n1;Oh no!\n")
    (tmp_path / "b.csv").write_text("id,author,text\n1,Ann,Great news!\n1,Bo,I am sad.\n")
    return tmp_path


def ids(rows):
    return [row["dialogue_id"] for row in rows]


def test_a_folder_of_chats(folder):
    done = edos("label", "chats", "--out", "out.jsonl", "--model", "fast")
    assert done.exit_code == 0, done.stderr
    assert "4 turns of 2 dialogues" in done.stdout
    assert "2 files read; not those of other forms: 1 .jpg" in done.stdout
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert ids(rows) == ["Chat with Ben.txt#1", "work/Chat with Ben.txt#1"]
    [alone] = edos_dataset.label("chats/Chat with Ben.txt", "fast")
    assert rows[0]["turns"] == alone["turns"]


def test_people_keep_no_name_in_the_ids(folder):
    found = edos_dataset.label("chats", "fast", pseudonymize=True)
    assert "Ben" not in json.dumps(found) and len(set(ids(found))) == 2


@pytest.mark.parametrize("given", [["a.csv", "b.csv"], "?.csv"])
def test_tables_become_one_with_the_file_of_each_row(given, folder):
    done = edos_dataset.label(given, "fast", out="out.csv", top=1)
    assert done["dialogues"] == 3 and done["turns"] == 5
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert [(row["file"], row["id"], row["author"], row["text"]) for row in rows] == [
        ("a.csv", "1", "", "I lost my job."),
        ("a.csv", "2", "", "We won!"),
        ("a.csv", "1", "", "Oh no!"),
        ("b.csv", "1", "Ann", "Great news!"),
        ("b.csv", "1", "Bo", "I am sad."),
    ]
    alone = edos_dataset.label(folder / "a.csv", "fast")
    assert [rows[place]["label"] for place in (0, 2, 1)] == [turn["label"] for row in alone for turn in row["turns"]]
    lines = edos_dataset.label(given, "fast")
    assert ids(lines) == ["a.csv#1", "a.csv#2", "b.csv#1"]


def test_columns_with_one_meaning_are_one(folder):
    """Speakers, texts and ids of tables in two languages: one column each, named as in the first table."""
    (folder / "c.csv").write_text("Gespräch;Sprecher;Nachricht;n\n1;Cem;Schade.;5\n1;Dana;Was?;6\n")
    edos_dataset.label(["b.csv", "c.csv"], "fast", out="out.csv", top=1)
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["file", "id", "author", "text", "n", "label", "confidence"]
    assert [row["author"] for row in rows] == ["Ann", "Bo", "Cem", "Dana"]
    assert [row["text"] for row in rows] == ["Great news!", "I am sad.", "Schade.", "Was?"]
    lines = edos_dataset.label(["b.csv", "c.csv"], "fast")
    assert [turn["speaker"] for line in lines for turn in line["turns"]] == ["Ann", "Bo", "Cem", "Dana"]
    assert not any({"author", "Sprecher"} & set(turn) for line in lines for turn in line["turns"])
    with_chat = edos_dataset.label(["b.csv", "chats/Chat with Ben.txt"], "fast")
    assert [turn["speaker"] for line in with_chat for turn in line["turns"]] == ["Ann", "Bo", "Anna", "Ben"]
    [alone, _] = edos_dataset.label(["b.csv", "a.csv"], "fast")[:2]
    assert alone["turns"][0]["author"] == "Ann", "one name stays"


def test_bad_files_are_named_before_anything_is_labelled(folder):
    (folder / "chats" / "users.json").write_text('{"id": 7}')
    done = edos("label", "chats", "a.csv", "--out", "out.jsonl", "--model", "fast")
    assert done.exit_code == 1 and "1 of 4 files cannot be used; correct them, or give --skip-bad" in done.stderr
    assert "users.json, record 1" in done.stderr and not (folder / "out.jsonl").exists()
    done = edos("label", "chats", "a.csv", "--out", "out.jsonl", "--model", "fast", "--skip-bad")
    assert done.exit_code == 0 and "7 turns of 4 dialogues" in done.stdout and "1 file left out" in done.stderr
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert ids(rows)[0] == "chats/Chat with Ben.txt#1" and ids(rows)[-1] == "a.csv#2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv", "none.csv"], "none.csv: there is no such file or folder"),
        (["a.csv", "namespace/name"], "namespace/name cannot be read beside others"),
        (["-", "a.csv"], "- cannot be read beside others"),
        (["q*.csv"], "source q*.csv: no such file or folder, and as a pattern it matches none"),
    ],
)
def test_what_cannot_be_read_is_said(arguments, message, folder):
    done = edos("label", *arguments, "--out", "out.jsonl")
    assert done.exit_code == 1 and message in done.stderr


def test_the_output_is_none_of_the_sources(folder):
    done = edos("label", "a.csv", "chats", "--out", "chats/out.jsonl")
    assert done.exit_code == 1 and "chats/out.jsonl lies inside the source chats" in done.stderr
