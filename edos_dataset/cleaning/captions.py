"""The conventions of captions: markup, errors of optical character recognition, speakers, sounds, songs and credits."""

import html
import re

from edos_dataset.sources.subtitles.speakers import ORDINARY
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
least leave left life line listen live lot lots love lose loss lost will well still till tell tells call called kill
feel fell full girl guilty hell hello help held hold old only really real people place please pull play plan problem
possible school self small smell smile sell simple single sleep slow soul steal talk tall table world while whole
wall walk would could should able black fall felt family final finally follow himself herself itself myself yourself
ourselves themselves actually probably totally usually especially exactly absolutely ill I'll you'll he'll she'll
we'll they'll it'll told"""
_COMMON = frozenset(_COMMON_WORDS.split())

_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sgt|Capt|Lt|Sir|Lady|Father|Sister|Aunt|Uncle|Agent|Officer|Detective|Captain|Doctor"
    r"|Professor|President)"
)
_UPPER = r"[^\W\d_a-z][\w'’.\-/&#]*(?:,? [\w'’.\-/&#]+){0,4}"
_CAPITALISED = r"[^\W\d_a-z][\w'’.\-/]*(?:(?: (?:and|&|/))? [^\W\d_a-z][\w'’.\-/]*){0,2}"
_SPEAKER = re.compile(rf"({_UPPER}|{_CAPITALISED}) ?:(?![\d/\\])\s*")
_MISREAD_SPEAKER = re.compile(r"([A-Z][A-Z'’.-]{2,}(?: [A-Z'’.-]{2,})?);\s+(?=[^a-z]{0,3}[a-z])")
_BRACKETED_SPEAKER = re.compile(r"[\[(]([^\[\]()]{1,40})[\])] ?:\s*")
_HAS_TITLE = re.compile(rf"{_TITLE}\b")
_SOUND_WORD = re.compile(
    r"(?i)\b(?:\w+ing|laughs?|sighs?|gasps?|chuckles?|groans?|whispers?|sobs?|screams?|cries|coughs?|grunts?|sniffs?|giggles?)$"
)
_DASH = re.compile(r"(?:[-‐‑‒–—―−]\s*|>>+\s*)+")
_CONTINUES = re.compile(r"(?:--+|—)\s*(?=[^\W\d_A-Z])(?=[a-zß-öø-ÿ])")

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|(?<![\w*])\*+[^*\s][^*\n]*\*+(?![\w*])")
_MARK_OF_SOUND = re.compile(r"[()\[\]*]")
_SMILEY = re.compile(r"[:;=]-?\)|[:;]-? ?\($", re.MULTILINE)
_STRAY = re.compile(r"[\[\]()]")
_SPACE_BEFORE_MARK = re.compile(r"(?<!\s)\s+(?=[,.!?;])")

_NOTES = re.compile("[♩♪♫♬¶]+")
_SUNG = re.compile("[♩♪♫♬¶]+[^♩♪♫♬¶]*[♩♪♫♬¶]+")
_WORDS = re.compile(r"(?s)\w(?:.*\w)?")
_STARS = ("*", "~")
_HASH = re.compile(r"\W*#\s+\D|[^\w#]*#.*#$|.*(?:\s|[.,!?])#$")

