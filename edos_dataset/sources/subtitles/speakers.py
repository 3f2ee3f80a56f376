"""Speakers, from the marks in a whole file: "[Ben]", "(Anna)" on its own line, "2ND MAN:", "Ben's iPhone:".

A single line does not show whether "[Knocking] Come in." names a person, or whether "Listen: ..." names a speaker. So
all marks of a file are collected first, and their common features decide: most cues of a meeting begin with a name,
names recur, and people address each other by them. Capitals with a colon at the start of a line need no such context;
`cleaning.captions.split_speaker` reads them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edos_dataset.sources.parsed import Parsed

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
ORDINARY = frozenset(_ORDINARY_WORDS.split())
"""Words before a colon, or at the beginning of the text before it, that are not names."""

_SOUND_WORDS = """
applause laughter laughs laugh laughing chuckles chuckle giggles giggle snickers scoffs music musical song theme
silence gunshot gunshots gunfire explosion explosions thunder cheers cheering cheer noise noises static siren sirens
footsteps knock knocks beep beeps horn horns honk honks whistle whistles bell bells ring rings buzz buzzes buzzer hum
hums click clicks bark barks engine scream screams groan groans gasp gasps sigh sighs sighing cough coughs sob sobs
sniff sniffs sniffles grunt grunts whisper whispers whispered murmur murmurs chatter clatter crash crashes bang bangs
thud thuds pause beat inaudible unintelligible indistinct crosstalk audio video end continued continues instrumental
verse chorus intro outro bleep bleeps censored redacted cries cry weeps yells yell shouts shout moans whimpers pants
exhales inhales breath breathes clears throat groans hiccups burps snores yawns hisses growls roars meows chirps
opens closes slams creaks squeaks rattles rumbles splash splashes snap snaps pop pops tick ticks alarm alarms phone
telephone door doors wind rain water both-laugh mumbles mutters stammers stutters sarcastic sarcasm subtitle subtitles
caption captions commercial break recap flashback narration voiceover dramatic upbeat soft tense sad happy joking
musik applaus lachen lacht gelächter seufzt seufzen seufzer stille schreit flüstert weint hustet räuspert klopfen
stimmengewirr schüsse donner musique rires rire applaudissements soupir soupirs soupire cris pleure silence tousse
música risas ríe aplausos suspira suspiro grita llora susurra musica risate ride applausi sospira piange silenzio
muziek gelach lacht zucht applaus nevetés zene taps sóhajt
english spanish french german italian russian chinese japanese korean arabic hebrew hindi latin greek portuguese
dutch swedish polish turkish hungarian czech irish scottish mandarin cantonese farsi persian urdu language
"""
_SOUNDS = frozenset([*_SOUND_WORDS.split(), "foreign"])
"""Words in brackets that name nobody: sounds, manners of speaking, languages."""

_PEOPLE = (
    r"m[ae]n|wom[ae]n|boys?|girls?|guys?|lad(?:y|ies)|kids?|child(?:ren)?|crowd|narrator|announcer|reporter|host"
    r"|interviewer|interviewee|anchor|operator|dispatcher|voice|both|all|everyone|speaker|audience|chorus|computer"
    r"|male|female|teacher|student|doctor|nurse|officer|cop|soldier|guard|driver|waiter|waitress|patient|judge|moderator"
    r"|mann|frau|junge|mädchen|beide|alle|sprecher(?:in)?|homme|femme|tous|hombre|mujer|todos|uomo|donna|tutti"
)
_NUMBER = r"(?:#|no\.? ?)?(?:\d{1,3}|[a-z]|one|two|three|four)"
_ORDER = r"\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth"
_SOMEBODY = re.compile(
    rf"(?:the )?(?:(?:{_ORDER}|old|young|older|younger|little|another|other|male|female) )*(?:{_PEOPLE})"
    rf"(?:['’]s voice)?(?: {_NUMBER})?",
    re.IGNORECASE,
)
"""Unnamed people: "Old man", "2nd woman", "Reporter 1", "Both"."""
_NUMBERED = re.compile(
    rf"(?:(?:{_ORDER}) .+|(?:{_PEOPLE}|spk|locuteur|hablante|person|participant|teilnehmer|unknown(?: speaker)?)"
    r"[ _-]?(?:#|no\.? ?)?(?:\d{1,3}|[a-h]))",
    re.IGNORECASE,
)
"""Numbered speakers: "2nd man", "SPEAKER_01", "Speaker A"."""
_RELATIVE = re.compile(
    r"(.+)['’]s (?:mother|father|mom|mum|dad|brother|sister|wife|husband|son|daughter|friend|boss|voice|aunt|uncle"
    r"|grandmother|grandfather|grandma|grandpa|girlfriend|boyfriend|lawyer|secretary|assistant|i?phone|ipad|laptop)",
    re.IGNORECASE,
)
_PARTICLE_WORDS = "de van von der den la le di da del dos du el al bin ibn and & of the und y e et"
_PARTICLES = frozenset(_PARTICLE_WORDS.split())

_LEAD = r"((?:\s|<[^<>]*>|\{[^{}]*\}|[-‐‑‒–—―−>]|&gt;)*)"
_NUMBER_ALONE = re.compile(rf"{_LEAD}((?:speaker|spk|participant|interviewe[re])[ _-]?\d{{1,3}})\s*", re.IGNORECASE)
_BRACKET = r"[\[(]([^\[\]()<>{}♪♫]{1,60})[\])]"
_BRACKETED = re.compile(rf"{_LEAD}{_BRACKET}(?![\w'’])((?:\s|</?\w[^<>]*>)*):?\s*")
_CLOCK = r"\s{0,3}[\[(]?\d{1,2}:\d\d(?::\d\d)?[\])]?"
_BEFORE_COLON = re.compile(
    rf"{_LEAD}([^\s:：<>{{}}♪♫\"“„«\[(&‐-―−-][^:：<>{{}}♪♫]{{0,70}}?)((?:</\w+>)*)(?:{_CLOCK})?"
    r"\s?(?:：|:(?=\s|$|</))((?:</\w+>)*)\s*"
)
_INSIDE = re.compile(
    r"(?<=[.!?…\"”’»)\]])\s+(?P<dash>[-–—]\s*)?"
    rf"(?:{_BRACKET}:?|(?P<name>(?:\d\w\w )?[^\W\d_][\w'’.-]*(?: [\w'’.#-]+){{0,3}}):)\s+(?=\S)"
)
_SENTENCE_END = re.compile(r"[!?…;]|(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bJr)(?<!\b[A-Z])\.\s")
_PLAIN_CAPITALS = re.compile(r"[^\W\d_a-z][\w'’.\-/&#]*(?:,? [\w'’.\-/&#]+){0,4}")
_MANNER_IN_BRACKET = re.compile(
    r"(?:, (?-i:[a-zà-ÿ]).*|, \w+ing(?: .*)?| (?:on|over|through|via|to|from) .+)$", re.IGNORECASE | re.DOTALL
)
_MANNER_AFTER = re.compile(
    r"[\[(](?:[^\W\d_]+(?:\s?/\s?[^\W\d_]+)+|[a-z]\.?\s?[a-z]\.?(?:\s?cont['’]d)?|cont['’]d|voice-?over|off-?screen"
    r"|(?:on|over|through|via|to|from|in)\s[^\[\]()]*|\w+ing(?:\s[^\[\]()]*)?)[\])]$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_IN_SENTENCE = re.compile(r"(?<=[\w,;] )[^\W\d_]\w*")
_TAG = re.compile(r"<[^<>]*>")
_MAY_NAME = re.compile(r"[\[(:：]")
_DASHED = re.compile(r"(?:\s|<[^<>]*>|\{[^{}]*\})*(?:[-‐‑‒–—―−]|>>|&gt;)")

_MEETING, _SURELY = 0.5, 0.8
"""Fraction of cues that begin with a name from which on the file is taken to name its speakers; from the second value
on, with any words before the colon.
"""
_CAST = 0.2
"""The same for names in brackets."""
_LONGEST_NAME = 8  # words


class _Mark(NamedTuple):
    """A possible name of a speaker at the start of a line.

    Attributes:
        lead: tags and dashes before the name.
        name: the name, without the manner of speaking.
        colon: whether a colon follows it, rather than brackets enclosing it.
        sound: whether the bracket also describes a sound, as in "[Ben sighs]".
        rest: the rest of the line.
    """

    lead: str
    name: str
    colon: bool
    rest: str
    sound: bool = False

    @property
    def key(self) -> str:
        return key_of(self.name)

    @property
    def is_name_in_bracket(self) -> bool:
        return not self.colon and not self.sound and _is_name(self.name)


def key_of(name: str) -> str:
    """Return the form in which a speaker's names are compared: "BEN" and "Ben" are equal."""
    return " ".join(name.casefold().split()).strip(" .,\"'")


