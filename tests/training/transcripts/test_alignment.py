import os
from pathlib import Path

import numpy as np
import pytest

from edos_dataset.arrays import flags, unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms
from training.transcripts.alignment import Alignment, align, boundary_labels, find_scripts
from training.transcripts.scripts import read_script

SPEECHES = [
    "The lamp went out again last night, doctor, and nobody wrote it down.",  # 0 Ann
    "I was going to write it down.",  # 1 Bob
    "Yes.",  # 2 Ann
    "But then the boat came in with twenty-one barrels of herring.",  # 3 Bob
    "Herring! At this time of the year?",  # 4 Ann
    "At any time of the year. Do you want one?",  # 5 Ann, after a direction
    "The quay is empty this morning.",  # 6 Ann, next scene
    "What?",  # 7 Carl
    "There is not one gull to be seen anywhere.",  # 8 Ann
]
SPEAKERS = ["Ann", "Bob", "Ann", "Bob", "Ann", "Ann", "Ann", "Carl", "Ann"]
SCENES = [0, 0, 0, 0, 0, 0, 1, 1, 1]


def _aligned(*speeches: tuple[int, int]) -> Alignment:
    first, last = (np.array(column, np.int32) for column in zip(*speeches, strict=True))
    sure = np.where(first >= 0, 0.9, 0).astype(np.float32)
    return Alignment(first, last, sure, sure, sure)


@pytest.mark.parametrize(
    ("sentences", "begins", "ends"),
    [
        pytest.param(
            [
                "The lamp went out again last night, Dr.",
                "Nobody wrote it down.",
                "I was gonna write it down!",
                "Yes.",
                "But then the boat came in, 21 barrels of herring.",
            ],
            [0, 0, 1, 2, 3],
            [0, 0, 1, 2, 3],
            id="spelling, a word less",
        ),
        pytest.param(
            ["The lamp went out again last night.", "Herring, at this time of the year?", "At any time of the year."],
            [0, 4, 5],
            [0, 4, 5],
            id="a cut",
        ),
        pytest.param(
            [
                "With twenty-one barrels of herring.",
                "(thunder rolls on for quite a while)",
                "Herring!",
                "At this time of the year?",
            ],
            [3, -1, 4, 4],
            [3, -1, 4, 4],
            id="a sentence of which the script knows nothing",
        ),
        pytest.param(
            ["Came in with twenty-one barrels of herring, Herring, at this time of the year?"],
            [3],
            [4],
            id="a sentence of two speeches",
        ),
        pytest.param(["", "..."], [-1, -1], [-1, -1], id="no words"),
        pytest.param([], [], [], id="nothing"),
    ],
)
def test_align(sentences: list[str], begins: list[int], ends: list[int]) -> None:
    alignment = align(sentences, SPEECHES)
    assert alignment.speech.tolist() == begins
    assert alignment.last_speech.tolist() == ends
    assert alignment.speech.dtype == alignment.last_speech.dtype == np.int32
    for sure in (alignment.confidence, alignment.opening, alignment.closing):
        assert sure.dtype == np.float32
        assert ((sure >= 0) & (sure <= 1)).all()
        assert ((sure > 0) == (alignment.speech >= 0)).all()


def test_common_sentences_of_another_film_are_not_aligned() -> None:
    ours, theirs = ([*(f"{word}{number}" for number in range(40)), "Yes.", "What?"] * 3 for word in ("here", "there"))
    assert (align(ours, theirs).speech == -1).all()


def test_no_speeches() -> None:
    assert align(["Yes."], []).speech.tolist() == [-1]


def test_confidence_tells_a_held_match_from_a_chance_one() -> None:
    held = align(["I was going to write it down.", "Yes.", "But then the boat came in."], SPEECHES)
    loose = align(["It went on and on with nobody there.", "Yes.", "The boat."], SPEECHES)
    assert held.confidence.min() > 0.85
    assert loose.confidence.max() < 0.7


def test_confidence_falls_with_words_that_are_not_there() -> None:
    whole, half = (align([f"Nobody wrote it down.{end}"], SPEECHES) for end in ("", " Not Ann, not Bob, not even me."))
    assert half.confidence[0] < whole.confidence[0]
    assert half.closing[0] < whole.closing[0]
    assert half.opening[0] == pytest.approx(whole.opening[0], abs=0.1)


def test_a_sentence_of_two_speeches_opens_and_closes_each_by_its_own_words() -> None:
    alignment = align(["What went out again last night, doctor? Who knows, who knows. Going to."], SPEECHES)
    assert alignment.speech.tolist() == [0]
    assert alignment.last_speech.tolist() == [1]
    assert alignment.closing[0] < alignment.opening[0]


def test_labels_of_seams() -> None:
    sentences = [
        "Nobody wrote it down.",
        "I was going to write it down.",
        "Yes.",
        "But then the boat came in.",
        "Thunder.",
        "At this time?",
        "At any time of the year.",
    ]
    sentences += ["Do you want one?", "The quay is empty this morning.", "There is not one gull to be seen."]
    same, confidence = boundary_labels(align(sentences, SPEECHES), SPEAKERS, SCENES)
    assert same.tolist() == [-1, 0, 0, 0, -1, -1, 1, 1, 0, -1]
    assert same.dtype == np.int8
    assert confidence.dtype == np.float32
    assert ((confidence > 0) == (same >= 0)).all()


