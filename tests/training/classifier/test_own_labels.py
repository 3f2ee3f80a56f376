"""Labelled dialogues of a user: what is found in them, what is held out, and what is refused."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from classifier_fixtures import NOUNS
from edos_dataset.label_sets import LabelSet, with_label_set
from edos_dataset.label_sets.configs import schema_of_set
from edos_dataset.releases.formats.selection import Selection
from training.classifier.own import Wanted, read_own
from training.classifier.own_labels import Asked
from training.classifier.parts import balanced
from training.classifier.recipe import ClassifierRecipe

RECIPE = ClassifierRecipe(frequent_turns=0, workers_share=1.0, shares=(0.6, 0.2, 0.2), context=1)
MOODS = ("calm", "tense", "tired")


def said(number):
    """A text that is no near-copy of another."""
    return " ".join(f"{NOUNS[(number + at) % 16]}{number}x{at}" for at in range(5))


def dialogues(count, turns=2):
    """Dialogues of turns that each have a mood."""
    return [
        [(said(turns * number + turn), MOODS[(number + turn) % 3]) for turn in range(turns)] for number in range(count)
    ]


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def rows_of(given, **more):
    return [
        {"Dialogue": f"d{number}", "Utterance": text, "Emotion": label, **{key: of(number) for key, of in more.items()}}
        for number, turns in enumerate(given)
        for text, label in turns
    ]


def read(path, labels=None, group_column=None, **selected):
    return read_own(str(path), Wanted(Selection(keep_labels=True, **selected), labels or Asked(), group_column), RECIPE)


def examples(data):
    """All examples: the last turn → the label and the part."""
    names = data.label_set.labels
    parts = {"train": data.train, "validation": data.validation, "test": data.test}
    return {
        turns[-1]: (names[label], name)
        for name, part in parts.items()
        for turns, label in zip(part.dialogues, part.labels.tolist(), strict=True)
    }


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def labelled(text, label):
    """A turn as `edos label` writes it."""
    top = [{"label": label, "probability": 0.7}, {"label": MOODS[MOODS.index(label) - 1], "probability": 0.2}]
    return {"text": text, "label": label, "confidence": 0.7, "top": top, "label_source": "general@1"}


FORMS = {
    "rows": lambda given, folder: write_csv(folder / "rows.csv", rows_of(given)),
    "excel": lambda given, folder: write_xlsx(folder / "rows.xlsx", rows_of(given)),
    "turns": lambda given, folder: lines(
        folder / "turns.jsonl",
        [{"dialogue_id": f"d{at}", "turns": [labelled(*turn) for turn in turns]} for at, turns in enumerate(given)],
    ),
    "lists": lambda given, folder: lines(
        folder / "lists.jsonl",
        [
            {"id": f"d{at}", "dialog": [text for text, _ in turns], "emotion": [label for _, label in turns]}
            for at, turns in enumerate(given)
        ],
    ),
    "parquet": lambda given, folder: write_parquet(folder / "turns.parquet", given),
}


def write_xlsx(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(row)
    book.save(path)
    return path


def write_parquet(path, given):
    table = pa.table(
        {
            "dialogue_id": [f"d{at}" for at in range(len(given))],
            "turns": [[{"text": text, "label": label} for text, label in turns] for turns in given],
        }
    )
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_labelled_turn_of_every_form_is_an_example_with_the_turns_before_it(form, tmp_path):
    given = dialogues(12, turns=3)
    data = read(FORMS[form](given, tmp_path))
    assert data.label_set.labels == MOODS and not data.several
    found = examples(data)
    assert {text: label for text, (label, _) in found.items()} == {
        text: label for turns in given for text, label in turns
    }
    assert {found[text][1] for turns in given for text, _ in turns[:1]} == {"train", "validation", "test"}
    for turns in given:
        assert len({found[text][1] for text, _ in turns}) == 1, "dialogues stay whole"
    before = {turns[-1]: turns[:-1] for part in (data.train, data.test) for turns in part.dialogues}
    assert all(before.get(turns[2][0], [turns[1][0]]) == [turns[1][0]] for turns in given), "one turn: the context"
    assert all(before.get(turns[0][0], []) == [] for turns in given)


def test_a_label_of_a_dialogue_belongs_to_its_last_turn(tmp_path):
    records = [{"turns": [said(2 * at), said(2 * at + 1)], "label": MOODS[at % 3]} for at in range(12)]
    found = examples(read(lines(tmp_path / "d.jsonl", records)))
    assert found == {said(2 * at + 1): (MOODS[at % 3], found[said(2 * at + 1)][1]) for at in range(12)}


def test_turns_without_a_label_are_history_only(tmp_path):
    given = [[(text, label if turn else "") for turn, (text, label) in enumerate(turns)] for turns in dialogues(12)]
    data = read(write_csv(tmp_path / "d.csv", rows_of(given)))
    assert set(examples(data)) == {turns[1][0] for turns in given}
    assert all(len(turns) == 2 for turns in data.train.dialogues)
    assert "12 turns without a label are history of others only" in data.remarks


def test_probabilities_that_label_wrote_are_learned_and_the_card_will_say_so(tmp_path):
    data = read(FORMS["turns"](dialogues(12), tmp_path))
    row = data.train.targets[np.flatnonzero(data.train.labels == 1)[0]]
    assert row.tolist() == pytest.approx([0.2, 0.7, 0.1])
    assert any("learned from a model's labels" in sentence for sentence in data.limitations)
    table = [
        row | {"label": row["Emotion"], "confidence": "0.6", "label_2": "calm", "confidence_2": "0.3"}
        for row in rows_of(dialogues(12))
        if row["Emotion"] != "calm"
    ]
    data = read(write_csv(tmp_path / "d.csv", table), Asked(label_set=write_set(tmp_path / "moods.yaml")))
    row = data.train.targets[np.flatnonzero(data.train.labels == 2)[0]]
    assert row.tolist() == pytest.approx([0.3, 0.1, 0.6])
    assert "labels: column 'label'; 'Emotion' could be, too: --label-column" in data.remarks


def write_set(path):
    path.write_text("labels: {calm: At ease., tense: Under strain., tired: Worn out.}\nneutral: calm\n")
    return str(path)


def test_several_labels_of_a_turn(tmp_path):
    rows = [{"text": said(at), "labels": "; ".join(MOODS[: 1 + at % 3])} for at in range(20)]
    data = read(write_csv(tmp_path / "cells.csv", rows))
    assert data.several and data.label_set.labels == MOODS
    flags = [{"text": said(at), **{mood: int(place <= at % 3) for place, mood in enumerate(MOODS)}} for at in range(20)]
    same = read(write_csv(tmp_path / "flags.csv", flags), Asked(MOODS))
    by_set = read(tmp_path / "flags.csv", Asked(label_set=write_set(tmp_path / "moods.yaml")))
    as_lists = read(
        lines(tmp_path / "l.jsonl", [{"text": said(at), "emotion": MOODS[: 1 + at % 3]} for at in range(20)])
    )
    for other in (data, same, by_set, as_lists):
        held = {turns[-1]: row.tolist() for turns, row in zip(other.train.dialogues, other.train.targets, strict=True)}
        assert held and held == {
            said(at): [1.0, float(at % 3 > 0), float(at % 3 > 1)] for at in range(20) if said(at) in held
        }
    single = read(write_csv(tmp_path / "one.csv", [row | {"labels": MOODS[at % 3]} for at, row in enumerate(rows)]))
    assert not single.several, "no cell has two"


def test_numbers_are_the_ids_of_a_set_that_is_named(tmp_path):
    rows = [{"text": said(at), "label": at % 3} for at in range(12)]
    path = write_csv(tmp_path / "d.csv", rows)
    data = read(path, Asked(label_set=write_set(tmp_path / "moods.yaml")))
    assert examples(data)[said(1)][0] == "tense" and data.label_set.definitions["tense"] == "Under strain."
    bare = read(path)
    assert bare.label_set.labels == ("0", "1", "2")
    assert "the labels are numbers: --label-set FILE names them" in bare.remarks


def test_labels_are_translated_and_those_without_counterpart_are_not_learned(tmp_path):
    (tmp_path / "map.yaml").write_text("calm: well\ntense: {ill: 0.6, well: 0.4}\ntired: null\n")
    data = read(FORMS["rows"](dialogues(18), tmp_path), Asked(label_map=str(tmp_path / "map.yaml")))
    assert data.label_set.labels == ("well", "ill") and len(examples(data)) == 24
    assert sorted({tuple(row) for row in data.train.targets.tolist()}) == [pytest.approx((0.4, 0.6)), (1.0, 0.0)]
    rows = [{"text": said(at), "emotion": ("joy", "Sadness", "love", "anger")[at % 4]} for at in range(80)]
    data = read(write_csv(tmp_path / "e.csv", rows), Asked(label_set="goemotions28", label_map="sentiment3"))
    assert examples(data)[said(1)][0] == "negative"


def test_the_set_that_a_file_names_stays(tmp_path):
    given = LabelSet("moods", MOODS, "calm", definitions={"calm": "At ease."})
    path = write_parquet(tmp_path / "d.parquet", dialogues(12))
    pq.write_table(with_label_set(pq.read_table(path), given), path)
    assert read(path).label_set == given


def write_curated(folder, given):
    """A folder as `edos curate` writes it, with three splits."""
    rows = [
        {"dialogue_id": f"d{at}", "document_id": f"film {at}", "turns": [labelled(*turn) for turn in turns]}
        for at, turns in enumerate(given)
    ]
    for place, split in enumerate(("train", "validation", "test")):
        (folder / "edos").mkdir(parents=True, exist_ok=True)
        schema = schema_of_set("edos", LabelSet("moods", MOODS, "calm"))
        ids = [{**row, "turns": [with_ids(turn) for turn in row["turns"]]} for row in rows[place::3]]
        pq.write_table(pa.Table.from_pylist(ids, schema), folder / "edos" / f"{split}-00000-of-00001.parquet")
    return folder


def with_ids(turn):
    top = [each | {"label": MOODS.index(each["label"])} for each in turn["top"]]
    return turn | {"label": MOODS.index(turn["label"]), "top": top}


def test_a_folder_of_curate_keeps_its_splits_its_set_and_its_probabilities(tmp_path):
    given = dialogues(12)
    folder = write_curated(tmp_path / "curated", given)
    data = read(folder)
    assert (data.label_set.name, data.label_set.labels, data.label_set.neutral) == ("moods", MOODS, "calm")
    found = examples(data)
    assert [found[turns[1][0]] for turns in given[:3]] == [
        (turns[1][1], split) for turns, split in zip(given, ("train", "validation", "test"), strict=False)
    ]
    assert data.train.targets.max() == pytest.approx(0.7)
    assert list(data.files) == [
        f"curated/edos/{name}-00000-of-00001.parquet" for name in ("train", "validation", "test")
    ]
    with pytest.raises(ValueError, match="--id-column is for tables, but .*curated is a folder of this package"):
        read(folder, id_column="dialogue_id")


def test_films_and_splits_stay_whole(tmp_path):
    given = dialogues(30)
    path = write_csv(tmp_path / "films.csv", rows_of(given, Film=lambda at: f"film {at % 6}", Season=lambda at: at % 5))
    found, data = examples(read(path)), read(path)
    by_film = {number % 6: set() for number in range(30)}
    for number, turns in enumerate(given):
        by_film[number % 6] |= {found[text][1] for text, _ in turns}
    assert all(len(parts) == 1 for parts in by_film.values()) and len(set().union(*by_film.values())) == 3
    assert any("split by 'Film', seed 0" in remark for remark in data.remarks)
    assert len(set(data.test.groups.tolist())) < len(data.test)
    assert any("split by 'Season'" in remark for remark in read(path, group_column="season").remarks)
    stated = write_csv(tmp_path / "s.csv", rows_of(given, Split=lambda at: ("train", "dev", "test", "train")[at % 4]))
    found = examples(read(stated))
    assert [found[turns[0][0]][1] for turns in given[:4]] == ["train", "validation", "test", "train"]
    halves = write_csv(tmp_path / "h.csv", rows_of(given, Split=lambda at: ("train", "test", "train")[at % 3]))
    found = examples(read(halves))
    assert {found[turns[0][0]][1] for turns in given[1::3]} == {"test"}
    assert {found[turns[0][0]][1] for at, turns in enumerate(given) if at % 3 != 1} == {"train", "validation"}


def test_three_dialogues_are_enough(tmp_path):
    counts = [
        len(part)
        for part in vars(read(FORMS["rows"](dialogues(3, turns=4), tmp_path))).values()
        if hasattr(part, "take")
    ]
    assert counts == [4, 0, 4, 4]


def test_near_copies_of_held_out_turns_are_not_learned_from(tmp_path):
    rows = [{"text": said(at // 2) + " ."[at % 2], "label": MOODS[at // 2 % 3]} for at in range(40)]
    data = read(write_csv(tmp_path / "d.csv", rows))
    held = {turns[-1][:-1] for part in (data.validation, data.test) for turns in part.dialogues}
    assert held.isdisjoint(turns[-1][:-1] for turns in data.train.dialogues)
    assert (
        0 < data.left_out["labelled turns"] == 40 - sum(len(part) for part in (data.train, data.validation, data.test))
    )


def test_balanced_labels_count_the_same(tmp_path):
    rows = [{"text": said(at), "label": MOODS[at % 10 == 0]} for at in range(60)]
    train = read(write_csv(tmp_path / "d.csv", rows)).train
    for power, ratio in ((1.0, 1.0), (0.0, (train.labels == 0).sum() / (train.labels == 1).sum())):
        weights = balanced(train, power).weights
        assert weights[train.labels == 0].sum() / weights[train.labels == 1].sum() == pytest.approx(ratio, rel=1e-3)
        assert weights.sum() == pytest.approx(len(train), rel=1e-3)


def broken(path, change):
    rows = rows_of(dialogues(12))
    change(rows)
    return write_csv(path / "d.csv", rows)


def column(name, value):
    return lambda rows: [row.update({name: value}) for row in rows]


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        (
            lambda rows: rows[3].update(Emotion="tens"),
            {"labels": Asked(label_set="MOODS")},
            r"d\.csv, line 5: unknown label 'tens': expected one of calm, tense, tired; did you mean 'tense'\?; name "
            r"the set that the labels are of as --label-set, or translate them by --map; or give --skip-bad",
        ),
        (
            lambda rows: [row.update(Emotion=f"no{at}") for at, row in enumerate(rows)],
            {"labels": Asked(label_set="MOODS")},
            r"d\.csv has 24 records that cannot be used \(unknown label 24\).*(\n.*){10}\n  and 14 more",
        ),
        (lambda rows: rows[3].update(Utterance=" "), {}, r"d\.csv, line 5: a turn has no text \(' '\).*--skip-bad"),
        (column("Emotion", "calm"), {}, "all labels are 'calm': a classifier needs two at least"),
        (column("Emotion", "calm"), {"labels": Asked(label_set="MOODS")}, "24 labelled turns have the label 'calm'"),
        (column("Emotion", ""), {}, "the column 'Emotion' has no label: nothing can be learned from it"),
        (
            lambda rows: [row.update(Emotion=f"mood {at}") for at, row in enumerate(rows)],
            {},
            "24 labelled turns are too few for the 24 labels of 'own': give two for each at least, or join "
            "labels by --map",
        ),
        (column("Dialogue", "one"), {}, "labelled turns are from 1 dialogues: some must be held out.*--id-column"),
        (
            lambda rows: [
                row.update(Mood=row.pop("Emotion")[:1] + "!") or row.update(Feeling=row.pop("Mood")) for row in rows
            ],
            {},
            "no column that is known to hold labels, but 'Feeling': name it as --label-column",
        ),
        (None, {"labels": Asked(("Mood",))}, "--label-column Mood: there is no such column, but 'Emotion'"),
        (None, {"group_column": "Book"}, "--group-column Book: there is no such column"),
        (None, {"labels": Asked(("Emotion", "Dialogue"))}, "--label-column Emotion Dialogue: there is no such column"),
        (column("Split", "fold 1"), {}, "Split is 'fold 1': expected train, validation, test in every row"),
        (None, {"labels": Asked(label_set="moods9.yaml")}, "there is no file moods9.yaml"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_sentence(tmp_path, change, asked, message):
    path = broken(tmp_path, change or (lambda rows: None))
    labels = asked.get("labels", Asked())
    labels = labels._replace(label_set=write_set(tmp_path / "moods.yaml")) if labels.label_set == "MOODS" else labels
    with pytest.raises(ValueError, match=message):
        read(path, **asked | {"labels": labels})


def test_bad_rows_are_left_out_and_counted_if_asked(tmp_path):
    def change(rows):
        rows[3].update(Emotion="furious")
        rows[5].update(Utterance="")

    data = read(broken(tmp_path, change), Asked(label_set=write_set(tmp_path / "moods.yaml")), skip_bad=True)
    assert len(examples(data)) == 22
    told = " ".join(data.remarks)
    assert "1 bad record left out: unknown label 1" in told and "line 5" in told and "no text 1" in told
