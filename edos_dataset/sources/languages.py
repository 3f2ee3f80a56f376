"""Which language a text is in, by its commonest words, well enough to choose between encodings."""

import re
from collections import Counter

# Of every word only what ASCII can show, as the text is not yet decoded; words common to several languages count for
# each.
_WORDS = {
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
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_TOKEN = re.compile(r"[a-z]+")

LEAST_SHARE = 0.06
"""Share of the words that must be among the commonest of a language."""

LEAD = 1.2
"""How many times as many as of the next language."""


def guess_language(text: str) -> str | None:
    """Return the code of the language, or null if its commonest words are too few or those of another are as many; only
    Latin script is known.

    Args:
        text: some thousand characters; anything but ASCII letters parts words.
    """
    words = _TOKEN.findall(text.lower())
    counts = Counter(language for word in words for language in _LANGUAGES_OF.get(word, ()))
    ranked = [*counts.most_common(2), ("", 0), ("", 0)]
    (best, most), (_, next_most) = ranked[:2]
    return best if most >= max(LEAST_SHARE * len(words), 3) and most >= LEAD * next_most else None