def name_speakers(parsed: Parsed) -> Parsed:
    """Return the lines of a file without the marks of speakers, but with the speakers that they name.

    A name in the middle of a line starts a new line. A line with only a name is removed if another line follows in its
    block. Further lines of a block without a dash have the same speaker.
    """
    if not any(_MAY_NAME.search(text) or _NUMBER_ALONE.fullmatch(text) for text in parsed.texts):
        return parsed
    marks = {place: mark for place, text in enumerate(parsed.texts) if (mark := _mark_of(text))}
    lines = list(_named_lines(parsed, marks, _Names(parsed, marks)))
    if lines == [(place, text, None) for place, text in enumerate(parsed.texts)]:
        return parsed
    origin = np.array([place for place, _, _ in lines], np.int64)
    taken = parsed.take(origin)
    before = taken.speakers or [None] * len(origin)
    is_split = len(np.unique(origin)) < len(origin)
    return replace(
        taken,
        ids=np.arange(1, len(origin) + 1, dtype=np.int32) if is_split else taken.ids,
        texts=[text for _, text, _ in lines],
        speakers=[speaker or known for (_, _, speaker), known in zip(lines, before, strict=True)],
    )


def one_voice_a_block(parsed: Parsed) -> Parsed:
    """Return the lines of a file without the speakers of blocks that have several."""
    if parsed.speakers is None:
        return parsed
    blocks = parsed.first_blocks.tolist()
    voices = Counter(block for block, _ in set(zip(blocks, parsed.speakers, strict=True)))
    named = [name if voices[block] == 1 else None for block, name in zip(blocks, parsed.speakers, strict=True)]
    return replace(parsed, speakers=named)


