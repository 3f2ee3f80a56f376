"""What the labels of other makers' sets mean in ours."""

import pytest

from edos_dataset.downloads.registry import find_source
from edos_dataset.labels import EMOTIONS, INTENTS, LABEL_IDS, LABELS, NEUTRAL
from edos_dataset.releases.labelled_sets.label_sets import (
    classes_of,
    known_names,
    label_set,
    meanings_of,
    shares_of_meaning,
    silent_on_intents,
)
from edos_dataset.releases.labelled_sets.readers import SOURCES, XED_EMOTIONS, read_goemotions


def names_of(source, *labels):
    found = label_set(source, labels)
    return found if found is None else {LABELS[label] for label in found}


def test_labels_stand_for_sets_of_ours_and_several_for_what_any_of_them_stands_for():
    assert names_of("meld", "anger") == {"angry", "annoyed", "furious", "jealous"}
    assert names_of("xed", "surprise", "neutral") == {"surprised", "impressed", "neutral", "prepared", "anticipating"}
    assert "annoyed" in names_of("goemotions", "disapproval")


def test_an_act_says_something_only_where_no_emotion_is():
    assert names_of("dailydialog", "no_emotion", "act:question") == {"questioning"}
    assert names_of("dailydialog", "no_emotion", "act:inform") == names_of("dailydialog", "no_emotion")
    assert names_of("dailydialog", "anger", "act:question") == names_of("meld", "anger")


def test_what_says_nothing_is_no_set():
    assert label_set("swda", ["sd"]) is None
    assert label_set("swda", ["no"]) is None
    assert label_set("esconv", []) is None
    assert label_set("swda", ["sd", "aa"]) == label_set("swda", ["aa"])


@pytest.mark.parametrize(
    ("source", "names", "classes"),
    [
        ("dailydialog", ["no_emotion", "act:question"], ["no_emotion + act:question"]),
        ("dailydialog", ["no_emotion", "act:inform"], ["no_emotion", "act:inform"]),
        ("dailydialog", ["act:question", "no_emotion"], ["act:question", "no_emotion"]),
        ("xed", ["anger", "disgust"], ["anger", "disgust"]),
        ("meld", ["joy"], ["joy"]),
        ("meld", [], []),
    ],
)
def test_labels_are_looked_up_together_where_they_stand_so_in_their_order(source, names, classes):
    assert classes_of(source, names) == classes


@pytest.mark.parametrize(
    ("source", "names", "shares"),
    [
        ("meld", ["anger"], {"angry": 1, "annoyed": 1, "furious": 1, "jealous": 1}),
        ("xed", ["anger"], {"angry": 1, "annoyed": 1 / 2, "furious": 1, "jealous": 1}),
        ("xed", ["disgust"], {"disgusted": 1, "annoyed": 1 / 2, "ashamed": 1 / 2}),
        (
            "xed",
            ["anger", "disgust"],
            {"angry": 1, "annoyed": 1, "furious": 1, "jealous": 1, "disgusted": 1, "ashamed": 1 / 2},
        ),
        ("goemotions", ["grief"], {"devastated": 1 / 2, "sad": 1 / 2, "sympathizing": 1 / 4}),
        (
            "goemotions",
            ["caring", "grief"],
            {"sympathizing": 1 / 2, "consoling": 1, "devastated": 1 / 2, "wishing": 1 / 5},
        ),
        ("dailydialog", ["no_emotion", "act:inform"], {"neutral": 1, "prepared": 1, "anticipating": 1}),
        ("dailydialog", ["no_emotion", "act:question"], {"questioning": 1}),
        (
            "dailydialog",
            ["no_emotion", "act:commissive"],
            {"agreeing": 1, "prepared": 1, "acknowledging": 1, "grateful": 1},
        ),
        ("swda", ["sd"], {}),
        ("xed", [], {}),
    ],
)
def test_a_label_that_stands_for_several_of_a_sets_counts_by_share(source, names, shares):
    found = {LABELS[label]: share for label, share in shares_of_meaning(source, names).items()}
    assert {name: found.get(name) for name in shares} == pytest.approx(shares)
    assert set(found) == (names_of(source, *names) or set())
    if source != "goemotions":
        assert set(found) == set(shares)


