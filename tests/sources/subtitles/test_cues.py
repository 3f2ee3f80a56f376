"""Blocks in the order of their times, each text once: rolling, growing, highlighted, repeated and joined captions."""

import numpy as np
import pytest

from edos_dataset.sources.subtitles.text import parse_subtitles

Shown = tuple[float, float, str]


def srt(*blocks: Shown) -> str:
    return "".join(
        f"{number}\n{stamp(start)} --> {stamp(end)}\n{text}\n\n" for number, (start, end, text) in enumerate(blocks, 1)
    )


def stamp(seconds: float) -> str:
    whole = round(seconds * 1000)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02},{whole % 1000:03}"


def read(text: str | bytes) -> list[tuple[float, str]]:
    parsed = parse_subtitles(text if isinstance(text, bytes) else text.encode())
    return list(zip(parsed.starts.tolist(), parsed.texts, strict=True))


LINES = [
    "You are late again.", "The bus broke down.", "You could have called.", "My phone was dead.", "Was it really?",
    "I swear it was.", "Then come and eat.", "Is there any soup?", "There was some soup.", "I am so sorry.",
]  # fmt: skip
SCENE = [(2.0 * place, 2.0 * place + 1.8, line) for place, line in enumerate(LINES)]
ONCE = [(2.0 * place, line) for place, line in enumerate(LINES)]


@pytest.mark.parametrize("height", [2, 3])
@pytest.mark.parametrize("gap", [0, 0.03, -0.005])
def test_a_line_that_rolls_up_is_read_when_it_appears(height: int, gap: float) -> None:
    blocks = [
        (2.0 * place, 2.0 * place + 2 - gap, "\n".join(LINES[max(place - height + 1, 0) : place + 1]))
        for place in range(len(LINES))
    ]
    assert read(srt(*blocks)) == ONCE


def test_a_rolled_line_is_not_spoken_until_the_next_one_ends_a_silence() -> None:
    blocks = [
        (
            2.0 * place + (20 if place > 4 else 0),
            2.0 * place + (22 if place >= 4 else 2),
            "\n".join(LINES[max(place - 1, 0) : place + 1]),
        )
        for place in range(len(LINES))
    ]
    parsed = parse_subtitles(srt(*blocks).encode())
    assert parsed.texts == LINES
    assert parsed.ends[3] == 8 and 8 + 2 < parsed.ends[4] < 13 and parsed.starts[5] == 30


def test_the_screen_may_be_empty_between_rolling_captions() -> None:
    blocks: list[Shown] = []
    for place, line in enumerate(LINES):
        words = line.split()
        for number in range(len(words)):
            said = " ".join(words[: number + 1])
            start, end = (3 * place + 2 * each / len(words) for each in (number, number + 1))
            blocks.append((start, end, f"{LINES[place - 1]}\n{said}" if place else said))
    assert [line for _, line in read(srt(*blocks))] == LINES


def test_cues_that_were_cut_into_words_are_whole_again() -> None:
    """Two sentences of a cue are said without a pause, where other words follow after one."""
    blocks = []
    for place in range(0, len(LINES), 2):
        words = f"{LINES[place]} {LINES[place + 1]}".split()
        step = 3.5 / len(words)
        blocks += [(4 * place + n * step, 4 * place + (n + 1) * step, word) for n, word in enumerate(words)]
    assert read(srt(*blocks)) == [(4.0 * place, f"{LINES[place]} {LINES[place + 1]}") for place in range(0, 10, 2)]


def test_words_painted_on_one_by_one_are_a_line() -> None:
    blocks = []
    for place, line in enumerate(LINES):
        words = line.split()
        step = 2 / len(words)
        blocks += [
            (2 * place + number * step, 2 * place + (number + 1) * step, " ".join(words[: number + 1]))
            for number in range(len(words))
        ]
    assert read(srt(*blocks)) == ONCE


@pytest.mark.parametrize("mark", ["<u>{}</u>", '<font color="#00ff00">{}</font>', "<b>{}</b>", "{{\\b1}}{}{{\\b0}}"])
def test_a_line_with_one_word_after_the_other_highlighted_is_read_once(mark: str) -> None:
    blocks = []
    for place, line in enumerate(LINES[:3]):
        words = line.split()
        for number, word in enumerate(words):
            shown = [*words[:number], mark.format(word), *words[number + 1 :]]
            start = 2 * place + number * 0.4
            blocks.append((start, start + 0.4, " ".join(shown)))
    assert [start for start, _ in read(srt(*blocks))] == [0, 2, 4]


def test_captions_of_youtube() -> None:
    text = "WEBVTT\nKind: captions\n\n"
    for place, line in enumerate(LINES):
        before = LINES[place - 1] if place else " "
        first, *rest = line.split()
        timed = first + "".join(f"<00:00:{2 * place + 1:02}.000><c> {word}</c>" for word in rest)
        text += f"00:00:{2 * place:02}.000 --> 00:00:{2 * place + 1:02}.990\n{before}\n{timed}\n\n"
        text += f"00:00:{2 * place + 1:02}.990 --> 00:00:{2 * place + 2:02}.000\n{line}\n \n\n"
    found = read(text)
    assert [start for start, _ in found] == [start for start, _ in ONCE]
    assert [line.replace("<c>", "").replace("</c>", "") for _, line in found] == LINES


