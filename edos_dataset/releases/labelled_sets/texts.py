"""The texts of labelled sets as subtitles have them: repaired, detokenised, without what nobody says."""

import re

from edos_dataset.cleaning.captions import has_speech, strip_sounds, tidy
from edos_dataset.cleaning.markup import strip_markup
from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.encodings import repair
from edos_dataset.text import hash64

_CURLY = str.maketrans("‘’“”", "''\"\"")
_SPLIT_SHORT_FORM = re.compile(r"(?<=\w) ?' ?(?=(?:s|t|m|ll|re|ve|d|clock)\b)", re.IGNORECASE)
_SPLIT_SLANG = re.compile(r"\b(gon|wan) (?=na\b)|\b(got|ought|out) (?=ta\b)|\b(gim|lem) (?=me\b)", re.IGNORECASE)
_SPLIT_HYPHEN = re.compile(r"(?<=\w) - (?=[a-z])")
_CUT_OFF = re.compile(r"[(\[](?=\w)[^()\[\]]*$")
_NOTES = re.compile("[♩♪♫♬¶]+")
_PLACEHOLDER = re.compile(r"\[(PERSON|NAME|LOCATION)\]")
_NAMES = "Alex Anna Ben Carol Charlie Dan Emma Frank Helen Jack James Jane Joe John Kate Laura Mark Mary Paul Sarah Tom"
_PLACES = "America Berlin Boston Canada Chicago England France London Mexico Miami Paris Rome Spain Texas Tokyo"
_MEANT = {"PERSON": _NAMES.split(), "NAME": _NAMES.split(), "LOCATION": _PLACES.split()}


def unquoted(value: str) -> str:
    """Return a value without the quotes that a program put around it as in CSV, those within it doubled."""
    inner = value.strip()[1:-1]
    is_quoted = value.strip() == f'"{inner}"' and not inner.replace('""', "").count('"')
    return inner.replace('""', '"') if is_quoted and '""' in inner else value


def plain_text(text: str) -> str:
    """Return a text with its encoding repaired, entities and tags undone, straight quotes and single blanks.

    Quotes become straight because sets mix both forms, by the season or by the annotator, and people type straight
    ones; without that a model could learn to tell the sets apart.
    """
    return strip_markup(repair(text)[0].translate(_CURLY).replace("\\'", "'"))


def spoken_text(text: str) -> str:
    """Return a plain text without notes, sounds and stage directions, those too that are cut off before their bracket
    closes; empty if nothing is said.
    """
    said = tidy(strip_sounds(_CUT_OFF.sub("", _NOTES.sub(" ", plain_text(text)))))
    return said if has_speech(said) else ""


def untokenised(text: str, language: str = "en") -> str:
    """Return a text whose words and marks stood apart as people write it: "I ' m gon na , well - known" becomes
    "I'm gonna, well-known".
    """
    if language == "en":
        text = _SPLIT_SHORT_FORM.sub("'", text)
        text = _SPLIT_SLANG.sub(lambda word: word[0].rstrip(), text)
        text = _SPLIT_HYPHEN.sub("-", text)
    return " ".join(detokenize([text], language)[0].split())


def with_names(text: str) -> str:
    """Return a text with a name in place of [PERSON] and [NAME] and a place in that of [LOCATION], chosen by the text.

    Subtitles have names, and so have the neutral sentences of XED; a placeholder would tell a model that a sentence is
    one of those that people found emotional.
    """
    number = hash64(text)

    def named(match: re.Match[str]) -> str:
        choice = _MEANT[match[1]]
        return choice[(number + match.start()) % len(choice)]

    return _PLACEHOLDER.sub(named, text)
