"""Label sets: those that are built in, those of files, and what is wrong with a file."""

import json

import pyarrow as pa
import pytest

from edos_dataset import labels
from edos_dataset.label_sets import (
    BUILT_IN,
    LabelSet,
    LabelSetError,
    known_set,
    label_set_of,
    load_label_set,
    set_of_names,
    with_label_set,
)

SIZES = {"edos41": 41, "emotions32": 32, "goemotions28": 28, "ekman7": 7, "plutchik8": 8, "meld7": 7}
SIZES |= {"dailydialog": 7, "sentiment3": 3}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sets_are_whole(name):
    found = load_label_set(name)
    assert (found.name, len(found)) == (name, SIZES[name]) and found.description
    assert set(found.definitions) == set(found.examples) == set(found.labels)
    assert load_label_set(found.as_dict()) == found


def test_the_default_set_is_that_of_the_constants():
    found = load_label_set("edos41")
    assert (found.labels, found.emotions, found.intents) == (labels.LABELS, labels.EMOTIONS, labels.INTENTS)
    assert [found.kind(label) for label in ("sad", "agreeing", "neutral")] == ["emotion", "response intent", "neutral"]
    assert load_label_set("emotions32").labels == labels.EMOTIONS


def test_names_are_found_whatever_their_case_and_their_blanks():
    found = load_label_set("dailydialog")
    assert found.parse(" No_Emotion ") == 0 and found.find("no-emotion") == 0 and found.find("bored") is None
    with pytest.raises(ValueError, match="unknown label 'hapiness': expected one of .* did you mean 'happiness'"):
        found.parse("hapiness")


def test_a_set_of_names_is_the_known_one_with_these_names_in_this_order():
    meld = ["neutral", "surprise", "fear", "sadness", "joy", "disgust", "anger"]
    assert set_of_names(meld).name == "meld7" and set_of_names(sorted(meld)).name == "own"
    assert (
        known_set(sorted(meld)).name == "ekman7" and known_set(["POSITIVE", "neutral", "negative"]).name == "sentiment3"
    )
    own = set_of_names(["Neutral", "bored"])
    assert (own.labels, own.neutral, own.emotions) == (("Neutral", "bored"), "Neutral", ("bored",))


def test_a_file_needs_names_alone(tmp_path):
    path = tmp_path / "moods.yaml"
    path.write_text("labels: [calm, tense, flat]\nneutral: flat\n", encoding="utf-8")
    found = load_label_set(path)
    assert (found.name, found.labels, found.neutral) == ("moods", ("calm", "tense", "flat"), "flat")
    assert load_label_set(str(path)) == found


WRONG = {
    "labels: [calm, tense]\nneutrl: calm": "line 2: unknown key 'neutrl'; did you mean 'neutral'?",
    "labels:\n- calm\n- tense\n- Calm": "line 4: the label 'Calm' comes twice, as 'calm'",
    "labels:\n- calm\n- tense\n- no": "line 4: label 2 is False, which is no text: put it in quotes",
    "labels: [calm]": "line 1: a set has 2 to 1,000 labels, this one 1",
    "labels: [calm, tense]\nneutral: flat": "line 2: neutral: 'flat' is no label of 'moods'",
    "labels: [calm, tense]\ngroups:\n  good: [clam]": "line 3: group 'good': 'clam' is no label .* did you mean 'calm'",
    "labels: [calm, tense]\ngroups:\n  a: [calm]\n  b: [calm]": "line 4: 'calm' is in the groups 'a' and 'b'",
    "labels:\n  calm: {colour: red}\n  tense:": "line 2: the colour of 'calm' is 'red': expected #rrggbb",
    "labels:\n  calm:\n    defintion: x\n  tense:": "line 3: label 'calm': unknown key 'defintion'; did you mean",
    "labels: [calm, tense]\nmaps:\n  ekman7:\n    cam: joy": "line 4: map to 'ekman7': 'cam' is no label of 'moods'",
    "labels: [a b, c]\nmaps:\n  x:\n    c: {y: 0.5, z: 0.2}": "line 4: the shares of 'c' sum to 0.7, not to 1",
    "label: [calm, tense]": "this is no label set: expected a key 'labels'",
    "labels: [calm, tense": "cannot read the label set .*moods.yaml: ",
    "- calm": "is no label set or map of labels",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_wrong_is_said_with_file_and_line(text, message, tmp_path):
    path = tmp_path / "moods.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LabelSetError, match=message) as error:
        load_label_set(path)
    assert str(path) in str(error.value)


def test_an_unknown_name_and_a_missing_file():
    with pytest.raises(LabelSetError, match="no label set is named 'ekmann7'; did you mean 'ekman7'"):
        load_label_set("ekmann7")
    with pytest.raises(LabelSetError, match="there is no file moods.yaml"):
        load_label_set("moods.yaml")


def test_a_table_says_which_set_its_labels_are_of():
    table = pa.table({"label": [0]})
    assert not with_label_set(table.schema, load_label_set("edos41")).metadata
    for labels_of_table in (load_label_set("ekman7"), LabelSet.of_labels(["calm", "tense"])):
        written = with_label_set(table, labels_of_table)
        assert label_set_of(written.filter(pa.array([True])).schema) == labels_of_table
        assert label_set_of(with_label_set(written, load_label_set("edos41")).schema).name == "edos41"


def test_the_names_that_datasets_wrote_are_a_set_too():
    feature = {"label": {"names": ["negative", "neutral", "positive"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": {"turns": {"feature": feature, "_type": "List"}}}})}
    assert label_set_of(pa.schema({"turns": pa.int64()}, metadata)).name == "sentiment3"
