"""From bytes to text where nobody says, or somebody says wrongly, how the bytes are encoded."""

import codecs
import math
import re

from edos_dataset.languages.detection import guess_language
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.plausibility import score_characters

CANDIDATES: tuple[str, ...] = (
    "cp1252", "cp1250", "iso8859-2", "cp1251", "cp1254", "cp1253", "cp1257", "cp1255", "cp1256", "koi8-r", "iso8859-15",
    "iso8859-5", "iso8859-7", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr", "cp874", "cp850", "cp852", "cp866",
    "cp437", "mac-roman",
)  # fmt: skip
"""Encodings tried on bytes that are not UTF-8, the likelier first: where two give equally plausible text the first is
taken.
"""

SAMPLE = 2**16
"""Bytes of lines with non-ASCII characters on which the candidates are judged."""

LEAST_PLAUSIBLE = -0.5
"""Score below which a file of more than `FEW` such characters is text in no encoding."""

FEW = 20
"""Non-ASCII characters that may be anything: a damaged byte does not cost a file."""

MOST_STRAY_ZEROS = 1e-3
"""Share of zero bytes up to which they are taken for damage of single places."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED_BONUS = 0.5
# Of DOS and old Macs: "…" of cp1252 is "à" in all of DOS.
_RARE = frozenset({"cp850", "cp852", "cp866", "cp437", "mac-roman"})
_RARE_MALUS = 0.5
_BESIDE = 400  # bytes of a line before and after such a character that are judged with it
_NON_ASCII = re.compile(rb"[\x80-\xff][^\r\n]{0,%d}" % _BESIDE)
# What a byte becomes if read as Windows-1252, and as Latin-1 where that has no character.
_BYTES = {bytes([byte]).decode("cp1252", "ignore") or chr(byte): byte for byte in range(0x80, 0x100)}
_CONTINUATIONS = "".join(character for character, byte in _BYTES.items() if byte < 0xC0)
_CONTINUED = f"[{re.escape(_CONTINUATIONS)}]"
_MISREAD = re.compile(f"[ÂÃÄÅ]{_CONTINUED}|â{_CONTINUED}{{2}}")
# The same by first letter: a search for a letter takes a tenth of the time of one for any of five.
_MISREADS = tuple(re.compile(f"{letter}{_CONTINUED}") for letter in ("Â", "Ã", "Ä", "Å", f"â{_CONTINUED}"))
# "Â", "Ã", "â", and control characters
_SUSPICIOUS = (re.compile(rb"\xc3[\x82\x83\xa2]"), re.compile(rb"\xc2[\x80-\x9f]"))
# Whatever `repair` may change has one of these; by first byte, as above.
_REPAIRABLE = tuple(re.compile(first + rb"[\x80-\x9f\xa2]") for first in (rb"\xc3", rb"\xc2"))
_CONTROLS = {byte: character for character, byte in _BYTES.items() if byte < 0xA0}
_CONTROL = re.compile("[\x80-\x9f]")


def decode(data: bytes, declared: str | None = None, language: str | None = None) -> tuple[str, str, float]:
    """Decode bytes by the strongest evidence: byte order mark, valid UTF-8, the pattern of zero bytes of UTF-16, then
    the most plausible candidate.

    A declared encoding counts as evidence only, as subtitles are often saved anew under the old declaration. Text that
    was read as Windows-1252 once too often ("donâ€™t", "cafÃ©") is repaired where the repair gives valid UTF-8.

    Args:
        data: the bytes.
        declared: encoding named by the file.
        language: code of the language expected, whose letters make an encoding more plausible; the language that the
            ASCII words show goes before it.

    Returns:
        The text without byte order mark; the encoding; and a confidence of 0 to 1.

    Raises:
        ReadError: with the reason unknown_encoding, or not_subtitles for binary data.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding)
    if b"\0" in data:  # mostly none is, which is told ten times as fast as they are counted
        if data.count(0) > MOST_STRAY_ZEROS * len(data):
            return _decode_wide(data)
        data = data.replace(b"\0", b"")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_candidates(data, declared, language)
    # Searched in the bytes, as most files have neither: it takes a tenth of the time of a search in the text.
    suspicious = not text.isascii() and any(pattern.search(data) for pattern in _SUSPICIOUS)
    return repair(text) if suspicious else (text, "utf-8", 1.0)


