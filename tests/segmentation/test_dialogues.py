"""A new scene ends a dialogue, and where scenes are not asked for a silence by itself; a missing time does not."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.runs.pipeline import count_units
from edos_dataset.schema import DIALOGUES, TURNS
from edos_dataset.segmentation import dialogues as certainty
from edos_dataset.segmentation.dialogues import UNSURE, JudgeDialogues, SegmentDialogues

Times = tuple[float | None, float | None]


def turns_table(*documents: list[Times]) -> pa.Table:
    """Make documents of turns with these times; each turn has two sentences."""
    rows = [
        {
            "document_id": f"d{number}",
            "film": "f",
            "language": "en",
            "source": {"kind": "opus", "path": "p", "genres": []},
            "reading": {},
            "turns": [
                {"text": f"t{place}", "start": start, "end": end, "sentence_ids": [2 * place + 1, 2 * place + 2]}
                for place, (start, end) in enumerate(times)
            ],
        }
        for number, times in enumerate(documents)
    ]
    return pa.Table.from_pylist(rows, schema=TURNS)


def cut(*documents: list[Times], gap: float = 5.0) -> list[list[str]]:
    """Return the turns of each dialogue."""
    return [
        [turn["text"] for turn in row]
        for row in SegmentDialogues(gap, None)(turns_table(*documents))["turns"].to_pylist()
    ]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([(0, 1), (6, 7)], [["t0", "t1"]]),  # exactly 5 seconds are not more than 5
        ([(0, 1), (6.001, 7)], [["t0"], ["t1"]]),
        ([(0, 1), (0.5, 2), (1, 3)], [["t0", "t1", "t2"]]),  # overlap
        ([(0, None), (60, 61)], [["t0", "t1"]]),
        ([(0, 1), (None, 61)], [["t0", "t1"]]),
        ([(None, None), (None, None)], [["t0", "t1"]]),
        ([(0, 1), (None, None), (90, 91), (100, 101)], [["t0", "t1", "t2"], ["t3"]]),
    ],
)
def test_more_than_five_seconds_end_a_dialogue_unless_a_time_is_missing(
    times: list[Times], expected: list[list[str]]
) -> None:
    """EDOS, Section 3."""
    assert cut(times) == expected


def test_the_gap_is_a_parameter() -> None:
    """In seconds."""
    assert cut([(0, 1), (3, 4)], gap=1.5) == [["t0"], ["t1"]]
    with pytest.raises(ValueError, match="gap is -1"):
        SegmentDialogues(-1)
    with pytest.raises(ValueError, match=r"scenes is 1.5, but a probability lies between 0 and 1"):
        SegmentDialogues(scenes=1.5)


def test_a_document_ends_its_dialogue() -> None:
    """However near the times of the next are."""
    assert cut([(0, 1)], [(2, 3), (3, 4)]) == [["t0"], ["t0", "t1"]]


def test_ids_come_from_the_document_and_its_first_sentence() -> None:
    """The same on every machine."""
    table = SegmentDialogues(5.0, None)(turns_table([(0, 1), (20, 21), (22, 23)], [(0, 1)]))
    assert table["dialogue_id"].to_pylist() == ["d0#1", "d0#3", "d1#1"]
    assert table.schema.equals(DIALOGUES)


def test_the_histogram_counts_every_pair_of_a_document_also_at_the_cuts() -> None:
    """Six turns and two documents make four pairs."""
    stage = SegmentDialogues(5.0, None)
    table = turns_table([(0, 1), (0.5, 2), (2, 3), (13, 14)], [(0, 1), (None, 2)])
    assert stage.tally(stage(table)) == {"gap_s:<0": 1, "gap_s:0-0.5": 1, "gap_s:10-15": 1, "gap_s:unknown": 1}
    assert stage.tally(stage(turns_table([(0, 1), (61, 62)]))) == {"gap_s:>=60": 1}


def test_no_documents() -> None:
    """An empty batch passes and counts nothing."""
    stage = SegmentDialogues(5.0, None)
    assert stage(turns_table()).num_rows == 0
    assert stage.tally(stage(turns_table())) == {}


def spoken(language: str | None, silence: float) -> pa.Table:
    """Return a document of two places that nothing but a silence parts."""
    kitchen = ["Is the soup ready, Anna?", "The soup needs more salt.", "Salt ruins a soup, Anna.", "Then cook it!"] * 5
    harbour = [
        "Captain, the lantern is out.",
        "Light the lantern again.",
        "The harbour sleeps, Captain.",
        "Wake it.",
    ] * 5
    starts = [2.3 * number + (silence if number >= len(kitchen) else 0) for number in range(40)]
    table = turns_table([(start, start + 2) for start in starts])
    rows = table.to_pylist()
    for turn, text in zip(rows[0]["turns"], [*kitchen, *harbour], strict=True):
        turn["text"] = text
    return pa.Table.from_pylist([{**rows[0], "language": language}], schema=TURNS)


@pytest.mark.parametrize("language", ["en", "fr", None])
def test_a_new_scene_ends_a_dialogue(language: str | None) -> None:
    """By its probability, which is asked of each document in its language."""
    table = spoken(language, 8.0)
    assert [len(row) for row in SegmentDialogues()(table)["turns"].to_pylist()] == [20, 20]
    assert SegmentDialogues(scenes=None)(table).num_rows == 1  # the silence alone is not long enough


def test_turns_tell_how_surely_their_scene_goes_on() -> None:
    """Where it was asked, and there is a turn before; nothing else of them changes."""
    table = spoken("en", 8.0)
    stage = SegmentDialogues()
    turns = stage(table)["turns"].combine_chunks().flatten()
    told = turns.field("same_scene").to_numpy(zero_copy_only=False)
    assert np.isnan(told[0])
    np.testing.assert_allclose(told[1:], 1 - stage.score(table)[1:])
    assert turns.field("text").equals(table["turns"].combine_chunks().flatten().field("text"))
    silent = SegmentDialogues(scenes=None)(table)["turns"].combine_chunks().flatten()
    assert silent.field("same_scene").null_count == 40
    assert SegmentDialogues(scenes=0.0)(table).num_rows == 40
    assert SegmentDialogues(gap=5.0, scenes=1.0)(table).num_rows == 2


def test_scores_stand_at_their_documents_whatever_their_languages() -> None:
    """As if each were alone."""
    tables = [spoken("en", 8.0), spoken("fr", 3.0), spoken(None, 8.0), spoken("en", 0.5)]
    stage = SegmentDialogues()
    alone = np.concatenate([stage.score(table) for table in tables])
    assert np.array_equal(stage.score(pa.concat_tables(tables)), alone, equal_nan=True)
    assert np.isnan(alone).sum() == len(tables)


def test_what_the_cuts_depend_on_is_told() -> None:
    """The weights are part of the fingerprint and of the provenance only where they are used."""
    stage = SegmentDialogues()
    stage.check()
    assert set(stage.inputs()) == {"scenes"} and stage.records()["scenes"]["licences"]
    papers = SegmentDialogues(5.0, None)
    papers.check()
    assert papers.inputs() == {} and papers.records() == {}


SOME_TIMES = st.tuples(st.none() | st.floats(0, 40), st.none() | st.floats(0, 40))


@settings(max_examples=50)
@given(st.lists(st.lists(SOME_TIMES, min_size=1, max_size=7), min_size=1, max_size=5), st.integers(0, 5))
def test_no_turn_is_lost_and_batches_do_not_matter(documents: list[list[Times]], at: int) -> None:
    """Every turn is in one dialogue; any split of the rows gives the same table and, added up, the same histogram."""
    stage = SegmentDialogues(5.0)
    table = turns_table(*documents)
    whole = stage(table)
    assert count_units(whole, "turns") == count_units(table, "turns")
    assert sum(stage.tally(whole).values()) == sum(len(times) - 1 for times in documents)
    first, second = stage(table.slice(0, at)), stage(table.slice(at))
    assert pa.concat_tables([first, second]).to_pylist() == whole.to_pylist()
    counts = stage.tally(first)
    for key, value in stage.tally(second).items():
        counts[key] = counts.get(key, 0) + value
    assert counts == stage.tally(whole)


def test_an_unsure_border_parts_two_dialogues() -> None:
    """Where nothing is known of a boundary, it parts none."""
    table = turns_table([(0, 1), (1, 2), (2, 3), (3, 4)])
    rows = table.to_pylist()
    for turn, sure in zip(rows[0]["turns"], (None, 0.8, 0.79, None), strict=True):
        turn["new_speaker"] = sure
    table = pa.Table.from_pylist(rows, schema=TURNS)
    assert [len(turns) for turns in SegmentDialogues(least_certainty=0.8)(table)["turns"].to_pylist()] == [2, 2]
    assert [len(turns) for turns in SegmentDialogues()(table)["turns"].to_pylist()] == [4]


def test_a_certainty_is_a_probability() -> None:
    """As the message says."""
    with pytest.raises(ValueError, match="least_certainty is 2"):
        SegmentDialogues(least_certainty=2)


Turn = tuple[float | None, float | None]


def dialogues(*given: list[Turn]) -> pa.Table:
    """Make dialogues of turns with these probabilities: a new speaker's, and one speaker's."""
    rows = [
        {
            "dialogue_id": f"d{number}",
            "turns": [
                {"text": "Hi.", "sentence_ids": [1], "new_speaker": new, "one_speaker": one} for new, one in turns
            ],
        }
        for number, turns in enumerate(given)
    ]
    return pa.Table.from_pylist(rows, schema=DIALOGUES)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge by the boundaries alone."""
    monkeypatch.setattr(certainty, "OF_BOUNDARIES", 1.0)
    monkeypatch.setattr(certainty, "OF_TURNS", 0.0)


