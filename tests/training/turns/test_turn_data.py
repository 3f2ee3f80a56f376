import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.arrays import unnest
from training.transcripts.speakers import Cue
from training.turns import data, labels
from training.turns import data as dialogues
from training.turns import data as sources
from training.turns import labels as blocks


def cue(start, end, text, speaker, **more):
    return Cue(start, end, tuple(text.split("\n")), speaker, **more)


def labelled(*cues, dashes=False):
    joined = blocks.join_even_splits(cues) if dashes else [[one] for one in cues]
    return labels.label_scripts([labels.Script("show/s01e01", "show/s01e01", joined, dashes)], "show")


def texts_of(table):
    return unnest(table, "sentences")[0].field("text").to_pylist()


def same_of(table):
    return table["same_turn"].combine_chunks().flatten().to_pylist()


def sure_of(table):
    return np.round(table["label_confidence"].combine_chunks().flatten().to_numpy().astype(np.float64), 3).tolist()


TALK = (
    cue(1, 2, "Where were you? I called.", "ANN"),
    cue(2.2, 3, "I was asleep.", "BOB"),
    cue(3.1, 4, "Asleep!", "ANN"),
    cue(4.2, 5, "At noon!", "ANN", named=False),
)


def test_labels_are_about_the_speakers_on_both_sides_of_a_seam():
    table = labelled(*TALK)
    assert texts_of(table) == ["Where were you?", "I called.", "I was asleep.", "Asleep!", "At noon!"]
    assert same_of(table) == [-1, 1, 0, 0, 1]
    assert sure_of(table) == [0, 0.95, 0.95, 0.95, 0.95]
    assert table.schema == labels.LABELLED
    assert table["corpus"].to_pylist() == ["show"]


@pytest.mark.parametrize(
    ("cues", "texts", "same", "sure"),
    [
        # nobody known
        ((cue(1, 2, "Hooray!", None), cue(3, 4, "Sit down.", "ANN")), ["Hooray!", "Sit down."], [-1, -1], [0, 0]),
        # a sentence that begins with one speaker and ends with another
        (
            (
                cue(1, 2, "Yes.", "ANN"),
                cue(2.1, 3, "I thought that the", "ANN"),
                cue(3.1, 4, "train was late.", "BOB"),
                cue(5, 6, "No.", "ANN"),
            ),
            ["Yes.", "I thought that the train was late.", "No."],
            [-1, 1, 0],
            [0, 0.475, 0.475],
        ),
        # somebody in between has no cue
        (
            (cue(1, 2, "Go on.", "ANN"), cue(3, 4, "Go on!", "ANN", missed=("BOB",))),
            ["Go on.", "Go on!"],
            [-1, 1],
            [0, 0.475],
        ),
        (
            (cue(1, 2, "Go on.", "ANN"), cue(3, 4, "Go on!", "ANN", missed=("ANN",))),
            ["Go on.", "Go on!"],
            [-1, 1],
            [0, 0.95],
        ),
        # between is a cue that cleaning drops
        (
            (cue(1, 2, "Go.", "ANN"), cue(3, 4, "(coughs)", "BOB"), cue(5, 6, "Go!", "ANN")),
            ["Go.", "Go!"],
            [-1, 1],
            [0, 0.475],
        ),
        # the text itself names another speaker
        (
            (cue(1, 2, "Go.", "ANN"), cue(3, 4, "BOB: Never.", "ANN"), cue(5, 6, "Go!", "ANN")),
            ["Go.", "Never.", "Go!"],
            [-1, 0, -1],
            [0, 0.9, 0],
        ),
        (
            (cue(1, 2, "Go.", "ANN"), cue(3, 4, "MRS. BELL: Never.", "MRSBELL"), cue(5, 6, "Go!", "ANN")),
            ["Go.", "Never.", "Go!"],
            [-1, 0, 0],
            [0, 0.95, 0.95],
        ),
        # two dashes, one speaker by the source
        (
            (cue(1, 2, "- Go.\n- Never.", "ANN"), cue(3, 4, "Go!", "ANN")),
            ["Go.", "Never.", "Go!"],
            [-1, -1, 1],
            [0, 0, 0.95],
        ),
    ],
)
def test_what_is_odd_makes_a_label_unsure_or_unknown(cues, texts, same, sure):
    table = labelled(*cues)
    assert texts_of(table) == texts
    assert same_of(table) == same
    assert sure_of(table) == sure


def test_trust_depends_on_how_the_source_names_the_speaker():
    cues = [*TALK, cue(6, 7, "Why?", "ANN", named=False), cue(8, 9, "Well?", "ANN")]
    script = labels.Script("a", "a", [[one] for one in cues])
    table = labels.label_scripts([script], "show", labels.Trust(new=0.5, inside=0.6, first=0.7, later=0.8, again=0.9))
    assert sure_of(table) == [0, 0.6, 0.5, 0.5, 0.7, 0.8, 0.9]


