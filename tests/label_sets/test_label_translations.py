"""Labels as people read them in other languages; a set of one's own keeps its names."""

import pytest

from edos_dataset.label_sets import LabelSet, load_label_set
from edos_dataset.label_sets.translations import (
    LANGUAGES,
    language_of_texts,
    shown_labels,
    shown_language,
    translations,
)
from edos_dataset.labels import LABELS


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_each_label_once_and_under_a_name_that_means_no_other(language):
    found = translations(language)
    assert sorted(found) == sorted(LABELS)
    names = [shown.name.casefold() for shown in found.values()]
    assert len(set(names)) == len(LABELS)
    for label, shown in found.items():
        assert shown.name == shown.name.strip() and shown.definition.endswith(".")
        assert shown.name not in LABELS or shown.name == label
    if language != "en":
        assert not {shown.definition for shown in found.values()} & {
            shown.definition for shown in translations("en").values()
        }


def test_labels_of_ours_are_translated_and_those_of_others_are_not():
    edos, emotions = (shown_labels(load_label_set(name), "de") for name in ("edos41", "emotions32"))
    assert edos["sad"].name == "traurig" and edos["sad"].definition.startswith("Wer spricht")
    assert emotions == {label: shown for label, shown in edos.items() if label in emotions} and len(emotions) == 32
    assert shown_labels(load_label_set("ekman7"), "de")["sadness"].name == "sadness"
    own = LabelSet("moods", ("sad", "calm"), definitions={"sad": "Unhappy about the weather."})
    assert shown_labels(own, "de") == {"sad": ("sad", "Unhappy about the weather."), "calm": ("calm", "")}


@pytest.mark.parametrize(("code", "language"), [("de", "de"), ("ger", "de"), ("pt_BR", "pt"), ("EN-us", "en")])
def test_a_code_names_a_language(code, language):
    assert shown_language(code) == language


@pytest.mark.parametrize(("code", "message"), [("fi", "not translated into 'fi': give one of en, de"), ("xx", "'xx'")])
def test_other_languages_are_refused(code, message):
    with pytest.raises(ValueError, match=message):
        shown_language(code)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das ist nicht mein Hund. Ich habe ihn nie gesehen, und wir wollen ihn auch nicht.", "de"),
        ("Nem tudom, hogy mit csináljak, de ez nem az én hibám. Majd meglátjuk, hogy mi van.", "hu"),
        ("Minä en tiedä, mutta se on niin.", "en"),
        ("ok", "en"),
    ],
)
def test_the_language_of_texts_is_recognised_if_labels_can_be_shown_in_it(text, language):
    assert language_of_texts([text] * 3) == language
