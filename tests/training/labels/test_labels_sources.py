"""What is learned from and what is held out, of small files in the forms of their makers."""

import csv
import shutil

import numpy as np
import pytest

import training.classifier.data
from classifier_fixtures import CROWD, WEAK, write_weak
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import EMOTIONS, LABEL_IDS, NEUTRAL
from labelled_sets import write_emorynlp, write_meld, write_sets, write_xed
from training.held_out import held_out
from training.labels import sources
from training.labels.model import convention_of
from training.labels.sources import load_corpus, taught_texts
from training.labels.targets import Kind
from training.near_copies import near_copies
from training.written_notes import SCRIPTS, held_out_script

SCENE = [
    ("You left the green umbrella on the bus again", "anger"),
    ("I never owned a green umbrella in my life", "neutral"),
    ("Well somebody paid for it with my money", "anger"),
    ("Fine then take yours", "neutral"),
]


def corpus_of(folder, *names, short=3):
    return load_corpus(dict.fromkeys(names, 1.0), folder, None, short)


def ids_of(source, held, count):
    return [number for number in range(500) if held_out(source, str(number)) == held][:count]


@pytest.fixture
def folder(tmp_path):
    return write_sets(tmp_path / "data")


def test_each_set_is_parted_as_its_maker_or_the_digest_says(folder):
    corpus = corpus_of(folder, "meld", "emorynlp", "xed")
    assert list(corpus.train) == list(corpus.held) == ["meld", "emorynlp", "xed"]
    assert [len(part) for part in corpus.held.values()] == [
        12,
        sum(held_out("emorynlp", str(number)) for number in range(24)),
        96 - len(corpus.train["xed"]) - corpus.counts["xed"]["contradicted"],
    ]
    assert len(corpus.train["meld"]) == 24 and {len(each.turns) for each in corpus.train["meld"]} == {4}
    assert {target.kind for each in corpus.train["meld"] for target in each.targets} == {Kind.EMOTION}
    assert all(held_out("xed", each.turns[0]) for each in corpus.held["xed"])
    assert not any(held_out("xed", each.turns[0]) for each in corpus.train["xed"])
    assert corpus.left_out == {"meld": 0, "emorynlp": 0, "xed": 0}
    assert sorted(corpus.files) == [
        "emorynlp/dev.json",
        "meld/dev_sent_emo.csv",
        "meld/train_sent_emo.csv",
        "xed/en-annotated.tsv",
        "xed/neu_en.txt",
    ]


def test_a_dialogue_is_cut_where_a_held_out_turn_stands_and_what_teaches_nothing_goes(folder):
    copied = [("Hello there my old friend Tom", "joy"), *SCENE[:1], ("Oh", "joy"), *SCENE[1:]]
    write_meld(folder / "meld" / "train_sent_emo.csv", [copied, SCENE[:2]])
    write_meld(folder / "meld" / "dev_sent_emo.csv", [[SCENE[0], SCENE[1], ("Fine then take", "neutral")]])
    corpus = corpus_of(folder, "meld")
    left = [("Hello there my old friend Tom",), ("Oh",), (SCENE[2][0], SCENE[3][0])]
    assert [each.turns for each in corpus.train["meld"]] == left, "a text of three words is everybody's"
    assert [len(each.targets) for each in corpus.train["meld"]] == [1, 1, 2]
    assert corpus.left_out["meld"] == 4


def test_sets_of_the_same_episodes_share_no_run_of_words_although_only_one_is_learned_from(folder):
    kept, held = ids_of("emorynlp", held=False, count=1)[0], ids_of("emorynlp", held=True, count=1)[0]
    scenes = [[("Oh", "joy")] for _ in range(max(kept, held) + 1)]
    scenes[kept] = [("So then: you left the green umbrella on that train and I paid", "sadness"), ("Did I", "sadness")]
    scenes[held] = [("nothing is as cold as a bath in January at my aunt's", "sadness")]
    write_emorynlp(folder / "emorynlp" / "dev.json", scenes)
    write_meld(folder / "meld" / "dev_sent_emo.csv", [SCENE])
    write_meld(
        folder / "meld" / "train_sent_emo.csv",
        [[("as cold as a bath in January they say and it is", "joy"), ("Who says", "joy")]],
    )
    assert ("Did I",) in {each.turns for each in corpus_of(folder, "emorynlp").train["emorynlp"]}
    assert [each.turns for each in corpus_of(folder, "meld").train["meld"]] == [("Who says",)]
    write_xed(folder / "xed", [(scenes[kept][0][0], "anger"), *[(f"River stone number {n}", "joy") for n in range(9)]])
    assert corpus_of(folder, "xed").left_out == {"xed": 0}, "others' sentences may have such a run"


