"""What people answered, as files that the other commands read, and as figures of how it goes."""

import csv
import json

import pytest

from command_line import edos
from crowd_batches import answer_all, given, judged, judging, labelling, quiz, tasks
from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.assignments import Work, answer_lines, as_csv, label_rows
from edos_dataset.crowd.batches import read_batch
from edos_dataset.crowd.progress import progress
from edos_dataset.crowd.store import invite


@pytest.fixture
def labelled(tmp_path):
    batch, kept = labelling(tmp_path / "batch")
    invite(kept, ["anna", "ben", "cleo", "dora"])
    work = Work(kept, batch)
    for worker, right, label in (("anna", True, "joyful"), ("ben", True, "joyful"), ("cleo", False, "proud")):
        answer_all(work, worker, right, label)
    mine = work.hand_out("dora")
    for place, item in enumerate(mine.hit.items):
        if item.kind == "label":
            work.give("dora", mine.id, given(place, "sad"))
            work.give("dora", mine.id, given(place, None, "=cmd()|'x'", seconds=3))
    return work


def test_answers_become_what_agreement_reads_without_names(labelled, tmp_path):
    out = tmp_path / "answers.jsonl"
    result = edos("crowd", "answers", tmp_path / "batch", "--out", out)
    assert result.exit_code == 0 and result.output == "6 answers of 3 workers\n"
    found = read_answers(out)
    assert (len(found.tasks), len(found.task), len(set(found.worker))) == (2, 6, 3)
    assert not {"anna", "ben", "cleo"} & set(found.worker)
    assert found.dialogues[0][0].startswith("How are you") and found.names[0] + "@2" == found.tasks[0]
    report = json.loads(edos("crowd", "agreement", out, "--json").output)
    assert (report["rows"], report["agreed"], report["per_label"]["joyful"]["answers"]) == (2, 2, 4)


def test_a_spreadsheet_takes_nothing_for_a_formula(labelled, tmp_path):
    rows = list(label_rows(labelled.store, labelled.batch, unfinished=True))
    text = as_csv([*rows, rows[0] | {"turns": ["-1+1", "@x"], "task": "+t"}])
    cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    assert "'=cmd()|'x'" in cells and "'-1+1\n@x" in cells and "'+t" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    (tmp_path / "a.csv").write_text(as_csv(rows), newline="")
    assert len(read_answers(tmp_path / "a.csv").task) == 8


def test_the_log_has_the_latest_answers_to_everything_and_what_was_handed_in(labelled, tmp_path):
    lines = list(answer_lines(labelled.store, labelled.batch, unfinished=True))
    answers, done = [line for line in lines if "item" in line], [line for line in lines if "finished" in line]
    assert (len(answers), len(done)) == (3 * 4 + 2, 3)
    dora = [line for line in answers if line["typed"]]
    assert [(line["value"], line["seconds"]) for line in dora] == [(None, 3.0)] * 2
    assert all(line["at"] >= line["began"] for line in done)
    result = edos("crowd", "answers", tmp_path / "batch", "--log", "--out", tmp_path / "log.jsonl")
    assert result.output == "12 answers of 3 workers\n"
    assert edos("crowd", "answers", tmp_path / "batch", "--log", "--out", tmp_path / "log.csv").exit_code == 1


def test_progress_of_labelling(labelled):
    found = progress(labelled)
    counts = ("hits", "done", "assignments", "wanted", "open", "left", "bonuses", "cost")
    assert [found[name] for name in counts] == [2, 1, 3, 6, 1, 0, 2, 1.4]
    assert found["agreement"]["tasks"] == 2 and found["agreement"]["pairwise_agreement"] == pytest.approx(
        1 / 3, abs=1e-4
    )
    assert {(row["points"], row["of"], row["answers"]) for row in found["workers"]} == {(2, 2, 4), (0, 2, 4), (0, 0, 2)}
    assert found["labels"]["joyful"]["answers"] > 0 and found["people"]["absent"] == []


def test_progress_names_whom_the_rules_flag_and_who_has_not_come(tmp_path):
    batch, kept = labelling(tmp_path / "batch", rules={"least_seconds": 2.5})
    invite(kept, ["anna", "ben"])
    answer_all(Work(kept, batch), "anna")  # two seconds an item
    found = progress(Work(kept, batch))
    [row] = found["workers"]
    assert (row["verdict"], row["reason"]) == ("discard", "too fast: 2.0 s an item, at least 2.5")
    assert found["people"] == {"invited": 2, "consented": 0, "begun": 1, "absent": ["ben"]}
    assert Work(kept, batch).left("anna") == 1 and Work(kept, batch).left("ben") == 2


def test_progress_of_judging(tmp_path):
    batch, kept = judging(tmp_path / "batch", dialogues=4, size=4, bonus=2)
    invite(kept, ["anna", "ben"])
    work = Work(kept, batch)
    assert progress(work)["agreement"] is None
    answer_all(work, "anna")
    answer_all(work, "ben", right=False)
    found = progress(work)
    assert (found["done"], found["bonuses"], found["cost"]) == (1, 1, 0.9)
    assert found["agreement"] == {"tasks": 18, "pairwise_agreement": round(16 / 18, 4), "fleiss_kappa": -0.0588}


def test_hits_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks(20)))
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(question) + "\n" for question in quiz()))
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged(20)))
    result = edos("crowd", "hits", "tasks.jsonl", "--out", "a", "--quiz", "quiz.jsonl", "--checks", 4)
    assert (
        result.exit_code == 0
        and "labelling: 2 HITs with 28 questions, 3 people per HIT\n2.40 to 3.00 US" in result.output
    )
    result = edos("crowd", "hits", "judged.jsonl", "--out", "b", "--workers", 2)
    assert result.exit_code == 0 and "judging: 2 HITs with 20 questions, 2 people per HIT" in result.output
    assert read_batch(tmp_path / "b").workers == 2
    for wrong, message in (
        (("tasks.jsonl", "--out", "a"), "--force to replace the batch"),
        (("tasks.jsonl", "--out", "c", "--quiz", "judged.jsonl"), "label must be a text"),
        (("tasks.jsonl", "--out", "c", "--quiz", "quiz.jsonl", "--checks", 5), "as many questions as the quiz has, 4"),
        (("tasks.jsonl", "--out", "c", "--kind", "judging"), "is for 'labelling'"),
        (("judged.jsonl", "--out", "c", "--quiz", "quiz.jsonl"), "leave it out"),
        (("judged.jsonl", "--out", "c", "--row", "a"), "leave --row out"),
        (("one=judged.jsonl", "--out", "c"), "of two models or more"),
    ):  # fmt: skip
        told = edos("crowd", "hits", *wrong)
        assert told.exit_code == 1 and message in told.stderr, (wrong, told.stderr)
        assert not (tmp_path / "c").exists()


def test_answers_are_not_overwritten_by_a_new_batch(labelled, tmp_path):
    (tmp_path / "tasks.jsonl").write_text(json.dumps(tasks(1)[0]) + "\n")
    told = edos("crowd", "hits", tmp_path / "tasks.jsonl", "--out", tmp_path / "batch", "--force")
    assert told.exit_code == 1 and "holds answers, which" in told.stderr
    (tmp_path / "batch" / "hits.jsonl").write_text(
        (tmp_path / "batch" / "hits.jsonl").read_text().splitlines()[0] + "\n"
    )
    with pytest.raises(ValueError, match="is a damaged batch"):
        read_batch(tmp_path / "batch")
