"""Square brackets in data are no markup, in whatever a command prints: in paths, names, texts, labels and answers."""

import json
import re

import pytest

from command_line import edos
from crowd_people import answered, careful, judging, labelling, written
from edos_dataset.cli.app import app, crowd
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, write_hit_answers
from object_store import film

BAD = "[/b]no[bold]"
"""Rich's markup would raise for the first bracket, which closes nothing, and swallow the second."""
TALK = [f"Where {BAD} have you been today?", f"At the station {BAD}, I think.", "I am so sorry.", "Do not be sorry."]
FAST = ["--workers", 1, "--weak-model", "fast", "--model", "fast", "--top", 3]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a tag in its path: films, books, dialogues, a run of them, and answered batches."""
    folder = tmp_path_factory.mktemp("brackets") / "x[" / "b]no[bold]"
    (folder / "films").mkdir(parents=True)
    for number in range(3):
        (folder / "films" / f"film [bold]{number}[u].srt").write_text(film(number).replace("nobody", f"{BAD} nobody"))
    (folder / "films" / "broken [u].srt").write_bytes(b"\x00\x01")
    lines = [{"dialogue_id": f"{BAD} {number}", "turns": TALK, "label": BAD} for number in range(3)]
    (folder / "dialogues.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "text.txt").write_text(f"Oh {BAD}.\n" * 3)
    (folder / "labels.txt").write_text(f"{BAD}\n" * 3)
    (folder / "book [u].txt").write_text("\n\n".join([f"“Will you {BAD}?” asked Tom.", f"“No {BAD},” said Ann."] * 9))
    (folder / "set.yaml").write_text(f'name: "{BAD}"\nlabels: ["{BAD}", "sad"]\n')
    (folder / "machines.yaml").write_text(f'machines:\n- name: "{BAD}"\n  cores: 4\n  price: 1\n  currency: "{BAD}"\n')
    entry = {"step": 1, "method": BAD, "label": "sad", "draw": "random", "verdict": "right", "rows": 3, "source": BAD}
    (folder / "judged.json").write_text(json.dumps({"reader": BAD, "judgements": [entry]}))
    for name, batch in (("batch", labelling(4)), ("judging", judging(4))):
        answers = answered(batch, {BAD: (careful, 3.0), f"{BAD} 2": (careful, 4.0)})
        typed = [HitAnswer(one.hit, one.item, BAD, None, BAD) for one in answers.given if name == "batch"]
        write_hit_answers(written(folder / name, batch) / "answers.jsonl", HitAnswers([*answers.given, *typed]))
    done = edos("curate", folder / "films", "--out", folder / "run", "--max-bad", 1, "--rejects", *FAST)
    assert done.exit_code == 0, done.stderr
    return folder


CALLS = {
    "curate": "films --out run --max-bad 1 --no-labels",
    "books": "{book} --out books --no-labels --workers 1",
    "segment": "films --out turns.jsonl --scorer rules",
    "label": "dialogues.jsonl --out labelled.jsonl --model fast",
    "extend": "films run --out extended",
    "merge": "run",
    "inspect": "run --tables",
    "rejects": "run",
    "report": "run --against nothing[/b]",
    "audit": "judged.json",
    "sample": "films",
    "download": "nothing[/b]",
    "plan": "films --machines machines.yaml --sentences 1000 --no-labels --sample 1 --set turns.scorer=rules",
    "recipe": "--set {bad}=1",
    "respond": "films/[/b] --out {bad}.png",
    "evaluate": "text.txt --references labels.txt[/b]",
    "reproduce": "--data {bad}",
    "export": "run --to messages --out chats[/b]/x.jsonl",
    "publish": "{bad} --repo a/b --version 1.0.0",
    "labels-only": "run --out only",
    "hydrate": "films films --out again --workers 1",
    "crowd select": "films --per-label 1 --out tasks.jsonl",
    "crowd hits": "dialogues.jsonl --out hits --label-set set.yaml",
    "crowd invite": "judging {bad}",
    "crowd serve": "run",
    "crowd answers": "films --out x.jsonl",
    "crowd workers": "batch",
    "crowd agreement": "batch/answers.jsonl",
    "crowd judgements": "judging/answers.jsonl --rules {bad}",
    "crowd seed": "text.txt --out seed",
    "crowd import": "text.txt --from argilla --batch batch",
    "crowd export": "batch --to {bad} --out y",
}
"""Command → its words; those with a dot, and the names of folders, are below the folder."""
SILENT = ("books", "label", "crowd agreement", "segment", "recipe", "rejects")
"""Commands that are carried out here, and name nothing of the data."""
BELOW = ("films", "run", "batch", "judging", "only", "hits", "books", "seed", "extended", "again")


def words_of(place, command):
    for word in CALLS[command].split():
        if word in BELOW or re.fullmatch(r"[\w/]+\.(jsonl?|ya?ml|txt)", word):
            yield place / word
        else:
            yield place / "book [u].txt" if word == "{book}" else word.replace("{bad}", BAD)


@pytest.mark.parametrize("command", CALLS)
def test_brackets_are_printed_as_they_are(place, command):
    done = edos(*command.split(), *words_of(place, command))
    said = "".join((done.stdout + done.stderr).split())
    assert done.exit_code in (0, 1, 2, 3, 5) and "Traceback" not in said
    assert "[/b]" in said or command in SILENT, said


def test_every_command_is_tried():
    names = {one.callback.__name__.strip("_").replace("_", "-") for one in app.registered_commands}
    names |= {f"crowd {one.callback.__name__.strip('_')}" for one in crowd.registered_commands}
    assert {name.replace("export-tasks", "export") for name in names} == CALLS.keys()


@pytest.mark.parametrize("words", [("show", "set.yaml"), ("map", "set.yaml", "set.yaml"), ("show", BAD)])
def test_label_sets(place, words):
    done = edos("labels", *(place / word if word.endswith(".yaml") else word for word in words))
    assert "[/b]no[bold]" in "".join((done.stdout + done.stderr).split())
