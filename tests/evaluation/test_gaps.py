"""Silences and scenes of invented films."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.arrays import nest
from edos_dataset.schema import LINE, LINES
from evaluation import gaps
from training.scenes.corpus import FARTHEST
from training.transcripts.scripts import Speech

WORDS = [
    "Nobody told the baker about the missing flour.",
    "He counted seventeen sacks on Tuesday evening.",
    "Somebody opened the cellar window from inside.",
    "Then the parrot saw everything that happened.",
    "My lawyer arrives with the midnight ferry.",
    "Bring him soup and do not mention pirates.",
    "Pirates never worried such a stubborn gentleman.",
    "The harbour master wants his lantern back.",
]


def lines(*documents):
    """Return LINES of documents of (start, end, first block, last block)."""
    rows = [row for document in documents for row in document]
    start, end, first, last = zip(*rows, strict=True) if rows else ([], [], [], [])
    columns = {
        "id": range(1, len(rows) + 1),
        "text": ["a"] * len(rows),
        "start": start,
        "end": end,
        "first_block": first,
        "last_block": last,
    }
    columns |= {"dash": [False] * len(rows), "speaker": [None] * len(rows)}
    offsets = np.cumsum([0, *map(len, documents)])
    facts = {name: pa.nulls(len(documents), LINES.field(name).type) for name in LINES.names if name != "lines"}
    return pa.table({**facts, "lines": nest(offsets, LINE, columns)}, schema=LINES)


def sentences(times, texts):
    start, end = zip(*times, strict=True)
    columns = {
        "id": range(len(texts)),
        "text": texts,
        "start": start,
        "end": end,
        "first_block": range(len(texts)),
        "last_block": range(len(texts)),
    }
    columns |= {"dash": [False] * len(texts), "speaker": [None] * len(texts)}
    return nest([0, len(texts)], LINE, columns).flatten()


def speeches(*scenes):
    return [Speech("Ann", text, scene, 1) for text, scene in zip(WORDS, scenes, strict=True)]


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], []),
        ([[(0, 1, 0, 0)]], []),
        ([[(0, 1, 0, 0), (0, 1, 0, 0), (3, 4, 1, 1)]], [2]),  # two lines of one block have no gap
        (
            [[(0, 1, 0, 0), (0.5, 4, 1, 2), (4, 5, 2, 3), (9, 10, 4, 4)]],
            [-0.5, 4],
        ),  # a sentence begins in the block in which the one before ended
        ([[(0, 1, 0, 0), (2, None, 1, 1), (3, 4, 2, 2)]], [1, None]),
        ([[(0, 1, 0, 0)], [], [(8, 9, 1, 1), (9, 11, 2, 2)], []], [0]),  # not from film to film
    ],
)
def test_gaps_are_between_adjacent_blocks_of_a_film(documents, expected):
    assert np.array_equal(gaps.block_gaps(lines(*documents)), np.array(expected, float), equal_nan=True)


def test_every_gap_is_counted_once():
    row = gaps.describe_gaps(np.array([-1, 0, 0.1, 0.25, 19.9, 20, 25, np.nan]))
    assert row["counts"][:2] == [2, 1] and row["counts"][-1] == 2
    assert row["overlaps"] + sum(row["counts"]) + row["longer"] + row["unknown"] == row["gaps"] == 8
    assert row["share_above"]["5"] == round(3 / 7, 4)
    assert gaps.describe_gaps(np.zeros(0))["quantiles"] == {}


def test_silences_stand_against_the_scenes_of_the_script():
    texts = [*WORDS[:4], "Previously unheard nonsense!", *WORDS[4:]]
    times = [(0, 1), (2, 3), (3.5, 4), (9, 10), (10, 11), (19, 20), (20, 21), (None, None), (30, 31)]
    found = gaps.measure_film(sentences(times, texts), speeches(0, 0, 0, 0, 1, 1, 1, 2))
    assert found.at_breaks.tolist() == [8]  # of the two around the sentence that no scene has
    assert found.within.tolist() == [1, 0.5, 5, 0]
    assert found.unplaced == 1  # no time is known at the second break


def test_breaks_far_from_any_known_sentence_are_left_out():
    strangers = [f"Zz{number} qq{number} xx{number}." for number in range(FARTHEST)]
    texts = [*WORDS[:4], *strangers, *WORDS[4:]]
    found = gaps.measure_film(
        sentences([(at * 2, at * 2 + 1) for at in range(len(texts))], texts), speeches(0, 0, 0, 0, 1, 1, 1, 1)
    )
    assert (len(found.at_breaks), len(found.within), found.unplaced) == (0, 6, 1)


def test_thresholds_are_judged():
    films = [
        gaps.Silences(np.array([10.0, 3.0]), np.array([1.0, 1.0, 6.0]), 1),
        gaps.Silences(np.array([4.0]), np.array([5.0]), 0),
    ]
    result = gaps.judge_thresholds(films, [2, 5, 20])
    assert [result[name] for name in ("films", "scene_breaks", "unplaced_breaks", "seams_within_scenes")] == [
        2,
        3,
        1,
        4,
    ]
    assert result["thresholds"] == [
        {"seconds": 2, "precision": 0.6, "recall": 1, "f1": 0.75, "cuts_a_film": 2.5},
        {"seconds": 5, "precision": 0.5, "recall": 0.3333, "f1": 0.4, "cuts_a_film": 1},
        {"seconds": 20, "precision": 1, "recall": 0, "f1": 0, "cuts_a_film": 0},
    ]
    assert result["best"]["seconds"] == 2
    assert result["best_interval"] == [2, 2]


@pytest.fixture
def films(tmp_path):
    """Return a folder with a film, one without a script, and the scripts of the first and of a third one."""
    spoken = [*WORDS, *(word.replace("the", "a purple") for word in WORDS)]
    starts = np.cumsum([9 if number % 4 == 0 else 3 for number in range(len(spoken))])
    blocks = [
        f"{n + 1}\n00:{at // 60:02d}:{at % 60:02d},000 --> 00:{(at + 2) // 60:02d}:{(at + 2) % 60:02d},000\n{text}\n"
        for n, (at, text) in enumerate(zip(starts, spoken, strict=True))
    ]
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "film.srt").write_text("\n".join(blocks))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "other.srt").write_text(
        "1\n00:00:01,000 --> 00:00:02,000\nGood morning to all of you!\n\n2\n00:00:09,000 --> 00:00:10,000\nHello!\n"
    )
    (tmp_path / "scripts").mkdir()
    parts = [
        f"Scene {number // 4 + 1} - a cellar.\n\n" * (number % 4 == 0) + f"{'Ann' if number % 2 else 'Bob'}: {text}"
        for number, text in enumerate(spoken)
    ]
    (tmp_path / "scripts" / "7.txt").write_text("\n\n".join(parts))
    (tmp_path / "scripts" / "8.txt").write_text(
        "\n\n".join(f"Cleo: Entirely different words, number {number}." for number in range(20))
    )
    (tmp_path / "scripts" / "readme.txt").write_text("No speech in here")
    return tmp_path


@pytest.mark.slow
def test_command(films, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    outputs = []
    for out in ("first", "second"):
        arguments = [films / "one", films / "other", "--scripts", films / "scripts", "--out", films / out]
        monkeypatch.setattr(sys, "argv", ["gaps.py", *map(str, arguments)])
        gaps.main()
        outputs.append({path.name: path.read_bytes() for path in (films / out).iterdir()})
    assert outputs[0] == outputs[1]
    assert sorted(outputs[0]) == ["blocks.png", "cuts.png", "gaps.json"]
    result = json.loads(outputs[0]["gaps.json"])
    assert {name: row["gaps"] for name, row in result["sources"].items()} == {"one": 15, "other": 1}
    at_five = result["cuts"]["thresholds"][gaps.CUTS.index(5)]
    assert (result["cuts"]["films"], result["cuts"]["scene_breaks"], at_five["f1"]) == (1, 3, 1)
    lengths = [row["raw_turns_per_dialogue"] for row in result["sources"]["one"]["dialogues"]]
    assert lengths[0] < lengths[-1]
    assert "best: {'seconds': 1" in capsys.readouterr().out


def test_no_film_has_a_script(films, monkeypatch):
    arguments = [films / "other", "--scripts", films / "scripts", "--out", films / "out"]
    monkeypatch.setattr(sys, "argv", ["gaps.py", *map(str, arguments)])
    with pytest.raises(SystemExit, match="none of the 1 films shares its words with any of the 2 scripts"):
        gaps.main()
    assert not (films / "out").exists()