_MAKER = (
    r"(?:sub(?:title)?s|subtitl(?:e|ed|ing)|captions|caption(?:ed|ing)|closed[- ]caption\w*|re-?sync\w*|sync\w*"
    r"|transcripts?|transcribed|encod(?:ed|ing)|ripped|corrections|corrected)"
)
_WORK = (
    r"(?:translat(?:ed|ion)|edited|timed|timing|adapted|adaptation|improved|proofread\w*|revised|revision|created"
    r"|provided|shared|uploaded|made)"
)
_JOBS = rf"(?:\W+(?:and\W+)?(?:{_MAKER}|{_WORK}))*"
_NAMES = r"(?-i:$|[A-Z\d~@\"'][\w.@)]*(?: [A-Z\d&~@(\"'][\w.@)]*){0,4}(?:[^.!?\w@)][^.!?\w]*)?(?<![.!?])$)"
_OTHER_LANGUAGES = (
    r"(?:untertitel(?:ung)?|übersetzung|felirat(?:ok)?|fordította|fordítás|szöveg|időzítés|subtítulos|traducción"
    r"|traduction|sous-titr\w+|sottotitoli|traduzione|legendas|tradução|ondertitel\w+|vertaling)"
    r"\b\s*(?::|von\b|por\b|par\b|di\b|door\b|a cura\b)"
)
_OPENING_CREDIT = re.compile(
    rf"\W*(?:(?:english |german |hungarian )?{_MAKER}{_JOBS}\s*(?:\bby\b|:)|{_WORK}{_JOBS}\s*(?:\bby:?|:)\s*{_NAMES}"
    rf"|{_OTHER_LANGUAGES}|downloaded from\b|advertise your (?:product|brand)|support us and become)",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"www\.\w|https?:|\w@\w+\.\w|\b(?:open|tv)?subtitles?\.(?:org|net|com)|\bopensubtitles\b|\baddic7ed\b"
    r"|\bsubscene\b|\bpodnapisi\b|\ballsubs\b|\brate this subtitle\b|\bchoose the best subtitles\b"
    r"|\ball rights reserved\b|(?:^|\s)©\s*[\da-z]|\bcopyright (?:\(c\)|\d{4})"
    r"|\bcaptioning (?:institute|center|centre|sponsored)\b|\bcaptions? copyright\b",
    re.IGNORECASE,
)
_CREDIT_SIGNS = (
    "www.", "http", "@", "subtitle", "addic7ed", "subscene", "podnapisi", "allsubs", "rights reserved", "©",
    "copyright", "captioning",
)  # fmt: skip
_FILM_WORK = r"(?:written|directed|produced|created|composed|photographed|edited|screenplay|story|music|cinematography)"
_FILM_CREDIT = re.compile(
    rf"\W{{0,8}}(?:(?:an? )?(?:[\w'’]{{1,30}} )?(?:film|movie|motion picture|production|series) (?:by|from)"
    rf"|(?:executive )?{_FILM_WORK}(?:\W{{1,3}}(?:and\W{{1,3}})?{_FILM_WORK}){{0,4}}(?: by|:)"
    rf"|(?:director|(?:executive |associate )?producer|screenwriter|composer)s?:?|(?:co-)?starring:?"
    rf"|based (?:up)?on (?:the|a) (?:novel|book|play|short story|story) (?:by|of))\s+{_NAMES}",
    re.IGNORECASE,
)
_UNFINISHED_CREDIT = re.compile(r"(?i)(?:\bby|:)\s*$")

_DOMAINS = r"(?:com|org|net|eu|tv|app|link|io|info|cc|xyz|site|live|club|online)"
# A web or mail address; one at the end of a line without a full stop is there to be visited, not said.
_ADDRESS = re.compile(
    rf"(?i:www\.\w|https?:|\w@\w+\.\w|(?<![\w-])\w[\w-]{{0,62}}\.(?:{_DOMAINS}|to)/\w|\w\.{_DOMAINS}[^\w.!?]*$)"
    r"|[@>:|]\s*[A-Z\d-]{2,}\.[A-Z]{2,4}$"
    r"|(?i:\b(?:telegram|twitter|instagram|facebook|discord|tiktok|youtube|follow|join)\b.{0,100}\s@\w{3})"
)

_SPOKEN = re.compile(r"[^\W_]")


def strip_markup(text: str) -> str:
    """Remove tags, overrides, entities and invisible characters from a line, and collapse its spaces.

    Entities are resolved twice, because some programs escape them again. A WebVTT voice tag becomes "NAME:", two
    apostrophes a quotation mark.
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
    """Correct confused l, I and 1 in an English line, and a lower-case pronoun I: "l'm", "lt", "wiII", "so do i".

    This is done only if the result is the pronoun or one of the common words in this module; "Al", "Ill" and "McIntyre"
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


def has_speech(text: str) -> bool:
    """Whether a text has any letter or digit."""
    return _SPOKEN.search(text) is not None


def is_credit(text: str) -> bool:
    """Whether a line names the makers of the file or advertises, such as "Subtitles by ..." or a web address.

    "I translated it by hand" is not a credit: apart from addresses and sites, the words must open the line, and
    ordinary ones (translated, edited, made) must be followed by a short line of names.
    """
    if _OPENING_CREDIT.match(text):
        return True
    lower = text.lower()
    return any(sign in lower for sign in _CREDIT_SIGNS) and _CREDIT.search(text) is not None


def is_film_credit(text: str) -> bool:
    """Whether the text of a block names the makers of the film: "A film by Marta Oliveira". Within a film these words
    may be said, so only its first and last blocks are judged so.
    """
    return _FILM_CREDIT.fullmatch(text) is not None


