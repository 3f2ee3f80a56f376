"""`edos extend` from a crowd's answers to a data set: what is labelled, what is not, and what a
second run makes again.
"""

import json
import re

import pytest
from datasets import load_dataset
from typer.testing import CliRunner

from edos_dataset.augmentation import extension
from edos_dataset.augmentation.extended import read_extended
from edos_dataset.augmentation.self_labeling import SelfLabelingRules
from edos_dataset.augmentation.steps import SpreadStep
from edos_dataset.cli.app import app
from edos_dataset.commands import extend as extending
from edos_dataset.commands.crowd_seed import write_seed
from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.seed import SeedRules, read_seed
from edos_dataset.runs.folder import FolderError

SUBJECTS = ("neighbour", "brother", "teacher", "doctor", "driver", "cook", "painter", "captain", "singer", "lawyer")
SAYINGS = {
    "sad": "My old {} died last night and I cry all the time.",
    "joyful": "I am so happy for my {}, what a wonderful day this is!",
    "angry": "That {} lied to me again and I hate it!",
    "questioning": "Where did your {} go after the meeting?",
}
NEAR = {
    "sad": "My poor old {} died last night and I cry and cry.",
    "joyful": "I am so very happy for my {}, what a lovely day!",
    "angry": "That {} lied to me once more and I hate that!",
    "questioning": "Where did your {} go after this meeting?",
}
STEPS = (
    SpreadStep(threshold=0.85, conflict="nearest"),
    SelfLabelingRules(top=3, confidence=0.4),
    SpreadStep(threshold=0.8, around="all"),
)


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    path = folder / "answers.jsonl"
    lines = []
    for label, saying in SAYINGS.items():
        for subject in SUBJECTS:
            task = {"task": f"{label} {subject}", "turns": ["Tell me.", saying.format(subject)]}
            lines += [json.dumps(task | {"worker": worker, "label": label}) for worker in ("w1", "w2", "w3")]
    path.write_text("\n".join(lines))
    write_seed(read_answers(path), folder / "seed", SeedRules(near=0.999))
    return folder / "seed"


def held_out(seed):
    return [[turn["text"] for turn in turns] for turns in read_seed(seed, ["validation", "test"])["turns"].to_pylist()]


@pytest.fixture(scope="module")
def pool(seed, tmp_path_factory):
    """Near dialogues, what has nothing to do with them, and copies and near-copies of validation and test dialogues."""
    dialogues = {
        f"near {label} {subject}": ["Tell me.", near.format(subject)]
        for label, near in NEAR.items()
        for subject in SUBJECTS
    }
    dialogues |= {f"planted {row}": turns for row, turns in enumerate(held_out(seed))}
    dialogues |= {
        f"planted again {row}": [turns[0], "Well, " + turns[-1].upper()] for row, turns in enumerate(held_out(seed))
    }
    dialogues |= {f"other {row}": ["The train leaves at noon.", f"Platform number {row}."] for row in range(20)}
    path = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    path.write_text(
        "".join(json.dumps({"dialogue_id": name, "turns": turns}) + "\n" for name, turns in dialogues.items())
    )
    return path


