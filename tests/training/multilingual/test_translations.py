"""Finding the English originals of XED's translated sentences."""

import numpy as np

from training.held_out import held_out
from training.multilingual import translations
from training.multilingual.translations import Translation, translations_of

ENGLISH = {"I lost my job.": "6", "What a day!": "5", "Leave me alone.": "6", "Nobody was there.": "4"}
GERMAN = {"Ich verlor meine Stelle.": "6", "Was für ein Tag!": "5", "Lass mich in Ruhe.": "6", "Keine Ahnung.": "6"}
PLACES = {
    "I lost my job.": (1, 0), "Ich verlor meine Stelle.": (0.9, 0.1), "Leave me alone.": (0, 1),
    "Lass mich in Ruhe.": (0.1, 0.9), "What a day!": (-1, -1), "Was für ein Tag!": (-1, -0.8),
    "Nobody was there.": (0, 0), "Keine Ahnung.": (0.5, 0.5),
}  # fmt: skip


def embed(texts):
    return np.array([PLACES[text] for text in texts], np.float32)


def write(folder, name, sentences):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{text}\t{labels}\n" for text, labels in sentences.items()), encoding="utf-8")


def test_two_sentences_that_choose_each_other_among_those_of_equal_labels(tmp_path):
    write(tmp_path, translations.ENGLISH, ENGLISH)
    write(tmp_path, translations.projections("de"), GERMAN)
    found = translations_of(tmp_path, ["de"], embed, 0.3, 0.05, 100)
    assert {each.text: each.english for each in found if each.certain} == {
        "Ich verlor meine Stelle.": "I lost my job.",
        "Was für ein Tag!": "What a day!",
        "Lass mich in Ruhe.": "Leave me alone.",
    }
    assert {each.language for each in found} == {"de"}
    assert [(each.text, each.english) for each in found if not each.certain] == [("Keine Ahnung.", "I lost my job.")]
    assert not any(each.certain for each in translations_of(tmp_path, ["de"], embed, 1.1, 0.05, 100))
    assert len(translations_of(tmp_path, ["de"], embed, 0.3, 0.05, 2)) < len(found), "every second one is looked at"


def test_a_translation_is_held_out_with_its_original():
    texts = [f"sentence {number}" for number in range(40)]
    made = [Translation("de", "Satz", frozenset({"joy"}), text, True) for text in texts]
    assert [each.held_out for each in made] == [held_out("xed", text) for text in texts]
    assert 0 < sum(each.held_out for each in made) < 20