def _mark_of(text: str) -> _Mark | None:
    if match := _NUMBER_ALONE.fullmatch(text):
        return _Mark(match[1], match[2], False, "")
    if match := _BRACKETED.match(text):
        name = _MANNER_IN_BRACKET.sub("", " ".join(match[2].split()))
        who = _who_sounds(name)
        return _Mark(match[1], who or name, False, match[3].strip() + text[match.end() :], who is not None)
    match = _BEFORE_COLON.match(text)
    if match is None or _SENTENCE_END.search(match[2]) or len(match[2].split()) > _LONGEST_NAME:
        return None
    name = _MANNER_AFTER.sub("", match[2].strip()).rstrip()
    return _Mark(match[1], name, True, match[3] + match[4] + text[match.end() :])


def _who_sounds(name: str) -> str | None:
    """Return whom the description of a sound names: "Ben" for "Ben sighs" and "Ben laughing"; None if there is no
    sound.
    """
    words = name.split()
    for place, word in enumerate(words[1:], 1):
        if (word.casefold().endswith("ing") and len(word) > 4) or (word.casefold() in _SOUNDS and word is words[-1]):
            return " ".join(words[:place])
    return None


class _Names:
    """The names of the speakers of a file."""

    def __init__(self, parsed: Parsed, marks: dict[int, _Mark]) -> None:
        self._words: tuple[frozenset[str], frozenset[str]] | None = None
        self._texts = [marks[place].rest if place in marks else text for place, text in enumerate(parsed.texts)]
        before_colon = [mark for mark in marks.values() if mark.colon]
        self._colons = Counter(mark.key for mark in before_colon)
        blocks = parsed.first_blocks
        marks = _spoken(marks, blocks)
        self._brackets = Counter(mark.key for mark in marks.values() if mark.is_name_in_bracket)
        self._meeting = _share(blocks, marks, lambda mark: mark.colon and self._comes_back(mark))
        in_bracket = _share(blocks, marks, lambda mark: mark.is_name_in_bracket)
        self._has_cast = len(self._brackets) > 1 and in_bracket >= _CAST
        self._known = self._capitals(before_colon)
        self._known |= {mark.key for mark in marks.values() if self.names(mark)}

    def _capitals(self, before_colon: Iterable[_Mark]) -> set[str]:
        """Return the names in capitals before a colon; those in the middle of a line only if they recur."""
        opening = {mark.key for mark in before_colon if is_plain_capitals(mark.name)}
        found = (match["name"] for text in self._texts for match in _INSIDE.finditer(text) if match["name"])
        numbers = Counter(key_of(name) for name in found if name.isupper())
        return opening | (_repeated(numbers) - ORDINARY)

    def names(self, mark: _Mark) -> bool:
        """Return whether a mark names a speaker of this file."""
        key = mark.key
        if not key or not any(map(str.isalnum, key)):
            return False
        if mark.sound:
            return key in self._known and _WORD.search(mark.rest) is not None
        if key in self._known or _NUMBERED.fullmatch(mark.name):
            return True
        return self._is_before_colon(mark) if mark.colon else self._is_in_bracket(mark)

    def knows(self, name: str) -> bool:
        """Return whether a name in the middle of a line is a speaker's."""
        return key_of(name) in self._known or _NUMBERED.fullmatch(name) is not None

    def _comes_back(self, mark: _Mark) -> bool:
        return self._colons[mark.key] > 1 or _is_name(mark.name)

    def _is_before_colon(self, mark: _Mark) -> bool:
        relative = _RELATIVE.fullmatch(mark.name)
        if relative and (key_of(relative[1]) in self._known or self._is_called(relative[1])):
            return True
        if self._meeting < _MEETING:
            return False
        ordinary = mark.key.split()[0] in ORDINARY or mark.key.split()[-1] in ORDINARY
        if self._meeting >= _SURELY:
            return not ordinary or self._colons[mark.key] > 1
        return not ordinary and self._comes_back(mark)

    def _is_in_bracket(self, mark: _Mark) -> bool:
        if _SOMEBODY.fullmatch(mark.name):
            return True
        return _is_name(mark.name) and (self._has_cast or self._is_called(mark.name))

    def _is_called(self, name: str) -> bool:
        """Return whether each word of a name occurs capitalised inside a sentence, and never in lower case."""
        if self._words is None:
            text = "\n".join(self._texts)
            self._words = frozenset(_IN_SENTENCE.findall(text)), frozenset(_WORD.findall(text))
        inside, words = self._words
        parts = [part.capitalize() if part.isupper() else part for part in _WORD.findall(name)]
        return bool(parts) and all(part in inside and part.lower() not in words for part in parts)


