"""Turns that no model learned from are drawn, judged without knowing who said what, kept without texts, and counted."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.schema import arrow_schema
from evaluation import judged_turns
from evaluation.domain_sets import read_labelled_file
from evaluation.judged_turns import KINDS, READING, YES, Answer, Judged, tally
from evaluation.readings import jsonl_of, read_pools
from training.labels.readings import READINGS, digest_of

NOUNS = ("umbrella", "teapot", "ladder", "violin", "carpet", "lantern", "pickle", "saddle", "trumpet", "candle")
SAID = [f"Somebody {verb} my {noun} yesterday evening." for verb in ("sold", "broke") for noun in NOUNS]
MODELS = {"first": "annoyed", "second": "neutral"}


class Labeler:
    """Says one label, the surer the later the turn."""

    source, record, context = "one", {}, None

    def __init__(self, label):
        self.label, self.identity = label, f"{label}@1"

    def predict_proba(self, dialogues):
        rows = np.zeros((sum(map(len, dialogues)), len(LABELS)), np.float32)
        rows[:, LABEL_IDS[self.label]] = [0.1 * number for turns in dialogues for number in range(1, len(turns) + 1)]
        return rows


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def dialogue(name, start, texts):
    """Return a row of the config "os"; each turn is a sentence."""
    turns = [{"text": text, "sentence_ids": [number]} for number, text in enumerate(texts, start)]
    return {"dialogue_id": f"films/{name}.srt#{start}", "document_id": f"films/{name}.srt", "turns": turns}


def write_run(folder, rows):
    (folder / "os").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, arrow_schema("os")), folder / "os/train-00000-of-00001.parquet")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a run of two films of ten turns, their files, and the sets that others labelled."""
    cues = [f"{n}\n00:00:{3 * n:02},000 --> 00:00:{3 * n + 2:02},000\n{text}\n" for n, text in enumerate(SAID[:10], 1)]
    write(tmp_path / "data/show/s01.srt", "\n".join(cues))
    meld = ("Sr No.,Utterance,Speaker,Emotion,Dialogue_ID,Utterance_ID", "1,Nobody was at home.,Ann,anger,0,0")
    write(tmp_path / "data/meld/train_sent_emo.csv", "\n".join(meld) + "\n")
    speech = [{"transcript": "Who is it this time?", "emotion": "Mad", "speakers": ["Ann"], "utterance_id": "u1"}]
    episodes = [{"episode_id": "e1", "scenes": [{"scene_id": "s1", "utterances": speech}]}]
    write(tmp_path / "data/emorynlp/train.json", json.dumps({"season_id": "s01", "episodes": episodes}))
    write(tmp_path / "data/xed/en-annotated.tsv", f"{SAID[1]}\t1\n")
    read = {
        "file": "f",
        "dialogue_id": "d",
        "turns": [{"digest": digest_of(SAID[2]), "labels": [], "sentence_ids": []}],
    }
    pq.write_table(pa.Table.from_pylist([read], pq.read_schema(READINGS)), tmp_path / "read.parquet")
    monkeypatch.setattr(judged_turns, "READINGS", tmp_path / "read.parquet")
    monkeypatch.setattr(judged_turns, "load_labeler", Labeler)
    write_run(tmp_path / "run", [dialogue("show/s01", 1, SAID[:10]), dialogue("Other/x", 1, SAID[10:])])
    return tmp_path


def sample(folder, *models, turns=8):
    READING.main(
        ["sample", "--run", str(folder / "run"), "--data-dir", str(folder / "data"), "--turns", str(turns)]
        + ["--pools", "show=films/show/*", "rest=films/*", "--answers", str(folder / "answers.json")]
        + ["--models", *models, "--out", str(folder / "judge")]
    )
    return READING.read(folder / "judge/key.jsonl")


