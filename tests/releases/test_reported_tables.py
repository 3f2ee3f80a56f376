"""Tables of other people in a report: columns named, bad records left out, labels translated."""

import json

import pyarrow.parquet as pq
import pytest

import edos_dataset
from edos_dataset.label_sets import load_label_set
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.reported import Asked, Reading, open_reported

TABLE = (
    "talk,who,said,feeling\n1,Anna,I lost my job.,devastated\n1,Ben,Oh no!,surprised\n2,Anna,,sad\n2,Ben,Yes!,joyful\n"
)


def opened(folder, **reading):
    (folder / "scratch").mkdir()
    (folder / "talk.csv").write_text(TABLE)
    found = open_reported(Asked(str(folder / "talk.csv")), folder / "scratch", reading=Reading(**reading))
    rows = [row for files in found.files.values() for path in files for row in pq.read_table(path).to_pylist()]
    return found.labels.names, [[(turn["text"], turn["label"]) for turn in row["turns"]] for row in rows]


def test_columns_a_map_and_what_is_left_out(tmp_path):
    said = []
    meant = Selection(column="said", id_column="talk", skip_bad=True)
    names, dialogues = opened(tmp_path, meant=meant, label_column="feeling", label_map="ekman7", warn=said.append)
    assert tuple(names) == load_label_set("ekman7").labels
    found = [[(text, names[label]) for text, label in turns] for turns in dialogues]
    assert found == [[("I lost my job.", "sadness"), ("Oh no!", "surprise")], [("Yes!", "joy")]]
    assert len(said) == 1 and "1 record left out, the first as" in said[0]


def test_all_rows_one_dialogue_and_columns_that_are_not_there(tmp_path):
    meant = Selection(column="said", one_dialogue=True, skip_bad=True)
    assert len(opened(tmp_path, meant=meant, label_column="feeling")[1]) == 1
    with pytest.raises(ValueError, match="line 2: there is no column 'feelin'; did you mean 'feeling'"):
        open_reported(
            Asked(str(tmp_path / "talk.csv")),
            tmp_path / "scratch",
            reading=Reading(meant=Selection(column="said"), label_column="feelin"),
        )


def test_rows_of_a_dialogue_that_do_not_stand_together_are_one_as_for_label(tmp_path):
    rows = ["b,2,I see.,sad", "a,1,No!,sad", "b,1,Hello?,questioning"]
    (tmp_path / "talk.csv").write_text("\n".join(["dialogue_id,turn,text,label", *rows]) + "\n")
    (tmp_path / "more.jsonl").write_text(
        "".join(
            json.dumps({"dialogue_id": id_, "split": split, "text": text, "label": "sad"}) + "\n"
            for id_, split, text in [
                ("a", "train", "One."),
                ("b", "train", "Two."),
                ("a", "test", "Three."),
                ("a", "train", "Four."),
            ]
        )
    )
    for number, (name, expected) in enumerate(
        {"talk.csv": [["Hello?", "I see."], ["No!"]], "more.jsonl": [["One.", "Four."], ["Two."], ["Three."]]}.items()
    ):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        found = open_reported(Asked(str(tmp_path / name)), scratch)
        read = [row for files in found.files.values() for path in files for row in pq.read_table(path).to_pylist()]
        assert [[turn["text"] for turn in row["turns"]] for row in read] == expected
        if name == "talk.csv":
            labelled = edos_dataset.label(tmp_path / name, "fast")
            assert [[turn["text"] for turn in row["turns"]] for row in labelled] == expected
