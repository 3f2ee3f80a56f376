"""Whole conversations of films whose speakers are known: what is counted, and the forms in which they are read."""

from pathlib import Path

import pyarrow as pa
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE, SENTENCES, TURN
from evaluation.conversations import dialogues_of, figures, measure, published, steps_of, truth_of
from evaluation.known_speakers import read_known
from training.transcripts.scripts import Speech

SAID = [
    ("ANN", "Where did you put the lantern?"),
    ("BOB", "It hangs behind the kitchen door."),
    ("ANN", "Somebody must have taken it yesterday."),
    ("CAL", "Nobody came near it since Sunday."),
    ("BOB", "Then the weather carried it away."),
    ("ANN", "Lanterns do not simply fly away."),
]


@pytest.fixture
def film() -> pa.Table:
    """Six sentences of a film, a second each with pauses of half a second, and eight before the fifth."""
    starts = [1.5 * number + 8 * (number >= 4) for number in range(len(SAID))]
    columns = {
        "id": range(1, len(SAID) + 1),
        "text": [text for _, text in SAID],
        "start": starts,
        "end": [start + 1 for start in starts],
        "first_block": [0, 1, 2, 3, 4, 4],
        "last_block": [0, 1, 2, 3, 4, 4],
        "dash": [False] * len(SAID),
    }
    facts = {"document_id": "mill", "film": "mill", "language": "en", "source": {"kind": "subtitle"}}
    return pa.table(
        {
            **{field.name: pa.array([facts.get(field.name)], field.type) for field in SENTENCES},
            "sentences": nest([0, len(SAID)], LINE, columns),
        }
    )


SPEECHES = [Speech(name, text, 0, 0) for name, text in SAID]


def dialogues(*turns: list[list[int]]) -> pa.Table:
    """Return dialogues of `mill`, each turn given by the ids of its sentences."""
    flat = [turn for dialogue in turns for turn in dialogue]
    offsets = [0]
    for dialogue in turns:
        offsets.append(offsets[-1] + len(dialogue))
    return pa.table({"document_id": ["mill"] * len(turns), "turns": nest(offsets, TURN, {"sentence_ids": flat})})


def test_exchanges_and_boundaries_are_counted(film: pa.Table) -> None:
    """A long silence is no exchange; a turn of two people loses one; a dialogue that ends in one tears it."""
    truth = truth_of(film, [SPEECHES], scenes=False)
    assert truth.exchange.tolist() == [False, True, True, True, False, True]
    row = figures(published(dialogues([[1], [2]], [[3], [4], [5, 6]]), truth), truth)
    assert row["turns"] == 2.5 and row["kept"] == 1
    assert row["recall"] == 0.5, "1-2 and 3-4 of the four"
    assert row["precision"] == 1, "after a silence another speaker begins, too"
    assert row["cut"] == 1, "both dialogues are torn between 2 and 3"
    assert {length: row["by_length"][length] for length in ("2", "3")} == {
        "2": {"dialogues": 1, "right": 1.0},
        "3": {"dialogues": 1, "right": 0.0},
    }


def test_a_removed_turn_may_lie_between(film: pa.Table) -> None:
    """Without the second, the first and the third are one speaker's; without the third, Bob's and Cal's."""
    truth = truth_of(film, [SPEECHES], scenes=False)
    assert figures(published(dialogues([[1], [3]]), truth), truth)["precision"] == 0
    row = figures(published(dialogues([[2], [4]]), truth), truth)
    assert row["precision"] == 1 and row["recall"] == 0


def test_a_change_of_scene_is_no_exchange(film: pa.Table) -> None:
    """By the numbers of the scenes in the script."""
    speeches = [Speech(one.speaker, one.text, int(place >= 3), 0) for place, one in enumerate(SPEECHES)]
    truth = truth_of(film, [speeches], scenes=True)
    assert truth.exchange.tolist() == [False, True, True, False, False, True]
    assert figures(published(dialogues([[3], [4]]), truth), truth)["precision"] == 0


def test_a_screenplay_is_laid_out_and_its_names_are_hidden(tmp_path: Path) -> None:
    """A sentence a cue; the whole pipeline runs on it."""
    path = tmp_path / "mill.tsv"
    more = ["", "", " I looked.", "", "", " Do they?"]
    rows = [f"0\t{name}\t\t{text}{also}\n" for (name, text), also in zip(SAID, more, strict=True)]
    path.write_text("".join(rows), encoding="utf-8")
    spoken = read_known([path])
    lines = spoken.lines["lines"].to_pylist()[0]
    assert len(lines) == 8 and lines[2]["start"] - lines[1]["end"] == pytest.approx(0.1, abs=1e-6)
    assert not any(line["speaker"] for line in lines)
    (row,) = measure(spoken, ["turns.scorer=rules,both.least_certainty=0"])
    assert row["exchanges"] == 5 and 0 < row["recall"] <= 1 and row["turns"] >= 2


def test_named_subtitles_are_their_own_truth(tmp_path: Path) -> None:
    """The names go to the truth, not to the pipeline."""
    cues = [
        f"{number}\n00:00:{2 * number:02},000 --> 00:00:{2 * number + 1:02},500\n{name}: {text}\n"
        for number, (name, text) in enumerate(SAID, 1)
    ]
    (tmp_path / "mill.srt").write_text("\n".join(cues), encoding="utf-8")
    spoken = read_known([tmp_path])
    assert [speech.speaker for speech in spoken.speeches[0]] == ["ann", "bob", "ann", "cal", "bob", "ann"]
    assert not any(line["speaker"] or "ANN" in line["text"] for line in spoken.lines["lines"].to_pylist()[0])
    steps = steps_of("turns.scorer=rules")
    assert dialogues_of(steps[:2], spoken.lines)["sentences"].to_pylist()[0][0]["text"] == SAID[0][1]


def test_a_folder_without_speakers_is_told(tmp_path: Path) -> None:
    """Subtitles that name nobody."""
    (tmp_path / "mill.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nGood morning.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no film of which it is known who speaks"):
        read_known([tmp_path])
