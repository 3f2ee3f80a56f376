"""Labels of one's own, given by people: from answers to a seed, its extension, and pages that ask for them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import edos_dataset
from crowd_tables import ByFirstWord
from edos_dataset import crowd
from edos_dataset.augmentation.steps import SpreadStep
from edos_dataset.commands import crowd_batches
from edos_dataset.crowd import seed as seeds
from edos_dataset.crowd.answers import read_labelled
from edos_dataset.crowd.assignments import Assignment, Work
from edos_dataset.crowd.batches import read_batch
from edos_dataset.crowd.mturk.questions import form_page
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.store import Store
from edos_dataset.label_sets import LabelSet, load_label_set, with_label_set
from edos_dataset.labeling.models.linear import LinearHead, LinearLabeler
from edos_dataset.web.crowd import pages

MOODS = "labels: {calm: At ease., tense: Under strain., flat: }\nneutral: flat\n"


class Letters:
    """An encoder that is there at once."""

    identity, device, token_budget = "letters@1", "cpu", None

    def check(self):
        """It is."""

    def encode(self, texts):
        return np.array([[text.count(letter) + 0.1 for letter in "eotvn"] for text in texts], np.float32).reshape(-1, 5)


@pytest.fixture
def answers(tmp_path, monkeypatch):
    monkeypatch.setattr(seeds, "Encoder", ByFirstWord)
    (tmp_path / "moods.yaml").write_text(MOODS)
    path = tmp_path / "answers.jsonl"
    typed = {"a": ("calm", "tense", "flat"), "b": ("Calm", "tens", "FLAT")}
    rows = [
        {"task": f"t{number}", "worker": worker, "label": given[number % 3], "turns": [f"word{number} it is"]}
        for number in range(30)
        for worker, given in typed.items()
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_answers_that_are_no_labels_end_with_the_remedy(answers, tmp_path):
    message = "60 of 60 answers are none of the 41 labels of 'edos41' .* label_set=NAME"
    with pytest.raises(ValueError, match=message):
        crowd.measure_agreement(answers)
    with pytest.raises(ValueError, match=message):
        crowd.make_seed(answers, tmp_path / "seed")
    known = tmp_path / "known.csv"
    known.write_text("task,worker,label\nt,a,admiration\nt,b,remorse\n")
    with pytest.raises(ValueError, match="goemotions28 has all of them"):
        crowd.measure_agreement(known)
    known.write_text("task,worker,label,turns\nt,a,admiration,Hi\nt,b,admiration,Hi\ns,a,joy,Ho\n")
    with pytest.raises(ValueError, match="none may be empty.*2 of 3 answers are none of the 41 labels"):
        crowd.make_seed(known, tmp_path / "seed")


def test_answers_in_the_folder_of_a_batch_are_labels_of_its_set(answers, tmp_path):
    task = tmp_path / "tasks.jsonl"
    task.write_text(json.dumps({"task": "t", "turns": ["Hello."], "top": ["calm", "tense", "flat"]}) + "\n")
    crowd.make_hits(task, tmp_path / "batch", label_set=tmp_path / "moods.yaml")
    measured = crowd.measure_agreement(answers.rename(tmp_path / "batch" / "answers.jsonl"))
    assert (measured["agreed"], measured["label_set"]) == (30, "moods")


def test_a_seed_of_other_labels_and_its_extension(answers, tmp_path):
    labels = tmp_path / "moods.yaml"
    measured = crowd.measure_agreement(answers, label_set=labels)
    assert (measured["agreed"], measured["label_set"]) == (30, "moods")
    assert list(measured["per_label"]) == ["calm", "tense", "flat"]
    seed = crowd.make_seed(answers, tmp_path / "seed", label_set=labels)
    assert (
        seed["label_set"]["name"] == "moods"
        and sum(map(sum, (row.values() for row in seed["by_label"].values()))) == 30
    )
    rows = edos_dataset.load(str(tmp_path / "seed"), split="train")
    assert rows.features["label"].names == ["calm", "tense", "flat"] and len(rows[0]["soft_label"]) == 3
    assert "one of the 3 labels of `moods`" in (tmp_path / "seed" / "README.md").read_text(encoding="utf-8")
    pool = tmp_path / "pool.jsonl"
    pool.write_text(json.dumps({"dialogue_id": "near", "turns": ["word3 again"]}) + "\n")
    steps = [SpreadStep(threshold=0.5, conflict="nearest", guard=1.0)]
    done = edos_dataset.extend(tmp_path / "seed", pool, tmp_path / "more", steps, encoder=Letters())
    assert done["label_set"]["name"] == "moods" and set(done["steps"][0]["by_label"]) <= {"calm", "tense", "flat"}
    more = edos_dataset.load(str(tmp_path / "more"), split="train")
    assert more.features["label"].names == ["calm", "tense", "flat"]
    assert '<option value="tense">' in (tmp_path / "more" / "audit.html").read_text(encoding="utf-8")


def test_a_batch_keeps_its_labels(tmp_path):
    tasks = tmp_path / "tasks.jsonl"
    row = {"task": "t", "turns": ["Hello."], "top": ["joy", "neutral", "fear"], "label_set": "ekman7"}
    tasks.write_text(json.dumps(row) + "\n")
    crowd.make_hits(tasks, tmp_path / "batch")
    batch = read_batch(tmp_path / "batch")
    assert batch.labels.name == "ekman7" and [item.kind for item in batch.hits[0].items] == ["label"]
    page = pages.tutorial(batch, batch.texts)
    assert "<dt>surprise</dt>" in page and "joyful" not in page and "Response intents" not in page
    assert list(pages.labels(batch.texts, batch.labels)) == list(load_label_set("ekman7").labels)
    with pytest.raises(ValueError, match="unknown label 'joy'.* if it is of another set, give label_set=NAME"):
        crowd.make_hits(tasks, tmp_path / "other", label_set="edos41")
    tasks.write_text(json.dumps({**row, "label_set": "moods"}) + "\n")
    with pytest.raises(ValueError, match="has labels of the set 'moods': give its file by label_set=FILE"):
        crowd.make_hits(tasks, tmp_path / "other")


def _labelled(out, top, label_map="ekman7"):
    edos_dataset.label([["I lost my job.", "Oh no!"]], "fast", out=out, label_map=label_map, top=top)
    return out


@pytest.mark.parametrize(
    ("name", "top", "label_map", "found"),
    [
        ("all.jsonl", 7, "ekman7", "ekman7"),
        ("all.csv", 3, "sentiment3", "sentiment3"),
        ("ours.jsonl", 3, None, "edos41"),
    ],
)
def test_a_labelled_table_says_its_labels(name, top, label_map, found, tmp_path):
    crowd.make_hits(_labelled(tmp_path / name, top, label_map), tmp_path / "batch")
    assert read_batch(tmp_path / "batch").labels.name == found


def test_a_file_of_a_labelled_folder_says_its_labels(tmp_path):
    labels = LabelSet.of_labels(["calm", "tense", "flat"])
    turns = [[{"text": "Hello.", "label": 1}, {"text": "Oh.", "label": 2}]]
    kind = pa.list_(pa.struct({"text": pa.string(), "label": pa.int64()}))
    table = with_label_set(pa.table({"dialogue_id": ["a"], "turns": pa.array(turns, kind)}), labels)
    pq.write_table(table, tmp_path / "a.parquet")
    crowd.make_hits(tmp_path / "a.parquet", tmp_path / "batch")
    assert read_batch(tmp_path / "batch").labels.labels == ("calm", "tense", "flat")


def test_labels_of_several_sets_are_asked_for(tmp_path):
    rows = [{"dialogue_id": "a", "turns": [{"text": "Hi.", "label": "joy"}, {"text": "No.", "label": "anger"}]}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match="unknown label 'joy'.* give label_set=NAME"):
        crowd.make_hits(tmp_path / "in.jsonl", tmp_path / "batch")


def test_the_first_object_is_read_once(tmp_path, monkeypatch):
    given, opened = [], crowd_batches.read_objects
    monkeypatch.setattr(crowd_batches, "read_objects", lambda *asked: given.append(asked) or opened(*asked))
    crowd.make_hits(_labelled(tmp_path / "in.jsonl", 7), tmp_path / "batch")
    assert len(given) == 1


def test_what_is_typed_is_read_by_the_set(answers, tmp_path):
    moods = load_label_set(tmp_path / "moods.yaml")
    assert [read_answer(given, moods).label for given in ("TENSE (Other)", "tens", "sad")] == [1, 1, MISSING]
    two_words = LabelSet.of_labels(["no_emotion", "In Need"])
    assert [read_answer(given, two_words).label for given in ("no emotion", "in need", "No_Emotion")] == [0, 1, 0]
    assert set(read_labelled(answers, labels=moods).label) == {0, 1, 2}


def test_a_linear_head_with_other_labels_says_which():
    record = {"labels": ["calm", "tense", "flat"]}
    head = LinearHead(np.zeros((2, 3), np.float32), np.zeros(3, np.float32), record=record)
    assert LinearLabeler(head).label_set.labels == ("calm", "tense", "flat")
    with pytest.raises(ValueError, match=r"a head needs weight \[features, 41\]"):
        LinearHead(np.zeros((2, 3), np.float32), np.zeros(3, np.float32))


def test_own_dialogues_become_questions_with_all_labels_of_a_small_set(tmp_path):
    (tmp_path / "talk.csv").write_text("conversation_id;speaker;message\n1;C;It is late!\n1;A;Sorry.\n2;C;How much?\n")
    done = crowd.make_hits(tmp_path / "talk.csv", tmp_path / "batch", label_set="sentiment3")
    [hit] = read_batch(tmp_path / "batch").hits
    assert done["questions"] == 2  # nothing comes before the first turn of a dialogue
    assert sorted(item.turns for item in hit.items) == [("How much?",), ("It is late!", "Sorry.")]
    assert {tuple(sorted(item.choices)) for item in hit.items} == {("negative", "neutral", "positive")}
    crowd.make_hits(tmp_path / "talk.csv", tmp_path / "all", label_set="sentiment3", openings=True)
    [hit] = read_batch(tmp_path / "all").hits
    assert ("It is late!",) in {item.turns for item in hit.items}


def test_labelled_dialogues_suggest_their_labels(tmp_path):
    turn = {"text": "We won!", "label": "joyful", "top": [{"label": "joyful"}, {"label": "proud"}]}
    (tmp_path / "labelled.jsonl").write_text(json.dumps({"dialogue_id": "a", "turns": [turn]}))
    crowd.make_hits(tmp_path / "labelled.jsonl", tmp_path / "batch", checks=0)
    [hit] = read_batch(tmp_path / "batch").hits
    assert sorted(hit.items[0].choices) == ["joyful", "proud"] and hit.items[0].facts["label"] == "joyful"


def test_dialogues_without_labels_need_a_small_set(tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"dialogue_id": "a", "turns": ["We won!"]}')
    with pytest.raises(ValueError, match=r"turn 1 of 'a' has no label.*edos label.*label_set"):
        crowd.make_hits(tmp_path / "talk.jsonl", tmp_path / "batch")


GUIDELINE = """# Read first

