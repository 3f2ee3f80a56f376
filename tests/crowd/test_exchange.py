"""Questions out to other tools and the answers back, through files such as those tools write."""

import csv
import io
import json
import random

import pytest
from lxml import etree

from command_line import edos
from crowd_people import careful, judging, labelling, written
from edos_dataset.commands.crowd_batches import open_questions, read_import, write_export
from edos_dataset.crowd.hit_answers import read_hit_answers
from edos_dataset.crowd.store import alias_of
from edos_dataset.crowd.text_files import harmless, restored
from edos_dataset.labels import LABELS

PEOPLE = ("ann@example.org", "bob@example.org")


@pytest.fixture(params=["labelling", "judging"])
def batch(request, tmp_path):
    """Return a batch in a folder, and the answers of two people to it, (HIT, item, person) → fields of a form."""
    batch = labelling(20) if request.param == "labelling" else judging(10)
    draw, given = random.Random(4), {}
    for hit in batch.hits:
        for item in hit.items:
            for place, person in enumerate(PEOPLE):
                value = careful(item, draw)
                if isinstance(value, tuple):
                    given[hit.id, item.id, person] = {f"grade{n}": grade for n, grade in enumerate(value, 1)}
                else:
                    typed = item.kind == "label" and place == 1 and draw.random() < 0.2
                    given[hit.id, item.id, person] = {"label": "other", "other": "smug"} if typed else {"label": value}
    return written(tmp_path / "batch", batch), given


def label_studio(folder, given):
    """Write what Label Studio exports as JSON after two annotators."""
    tasks = json.loads((folder / "tasks.json").read_text())
    config = etree.fromstring((folder / "config.xml").read_bytes())
    controls = {tag.get("name"): tag for tag in config.iter("Choices", "TextArea")}
    shown = {tag.get("name") for tag in config.iter("Paragraphs", "Text")}
    for number, task in enumerate(tasks, 1):
        data = task["data"]
        assert {
            tag.get("value")[1:] for tag in config.iter() if (tag.get("value") or "").startswith("$")
        } <= data.keys()
        task |= {"id": number, "annotations": []}
        for user, person in enumerate(PEOPLE, 7):
            result = []
            for name, value in given[data["hit"], data["item"], person].items():
                assert controls[name].get("toName") in shown
                kind = "textarea" if controls[name].tag == "TextArea" else "choices"
                key = "text" if kind == "textarea" else "choices"
                if name == "label":
                    assert value in [choice["value"] for choice in data["choices"]]
                where = {"from_name": name, "to_name": controls[name].get("toName"), "type": kind}
                result.append({"id": "x", "origin": "manual", "value": {key: [value]}, **where})
            done = {
                "completed_by": {"id": user, "email": person},
                "lead_time": 7.5,
                "updated_at": "2026-01-02T03:04:05Z",
            }
            task["annotations"].append(done | {"id": user, "was_cancelled": False, "result": result})
        task["annotations"].append({"completed_by": 9, "was_cancelled": True, "result": [], "lead_time": 1.0})
    (folder / "export.json").write_text(json.dumps(tasks))
    return folder / "export.json"


def argilla(folder, given):
    """Write what `to_disk` gives after two users answered, held against the settings."""
    settings = json.loads((folder / ".argilla" / "settings.json").read_text())
    questions = {question["name"]: question["settings"] for question in settings["questions"]}
    fields = {field["name"]: field["required"] for field in settings["fields"]}
    records = json.loads((folder / "records.json").read_text())
    for record in records:
        assert {name for name, required in fields.items() if required} <= record["fields"].keys() <= fields.keys()
        hit, item = record["metadata"]["hit"], record["metadata"]["item"]
        for person in PEOPLE:
            for name, value in given[hit, item, person].items():
                if "options" in questions[name]:
                    assert value in [option["value"] for option in questions[name]["options"]]
                record["responses"].setdefault(name, []).append({"value": value, "user_id": f"uuid-{person}"})
    (folder / "records.json").write_text(json.dumps(records))
    return folder


def prolific(folder, given):
    """Write the table of results: the columns of the data set, the participant, the answers."""
    rows = list(csv.DictReader(io.StringIO((folder / "dataset.csv").read_text())))
    assert {row["META_TASK_GROUP_ID"] for row in rows} == {hit for hit, _, _ in given}
    names = ["label", "other", *(f"grade{place}" for place in range(1, 6))]
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "participant_id", *names])
        writer.writeheader()
        for row in rows:
            for person in PEOPLE:
                fields = given[row["META_hit"], row["META_item"], person]
                writer.writerow({**row, "participant_id": person, **fields})
    return folder / "results.csv"


