"""What no model may learn from is decided in one place."""

import pytest

from training.held_out import PARTED, held_out, held_out_reading


@pytest.mark.parametrize("source", PARTED)
def test_a_fifth_is_held_out_and_not_the_same_of_every_source(source: str) -> None:
    kept = [held_out(source, f"scene {number}") for number in range(5000)]
    assert 0.18 < sum(kept) / 5000 < 0.22
    others = [held_out(other, f"scene {number}") for other in PARTED if other != source for number in range(5000)]
    assert others[:5000] != kept


def test_it_never_changes() -> None:
    assert [key for key in range(60) if held_out("emorynlp", str(key))] == [20, 25, 28, 43, 46, 49, 50, 54]


def test_copies_of_a_sentence_are_on_the_same_side() -> None:
    sentences = [f"Well , number {number} !" for number in range(50)]
    copies = [f"- WELL, Number {number}..." for number in range(50)]
    assert [held_out("xed", text) for text in sentences] == [held_out("xed", text) for text in copies]


@pytest.mark.parametrize("source", ["meld", "goemotions", "swda", "friends"])
def test_a_source_with_files_of_its_own_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=f"'{source}' is not shared out by a digest: emorynlp, .* meld/dev_sent_emo"):
        held_out(source, "0")


def test_an_eighth_of_the_dialogues_that_were_read_is_held_out_with_all_tasks_that_show_one() -> None:
    ids = [f"films/a.srt#{number}@{number % 7}" for number in range(5000)]
    assert 0.11 < sum(map(held_out_reading, ids)) / 5000 < 0.14
    assert len({held_out_reading(f"films/a.srt#{number}@0") for number in range(50)}) == 2, "not a film is held out"
    crowd = [held_out_reading(str(number)) for number in range(60)]
    assert [held_out_reading(f"{number}#2") for number in range(60)] == crowd
    assert [number for number in range(60) if crowd[number]] == [4, 33], "it never changes"
