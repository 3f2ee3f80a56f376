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
class Block:
    """One subtitle on the screen, times in milliseconds; `place` is (scene, block of the scene), both from 1."""

    start: int
    end: int
    parts: tuple[Part, ...]
    place: tuple[int, int]
    dashed: bool = False


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
    words = [
        Word(piece, re.search(r"[.?!…][\"')]*$", piece) is not None and piece not in _ABBREVIATIONS and not follow[0].islower())
        for piece, follow in pairwise(pieces)
    ]
    return [*words, Word(pieces[-1], True)]


def wrap(text: str) -> list[str] | None:
    """Break text into one or two lines of at most WIDTH characters, as even as can be; None where it does not fit."""
    if len(text) <= WIDTH:
        return [text]
    cuts = [index for index, char in enumerate(text) if char == " " and index <= WIDTH and len(text) - index - 1 <= WIDTH]
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


def _speech_parts(speech: Speech, look: Look) -> list[Part]:
    words = split_sentences(speech.text)
    if look.spoil:
        spoilt = [look.spoil(word.text, chance(speech.text, index)) for index, word in enumerate(words)]
        words = [Word(text, word.ends) for text, word in zip(spoilt, words, strict=True) if text]
    if speech.stage and look.sound_hints:
        words = [Word(piece) for piece in f"({speech.stage})".split()] + words
    if look.names:
        # OPUS cuts a sentence after a colon that a capital follows, so the name stands as a sentence of its own.
        words = [Word(f"{speech.speaker}:", True), *words]
    return [Part(tuple(chunk), speech.speaker, speech.stage is not None) for chunk in _chunks(words)]


def _shares_block(first: list[Part], second: list[Part]) -> bool:
    """Whether two turns, whole in one part each, fit as the two dash lines of one block."""
    return len(first) == len(second) == 1 and max(len(first[0].text), len(second[0].text)) <= WIDTH - 2


def _pair(scene: Scene, look: Look, key: tuple[object, ...]) -> Iterator[tuple[Part, ...] | Pause]:
    """Yield what each block of a scene holds, and the pauses."""
    items = [_speech_parts(item, look) if isinstance(item, Speech) else item for item in scene]
    index = 0
    while index < len(items):
        item = items[index]
        follow = items[index + 1] if index + 1 < len(items) else None
        index += 1
        if isinstance(item, Pause):
            beside = index > 1 and isinstance(items[index - 2], Insert) or isinstance(follow, Insert)
            yield Pause(min(item.seconds, PAUSE_AT_INSERT if beside else LONGEST_PAUSE))
        elif isinstance(item, Insert):
            yield (Part(tuple(split_sentences(item.text)), None),)
        elif isinstance(follow, list) and _shares_block(item, follow) and chance(key, index, "pair") < look.sharing:
            yield (item[0], follow[0])
            index += 1
        else:
            yield from ((part,) for part in item)


def lay_out(film: Screenplay, look: Look) -> list[Block]:
    """Give every turn its blocks and times; the same film and look give the same blocks."""
    blocks: list[Block] = []
    clock = 20_000 + round(20_000 * chance(film.imdb, "start"))
    for number, scene in enumerate(film.scenes, 1):
        if number > 1:
            clock += 6_000 + round(12_000 * chance(film.imdb, number, "scene"))
        place, last = 0, None
        for content in _pair(scene, look, (film.imdb, number)):
            if isinstance(content, Pause):
                clock += round(1000 * content.seconds)
                continue
            place += 1
            blocks.append(_time(content, clock, (number, place), last, film.imdb))
            last, clock = content[-1].speaker, blocks[-1].end
    return blocks


def _time(parts: tuple[Part, ...], clock: int, place: tuple[int, int], last: str | None, key: str) -> Block:
    """Start a block shortly after the one before and keep it on the screen for as long as it takes to read it."""
    same = last is not None and last == parts[0].speaker
    gap = 50 + round((100 if same else 550) * chance(key, place, "gap"))
    start = clock + (60 if parts[0].speaker is None or last is None else gap)
    characters = sum(len(part.text) for part in parts)
    length = 1000 if parts[0].speaker is None else max(1000, round(1000 * characters / READING_SPEED))
    dashed = len(parts) == 2 and chance(key, place, "dash") < 0.85
    return Block(start, start + length + round(150 * chance(key, place, "length")), parts, place, dashed)
