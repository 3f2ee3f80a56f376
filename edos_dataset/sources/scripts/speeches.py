"""What a screenplay holds, whatever its format: scenes and speeches, as they are found from top to bottom."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edos_dataset.sources.subtitles.speakers import key_of, one_spelling
from edos_dataset.text import normal_form

VOICE_OVER, OFF_SCREEN = "voice-over", "off-screen"
"""How a speaker who is not seen is heard: over the scene, or from somewhere near."""

_VOICE_OVER = re.compile(r"v\W{0,2}\s?[o0]\b\W{0,4}|voice\W?over|vo\b|narration", re.IGNORECASE)
_OFF_SCREEN = re.compile(
    r"[o0]\W{0,2}\s?[sc]\b\W{0,4}|off\b(?:[\s-]?(?:screen|camera|stage))?|(?:voix )?off\b|hors[- ]champ", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\W{0,4}(?:cont(?:inu(?:ed|ing|es?))?|cont\W?d|more|suite|suite et fin|mehr|forts(?:etzung)?|wieder)\W{0,4}",
    re.IGNORECASE,
)
_LONGEST = 200
_LONGEST_OPEN = 1000  # characters of a note that is never closed
_CONTINUED = re.compile(r"[\s(,–—-]{0,4}\bcont(?:inu(?:ed|ing)|['’.]?d)?\W{0,4}$", re.IGNORECASE)
_UNSEEN = re.compile(r"[\s,-]{1,4}(?:(v\.\s?[o0]\.?)|[o0]\.\s?[sc]\.?)$", re.IGNORECASE)
_COMMAS = re.compile(r"[/,]")
_BRACKET = re.compile(r"[()\[\]]")
_ENDS = re.compile(r"""[.!?…:;,"'”’–—-]\s*$""")
_SPACES = re.compile(r"\s+")


class Cue(NamedTuple):
    """The line above a speech.

    Attributes:
        name: the speaker's name, as written.
        voice: VOICE_OVER, OFF_SCREEN or null.
        note: what else stands in brackets behind the name ("into phone"), or null.
        extended: whether anything stands in brackets behind the name.
    """

    name: str
    voice: str | None = None
    note: str | None = None
    extended: bool = False


class Piece(NamedTuple):
    """A part of a speech that has one note of the writer, or none.

    Attributes:
        speaker: name of the speaker, as written.
        text: what is said.
        scene: number of the scene, from 1; 0 before the first heading.
        manner: the writer's note ("furious"), or null.
        voice: VOICE_OVER, OFF_SCREEN or null.
        speech: number of the speech, from 0.
    """

    speaker: str
    text: str
    scene: int
    manner: str | None
    voice: str | None
    speech: int


def cue_of(text: str) -> Cue:
    """Return the parts of the line above a speech: "JOE'S VOICE (V.O.) (CONT'D)"."""
    name, voice, extended = text[:_LONGEST].rstrip(" ^*_"), None, False
    notes: list[str] = []
    while "(" in name and _ends_with_note(name):
        before, _, group = name.rpartition("(")
        if not before.strip() or ")" in group.rstrip(" )"):
            break
        name, group, extended = before.rstrip(), group.rstrip(" )"), True
        heard, more = _read_note(group)
        voice = heard or voice
        notes = [*more, *notes]
    name = _CONTINUED.sub("", name) if " " in name else name
    bare = _UNSEEN.sub("", name)
    if bare != name and bare:
        voice, name, extended = VOICE_OVER if "v" in name[len(bare) :].lower() else OFF_SCREEN, bare, True
    return Cue(_SPACES.sub(" ", name).strip(" :-–—*_"), voice, ", ".join(notes) or None, extended)


def _read_note(group: str) -> tuple[str | None, list[str]]:
    """Return what a bracket beside a name says of the voice, and its other parts, last first."""
    voice: str | None = None
    others: list[str] = []
    for part in map(str.strip, [group] if _VOICE_OVER.fullmatch(group.strip()) else _COMMAS.split(group)):
        heard = _voice_of(part)
        voice = heard or voice
        if part and not heard and not _GOES_ON.fullmatch(part):
            others.insert(0, part)
    return voice, others