def _spoken(marks: dict[int, _Mark], blocks: np.ndarray) -> dict[int, _Mark]:
    """Return the marks that are followed by speech in their block."""
    last = np.r_[blocks[1:] != blocks[:-1], True]
    return {place: mark for place, mark in marks.items() if mark.rest.strip() or not last[place]}


def _repeated(numbers: Counter[str]) -> set[str]:
    return {key for key, number in numbers.items() if number > 1}


def _share(blocks: np.ndarray, marks: dict[int, _Mark], holds: Callable[[_Mark], bool]) -> float:
    """Return the fraction of cues with a mark for which a condition holds."""
    found = {int(blocks[place]) for place, mark in marks.items() if holds(mark)}
    return len(found) / max(len(np.unique(blocks)), 1)


def is_anonymous(name: str) -> bool:
    """Return whether a speaker has no name: "Man", "2nd woman", "SPEAKER_01"."""
    return bool(_SOMEBODY.fullmatch(name) or _NUMBERED.fullmatch(name))


def is_plain_capitals(name: str) -> bool:
    """Return whether a name before a colon is recognised without the context of its file: "BEN", "MAN 1"."""
    words = name.casefold().split()
    return name.isupper() and _PLAIN_CAPITALS.fullmatch(name) is not None and not {words[0], words[-1]} & ORDINARY