def test_from_films_to_figures_and_back_to_texts(folder, capsys):
    key = sample(folder, *(f"{name}={label}" for name, label in MODELS.items()))
    sheet = (folder / "judge/sheet.txt").read_text(encoding="utf-8")
    assert not any(name in sheet.split("\n## 1\n")[1] for name in (*MODELS, "show", "0."))
    assert [record.number for record in key] == list(range(1, 17))
    drawn = {record.turn - 1 for record in key if record.pool == "show"}
    assert drawn == {0, *range(3, 10)}, "what XED taught and what was read is left out"
    late = next(record for record in key if (record.pool, record.turn) == ("show", 10))
    block = sheet.split(f"\n## {late.number}\n")[1].split("\n\n")[0].split("\n")
    assert block[:-1] == [*(f"  {text}" for text in SAID[3:9]), f"> {SAID[9]}"]
    assert block[-1].removeprefix("candidates: ").rstrip().split(" | ") == list(late.candidates)
    assert late.answers == {"first": ("annoyed", 1.0), "second": ("neutral", 1.0)}

    lines = [f"{each.number} annoyed | neutral other | annoyed yes" for each in reversed(key)]
    verdicts = write(folder / "verdicts.txt", "# mine\n\n" + "\n".join(lines) + "\n")
    judged = folder / "judged_turns.jsonl"
    capsys.readouterr()
    words = ["tally", "--judged", str(judged)]
    READING.main([*words, "--key", str(folder / "judge/key.jsonl"), "--verdicts", str(verdicts)])
    figures = judged.with_suffix(".json").read_bytes()
    READING.main(words)
    assert judged.with_suffix(".json").read_bytes() == figures and "other 16" in capsys.readouterr().out
    assert not any(noun in judged.read_text(encoding="utf-8") for noun in NOUNS)
    models = json.loads(figures)["models"]
    assert [models[name]["acceptable"]["share"] for name in MODELS] == [1.0, 0.0]

    out = folder / "texts.jsonl"
    READING.main(["texts", "--judged", str(judged), "--data-dir", str(folder / "data"), "--out", str(out)])
    assert "8 missing_file, 8 labelled" in capsys.readouterr().out
    held = read_labelled_file(out)
    assert held.dialogues == [SAID[:10]] and set(held.judged.tolist()) == drawn
    assert held.right[:, LABEL_IDS["annoyed"]].all() and held.right.sum() == 8


def test_the_draw_depends_on_nothing_but_the_seed_and_the_texts(folder):
    key = sample(folder, "first=annoyed")
    rows = pq.read_table(folder / "run/os/train-00000-of-00001.parquet").to_pylist()
    write_run(folder / "run", rows[::-1])
    assert [replace(record, answers={}, candidates={}) for record in sample(folder, "second=neutral")] == [
        replace(record, answers={}, candidates={}) for record in key
    ]
    both = sample(folder, "first", "second")
    assert {label for record in both for label in record.candidates} == {"annoyed", "neutral"}, "kept in the file"


def test_a_scene_that_others_labelled_is_left_out_whole(folder):
    rows = [dialogue("a", 1, [SAID[0], SAID[1], SAID[3], "Oh."]), dialogue("b", 9, [SAID[0], "Oh.", SAID[4], SAID[5]])]
    scene = {"meld": [f"Listen: {SAID[0]} Really?", SAID[1]], "emorynlp": [], "xed": [SAID[4], "Oh."]}
    assert judged_turns.unseen(rows, scene) == [[], [1, 3]]


@pytest.mark.parametrize(
    ("models", "turns", "message"),
    [
        (("first",), 8, r"no answers of 'first' to films/.*: give first=MODEL"),
        (("first=annoyed",), 9, "the pool 'show' has 8 turns that nobody learned from, fewer than 9"),
    ],
)
def test_what_cannot_be_drawn_is_reported(folder, models, turns, message):
    with pytest.raises(SystemExit, match=message):
        sample(folder, *models, turns=turns)


def test_pools_and_sets_that_are_not_there_are_reported(folder):
    with pytest.raises(ValueError, match=r"no dialogue for the pool 'none': no document is like 'x/\*'"):
        read_pools(folder / "run", {"none": "x/*"})
    with pytest.raises(ValueError, match="has nothing of meld"):
        judged_turns.taught_texts(folder / "run")


def record(number, own, candidates, answers, dialogue="d1"):
    given = {model: Answer(*answer) for model, answer in answers.items()}
    return Judged(number, "p", "f.srt", dialogue, 2, [[1], [2]], "00c0ffee", given, own, candidates)


