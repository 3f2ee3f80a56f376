"""Reading of any file of subtitles, captions or a transcript; the content decides the format, not the suffix."""

import re
from dataclasses import replace

from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.subtitles.captions import TIME, root_of
from edos_dataset.sources.subtitles.opus import parse_opus
from edos_dataset.sources.subtitles.text import parse_subtitles

PICTURES = "pictures"
"""Reason for files that contain pictures of subtitles instead of text."""

PICTURE_SUFFIXES = (".idx", ".sup")
"""Suffixes of files that contain nothing but pictures."""

OF_PICTURES = "holds pictures of text (VobSub or PGS), not text: OCR, as of Subtitle Edit, makes an .srt of them"

_KINDS = {"tt": "ttml", "timedtext": "timedtext", "transcript": "timedtext", "json3": "timedtext", "json": "transcript"}
_OF_PICTURES = re.compile(rb"\x00\x00\x01\xba|PG[\x00-\xff]{8}[\x14-\x17\x80]|# VobSub index file")
_HEAD = 4096


def read_any(data: bytes, language: str = "en") -> Parsed:
    """Read a subtitle file in any format that this package supports.

    Args:
        data: content of the file.
        language: code of the expected language.

    Returns:
        Its lines, with the name of its format.

    Raises:
        ReadError: with the reason pictures, or with those of `parse_opus` and `parse_subtitles`.
    """
    if _OF_PICTURES.match(data):
        raise ReadError(PICTURES, OF_PICTURES)
    head = _head(data)
    root = root_of(head)
    if root and root not in _KINDS and root not in ("sami", "html") and not TIME.search(head):
        return replace(parse_opus(data, language), kind="opus")
    return replace(parse_subtitles(data, language), kind=_KINDS.get(root or "", "subtitle"))


def _head(data: bytes) -> str:
    head = data[:_HEAD]
    if head.count(0) > len(head) // 4:
        return head.replace(b"\0", b"").decode("latin-1").removeprefix("ÿþ").removeprefix("þÿ")
    return head.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