def test_certainty_is_the_chance_that_no_seam_is_wrong() -> None:
    """The boundary before the first turn is none of the dialogue's."""
    (row,) = JudgeDialogues()(dialogues([(0.1, 0.9), (0.8, 1.0), (0.7, 0.5)])).to_pylist()
    assert row["certainty"] == pytest.approx(0.9 * 0.8 * 0.7 * 0.5)
    assert row["expected_errors"] == pytest.approx(0.1 + 0.2 + 0.3 + 0.5)


def test_a_dialogue_is_judged_by_itself() -> None:
    """Also beside one that nothing is known of, and one without any doubt."""
    table = JudgeDialogues()(dialogues([(None, 1.0), (1.0, 1.0)], [(0.5, None), (0.5, 1.0)], [(0.9, 1.0), (0.25, 1.0)]))
    assert table["certainty"].to_pylist() == [1.0, None, 0.25]
    assert table["expected_errors"].to_pylist() == [0.0, None, 0.75]
    assert table.schema.equals(DIALOGUES)


def test_a_seam_that_is_surely_wrong_leaves_no_certainty() -> None:
    """The logarithm of 0 is no error."""
    assert JudgeDialogues()(dialogues([(None, 1.0), (0.0, 1.0)]))["certainty"].to_pylist() == [0.0]


