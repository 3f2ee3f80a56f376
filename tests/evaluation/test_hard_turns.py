"""The hard turns: their form, what counts as right, and the command that measures labelers on them."""

import json
from collections import Counter

import numpy as np
import pytest

from edos_dataset.labels import LABEL_IDS, LABELS
from evaluation.domain_sets import read_labelled_file
from evaluation.hard_turns import PATTERNS, TURNS, figures_of, main, most_acceptable, read_hard_turns

HARD = read_hard_turns()


def test_there_are_enough_of_each_pattern_and_none_twice():
    assert len(HARD) == 300 and min(Counter(turn.pattern for turn in HARD).values()) >= 30
    assert {turn.pattern for turn in HARD} == set(PATTERNS)
    assert len({turn.name for turn in HARD}) == len({tuple(turn.turns) for turn in HARD}) == 300
    for turn in HARD:
        assert 1 <= len(turn.turns) <= 4 and all(text == text.strip() and text for text in turn.turns)
        assert 1 <= len(turn.labels) == len(set(turn.labels)) <= 6


def test_the_pattern_itself_is_no_way_out():
    """A fallback or a trigger that the pattern is about must not count as right."""
    for label, pattern in (("acknowledging", "acknowledging"), ("neutral", "outburst"), ("questioning", "rhetorical")):
        assert not [turn for turn in HARD if turn.pattern == pattern and LABEL_IDS[label] in turn.labels]


def test_other_scripts_read_the_file():
    held = read_labelled_file(TURNS)
    assert len(held.judged) == 300 and held.dialogues == [turn.turns for turn in HARD]
    assert [set(np.flatnonzero(row)) for row in held.right] == [set(turn.labels) for turn in HARD]


def test_what_is_right():
    expected = np.eye(41, dtype=np.float32)[[turn.labels[0] for turn in HARD]]
    perfect = figures_of(HARD, expected)
    assert perfect["acceptable"]["share"] == perfect["first"]["share"] == perfect["sure"]["share"] == 1
    second = np.eye(41, dtype=np.float32)[[turn.labels[-1] for turn in HARD]] * 0.5
    found = figures_of(HARD, second)
    alone = np.mean([len(turn.labels) == 1 for turn in HARD])
    assert found["acceptable"]["share"] == 1 and found["first"]["share"] == pytest.approx(alone, abs=1e-4)
    assert found["sure"]["turns"] == 0 and {each["share"] for each in found["patterns"].values()} == {1.0}


def test_the_command_measures_a_labeler_beside_a_constant(tmp_path, capsys):
    main(["--models", "fast", "--out", str(tmp_path / "it.json")])
    models = json.loads((tmp_path / "it.json").read_text())["models"]
    constant = LABELS[most_acceptable(HARD)]
    assert list(models) == [f"always {constant}", "fast"] and "word_trigger" in capsys.readouterr().out
    share = np.mean([LABEL_IDS[constant] in turn.labels for turn in HARD])
    assert models[f"always {constant}"]["acceptable"]["share"] == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"dialogue_id": "a", "pattern": "odd", "turns": [{"text": "Hi", "label": "sad"}]}', "unknown pattern 'odd'"),
        ('{"dialogue_id": "a", "pattern": "stance", "turns": [{"text": "Hi", "label": "sed"}]}', "unknown label 'sed'"),
        ('{"dialogue_id": "a", "pattern": "stance", "turns": [{"text": "Hi"}]}', "'label'"),
        ("no", "Expecting value"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, said):
    (tmp_path / "hard.jsonl").write_text(line + "\n")
    with pytest.raises(SystemExit, match=f"hard.jsonl, line 1: .*{said}"):
        main(["--models", "fast", "--turns", str(tmp_path / "hard.jsonl")])