TOOLS = {"label-studio": label_studio, "argilla": argilla, "prolific-csv": prolific}


@pytest.mark.parametrize("tool", TOOLS)
def test_round_trip(batch, tmp_path, tool):
    folder, given = batch
    out = tmp_path / "out"
    assert edos("crowd", "export", folder, "--to", tool, "--out", out).exit_code == 0
    assert "truth" not in "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    back = TOOLS[tool](out, given)
    done = edos("crowd", "import", back, "--from", tool, "--batch", folder)
    assert done.exit_code == 0 and f"{len(given):,} answers" in done.stdout, done.stderr
    answers = read_hit_answers([folder / "answers.jsonl"]).given
    people = {one.worker for one in answers}
    assert len(people) == 2 and not any(person in (folder / "answers.jsonl").read_text() for person in PEOPLE)
    alias = alias_of(folder)
    names = {"label-studio": ("7", "8"), "argilla": [f"uuid-{person}" for person in PEOPLE]}.get(tool, PEOPLE)
    for place, person in enumerate(PEOPLE):
        for one in answers:
            if one.worker == alias(names[place]):
                fields = given[one.hit, one.item, person]
                value = tuple(fields.values()) if "grade1" in fields else fields["label"]
                assert (one.value, one.typed) == ((None, "smug") if value == "other" else (value, ""))
    again = edos("crowd", "import", back, "--from", tool, "--batch", folder)
    assert again.exit_code == 0 and read_hit_answers([folder / "answers.jsonl"]).given == answers
    assert edos("crowd", "export", folder, "--to", tool, "--out", out).exit_code == 1


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (lambda own: [own, own], "joyful"),  # imported twice
        (lambda own: [{**own, "updated_at": "2026-01-05", "result": region("sad")}, own], "sad"),  # revised
        (lambda own: [own, {**own, "was_cancelled": True, "result": region("sad")}], "joyful"),  # skipped
        (lambda own: [{**own, "result": [{"type": "relation", "from_id": "x"}, *own["result"]]}], "joyful"),
    ],
)
def test_of_label_studios_annotations_the_latest_counts_once(tmp_path, change, value):
    source = labelling(2)
    folder, item = written(tmp_path / "batch", source), next(iter(source.hits[0].items))
    own = {"completed_by": 7, "updated_at": "2026-01-04", "result": region("joyful")}
    task = {"data": {"hit": source.hits[0].id, "item": item.id}, "annotations": change(own)}
    (tmp_path / "export.json").write_text(json.dumps([task]))
    [answer] = read_import(tmp_path / "export.json", "label-studio", folder)
    assert answer.value == value


def region(label):
    return [{"type": "choices", "from_name": "label", "value": {"choices": [label]}}]


def test_the_result_file_of_mechanical_turks_site(tmp_path):
    """The layout's columns, filled in by people on the site, come back as answers to the right items."""
    source = labelling(20)  # HITs of 10: the layout has as many places
    folder = written(tmp_path / "batch", source)
    assert edos("crowd", "mturk", "files", folder, "--out", tmp_path / "files").exit_code == 0
    assert len(list((tmp_path / "files").glob("*.xml"))) == len(source.hits)
    layout = (tmp_path / "files" / "layout.html").read_text()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "files" / "batch.csv").read_text())))
    assert all(f"${{{column}}}" in layout for column in rows[0] if not column.startswith(("hit", "task")))
    assert rows[0]["dialogue1"].startswith("'- How is ") and "&lt;b&gt;" in rows[0]["dialogue1"]
    with (tmp_path / "results.csv").open("w", newline="") as file:
        names = [f"Answer.{name}" for name in ("label1", "other1", "label2", "quiz1")]
        columns = ["HITId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds", *(f"Input.{name}" for name in rows[0])]
        writer = csv.DictWriter(file, [*columns, *names])
        writer.writeheader()
        for row in rows:
            inputs = {f"Input.{name}": value for name, value in row.items()}
            fields = {"Answer.label1": "other", "Answer.other1": "smug", "Answer.label2": row["label_choice2_3"]}
            fields |= {"Answer.quiz1": row["quiz_choice1_1"], "HITId": "H" + row["hit"], "WorkTimeInSeconds": "150"}
            for worker, state in (("A1", "Approved"), ("A2", "Rejected"), ("A3", "Submitted")):
                writer.writerow({"WorkerId": worker, "AssignmentStatus": state, **inputs, **fields})
    everybody = read_import(tmp_path / "results.csv", "mturk-csv", folder)
    answers = [one for one in everybody if one.worker == alias_of(folder)("A1")]
    assert (
        len(everybody) == 2 * len(answers)
        and len(answers) == 3 * len(source.hits)
        and {one.seconds for one in answers} == {10.0}
    )
    for hit, own in ((hit, answers[3 * number : 3 * number + 3]) for number, hit in enumerate(source.hits)):
        labels = [item for item in hit.items if item.kind == "label"]
        (quiz,) = [item for item in hit.items if item.id == own[2].item]
        assert [one.item for one in own[:2]] == [labels[0].id, labels[1].id] and quiz.kind == "quiz"
        assert [(one.value, one.typed) for one in own] == [
            (None, "smug"),
            (labels[1].choices[2], ""),
            (quiz.choices[0], ""),
        ]
    report = json.loads(edos("crowd", "agreement", tmp_path / "results.csv", "--json").stdout)
    assert (report["answers"], report["pairwise_agreement"]) == (4 * len(source.hits), 1)