def test_a_test_part_that_is_there_is_neither_learned_from_nor_looked_at(folder):
    turns = [("The last of the soup is for the neighbour's cat", "joy"), ("Said who", "anger")]
    write_meld(folder / "meld" / "test_sent_emo.csv", [turns])
    write_xed(folder / "xed", [(turns[0][0], "joy"), *[(f"River stone number {n}", "joy") for n in range(30)]])
    corpus = corpus_of(folder, "xed", "meld")
    texts = {text for parts in (corpus.train, corpus.held) for each in parts["meld"] for text in taught_texts(each)}
    assert turns[1][0] not in texts and "meld/test_sent_emo.csv" not in corpus.files
    assert turns[0][0] not in {each.turns[0] for each in corpus.train["xed"]}
    assert turns[0][0] not in {each.turns[0] for each in corpus_of(folder, "xed").train["xed"]}


def test_the_sentences_of_xed_do_not_give_their_labels_away(folder):
    felt = [(f"Oh , dear , the river stone number {number}", "joy") for number in range(20)]
    plain = [(f"It is boat number {number}", "neutral") for number in range(20)]
    write_xed(folder / "xed", [*felt, *plain, ("Oh, dear, the River stone number 7!", "neutral")])
    corpus = corpus_of(folder, "xed")
    kept = {each.turns[0]: each.targets[0] for each in corpus.train["xed"]}
    assert not any("," in text for text in kept)
    neutral = [plain_text(text) for text, target in kept.items() if target.holds(LABEL_IDS[NEUTRAL])]
    assert len(neutral) > 10 and all(text.startswith("it is boat") for text in neutral)
    assert corpus.counts["xed"]["contradicted"] == (0 if held_out("xed", felt[7][0]) else 1)


def test_the_writers_notes_are_a_source_whose_held_out_films_are_apart(folder):
    films = {held: next(f"film{n}" for n in range(99) if held_out_script(f"film{n}") == held) for held in (False, True)}
    (folder / SCRIPTS).mkdir()
    for film in films.values():
        lines = ["1\tANN\t\tWho took it?", f"1\tBOB\tfurious\tYou did, in {film}!", "1\tANN\tnods\tOh."]
        (folder / SCRIPTS / f"{film}.tsv").write_text("\n".join(lines) + "\n")
    corpus = corpus_of(folder, "meld", "notes")
    (learned,), (held,) = corpus.train["notes"], corpus.held["notes"]
    assert learned.turns == ("Who took it?", f"You did, in {films[False]}!") and films[True] in held.turns[1]
    assert learned.targets[0] is None and learned.targets[1].kind is Kind.SHARES
    assert learned.targets[1].values[LABEL_IDS["furious"]] == 1
    assert corpus.apart["notes"] == [held.turns[1]] and "notes/lexicon.yaml" in corpus.files


def test_the_acts_of_emotyda_are_learned_as_intents(folder):
    rows = ["Utterance,Speaker,Dialogue_ID,Utterance_ID,Dialogue Act"]
    for number in range(20):
        rows += [f"Is river stone {number} here?,Ann,{number},0,q", f"It is by boat {number}.,Bob,{number},1,s"]
    (folder / "emotyda").mkdir()
    (folder / "emotyda" / "MELD.csv").write_text("\n".join(rows) + "\n")
    corpus = corpus_of(folder, "emotyda")
    parts = corpus.train["emotyda"] + corpus.held["emotyda"]
    assert len(parts) == 20 and corpus.held["emotyda"] and convention_of("emotyda") == "acts"
    for asked, stated in (each.targets for each in parts):
        assert asked.kind is Kind.ONE_OF and asked.holds(LABEL_IDS["questioning"]) and stated is None


