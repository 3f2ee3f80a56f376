"""Borders between cues, by the names as a source has them."""

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE
from evaluation import cue_borders
from training.transcripts.speakers import read_cues

CUES = (
    "# ANN\n1.0\nWhere is\n2.0\n2.1\nthe boat?\n3.0\n# BOB\n3.2\nGone.\n4.0\n4.1\n(SIGHS)\n5.0\n5.2\nFar "
    "away.\n6.0\n# ANN\n6.5\nOh.\n7.0\n"
)


def table(sentences):
    rows = {field.name: [] for field in LINE}
    for number, (text, first, last) in enumerate(sentences):
        values = {
            "id": number + 1,
            "text": text,
            "start": 0.0,
            "end": 1.0,
            "first_block": first,
            "last_block": last,
            "dash": False,
            "speaker": None,
        }
        for name, column in rows.items():
            column.append(values.get(name))
    return pa.table({"film": ["friends/s01e01"], "sentences": nest([0, len(sentences)], LINE, rows)})


def test_a_name_that_is_new_is_another_speaker():
    assert cue_borders.labels_of(read_cues(CUES).cues).tolist() == [False, True, False, False, True]


def test_borders_between_cues_with_text():
    documents = table([("Where is the boat?", 0, 1), ("Gone.", 2, 2), ("Far away.", 4, 4), ("Oh.", 5, 5)])
    scores = np.array([np.nan, 0.2, 0.1, 0.7], np.float32)
    truth, said = cue_borders.new_at_borders(documents, scores, {"friends/s01e01": read_cues(CUES).cues})
    assert truth.tolist() == [False, True, True], "the cue that is no speech has no borders"
    assert said.tolist() == [False, True, False], "no turn begins inside a sentence"


def test_the_plain_baseline_learns_who_answers():
    def show(pairs):
        return {
            "film": read_cues(
                "".join(f"# {name}\n{at}.0\n{text}\n{at}.9\n" for at, (name, text) in enumerate(pairs))
            ).cues
        }

    talk = [("ANN", "Where?"), ("BOB", "Here."), ("BOB", "And there.")] * 20
    assert cue_borders.plain_accuracy(show(talk), show(talk[3:30])) > 0.95