def test_a_word_a_block_becomes_sentences() -> None:
    words = [(place, word) for place, line in enumerate(LINES) for word in line.split()]
    blocks = [(0.3 * number, 0.3 * number + 0.3, word) for number, (_, word) in enumerate(words)]
    assert [line for _, line in read(srt(*blocks))] == LINES


@pytest.mark.parametrize("number", [2, 3, 4])
def test_blocks_that_each_segment_of_a_stream_repeats_are_read_once(number: int) -> None:
    assert read(srt(*(block for block in SCENE for _ in range(number)))) == ONCE


def test_a_line_that_segments_cut_in_parts_is_read_once() -> None:
    parts = [(start + part * 0.45, start + (part + 1) * 0.45, line) for start, _, line in SCENE for part in range(4)]
    assert read(srt(*parts)) == ONCE


def test_people_repeat_each_other() -> None:
    blocks = [(1, 2, "Happy New Year!"), (2, 3, "Happy New Year!"), (3, 4, "No."), (4.2, 5, "No.\nNever.")]
    assert [line for _, line in read(srt(*blocks))] == ["Happy New Year!", "Happy New Year!", "No.", "No.", "Never."]


@pytest.mark.parametrize("order", [[5, 0, 1, 2, 3, 4, 6, 7, 8, 9], [0, 2, 4, 6, 8, 1, 3, 5, 7, 9], [*range(10)][::-1]])
def test_blocks_are_put_in_the_order_of_their_times(order: list[int]) -> None:
    assert read(srt(*(SCENE[place] for place in order))) == ONCE


def test_a_block_with_a_wrong_time_stays() -> None:
    many = [(3.0 * place, 3.0 * place + 1, f"Line {place} is spoken.") for place in range(200)]
    many[150] = (31.2, 31.9, many[150][2])
    found = read(srt(*many))
    assert [line for _, line in found] == [line for _, _, line in many]
    assert np.isnan(found[150][0])


@pytest.mark.parametrize(("start", "end"), [(0, 0), (5, 4), (359_998, 359_999.9)])
def test_a_block_without_a_possible_time_stays(start: float, end: float) -> None:
    some = [(3.0 * place, 3.0 * place + 1, f"Line {place} is spoken.") for place in range(60)]
    some[20] = (start, end, some[20][2])
    some[40] = (0, 0, some[40][2])
    assert [line for _, line in read(srt(*some))] == [line for _, _, line in some]


@pytest.mark.parametrize("joint", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_second_disc_goes_on_behind_the_first(joint: bytes, encoding: str) -> None:
    earlier = [(start - 10, end - 10, line) for start, end, line in SCENE[5:]]
    second = srt(*earlier).encode(encoding) if encoding == "utf-16" else joint + srt(*earlier).encode()
    found = read(srt(*SCENE[:5]).rstrip("\n").encode() + b"\n" * (2 if not joint else 1) + second)
    assert [line for _, line in found] == LINES
    assert [start for start, _ in found[:5]] == [0, 2, 4, 6, 8]
    assert found[5][0] > found[4][0] + 30
    assert np.diff([start for start, _ in found[5:]]).tolist() == pytest.approx([2, 2, 2, 2])


@pytest.mark.parametrize(
    ("times", "starts"),
    [
        (["-00:00:05,500 --> -00:00:04,000", "00:00:02,000 --> 00:00:03,000"], [-5.5, 2]),
        (["0-1:59:52,300 --> 0-1:59:53,000", "00:00:02,000 --> 00:00:03,000"], [-7.7, 2]),
        (["-00:00:01,000 --> 00:00:01,000", "00:00:02,000 --> 00:00:03,000"], [-1, 2]),
        (["99:59:58,000 --> 99:59:59,000", "100:00:02,000 --> 100:00:03,000"], [359_998, 360_002]),
        (["23:59:58,000 --> 00:00:01,000", "00:00:02,000 --> 00:00:03,000"], [86_398, 86_402]),
    ],
)
def test_odd_times(times: list[str], starts: list[float]) -> None:
    parsed = parse_subtitles(f"1\n{times[0]}\nOne.\n\n2\n{times[1]}\nTwo.\n".encode())
    assert parsed.starts.tolist() == starts
    assert parsed.bad_times == 0
    assert parsed.texts == ["One.", "Two."]


def test_two_speakers_may_say_the_same():
    first, second = (
        "- I am Martin Crane.\n- How do you do, my friend?",
        "- How do you do, my friend?\n- Nice to meet you.",
    )
    text = f"1\n00:14:19,179 --> 00:14:22,862\n{first}\n\n2\n00:14:22,863 --> 00:14:24,286\n{second}\n"
    assert parse_subtitles(text.encode()).texts.count("- How do you do, my friend?") == 2


def test_a_colon_before_a_time_is_no_hour() -> None:
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nOne.\n\n"
        "Anna d:00:04.000 --> 00:00:05.900\nTwo.\n\n:00:08.000 --> 00:09.000\nThree."
    )
    assert read(text)[-1] == (8.0, "Three.")
