"""Decoding of bytes whose encoding is not stated, or stated wrongly. The candidate wins whose non-ASCII characters look
most like text, judged by themselves and their neighbours.
"""

import codecs
import math
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import islice

from edos_dataset.languages.detection import guess_language
from edos_dataset.sources.parsed import ReadError

CANDIDATES: tuple[str, ...] = (
    "cp1252", "cp1250", "iso8859-2", "cp1251", "cp1254", "cp1253", "cp1257", "cp1255", "cp1256", "koi8-r", "iso8859-15",
    "iso8859-5", "iso8859-7", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr", "cp874", "cp850", "cp852", "cp866",
    "cp437", "mac-roman",
)  # fmt: skip
"""Encodings tried on bytes that are not UTF-8, likeliest first: of two that give equally plausible text the first is
taken.
"""

SAMPLE = 2**16
"""Bytes of lines with non-ASCII characters that are used to judge the candidates."""

LEAST_PLAUSIBLE = -0.5
"""Score below which a file of more than `FEW` such characters is not text in any encoding."""

FEW = 20
"""Number of non-ASCII characters that may be anything, so that a damaged byte does not cost a file."""

MOST_STRAY_ZEROS = 1e-3
"""Fraction of zero bytes up to which they are considered isolated damage."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED_BONUS = 0.5
# Those of DOS and old Macs: the byte for "…" in cp1252 is "à" in all DOS encodings.
_RARE = frozenset({"cp850", "cp852", "cp866", "cp437", "mac-roman"})
_RARE_MALUS = 0.5
_BESIDE = 400  # bytes of a line before and after such a character that are judged with it
_NON_ASCII_BYTES = re.compile(rb"[\x80-\xff][^\r\n]{0,%d}" % _BESIDE)
# Character → byte in Windows-1252, or in Latin-1 where Windows-1252 has no character.
_BYTES = {bytes([byte]).decode("cp1252", "ignore") or chr(byte): byte for byte in range(0x80, 0x100)}
_CONTINUATIONS = "".join(character for character, byte in _BYTES.items() if byte < 0xC0)
_CONTINUED = f"[{re.escape(_CONTINUATIONS)}]"
_MISREAD = re.compile(f"[ÂÃÄÅ]{_CONTINUED}|â{_CONTINUED}{{2}}")
# One pattern per first letter: searching for one letter takes a tenth of the time of searching for any of five.
_MISREADS = tuple(re.compile(f"{letter}{_CONTINUED}") for letter in ("Â", "Ã", "Ä", "Å", f"â{_CONTINUED}"))
# "Â", "Ã", "â", and control characters
_SUSPICIOUS = (re.compile(rb"\xc3[\x82\x83\xa2]"), re.compile(rb"\xc2[\x80-\x9f]"))
# Everything that `repair` may change has one of these; by first byte, as above.
_REPAIRABLE = tuple(re.compile(first + rb"[\x80-\x9f\xa2]") for first in (rb"\xc3", rb"\xc2"))
_CONTROLS = {byte: character for character, byte in _BYTES.items() if byte < 0xA0}
_CONTROL = re.compile("[\x80-\x9f]")

LETTERS: dict[str, str] = {
    "ca": "àçèéíïòóúü·", "cs": "áčďéěíňóřšťúůýž", "da": "æøåé", "de": "äöüß", "en": "éèêëïöüçñàâ", "es": "áéíóúüñ",
    "et": "äõöüšž", "fi": "äöå", "fr": "àâæçéèêëîïôœùûü", "hr": "čćđšž", "hu": "áéíóöőúüű", "is": "áæðéíóöþúý",
    "it": "àèéìòù", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "nl": "ëïéèöü", "no": "æøåé", "nb": "æøåé",
    "pl": "ąćęłńóśźż", "pt": "áâãàçéêíóôõú", "ro": "ăâîșțşţ", "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "ëç",
    "sr": "čćđšž", "sv": "åäöé", "tr": "çğıöşüâî",
}  # fmt: skip
"""Lower-case letters beyond a to z, by language."""

MOST_JUDGED = 400
"""Maximum number of non-ASCII characters judged."""

ONE_ALPHABET = 1.0
"""Bonus if all letters belong to one language."""

_SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x41, 0x24F, "latin"), (0x370, 0x3FF, "greek"), (0x400, 0x52F, "cyrillic"), (0x590, 0x5FF, "hebrew"),
    (0x600, 0x6FF, "arabic"), (0xE00, 0xE7F, "thai"), (0x1E00, 0x1EFF, "latin"), (0x3040, 0x30FF, "east"),
    (0x4E00, 0x9FFF, "east"), (0xAC00, 0xD7A3, "east"),
)  # fmt: skip
_LANGUAGE_SCRIPTS = {
    "ar": "arabic", "bg": "cyrillic", "el": "greek", "fa": "arabic", "he": "hebrew", "ja": "east", "ko": "east",
    "mk": "cyrillic", "ru": "cyrillic", "th": "thai", "uk": "cyrillic", "zh": "east",
}  # fmt: skip
# The commonest Russian and Greek letters: they distinguish the right alphabet from one that permutes its letters.
_COMMON = frozenset("оеаинтсрвлкмαοιετσνηυρπκάίόέ")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_MARK_SCORES: dict[str, tuple[float, float, float, float]] = {
    character: scores
    for characters, scores in (
        ("’", (1.8, 1.0, 0.3, 0.3)),
        ("“„‘«‹¿¡", (-2.0, -2.0, 0.8, 0.8)),
        ("”»›", (-2.0, 0.8, 0.8, 0.3)),
        ("♪♫", (1.0, 1.0, 1.0, 1.0)),
        ("°€£©®™½¼¾§", (-1.0, 0.1, 0.1, 0.1)),
        ("–—…", (1.6, 0.5, 0.5, 0.5)),
        ("•\xa0、。「」・！？\u3000《》", (-1.0, 0.5, 0.5, 0.5)),
    )
    for character in characters
}
"""Scores of marks between two letters, after a letter, after another mark, and after a space."""
_OTHER_MARK = (-2.0, -1.0, -1.0, -1.0)


def decode(data: bytes, declared: str | None = None, language: str | None = None) -> tuple[str, str, float]:
    """Decode bytes by the strongest evidence: byte order mark, valid UTF-8, the pattern of zero bytes of UTF-16, then
    the most plausible candidate.

    A declared encoding is only evidence, as subtitles are often saved again under the old declaration. Text that was
    read as Windows-1252 once too often ("donâ€™t", "cafÃ©") is repaired where the repair gives valid UTF-8.

    Args:
        data: the bytes.
        declared: encoding that the file states.
        language: code of the expected language, whose letters make an encoding more plausible; the language of the
            ASCII words takes precedence.

    Returns:
        The text without byte order mark; the encoding; and a confidence of 0 to 1.

    Raises:
        ReadError: with the reason unknown_encoding, or not_subtitles for binary data.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding)
    if b"\0" in data:  # usually there is none, and this check is ten times as fast as counting
        if data.count(0) > MOST_STRAY_ZEROS * len(data):
            return _decode_wide(data)
        data = data.replace(b"\0", b"")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_candidates(data, declared, language)
    # Searching the bytes takes a tenth of the time of searching the text, and most files have neither.
    suspicious = not text.isascii() and any(pattern.search(data) for pattern in _SUSPICIOUS)
    return repair(text) if suspicious else (text, "utf-8", 1.0)