def test_a_new_scene_is_an_error_too() -> None:
    """But not before the first turn; what is not told is left out."""
    rows = dialogues([(0.1, 0.9), (0.8, 1.0), (0.7, 0.5)]).to_pylist()
    for turn, same_scene in zip(rows[0]["turns"], [0.1, 0.75, None], strict=True):
        turn["same_scene"] = same_scene
    (row,) = JudgeDialogues()(pa.Table.from_pylist(rows, schema=DIALOGUES)).to_pylist()
    assert row["certainty"] == pytest.approx(0.9 * 0.8 * 0.7 * 0.5 * 0.75)
    assert row["expected_errors"] == pytest.approx(0.1 + 0.2 + 0.3 + 0.5 + 0.25)


def test_faults_of_the_whole_file_lower_the_certainty() -> None:
    """For each fault by the same factor; the expected errors agree with it."""
    rows = dialogues([(None, 0.9)], [(None, 0.9)], [(None, 0.9)]).to_pylist()
    for row, faults in zip(rows, (None, ["one"], ["one", "two"]), strict=True):
        row["reading"] = {"faults": faults}
    table = JudgeDialogues()(pa.Table.from_pylist(rows, schema=DIALOGUES))
    assert table["certainty"].to_pylist() == pytest.approx([0.9, 0.9 * 0.2, 0.9 * 0.04])
    assert table["expected_errors"].to_pylist() == pytest.approx([0.1, 0.1 + math.log(5), 0.1 + 2 * math.log(5)])


