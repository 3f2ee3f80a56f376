"""Labels given by reading find their turns in the user's files, and only the turns that were read."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.commands.segment import segment
from edos_dataset.labels import LABEL_IDS, LABELS
from training.labels.readings import READINGS, digest_of, read_readings

FILM = """\
1
00:00:01,000 --> 00:00:03,000
...so I left, <i>and if it</i>...

2
00:00:03,200 --> 00:00:05,000
...rains I shall be wet.

3
00:00:05,500 --> 00:00:07,000
You forgot the umbrella?

4
00:00:07,500 --> 00:00:09,000
Not again!
"""
CROWD = (
    "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer\n"
    '1,1,7,"- Rain !\n- I don\'t care .",Content,Content\n2,2,7,"- Snow !\n- I do care .",Annoyed,Annoyed\n'
)
EXTENDED = (
    'os_dialog_id,os_dialog,emotion,cos_sim,amt_dialog_id\n9,"- Well , rain .\n- Lovely .",joyful,0.95,7\n'
    '10,"- Hail .\n- Oh .",joyful,2,7\n'
)
TURNS = {
    ("films/a.srt", "a#1@0"): [
        ("so I left, and if it rains I shall be wet.", ["sad"], [1]),
        ("You forgot the umbrella? Not again!", ["annoyed", "surprised"], [2, 3]),
    ],
    ("edos_amt/mturk_groundtruth_labels.csv", "7#2"): [("Snow!", ["excited"], []), ("I do care.", [], [])],
    ("edos_amt/similar_dialogs.csv", "9"): [("Well, rain.", ["neutral"], []), ("Lovely.", ["joyful"], [])],
}


def write(path, turns):
    rows = [
        {
            "file": file,
            "dialogue_id": name,
            "turns": [
                {"digest": digest_of(text), "labels": [LABEL_IDS[label] for label in labels], "sentence_ids": ids}
                for text, labels, ids in dialogue
            ],
        }
        for (file, name), dialogue in turns.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(READINGS)), path)
    return path


@pytest.fixture
def data_dir(tmp_path):
    for name, text in {
        "films/a.srt": FILM,
        "edos_amt/mturk_groundtruth_labels.csv": CROWD,
        "edos_amt/similar_dialogs.csv": EXTENDED,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_texts_come_from_the_files_and_labels_best_first(data_dir):
    dialogues, counts = read_readings(data_dir, write(data_dir / "r.parquet", TURNS))
    assert [(one.dialogue_id, one.turns, one.labels) for one in dialogues] == [
        (name, tuple(text for text, _, _ in turns), tuple(tuple(labels) for _, labels, _ in turns))
        for (_, name), turns in TURNS.items()
    ]
    assert counts == {"labelled": 5} and dialogues[0].speakers == (None, None)


def test_sentences_of_xml_are_found_by_their_own_numbers(data_dir):
    said = '<s id="7"><w id="7.1">Wait</w><w id="7.2">.</w></s><s id="9"><w id="9.1">Go</w><w id="9.2">on</w></s>'
    (data_dir / "films" / "b.xml").write_text(f'<?xml version="1.0"?><document id="1">{said}</document>')
    turns = {("films/b.xml", "b#7@0"): [("Wait.", ["sad"], [7]), ("Go on", ["neutral"], [9])]}
    assert read_readings(data_dir, write(data_dir / "r.parquet", turns))[1] == {"labelled": 2}


def test_cues_that_name_their_speakers_are_found_by_their_numbers(data_dir):
    said = "# ANN\n1.0\nIf it\nrains...\n2.0\n2.0\n**LOL**\n2.5\n...I stay.\n3.0\n# BOB\n3.0\nWell.\n4.0\n"
    (data_dir / "films" / "c.merged").write_text(said)
    turns = {
        ("films/c.merged", "c#1"): [("If it rains I stay.", ["sad"], [1, 2]), ("Well.", ["neutral"], [3])],
        ("films/c.merged", "c#3"): [("Well.", ["sad"], [3]), ("Not there.", ["sad"], [4])],
    }
    path = write(data_dir / "r.parquet", turns)
    assert read_readings(data_dir, path)[1] == {"labelled": 2, "missing_dialogue": 2}
    (data_dir / "films" / "c.merged").write_text("nobody")
    with pytest.raises(ValueError, match="has none of the texts"):
        read_readings(data_dir, path)


def test_a_turn_whose_text_is_another_stays_without_labels(data_dir):
    path = data_dir / "films" / "a.srt"
    path.write_text(FILM.replace("Not again", "Not today"))
    dialogues, counts = read_readings(data_dir, write(data_dir / "r.parquet", TURNS))
    assert dialogues[0].turns[1] == "You forgot the umbrella? Not today!"
    assert dialogues[0].labels == (("sad",), ())
    assert counts == {"labelled": 4, "other_text": 1}


@pytest.mark.parametrize(
    ("file", "text", "counts"),
    [
        ("films/a.srt", None, {"labelled": 3, "missing_file": 2}),
        ("films/a.srt", "no subtitle", {"labelled": 3, "unreadable_file": 2}),
        ("films/a.srt", FILM[: FILM.index("4\n")], {"labelled": 3, "missing_dialogue": 2}),
        ("films/a.srt", FILM.replace("I ", "we ").replace("umbrella", "dog"), {"labelled": 3, "other_text": 2}),
        ("edos_amt/similar_dialogs.csv", EXTENDED.replace("9,", "8,", 1), {"labelled": 3, "missing_dialogue": 2}),
        ("edos_amt/similar_dialogs.csv", EXTENDED.replace("rain .\n", ""), {"labelled": 3, "missing_dialogue": 2}),
        ("edos_amt/mturk_groundtruth_labels.csv", None, {"labelled": 4, "missing_file": 1}),
    ],
)
def test_every_label_that_finds_no_turn_is_counted(data_dir, file, text, counts):
    path = data_dir / file
    path.unlink() if text is None else path.write_text(text)
    assert read_readings(data_dir, write(data_dir / "r.parquet", TURNS))[1] == counts


def test_a_folder_without_any_of_the_texts_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has none of the texts .* EDOS_DATA_DIR names it"):
        read_readings(tmp_path, write(tmp_path / "r.parquet", TURNS))


def test_sentences_are_numbered_as_edos_segment_numbers_them(data_dir):
    """So that whoever adds readings finds the numbers in its output."""
    films = data_dir / "films"
    segment(films, data_dir / "s.jsonl", scorer="rules")
    texts = [line for line in (data_dir / "s.jsonl").read_text().splitlines()]
    assert len(texts) == 3 and '"sentence_id": 3' in texts[2] and "Not again!" in texts[2]


def test_the_labels_lie_here_without_a_text_and_in_order():
    table = pq.read_table(READINGS)
    assert READINGS.stat().st_size < 1_500_000
    turn = table.schema.field("turns").type.value_type
    assert {field.name: str(field.type) for field in turn} == {
        "digest": "uint32",
        "labels": "list<element: uint8>",
        "sentence_ids": "list<element: int32>",
    }
    rows = table.to_pylist()
    names = [(row["file"], row["dialogue_id"]) for row in rows]
    assert names == sorted(set(names))
    labels = [turn["labels"] for row in rows for turn in row["turns"]]
    assert all(len(own) <= 3 and len(set(own)) == len(own) and max(own, default=0) < len(LABELS) for own in labels)
    assert sum(map(bool, labels)) == 120_582
    crowd = [row["turns"][-1]["labels"] for row in rows if row["file"].endswith("mturk_groundtruth_labels.csv")]
    assert crowd and not any(crowd), "their last turn has the crowd's own label"


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="EDOS_DATA_DIR names no folder with the data sets")
def test_real_files_have_every_turn_that_was_read():
    dialogues, counts = read_readings(Path(os.environ["EDOS_DATA_DIR"]))
    labels = [turn["labels"] for row in pq.read_table(READINGS)["turns"].to_pylist() for turn in row]
    # A turn of Frasier, 2-11, is in a file whose blocks are compared with those before since it was read.
    assert counts == {"labelled": sum(map(bool, labels)) - 1, "other_text": 1}
    assert len(dialogues) == pq.read_metadata(READINGS).num_rows