@pytest.fixture
def quick_vectors(monkeypatch):
    """Embeddings by which only equal texts are near: the encoder takes its time."""

    def embed(dialogues, cache):
        seeds = [list(turns[-1].encode()) for turns in dialogues]
        vectors = np.array([np.random.default_rng(seed).normal(size=32) for seed in seeds], np.float32).reshape(-1, 32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    monkeypatch.setattr(training.classifier.data, "_embed_last", embed)


@pytest.fixture(scope="module")
def authors(tmp_path_factory):
    """The EDOS authors' files."""
    folder = write_weak(tmp_path_factory.mktemp("authors") / "data")
    for part, header in (("unannotated", ""), ("annotated", ",Label")):
        (folder / "empathetic_dialogues" / part).mkdir()
        for emotion in EMOTIONS:
            path = folder / "empathetic_dialogues" / part / f"{emotion}.csv"
            path.write_text(f"Dialog_ID,Type,Actor,Text{header}\n")
    label = {"unannotated": ("", ""), "annotated": (",sad", ",caring")}
    for part, (first, second) in label.items():
        with (folder / "empathetic_dialogues" / part / "sad.csv").open("a") as file:
            file.write(f"1,x,speaker,My horse ran away from home{first}\n1,x,listener,You poor man of grief{second}\n")
    answers = ["Sad", "Angry", "Joyful", "Afraid", "Proud"]
    (folder / CROWD).parent.mkdir()
    with (folder / CROWD).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["Count", "Index", "DialogID", "Dialog", "Agreed emotion (2/3 vote)"]
            + [f"Worker {number} answer" for number in (1, 2, 3)]
        )
        for number in range(200):
            text = f"- Hello . \n- {' '.join([f'w{number}'] * 3)} is number {number} ."
            given = [answers[number % 5]] * 3 if number % 4 else [answers[(number + more) % 5] for more in range(3)]
            rows.writerow([number, number, number, text, given[0] if number % 4 else "", *given])
    return folder


def test_of_the_authors_files_only_those_are_read_that_a_source_needs(authors, quick_vectors):
    corpus = corpus_of(authors, "crowd", "crowd_undecided")
    assert set(corpus.files) == {CROWD.as_posix()}, "the self-labelled dialogues are not there, and not asked for"
    assert list(corpus.held) == ["crowd"] and list(corpus.train) == ["crowd", "crowd_undecided"]
    assert 0 < len(corpus.held["crowd"]) < 30 and all(each.targets[0] is None for each in corpus.held["crowd"])
    agreed, undecided = ([each.targets[-1].values for each in corpus.train[name]] for name in corpus.train)
    assert {int((values > 0).sum()) for values in agreed} == {1}
    assert {int((values > 0).sum()) for values in undecided} == {3}
    assert {target.kind for part in corpus.train.values() for each in part for target in each.targets if target} == {
        Kind.SHARES
    }
    with pytest.raises(FileNotFoundError, match="self_labeled_dialogs"):
        corpus_of(authors, "crowd_self_labelled")


def test_openings_are_learned_as_the_weak_labelers_texts_and_later_turns_for_themselves(authors, quick_vectors):
    corpus = corpus_of(authors, "weak", "weak_annotated")
    assert "My horse ran away from home" in {each.turns[0] for each in corpus.train["weak"]}
    assert [each.turns for each in corpus.train["weak_annotated"]] == [("You poor man of grief",)]
    assert len([name for name in corpus.files if "annotated/" in name]) == 64
    alone = corpus_of(authors, "weak_annotated")
    assert list(alone.train) == ["weak_annotated"] and list(alone.held) == ["weak"]


def test_the_authors_held_out_texts_stay_out_although_no_source_of_theirs_is_named(authors, folder, quick_vectors):
    corpus = corpus_of(authors, "weak")
    held = [each.turns[-1] for each in corpus.held["weak"] if len(plain_text(each.turns[-1]).split()) > 3]
    for name in (WEAK.parent, CROWD.parent):
        shutil.copytree(authors / name, folder / name)
    sentences = [f"river stone boat house {number}" for number in range(30)]
    write_xed(folder / "xed", [(text, "joy") for text in [*held, *sentences]])
    corpus = corpus_of(folder, "xed")
    learned = {plain_text(each.turns[0]) for each in corpus.train["xed"]}
    assert learned == {text for text in sentences if not held_out("xed", text)}
    assert list(corpus.held) == ["xed"] and not [name for name in corpus.files if not name.startswith("xed/")]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["meld", "meldd"], "sources: 'meldd' is unknown; there are weak, .*, films, frequent, notes, meld,"),
        (["goemotions"], "has nothing of the source 'goemotions' to learn from: expected goemotions/train.tsv, "),
        (["frequent"], "the sources frequent hold no turns out, to calibrate on: add one that does"),
    ],
)
def test_what_cannot_be_learned_from_is_named(folder, names, message):
    with pytest.raises(ValueError, match=message):
        corpus_of(folder, *names)


