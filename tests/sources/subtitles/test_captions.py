"""Captions and transcripts of many formats, each recognised by its content."""

import contextlib
import json
import math
import time

import pytest

from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.subtitles.reading import read_any

TWO = [("You came.", 1.0, 2.0), ("I did.", 2.5, 4.0)]
TT = '<tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter"'
SAMI = """<SAMI><HEAD><STYLE TYPE="text/css"><!--
.ENCC {Name:English; lang:en-US;} .FRCC {lang:fr-FR;} --></STYLE></HEAD>
<BODY><SYNC Start=1000><P Class=ENCC>You
came.<P Class=FRCC>Tu es venu.
<SYNC Start=2000><P Class=ENCC>&nbsp;<SYNC Start=2500><P Class=ENCC><i>I did.</i><P Class=FRCC>Oui.
<SYNC Start=4000><P Class=ENCC>&nbsp;</BODY></SAMI>"""
FILES = {
    "sbv": ("subtitle", "0:00:01.000,0:00:02.000\nYou came.\n\n0:00:02.500,0:00:04.000\nI did.\n"),
    "subviewer": (
        "subtitle",
        "[INFORMATION]\n[TITLE]x\n[SUBTITLE]\n00:00:01.00,00:00:02.00\nYou came.\n\n00:00:02.50,00:00:04.00\nI did.",
    ),
    "microdvd": ("subtitle", "{1}{1}25\n{25}{50}{y:i}You came.\n{62}{100}I did.\n"),
    "mpl2": ("subtitle", "[10][20]/You came.\n[25][40]I did.\n"),
    "sami": ("subtitle", SAMI),
    "ticks": (
        "ttml",
        f'{TT} ttp:tickRate="1000"><body><div><p begin="1000t" end="2000t">You <span>came.</span></p>'
        '<p begin="2500t" dur="1.5s">I\n   did.</p></div></body></tt>',
    ),
    "frames": (
        "ttml",
        f'{TT} ttp:frameRate="24" ttp:frameRateMultiplier="1000 1000"><head><styling><style/></styling></head><body>'
        '<div begin="1s"><p begin="0f" end="24f">You came.</p><p begin="00:00:01:12" end="00:00:03">I did.</p>'
        "</div></body></tt>",
    ),
    "srv1": (
        "timedtext",
        '<?xml version="1.0"?><transcript><text start="1" dur="1">You came.</text>'
        '<text start="2.5" dur="1.5">I did.</text></transcript>',
    ),
    "srv2": (
        "timedtext",
        '<timedtext><text t="1000" d="1000">You came.</text><text t="2500" d="1500">I did.</text></timedtext>',
    ),
    "srv3": (
        "timedtext",
        '<timedtext format="3"><head><ws id="0"/></head><body><w t="0" id="1"/>'
        '<p t="1000" d="1200"><s>You</s><s> came.</s></p>'
        '<p t="2000" d="500" a="1">\n</p><p t="2500" d="1500"><s>I</s><s> did.</s></p></body></timedtext>',
    ),
    "json3": (
        "timedtext",
        '{"wireMagic": "pb3", "events": [{"tStartMs": 0, "dDurationMs": 9000, "id": 1}, {"tStartMs": 1000, '
        '"dDurationMs": 1000, "segs": [{"utf8": "You"}, {"utf8": " came."}]}, {"tStartMs": 2000, "aAppend": 1, "segs": '
        '[{"utf8": "\\n"}]}, {"tStartMs": 2500, "dDurationMs": 1500, "segs": [{"utf8": "I did."}]}]}',
    ),
    "whisper": (
        "transcript",
        '{"text": "", "segments": [{"start": 1, "end": 2, "text": " You came."}, '
        '{"start": 2.5, "end": 4, "text": "I did."}]}',
    ),
    "whisper.cpp": (
        "transcript",
        '{"transcription": [{"offsets": {"from": 1000, "to": 2000}, "text": "You came."}, '
        '{"offsets": {"from": 2500, "to": 4000}, "text": "I did."}]}',
    ),
    "pipeline": (
        "transcript",
        '{"chunks": [{"timestamp": [1, 2], "text": "You came."}, {"timestamp": [2.5, 4], "text": "I did."}]}',
    ),
    "list": (
        "transcript",
        '[{"start": 1, "duration": 1, "text": "You came."}, {"start": 2.5, "duration": 1.5, "text": "I did."}]',
    ),
}


