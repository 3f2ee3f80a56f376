"""Whether a text is in the language that it claims, by its letters and then by its words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import simplemma
from simplemma.token_sampler import MostCommonTokenSampler

from edos_dataset.languages import primary_language

_ASCII_WORD = re.compile(r"[a-z]+")
# The ASCII parts of words alone, as the text may not be decoded yet; words common to several languages count for each.
_COMMONEST_WORDS = {
    "cs": "ale co jak je jsem jsi kde na nic proto se tak to",
    "da": "det der du er har hvad ikke jeg kan mig og vil",
    "de": "aber das der die ein ich ist mit nicht sie und was wir",
    "en": "and are have it know that the this to was what with you",
    "es": "como con el en es los no para pero por que una",
    "et": "aga ei ja kui ma mida mis oli on see ta",
    "fi": "ei en ja kun minun mutta niin olen oli on se",
    "fr": "c dans des elle est il je les mais pas pour que une vous",
    "hr": "ali bio da ima je kako nije nisam sam se to",
    "hu": "a az csak de egy ez hogy igen is kell majd meg mert nem vagy van",
    "it": "che come cosa della di ho il mi non per sono una",
    "nl": "dat een het hij ik is maar niet van wat zijn",
    "no": "det du er hva har ikke jeg kan meg og som vil",
    "pl": "ale co do jak jest mam mnie nie si tak to",
    "pt": "com ela ele eu isso mas meu muito o para que uma",
    "ro": "asta ce cu dar este mai nu pe sunt un",
    "sk": "ako ale je na nie sa si som tak to",
    "sl": "ali bi da in je kaj ni sem se to",
    "sv": "att det du har inte jag kan och som vad vi",
    "tr": "ama ben bir bu de evet ne sen var",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _COMMONEST_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)

LEAST_SHARE = 0.06
"""Fraction of the words that must be among the commonest of a language."""

LEAD = 1.2
"""How many times as many they must be as those of the next language."""

SAMPLE_LINES, LINE_CHARACTERS = 150, 200
"""Lines of a file that are looked at, about a thousand words spread evenly over it, and characters of each line."""

LEAST_LETTERS = 50
"""Letters below which scripts prove nothing."""

OTHER_LETTERS = 0.2
"""Fraction of letters in scripts that a language does not use, above which a text is in another language."""

LEAST_WORDS = 40
"""Different words of three letters and more, below which the dictionary proves nothing."""

LEAST_KNOWN = 0.6
"""Fraction of the commonest words of a text that a dictionary of its language must know. Of subtitles it knows more
than 0.85, of those of the nearest language tried (Portuguese by Spanish) less than 0.6.
"""

WORDS_OF_DIALOGUE = 5
"""The same for a dialogue, which is short: of 1,200 English ones with two turns or more, none was misjudged."""

_LONGER_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = {language: frozenset(words.split()) for language, words in _COMMONEST_WORDS.items()}
_MARKUP = re.compile(r"<[^<>]{0,100}>|\{[^{}]{0,100}\}")
_WORDS = MostCommonTokenSampler()
_DICTIONARIES = {
    "no": ("nb", "nn"), "nb": ("nb", "nn"), "nn": ("nb", "nn"),
    "bs": ("hbs",), "hr": ("hbs",), "sh": ("hbs",), "sr": ("hbs",),
}  # fmt: skip
"""Languages whose dictionary has another name in simplemma, or that have two."""

_SCRIPTS = {
    "Arabic": "ar fa ks ku pa ps sd ug ur", "Armenian": "hy", "Bengali": "as bn", "Canadian": "cr iu oj",
    "Cyrillic": "ab av az ba be bg bs ce cu cv kk kv ky mk mn os ru sh sr tg tk tt uk uz",
    "Devanagari": "hi ks mr ne pi sa sd", "Ethiopic": "am ti", "Georgian": "ka", "Greek": "el", "Gujarati": "gu",
    "Gurmukhi": "pa", "Han": "ja zh", "Hangul": "ko", "Hebrew": "he yi", "Hiragana": "ja", "Kannada": "kn",
    "Katakana": "ja", "Khmer": "km", "Lao": "lo", "Malayalam": "ml", "Mongolian": "mn", "Myanmar": "my",
    "Oriya": "or", "Sinhala": "si", "Tamil": "ta", "Telugu": "te", "Thaana": "dv", "Thai": "th", "Tibetan": "bo dz",
    "Yi": "ii", "Latin": "az bs cr iu kk ku oj sh sr tk tt ug uz",
}  # fmt: skip
"""Script → the languages written in it; Latin also writes all languages that are not listed."""

_SCRIPTS_OF: dict[str, frozenset[str]] = {
    language: frozenset(script for script, languages in _SCRIPTS.items() if language in languages.split())
    for language in " ".join(_SCRIPTS.values()).split()
}


@dataclass(frozen=True)
class OtherLanguage:
    """Evidence against the language that a text claims.

    Attributes:
        why: a clause to follow the name of the text: "12 % of its words are known in 'en'".
        language: code of the language that it seems to be in, or null.
    """

    why: str
    language: str | None


def guess_language(text: str) -> str | None:
    """Return the code of the language of a text in Latin script, or null if its commonest words are too few, or hardly
    more than those of another language.

    Args:
        text: some thousand characters; anything but ASCII letters separates words.
    """
    words = _ASCII_WORD.findall(text.lower())
    counts = Counter(language for word in words for language in _LANGUAGES_OF.get(word, ()))
    ranked = [*counts.most_common(2), ("", 0), ("", 0)]
    (best, most), (_, next_most) = ranked[:2]
    return best if most >= max(LEAST_SHARE * len(words), 3) and most >= LEAD * next_most else None


def contradict_language(texts: Sequence[str], code: str, least_words: int = LEAST_WORDS) -> OtherLanguage | None:
    """Return evidence that a text is not in a language, or null: short texts, and texts that cannot be judged, are
    believed.

    Scripts decide first: Chinese, Japanese and most other languages beyond Latin letters have no dictionary here. Then
    the fraction of the commonest words that simplemma's dictionary of the language knows decides; where there is none,
    only the commonest words of another language are evidence. About a millisecond a file.

    Args:
        texts: the lines of a file, or the turns of a dialogue; markup does not count.
        code: the language, with or without a region.
        least_words: different words below which the dictionary is not used.
    """
    language = primary_language(code)
    step = -(-len(texts) // SAMPLE_LINES) or 1
    sample = _MARKUP.sub(" ", "\n".join(text[:LINE_CHARACTERS] for text in texts[::step]))
    return _by_script(sample, language) or _by_words(sample, language, least_words)


def in_other_language(texts: Sequence[str], known: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a dialogue is in none of the known languages but in one of some others; one of few different words
    is believed to be in a known one.

    Args:
        texts: its turns.
        known: codes of languages, at least one.
        others: codes of languages.
    """
    words = longer_words(texts)
    if len(words) <= WORDS_OF_DIALOGUE or any(len(words & _COMMON[code]) > 1 for code in known if code in _COMMON):
        return False
    return in_none_of(texts, known) and not in_none_of(texts, [code for code in others if code not in known])