def test_dialogues_that_are_not_sure_enough_leave_for_a_reason() -> None:
    """One of which nothing is known stays."""
    table = JudgeDialogues(least=0.5)(dialogues([(None, 0.4)], [(None, 0.5)], [(None, None)]))
    assert table["reason"].to_pylist() == [UNSURE, None, None]


def test_other_errors_count_by_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer dialogues are less sure, of equally sure boundaries."""
    monkeypatch.setattr(certainty, "OF_TURNS", math.log(0.9))
    table = JudgeDialogues()(dialogues([(None, 1.0)] * 2, [(1.0, 1.0)] * 3))
    assert table["certainty"][1].as_py() == pytest.approx(0.9**3)


def test_least_is_a_probability() -> None:
    """As the message says."""
    with pytest.raises(ValueError, match="least"):
        JudgeDialogues(least=1.5)


def test_the_boundary_before_each_turn_is_judged() -> None:
    """By both probabilities; nothing is said of the first turn, and of those of which nothing is known."""
    rows = dialogues([(0.1, 0.9), (0.9, 1.0), (0.9, 0.5), (None, 1.0)], [(None, None), (1.0, 1.0)]).to_pylist()
    rows[0]["turns"][2]["same_scene"] = 0.5
    table = JudgeDialogues()(pa.Table.from_pylist(rows, schema=DIALOGUES))
    first, second = ([turn["certainty"] for turn in turns] for turns in table["turns"].to_pylist())
    assert first[0] is None and first[3] is None and 0.8 < first[1] < 0.95 and 0.4 < first[2] < 0.55
    assert second == [None, 1.0]
    assert table.schema.equals(DIALOGUES)


def test_a_doubtful_boundary_is_cut_where_that_tears_nothing() -> None:
    """After a pause it costs little; where the talk goes on at once, after a question or in a block it stays inside."""

    def lengths(times: list[tuple[float, float]], texts: list[str] | None = None) -> list[int]:
        rows = turns_table(times).to_pylist()
        for turn, new, text in zip(
            rows[0]["turns"], [None, 0.95, 0.95, 0.65, 0.95, 0.95], texts or ["Hm."] * 6, strict=True
        ):
            turn["new_speaker"], turn["text"] = new, text
        cut = SegmentDialogues(price_of_error=4, scenes=None)(pa.Table.from_pylist(rows, schema=TURNS))
        return [len(turns) for turns in cut["turns"].to_pylist()]

    apart = [(0, 1), (2, 3), (4, 5), (9, 10), (11, 12), (13, 14)]
    assert lengths(apart) == [3, 3]
    assert lengths(apart, ["Hm.", "Hm.", "Why?", "Hm.", "Hm.", "Hm."]) == [6]
    assert lengths([(0, 1), (2, 3), (4, 5), (5.5, 6), (7, 8), (9, 10)]) == [6]
    assert lengths([(0, 1), (2, 3), (4, 5), (4, 5), (7, 8), (9, 10)]) == [6]


def test_the_price_of_an_error_is_no_negative_number() -> None:
    """As the message says."""
    with pytest.raises(ValueError, match="price_of_error must be from 0"):
        SegmentDialogues(price_of_error=-1)