def test_a_file_of_tasks_goes_out_and_comes_back_for_agreement(tmp_path):
    tasks = [
        {"task": f"t{n}", "turns": ["=1+1", "- No"], "top": list(LABELS[n : n + 3]), "dialogue_id": "d"}
        for n in range(3)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    write_export(tmp_path / "tasks.jsonl", "prolific-csv", tmp_path / "out")
    given = {("tasks", task["task"], person): {"label": task["top"][0]} for task in tasks for person in PEOPLE}
    back = prolific(tmp_path / "out", given)
    arguments = ("import", back, "--from", "prolific-csv", "--batch", tmp_path / "tasks.jsonl")
    assert "name the file" in edos("crowd", *arguments).stderr
    assert edos("crowd", *arguments, "--out", tmp_path / "answers.jsonl").exit_code == 0
    report = json.loads(edos("crowd", "agreement", tmp_path / "answers.jsonl", "--json").stdout)
    assert (report["rows"], report["answers"], report["agreed"]) == (3, 6, 3)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "'=1", "''-", "'tis", "", "plain", "'"])
def test_cells(cell):
    shown = harmless(cell)
    assert restored(shown) == cell and not shown.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(
    ("tool", "text", "message"),
    [
        ("label-studio", '{"a": 1}', "no JSON export of Label Studio"),
        ("label-studio", '[{"data": {"hit": "x", "item": "y"}, "annotations": [{"result": []}]}]', "no question 'y'"),
        ("argilla", '[{"fields": {}}]', "none of Argilla's records"),
        ("prolific-csv", "a,b\n1,2\n", "line 2: needs META_hit"),
        ("prolific-csv", "META_hit,META_item,participant_id\n", "holds no answers"),
        ("mturk-csv", "WorkerId,Input.hit\nA,x\n", "a HIT of the batch, got 'x'"),
        ("excel", "", "--from is 'excel'"),
    ],
)
def test_errors(tmp_path, tool, text, message):
    folder = written(tmp_path / "batch", labelling(15))
    (tmp_path / "given").write_text(text)
    done = edos("crowd", "import", tmp_path / "given", "--from", tool, "--batch", folder)
    assert done.exit_code == 1 and message in done.stderr, done.stderr
    assert not (folder / "answers.jsonl").exists()
    assert not open_questions(folder).judging


@pytest.mark.parametrize("tool", ["label-studio", "argilla"])
@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, "[" + "9" * 10_000 + "]", '"x"', "[1e999]"])
def test_exports_that_are_no_plain_json_are_told(tmp_path, tool, text):
    folder = written(tmp_path / "batch", labelling(4))
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(ValueError, match=r"export\.json"):
        list(read_import(tmp_path / "export.json", tool, folder))


@pytest.mark.parametrize("time", ["1" + "0" * 400, "1e999", "-Infinity", "NaN", '"long"', "[1]", "null"])
def test_a_time_that_is_none_is_unknown(tmp_path, time):
    source = labelling(2)
    folder, item = written(tmp_path / "batch", source), source.hits[0].items[0]
    own = {"completed_by": 7, "result": region("joyful"), "lead_time": "TIME"}
    task = {"data": {"hit": source.hits[0].id, "item": item.id}, "annotations": [own]}
    (tmp_path / "export.json").write_text(json.dumps([task]).replace('"TIME"', time))
    [answer] = read_import(tmp_path / "export.json", "label-studio", folder)
    assert answer.value == "joyful" and answer.seconds in (None, 0.0)
