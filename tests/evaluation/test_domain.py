"""Every model on every held-out set: small sets of all forms, and a labeler that knows some words."""

import json
from collections import Counter

import numpy as np
import pytest

from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS
from edos_dataset.releases.labelled_sets.readers import LabelledDialogue
from evaluation import domain, domain_sets
from evaluation.domain import describe, measure
from training.held_out import SPLIT_BY_DIGEST, held_out, held_out_reading

WORDS = {"hate": "angry", "love": "joyful", "what": "questioning", "alone": "lonely", "yes": "agreeing"}


class Labeler:
    """Says the label of the first word that it knows, with confidence 0.5, else neutral; looks at the history if a
    turn is "...".
    """

    identity, source, record = "words@1", "words", {}

    def __init__(self, context=None):
        self.context, self.asked = context, []

    def predict_proba(self, dialogues):
        self.asked.append(dialogues)
        rows = []
        for turns in dialogues:
            for number, turn in enumerate(turns):
                seen = turns[number - 1] if turn == "..." and number else turn
                label = next((label for word, label in WORDS.items() if word in seen.lower()), "neutral")
                rows.append(np.full(41, 0.5 / 40, np.float32))
                rows[-1][LABEL_IDS[label]] = 0.5
        return np.array(rows)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    meld = [
        "Sr No.,Utterance,Speaker,Emotion,Dialogue_ID,Utterance_ID",
        "1,I hate you!,Ann,anger,0,0",
        "2,...and you.,Bob,anger,0,1",
        "3,What love?,Bob,joy,0,2",
        "4,A table.,Ann,neutral,1,0",
        "5,Another.,Ann,sadness,1,1",
    ]
    write(tmp_path / "meld/dev_sent_emo.csv", "\n".join(meld) + "\n")
    write(tmp_path / "swda/val.txt", "A|What is it?|qy\nB|A table.|sd\nA|Yes.|aa\nB|Yes.|b\n")
    write(tmp_path / "xed/neu_en.txt", "".join(f"9\tTable number {number}.\n" for number in range(100)))
    love = "".join(f"I love number {number} .\t5, 8\n" for number in range(100))
    write(tmp_path / "xed/en-annotated.tsv", love)
    return tmp_path


def run(folder, *words, out="report"):
    domain.main(["--data-dir", str(folder), "--out", str(folder / out), *words])
    return json.loads((folder / out / "domain.json").read_text(encoding="utf-8"))


@pytest.fixture
def labeler(monkeypatch):
    labeler = Labeler()
    monkeypatch.setattr(domain, "load_labeler", lambda name: labeler)
    return labeler


def test_a_set_that_knows_no_intents_is_measured_without_them(folder):
    held = domain_sets.read_set("meld", folder, None)
    assert (held.intents, len(held.judged), held.clusters.tolist()) == (False, 5, [0, 0, 0, 1, 1])
    assert describe(held)["largest_class_accuracy"] == 0.4
    figures = measure(held, domain.predict(Labeler(), held))
    # "What love?": the label of "love" is said first, not that of "what".
    assert figures["accuracy"] == figures["label_accuracy"] == 0.6
    assert figures["accuracy_but_neutral"] == 0.5
    assert figures["by_class"]["anger"] == {"f1": 0.6667, "precision": 1.0, "recall": 0.5, "support": 2}
    assert figures["weighted_f1"] == pytest.approx((2 * 2 / 3 + 1 + 2 * 1 / 4) / 5, abs=1e-4)
    assert not set(figures["by_label"]) & set(INTENTS)
    asked = np.full((5, 41), 0.01, np.float32)
    asked[:, LABEL_IDS["questioning"]] = 0.6
    assert measure(held, asked)["intents_first"] == 1


def test_a_model_without_history_is_shown_the_judged_turns_alone(folder):
    held = domain_sets.read_set("swda", folder, None)
    with_history, without = Labeler(), Labeler(context=0)
    np.testing.assert_array_equal(domain.predict(with_history, held), domain.predict(without, held))
    assert with_history.asked == [[["What is it?", "A table.", "Yes.", "Yes."]]]
    assert without.asked == [[["What is it?"], ["Yes."], ["Yes."]]], "a statement says nothing of ours"


