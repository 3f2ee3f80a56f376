"""Conversion of texts of labelled sets to the form of subtitles: repaired, detokenised, and only what is spoken."""

import re

from edos_dataset.cleaning.captions import has_speech, strip_markup, strip_sounds, tidy
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
    """Remove CSV quoting from a value: the quotes around it, and the doubling of those within it."""
    inner = value.strip()[1:-1]
    is_quoted = value.strip() == f'"{inner}"' and not inner.replace('""', "").count('"')
    return inner.replace('""', '"') if is_quoted and '""' in inner else value


def plain_text(text: str) -> str:
    """Return a text with repaired encoding, without entities and tags, with straight quotes and single spaces.

    Quotes become straight because sets mix both forms, by season or by annotator, while people type straight ones; a
    model could otherwise learn to distinguish the sets.
    """
    return strip_markup(repair(text)[0].translate(_CURLY).replace("\\'", "'"))


def spoken_text(text: str) -> str:
    """Return a plain text without musical notes, sounds and stage directions, even if their closing bracket is missing;
    empty if nothing is said.
    """
    said = tidy(strip_sounds(_CUT_OFF.sub("", _NOTES.sub(" ", plain_text(text)))))
    return said if has_speech(said) else ""


def untokenised(text: str, language: str = "en") -> str:
    """Join tokens as people write them: "I ' m gon na , well - known" becomes "I'm gonna, well-known"."""
    if language == "en":
        text = _SPLIT_SHORT_FORM.sub("'", text)
        text = _SPLIT_SLANG.sub(lambda word: word[0].rstrip(), text)
        text = _SPLIT_HYPHEN.sub("-", text)
    return " ".join(detokenize([text], language)[0].split())


def with_names(text: str) -> str:
    """Replace [PERSON] and [NAME] by a name and [LOCATION] by a place, both chosen by the hash of the text.

    Subtitles and the neutral sentences of XED contain names, so placeholders would reveal to a model that annotators
    found a sentence emotional.
    """
    number = hash64(text)

    def named(match: re.Match[str]) -> str:
        choice = _MEANT[match[1]]
        return choice[(number + match.start()) % len(choice)]

    return _PLACEHOLDER.sub(named, text)