def test_seams_before_which_something_is_missing_are_unknown():
    script = labels.Script("a", "a", [[one] for one in TALK], breaks=frozenset({2}))
    assert same_of(labels.label_scripts([script], "show")) == [-1, 1, 0, -1, 1]


def test_a_document_without_speech_is_gone_and_the_next_keeps_its_labels():
    silent = labels.Script("a", "a", [[cue(1, 2, "(rain)", "ANN")]])
    talk = labels.Script("b", "b", [[one] for one in TALK])
    table = labels.label_scripts([silent, talk], "show")
    assert table["document_id"].to_pylist() == ["b"]
    assert same_of(table) == [-1, 1, 0, 0, 1]


SPLIT = (
    cue(1, 2.25, "Ready? I am.", "ANN"),
    cue(2.25, 3.501, "Me too. Let's go.", "BOB"),
    cue(3.6, 4, "At last.", "BOB", named=False),
)


def test_even_splits_become_blocks_with_dashes_and_keep_their_labels():
    table = labelled(*SPLIT, dashes=True)
    flat, _ = unnest(table, "sentences")
    assert texts_of(table) == ["Ready?", "I am.", "Me too.", "Let's go.", "At last."]
    assert flat.field("dash").to_pylist() == [True, False, True, False, False]
    assert flat.field("first_block").to_pylist() == [0, 0, 0, 0, 1]
    assert (flat.field("start")[2].as_py(), flat.field("end")[0].as_py()) == (1, 3.501)
    assert same_of(table) == same_of(labelled(*SPLIT)) == [-1, 1, 0, 1, 1]


def test_labels_of_a_block_hold_if_cleaning_drops_one_of_its_lines():
    cues = (
        cue(1, 2, "(laughs)", "ANN"),
        cue(2, 3, "Stop it.", "BOB"),
        cue(3.2, 4, "No.", "BOB"),
        cue(4.2, 5, "Please.", "ANN"),
    )
    table = labelled(*cues, dashes=True)
    assert texts_of(table) == ["Stop it.", "No.", "Please."]
    assert same_of(table) == [-1, 1, 0]


@pytest.mark.parametrize(
    ("one", "other", "even"),
    [
        ((1, 2), (2, 3), True),
        ((1, 2), (2, 3.001), True),
        ((1, 2), (2, 3.002), False),
        ((1, 2), (2.001, 3.001), False),
        ((1, None), (2, 3), False),
    ],
)
def test_halves_of_a_block_touch_and_last_equally_long(one, other, even):
    assert blocks.is_even_split(cue(*one, "Hm.", None), cue(*other, "Hm.", None)) is even


def test_two_halves_by_one_speaker_are_new_turns_of_somebody_unknown():
    cues = blocks.doubt_halves(
        [
            cue(1, 2, "Tea?", "ANN"),
            cue(2, 3, "No.", "ANN", named=False),
            cue(4, 5, "Why?", "ANN", named=False),
            cue(6, 7, "Oh.", "BOB"),
        ]
    )
    assert [one.speaker for one in cues] == ["ANN", None, None, "BOB"]
    table = labelled(*cues)
    assert same_of(table) == [-1, 0, -1, -1]
    assert sure_of(table) == [0, 0.855, 0, 0]


def test_undash_parts_blocks_as_the_cues_with_speakers_were_made():
    lines = labels.script_lines([labels.Script(name, name, blocks.join_even_splits(SPLIT), True) for name in "ab"])
    flat, offsets = unnest(blocks.undash(lines), "lines")
    assert flat.field("text").to_pylist() == ["Ready? I am.", "Me too. Let's go.", "At last."] * 2
    assert flat.field("start").to_pylist() == [1, 2.25, 3.6] * 2
    assert flat.field("end").to_pylist() == [2.25, 3.501, 4] * 2
    assert flat.field("first_block").to_pylist() == flat.field("last_block").to_pylist() == [0, 1, 2] * 2
    assert offsets.tolist() == [0, 3, 6]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


EPISODE = "# ANNA\n1.000\nCoffee?\n2.000\n# BORIS\n2.000\nTea, please.\n3.000\n# ANAN\n3.500\nFinֳ©.\n4.000\n"


