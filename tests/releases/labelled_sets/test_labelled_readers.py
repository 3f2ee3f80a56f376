"""The readers of the sets that others labelled: a small file of every form, with every defect."""

import json
import os
from pathlib import Path

import pytest

from edos_dataset.releases.labelled_sets.label_sets import label_set
from edos_dataset.releases.labelled_sets.readers import (
    SOURCES,
    LabelledDialogue,
    read_dailydialog,
    read_emorynlp,
    read_emotyda,
    read_esconv,
    read_goemotions,
    read_meld,
    read_mustard,
    read_swda,
    read_xed,
)
from edos_dataset.releases.raw import Reject


def read(reader, folder, name, *lines):
    """Return the dialogues of a file of these lines, and what was rejected as (line, reason)."""
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = list(reader(folder / name))
    assert all(row.file == name for row in rows if isinstance(row, Reject))
    return (
        [row for row in rows if isinstance(row, LabelledDialogue)],
        [(row.line, row.reason) for row in rows if isinstance(row, Reject)],
    )


def test_meld_comes_by_number_with_its_letters_mended_and_without_directions(tmp_path):
    header = "\ufeffSr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID"
    dialogues, rejects = read(
        read_meld,
        tmp_path,
        "dev_sent_emo.csv",
        header,
        '2,"We don\x92t, [waves]  do we?",Ann,surprise,positive,4,1',
        "1,: It’s late.,Bob,Anger,negative,4,0",
        "3,(sings the,Ann,joy,positive,4,2",
        "4,Hello.,Ann,joy,positive,4,0",
        "5,Hello.,Ann,joy,positive,5,one",
        "6,Hello.,Ann,joy",
        "7,Fine.,Ann,joy,positive,6,0",
        "8,Fine.,Ann,bliss,positive,6,1",
        "9,CafÃ©!,,neutral,neutral,7,3",
    )
    assert dialogues == [
        LabelledDialogue("4", ("It's late.", "We don't, do we?"), ("Bob", "Ann"), (("anger",), ("surprise",))),
        LabelledDialogue("7", ("Café!",), (None,), (("neutral",),)),
    ]
    assert rejects == [
        (5, "repeated_id"),
        (6, "no_id"),
        (7, "wrong_columns"),
        (4, "no_text"),
        (9, "unknown_label"),
        (None, "unknown_label"),
    ]


def test_a_scene_of_emorynlp_is_a_dialogue(tmp_path):
    utterances = [
        {"transcript": "Hi.", "speakers": ["Ann"], "emotion": "Joyful"},
        {"transcript": "( laughs )", "speakers": [], "emotion": "Joyful"},
        {"transcript": "Go away!", "speakers": ["Bob", "Cy"], "emotion": "Mad"},
    ]
    scenes = [{"scene_id": "s1", "utterances": utterances}, {"scene_id": "s2", "utterances": [{"speakers": []}]}]
    dialogues, rejects = read(read_emorynlp, tmp_path, "dev.json", json.dumps({"episodes": [{"scenes": scenes}]}))
    assert dialogues == [LabelledDialogue("s1", ("Hi.", "Go away!"), ("Ann", "Bob and Cy"), (("joyful",), ("mad",)))]
    assert rejects == [(None, "no_text"), (None, "wrong_columns")]


@pytest.mark.parametrize("content", ["", "[]", '{"episodes": 3}', '{"episodes": [{}]}'])
def test_a_file_that_is_not_emorynlps_is_named(tmp_path, content):
    with pytest.raises(ValueError, match=r"dev\.json is not a file of EmoryNLP: expected JSON of episodes with scenes"):
        read(read_emorynlp, tmp_path, "dev.json", content)


def test_a_turn_of_dailydialog_has_an_emotion_and_an_act(tmp_path):
    turns = [
        {"text": "I ' m late , aren ' t I ?", "emotion": "no_emotion", "act": "question"},
        {"text": "It\\' s $ 20 , dear !", "emotion": "happiness", "act": "inform"},
    ]
    dialogues, rejects = read(
        read_dailydialog,
        tmp_path,
        "valid.json",
        json.dumps({"topic": "work", "dialogue": turns}),
        "",
        '{"dialogue": [{"text": "no labels"}]}',
        '{"dialogue": 7}',
        "{",
        json.dumps({"dialogue": [*turns, turns[0] | {"act": "shout"}]}),
    )
    labels = (("no_emotion", "act:question"), ("happiness", "act:inform"))
    assert dialogues == [LabelledDialogue("1", ("I'm late, aren't I?", "It's $20, dear!"), ("A", "B"), labels)]
    assert rejects == [
        (3, "wrong_columns"),
        (4, "wrong_columns"),
        (5, "wrong_columns"),
        (6, "unknown_label"),
        (None, "unknown_label"),
    ]