def _voice_of(note: str) -> str | None:
    return VOICE_OVER if _VOICE_OVER.fullmatch(note) else OFF_SCREEN if _OFF_SCREEN.fullmatch(note) else None


def _ends_with_note(name: str) -> bool:
    return name.endswith((")", "(")) or name.count("(") > name.count(")")


class Script:
    """The speeches of a screenplay, in order."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.scene = 0
        self.speeches = 0

    def new_scene(self) -> None:
        """Begin a scene."""
        self.scene += 1

    def add(self, cue: Cue, lines: Sequence[str]) -> None:
        """Add a speech.

        Args:
            cue: who speaks.
            lines: its lines, with the writer's notes in brackets.
        """
        before = len(self.pieces)
        for manner, text in split_notes(joined(lines), cue.note):
            piece = Piece(cue.name, text, self.scene, manner, cue.voice, self.speeches)
            self.pieces.append(piece)
        self.speeches += len(self.pieces) > before


def joined(lines: Sequence[str]) -> str:
    """Return lines as one text; a note at the beginning of a line is marked by a zero before it. A hyphen at the end of
    a line is a word's own, as nothing is hyphenated in screenplays.
    """
    text: list[str] = []
    before = ""
    for line in lines:
        glued = before.endswith("-") and not before.endswith(("--", " -")) and line[:1].isalpha()
        text += ["" if not text or glued else " ", "\0" if line.startswith(("(", "[")) else "", line]
        before = line
    return "".join(text)


def split_notes(text: str, first: str | None = None) -> Iterator[tuple[str | None, str]]:
    """Yield what is said, in parts with the note that precedes each, or null.

    A bracket is a note at the beginning of a line and after a mark of punctuation; elsewhere it is said.

    Args:
        text: result of `joined`.
        first: note that stands beside the name.
    """
    parts: list[tuple[list[str], str]] = []
    notes, start = [first] if first else [], 0
    for begin, end in _brackets(text):
        if begin < start or not _may_begin_note(text, begin):
            continue
        if said := _tidy(text[start:begin]):
            parts.append((notes, said))
            notes = []
        start = end
        note = _tidy(text[begin + 1 : end - 1])
        if note and not _GOES_ON.fullmatch(note):
            notes.append(note)
    if said := _tidy(text[start:]):
        parts.append((notes, said))
    elif notes and parts and not parts[-1][0]:
        parts[-1] = notes, parts[-1][1]
    for kept, said in parts:
        yield "; ".join(kept) or None, said


def _may_begin_note(text: str, begin: int) -> bool:
    return not begin or text[begin - 1] == "\0" or _ENDS.search(text, max(begin - 3, 0), begin) is not None


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the outermost brackets; the last may never be closed."""
    depth = begin = 0
    for match in _BRACKET.finditer(text):
        if match[0] in "([":
            begin = begin if depth else match.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield begin, match.end()
    if depth and len(text) - begin < _LONGEST_OPEN:
        yield begin, len(text) + 1


def _tidy(text: str) -> str:
    text = normal_form(" ".join(text.replace("\0", "").split()))
    return text if any(map(str.isalnum, text)) else ""


def with_cast(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces in which a voice has its owner's name, if that person speaks elsewhere: "JOE'S VOICE" is Joe, not
    seen; and one spelling for each name.
    """
    cast = {key_of(piece.speaker) for piece in pieces}
    names = {piece.speaker for piece in pieces}
    owners = {name: owner for name in names if (owner := _owner(name)) and key_of(owner) in cast}
    named = [
        piece._replace(speaker=owners[piece.speaker], voice=piece.voice or OFF_SCREEN)
        if piece.speaker in owners
        else piece
        for piece in pieces
    ]
    spelt = one_spelling([piece.speaker for piece in named])
    return [piece._replace(speaker=name or piece.speaker) for piece, name in zip(named, spelt, strict=True)]


_OF_OWNER = re.compile(r"(.+?)(?:['’]S|S['’])[ .]VOICE|VOICE OF (.+)|(?:O\.S\.|V\.O\.|OFF) (.+)", re.IGNORECASE)


def _owner(name: str) -> str | None:
    match = _OF_OWNER.fullmatch(name)
    return next(filter(None, match.groups()), None) if match else None
