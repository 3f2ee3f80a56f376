"""How much a decoded text looks like text: what its non-ASCII characters are, and what they stand beside."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import islice

LETTERS: dict[str, str] = {
    "ca": "àçèéíïòóúü·", "cs": "áčďéěíňóřšťúůýž", "da": "æøåé", "de": "äöüß", "en": "éèêëïöüçñàâ", "es": "áéíóúüñ",
    "et": "äõöüšž", "fi": "äöå", "fr": "àâæçéèêëîïôœùûü", "hr": "čćđšž", "hu": "áéíóöőúüű", "is": "áæðéíóöþúý",
    "it": "àèéìòù", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "nl": "ëïéèöü", "no": "æøåé", "nb": "æøåé",
    "pl": "ąćęłńóśźż", "pt": "áâãàçéêíóôõú", "ro": "ăâîșțşţ", "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "ëç",
    "sr": "čćđšž", "sv": "åäöé", "tr": "çğıöşüâî",
}  # fmt: skip
"""Letters beyond a to z by language, lower case."""

MOST = 400
"""Non-ASCII characters judged."""

ONE_ALPHABET = 1.0
"""Bonus of letters that are all of one language."""

_SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x41, 0x24F, "latin"), (0x370, 0x3FF, "greek"), (0x400, 0x52F, "cyrillic"), (0x590, 0x5FF, "hebrew"),
    (0x600, 0x6FF, "arabic"), (0xE00, 0xE7F, "thai"), (0x1E00, 0x1EFF, "latin"), (0x3040, 0x30FF, "east"),
    (0x4E00, 0x9FFF, "east"), (0xAC00, 0xD7A3, "east"),
)  # fmt: skip
_LANGUAGE_SCRIPTS = {
    "ar": "arabic", "bg": "cyrillic", "el": "greek", "fa": "arabic", "he": "hebrew", "ja": "east", "ko": "east",
    "mk": "cyrillic", "ru": "cyrillic", "th": "thai", "uk": "cyrillic", "zh": "east",
}  # fmt: skip
# The commonest letters of Russian and of Greek: they tell an alphabet in its order from the same bytes in another
# order.
_COMMON = frozenset("оеаинтсрвлкмαοιετσνηυρπκάίόέ")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_OPENING, _CLOSING = frozenset("“„‘«‹¿¡"), frozenset("”»›")
_NEUTRAL = frozenset("–—…•\xa0、。「」・！？\u3000《》")
_SIGNS = frozenset("°€£©®™½¼¾§")
_NOTES = frozenset("♪♫")


def score_characters(text: str, language: str | None) -> tuple[float, int]:
    """Return how plausible the non-ASCII characters are, about -5 (junk) to 2.5 (text of the language), and how many
    were judged.

    It is the mean score of the characters, and up to `ONE_ALPHABET` more if their letters could all be of one language:
    "õ" and "û" are of none.
    """
    total = 0.0
    letters: list[str] = []
    places = [match.start() for match in islice(_NON_ASCII.finditer(text), MOST)]
    for at in places:
        character = text[at]
        total += _score(character, text[at - 1] if at else " ", text[at + 1] if at + 1 < len(text) else " ", language)
        if character.isalpha():
            letters.append(character.lower()[0])
    if not places:
        return 0.0, 0
    return total / len(places) + ONE_ALPHABET * _share_of_one_alphabet(letters), len(places)


def _share_of_one_alphabet(letters: list[str]) -> float:
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
    category = unicodedata.category(character)
    if category[0] == "C" or character == "\ufffd":
        return -5.0
    inside = before.isalpha() and after.isalpha()
    if category[0] in "LM":
        return _score_letter(character, before, after, language)
    if character == "’":
        return 1.8 if inside else (1.0 if before.isalpha() else 0.3)
    if character in _OPENING:
        return -2.0 if before.isalpha() else 0.8
    if character in _CLOSING:
        return -2.0 if inside else (0.8 if not before.isspace() else 0.3)
    if character in _NOTES:
        return 1.0
    if character in _SIGNS:
        return -1.0 if inside else 0.1
    if character in _NEUTRAL:
        return (1.6 if character in "–—…" else -1.0) if inside else 0.5
    return -2.0 if inside else -1.0


def _score_letter(character: str, before: str, after: str, language: str | None) -> float:
    script = _script(character)
    expected = _LANGUAGE_SCRIPTS.get(language or "", "latin")
    score = 0.4 * (script == expected) - 0.4
    if character.lower() in LETTERS.get(language or "", ""):
        score += 1.0
    elif script == "latin":
        score += 0.4 if character.lower() in LETTERS["fr"] or character.lower() in LETTERS["es"] else 0.0
    elif (
        character.lower() in _COMMON
        or "\u3040" <= character <= "\u30ff"
        or (language == "ko" and character >= "\uac00")
    ):
        score += 0.6
    for neighbour in (before, after):
        if neighbour.isalpha():
            score += _score_pair(script, neighbour)
    if character.isupper() and before.islower():
        score -= 2.0
    if not before.isalpha() and not after.isalpha() and script != "east":
        score -= 0.5
    return score


def _score_pair(script: str, neighbour: str) -> float:
    if _script(neighbour) != script:
        return -2.0
    # Accented letters seldom stand side by side in Latin script: they do where Cyrillic is read as Latin.
    return -1.0 if script == "latin" and not neighbour.isascii() else 0.5


@lru_cache(maxsize=2**12)
def _script(character: str) -> str:
    code = ord(character)
    return next((script for first, last, script in _SCRIPTS if first <= code <= last), "other")
