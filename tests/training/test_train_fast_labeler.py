import json
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.static import FIRST, KINDS, StaticLabeler, ngrams
from edos_dataset.labels import LABELS
from training import fast_labels
from training import train_fast_labeler as script
from training.classifier.data import CONVERSATIONS, Part
from training.fast_labels import (
    SUBTITLES,
    ask,
    choose_keys,
    fit,
    gather,
    read_sources,
    read_unlabelled,
    sampled,
    targets_of,
    words_held_out,
)
from training.labels.sources import Corpus, Taught
from training.labels.targets import Kind, Target

EXTENDED = "os_dialog_id,os_dialog,emotion,cos_sim,confidence\n"
CUES = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:09,000 --> 00:00:10,000\n{}\n"


def shares(**given):
    values = np.zeros(len(LABELS), np.float32)
    for label, share in given.items():
        values[int(label[1:])] = share
    return Target(values, Kind.SHARES)


def one_word_teacher(word, label):
    """Return a labeler that gives texts with a word a label."""
    table = np.zeros((1, len(LABELS)), np.int8)
    table[0, label] = 127
    (codes, _), *_ = ngrams([word])
    return StaticLabeler(codes, table, np.array([8 / 127], np.float32), np.zeros(len(LABELS), np.float32), 0.0)


def test_keys_are_the_ngrams_of_most_texts():
    texts = ["red red red", "blue", "blue sky", "sky blue"]
    first_words = {word: next(iter(ngrams([word])))[0][0] for word in ("red", "blue", "sky")}
    keys = choose_keys(texts, 2, 100, FIRST)
    assert first_words["blue"] in keys and first_words["sky"] in keys and first_words["red"] not in keys
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert choose_keys(texts, 1, 1, FIRST).tolist() == [first_words["blue"]]
    assert set(keys.tolist()) < set(choose_keys(texts, 2, 100, tuple(KINDS)).tolist())


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
    labelled = [
        (f"{word} thing number {number}", shares(**{f"l{label}": 1}))
        for number in "abcdefgh"
        for word, label in (("good", 3), ("bad", 5))
    ]
    bare = [(f"the splendid {word} {number}", None) for word in ("house", "tree", "cat") for number in range(4)]
    weights, held = {"weak": 1.0, "sitcoms": 1.0}, (["good day", "bad day"], np.array([3, 5]))
    found = gather({"weak": labelled, "sitcoms": bare}, weights, {"weak": 1.0}, set())
    recipe = script.FastRecipe(weights, iterations=60, l2=(1e-3, 10.0), kinds=tuple(KINDS))
    made = script.train(recipe, found, ask(one_word_teacher("splendid", 7), found.texts, None), held)
    assert made.predict_proba([["good one", "a bad one", "splendid!"]]).argmax(axis=1).tolist() == [3, 5, 7]
    assert made.record["chosen"]["l2"] == 1e-3 and len(made.record["grid"]) == 2 and made.kinds == tuple(KINDS)
    found = gather({"weak": labelled}, weights, {}, set())
    made = script.train(recipe, found, ask(one_word_teacher("good", 9), found.texts, None), held)
    assert made.predict_proba([["good thing"]]).argmax() == 9


