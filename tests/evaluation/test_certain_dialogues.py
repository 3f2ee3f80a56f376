"""What is kept and what is right of it, of a film whose scores and truth are known."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE, SENTENCES
from evaluation.certain_dialogues import judge, row_of

SAME = [-1, 0, 0, 1, 0, 0, -1, 0]
SCORES = [np.nan, 0.05, 0.4, 0.9, 0.05, 0.8, 0.1, 0.1]


@pytest.fixture
def film() -> pa.Table:
    """Eight sentences of a document; what is known of its seams is `SAME`."""
    length = len(SAME)
    columns = {
        "id": range(1, length + 1),
        "text": [f"This is number {number} of them." for number in range(length)],
        "dash": [False] * length,
        "start": np.arange(0.0, 2 * length, 2),
        "end": np.arange(1.5, 2 * length, 2),
        "speaker": [None] * length,
        "first_block": range(length),
        "last_block": range(length),
    }
    facts = {"document_id": "mill", "film": "mill", "language": "en", "source": {"kind": "subtitle"}}
    table = pa.table(
        {
            **{field.name: pa.array([facts.get(field.name)], field.type) for field in SENTENCES},
            "sentences": nest([0, length], LINE, columns),
        }
    )
    table = table.append_column("same_turn", pa.array([SAME], pa.list_(pa.int8())))
    return table.append_column("label_confidence", pa.array([[0.9] * length], pa.list_(pa.float32())))


def test_all_seams_of_a_dialogue_are_compared(film: pa.Table) -> None:
    """One wrong seam, and one of which nothing is known: the dialogue is of no use to the measure."""
    judged = judge(film, np.array(SCORES, np.float32), 0.0)
    assert judged.sentences.tolist() == [8] and judged.turns.tolist() == [6]
    assert judged.wrong.tolist() == [-1]


def test_doubtful_seams_are_cut_and_lose_their_errors(film: pa.Table) -> None:
    """At 0.7 the seam of 0.4 divides the film, and only the second part has the wrong one."""
    judged = judge(film, np.array(SCORES, np.float32), 0.7)
    assert judged.turns.tolist() == [2, 4] and judged.wrong.tolist() == [0, -1]
    row = row_of(judged, 16)
    assert row["dialogues"] == 2 and row["known"] == 1
    assert row["sentences_kept"] == 0.5 and row["turns_per_dialogue"] == 3 and row["without_wrong_seam"] == 1


def test_a_wrong_seam_is_counted(film: pa.Table) -> None:
    """Where the truth of every seam is known."""
    same = pa.array([[-1, 0, 0, 1, 0, 0, 0, 0]], pa.list_(pa.int8()))
    judged = judge(film.set_column(film.schema.get_field_index("same_turn"), "same_turn", same), np.array(SCORES), 0.0)
    assert judged.wrong.tolist() == [1]
