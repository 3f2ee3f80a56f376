"""What people typed, and the label that it means."""

import pytest

from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.labels import LABEL_IDS, LABELS


@pytest.mark.parametrize(
    ("given", "label", "way"),
    [
        ("Afraid", "afraid", "exact"),
        ("  wishing  (Other)", "wishing", "exact"),
        ("NEUTRAL (other)", "neutral", "exact"),
        ("hopeful.", "hopeful", "exact"),
        ("Jealousy (Other)", "jealous", "form"),
        ("greatful", "grateful", "form"),
        ("suprised", "surprised", "spelling"),
        ("Sympathising (Other)", "sympathizing", "spelling"),
        ("nuetral", "neutral", "spelling"),
        ("mad", None, "outside"),  # a letter from "sad", but too short to be a slip of it
        ("daring", None, "outside"),  # a letter from "caring", but the first one
        ("angry, annoyed", None, "outside"),
        ("Greeting (Other)", None, "outside"),
        ("happy", None, "outside"),
    ],
)
def test_answers_mean_labels(given, label, way):
    read = read_answer(given)
    assert (read.label, read.way) == (MISSING if label is None else LABEL_IDS[label], way)


def test_the_text_of_an_answer_is_comparable():
    assert read_answer("Greeting (Other)").text == read_answer(" greeting.").text == "greeting"
    assert read_answer("-").text == read_answer(" ").text == read_answer("").text == ""


def test_every_label_means_itself():
    assert [read_answer(f"{name.upper()} (Other)").label for name in LABELS] == list(range(len(LABELS)))