def repair(text: str) -> tuple[str, str, float]:
    """Undo one reading of UTF-8 as Windows-1252, or of Windows-1252 as Latin-1, in text that is valid UTF-8.

    Returns:
        As `decode`.
    """
    shown = text.translate(_CONTROLS) if _CONTROL.search(text) else text
    misread = sum(len(pattern.findall(shown)) for pattern in _MISREADS)
    if misread and 2 * misread > sum(map(shown.count, "ÂÃâ")):
        repaired = _MISREAD.sub(_unread, shown)
        if repaired != shown:
            return repaired, "utf-8 read as cp1252", 0.9
    return (text, "utf-8", 1.0) if shown == text else (shown, "cp1252 read as latin-1", 0.9)


def _decode_marked(data: bytes, encoding: str) -> tuple[str, str, float]:
    text = data.decode(encoding, "replace")
    broken = text.count("\ufffd") if "\ufffd" in text else 0
    if broken * 10 > len(text):
        raise ReadError(
            "unknown_encoding",
            f"has the byte order mark of {encoding}, but {broken:,} of {len(text):,} characters are invalid",
        )
    if encoding == "utf-8" and not broken and any(pattern.search(data) for pattern in _REPAIRABLE):
        return repair(text)
    return text, encoding, 1.0 if not broken else 0.9


def _decode_wide(data: bytes) -> tuple[str, str, float]:
    """Decode UTF-16 without a mark: in a subtitle most upper bytes are zero, as times and line ends are ASCII."""
    sample = data[:SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = max(len(sample) // 2, 1)
    for encoding, upper, lower in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if upper > 0.25 * half and lower < 0.05 * half:
            return data.decode(encoding, "replace"), encoding, 0.95
    raise ReadError("not_subtitles", f"binary data: {data.count(0):,} zero bytes, the first at byte {data.index(0):,}")


def _decode_by_candidates(data: bytes, declared: str | None, language: str | None) -> tuple[str, str, float]:
    sample = _sample(data)
    language = guess_language(data[:SAMPLE].decode("ascii", "replace")) or language
    known = _known(declared)
    names = [known, *(name for name in CANDIDATES if name != known)] if known and known != "utf-8" else list(CANDIDATES)
    scores: dict[str, tuple[float, int, str]] = {}
    for rank, name in enumerate(("utf-8", *names)):  # UTF-8 with a few broken characters is UTF-8
        text = sample.decode(name, "replace")
        mean, count = score_characters(text, language)
        bonus = _DECLARED_BONUS * (name == known) - _RARE_MALUS * (name in _RARE)
        scores[name] = (mean + bonus - 0.02 * rank, count, text)
    best = max(scores, key=lambda name: scores[name][0])
    score, count, text = scores[best]
    if score < LEAST_PLAUSIBLE and count > FEW:
        raise ReadError(
            "unknown_encoding", f"text in none of {len(scores)} encodings tried; the most plausible is {best}"
        )
    rival = max((other for other, _, others in scores.values() if others != text), default=-math.inf)
    decided = 1 - 0.5 * math.exp(-(score - rival) * min(count, FEW) / 2)
    return data.decode(best, "replace"), best, round(decided * min(max((score + 2) / 4, 0.1), 1.0), 3)


def _sample(data: bytes) -> bytes:
    lines: list[bytes] = []
    size = end = 0
    for match in _NON_ASCII.finditer(data):
        begin = max(end, match.start() - _BESIDE)
        begin = max(begin, *(data.rfind(mark, begin, match.start()) + 1 for mark in (b"\r", b"\n")))
        end = match.end()
        lines.append(data[begin:end])
        size += end - begin
        if size > SAMPLE:
            break
    return b"\n".join(lines)


def _known(encoding: str | None) -> str | None:
    try:
        return codecs.lookup(encoding).name if encoding else None
    except LookupError:
        return None


def _unread(match: re.Match[str]) -> str:
    try:
        return bytes(_BYTES[character] for character in match[0]).decode("utf-8")
    except UnicodeDecodeError:
        return match[0]