DRAWN = [record(number, "", {"sad": "", "questioning": ""}, {}) for number in (1, 2)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 sad sad yes", "expected NUMBER OWN"),
        ("one sad | sad yes | questioning other", "expected NUMBER OWN"),
        ("3 sad | sad yes | questioning other", "the sheet has no turn 3"),
        ("1 sad | sad yes", "has the candidates sad, questioning; give each a verdict, once"),
        ("1 sad | sad yes | sad yes | questioning other", "give each a verdict, once"),
        ("1 sad | sad yes | questioning no", "'no' is no verdict; there are yes, anger_missed"),
        ("1 glum | sad yes | questioning other", "unknown label 'glum'"),
        ("1 sad | sad keyword | questioning other", "'sad' is the judge's own label, and wrong: 'keyword'"),
        ("2 sad | sad yes | questioning other", "line 2: turn 2 is read already"),
        ("", "1 turns are not read, such as 1"),
    ],
)
def test_a_slip_of_the_judge_is_reported(tmp_path, line, message):
    good = "2 sad | questioning opener_or_rhetorical_questioning | sad yes"
    with pytest.raises(ValueError, match=message):
        READING.with_verdicts(DRAWN, [write(tmp_path / "v.txt", f"{good}\n{line}\n")])


def test_figures_of_a_model():
    fits, odd = {"sad": "yes", "neutral": "other"}, {"angry": "keyword", "neutral": "yes"}
    records = [
        record(1, "sad", fits, {"m": ("sad", 0.9), "n": ("neutral", 0.1)}, "d1"),
        record(2, "sad", fits, {"m": ("neutral", 0.85), "n": ("sad", 0.2)}, "d1"),
        record(3, "neutral", odd, {"m": ("angry", 0.3), "n": ("neutral", 1.0)}, "d2"),
        record(4, "furious", {"annoyed": "yes"}, {"m": ("annoyed", 0.2), "n": ("annoyed", 0.2)}, "d3"),
    ]
    figures = tally(records)
    assert (figures["turns"], figures["dialogues"]) == (4, 3)
    assert figures["own"] == {"sad": 0.5, "furious": 0.25, "neutral": 0.25}
    own = figures["models"]["m"]
    assert (own["acceptable"]["share"], own["emotions"]["share"], own["neutral"]["share"]) == (0.5, 0.6667, 0.0)
    assert own["intents"] == {"turns": 0, "share": None, "interval": [None, None]}
    low, high = own["acceptable"]["interval"]
    assert 0 <= low < 0.5 < high <= 1
    assert own["neutral"]["interval"] == [None, None], "a single dialogue shows no variation"
    assert own["errors"] == {"other": 1, "keyword": 1}
    assert (own["sure"]["turns"], own["sure"]["share"], own["as_own"]["share"]) == (2, 0.5, 0.25)
    assert [(band["turns"], band["mean"]) for band in own["confidence"]] == [
        (0, None), (2, 0.25), (0, None), (0, None), (2, 0.875)
    ]  # fmt: skip
    assert {group: share["share"] for group, share in own["of_own_group"].items()} == {
        "anger": 1.0, "sadness": 0.5, "neutral": 0.0
    }  # fmt: skip
    assert own["labels"] == {"angry": 0.25, "annoyed": 0.25, "neutral": 0.25, "sad": 0.25}
    assert figures["models"]["n"]["acceptable"]["share"] == 0.75


def test_records_are_read_as_they_were_written(tmp_path):
    path = write(tmp_path / "r.jsonl", jsonl_of(DRAWN))
    assert READING.read(path) == DRAWN
    with pytest.raises(ValueError, match="line 3 is no turn that was drawn"):
        READING.read(write(path, jsonl_of(DRAWN) + "{}\n"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tally --key k", "--key and --verdicts go together"),
        ("texts --out o", "EDOS_DATA_DIR is not set"),
        ("sample --run r --models m --answers a --out o --data-dir d --pools p", "expected NAME=PATTERN, got 'p'"),
    ],
)
def test_a_command_that_lacks_something_is_refused(words, message, capsys, monkeypatch):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    with pytest.raises(SystemExit) as stopped:
        READING.main(words.split())
    assert message in f"{capsys.readouterr().err}{stopped.value}"


@pytest.mark.skipif(not READING.judged.exists(), reason="nobody has judged yet")
def test_the_judged_file_is_whole_and_its_figures_are_those_of_it():
    records = READING.read(READING.judged)
    for record in records:
        assert record.own in LABELS and {answer.label for answer in record.answers.values()} == set(record.candidates)
        assert int(record.digest, 16) < 2**32 and record.turn == len(record.sentence_ids)
        assert record.candidates.get(record.own, YES) == YES and set(record.candidates.values()) <= {YES, *KINDS}
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    figures = json.loads(READING.judged.with_suffix(".json").read_text(encoding="utf-8"))
    assert tally(records) == figures