@pytest.mark.parametrize("source", SOURCES)
def test_over_all_labels_of_a_set_every_one_of_ours_is_whole(source):
    alone = [shares_of_meaning(source, [name]) for name in known_names(source)]
    sums = {label: sum(own.get(label, 0) for own in alone) for label in set().union(*alone)}
    assert sums and sums == pytest.approx(dict.fromkeys(sums, 1))


@pytest.mark.parametrize("source", ["meld", "dailydialog", "emorynlp"])
def test_where_figures_are_of_one_class_every_label_is_in_one(source):
    alone = [label_set(source, [name]) for name in known_names(source) if not name.startswith("act:")]
    assert sorted(label for labels in alone for label in labels) == sorted(map(LABEL_IDS.get, [*EMOTIONS, NEUTRAL]))


def test_only_sets_with_acts_strategies_or_such_names_speak_of_intents():
    assert {source for source in SOURCES if silent_on_intents(source)} == {
        *("meld", "dailydialog", "emorynlp", "mustard", "xed")
    }
    for source in ("meld", "emorynlp", "xed"):
        assert not label_set(source, sorted(known_names(source))) & {LABEL_IDS[name] for name in INTENTS}


def test_every_label_of_a_set_is_there(tmp_path):
    assert known_names("xed") == frozenset(XED_EMOTIONS)
    (tmp_path / "labels.txt").write_text("\n".join(sorted(known_names("goemotions"))), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text(
        "".join(f"Well\t{number}\tid{number}\n" for number in range(28)), encoding="utf-8"
    )
    assert [row.labels for row in read_goemotions(tmp_path / "dev.tsv")] == [
        ((name,),) for name in sorted(known_names("goemotions"))
    ]


@pytest.mark.parametrize("look_up", [label_set, classes_of, shares_of_meaning])
def test_unknown_names_are_refused_in_a_sentence(look_up):
    with pytest.raises(ValueError, match="there is no labelled set 'friends': expected one of meld, "):
        look_up("friends", [])
    with pytest.raises(ValueError, match="meld has no label 'mad': expected one of anger, disgust, fear"):
        look_up("meld", ["joy", "mad"])
    with pytest.raises(ValueError, match=r"dailydialog has no label 'act:ask': expected one of anger, [^+]*$"):
        look_up("dailydialog", ["act:ask"])


def test_meanings_that_are_none_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"label_sets.yaml, x, mad: unknown label 'angri'"):
        meanings_of({"x": {"silent_on_intents": True, "labels": {"mad": ["angri"]}}})
    with pytest.raises(ValueError, match=r"label_sets.yaml, x: 'mad \+ sad' joins sad, which the set lacks"):
        meanings_of({"x": {"silent_on_intents": True, "labels": {"mad": None, "mad + sad": None}}})


@pytest.mark.parametrize("source", ["meld", "dailydialog", "xed", "goemotions"])
def test_what_is_downloaded_lies_where_it_is_read(source):
    ours = {name for files in SOURCES[source].files.values() for name in files}
    for file in find_source(source).files:
        within = {name for name in ours if name.startswith(f"{file.path}/")}
        assert within if file.unpack else file.path in ours | {"goemotions/labels.txt"}


def test_the_files_of_a_set_lie_in_its_folder():
    assert all(
        name.startswith(f"{source}/")
        for source, labelled in SOURCES.items()
        for files in labelled.files.values()
        for name in files
    )
    assert {source for source, labelled in SOURCES.items() if labelled.commercial} == {"xed", "goemotions", "emorynlp"}