@pytest.fixture(scope="module")
def done(seed, pool, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "extended"
    return out, extending.extend(seed, [pool], out, STEPS)


def test_labels_come_from_the_seed_step_by_step(done, seed):
    out, counts = done
    assert [(entry["step"], entry["method"]) for entry in counts["steps"]] == [
        (1, "spread"),
        (2, "self-label"),
        (3, "spread"),
    ]
    assert counts["steps"][0]["labelled"] > 5 and counts["steps"][1]["labelled"] > 0
    for entry in counts["steps"]:
        assert entry["read"] == counts["pool"]["candidates"] == entry["labelled"] + sum(entry["rejected"].values())
    rows = load_dataset(str(out), "extended", split="train")
    names = rows.features["label"].names
    spread = [row for row in rows if row["method"] == "spread" and row["dialogue_id"].startswith("near")]
    assert spread and all(
        row["dialogue_id"].split()[1] == names[row["label"]]
        for row in spread
        if row["step"] == 1 and row["dialogue_id"].endswith("@2")
    )
    ids = set(read_seed(seed, ["train"])["dialogue_id"].to_pylist())
    assert all(row["seed_id"] in ids and row["similarity"] >= 0.85 for row in rows if row["step"] == 1)
    assert all(
        row["confidence"] >= 0.4 and row["soft_label"][row["label"]] == max(row["soft_label"])
        for row in rows
        if row["step"] == 2
    )
    assert len(rows) == counts["rows"] and len(set(rows["dialogue_id"])) == len(rows)


def test_nothing_near_a_held_out_dialogue_is_labelled(done, seed):
    out, counts = done
    train = read_extended(out, ["train"])
    assert not [name for name in train["dialogue_id"].to_pylist() if name.startswith("planted") and name.endswith("@2")]
    texts = {turns[-1].lower() for turns in held_out(seed)}
    assert not [turns for turns in train["turns"].to_pylist() if turns[-1]["text"].lower() in texts]
    assert sum(entry["rejected"].get("held_out_words", 0) for entry in counts["steps"]) >= 2 * len(held_out(seed))
    kept = read_extended(out, ["validation", "test"])
    assert kept["dialogue_id"].to_pylist() == read_seed(seed, ["validation", "test"])["dialogue_id"].to_pylist()


def test_the_same_call_makes_nothing_again_and_a_changed_step_only_what_follows(done, seed, pool, monkeypatch):
    out, counts = done
    files = {path: path.read_bytes() for path in sorted(out.rglob("*.parquet"))}
    asked = []
    monkeypatch.setattr(extension, "spread", lambda *args, **kwargs: asked.append("spread"))
    monkeypatch.setattr(extension, "choose", lambda *args, **kwargs: asked.append("choose"))
    assert extending.extend(seed, [pool], out, STEPS) == counts and not asked
    assert files == {path: path.read_bytes() for path in sorted(out.rglob("*.parquet"))}
    monkeypatch.undo()
    looser = (STEPS[0], STEPS[1], SpreadStep(threshold=0.7, around="all"))
    said = []
    with pytest.raises(FolderError, match="finished run of 70 labels, .*: 3.threshold 0.8 → 0.7. Give another out"):
        extending.extend(seed, [pool], out, looser)
    again = extending.extend(seed, [pool], out, looser, force=True, progress=said.append)
    assert again["steps"][:2] == counts["steps"][:2] and again["steps"][2]["parameters"]["threshold"] == 0.7
    assert [text for text in said if text.startswith("step")] == ["step 3, spread"]


def test_killed_between_steps_it_goes_on(done, seed, pool, tmp_path, monkeypatch):
    _, counts = done

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(extension, "choose", stop)
        with pytest.raises(KeyboardInterrupt):
            extending.extend(seed, [pool], tmp_path / "out", STEPS)
    assert not (tmp_path / "out" / "extended").exists()
    said = []
    assert extending.extend(seed, [pool], tmp_path / "out", STEPS, progress=said.append)["steps"] == counts["steps"]
    assert "step 1, spread" not in said


def test_rounds_stop_without_gain(seed, pool, tmp_path, monkeypatch):
    losses = iter([1.0, 0.9, 0.95, 0.1])
    monkeypatch.setattr(extension, "cross_entropy", lambda *args: next(losses))
    counts = extending.extend(seed, [pool], tmp_path / "out", (SelfLabelingRules(top=2, confidence=0.3, rounds=5),))
    rounds = counts["steps"]
    assert [entry["round"] for entry in rounds] == [1, 2, 3] and rounds[-1]["labelled"] == 0 < rounds[1]["labelled"]
    assert rounds[-1]["validation_cross_entropy"] == [1.0, 0.9, 0.95]
    assert rounds[1]["trained_on"] == rounds[0]["trained_on"] + rounds[0]["labelled"]


def test_command_line(done, seed, pool, tmp_path):
    out, counts = done
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text('{"dialogue_id": "a", "turns": []}\n')
    settings = [
        f"--set={setting}"
        for setting in (
            "1.threshold=0.85",
            "1.conflict=nearest",
            "2.top=3",
            "2.confidence=0.4",
            "3.threshold=0.8",
            "3.around=all",
        )
    ]
    result = CliRunner().invoke(
        app, ["extend", str(seed), str(pool), "--out", str(out), "--json", "--force", *settings]
    )
    assert result.exit_code == 0 and json.loads(result.stdout[result.stdout.index("{") :])["rows"] == counts["rows"]
    table = CliRunner().invoke(app, ["extend", str(seed), str(pool), "--out", str(out), *settings])
    assert "3,196" in table.output and "self-label" in table.output and (out / "audit.html").is_file()
    out = tmp_path / "new"
    for arguments, message in (
        ([str(pool), str(pool), "--out", str(out)], "edos crowd seed"),
        ([str(seed), str(pool), "--out", str(out), "--memory", "much"], "not a size"),
        ([str(seed), str(pool), "--out", str(out), "--learner", "magic"], "no learner 'magic'"),
        ([str(seed), "nothing.jsonl", "--out", str(out)], "no such file"),
        ([str(seed), str(nothing), "--out", str(out)], "the pool is empty"),
    ):
        failed = CliRunner().invoke(app, ["extend", *arguments])
        assert failed.exit_code == 1 and message in " ".join(failed.output.split()) and "Traceback" not in failed.output


@pytest.mark.parametrize(
    ("rejected", "remedy"),
    [
        ({"not_similar": 9, "conflict": 1}, "step 1 rejected 9 candidates as not_similar: .* --set 1.threshold=0.82"),
        (
            {"not_similar": 0, "has_label": 1},
            "step 1 rejected 1 candidate as has_label: give a pool of other dialogues",
        ),
    ],
)
def test_nothing_came_out(rejected, remedy, done, seed, pool, tmp_path, monkeypatch):
    """An exit code of its own, and the likely remedy."""
    step = done[1]["steps"][0] | {"labelled": 0, "rejected": rejected, "parameters": {"threshold": 0.92}}
    counts = {**done[1], "steps": [step]}
    monkeypatch.setattr(extending, "extend", lambda seed, pool, out: counts)
    result = CliRunner().invoke(app, ["extend", str(seed), str(pool), "--out", str(tmp_path / "out")])
    assert result.exit_code == 5 and re.search(f"no turn of the pool got a label; {remedy}", result.stderr)


def test_audit_page_and_judgements(done, tmp_path):
    out, _ = done
    before = (out / "audit.html").read_bytes()
    again = CliRunner().invoke(app, ["audit", str(out), "--per-label", "1"])
    assert again.exit_code == 0 and len((out / "audit.html").read_bytes()) < len(before)
    entry = {"step": 1, "method": "spread", "label": "sad", "rows": 4, "dialogue_id": "x", "draw": "random"}
    file = tmp_path / "judgements.json"
    file.write_text(
        json.dumps(
            {"judgements": [entry | {"verdict": verdict} for verdict in ("right", "right", "right", "wrong", "unsure")]}
        )
    )
    shown = CliRunner().invoke(app, ["audit", str(file)])
    assert shown.exit_code == 0 and "75.0%" in shown.output
    assert json.loads(CliRunner().invoke(app, ["audit", str(file), "--json"]).stdout)["overall"]["wrong"] == 1
    failed = CliRunner().invoke(app, ["audit", str(tmp_path / "nothing.json")])
    assert failed.exit_code == 1 and "judgements that were downloaded from its page" in " ".join(failed.output.split())