def test_sitcoms_are_read_by_show_and_episode(tmp_path):
    write(tmp_path / "sitcom_speakers" / "Friends.S02E07.merged", EPISODE.replace("ANAN", "ANNA\n# BORIS"))
    write(tmp_path / "sitcom_speakers" / "Friends.S02E08.The.Name.merged", EPISODE.replace("ANAN", "ANNAA"))
    write(tmp_path / "sitcom_speakers" / "Other.Show.S01E01.merged", EPISODE)
    table = sources.read_sitcom(tmp_path, "friends", dashes=False)
    assert table["film"].to_pylist() == ["friends/s02e07", "friends/s02e08"]
    assert texts_of(table)[:3] == ["Coffee?", "Tea, please.", "Finé."]
    assert same_of(table) == [-1, 0, 1, -1, 0, 0]
    assert (
        unnest(sources.read_sitcom(tmp_path, "friends", dashes=True), "sentences")[0].field("dash").to_pylist()
        == [True, True, False] * 2
    )


WORDS = [
    f"{verb} the {colour} {thing} before breakfast"
    for verb in ("Paint", "Hide", "Sell")
    for colour in ("red", "blue", "old")
    for thing in ("boat", "hat")
]


def test_subtitles_take_the_script_whose_words_they_have_and_its_labels(tmp_path):
    speakers = ["Carla", "Dora"] * 9
    other = "\n".join(
        f"{name}: Nobody dances with {word} on Sundays."
        for name, word in zip(speakers, "abcdefghijklmnopqr", strict=True)
    )
    write(tmp_path / "frasier" / "scripts" / "0101.txt", other)
    write(
        tmp_path / "frasier" / "scripts" / "0102.txt",
        "\n".join(f"{name}: {text}." for name, text in zip(speakers, WORDS, strict=True)),
    )
    blocks_ = [
        f"{n + 1}\n00:00:{2 * n + 10:02d},000 --> 00:00:{2 * n + 12:02d},000\n- {WORDS[2 * n]}.\n- "
        f"{WORDS[2 * n + 1]}.\n"
        for n in range(9)
    ]
    for number in (1, 5):  # two copies, neither of the right number
        write(tmp_path / "frasier" / "subtitles" / "01" / f"Episode_{number}.srt", "\n".join(blocks_))
    for plain in (False, True):
        table = sources.read_frasier(tmp_path, plain)
        assert table["film"].to_pylist() == ["frasier/s01e02"]
        assert set(same_of(table)[1:]) == {0}
        flat, _ = unnest(table, "sentences")
        assert any(flat.field("dash").to_pylist()) is not plain
        assert flat.field("first_block").to_pylist() == (
            [n for n in range(18)] if plain else [n // 2 for n in range(18)]
        )


def test_names_of_the_script_are_laid_on_the_cues_anew(tmp_path):
    """The fourth speech lacks a name in the cues, the last one is not in the script."""
    people = ["boris", "anna"] * (len(WORDS) // 2)
    names = [f"# {name.upper()}\n" * (place != 3) for place, name in enumerate(people)]
    cues = [f"{name}{n}.000\n{text}.\n{n}.900\n" for n, (name, text) in enumerate(zip(names, WORDS, strict=True))]
    write(tmp_path / "sitcom_speakers" / "Friends.S02E07.merged", "".join(cues))
    rows = [f"2,7,{name},{text.lower()}\n" for name, text in zip(people, WORDS[:-1], strict=False)]
    write(tmp_path / "sitcom_speakers" / "friends_lines.csv", "".join(["season,episode,speaker,words\n", *rows]))
    assert same_of(sources.read_sitcom(tmp_path, "friends", dashes=False))[3:5] == [1, 1]
    table = sources.read_named_friends(tmp_path, dashes=False)
    assert (table["corpus"].to_pylist(), table["film"].to_pylist()) == (["friends_lines"], ["friends/s02e07"])
    assert same_of(table) == [-1] + [0] * (len(WORDS) - 2) + [-1]


def test_meld_is_cues_of_dialogues_with_unknown_seams_where_an_utterance_is_missing(tmp_path):
    head = "Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime\n"
    rows = [
        ("It’s late.", "Ann", 0, 0),
        ("Is it?", "Bob", 0, 1),
        ("Yes.", "Bob", 0, 3),
        ("Quite.", "Bob", 0, 4),
        ("Well.", "All", 1, 0),
    ]
    body = "".join(
        f'{n},"{text}",{name},x,x,{talk},{place},3,5,"00:00:1{n},500","00:00:1{n},900"\n'
        for n, (text, name, talk, place) in enumerate(rows)
    )
    write(tmp_path / "meld" / "train_sent_emo.csv", head + body)
    table = dialogues.read_meld(tmp_path)
    assert table["document_id"].to_pylist() == ["meld/train/0", "meld/train/1"]
    assert table["film"].to_pylist() == ["friends/s03e05"] * 2
    assert same_of(table) == [-1, 0, -1, 1, -1]
    assert unnest(table, "sentences")[0].field("start").to_pylist() == [10.5, 11.5, 12.5, 13.5, 14.5]


def test_dialogues_without_subtitles_have_neither_times_nor_blocks(tmp_path):
    write(
        tmp_path / "dailydialog" / "valid.json",
        '{"dialogue": [{"text": "I\' m here . So what"}, {"text": "and you ?"}, {"text": "Never mind ."}]}\n',
    )
    table = dialogues.read_dailydialog(tmp_path)
    flat, _ = unnest(table, "sentences")
    assert flat.field("text").to_pylist() == ["I'm here.", "So what", "and you?", "Never mind."]
    assert same_of(table) == [-1, 1, 0, 0]
    assert not any(flat.field("dash").to_pylist())
    assert all(flat.field(name).null_count == 4 for name in ("start", "end", "first_block", "last_block"))


def test_conversations_are_turns_without_their_situation(tmp_path):
    rows = [
        "Dialog_ID,Type,Actor,Text",
        "c1,situation,none,I lost it",
        'c1,utterance,speaker,"I lost it. Oh, well"',
        "c1,utterance,listener,Lost what?",
    ]
    write(tmp_path / "empathetic_dialogues" / "unannotated" / "sad.csv", "\r\n".join(rows) + "\r\n")
    table = dialogues.read_empathetic_dialogues(tmp_path)
    assert texts_of(table) == ["I lost it.", "Oh, well", "Lost what?"]
    assert same_of(table) == [-1, 1, 0]


def test_weak_labels_are_what_dashes_and_names_say(tmp_path):
    (tmp_path / "opensubtitles_xml").mkdir()
    cues = ["- Hot. Very hot.\n- Is it?", "Yes. Very.", "MAN: Next. You there."]
    text = "\n".join(f"{n + 1}\n00:00:0{n},000 --> 00:00:0{n},900\n{lines}\n" for n, lines in enumerate(cues))
    write(tmp_path / "noisy_srt" / "film.srt", text)
    table = sources.read_weak(tmp_path)
    assert texts_of(table) == ["Hot.", "Very hot.", "Is it?", "Yes.", "Very.", "Next.", "You there."]
    assert same_of(table) == [-1, 1, 0, -1, -1, 0, -1]
    assert sure_of(table) == [0, 0.8, 0.85, 0, 0, 0.7, 0]


@pytest.mark.parametrize(
    ("corpus", "film", "key"),
    [
        ("friends_dashes", "friends/s01e05", "friends S01E05"),
        ("meld", "friends/s01e05", "friends S01E05"),
        ("the_big_bang_theory", "the_big_bang_theory/s09e02", "the big bang theory S09E02"),
        ("weak", "the big bang theory/s09e02", "the big bang theory S09E02"),
        ("friends_srt", "friends/s06e15e16", "friends S06E15"),
        ("weak", "imdb/77", "weak imdb/77"),
        ("dailydialog", "dailydialog/3", "dailydialog dailydialog/3"),
    ],
)
def test_an_episode_has_one_key_in_all_corpora(corpus, film, key):
    assert data.episode_key(corpus, film) == key


def test_corpora_are_made_once_and_kept(tmp_path, monkeypatch):
    made = []

    def make(folder):
        made.append(folder)
        return labelled(*TALK)

    monkeypatch.setitem(data.CORPORA, "friends", make)
    first = data.load_corpora(tmp_path, ["friends", "friends"], tmp_path / "cache")
    assert (first.num_rows, made) == (2, [tmp_path])
    assert data.load_corpora(tmp_path, ["friends"], tmp_path / "cache").equals(first.slice(0, 1))
    (tmp_path / "cache" / "friends.parquet").write_bytes(b"PAR1 torn")
    assert data.load_corpora(tmp_path, ["friends"], tmp_path / "cache").equals(first.slice(0, 1)) and len(made) == 2
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["friends.parquet"]
    assert data.count_labels(first) == {
        "documents": 2, "sentences": 10, "labelled": 8, "new_turn": 0.5, "inside": 0.25,
        "new_inside": 0.0, "doubtful": 0.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [("klingon", "no corpus is named 'klingon'"), ("friends", "no document of the corpus 'friends'")],
)
def test_what_is_not_there_is_told(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        data.load_corpora(tmp_path, [name], tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real data")
@pytest.mark.parametrize(
    ("corpus", "documents", "new_turn"),
    [("meld", 1000, (0.45, 0.6)), ("dailydialog", 900, (0.5, 0.65)), ("weak", 90, (0.6, 0.9))],
)
def test_real_corpora_are_labelled_for_the_most_part(tmp_path, corpus, documents, new_turn):
    table = data.load_corpora(Path(os.environ["EDOS_DATA_DIR"]), [corpus], tmp_path)
    figures = data.count_labels(table)
    assert figures["documents"] >= documents
    assert new_turn[0] < figures["new_turn"] < new_turn[1]
    assert isinstance(table, pa.Table) and len(set(table["document_id"].to_pylist())) == table.num_rows
