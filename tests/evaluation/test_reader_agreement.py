"""How far two readings agree."""

import json

import pytest

from evaluation.reader_agreement import ALONE, SECOND, Pair, agreement, read_pairs


def test_shares_and_kappa_are_those_of_a_table_by_hand():
    pairs = [
        Pair("a", ["sad", "angry"], ["sad"]),
        Pair("a", ["sad", "angry"], ["angry", "sad"]),
        Pair("b", ["angry"], ["furious", "angry"]),
        Pair("b", ["neutral"], ["joyful"]),
    ]
    found = agreement(pairs)
    assert found["turns"] == 4 and found["same_first_label"]["share"] == 0.25
    assert found["among_the_first_ones"]["share"] == 0.5 and found["one_in_common"]["share"] == 0.75
    assert found["same_group"]["share"] == 0.5
    # By chance: sad 2/4 * 1/4, angry 1/4 * 1/4.
    chance = 2 / 4 * 1 / 4 + 1 / 4 * 1 / 4
    assert found["kappa_of_first_labels"] == pytest.approx((0.25 - chance) / (1 - chance), abs=1e-4)
    low, high = found["one_in_common"]["interval"]
    assert low <= 0.75 <= high


def test_every_turn_that_was_read_again_was_read_before(tmp_path):
    pairs, alone = read_pairs(SECOND), read_pairs(ALONE)
    assert len(pairs) == 626 and all(1 <= len(pair.first) <= 3 and 1 <= len(pair.second) <= 3 for pair in pairs + alone)
    assert [pair[:2] for pair in alone] == [pair[:2] for pair in pairs]
    row = json.loads(SECOND.read_text().splitlines()[0])
    strange = tmp_path / "second.jsonl"
    strange.write_text(json.dumps(row) + "\n" + json.dumps({**row, "turn": 99}) + "\n")
    with pytest.raises(ValueError, match=r"second\.jsonl, line 2: turn 99 of 1091223 was not read before"):
        read_pairs(strange)
