"""Whatever value stands in a file of a crowd (of another tool, or of a batch that others give), it is used or refused
with a sentence.
"""

import csv
import io
import json

import pytest

from crowd_people import answered, careful, judging, labelling, written
from edos_dataset.commands.crowd_batches import IMPORTS, make_batch, open_answers, read_import, rules_of
from edos_dataset.crowd.answers import label_table, read_answers
from edos_dataset.crowd.batches import HITS, RECORD, cost_range, read_batch
from edos_dataset.crowd.hit_answers import write_hit_answers
from edos_dataset.crowd.hits import join_answers, read_evaluation, read_judged_dialogues, read_quiz, read_tasks
from edos_dataset.crowd.judgements import measure_judgements
from edos_dataset.crowd.quality import QualityRules, worker_rows
from hostile import check_refusal, in_cells, replaced


def refused_or(read):
    try:
        read()
    except ValueError as error:
        check_refusal(error)


def hit_of(batch, kinds):
    """Return a batch of one HIT with one item of each kind."""
    hit = batch.hits[0]
    items = [next(item for item in hit.items if item.kind == kind) for kind in kinds]
    return type(batch)(batch.kind, [type(hit)(hit.id, tuple(items))], batch.workers)


@pytest.fixture(params=["labelling", "judging"])
def batch(request, tmp_path):
    """Return a small batch in a folder, and two people's answers to it."""
    kinds = ("label", "quiz") if request.param == "labelling" else ("judge", "bonus")
    batch = hit_of(labelling(20) if request.param == "labelling" else judging(10), kinds)
    folder = written(tmp_path / "batch", batch)
    return folder, answered(batch, {"ann": (careful, 3.0), "bob": (careful, 4.0)})


def used(folder):
    """Read a batch with its answers, and what the commands make of them."""
    if (given := open_answers(folder)) is None:  # of plain answers
        read_answers(folder / "answers.jsonl")
        return
    batch, answers = given.batch, given.answers
    rules = rules_of(batch, None)
    rows = worker_rows(batch.hits, answers, rules)
    assert all(row.median_seconds is None or 0 <= row.median_seconds < 1e18 for row in rows)
    least, most = cost_range(len(batch.hits), batch.workers, batch.reward, batch.bonus)
    assert 0 <= least <= most
    if batch.kind == "judging":
        measure_judgements(batch.hits, answers, rules, resamples=2)
    else:
        label_table(batch.hits, answers, labels=batch.labels)
    for item in batch.hits[0].items:
        assert "".join(item.said) is not None
    write_hit_answers(folder / "again.jsonl", answers)


def spoiled(folder, name, place=0):
    """Put one hostile value after the other into a line of a file of a batch, and use the batch."""
    path = folder / name
    lines = path.read_text().splitlines()
    for text in replaced(json.loads(lines[place])):
        path.write_text("\n".join([*lines[:place], text, *lines[place + 1 :]]) + "\n")
        refused_or(lambda: used(folder))


@pytest.mark.parametrize("file", [HITS, "answers.jsonl"])
def test_a_batch_of_others(batch, file):
    folder, answers = batch
    write_hit_answers(folder / "answers.jsonl", answers)
    used(folder)
    spoiled(folder, file)


def test_the_record_of_a_batch(batch):
    folder, answers = batch
    write_hit_answers(folder / "answers.jsonl", answers)
    record = json.loads((folder / RECORD).read_text())
    record |= {"rules": {"quiz_right": 2, "countries": ["CH"]}, "guideline": "Read."}
    if record["kind"] == "labelling":
        record["label_set"] = {"name": "mine", "labels": ["joy", "fear"]}
    (folder / RECORD).write_text(json.dumps(record))
    used(folder)
    for text in replaced(record):
        (folder / RECORD).write_text(text)
        refused_or(lambda: used(folder))


def test_a_finished_line_of_answers(batch):
    folder, answers = batch
    write_hit_answers(folder / "answers.jsonl", answers)
    spoiled(folder, "answers.jsonl", -1)