def test_the_labels_of_films_are_parted_by_their_dialogues_and_last_turns_teach_too(folder, monkeypatch):
    from edos_dataset.releases.labelled_sets.readers import LabelledDialogue

    def dialogue(name):
        turns = tuple(f"{word} {name} is gone for ever" for word in ("river", "stone", "boat"))
        return LabelledDialogue(name, turns, (None,) * 3, (("sad", "angry"), (), ("neutral",)))

    names = [*(f"films/a.srt#{number}" for number in range(30)), *map(str, range(30))]
    monkeypatch.setattr(sources, "read_readings", lambda _: ([dialogue(name) for name in names], {"labelled": 7}))
    corpus = corpus_of(folder, "films")
    for part in (corpus.train["films"], corpus.held["films"]):
        for each in part:
            assert each.targets[1] is None and each.targets[0].kind == Kind.SHARES
            assert each.targets[2] is not None
    assert len(corpus.train["films"]) + len(corpus.held["films"]) == 60 and len(corpus.held["films"]) > 2
    assert corpus.counts["films"] == {"labelled": 7} and list(corpus.files) == ["readings/turns.parquet"]
    assert np.isclose(corpus.train["films"][0].targets[0].values[LABEL_IDS["sad"]], 0.65)
    other = corpus_of(folder, "meld")
    assert other.apart["films"] == corpus.apart["films"] and len(other.apart["films"]) > 4
    assert list(other.train) == list(other.held) == list(other.counts) == ["meld"]
    assert list(other.files) == ["meld/train_sent_emo.csv", "meld/dev_sent_emo.csv"]


LONG = "the ship left harbour at seven with nobody aboard but me"


def test_equal_texts_are_copies_whatever_their_marks_and_near_ones_by_four_words_of_five():
    texts = ["Where did you put my green umbrella?!", "where did you put my green boots", "Where did you?", "And why?"]
    held = ["- where did you put my green umbrella", "You put the umbrella where?"]
    assert near_copies(texts, held).tolist() == [True, False, False, False]
    assert near_copies(["one two three four five"], ["five four three two one six"]).tolist() == [True], "5 of 6"
    assert near_copies(["one two three four five"], ["one two three four seven"]).tolist() == [False], "4 of 6"
    assert near_copies(["one two three four five"], ["one two three four seven"], share=0.6).tolist() == [True]
    assert near_copies(["so so so so good"], ["good so"], short=1).tolist() == [True], "words are counted once"


@pytest.mark.parametrize(("short", "found"), [(3, [False, True]), (2, [True, True]), (4, [False, False])])
def test_a_short_held_out_text_has_no_copies(short, found):
    texts = ["Thank you, Tom!", "Thank you so much."]
    assert near_copies(texts, texts, short).tolist() == found


def test_six_words_in_a_row_are_a_copy_only_of_what_may_be_cut_elsewhere():
    texts = ["Harbour at seven with nobody aboard", "harbour at seven with nobody else aboard", "at seven"]
    assert near_copies(texts, [LONG]).tolist() == [False, False, False]
    assert near_copies(texts, [], cut=[LONG]).tolist() == [True, False, False]
    assert near_copies([f"I said: {LONG}, and more of this and that and so on."], [], cut=[LONG]).tolist() == [True]
    five = "with nobody aboard but me"
    assert near_copies([five], [], cut=["Nobody.", five]).tolist() == [False]


def test_nothing_is_a_copy_of_nothing():
    assert near_copies([], [LONG], cut=[LONG]).tolist() == []
    assert near_copies([LONG, "", "..."], []).tolist() == [False] * 3
    assert near_copies(["", "..."], ["", "...", LONG]).tolist() == [False] * 2


def test_many_texts_come_out_as_if_each_were_compared_with_each():
    drawn = np.random.default_rng(0).integers(0, 4000, (9000, 9))
    texts = [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]
    held = [" ".join(f"w{13 * row + word}" for word in range(9)) for row in range(300)]
    for row, changed in ((10, 0), (4095, 1), (4096, 1), (8999, 2)):
        own = held[row % 300].split()
        texts[row] = " ".join([*own[changed:], *(f"new{row}n{number}" for number in range(changed))])
    found = np.flatnonzero(near_copies(texts, held)).tolist()
    assert found == [10, 4095, 4096], "8 of 10 words in common are enough, 7 of 11 are not"


def test_words_that_all_texts_have_find_no_copies_but_equal_texts():
    texts = [f"you and me and all the rest {number}" for number in range(200)]
    assert near_copies([*texts, "you and me and all the rest"], ["You and me and all the rest!"]).tolist() == (
        [False] * 200 + [True]
    ), "as its docstring says: a word in common must be in at most fifty texts, or a hundredth of them"