def repair(text: str) -> tuple[str, str, float]:
    """Undo one reading of UTF-8 as Windows-1252, or of Windows-1252 as Latin-1, in text that is valid UTF-8.

    Returns:
        As for `decode`.
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
    """Decode UTF-16 without a mark: most upper bytes of a subtitle are zero, as times and line ends are ASCII."""
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
    for match in _NON_ASCII_BYTES.finditer(data):
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


def score_characters(text: str, language: str | None) -> tuple[float, int]:
    """Return the plausibility of a text's non-ASCII characters, from about -5 (junk) to 2.5 (text of the language), and
    how many were judged.

    The plausibility is the mean score of the characters, plus up to `ONE_ALPHABET` if all letters could belong to one
    language; no language has both "õ" and "û".
    """
    total = 0.0
    letters: list[str] = []
    places = [match.start() for match in islice(_NON_ASCII.finditer(text), MOST_JUDGED)]
    for at in places:
        character = text[at]
        total += _score(character, text[at - 1] if at else " ", text[at + 1] if at + 1 < len(text) else " ", language)
        if character.isalpha():
            letters.append(character.lower()[0])
    if not places:
        return 0.0, 0
    return total / len(places) + ONE_ALPHABET * _fraction_in_one_alphabet(letters), len(places)


def _fraction_in_one_alphabet(letters: list[str]) -> float:
    latin = Counter(letter for letter in letters if _script(letter) == "latin")
    others = len(letters) - latin.total()
    covered = max(
        sum(count for letter, count in latin.items() if letter in alphabet)
        for name, alphabet in LETTERS.items()
        if name != "en"
    )
    return max(covered, others) / len(letters) if letters else 1.0


@lru_cache(maxsize=2**16)
def _score(character: str, before: str, after: str, language: str | None) -> float:
    category = unicodedata.category(character)[0]
    if category == "C" or character == "\ufffd":
        return -5.0
    if category in "LM":
        return _score_letter(character, before, after, language)
    if before.isalpha():
        return _MARK_SCORES.get(character, _OTHER_MARK)[0 if after.isalpha() else 1]
    return _MARK_SCORES.get(character, _OTHER_MARK)[3 if before.isspace() else 2]


def _score_letter(character: str, before: str, after: str, language: str | None) -> float:
    script = _script(character)
    expected = _LANGUAGE_SCRIPTS.get(language or "", "latin")
    score = 0.4 * (script == expected) - 0.4 + _bonus_of_letter(character, script, language or "")
    for neighbour in (before, after):
        if neighbour.isalpha():
            score += _score_pair(script, neighbour)
    if character.isupper() and before.islower():
        score -= 2.0
    if not before.isalpha() and not after.isalpha() and script != "east":
        score -= 0.5
    return score


def _bonus_of_letter(character: str, script: str, language: str) -> float:
    lower = character.lower()
    if lower in LETTERS.get(language, ""):
        return 1.0
    if script == "latin":
        return 0.4 if lower in LETTERS["fr"] or lower in LETTERS["es"] else 0.0
    is_kana, is_hangul = "\u3040" <= character <= "\u30ff", language == "ko" and character >= "\uac00"
    return 0.6 if lower in _COMMON or is_kana or is_hangul else 0.0


def _score_pair(script: str, neighbour: str) -> float:
    if _script(neighbour) != script:
        return -2.0
    # Accented letters are seldom adjacent in Latin script, except where Cyrillic is read as Latin.
    return -1.0 if script == "latin" and not neighbour.isascii() else 0.5


@lru_cache(maxsize=2**12)
def _script(character: str) -> str:
    code = ord(character)
    return next((script for first, last, script in _SCRIPTS if first <= code <= last), "other")
