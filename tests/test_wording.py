"""Numbers with their nouns."""

import pytest

from edos_dataset.wording import counted, unit_of


@pytest.mark.parametrize(
    ("unit", "one"),
    [
        ("dialogues", "1 dialogue"),
        ("replies", "1 reply"),
        ("bytes", "1 byte"),
        ("batches", "1 batch"),
        ("bonuses", "1 bonus"),
        ("people", "1 person"),
        ("media", "1 media"),
        ("bad records", "1 bad record"),
        ("files are", "1 file is"),
        ("other files were", "1 other file was"),
        ("texts occur", "1 text occurs"),
        ("turns without an answer", "1 turn without an answer"),
        ("last turns that nobody answers", "1 last turn that nobody answers"),
        ("dialogues of one speaker or turn", "1 dialogue of one speaker or turn"),
    ],
)
def test_one_is_singular_and_all_else_as_given(unit, one):
    assert counted(1, unit) == one
    assert counted(0, unit) == f"0 {unit}" and counted(2000, unit) == f"2,000 {unit}"


def test_a_verb_alone():
    assert [unit_of(number, "look") for number in (0, 1, 2)] == ["look", "looks", "look"]