Sarcasm is *tense*, never `calm`.
It **counts**.
- whole <b>dialogues</b>
- no hurry
"""


def test_a_guideline_and_who_speaks_are_on_the_pages(tmp_path):
    (tmp_path / "guide.md").write_text(GUIDELINE)
    talk = [("1", "Ann", "I lost my job."), ("2", "", "We won!"), ("1", "Ben", "Oh no!")]
    rows = "\n".join(",".join(row) for row in talk)
    (tmp_path / "talk.csv").write_text(f"dialogue_id,speaker,text\n{rows}\n")
    crowd.make_hits(
        tmp_path / "talk.csv", tmp_path / "batch", label_set=["calm", "tense"], guideline=tmp_path / "guide.md"
    )
    batch = read_batch(tmp_path / "batch")
    page = pages.tutorial(batch, batch.texts)
    assert (
        "<h3>Read first</h3><p>Sarcasm is <em>tense</em>, never <code>calm</code>. It <strong>counts</strong>.</p>"
        in page
    )
    assert "<ul><li>whole &lt;b&gt;dialogues&lt;/b&gt;</li><li>no hurry</li></ul>" in page
    assert "quiz" not in page
    [hit] = batch.hits
    shown = pages.content(batch, batch.texts, Assignment(1, hit, False, None), {})["items"]
    assert sorted((item["turns"], item["speakers"]) for item in shown) == [
        (("I lost my job.", "Oh no!"), ["Ann", "Ben"]),
        (("We won!",), [""]),
    ]
    assert "<p>Ann: I lost my job.</p>" in form_page(hit, batch.labels)


@pytest.mark.parametrize("content", [None, b"  \n", b"\xff\xfe\x00"])
def test_a_guideline_that_cannot_be_read(content, tmp_path):
    path = tmp_path / "guide.md"
    if content is not None:
        path.write_bytes(content)
    (tmp_path / "talk.csv").write_text("text\nHello.\n")
    with pytest.raises(ValueError, match="guide.md"):
        crowd.make_hits(tmp_path / "talk.csv", tmp_path / "batch", label_set=["calm", "tense"], guideline=path)
    assert not (tmp_path / "batch").exists()


def test_a_worker_who_was_never_invited_is_told_so(tmp_path):
    (tmp_path / "talk.csv").write_text("text\nHello.\n")
    crowd.make_hits(tmp_path / "talk.csv", tmp_path / "batch", label_set=["calm", "tense"])
    work = Work(Store(tmp_path / "batch" / "answers.sqlite"), read_batch(tmp_path / "batch"))
    with pytest.raises(ValueError, match="'ann' is no worker of this batch: invite them first"):
        work.hand_out("ann")


def test_a_seed_warns_of_answers_outside_the_set(answers, tmp_path):
    answers.write_text(answers.read_text().replace("tense", "gleeful", 1))
    warning = r"1 of 60 answers is none of the 3 labels of 'moods' \('gleeful' 1\)"
    with pytest.warns(UserWarning, match=warning):
        crowd.make_seed(answers, tmp_path / "seed", label_set=tmp_path / "moods.yaml")