def spoken(parsed: Parsed) -> list[tuple[str, float, float]]:
    """Return text, start and end of each line."""
    return list(zip(parsed.texts, parsed.starts.round(3).tolist(), parsed.ends.round(3).tolist(), strict=True))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_formats_are_recognised_in_any_encoding(name: str, encoding: str) -> None:
    kind, text = FILES[name]
    parsed = read_any(text.replace("\n", "\r\n").encode(encoding))
    wanted = TWO if name not in ("microdvd", "srv3") else None
    assert parsed.kind == kind
    assert [line for line, _, _ in spoken(parsed)] == ["You came.", "I did."]
    if wanted:
        assert spoken(parsed) == wanted


def test_rolling_captions_end_where_the_next_ones_begin() -> None:
    text = '<timedtext><body><p t="0" d="9000">One</p><p t="3000" d="2000" a="1">two</p></body></timedtext>'
    assert spoken(read_any(text.encode())) == [("One", 0, 3), ("two", 3, 5)]


@pytest.mark.parametrize(
    ("first", "start"),
    [
        ("{1}{1}25.000\n", 4.0),
        ("{1}{1}29,97\n", 3.337),
        ("", 4.171),
        ("{DEFAULT}{}{y:i}\n", 4.171),
        ("{1}{1}0\n", 4.171),
    ],
)
def test_the_first_line_of_microdvd_states_the_frame_rate(first: str, start: float) -> None:
    parsed = read_any((first + "{100}{150}One|two\n").encode())
    assert [line for line in parsed.texts if line != "0"] == ["One", "two"]
    assert parsed.starts[-1].round(3) == start


def test_lines_of_lyrics_are_sung_at_each_stamp_and_last_as_long_as_speech() -> None:
    parsed = read_any(
        b"[ti:Song]\n[offset:+500]\n[00:10.5][00:01.50]<00:01.50> Oh <00:02.00> dear\n[00:03.00]\n[00:05]Yes"
    )
    assert spoken(parsed) == [("Oh dear", 1.0, 2.5), ("Yes", 4.5, 5.75), ("Oh dear", 10.0, 11.583)]


def test_of_several_languages_the_one_wanted_is_read() -> None:
    assert read_any(SAMI.encode(), "fr").texts == ["Tu es venu.", "Oui."]
    divs = "".join(f'<div xml:lang="{code}"><p begin="1s" end="2s">{code}</p></div>' for code in ("de-DE", "fr", "en"))
    text = f"<tt><body>{divs}</body></tt>".encode()
    assert [read_any(text, code).texts for code in ("fr", "de", "hu")] == [["fr"], ["de-DE"], ["de-DE", "fr", "en"]]


def test_ttml_names_speakers_and_times_spans() -> None:
    text = (
        '<tt xmlns:ttm="http://www.w3.org/ns/ttml#metadata" xmlns:tts="http://www.w3.org/ns/ttml#styling"><head>'
        '<metadata><ttm:agent xml:id="a1"><ttm:name type="full">Ann Lee</ttm:name></ttm:agent></metadata></head>'
        '<body><div><p begin="10s" end="20s" ttm:agent="a1"><metadata>no</metadata>Come<br/>in.'
        '<span begin="2s" end="4s">Sit.</span><span ttm:agent="b">No.</span></p>'
        '<p begin="1s" end="2s"><span tts:ruby="base">word</span><span tts:ruby="text">reading</span></p>'
        "</div></body></tt>"
    )
    parsed = read_any(text.encode())
    assert spoken(parsed) == [("word", 1, 2), ("Come", 10, 20), ("in.", 10, 20), ("No.", 10, 20), ("Sit.", 12, 14)]
    assert parsed.speakers == [None, "Ann Lee", "Ann Lee", "b", "Ann Lee"]


