"""SubRip, WebVTT, ASS/SSA: physical lines with the times of their blocks."""

import unicodedata

import numpy as np
import pysubs2

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.times import check_times


def parse_subtitles(data: bytes, language: str | None = None) -> Parsed:
    """Read a subtitle file."""
    text, encoding, confidence = decode(data, None, language)
    try:
        subs = pysubs2.SSAFile.from_string(unicodedata.normalize("NFC", text), keep_html_tags=True, keep_unknown_html_tags=True)
    except Exception as error:
        raise ReadError("not_subtitles", f"{type(error).__name__}: {error}") from error
    starts = np.array([event.start / 1000 for event in subs])
    ends = np.array([event.end / 1000 for event in subs])
    starts, ends = check_times(starts, ends)
    texts: list[str] = []
    blocks: list[int] = []
    for number, event in enumerate(subs):
        for line in event.text.replace("\\N", "\n").split("\n"):
            if line.strip():
                texts.append(line.strip())
                blocks.append(number)
    if not texts:
        raise ReadError("not_subtitles", "no block found")
    index = np.array(blocks, dtype=np.int32)
    ids = np.arange(1, len(texts) + 1, dtype=np.int32)
    bad = int(np.isnan(starts).sum() + np.isnan(ends).sum())
    return Parsed(ids, texts, starts[index], ends[index], index, index, bad, encoding, confidence)
