"""The lines of a screenplay that are no speech: headings of scenes, transitions, and what belongs to the page."""

import re

_TIME = (
    r"(?:day|night|morning|evening|afternoon|dawn|dusk|noon|midnight|sunrise|sunset|twilight|later|continuous"
    r"|same(?: time)?|moments? later|jour|nuit|matin|soir|tag|nacht|abend|morgen|día|noche|giorno|notte)"
)
_NUMBER = r"(?:[A-Z]{0,2}\d{1,4}[A-Z]{0,3}[.)]?(?:\s{0,3}[-–]\s{0,3}\d{1,4}[A-Z]?)?\s{1,40})?"
_PLACE = (
    r"(?:int|ext|i/e|e/i|est|interior|exterior|intérieur|interieur|extérieur|exterieur|innen|au(?:ss|ß)en|interno|esterno"
    r"|interiör|exteriör)"
)
HEADING = re.compile(rf"{_NUMBER}\W?{_PLACE}(?:\.|\s{{0,4}}[:/-]|\s)\W{{0,20}}\w", re.IGNORECASE)
"""The heading of a scene: "12A INT. KITCHEN - NIGHT"."""

_AT_A_TIME = re.compile(
    rf"\w.{{0,9}}?[-–—.,(]\s{{0,3}}(?:[\w'’]{{1,20}}\s{{1,3}}){{0,3}}{_TIME}\W{{0,5}}$", re.IGNORECASE
)
_NUMBERED_TWICE = re.compile(r"([A-Z]?\d{1,3}[A-Z]?)[.)]?\s{1,40}\S.*\s\1[.)]?")
_ACT = re.compile(
    r"\W{0,4}(?:(?:act|akt|acte)\s{1,4}(?:[ivx\d]{1,5}|one|two|three|four|five)\b"
    r"|(?:scene|scène|szene|escena|scena)\s{0,4}(?:[ivx\d]{1,5}\b|one\b|two\b|three\b|four\b|five\b|[:.-]|change|break)"
    r"|(?:opening|closing|end)\s{1,4}(?:credits|titles?|scene)\b|(?:teaser|cold open|prologue|epilogue|tag)\W{0,4}$)",
    re.IGNORECASE,
)
_TRANSITION = re.compile(
    r"\W{0,4}(?:(?:[\w'’-]{1,20}\s{1,4}){0,4}(?:cut|dissolve|fade|wipe|iris|segue|flash|pan|back)s?"
    r"(?:\s{1,4}(?:back|in|out|to|up|on|from|into|down|through|white|black)){0,4}"
    r"|.{0,60}\bTO\s{0,4}:|the end|fin|ende|fondu.{0,30}|coupez?.{0,20}|over(?:black)?:?)\W{0,20}",
    re.IGNORECASE,
)
_PAGE = re.compile(
    r"\W{0,20}(?:(?:page\s{0,4})?[a-z]?\d{1,4}[a-z]?|\(?(?:more|mehr|suite|a suivre)\)?"
    r"|(?:[A-Z]{0,2}\d{1,4}[A-Z]{0,3}\W{1,20})?cont(?:inued|inues|['’]d)?\b(?:\W{1,20}[A-Z]?\d{1,4}[A-Z]?){0,3}"
    r"|rev(?:ised|isions?|\.).{0,50}|.{0,40}\b(?:draft|revision|revised)\b.{0,40}\d.{0,20})\W{0,20}",
    re.IGNORECASE,
)
_DIRECTION = re.compile(
    r"\b(?:angle|close(?:[|-]?up)?s?|closer|shot|pov|p\.o\.v|view|insert|series|montage|camera|pan|zoom"
    r"|intercut|cut|fade|dissolve|superimpose|super|title|titles?|credits?|flash(?:back|es)?|back\sto"
    r"|screen|later|continuous|tracking|wide|wider|reverse|point\sof\sview|moving|beginning|omitted|resume"
    r"|sequence|ext|int|meanwhile|same\stime|moments|scene|end\sof|begin|freeze|split|crane|aerial"
    r"|establishing|inside|outside|music|sound|sfx|vfx|card|caption|subtitle|reads?|omit|slow\smotion"
    r"|image|legend|act|chapter|part|episode|draft|copyright|written\sby|screenplay|based\son)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:at|in|on|under|above|below|behind|over|to|from|and|or|but|with|without|near|next|as|then|now|he|she|it|they|we|i"
    r"|his|her|their|that|this|there|these|with|by|through|into|across|along|around|toward|towards|down|up|out|off)\b",
    re.IGNORECASE,
)
_PLACES = re.compile(
    r"\b(?:r(?:oom|oad|oof|ooftop|estaurant)|office|house|street|kitchen|corridor|hall|hallway|car|bedroom|bathroom|lobby"
    r"|bridge|alley|building|apartment|church|school|bar|park|beach|forest|desert|city|town|airport|station|hospital|den"
    r"|garage|basement|attic|yard|backyard|door|window|night|day|morning|evening|dawn|dusk|afternoon|door|wall|floor)\W{0,5}$",
    re.IGNORECASE,
)


def is_heading(text: str) -> bool:
    """Return whether a line surely is the heading of a scene, an act or a part."""
    return bool(HEADING.match(text)) or (len(text) < 80 and _ACT.match(text) is not None)


def may_be_heading(text: str) -> bool:
    """Return whether a line between two blank ones is a heading without INT. or EXT.: "MEL'S DRIVE-IN--NIGHT"."""
    return len(text) < 100 and text.isupper() and bool(_AT_A_TIME.search(text) or _NUMBERED_TWICE.fullmatch(text))


def is_transition(text: str) -> bool:
    """Return whether a line says how one scene gives way to the next: "CUT TO:"."""
    if len(text) >= 70 or not (text.isupper() or text.endswith(":")):
        return False
    return _TRANSITION.fullmatch(text) is not None


def is_of_page(text: str) -> bool:
    """Return whether a line is a number of a page, or says that scene or speech go on: "(MORE)", "CONTINUED: (2)"."""
    return len(text) < 100 and _PAGE.fullmatch(text) is not None


def is_direction(text: str) -> bool:
    """Return whether a line in capitals directs the camera or is a title: "CLOSE ON JOE"."""
    return _DIRECTION.search(text) is not None


def is_no_name(text: str) -> bool:
    """Return whether a line in capitals begins like a phrase, not like a name: "AT THE TABLE"."""
    return _NO_NAME.match(text) is not None


def is_place(text: str) -> bool:
    """Return whether a line in capitals ends like a place or a time of day: "HAUK'S OFFICE"."""
    return _PLACES.search(text) is not None