def test_acts_are_classes_of_ours_and_intents_are_answers(folder):
    held = domain_sets.read_set("swda", folder, None)
    assert held.intents
    assert {"questioning", "agreeing", "acknowledging"} <= set(held.classes)
    figures = measure(held, domain.predict(Labeler(), held))
    assert figures["label_accuracy"] == 0.6667
    assert figures["intents_first"] is None


def test_a_sentence_may_have_several_right_classes_and_a_part_is_held_out(folder):
    held = domain_sets.read_set("xed", folder, None)
    assert all(held_out("xed", turns[0]) for turns in held.dialogues)
    assert Counter(held.right.sum(axis=1).tolist()).keys() == {1, 2}
    assert 20 < len(held.dialogues) < 70
    figures = measure(held, domain.predict(Labeler(), held))
    assert figures["accuracy"] == 1, "joy or trust is right for love, and joyful is joy"
    assert (figures["ece"], figures["sure"]["answers"]) == (pytest.approx(0.41, abs=0.1), 0)
    assert figures["by_class"]["trust"]["recall"] == 0


@pytest.mark.parametrize("name", SPLIT_BY_DIGEST)
def test_of_every_set_with_one_file_something_is_held_out(name):
    assert name in domain_sets.SETS or name in ("emotyda", "esconv")


def test_the_authors_test_file_is_read_whole_if_it_is_named(tmp_path):
    write(tmp_path / "empathetic_dialogues/weak_labeler/test.txt", "12 <SEP> I love it.\n40 <SEP> A table.\n")
    held = domain_sets.read_set("weak_test", tmp_path, None)
    assert [held.classes[place] for place in held.right.argmax(axis=1)] == [LABELS[12], "neutral"]
    assert "weak_test" not in domain.parse_arguments(["--data-dir", str(tmp_path), "--models", "words"]).sets
    with pytest.raises(FileNotFoundError):
        domain_sets.read_set("weak_test", tmp_path / "none", None)


def test_of_the_readings_every_label_of_a_turn_is_right_and_an_eighth_is_held_out(tmp_path, monkeypatch):
    names = [f"films/a.srt#{number}@0" for number in range(60)]
    said, labels = ("I hate it.", "Hm.", "What is it?"), (("annoyed", "angry"), (), ("surprised",))
    read = [LabelledDialogue(name, (name, *said), (None,) * 4, ((), *labels)) for name in names]
    monkeypatch.setattr(domain_sets, "read_readings", lambda _: (read, {"labelled": 120, "missing_file": 3}))
    held = domain_sets.read_set("films", tmp_path, None)
    assert [turns[0] for turns in held.dialogues] == [name for name in names if held_out_reading(name)]
    assert 2 < len(held.dialogues) < 20 and held.intents and held.unreadable == {"missing_file, held out or not": 3}
    assert held.judged[:4].tolist() == [1, 3, 5, 7]
    assert [[held.classes[label] for label in np.flatnonzero(row)] for row in held.right[:2]] == [
        ["angry", "annoyed"],
        ["surprised"],
    ]
    assert measure(held, domain.predict(Labeler(), held))["accuracy"] == 0.5
    assert "language models" in held.description


JSONL = (
    '{"dialogue_id": "a", "turns": [{"text": "Hm."}, {"text": "I hate it.", "label": "annoyed|angry", "by": "me"}]}\n'
    '{"dialogue_id": "b", "turns": [{"text": "I love it.", "label": "Joyful", "confidence": 0.1, "top": []}]}\n'
    '{"dialogue_id": "c", "turns": [{"text": "I love it.", "label": "sad", "top": [], "confidence": 0.9}]}\n'
)
CSV = "dialogue_id,text,label\na,Hm.,\na,I hate it.,annoyed|angry\nb,I love it.,joyful\nc,I love it.,sad\n"


@pytest.mark.parametrize(("name", "text"), [("mine.jsonl", JSONL), ("mine.csv", CSV)])
def test_labels_of_ones_own(tmp_path, name, text):
    held = domain_sets.read_labelled_file(write(tmp_path / name, text))
    assert held.dialogues == [["Hm.", "I hate it."], ["I love it."], ["I love it."]]
    assert held.judged.tolist() == [1, 2, 3]
    assert [[LABELS[label] for label in np.flatnonzero(row)] for row in held.right] == [
        ["angry", "annoyed"],
        ["joyful"],
        ["sad"],
    ]
    figures = measure(held, domain.predict(Labeler(), held))
    assert (figures["accuracy"], figures["by_label"]["joyful"]) == (0.6667, {"said": 2, "right": 0.5})
    assert sum(map(sum, figures["confusion"]["counts"])) == 3