def test_transcripts_name_speakers_also_of_words() -> None:
    words = [("Hi.", "A", 0, 1), ("Oh,", "B", 1, 2), ("3", None, None, None), ("hi.", "B", 3, 4)]
    document = {
        "segments": [
            {
                "start": 0,
                "end": 4,
                "text": "Hi. Oh, 3 hi.",
                "speaker": "A",
                "words": [
                    {"word": word, "speaker": who, "start": start, "end": end} for word, who, start, end in words
                ],
            },
            {"start": 4, "end": 5, "text": "Well.", "speaker": 1, "words": []},
        ]
    }
    parsed = read_any(json.dumps(document).encode())
    assert parsed.speakers == ["A", "B", "1"]
    assert spoken(parsed) == [("Hi.", 0, 1), ("Oh, 3 hi.", 1, 4), ("Well.", 4, 5)]
    seconds = {"utterances": [{"start": 1500, "end": 2500, "confidence": 0.9, "speaker": "A", "text": "Hi."}]}
    assert spoken(read_any(json.dumps(seconds).encode())) == [("Hi.", 1.5, 2.5)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<!DOCTYPE html><html><p>Not found</p></html>", "not_subtitles"),
        (b"\x00\x00\x01\xba\x44\x00", "pictures"),
        (b"# VobSub index file, v7", "pictures"),
        (b"<tt><body><p begin='1s'>Ann</p></body>", "truncated"),
        (b"<tt><body><p>Ann & Ben</p></body></tt>", "malformed_xml"),
        (b'<!DOCTYPE tt [<!ENTITY a "b">]><tt/>', "forbidden_xml"),
        (b"<tt><body/></tt>", "not_subtitles"),
        (b"<tt>" + b"<div>" * 1000 + b"</div>" * 1000 + b"</tt>", "malformed_xml"),
        (b"<SAMI><BODY></BODY></SAMI>", "not_subtitles"),
        (b"<timedtext/>", "not_subtitles"),
        (b'{"name": "package"}', "not_subtitles"),
        (b'{"segments": [{"start": 1, "text": "cut', "not_subtitles"),
        (b"[" * 100_000, "not_subtitles"),
        (b'{"segments": [{"start": 1, "text": ""}]}', "not_subtitles"),
        (b'{"events": [{"segs": null}, 3]}', "not_subtitles"),
    ],
)
def test_what_cannot_be_read_has_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_any(data)
    assert caught.value.reason == reason


def test_wrong_numbers_are_unknown_times() -> None:
    text = '[{"start": "x", "end": 1e400, "text": "One\\ud800"}, {"start": true, "end": [], "text": "two"}]'
    parsed = read_any(text.encode())
    assert parsed.texts == ["One\ufffd", "two"]
    assert all(map(math.isnan, parsed.starts.tolist()[:1])) and parsed.bad_times >= 3
    times = read_any(b'<tt><body><p begin="soon" end="99999999999999999s">One</p></body></tt>')
    assert math.isnan(times.starts[0]) and math.isnan(times.ends[0])


@pytest.mark.parametrize(
    "data",
    [
        b"<sami>" + b"<sync start=1 " * 300_000,
        b"<sami><sync " + b"start=1 " * 500_000,
        b"<sami><sync start=1>" + b"<!--" * 1_000_000,
        b"<sami>" + b".a{" * 1_000_000,
        b"[00:01.00]" * 300_000,
        b"0:00:01.000,0:00:02.000 " * 200_000,
        b"{1}{2}" + b"{y:" * 1_000_000,
        b"<tt>" + b"<!--" * 1_000_000,
        b'{"a": [' * 300_000,
    ],
    ids=lambda data: data[:12].decode(),
)
def test_reading_takes_linear_time(data: bytes) -> None:
    began = time.process_time()
    with contextlib.suppress(ReadError):
        read_any(data)
    assert time.process_time() - began < 2