def has_address(text: str) -> bool:
    """Whether a line holds a web address that is there to be visited, not said in a sentence."""
    return ("." in text or "@" in text or "http" in text) and _ADDRESS.search(text) is not None


def credits_next(text: str) -> bool:
    """Whether a credit line breaks off before the name on the next line."""
    return _UNFINISHED_CREDIT.search(text) is not None


def count_notes(text: str) -> int:
    """Count the musical notes, or #, * and ~ instead (OPUS, older captions), that mark a line as sung."""
    notes = len(_NOTES.findall(text))
    if not notes and ("*" in text or "~" in text) and (stars := _stars(text)):
        return stars
    return text.count("#") if not notes and "#" in text and _HASH.match(text) else notes


def _stars(text: str) -> int:
    """Count the stars or tildes that stand before and behind all words of a line, apart from these."""
    words = _WORDS.search(text)
    if words is None or any(mark in words[0] for mark in _STARS):
        return 0
    before, behind = text[: words.start()], text[words.end() :]
    opening = max(map(before.rfind, _STARS))
    closing = min((behind.find(mark) for mark in _STARS if mark in behind), default=-1)
    opens = opening >= 0 and before[opening + 1 : opening + 2].isspace()
    closes = closing > 0 and behind[closing - 1].isspace()
    return opens + closes


def strip_song(text: str) -> str:
    """Return the speech outside the song between two notes of a line; empty if the notes do not separate song and
    speech.
    """
    spoken = _SUNG.sub(" ", text) if len(_NOTES.findall(text)) == 2 else ""
    return spoken if has_speech(spoken) else ""


def strip_sounds(text: str) -> str:
    """Remove sound descriptions in brackets or asterisks from lines joined by line feeds.

    A bracket may span lines; the number of lines stays the same.
    """
    if _MARK_OF_SOUND.search(text) is None:
        return text
    text = _SMILEY.sub("", text)
    for _ in range(2):  # for nested brackets
        text = _BRACKETS.sub(lambda sound: "\n" * sound.group().count("\n") or " ", text)
    return _STRAY.sub(" ", text)


def tidy(text: str) -> str:
    """Remove the remains of stripping in a line: doubled spaces, spaces before marks, an orphaned colon."""
    return _SPACE_BEFORE_MARK.sub("", " ".join(text.split())).lstrip(":; ")


def split_dash(text: str) -> tuple[str, bool]:
    """Return a line without its leading dashes (or >>), and whether they announce a new speaker.

    A double or long dash before a lower-case letter continues an interrupted sentence and announces no new speaker.
    """
    if continues := _CONTINUES.match(text):
        return text[continues.end() :], False
    dash = _DASH.match(text)
    return (text[dash.end() :], True) if dash else (text, False)


def name_speaker(text: str) -> str:
    """Return a line that begins with a bracketed speaker, "[NAME]: ...", with "NAME:" instead."""
    match = _BRACKETED_SPEAKER.match(text)
    if match is None or _SOUND_WORD.search(match[1]) or not _is_name(match[1], True):
        return text
    return f"{match[1]}: {text[match.end() :]}"


def split_speaker(text: str, english: bool = True, semicolon: bool = False) -> tuple[str, str | None]:
    """Return a line without "NAME:" at its start, and the name.

    A name is up to five words in capitals, or up to three capitalised words, none of which is an ordinary word that may
    precede a colon ("Note:", "One thing:"). In languages other than English, which may capitalise any noun, a
    capitalised name needs a title such as Mr. With `semicolon`, one or two words in capitals may precede a semicolon, a
    misread colon, if the rest is not in capitals.
    """
    match = _SPEAKER.match(text) or (_MISREAD_SPEAKER.match(text) if semicolon else None)
    if (
        match is None
        or not _is_name(match[1], english)
        or (text[match.end() :][:1].isdigit() and not match[1].isupper())
    ):
        return text, None
    return text[match.end() :], match[1]


def _is_name(name: str, english: bool) -> bool:
    words = [word.strip(".,").casefold() for word in re.split(r"[ /]", name)]
    if not has_speech(name) or words[-1] in ORDINARY:
        return False
    if name.isupper():
        return words[0] not in ORDINARY or (words[0] == "the" and len(words) > 1)
    if not all(word[0].isupper() for word in re.split(r"[ /]+", name) if word not in ("and", "&", "")):
        return False
    return not any(word in ORDINARY for word in words if word != "and") and (
        english or _HAS_TITLE.match(name) is not None
    )