def in_none_of(texts: Sequence[str], languages: Sequence[str]) -> bool:
    """Return whether there is evidence against each of some languages for a dialogue."""
    return all(contradict_language(texts, code, WORDS_OF_DIALOGUE) for code in languages)


def longer_words(texts: Sequence[str]) -> set[str]:
    """Return the different words of three letters and more, in small letters."""
    return set(_LONGER_WORD.findall(" ".join(texts).casefold()))


def _by_script(sample: str, language: str) -> OtherLanguage | None:
    expected = _SCRIPTS_OF.get(language, frozenset({"Latin"}))
    if sample.isascii() and "Latin" in expected:
        return None
    letters: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        if script := _script(character):
            letters[script] += count
    others = Counter({script: count for script, count in letters.items() if script not in expected})
    total = letters.total()
    if total < LEAST_LETTERS:
        return None
    if others.total() > OTHER_LETTERS * total:
        (script, _), *_ = others.most_common(1)
        writes = _SCRIPTS[script].split()
        found = writes[0] if len(writes) == 1 else guess_language(sample) if script == "Latin" else None
        why = f"{others.total() / total:.0%} of its letters are in another script, mostly {script}"
        return OtherLanguage(why, found)
    if language == "ja" and not letters["Hiragana"]:
        return OtherLanguage("it has no hiragana", "zh")
    return None


@lru_cache(maxsize=4096)
def _script(character: str) -> str | None:
    """Return the script of a letter; null for other characters, and letters of unlisted scripts."""
    first = unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
    script = "Han" if first == "CJK" else first.capitalize()
    return script if script in _SCRIPTS else None


def _by_words(sample: str, language: str, least_words: int) -> OtherLanguage | None:
    words = _WORDS.sample_text(sample)
    if len(words) < least_words:
        return None
    known = _fraction_known(words, language)
    if known is not None and known >= LEAST_KNOWN:
        return None
    guess = guess_language(sample)
    if guess is not None and _dictionaries(guess) == _dictionaries(language):
        return None
    if known is not None:
        return OtherLanguage(f"{known:.0%} of its commonest words are known in {language!r}", guess)
    if guess is None or (_fraction_known(words, guess) or 0) < LEAST_KNOWN:
        return None
    return OtherLanguage(f"its words are those of {guess!r}", guess)


def _dictionaries(language: str) -> tuple[str, ...]:
    return _DICTIONARIES.get(language, (language,))


def _fraction_known(words: Sequence[str], language: str) -> float | None:
    dictionaries = _dictionaries(language)
    try:
        return sum(_known(word, dictionaries) for word in words) / len(words)
    except ValueError:  # no dictionary
        return None


@lru_cache(maxsize=2**16)  # four times as fast, as these are the most frequent words
def _known(word: str, dictionaries: tuple[str, ...]) -> bool:
    return simplemma.in_target_language(word, dictionaries) > 0
