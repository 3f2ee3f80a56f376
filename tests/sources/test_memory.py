"""The memory that a file can take, whatever is in it: as many times its size as `ReadFilms.max_bytes` says."""

import subprocess
import sys
from pathlib import Path

import pytest

from edos_dataset.sources.parsed import LONGEST_LINE, MOST_LINES, ReadError
from edos_dataset.sources.read import ReadFilms
from edos_dataset.sources.subtitles.opus import parse_opus
from edos_dataset.sources.subtitles.text import parse_subtitles

MEASURE = """
import os, sys
from edos_dataset.sources.formats import formats
from edos_dataset.sources.parsed import ReadError
status = lambda name: next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
kind, head, again, tail, size = eval(sys.argv[1])
data = (head + again * ((size - len(head)) // len(again.encode())) + tail).encode()
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
try:
    formats()[kind].reader(data, "en")
except ReadError as error:
    assert error.reason == "not_subtitles", error
print(status("VmHWM") - before)
"""
SIZE = ReadFilms().max_bytes
PART = SIZE // 5
"""Of texts whose memory grows with their size; the others are as large as may have as many lines, words or tags."""
CUE = "1\n00:00:00,000 --> 00:00:00,001\n"
WIDE = "abcdefghi " * 15 + "\U0001f600"  # a sign for which Python takes four bytes a character
HARDEST = {
    "srt": ("subtitle", "", f"{CUE}{WIDE}\n\n", "", PART),
    "srt lines": ("subtitle", CUE + WIDE + "\n", "ab\n", "", 1_400_000),
    "vtt": ("subtitle", "WEBVTT\n\n", f"00:00.000 --> 00:00.001\n{WIDE}\n\n", "", PART),
    "vtt voices": ("subtitle", "WEBVTT\n\n00:00.000 --> 00:00.001\n", "<v a>b\n", "", 3_300_000),
    "ass": ("subtitle", "[Events]\n", f"Dialogue: 0,0:00:00.00,0:00:00.01,,,,,,,{WIDE}\n", "", PART),
    "opus tokens": ("opus", f"<document><s>{WIDE}</s>", '<s id="1"><w id="1">a</w></s>', "</document>", 2_800_000),
    "opus tree": ("opus", "<document><s>", "a<b/>", "</s></document>", 2_400_000),
    "opus attributes": ("opus", "<document><s>", '<b a="" b="" c="" d="" e=""/>', "</s></document>", 5_500_000),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", HARDEST)
def test_memory_is_bounded_by_the_size(name):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, repr(HARDEST[name])], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) <= 30 * (PART if HARDEST[name][-1] == PART else SIZE)


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        (parse_subtitles, (CUE + "a\n\n") * (MOST_LINES + 1), "times"),
        (parse_subtitles, CUE + "a\n" * 6 * MOST_LINES, "lines"),
        (parse_subtitles, CUE + "a\\N" * 6 * MOST_LINES, "lines"),
        (parse_subtitles, CUE + "a" * (LONGEST_LINE + 1), "a line of"),
        (parse_opus, "<document>" + "<s>a</s>" * (MOST_LINES + 1) + "</document>", "sentences"),
        (parse_opus, "<document><s>" + "<b/>" * 6 * MOST_LINES + "</s></document>", "tags"),
        (parse_opus, "<document><s>" + "'" * 21 * MOST_LINES + "</s></document>", "quotation marks"),
        (parse_opus, "<document><s>" + "a " * LONGEST_LINE + "</s></document>", "a line of"),
    ],
)
def test_more_than_any_film_has_is_refused(reader, text, says):
    with pytest.raises(ReadError, match=says) as refused:
        reader(text.encode(), "en")
    assert refused.value.reason == "not_subtitles"
