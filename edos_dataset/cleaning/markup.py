"""What a text carries that nobody speaks: tags, entities, invisible characters, and the slips of optical character
recognition.
"""

import html
import re

from edos_dataset.sources.subtitles.text import VOICE

_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|\w+);")
# ASS vector shapes, whose text is coordinates
_DRAWING = re.compile(r"\{(?=[^{}]*\})[^{}]*?\\p[1-9][^{}]*\}.*?(?:\{(?=[^{}]*\})[^{}]*?\\p0[^{}]*\}|\Z)", re.DOTALL)
_OVERRIDE = re.compile(r"\{[^{}]*\}")
_ESCAPE = re.compile(r"\\[Nnh]")
_TAG = re.compile(r"<[/!]?\s?[A-Za-z][^<>]*>|<[\d:.]+>|</?(?:i|b|u|s|font|sync)\b[^<>]*$", re.IGNORECASE)
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\x00-\x08\x0e-\x1f\x7f]"
)
_TWO_APOSTROPHES = re.compile(r"''(?!\w)|(?<!\w)''")

_LETTER_L = re.compile(
    r"(?:(?<![\w'’.-])|(?<![^\s\"]')(?<='))(?<!\d )l"
    r"(?=[cdfgkmnprstvwz][a-z]{2}|['’](?:m|ll|ve|d)\b|(?:t|n|f|s|tself|nto|nside|nstead|ndeed|sn['’]t|t['’]\w+)?(?![\w'’-]))"
)
_SMALL_I = re.compile(r"(?<![\w'’.-])i(?=['’](?:m|ll|ve|d)\b|(?![\w'’-]|\.\w))")
_DIGIT_ONE = re.compile(r"(?<![\w'’])1(?=['’](?:m|ll|ve|d)\b)")
_NUMERAL = re.compile(r"(?<=[a-z] )l{2,3}\b")  # "Part ll"
_LETTER_I = re.compile(r"\b(?=[A-Za-z]*(?:[a-z]I|I[a-z]))[A-Za-z]+\b")
_COMMON_WORDS = """
all already also although always until alone along almost else less let lets like little long look last late later
least leave left life line listen live lot lots love lose loss lost will well still till tell tells told call called
kill feel fell full girl guilty hell hello help held hold old only really real people place please pull play plan
problem possible school self small smell smile sell simple single sleep slow soul steal talk tall table world while
whole wall walk would could should able black fall felt family final finally follow himself herself itself myself
yourself ourselves themselves actually probably totally usually especially exactly absolutely ill I'll you'll he'll
she'll we'll they'll it'll
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def strip_markup(text: str) -> str:
    """Return a line without tags, overrides, entities and invisible characters, its spaces collapsed.

    Entities are resolved twice, because files pass through programs that escape them again. A WebVTT voice tag becomes
    "NAME:", two apostrophes a quotation mark.
    """
    if "&" in text:
        text = html.unescape(_ENTITY.sub(lambda entity: html.unescape(entity.group()), text))
    if "{" in text:
        text = _OVERRIDE.sub("", _DRAWING.sub("", text))
    if "\\" in text:
        text = _ESCAPE.sub(" ", text)
    if "<" in text:
        text = _TAG.sub("", VOICE.sub(r"\1: ", text))
    if "''" in text:
        text = _TWO_APOSTROPHES.sub('"', text)
    return " ".join((text if text.isprintable() else _INVISIBLE.sub("", text)).split())


def repair_letters(text: str) -> str:
    """Return an English line with l, I and 1 put right where they were confused, and with a capital I: "l'm", "lt",
    "wiII", "so do i".

    Only where the result is the pronoun or one of the common words that this module lists; "Al", "Ill" and "McIntyre"
    stay as they are.
    """
    if "l" in text:
        text = _NUMERAL.sub(lambda numeral: "I" * len(numeral.group()), _LETTER_L.sub("I", text))
    if " i" in text or text.startswith("i"):
        text = _SMALL_I.sub("I", text)
    if "1" in text:
        text = _DIGIT_ONE.sub("I", text)
    return _LETTER_I.sub(_repair_word, text) if "I" in text else text


def _repair_word(match: re.Match[str]) -> str:
    word = match.group()
    repaired = word.replace("I", "l")
    return repaired if repaired.lower() in _COMMON else word