def test_turns_are_gathered_once_with_the_highest_weight_and_all_that_people_said():
    turns = {
        "weak": [("So  Sad.", shares(l3=1.0)), ("Held out!", shares(l1=1.0)), ("...", None)],
        "crowd": [("so sad.", shares(l3=0.5, l4=0.5)), ("Said before.", None)],
        "meld": [("So sad?", Target(np.ones(len(LABELS), np.float32), Kind.ONE_OF)), ("So sad.", None)],
        "frequent": [("Held out.", shares(l2=1.0))],
    }
    weights = {"weak": 1.0, "crowd": 2.0, "meld": 0.5, "frequent": 3.0}
    found = gather(turns, weights, {"weak": 0.4, "crowd": 0.2, "frequent": 1.0, "meld": 1.0}, {"held out"})
    assert found.texts == ["So  Sad.", "Said before.", "So sad?", "Held out."]
    assert (found.weights, found.counts) == ([2.0, 2.0, 0.5, 3.0], [3, 1, 1, 1])
    assert found.sources["weak"] == {"turns": 3, "texts": 1, "labelled": 1, "held_out": 1}
    answers = np.full((4, len(LABELS)), 1 / len(LABELS), np.float32)
    targets = targets_of(found, answers, 0.5)
    assert np.allclose(targets.sum(axis=1), [2 * (1 + 0.5 * np.log(3)), 2, 0.5, 3])
    share = targets[0] / targets[0].sum()
    assert np.allclose(share[[3, 4, 0]], [0.4 * 0.75 + 0.6 / 41, 0.4 * 0.25 + 0.6 / 41, 0.6 / 41], atol=1e-6)
    assert np.allclose(targets[3], 3 * np.eye(len(LABELS))[2])
    fewer = sampled(found, 1, 0)
    assert len(fewer.texts) == 3 and "So  Sad." in fewer.texts and "Held out." in fewer.texts
    rows = [found.texts.index(text) for text in fewer.texts]
    assert np.allclose(targets_of(fewer, answers[rows], 0.5), targets[rows])


def test_what_is_held_out_of_any_set_has_more_words_than_may_stand():
    corpus = Corpus({}, {}, {}, {"meld": ["Yes.", "Oh, my GOD!"], "weak": ["I lost my keys"]}, {}, {}, {})
    assert words_held_out(corpus, 0) == {"yes", "oh my god", "i lost my keys"}
    assert words_held_out(corpus, 3) == {"i lost my keys"}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_turns_of_conversations_and_subtitles_are_read(tmp_path):
    for name in (*CONVERSATIONS, *SUBTITLES):
        write(tmp_path / name, EXTENDED if name in SUBTITLES else "Dialog_ID,Type,Actor,Text\n")
    with (tmp_path / CONVERSATIONS[0]).open("a") as file:
        file.writelines(f"1,utterance,{line}\n" for line in ["speaker,Well_comma_ I never!", "listener,Come on"])
    with (tmp_path / next(iter(SUBTITLES))).open("a") as file:
        file.write('d,"- Come on .\n- Held out ?",afraid,0.9,0.9\n')
    for season in ("05", "06"):
        write(tmp_path / f"frasier/subtitles/{season}/Episode_1.srt", CUES.format(f"Season {season}.", "He left."))
    for season in ("01", "02", "06"):
        write(
            tmp_path / f"noisy_srt/friends/all/friends.s{season}e01.srt", CUES.format("How nice.", season + " is it.")
        )
    write(tmp_path / "sitcom_speakers/Show.S09E01.merged", "# ANN\n1.0\nWho was here?\n2.0\n9.0\nIt was me.\n9.9\n")
    assert read_unlabelled("conversations", tmp_path)[0] == ["Well, I never!", "Come on"]
    assert read_unlabelled("extended", tmp_path)[0] == ["Come on.", "Held out?"]
    assert read_unlabelled("frasier", tmp_path)[0] == ["Season 05.", "He left."]
    texts, files = read_unlabelled("friends", tmp_path)
    assert texts == ["How nice.", "01 is it.", "How nice.", "02 is it."] and len(files) == 2
    assert read_unlabelled("sitcoms", tmp_path)[0] == ["Who was here?", "It was me."]
    with pytest.raises(ValueError, match="nothing of the source 'sitcoms': expected sitcom_speakers"):
        read_unlabelled("sitcoms", tmp_path / "none")
    with pytest.raises(ValueError, match="'sitcom' is unknown; there are weak"):
        read_sources({"sitcom": 1.0}, tmp_path, None, 0)