def test_sentences_of_xed_stand_alone(tmp_path):
    dialogues, rejects = read(
        read_xed,
        tmp_path,
        "en-annotated.tsv",
        "I do n't wan na go , [PERSON] .\t8, 1",
        '"She said "" half - dead "" ."\t6, 6',
        "♪ ♪ l'm here\t5",
        "( Sighs )\t6",
        "No number\t",
        "Ten\t10",
        "One and what\t1, x",
        "No tab",
    )
    texts = [dialogue.turns[0] for dialogue in dialogues]
    assert texts[0].startswith("I don't wanna go, ")
    assert "PERSON" not in texts[0]
    assert texts[1:] == ['She said "half-dead".', "I'm here"]
    assert [dialogue.labels for dialogue in dialogues] == [(("trust", "anger"),), (("sadness",),), (("joy",),)]
    assert [dialogue.dialogue_id for dialogue in dialogues] == ["1", "2", "3"]
    assert rejects == [
        (4, "no_text"),
        (5, "unknown_label"),
        (6, "unknown_label"),
        (7, "unknown_label"),
        (8, "wrong_columns"),
    ]


def test_neutral_sentences_of_xed_and_other_languages(tmp_path):
    (neutral,), _ = read(read_xed, tmp_path, "neu_en.txt", "9\tMr. Miller sir.")
    assert (neutral.turns, neutral.labels) == (("Mr. Miller sir.",), (("neutral",),))
    (german,), rejects = read(
        read_xed,
        tmp_path,
        "de-projections.tsv",
        '"Er sagte: ""Komm!"""\t1, 2',
        '"Torn in',
        "en/1990/1.xml.gz\tde/1990/2.xml.gz\t1\t2\tTwo.\tZwei.",
    )
    assert (german.turns, german.labels) == (('Er sagte: "Komm!"',), (("anger", "anticipation"),))
    assert rejects == [(2, "wrong_columns"), (3, "wrong_columns")]


def test_goemotions_names_its_numbers_by_labels_txt(tmp_path):
    (tmp_path / "labels.txt").write_text("admiration\namusement\n", encoding="utf-8")
    dialogues, rejects = read(
        read_goemotions,
        tmp_path,
        "dev.tsv",
        '"So ""nice"" (really) &amp; kind"\t0,1\tx1',
        "What\t2\tx2",
        "Two\t1",
        "&#x200B;\t1\tx3",
    )
    labels = (("admiration", "amusement"),)
    assert dialogues == [LabelledDialogue("x1", ('So "nice" (really) & kind',), (None,), labels)]
    assert rejects == [(2, "unknown_label"), (3, "wrong_columns"), (4, "no_text")]
    (tmp_path / "labels.txt").unlink()
    with pytest.raises(ValueError, match=r"labels\.txt does not exist: it should have the labels of dev\.tsv"):
        list(read_goemotions(tmp_path / "dev.tsv"))


def test_the_windows_of_esconv_become_whole_conversations(tmp_path):
    turns = [
        f"0.0 {number % 2} {number} {'[Questions] ' * (number % 2)}{word}"
        for number, word in enumerate(["Hi ", "You?", "Sad.", "Why?", "Rain.", "Still?", "Yes."])
    ]
    other = "0.0 0 0 Hello EOS 1.0 1 1 [Other] Hi"
    gap = "0.0 0 8 Sun. EOS 1.0 1 9 [Other] Good."
    dialogues, rejects = read(
        read_esconv,
        tmp_path,
        "dev.tsv",
        " EOS ".join(turns[:2]),
        " EOS ".join(turns[:4]),
        "no turn",
        " EOS ".join(turns[4:6]),  # the one behind the last, nothing repeated
        gap,
        other,
        other.replace("Hello", "Good evening"),
    )
    first, *rest = dialogues
    assert (first.dialogue_id, first.turns) == ("1", ("Hi", "You?", "Sad.", "Why?", "Rain.", "Still?"))
    assert first.speakers == ("seeker", "helper") * 3
    assert first.labels == ((), ("questions",)) * 3
    assert [(dialogue.dialogue_id, dialogue.turns[0]) for dialogue in rest] == [
        ("5", "Sun."),
        ("6", "Hello"),
        ("7", "Good evening"),
    ]
    assert rejects == [(3, "wrong_columns")]


def test_swda_keeps_its_utterances_and_drops_its_noise(tmp_path):
    dialogues, rejects = read(
        read_swda,
        tmp_path,
        "train.txt",
        "# 2005",
        'A|Okay.|fo_o_fw_"_by_bc',
        "B|I see <laughter>. * listen: who?|b",
        "B|and,|%",
        "A|<noise>.|b",
        "# 2006",
        "A|Hi,|fp",
        "A|no act",
        "# 2007",
        "A|Hi,|fq",
    )
    labels = (("fo_o_fw_by_bc",), ("b",), ("%",))
    assert dialogues == [LabelledDialogue("2005", ("Okay.", "I see.", "and,"), ("A", "B", "B"), labels)]
    assert rejects == [(5, "no_text"), (8, "wrong_columns"), (None, "wrong_columns"), (10, "unknown_label")]
    (whole,), _ = read(read_swda, tmp_path, "val.txt", "A|Hi,|fp", "B|Hi.|fp")
    assert (whole.dialogue_id, whole.turns) == ("val", ("Hi,", "Hi."))