def test_turns_without_dialogues_stand_alone(tmp_path):
    held = domain_sets.read_labelled_file(write(tmp_path / "a.csv", "text,label\nI hate it.,angry\nNo.,\n"))
    assert (held.dialogues, held.judged.tolist()) == ([["I hate it."], ["No."]], [0])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "text,label\nNo.,happy\n", "a.csv, line 2: unknown label 'happy': expected one of afraid"),
        ("a.csv", "text,label\n\nYes,sad\nNo.,sad|\n", r"a.csv, line 4: unknown label ''.* joined by \|"),
        ("a.csv", "text,label\nNo.,\n", "'a' has no turn with a label"),
        ("a.csv", "words,label\nNo.,sad\n", "line 1: there is no column 'text'"),
        ("a.jsonl", '{"turns": [{"text": "a", "label": 3}]}', "line 1, turn 1: a label must be a text .* got 3"),
        ("a.jsonl", '{"turns": ["a", "b"], "label": "sad"}', "line 1: the label 'sad' stands beside the dialogue"),
        ("a.jsonl", '{"turns": []', "a.jsonl, line 1: expected .* which is not JSON"),
        ("a.jsonl", "[1]", "a.jsonl, line 1: expected"),
    ],
)
def test_files_that_are_none_say_where(tmp_path, labeler, name, text, message):
    path = write(tmp_path / name, text)
    with pytest.raises(SystemExit, match=f"error: .*{message}"):
        run(tmp_path, "--models", "words", "--sets", "--labelled", str(path))
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sets"], "nothing is to be measured"),
        (["--sets", "meld", "--labelled", "meld.csv"], "two sets are called 'meld'"),
        (["--sets", "friends"], "invalid choice: 'friends'"),
    ],
)
def test_command_lines_that_mean_nothing(tmp_path, capsys, words, message):
    with pytest.raises(SystemExit):
        run(tmp_path, "--models", "fast", *words)
    assert message in capsys.readouterr().err


def test_files_that_are_not_there(tmp_path, labeler):
    with pytest.raises(SystemExit, match=r"error: .*dev_sent_emo\.csv"):
        run(tmp_path, "--models", "words", "--sets", "meld")


@pytest.mark.slow
def test_report(folder, labeler):
    path = write(folder / "my labels.jsonl", JSONL)
    words = ["--models", "words", "--sets", "meld", "--labelled", str(path)]
    words += ["--cache", str(folder / "cache")]
    report = run(folder, *words)
    assert list(report["sets"]) == ["meld", "my labels"]
    assert report["models"] == {"words": {"source": "words", "identity": "words@1"}}
    text = (folder / "report/report.md").read_text(encoding="utf-8")
    assert text.count("| model | ") == len(report["sets"]), "no two sets in one table"
    assert "worst sadness (F1 0.0 %)" in text
    assert "Always `anger`: 40.0 % right" in text
    pictures = [path for path in (folder / "report").iterdir() if path.suffix == ".png"]
    assert len(pictures) == 2 * len(report["sets"])
    assert all(f"]({path.name})" in text and path.read_bytes().startswith(b"\x89PNG") for path in pictures)

    asked = len(labeler.asked)
    assert run(folder, *words, out="again") == report
    assert len(labeler.asked) == asked, "all was in the cache"
    for each in (folder / "report").iterdir():
        assert each.read_bytes() == (folder / "again" / each.name).read_bytes()


def test_a_model_is_added_to_those_that_were_measured_before(tmp_path, monkeypatch, labeler):
    file = tmp_path / "own.csv"
    file.write_text("text,label\nWow!,surprised\nOh.,sad\n")
    monkeypatch.setattr(domain, "load_labeler", lambda name: labeler)
    command = ["--sets", "--labelled", str(file), "--out", str(tmp_path / "out")]
    domain.main(["--models", "one", *command])
    domain.main(["--models", "two", *command, "--add"])
    content = json.loads((tmp_path / "out" / "domain.json").read_text())
    assert list(content["models"]) == list(content["sets"]["own"]["results"]) == ["one", "two"]
    assert "--models one two --sets" in content["command"]
    file.write_text("text,label\nWow!,surprised\n")
    with pytest.raises(SystemExit, match="has other turns of the set 'own': measure all its models"):
        domain.main(["--models", "two", *command, "--add"])
