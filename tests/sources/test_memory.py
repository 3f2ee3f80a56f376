"""What a file can take of memory, whatever is in it: as many times its size as `ReadFilms.max_bytes` says."""

import subprocess
import sys
from pathlib import Path

import pytest

from edos_dataset.sources.parsed import LONGEST_LINE, MOST_LINES, ReadError
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
print((status("VmHWM") - before) / len(data))
"""
CUE = "1\n00:00:00,000 --> 00:00:00,001\n"
HARDEST = {
    "srt": ("subtitle", "", CUE + "a\n\n"),
    "srt wide": ("subtitle", CUE, "abcdefghi " * 200 + "\U0001f600\n"),
    "vtt": ("subtitle", "WEBVTT\n\n", "00:00.000 --> 00:00.001\na\n\n"),
    "vtt voices": ("subtitle", "WEBVTT\n\n00:00.000 --> 00:00.001\n", "<v a>b\n"),
    "ass": ("subtitle", "[Events]\n", "Dialogue: 0,0:00:00.00,0:00:00.01,,,,,,,a\n"),
    "opus tokens": ("opus", "<document>", '<s id="1"><w id="1">a</w></s>', "</document>"),
    "opus tree": ("opus", "<document><s>", "<b/>", "</s></document>"),
    "opus attributes": ("opus", "<document><s>", '<b a="" b="" c="" d="" e=""/>', "</s></document>"),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", HARDEST)
def test_memory_is_bounded_by_the_size(name):
    kind, head, again, *tail = HARDEST[name]
    case = kind, head, again, "".join(tail), 3_000_000
    done = subprocess.run([sys.executable, "-c", MEASURE, repr(case)], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 35


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