def _is_name(name: str) -> bool:
    """Return whether a text looks like a name: one to four capitalised words, none of them ordinary."""
    words = re.split(r"[\s/]+", name)
    bare = [word.strip(".,'’\"").casefold() for word in words]
    if len(words) > 4 or not all(bare) or not words[0][0].isupper() or any(map(_is_no_name, bare)):
        return False
    if len(words) == 1 and bare[0].endswith("ly"):
        return False
    return all(not word[0].islower() or word in _PARTICLES for word in words)


def _is_no_name(word: str) -> bool:
    return word in ORDINARY or word in _SOUNDS or (word.endswith("ing") and len(word) > 5)


def _named_lines(parsed: Parsed, marks: dict[int, _Mark], names: _Names) -> Iterator[tuple[int, str, str | None]]:
    """Yield the index in the file, the text and the speaker (or None) of each line."""
    blocks = [*parsed.first_blocks.tolist(), None]
    block, speaker, waiting = -1, None, False  # waiting: the name was alone on the previous line
    for place, text in enumerate(parsed.texts):
        mark = marks.get(place)
        if blocks[place] != block or (_DASHED.match(text) and not waiting):
            block, speaker, waiting = blocks[place], None, False
        if mark and names.names(mark):
            if mark.colon and is_plain_capitals(mark.name):
                speaker = None
            elif _WORD.search(_TAG.sub("", mark.rest)):
                speaker, text = mark.name, mark.lead + mark.rest
            elif blocks[place + 1] == block and not _opens_with_mark(marks.get(place + 1), names):
                speaker, waiting = mark.name, True
                continue
        waiting = False
        for piece, inner in _pieces(text, names):
            speaker = inner or speaker
            yield place, piece, speaker


def _opens_with_mark(mark: _Mark | None, names: _Names) -> bool:
    return mark is not None and names.names(mark)


def _pieces(text: str, names: _Names) -> Iterator[tuple[str, str | None]]:
    """Split a line at names in its middle, where another speaker begins."""
    start, speaker = 0, None
    for match in _INSIDE.finditer(text):
        name = _MANNER_IN_BRACKET.sub("", " ".join(match[2].split())) if match[2] else match["name"]
        if names.knows(name) and text[start : match.start()].strip():
            yield text[start : match.start()], speaker
            start, speaker = match.end(), name
    yield text[start:], speaker


def one_spelling(speakers: Sequence[str | None]) -> list[str | None]:
    """Return the speakers of a document with one spelling each: the first that is not in capitals, if there is one."""
    spelt: dict[str, str] = {}
    for name in speakers:
        if name is not None and (key_of(name) not in spelt or spelt[key_of(name)].isupper() > name.isupper()):
            spelt[key_of(name)] = name
    return [name if name is None else spelt[key_of(name)] for name in speakers]
