"""Turns that a rule rejects, and stay as their block has another one."""

import pyarrow as pa

from edos_dataset.cleaning.rejects import shelter
from edos_dataset.schema import DIALOGUES

TIMES = [(0, 1), (0, 1), (2, 3), (2, 3), (4, 5), (4, 5), (6, 7)]


def dialogues(*sizes: int) -> pa.Table:
    """Return dialogues of so many turns, with the times of TIMES one after the other."""
    turns = [{"text": "Hm.", "sentence_ids": [1], "start": start, "end": end} for start, end in TIMES]
    rows = []
    for size in sizes:
        rows.append({"dialogue_id": "d", "document_id": "d", "turns": turns[:size]})
        turns = turns[size:]
    return pa.Table.from_pylist(rows, schema=DIALOGUES)


def test_a_turn_of_a_block_that_stays_is_sheltered() -> None:
    """Either half of a block; not if both are of little use, and not where a turn has a block of its own."""
    given = [None, "too_frequent", "repetitive", None, "too_short", "too_short", "too_frequent"]
    assert shelter(dialogues(7), pa.array(given)).to_pylist() == [None] * 4 + given[4:]


def test_what_is_no_speech_is_not_sheltered() -> None:
    """A rule about what a turn is, not about its use."""
    given = ["too_long", None, None, "documentary", None, "too_frequent", None]
    assert shelter(dialogues(7), pa.array(given)).to_pylist() == [*given[:5], None, None]


def test_other_dialogues_shelter_nothing() -> None:
    """The first turn of a dialogue, whatever its times."""
    assert shelter(dialogues(1, 1), pa.array([None, "too_frequent"])).to_pylist() == [None, "too_frequent"]
    assert shelter(dialogues(), pa.array([], pa.string())).to_pylist() == []
