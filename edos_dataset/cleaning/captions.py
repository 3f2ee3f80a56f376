"""The conventions of captions: who speaks, what sounds, what is sung, and who made the file."""

import re

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
# Words that come before a colon, or begin what comes before one, without being anybody's name.
_ORDINARY_WORDS = """
a i i'm i'll it it's its you your he his she her we our they their my me this that these those there here what when
where who why how which the and but or so because if then as for from with without to at by on in of off out up about
after before once is are was were be been do does did has have had can could will would should must may might not no
yes yeah yep nope oh ah hey hi hello ok okay well now just only also always never maybe remember look listen see wait
think imagine know guess say says said tell ask asks answer answers question questions note notes notice warning
caution attention danger update correction translation quote unquote result results rule rules problem problems
solution fact facts truth lie lies point option options choice step tip hint clue example exhibit case lesson moral
plan goal idea theory conclusion verdict secret subject topic title chapter episode scene act part section item number
name names age address date time place position status state type category reason reasons reminder message news
newsflash headline breaking ps p.s pss fyi re cc attn nb eg e.g ie i.e one two three four five six seven eight nine ten
first second third fourth fifth last next finally another other thing things word words everything something nothing
anything only simple easy bottom line long story good bad great best worst big new old more most less meaning
definition instructions ingredients recipe motto dear today tomorrow tonight yesterday monday tuesday wednesday
thursday friday saturday sunday january february march july september october november december spoiler trivia like
previously q scenario dare wrong right left true false total score final same because including namely especially
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_DASH = re.compile(r"(?:[-‐‑‒–—―−]\s*|>>+\s*)+")
_GOES_ON = re.compile(r"(?:--+|—)\s*(?=[^\W\d_A-Z])(?=[a-zß-öø-ÿ])")

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|(?<![\w*])\*+[^*\s][^*\n]*\*+(?![\w*])")
_MARK_OF_SOUND = re.compile(r"[()\[\]*]")
_SMILEY = re.compile(r"[:;=]-?\)|[:;]-? ?\($", re.MULTILINE)
_STRAY = re.compile(r"[\[\]()]")
_SPACE_BEFORE_MARK = re.compile(r"(?<!\s)\s+(?=[,.!?;])")

_NOTES = re.compile("[♩♪♫♬¶]+")
_SUNG = re.compile("[♩♪♫♬¶]+[^♩♪♫♬¶]*[♩♪♫♬¶]+")
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
_FOREIGN = (
    r"(?:untertitel(?:ung)?|übersetzung|felirat(?:ok)?|fordította|fordítás|szöveg|időzítés|subtítulos|traducción"
    r"|traduction|sous-titr\w+|sottotitoli|traduzione|legendas|tradução|ondertitel\w+|vertaling)"
    r"\b\s*(?::|von\b|por\b|par\b|di\b|door\b|a cura\b)"
)
_OPENING_CREDIT = re.compile(
    rf"\W*(?:(?:english |german |hungarian )?{_MAKER}{_JOBS}\s*(?:\bby\b|:)|{_WORK}{_JOBS}\s*(?:\bby:?|:)\s*{_NAMES}"
    rf"|{_FOREIGN}|downloaded from\b|advertise your (?:product|brand)|support us and become)",
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
    "www.",
    "http",
    "@",
    "subtitle",
    "addic7ed",
    "subscene",
    "podnapisi",
    "allsubs",
    "rights reserved",
    "©",
    "copyright",
    "captioning",
)
_UNFINISHED_CREDIT = re.compile(r"(?i)(?:\bby|:)\s*$")

_SPOKEN = re.compile(r"[^\W_]")


def has_speech(text: str) -> bool:
    """Return whether a text has any letter or digit."""
    return _SPOKEN.search(text) is not None


def is_credit(text: str) -> bool:
    """Return whether a line names the makers of the file or advertises, such as "Subtitles by ..." or an address of the
    web.

    "I translated it by hand" is none: apart from addresses and sites, the words must open the line, and ordinary ones
    (translated, edited, made) must be followed by a short line of names.
    """
    if _OPENING_CREDIT.match(text):
        return True
    lower = text.lower()
    return any(sign in lower for sign in _CREDIT_SIGNS) and _CREDIT.search(text) is not None


def credits_next(text: str) -> bool:
    """Return whether a credit line breaks off before the name that the next line gives."""
    return _UNFINISHED_CREDIT.search(text) is not None


def count_notes(text: str) -> int:
    """Return how many musical notes, or # in their place (OPUS, older captions), mark a line as sung."""
    notes = len(_NOTES.findall(text))
    return text.count("#") if not notes and "#" in text and _HASH.match(text) else notes


def strip_song(text: str) -> str:
    """Return what a line has before or after the song between its two notes; nothing where the notes do not part song
    and speech.
    """
    spoken = _SUNG.sub(" ", text) if len(_NOTES.findall(text)) == 2 else ""
    return spoken if has_speech(spoken) else ""


def strip_sounds(text: str) -> str:
    """Return lines, joined by line feeds, without the descriptions of sounds in brackets or asterisks; a bracket may
    span lines, whose number stays.
    """
    if _MARK_OF_SOUND.search(text) is None:
        return text
    text = _SMILEY.sub("", text)
    for _ in range(2):  # brackets in brackets
        text = _BRACKETS.sub(lambda sound: "\n" * sound.group().count("\n") or " ", text)
    return _STRAY.sub(" ", text)


def tidy(text: str) -> str:
    """Return a line without what stripping left: doubled spaces, spaces before marks, an orphaned colon."""
    return _SPACE_BEFORE_MARK.sub("", " ".join(text.split())).lstrip(":; ")


def split_dash(text: str) -> tuple[str, bool]:
    """Return a line without its leading dashes (or >>), and whether they announce a new speaker.

    A double or long dash before a small letter takes up an interrupted sentence: no new speaker.
    """
    if goes_on := _GOES_ON.match(text):
        return text[goes_on.end() :], False
    dash = _DASH.match(text)
    return (text[dash.end() :], True) if dash else (text, False)


def name_speaker(text: str) -> str:
    """Return a line whose speaker stands in brackets, "[NAME]: ...", with the name in front instead."""
    match = _BRACKETED_SPEAKER.match(text)
    if match is None or _SOUND_WORD.search(match[1]) or not _is_name(match[1], True):
        return text
    return f"{match[1]}: {text[match.end() :]}"


def split_speaker(text: str, english: bool = True, semicolon: bool = False) -> tuple[str, str | None]:
    """Return a line without "NAME:" at its start, and the name.

    A name is up to five words in capitals, or up to three capitalised words, none of which is an ordinary word that may
    stand before a colon ("Note:", "One thing:"). Where the language may capitalise any noun (not English) a capitalised
    name needs a title such as Mr. With `semicolon` one or two words in capitals may have that instead, as optical
    character recognition reads it, if what follows is not in capitals.
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
    if not has_speech(name) or words[-1] in _ORDINARY:
        return False
    if name.isupper():
        return words[0] not in _ORDINARY or (words[0] == "the" and len(words) > 1)
    if not all(word[0].isupper() for word in re.split(r"[ /]+", name) if word not in ("and", "&", "")):
        return False
    return not any(word in _ORDINARY for word in words if word != "and") and (
        english or _HAS_TITLE.match(name) is not None
    )
