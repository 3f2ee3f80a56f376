import os
from collections import Counter
from pathlib import Path

import pytest

from training.transcripts.speakers import Cue, read_cues, unify_names

PLAIN = "# ANN\n1.000\nHello there,\nold friend.\n2.500\n# BOB\n3.000\nHello.\n3.500\n3.750\nSit down.\n4.500\n"


def test_a_cue_without_a_name_continues_the_previous_speaker():
    assert read_cues(PLAIN).cues == [
        Cue(1.0, 2.5, ("Hello there,", "old friend."), "ANN"),
        Cue(3.0, 3.5, ("Hello.",), "BOB"),
        Cue(3.75, 4.5, ("Sit down.",), "BOB", named=False),
    ]


@pytest.mark.parametrize(
    ("text", "cues", "problems"),
    [
        ("1.000\nHm.\n2.000\n", [Cue(1, 2, ("Hm.",), None, named=False)], {}),
        ("# ANN\n# BOB\n1.000\nHm.\n2.000\n", [Cue(1, 2, ("Hm.",), "BOB", missed=("ANN",))], {"missed": 1}),
        (
            "# ANN\n1.000\nHm.\n2.000\n1.800\n**LOL**\n2.000\nYes.\n3.000\n",
            [Cue(1, 2, ("Hm.",), "ANN"), Cue(2, 3, ("Yes.",), "ANN", named=False)],
            {},
        ),
        ("# ANN\n1.000\n2.000\n2.500\nYes.\n3.000\n", [Cue(2.5, 3, ("Yes.",), "ANN")], {"empty": 1}),
        ("# ANN\n2.000\nHm.\n1.000\n", [Cue(2, None, ("Hm.",), "ANN")], {"backward": 1}),
        ("# ANN\n2.000\nHm.\n", [Cue(2, None, ("Hm.",), "ANN")], {"no_end": 1}),
        ("Made by me.\n# ANN\n1.000\nHm.\n2.000\nlost\n# BOB\n", [Cue(1, 2, ("Hm.",), "ANN")], {"stray": 2}),
        ("\ufeff# ANN\r\n1.000\r\nAt 7\r\n2.000\r\n", [Cue(1, 2, ("At 7",), "ANN")], {}),
        ("# ANN\n1.000\n7\n2.000\n", [Cue(1, 2, ("7",), "ANN")], {}),
        ("", [], {}),
    ],
)
def test_oddities_are_skipped_and_counted(text, cues, problems):
    track = read_cues(text)
    assert track.cues == cues
    assert track.problems == Counter(problems)


COUNTS = {"HELENA": 400, "OLIVER": 300, "BEN": 200, "GRETA": 90}


@pytest.mark.parametrize(
    ("name", "person"),
    [
        ("Helena:", "HELENA"),
        ("HELENA (off)", "HELENA"),
        ("HELE", "HELENA"),
        ("HEL", "HEL"),  # three letters may be anybody's
        ("HLNA", "HELENA"),
        ("HELNEA", "HELENA"),
        ("OLIVIER", "OLIVER"),
        ("OLIVA", "OLIVA"),
        ("BENN", "BENN"),  # short names are near to many
        ("CRETA", "CRETA"),
        ("DR.MOSS", "DRMOSS"),
        ("ALL", None),
        ("OPENING TITLES", None),
        ("HELENAANDBEN", None),
        ("MAID AND COOK", None),
        ("ROLAND & CO", None),
        ("AMANDA", "AMANDA"),
        ("...", None),
    ],
)
def test_rare_names_are_those_of_main_speakers_only_if_they_are_variants(name, person):
    assert unify_names({**COUNTS, name: 2})[name] == person


def test_two_main_speakers_are_never_one():
    assert unify_names({"MARTIN": 50, "MARTINA": 50}) == {"MARTIN": "MARTIN", "MARTINA": "MARTINA"}


def test_a_variant_of_two_main_speakers_is_neither():
    assert unify_names({"MARTINA": 50, "MARTINE": 50, "MARTIN": 1})["MARTIN"] == "MARTIN"


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real data")
def test_all_cues_of_the_real_files_are_read():
    for path in sorted((Path(os.environ["EDOS_DATA_DIR"]) / "sitcom_speakers").glob("*.merged")):
        text = path.read_text(encoding="utf-8", errors="replace")
        track = read_cues(text)
        assert track.problems["stray"] == 0, path.name
        assert sum(len(cue.lines) for cue in track.cues) > 0.3 * text.count("\n") / 2, path.name
        assert all(cue.end is not None for cue in track.cues), path.name
