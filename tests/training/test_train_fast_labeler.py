import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.static import StaticLabeler, ngrams
from edos_dataset.labels import LABELS
from training import train_fast_labeler as script
from training.classifier import data
from training.classifier.sources import CONVERSATIONS
from training.heads.fast_data import SUBTITLES, ask, read_unlabelled
from training.heads.ngram_fit import choose_keys, fit

EXTENDED = "os_dialog_id,os_dialog,emotion,cos_sim,confidence\n"


def part(texts, labels):
    labels = np.array(labels)
    return data.Part(
        [[text] for text in texts],
        labels,
        np.eye(len(LABELS), dtype=np.float32)[labels],
        np.ones(len(labels), np.float32),
    )


def one_word_teacher(word, label):
    """Return a labeler that gives texts with a word a label."""
    table = np.zeros((1, len(LABELS)), np.int8)
    table[0, label] = 127
    (codes, _), *_ = ngrams([word])
    return StaticLabeler(codes, table, np.array([8 / 127], np.float32), np.zeros(len(LABELS), np.float32), 0.0)


def test_keys_are_the_ngrams_of_most_texts():
    texts = ["red red red", "blue", "blue sky", "sky blue"]
    first_words = {word: next(iter(ngrams([word])))[0][0] for word in ("red", "blue", "sky")}
    keys = choose_keys(texts, least=2, most=100)
    assert first_words["blue"] in keys and first_words["sky"] in keys and first_words["red"] not in keys
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert choose_keys(texts, least=1, most=1).tolist() == [first_words["blue"]]


def test_fit_finds_the_minimum_of_the_penalised_cross_entropy():
    generator = np.random.default_rng(0)
    x, l2 = generator.poisson(0.5, (60, 8)).astype(np.float32), 0.05
    targets = (generator.dirichlet(np.ones(5), 60) * generator.uniform(0.5, 2, (60, 1))).astype(np.float32)
    table, bias = fit(csr_array(x), targets, l2, 300)
    logits = x @ table + bias
    slope = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) * targets.sum(axis=1, keepdims=True) - targets
    assert np.abs(x.T @ slope / targets.sum() + l2 * table).max() < 1e-3
    assert np.abs(slope.sum(axis=0) / targets.sum()).max() < 1e-3
    assert np.abs(table).max() > 0.1


def test_words_that_only_unlabelled_texts_have_are_learned_from_the_teacher():
    texts = [f"{word} thing number {number}" for number in "abcdefgh" for word in ("good", "bad")]
    labelled = part(texts, [3, 5] * 8)
    held = part(["good day", "bad day"], [3, 5])
    unlabelled = [f"the splendid {word}" for word in ("house", "tree", "cat", "dog")] * 3
    recipe = script.FastRecipe(teacher_share=0.0, unlabelled_weight=1.0, iterations=60, l2=(1e-3, 10.0))
    found = script.train(
        recipe, data.Data(labelled, held, held, held, (), {}), unlabelled, one_word_teacher("splendid", 7), None
    )
    assert found.predict_proba([["good one", "a bad one", "splendid!"]]).argmax(axis=1).tolist() == [3, 5, 7]
    assert found.record["chosen"]["l2"] == 1e-3 and len(found.record["grid"]) == 2
    taught = script.train(
        replace(recipe, teacher_share=1.0),
        data.Data(labelled, held, held, held, (), {}),
        [],
        one_word_teacher("good", 9),
        None,
    )
    assert taught.predict_proba([["good thing"]]).argmax() == 9


def test_unlabelled_turns_are_distinct_and_none_is_held_out(tmp_path):
    for name in (*CONVERSATIONS, *SUBTITLES):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EXTENDED if name in SUBTITLES else "Dialog_ID,Type,Actor,Text\n")
    with (tmp_path / CONVERSATIONS[0]).open("a") as file:
        said = ["speaker,Well_comma_ I never!", "listener,well i NEVER", "speaker,HELD out...", "listener,!!"]
        file.writelines(f"1,utterance,{line}\n" for line in said)
    with (tmp_path / next(iter(SUBTITLES))).open("a") as file:
        file.write('d,"- Come on .\n- Held out ?",afraid,0.9,0.9\n')
    assert sorted(read_unlabelled(tmp_path, {"held out"}, 10, 0)) == ["Come on.", "well i NEVER"]
    assert len(read_unlabelled(tmp_path, set(), 2, 0)) == 2


def test_answers_of_the_teacher_are_kept(tmp_path):
    teacher, texts = one_word_teacher("yes", 4), ["yes", "no"]
    answers = ask(teacher, texts, tmp_path)
    (path,) = tmp_path.iterdir()
    np.save(path, answers * 0)
    assert (ask(teacher, texts, tmp_path) == 0).all()
    path.write_bytes(path.read_bytes()[:-1])
    assert (ask(teacher, texts, tmp_path) == answers).all(), "a torn file is made again"
    np.save(path, answers[:1])
    assert (ask(teacher, texts, tmp_path) == answers).all(), "and so is one of another length"
    assert (ask(one_word_teacher("no", 4), texts, tmp_path) != 0).all()


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("teachr: weak", "did you mean 'teacher'"),
        ("l2: 1.0", "l2 must be of type list"),
        ("teacher: /no/such/folder", "/no/such/folder"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_in_a_line(tmp_path, monkeypatch, recipe, message):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "recipe.yaml").write_text(recipe)
    arguments = [
        "train",
        "--data-dir",
        str(tmp_path),
        "--recipe",
        str(tmp_path / "recipe.yaml"),
        "--out",
        str(tmp_path / "out"),
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    load_labeler.cache_clear()
    with pytest.raises(SystemExit, match=message):
        script.main()
    assert not (tmp_path / "out").exists()