def test_near_copies_of_held_out_turns_are_not_learned_from_in_subtitles_either(tmp_path, monkeypatch):
    apart = {
        "weak": ["Nobody ever told me about the wedding party in June."],
        "films": ["Right, I left the key with your aunt Rose."],
    }
    corpus = Corpus({}, {}, {}, apart, {}, {}, {})
    texts = [
        "Nobody ever told me about a wedding party in June.",
        "Oh? Right! I left the key with your aunt Rose? Who else was there when you came home from town last night?",
        "Nobody told me about you.",
        "Nobody told me about you.",
    ]
    monkeypatch.setattr(fast_labels, "load_corpus", lambda *_: corpus)
    monkeypatch.setattr(fast_labels, "read_unlabelled", lambda *_: (texts, []))
    assert read_sources({"friends": 1.0}, tmp_path, None, 0)[1] == {"friends": [(text, None) for text in texts[2:]]}


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


def test_answers_are_kept_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(fast_labels, "_BLOCK", 2)
    teacher, texts = one_word_teacher("yes", 4), ["yes", "no", "yes", "yes no", "no"]
    assert (ask(teacher, texts, tmp_path) == teacher.predict_proba([texts])).all()
    assert len([*tmp_path.iterdir()]) == 3 and ask(teacher, [], tmp_path).shape == (0, len(LABELS))


def test_a_record_tells_what_was_learned_from(tmp_path, monkeypatch):
    held = [Taught((text,), (shares(**{f"l{label}": 1}),)) for text, label in (("good day", 3), ("bad day", 5))]
    labels = np.array([3, 5])
    test = Part([["good night"], ["bad night"]], labels, np.eye(len(LABELS), dtype=np.float32)[labels], np.ones(2))
    write(tmp_path / "data/meld/train_sent_emo.csv", "text")
    files = {"meld/train_sent_emo.csv": tmp_path / "data/meld/train_sent_emo.csv"}
    corpus = Corpus(
        {}, {"weak": held}, {"weak": test}, {"weak": ["good day"]}, {"weak": 4}, {"meld": {"rejected": 2}}, files
    )
    turns = {"weak": [("good", shares(l3=1)), ("bad", shares(l5=1)), ("Good day!", None)], "meld": [("bad dog", None)]}
    monkeypatch.setattr(script, "read_sources", lambda *given: (corpus, turns))
    monkeypatch.setattr(script, "load_labeler", lambda name: one_word_teacher("good", 3))
    write(tmp_path / "recipe.yaml", "sources: {weak: 1, meld: 0.5}\nlabels: {weak: 0.9}\nleast: 1\n")
    given = ["--data-dir", str(tmp_path), "--recipe", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["train", *given])
    script.main()
    record = json.loads((tmp_path / "out/record.json").read_text())
    assert record["examples"] == {"train": 2, "validation": 2, "test": 2, "unlabelled": 1}
    assert record["sources"]["weak"] == {"turns": 3, "texts": 2, "labelled": 2, "held_out": 1}
    assert record["sources"]["meld"]["rejected"] == 2 and record["data"][0]["licence"] == "GPL v3"
    assert StaticLabeler.load(tmp_path / "out").predict_proba([["bad", "good"]]).argmax(axis=1).tolist() == [5, 3]


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("teachr: weak", "did you mean 'teacher'"),
        ("l2: 1.0", "l2 must be of type list"),
        ("sources: {crowd: 1.0}", "sources must name 'weak'"),
        ("sources: {weak: 0.0}", "each with a number above 0"),
        ("labels: {crowd: 0.5}", "labels names 'crowd', which is none of the sources"),
        ("labels: {weak: 1.5}", "labels must be from 0 to 1"),
        ("kinds: [words, letters]", "kinds must be some of words, lemmas, pairs, skips, length"),
        ("power: []", "power and l2 must each have one value or several"),
        ("l2: [-1.0]", "none below 0"),
        ("unlabelled: -1", "unlabelled must be at least 0, got -1"),
        ("teacher_temperature: 0.0", "teacher_temperature must be above 0"),
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
