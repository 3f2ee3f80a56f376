"""Files whose times or sentences were lost, told from sound ones by relations that hold over the whole file."""

import random
import re
from collections.abc import Callable, Sequence

import pytest

from edos_dataset.sources.subtitles.faults import GARBLED_TIMES, LONG_CUES, NO_PUNCTUATION, faults_of
from edos_dataset.sources.subtitles.text import parse_subtitles

Cue = tuple[float, float, str]

DRAWN = random.Random(7)
WORDS = ("the", "boat", "came", "in", "late", "that", "evening", "and", "nobody", "knew", "where", "it", "had", "been")


def draw(number: int) -> list[Cue]:
    """Return cues that last as long as they take to say, roughly."""
    cues, start = [], 2.0
    for _ in range(number):
        words = DRAWN.choices(WORDS, k=DRAWN.randint(1, 12))
        text = " ".join(words).capitalize() + DRAWN.choice(".?!")
        end = start + 0.7 + len(text) / 15 * DRAWN.uniform(0.7, 1.3)
        cues.append((start, end, text))
        start = end + DRAWN.uniform(0.1, 2)
    return cues


SOUND = draw(200)


def faults(cues: Sequence[Cue], language: str = "en") -> list[str]:
    def stamp(seconds: float) -> str:
        whole = round(seconds * 1000)
        return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02},{whole % 1000:03}"

    text = "".join(f"{n}\n{stamp(start)} --> {stamp(end)}\n{said}\n\n" for n, (start, end, said) in enumerate(cues, 1))
    return faults_of(parse_subtitles(text.encode()), language)


def shuffled(cues: list[Cue]) -> list[Cue]:
    times = [(start, end) for start, end, _ in cues]
    random.Random(1).shuffle(times)
    return [(*time, said) for time, (_, _, said) in zip(times, cues, strict=True)]


def bare(cues: list[Cue]) -> list[Cue]:
    return [(start, end, re.sub(r"[^\w ]", "", said).lower()) for start, end, said in cues]


def joined(cues: list[Cue], number: int) -> list[Cue]:
    parts = [cues[at : at + number] for at in range(0, len(cues), number)]
    return [(part[0][0], part[-1][1], " ".join(said for _, _, said in part)) for part in parts]


@pytest.mark.parametrize(
    ("spoil", "wanted"),
    [
        (lambda cues: cues, []),
        (lambda cues: cues[:11], []),  # too few to tell
        (shuffled, [GARBLED_TIMES]),
        (lambda cues: [(10, 12, said) for _, _, said in cues], [GARBLED_TIMES]),
        (lambda cues: [(0, 0, said) for _, _, said in cues], [GARBLED_TIMES]),
        (lambda cues: [(n, n + 1, said) for n, (_, _, said) in enumerate(cues)], [GARBLED_TIMES]),
        (bare, [NO_PUNCTUATION]),
        (lambda cues: bare(shuffled(cues)), [GARBLED_TIMES, NO_PUNCTUATION]),
        (lambda cues: joined(cues, len(cues)), [LONG_CUES]),
        (lambda cues: joined(cues, 20), [LONG_CUES]),
        (lambda cues: joined(cues, 2), []),
    ],
)
def test_what_was_lost_is_told(spoil: Callable[[list[Cue]], list[Cue]], wanted: list[str]) -> None:
    assert faults(spoil(SOUND)) == wanted


def test_languages_without_marks_are_not_faulty() -> None:
    assert faults(bare(SOUND), "zh_cn") == []
    assert faults(bare(SOUND), "de") == [NO_PUNCTUATION]
