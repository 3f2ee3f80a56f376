import time

import numpy as np
import pytest

from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.subtitles.text import parse_subtitles

NAN = np.nan
ASS = """[Script Info]
Title: x
[V4+ Styles]
Format: Name, PrimaryColour
Style: broken,1
[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


def read(text: str | bytes) -> Parsed:
    return parse_subtitles(text if isinstance(text, bytes) else text.encode())


def lines(parsed: Parsed) -> list[tuple[str, float, float, int]]:
    return [
        (t, float(s), float(e), int(b))
        for t, s, e, b in zip(parsed.texts, parsed.starts, parsed.ends, parsed.first_blocks, strict=True)
    ]


def event(start: str, text: str, kind: str = "Dialogue", name: str = "", layer: int = 0) -> str:
    return f"{kind}: {layer},0:00:{start},0:00:59.00,Default,{name},0,0,0,,{text}\n"


CASES: dict[str, tuple[str, list[tuple[str, float, float, int]]]] = {
    "two lines of a block": (
        "1\n00:00:01,000 --> 00:00:02,500\nHello,\nyou.\n\n2\n00:00:03,000 --> 00:00:04,000\nHi.\n",
        [("Hello,", 1, 2.5, 0), ("you.", 1, 2.5, 0), ("Hi.", 3, 4, 1)],
    ),
    "carriage returns": (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nOne\r\ntwo\r\n\r\n",
        [("One", 1, 2, 0), ("two", 1, 2, 0)],
    ),
    "old Mac line ends": (
        "1\r00:00:01,000 --> 00:00:02,000\rOne\r\r2\r00:00:03,000 --> 00:00:04,000\rTwo",
        [("One", 1, 2, 0), ("Two", 3, 4, 1)],
    ),
    "no numbers, no blank lines": (
        "00:00:01,000 --> 00:00:02,000\nOne\n00:00:03,000-->00:00:04,000 X1:0 X2:9\nTwo",
        [("One", 1, 2, 0), ("Two", 3, 4, 1)],
    ),
    "another arrow": ("00:00:01,000 -> 00:00:02,000\nOne\n", [("One", 1, 2, 0)]),
    "dots and short numbers": ("1\n0:00:01.5 --> 0:00:2.25\nOne\n", [("One", 1.5, 2.25, 0)]),
    "no milliseconds": (
        "1\n00:00:01 --> 00:00:02\nOne\n\n2\n00:00:03 --> 00:00:04\nTwo\n",
        [("One", 1, 2, 0), ("Two", 3, 4, 1)],
    ),
    "a broken time between two": (
        "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:AA,000 --> 00:00:04,000\nTwo\n\n3\n00:00:05,000 --> "
        "00:00:06,000\nThree\n",
        [("One", 1, 2, 0), ("Two", NAN, 4, 1), ("Three", 5, 6, 2)],
    ),
    "a broken time at first": (
        "1\nxx --> yy\nOne\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n",
        [("One", NAN, NAN, 0), ("Two", 3, 4, 1)],
    ),
    "an arrow without an end": ("1\n00:00:01,000 --> \nOne\n", [("One", 1, NAN, 0)]),
    "a number that is said": (
        "1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:03,000 --> 00:00:04,000\nWhat?\n",
        [("42", 1, 2, 0), ("What?", 3, 4, 1)],
    ),
    "a blank line in a block": (
        "1\n00:00:01,000 --> 00:00:02,000\nOne\n  \n  two\n\n2\n00:00:03,000 --> 00:00:04,000\nx\n",
        [("One", 1, 2, 0), ("two", 1, 2, 0), ("x", 3, 4, 1)],
    ),
    "an empty block": (
        "1\n00:00:01,000 --> 00:00:02,000\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n",
        [("Two", 3, 4, 0)],
    ),
    "markup is left": (
        '1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>One</i> &amp; <font color="#fff">two</font>\n',
        [('{\\an8}<i>One</i> &amp; <font color="#fff">two</font>', 1, 2, 0)],
    ),
    "marks and control characters": ("\ufeff1\n00:00:01,000 --> 00:00:02,000\n\ufeffOne\x08\x1a\n", [("One", 1, 2, 0)]),
    "an end before its start": ("1\n00:00:05,000 --> 00:00:04,000\nOne\n", [("One", 5, NAN, 0)]),
    "a block out of order": (
        "00:00:10,000 --> 00:00:11,000\nOne\n00:00:20,000 --> 00:00:21,000\nTwo\n00:00:05,000 --> "
        "00:00:06,000\nLate\n00:00:30,000 --> 00:00:31,000\nThree\n",
        [("Late", 5, 6, 0), ("One", 10, 11, 1), ("Two", 20, 21, 2), ("Three", 30, 31, 3)],
    ),
    "WebVTT": (
        "WEBVTT - title\nKind: captions\n\nNOTE a comment\nof two lines\n\nSTYLE\n::cue {}\n\nREGION\nid:x\n\n"
        "intro\n00:01.000 --> 00:03.000 align:start\nHi <b>Bob</b>\n\n"
        "id 2\n01:00:04.000 --> 01:00:05.000\nHey\n\nNOTE last\n",
        [("Hi <b>Bob</b>", 1, 3, 0), ("Hey", 3604, 3605, 1)],
    ),
    "words timed one by one": (
        "WEBVTT\n\n00:01.000 --> 00:03.000\nHey<00:01.200><c> there</c><00:01.500><c> you</c>\n",
        [("Hey<c> there</c><c> you</c>", 1, 3, 0)],
    ),
    "ASS in the order of starts": (
        ASS
        + event("05.00", "{\\i1}Second{\\i0}, you\\Nthere\\hnow")
        + event("01.00", "no", kind="Comment")
        + event("01.00", "First, then")
        + event("01.00", "First, then", layer=1),
        [("First, then", 1, 59, 0), ("{\\i1}Second{\\i0}, you", 5, 59, 1), ("there now", 5, 59, 1)],
    ),
    "karaoke among speech": (
        ASS
        + event("01.00", "{\\k20}We {\\kf15}walk")
        + "".join(event(f"0{second}.00", f"Line {second}") for second in (3, 5)),
        [("♪ {\\k20}We {\\kf15}walk ♪", 1, 59, 0), ("Line 3", 3, 59, 1), ("Line 5", 5, 59, 2)],
    ),
    "speech of which each word lights up": (
        ASS + event("01.00", "{\\k20}We {\\k15}walk.") + event("03.00", "{\\k20}No.") + event("05.00", "Oh."),
        [("{\\k20}We {\\k15}walk.", 1, 59, 0), ("{\\k20}No.", 3, 59, 1), ("Oh.", 5, 59, 2)],
    ),
    "effects of songs": (
        ASS + event("01.00", "We").replace(",,We", ",fx,We") + event("03.00", "No."),
        [("♪ We ♪", 1, 59, 0), ("No.", 3, 59, 1)],
    ),
    "a broken event": (
        ASS + "Dialogue: 0,broken,0:00:02.00,Default,,0,0,0,,x\n" + event("01.00", "One"),
        [("One", 1, 59, 0)],
    ),
    "SSA": (
        "[V4 Styles]\n[Events]\nDialogue: Marked=0,0:00:01.00,0:00:02.00,Default,,0000,0000,0000,,One\n",
        [("One", 1, 2, 0)],
    ),
    "accents are composed": ("1\n00:00:01,000 --> 00:00:02,000\nCafe\u0301\n", [("Café", 1, 2, 0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_physical_lines_with_the_times_of_their_blocks(name: str) -> None:
    text, expected = CASES[name]
    parsed = read(text)
    np.testing.assert_equal(lines(parsed), expected)
    assert parsed.ids.tolist() == list(range(1, len(expected) + 1))
    assert parsed.last_blocks.tolist() == parsed.first_blocks.tolist()
    bad = {(block, end_) for _, s, e, block in expected for end_, value in enumerate((s, e)) if np.isnan(value)}
    assert parsed.bad_times == len(bad)


def test_speakers_that_the_file_names() -> None:
    assert read(ASS + event("01.00", "One\\Ntwo", name="Ann") + event("02.00", "Three")).speakers == [
        "Ann",
        "Ann",
        None,
    ]
    voices = read(
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann Lee>Hi</v>\nthere\n\n"
        "00:03.000 --> 00:04.000\n<v Ann>Hi</v>\n<v Bob>Ho</v>\n\n00:05.000 --> 00:06.000\nHm\n"
    )
    assert voices.texts == ["Hi", "there", "Hi", "Ho", "Hm"]
    assert voices.speakers == ["Ann Lee", "Ann Lee", "Ann", "Bob", None]
    assert read("1\n00:00:01,000 --> 00:00:02,000\nANN: Hi\n").speakers is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello world", "not_subtitles"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n\n", "not_subtitles"),
        (b"WEBVTT\n\nNOTE nothing\n", "not_subtitles"),
        (b"<html><body>Not found</body></html>", "not_subtitles"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 20, "not_subtitles"),
        (b"PK\x03\x04\x14\x00" * 50, "not_subtitles"),
    ],
)
def test_what_is_no_subtitle(data: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        read(data)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 10**7,
        b"1:" * 5 * 10**6,
        b"\n" * 10**7 + b"x",
        b"<1" * 5 * 10**6,
        b"1\n" * 10**6,
        "é".encode("cp1252") * 10**6,
        b"-->" * 3 * 10**6,
        b"Dialogue: 0,0:00:01.00" + b"," * 10**7,
    ],
    ids=["one line", "times", "blank lines", "tags", "numbers", "accents", "arrows", "commas"],
)
def test_junk_of_millions_of_bytes_is_refused_in_linear_time(data: bytes) -> None:
    began = time.process_time()
    with pytest.raises(ReadError):
        read(data)
    assert time.process_time() - began < 10