@pytest.mark.parametrize(
    ("before", "after", "speakers", "scenes", "label"),
    [
        pytest.param((0, 0), (0, 0), ["Ann"], None, 1, id="one speech"),
        pytest.param((0, 0), (1, 1), ["Ann", "Ann"], None, 1, id="two of one speaker"),
        pytest.param((0, 0), (1, 1), ["Ann", "Ann"], [0, 1], 0, id="and a new scene"),
        pytest.param((0, 0), (1, 1), ["Ann", "Bob"], [0, 0], 0, id="two speakers"),
        pytest.param((0, 0), (2, 2), ["Ann", "Bob", "Ann"], None, -1, id="one who may have been cut"),
        pytest.param((0, 0), (2, 2), ["Ann", "Bob", "Ann"], [0, 0, 1], 0, id="cut, and a new scene"),
        pytest.param((0, 0), (2, 2), ["Ann", "Bob", "Carl"], None, 0, id="cut between others"),
        pytest.param((0, 1), (1, 1), ["Ann", "Bob"], None, 1, id="a sentence that two speak"),
        pytest.param((0, 0), (0, 1), ["Ann", "Bob"], None, 1, id="before a sentence that two speak"),
        pytest.param((-1, -1), (0, 0), ["Ann"], None, -1, id="unaligned before"),
        pytest.param((0, 0), (-1, -1), ["Ann"], None, -1, id="unaligned after"),
        pytest.param((0, 0), (1, 1), ["Ann", "Ann & Bob"], None, 0, id="a joint name"),
    ],
)
def test_label(
    before: tuple[int, int], after: tuple[int, int], speakers: list[str], scenes: list[int] | None, label: int
) -> None:
    same, confidence = boundary_labels(_aligned(before, after), speakers, scenes)
    assert same.tolist() == [-1, label]
    assert confidence.tolist() == pytest.approx([0, 0.9 if label >= 0 else 0])


@pytest.mark.parametrize(
    ("speakers", "scenes", "message"),
    [(["Ann"], None, "speech 1, but there are 1 speakers"), (["Ann", "Bob"], [0], "2 speakers and 1 scenes")],
)
def test_labels_need_every_speaker(speakers: list[str], scenes: list[int] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        boundary_labels(_aligned((0, 0), (1, 1)), speakers, scenes)


def test_labels_of_nothing() -> None:
    same, confidence = boundary_labels(align([], []), [])
    assert len(same) == len(confidence) == 0


def test_scripts_are_found_by_their_phrases() -> None:
    other = ["A horse came down the hill.", "Nobody had seen it before, and the smith said so."]
    third = ["The mill stood still.", "I was going to write it down."]
    films = [
        ["Nobody had seen it before, and the smith said no."],
        ["The lamp went out again last night.", "I was going to."],
        ["Quite another film about bees."],
        [],
    ]
    chosen, shared = find_scripts(films, [SPEECHES, other, third])
    assert chosen.tolist()[:2] == [1, 0]
    assert shared[:2].min() > 0.5
    assert shared[2:].tolist() == [0, 0]


def test_no_script_to_choose_from() -> None:
    with pytest.raises(ValueError, match="no script"):
        find_scripts([["Yes."]], [])


def test_a_film_of_ten_thousand_sentences_cut_and_misheard() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(3_000)])
    texts = [" ".join(words[rng.zipf(1.3, rng.integers(1, 12)) % 3_000]) for _ in range(10_000)]
    speeches = [" ".join(texts[start : start + 2]) for start in range(0, len(texts), 2)]
    film = [
        " ".join(word if rng.random() > 0.15 else "unheard" for word in text.split())
        for text in texts[:4_000] + texts[6_000:]
    ]
    truth = np.r_[np.arange(4_000), np.arange(6_000, 10_000)] // 2
    alignment = align(film, speeches)
    known = alignment.speech >= 0
    assert known.mean() > 0.9
    assert (alignment.speech == truth)[known].mean() > 0.98
    sure = known & (alignment.opening >= 0.9)
    assert sure.mean() > 0.6
    assert (alignment.speech == truth)[sure].mean() > 0.998


def test_episodes_with_scripts() -> None:
    folder = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere")) / "frasier"
    if not folder.is_dir():
        pytest.skip("EDOS_DATA_DIR is not set")
    scripts = [read_script(decode(path.read_bytes())[0]) for path in sorted((folder / "scripts").glob("01*.txt"))]
    table = find_films([folder / "subtitles" / "01"], "en").films
    for stage in (ReadFilms(), CleanLines(), SplitSentences()):
        table, _ = split_rejects(stage(table))
    flat, offsets = unnest(table, "sentences")
    films = [flat.slice(start, stop - start) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    chosen, shared = find_scripts(
        [film.field("text").to_pylist() for film in films], [[speech.text for speech in script] for script in scripts]
    )
    assert shared.min() > 0.3
    sure, dashes = [], []
    for film, script in zip(films, (scripts[index] for index in chosen), strict=True):
        alignment = align(film.field("text").to_pylist(), [speech.text for speech in script])
        same, confidence = boundary_labels(
            alignment, [speech.speaker for speech in script], [speech.scene for speech in script]
        )
        first, last = (film.field(name).to_numpy() for name in ("first_block", "last_block"))
        parted = np.r_[False, first[1:] == last[:-1]] & flags(film.field("dash"))
        sure.append((confidence >= 0.5).mean())
        dashes += same[parted & (confidence >= 0.5)].tolist()
    assert min(sure) > 0.75
    assert np.mean(sure) > 0.85
    assert np.mean(np.array(dashes) == 0) > 0.97
