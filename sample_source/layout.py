"""Layout: the turns of a screenplay as timed subtitle blocks, before any file format."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from sample_source.screenplay import Insert, Pause, Scene, Screenplay, Speech, chance

WIDTH = 42
"""Most characters in a line; a block has at most two lines."""
READING_SPEED = 15
"""Characters that a viewer reads in a second."""
LONGEST_PAUSE = 4.0
"""Seconds of silence inside a scene, at most, so that two of its turns stay under the 5 seconds that end a dialogue."""
PAUSE_AT_INSERT = 2.4
"""The same for a pause beside an insert, which takes time of its own."""

_FINAL = re.compile(r"[.?!…][\"')]*$")
_ABBREVIATIONS = {"Mr.", "Mrs.", "Ms.", "Dr.", "St.", "Prof."}


@dataclass(frozen=True)
class Word:
    """A word with its punctuation; `ends` marks the last of a sentence."""

    text: str
    ends: bool = False


@dataclass(frozen=True)
class Part:
    """What one speaker says in one block; `speaker` is None for an insert."""

    words: tuple[Word, ...]
    speaker: str | None
    staged: bool = False

    @property
    def text(self) -> str:
        """The words with single blanks."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True)
class Content:
    """What a block shows: one part, or two with a line and perhaps a dash each."""

    parts: tuple[Part, ...]
    dashes: tuple[bool, ...] = (False,)


@dataclass(frozen=True)
class Block:
    """One subtitle on the screen, times in milliseconds; `place` is (scene, block of the scene), both from 1."""

    start: int
    end: int
    content: Content
    place: tuple[int, int]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of its content."""
        return self.content.parts

    @property
    def spoken(self) -> bool:
        """Whether it holds speech and not an insert."""
        return self.parts[0].speaker is not None


@dataclass(frozen=True)
class Look:
    """What the layout needs to know of a file's style."""

    names: bool = False
    sound_hints: bool = False
    spoil: Callable[[str, float], str] | None = field(default=None, compare=False)
    sharing: float = 0.7


def split_sentences(text: str) -> list[Word]:
    """Cut speech into words and mark the sentence ends: . ? ! ... before a capital, a digit or a quote, and the end."""
    pieces = text.split()
    words = [Word(piece, _ends_sentence(piece, follow)) for piece, follow in pairwise(pieces)]
    return [*words, Word(pieces[-1], True)]


def _ends_sentence(piece: str, follow: str) -> bool:
    return bool(_FINAL.search(piece)) and piece not in _ABBREVIATIONS and not follow[0].islower()


def wrap(text: str) -> list[str] | None:
    """Break text into one or two lines of at most WIDTH characters, as even as can be; None where it does not fit."""
    if len(text) <= WIDTH:
        return [text]
    longest_left = len(text) - 1 - WIDTH
    cuts = [index for index, char in enumerate(text) if char == " " and longest_left <= index <= WIDTH]
    if not cuts:
        return None
    cut = min(cuts, key=lambda index: abs(2 * index - len(text)))
    return [text[:cut], text[cut + 1 :]]


def _chunks(words: list[Word]) -> Iterator[list[Word]]:
    """Fill block after block, ending early at a sentence end, or else at a comma, that comes late enough."""
    while words:
        most = 1
        while most < len(words) and wrap(" ".join(word.text for word in words[: most + 1])):
            most += 1
        cut = most
        if most < len(words):
            ends = [n for n in range(1, most + 1) if words[n - 1].ends and n >= 0.45 * most]
            commas = [n for n in range(1, most + 1) if words[n - 1].text.endswith(",") and n >= 0.6 * most]
            cut = (ends or commas or [most])[-1]
        yield words[:cut]
        words = words[cut:]


def _speech_words(speech: Speech, look: Look) -> list[Word]:
    words = split_sentences(speech.text)
    if look.spoil:
        spoilt = [look.spoil(word.text, chance(speech.text, index)) for index, word in enumerate(words)]
        words = [Word(text, word.ends) for text, word in zip(spoilt, words, strict=True) if text]
    if speech.stage and look.sound_hints:
        words = [Word(piece) for piece in f"({speech.stage})".split()] + words
    if look.names:
        # OPUS cuts a sentence after a colon that a capital follows, so the name is a sentence by itself.
        words = [Word(f"{speech.speaker}:", True), *words]
    return words


def _opening(words: list[Word]) -> list[Word]:
    """Return the first sentence, with the name before it."""
    ends = [index for index, word in enumerate(words, 1) if word.ends and not word.text.endswith(":")]
    return words[: ends[0]]


def _fill(scene: Scene, look: Look, key: tuple[object, ...]) -> Iterator[Pause | Content]:
    """Yield what each block of a scene holds, and the pauses.

    The end of a turn and the opening sentence of the next share a block, at times, when both fit in a line. Both lines
    have a dash when the first turn is whole in its line, else the second alone; and now and then neither has.
    """
    rest: list[Word] | None = None
    for index, item in enumerate(scene):
        follow = scene[index + 1] if index + 1 < len(scene) else None
        if isinstance(item, Pause):
            beside = Insert in (type(scene[index - 1]), type(follow))
            yield Pause(min(item.seconds, PAUSE_AT_INSERT if beside else LONGEST_PAUSE))
            continue
        if isinstance(item, Insert):
            yield Content((Part(tuple(split_sentences(item.text)), None),))
            continue
        shown = _speech_words(item, look) if rest is None else rest
        parts = [Part(tuple(chunk), item.speaker, item.stage is not None) for chunk in _chunks(shown)]
        whole, rest = rest is None and len(parts) == 1, None
        if parts and isinstance(follow, Speech):
            words = _speech_words(follow, look)
            opening = Part(tuple(_opening(words)), follow.speaker, follow.stage is not None)
            fits = max(len(parts[-1].text), len(opening.text)) <= WIDTH - 2
            if fits and chance(key, index, "share") < look.sharing * (1 if whole else 0.5):
                dashed = chance(key, index, "dash") < 0.85
                yield from (Content((part,)) for part in parts[:-1])
                yield Content((parts[-1], opening), (whole and dashed, dashed))
                rest = words[len(opening.words) :]
                continue
        yield from (Content((part,)) for part in parts)


def lay_out(film: Screenplay, look: Look) -> list[Block]:
    """Give every turn its blocks and times; the same film and look give the same blocks."""
    blocks: list[Block] = []
    clock = 20_000 + round(20_000 * chance(film.imdb, "start"))
    for number, scene in enumerate(film.scenes, 1):
        if number > 1:
            clock += 6_000 + round(12_000 * chance(film.imdb, number, "scene"))
        place, last = 0, None
        for content in _fill(scene, look, (film.imdb, number)):
            if isinstance(content, Pause):
                clock += round(1000 * content.seconds)
                continue
            place += 1
            blocks.append(_time(content, clock, (number, place), last, film.imdb))
            last, clock = content.parts[-1].speaker, blocks[-1].end
    return blocks


def _time(content: Content, clock: int, place: tuple[int, int], last: str | None, key: str) -> Block:
    """Start a block shortly after the one before and keep it on the screen for as long as it takes to read it."""
    first = content.parts[0].speaker
    gap = 50 + round((100 if first == last else 550) * chance(key, place, "gap"))
    start = clock + (60 if first is None or last is None else gap)
    characters = sum(len(part.text) for part in content.parts)
    length = 1000 if first is None else max(1000, round(1000 * characters / READING_SPEED))
    return Block(start, start + length + round(150 * chance(key, place, "length")), content, place)