TURN = {"text": "Oh no.", "speaker": "A"}
TASK = {"task": "t", "turns": ["a", "b"], "top": ["sad", "joyful"], "label": "sad", "speakers": ["A", "B"]}
REPLIES = [{"model": "m", "text": "x"}, {"model": "n", "text": "y"}]
FILES = {
    "tasks": (read_tasks, TASK | {"choices": ["sad", "joyful"], "dialogue_id": "d", "confidence": 0.5}),
    "quiz": (read_quiz, {"turns": ["a"], "label": "sad", "choices": ["sad", "joyful"]}),
    "judged": (
        read_judged_dialogues,
        {"dialogue_id": "d", "turns": ["a", TURN], "answers": REPLIES, "truth": "t", "set": "s"},
    ),
    "answered": (lambda path: join_answers({"m": path}), {"dialogue_id": "d", "turns": ["a"], "answers": REPLIES[:1]}),
    "plain answers": (read_answers, {"task": "t", "worker": "w", "label": "sad", "turns": ["a"], "dialogue_id": "d"}),
    "batch": (
        lambda path: make_batch([str(path)], size=1, checks=0),
        TASK,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_batches_are_made_from(name, tmp_path):
    read, example = FILES[name]
    path = tmp_path / "given.jsonl"
    path.write_text(json.dumps(example))
    read(path)
    for text in replaced(example):
        path.write_text(text)
        refused_or(lambda: read(path))


def test_the_records_of_an_evaluation(tmp_path):
    context = {"turns": ["a"], "truth": "t"}
    matrix = {"sets": {"s": {"digest": "x", "contexts": [context]}}}
    cells = [{"digest": "x", "set": "s", "row": name, "answers": ["y"]} for name in ("one", "two")]
    for spoilt in ("matrix", "s--one"):
        content = {"matrix": matrix, "s--one": cells[0], "s--two": cells[1]}
        for name, example in content.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(example))
        assert len(read_evaluation(tmp_path)) == 1
        for text in replaced(content[spoilt]):
            (tmp_path / f"{spoilt}.json").write_text(text)
            refused_or(lambda: read_evaluation(tmp_path))


def fields_of(item):
    """Return the fields of a form that answers an item."""
    if item.kind in ("judge", "bonus"):
        return {f"grade{place}": "good" for place in range(1, len(item.choices) + 1)}
    return {"label": "other", "other": "smug"}


def argilla(hit, item, folder):
    answers = {name: [{"value": value, "user_id": "u"}] for name, value in fields_of(item).items()}
    record = {"id": "x", "metadata": {"hit": hit.id, "item": item.id}, "responses": answers, "status": "completed"}
    return folder / "records.json", [record], replaced([record])


def label_studio(hit, item, folder):
    result = [
        {"type": "choices", "from_name": name, "value": {"choices": [value]}} for name, value in fields_of(item).items()
    ]
    one = {"completed_by": {"id": 7, "email": "x"}, "lead_time": 2.5, "updated_at": "2026-01-04", "result": result}
    task = {"data": {"hit": hit.id, "item": item.id}, "annotations": [one | {"was_cancelled": False}]}
    return folder / "export.json", [task], replaced([task])


def prolific(hit, item, folder):
    row = {"META_hit": hit.id, "META_item": item.id, "participant_id": "p", "seconds": "2.5", "completed_at": "2026"}
    row |= fields_of(item)
    return folder / "results.csv", table_of(row), map(table_of, in_cells(row))


def mturk(hit, item, folder):
    row = {"Input.hit": hit.id, "WorkerId": "w", "AssignmentStatus": "Approved", "WorkTimeInSeconds": "9"}
    row |= {"Answer.label1": "sad", "Answer.other1": "", "Answer.quiz1": "sad", "SubmitTime": "2026"}
    row |= {f"Answer.{name}_1": value for name, value in fields_of(item).items()}
    return folder / "results.csv", table_of(row), map(table_of, in_cells(row))


def table_of(row):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row))
    writer.writeheader()
    writer.writerow(row)
    return text.getvalue()


TOOLS = {"argilla": argilla, "label-studio": label_studio, "prolific-csv": prolific, "mturk-csv": mturk}


def test_every_tool_is_asked():
    assert TOOLS.keys() == IMPORTS.keys()


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_of_other_tools(tool, batch, tmp_path):
    folder = batch[0]
    hit = read_batch(folder).hits[0]
    if tool == "mturk-csv" and hit.items[0].kind == "judge":
        pytest.skip("Mechanical Turk's site has no layout for it")
    for item in hit.items if tool != "mturk-csv" else hit.items[:1]:
        path, example, texts = TOOLS[tool](hit, item, tmp_path)
        path.write_text(example if isinstance(example, str) else json.dumps(example))
        assert read_import(path, tool, folder)
        for text in texts:
            path.write_text(text, errors="surrogatepass")

            def imported(path=path):
                found = read_import(path, tool, folder)
                assert all(one.seconds is None or 0 <= one.seconds < 4e9 for one in found)
                for one in found:
                    f"{one.worker} {one.typed} {one.at} {one.value}".encode()

            refused_or(imported)


@pytest.mark.parametrize("name", QualityRules.__dataclass_fields__)
@pytest.mark.parametrize("value", [None, "x", -1, float("nan"), True, [], [None], {"a": 1}, "US"])
def test_rules_of_quality(name, value):
    refused_or(lambda: QualityRules().override({name: value}))