def test_a_file_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "val.txt").write_bytes("A|Café|b".encode("cp1252"))
    with pytest.raises(ValueError, match=r"val\.txt is not UTF-8 .*: save it as UTF-8, or get it again"):
        list(read_swda(tmp_path / "val.txt"))


def test_emotyda_has_the_acts_of_melds_utterances_with_its_letters_mended(tmp_path):
    dialogues, rejects = read(
        read_emotyda,
        tmp_path,
        "MELD.csv",
        "\ufeffSr No.,Utterance,Speaker,Emotion,Dialogue_ID,Utterance_ID,Dialogue Act",
        "1,You must¬íve had caf√©.,Ann,neutral,0,0,o",
        "2,Café?,Bob,surprise,0,1,q ",
        "3,Hm.,Bob,joy,1,0,nod",
    )
    assert dialogues == [LabelledDialogue("0", ("You must've had café.", "Café?"), ("Ann", "Bob"), (("o",), ("q",)))]
    assert rejects == [(4, "unknown_label")]


def test_emorynlp_comes_as_a_table_too(tmp_path):
    dialogues, rejects = read(
        read_emorynlp,
        tmp_path,
        "train.csv",
        "Utterance,Speaker,Emotion,Scene_ID,Utterance_ID,Season,Episode,Start_Time,End_Time",
        "\"Yeah, right!\",['Joey Tribbiani'],Neutral,1,2,1,2,00:00:04.504,00:00:07.548",
        "Sure.,\"['Ross', 'Joey']\",Joyful,1,3,1,2,,",
        "Hi.,[],Mad,1,1,1,12,,",
        "Hi.,['Ross'],Mad,1,1",
    )
    assert dialogues == [
        LabelledDialogue(
            "s01_e02_c01", ("Yeah, right!", "Sure."), ("Joey Tribbiani", "Ross and Joey"), (("neutral",), ("joyful",))
        ),
        LabelledDialogue("s01_e12_c01", ("Hi.",), (None,), (("mad",),)),
    ]
    assert rejects == [(5, "wrong_columns")]


def test_the_last_utterance_of_a_scene_of_mustard_has_the_emotion_that_is_meant(tmp_path):
    dialogues, rejects = read(
        read_mustard,
        tmp_path,
        "mustard++_text.csv",
        "SCENE,KEY,SENTENCE,END_TIME,SPEAKER,SHOW,Sarcasm,Sarcasm_Type,Implicit_Emotion,Explicit_Emotion,Valence,Arousal",
        '1_1,1_1_c_00,"Well, uh...',
        'you have questions.",0:06,PERSON,BBT,,,,,,',
        "1_1,1_1_u,Great. Just great.,0:08,SHELDON,BBT,1,PRO,Ridicule,Happiness,3,5",
        "1_2,1_2_u,Hm.,0:02,AMY,BBT,0,NONE,Boredom,Neutral,3,5",
        ",,Hm.,0:02,AMY,BBT,0,NONE,Anger,Neutral,3,5",
    )
    texts, speakers = ("Well, uh... you have questions.", "Great. Just great."), (None, "Sheldon")
    assert dialogues == [LabelledDialogue("1_1", texts, speakers, ((), ("ridicule",)))]
    assert rejects == [(6, "no_id"), (5, "unknown_label")]


COUNTS = {
    "meld/dev_sent_emo.csv": (114, 1109, 0),
    "dailydialog/valid.json": (1000, 8069, 0),
    "emorynlp/dev.json": (99, 1344, 0),
    "emorynlp/train.csv": (657, 7244, 0),
    "emotyda/MELD.csv": (1037, 9986, 3),
    "mustard/mustard++_text.csv": (1202, 6012, 29),
    "xed/neu_en.txt": (8207, 8207, 0),
    "xed/en-annotated.tsv": (14895, 14895, 3),
    "goemotions/dev.tsv": (5426, 5426, 0),
    "esconv/dev.tsv": (219, 6328, 0),
    "swda/val.txt": (1, 3272, 0),
}


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real data")
@pytest.mark.parametrize("name", COUNTS)
def test_the_real_files_come_whole_and_every_label_of_theirs_is_known(name):
    source = name.partition("/")[0]
    rows = list(SOURCES[source].read(Path(os.environ["EDOS_DATA_DIR"]) / name))
    dialogues = [row for row in rows if isinstance(row, LabelledDialogue)]
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    assert (len(dialogues), len(turns), len(rows) - len(dialogues)) == COUNTS[name]
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == len(dialogues)
    assert not [turn for turn in turns if turn != " ".join(turn.split()) or "’" in turn or "[PERSON]" in turn]
    assert any(label_set(source, labels) for dialogue in dialogues for labels in dialogue.labels)
