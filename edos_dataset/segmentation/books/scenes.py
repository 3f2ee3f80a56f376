"""Who may say each turn of a book, and what speaks for it: features that `attribution` reads.

Each turn has candidates: the characters whom the narration and the speech around it mention. The features of each are
the evidence for it: dialogue tags, pronouns and their gender, who is addressed, who spoke before, how long ago somebody
was mentioned.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.segmentation.books.characters import Cast, Character
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speech import Turn

_EARLIER, _LAST, _LEAD, _SPEECH, _NARRATION = range(5)
"""Where a name stands: in paragraphs of narration before the turn, the last of these, narration before it in its own
paragraph, in its speech, or in the narration between and behind it."""

_BACK, _AHEAD, _TAGS = 14, 3, 8  # turns in which somebody has to be mentioned, or tagged, to be a candidate
_NEAR = (1, 2, 3, 4)  # distances of turns whose tags are read
REACH = 6  # the same, in the sums of those in an even and an odd distance
DECAY = 0.75  # weight of a turn relative to one that is nearer by one
_TELLS, _SHARE = 3, 0.02  # turns of "I said", and their share, in a book with a narrator who speaks
_CALLS, _CALLED = 3, 0.4  # how often, and which share of those addressed beside what the narrator says, is the narrator
_FEW_TAGS = 0.3  # tags of the narrator by name, relative to those with "I"
_MOST_CHARACTERS, _MOST_CELLS, _MOST_CANDIDATES = 300, 4_000_000, 40
"""Characters of a book, the product of characters and turns, and candidates of a turn: they bound the memory."""
_ADDRESS = re.compile(r", ((?:[A-Z][\w’'-]+ )?[A-Z][\w’'-]+)(?=[,.!?])")
_SIGN: Mapping[str | None, float] = {"m": 1.0, "f": -1.0}
_ENDS = frozenset(",.!?;:—-…’'\"")


class Scene(NamedTuple):
    """The turns of a book with the evidence about who speaks.

    Attributes:
        cast: the characters.
        turns: number of each candidate's turn, ascending; the last one of each turn is nobody of them.
        characters: number of each candidate; -1 is nobody of them.
        features: of the candidates, a row each.
        dialogues: number of the dialogue of each turn.
        called: number of the turn → of the character who is addressed in it by name.
    """

    cast: Cast
    turns: np.ndarray
    characters: np.ndarray
    features: Floats
    dialogues: np.ndarray
    called: Mapping[int, int]


class _Book:
    """A book as arrays: its turns, and the names in and around them."""

    def __init__(self, dialogues: Sequence[Sequence[Turn]], rules: Rules) -> None:
        turns = [turn for dialogue in dialogues for turn in dialogue]
        self.turns = turns
        self.dialogue = np.repeat(np.arange(len(dialogues)), [len(each) for each in dialogues])
        parts_of_text = list(_parts(turns))
        texts = [part for _, _, part in parts_of_text]
        of_part, kind_of_part = (np.array([each[column] for each in parts_of_text], np.int64) for column in (0, 1))
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        starts = np.cumsum(lengths + 1) - lengths - 1
        text = "\n".join(texts)
        self.persons = np.array([turn.person or "" for turn in turns])
        tells = np.count_nonzero(self.persons == "i") >= max(_TELLS, _SHARE * len(turns))
        tagged = [turn.name for turn in turns if turn.name]
        if tells:  # tags do not name the narrator: others do, who speak to them
            tagged += _addressed(turns)
        self.cast = cast = Cast(text, starts, kind_of_part != _SPEECH, tagged, rules)
        most = min(_MOST_CHARACTERS, _MOST_CELLS // max(1, len(turns)))
        del cast.characters[most:]
        self._place_mentions(text, starts, of_part, kind_of_part, most)
        self._place_tags(most, bool(tells))
        self.size = len(turns), len(cast.characters)
        first_speech = np.full(len(turns), 0, np.int64)
        speech = kind_of_part == _SPEECH
        first_speech[of_part[speech]] = starts[speech]
        self.begin = first_speech
        self._measure(rules)

    def _place_mentions(
        self, text: str, starts: np.ndarray, of_part: np.ndarray, kind_of_part: np.ndarray, most: int
    ) -> None:
        """Keep the mentions of the first characters, with their turns, kinds and places."""
        cast = self.cast
        numbers = cast.numbers
        known = numbers < most
        parts = cast.parts[known]
        self.mentioned, self.mention_start = numbers[known], cast.starts[known]
        self.mention_turn, self.mention_kind = of_part[parts], kind_of_part[parts]
        self.mention_offset = self.mention_start - starts[parts]
        ends = cast.ends[known]
        self.called = self.mention_kind == _SPEECH
        for place in np.flatnonzero(self.called).tolist():
            self.called[place] = _is_called(text, int(self.mention_start[place]), int(ends[place]))

    def _place_tags(self, most: int, tells: bool) -> None:
        """Keep who is named by the tag of each turn, -1 for nobody; where the narrator speaks, "I" is one of them."""
        self.tag = np.array([-1 if turn.name is None else self.cast.of(turn.name) for turn in self.turns])
        self.tag[self.tag >= most] = -1
        self.narrator = self._narrator() if tells else -1
        if tells:
            self.tag[(self.persons == "i") & (self.tag < 0)] = self.narrator

    def _measure(self, rules: Rules) -> None:
        """Measure each turn and each character."""
        turns, characters = self.turns, self.cast.characters
        beats = [(turn.narration[0] if turn.narration else "", turn.lead, (turn.gap or ("",))[-1]) for turn in turns]
        self.beats = [
            np.array([_SIGN.get(_person_at(texts[place], rules), 0.0) for texts in beats]) for place in range(3)
        ]
        self.gap_length = np.array([sum(map(len, t.gap)) + len(t.lead) for t in turns], float)
        self.speech_length = np.array([sum(map(len, t.texts)) for t in turns], float)
        self.tail_length = np.array([sum(map(len, t.narration)) for t in turns], float)
        self.gender = np.array([_SIGN.get(character.gender, 0.0) for character in characters])
        self.described = np.array([float(character.described) for character in characters])
        self.lowered = np.array([float(each.described and not each.has_capital) for each in characters])

    def _narrator(self) -> int:
        """Return the number of the narrator: of a character who is called by name beside what the narrator says, else
        of a new character without a name.
        """
        own = np.flatnonzero(self.persons == "i")
        beside = np.unique([own - 1, own + 1])
        chosen = self.called & np.isin(self.mention_turn, beside)
        characters = self.cast.characters
        calls = np.bincount(self.mentioned[chosen], minlength=len(characters))
        calls[np.unique(self.tag[own][self.tag[own] >= 0])] = 0
        tags = np.bincount(self.tag[self.tag >= 0], minlength=len(characters))
        calls[tags > _FEW_TAGS * len(own)] = 0
        best = int(calls.argmax()) if len(calls) else 0
        if len(calls) and calls[best] >= max(_CALLS, _CALLED * calls.sum()):
            return best
        characters.append(Character(len(characters), ""))
        return len(characters) - 1

    def count(self, chosen: np.ndarray) -> np.ndarray:
        """Return how many of the chosen mentions of each character each turn has."""
        flat = self.mention_turn[chosen] * self.size[1] + self.mentioned[chosen]
        return np.bincount(flat, minlength=self.size[0] * self.size[1]).reshape(self.size).astype(np.float32)

    def latest(self, chosen: np.ndarray, before: bool) -> np.ndarray:
        """Return the place of the latest of the chosen mentions of each character up to each turn, or before it."""
        found = np.full(self.size, -1, np.int64)
        np.maximum.at(found, (self.mention_turn[chosen], self.mentioned[chosen]), self.mention_start[chosen])
        found = np.maximum.accumulate(found, axis=0)
        return np.concatenate([np.full((1, self.size[1]), -1, np.int64), found[:-1]]) if before else found


def _parts(turns: Sequence[Turn]) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of the text that are not empty, each with the number of its turn and its kind."""
    for place, turn in enumerate(turns):
        *earlier, last = turn.gap or ("",)
        for kind, text in (
            *((_EARLIER, text) for text in earlier), (_LAST, last), (_LEAD, turn.lead),
            (_SPEECH, turn.text()), (_NARRATION, " ".join(turn.narration)),
        ):  # fmt: skip
            if text:
                yield place, kind, text


def _person_at(text: str, rules: Rules) -> str | None:
    """Return the person of the pronoun with which narration begins; None if it begins with none."""
    return rules.pronouns.get(text[:12].partition(" ")[0].strip(",").lower()) if text else None


def _addressed(turns: Sequence[Turn]) -> list[str]:
    """Return the names by which people are often addressed."""
    names = Counter(name for turn in turns for text in turn.texts for name in _ADDRESS.findall(text))
    return [name for name, count in names.items() if count >= _CALLS]


def _is_called(text: str, start: int, end: int) -> bool:
    """Return whether a name in speech is that of somebody addressed: marks stand on both sides."""
    before = text[start - 2 : start]
    behind = text[end : end + 1]
    opened = start == 0 or before[-1:] == "\n" or before in (", ", "! ", "? ", ". ", "; ", "— ", "- ", "--")
    return opened and (behind in _ENDS or behind == "\n" or behind == "") or before == ", " and behind in _ENDS


def scene_of(dialogues: Sequence[Sequence[Turn]], rules: Rules) -> Scene | None:
    """Return the turns of a book with their candidates and features; None where it names nobody.

    Args:
        dialogues: the turns of each conversation, in the order of the book, each with the narration before it.
        rules: of the language.
    """
    if not any(turn.name for dialogue in dialogues for turn in dialogue):
        return None
    book = _Book(dialogues, rules)
    count, cast = book.size
    kinds = book.mention_kind
    narrated = kinds != _SPEECH
    everywhere = book.count(np.ones(len(kinds), bool))
    tags = np.zeros(book.size, np.float32)
    with_tag = np.flatnonzero(book.tag >= 0)
    tags[with_tag, book.tag[with_tag]] = 1
    near = (_window(everywhere, _BACK, _AHEAD) + _window(tags, _TAGS, _TAGS)) > 0
    if near.sum(axis=1).max() > _MOST_CANDIDATES:
        near &= _latest_of(np.where(near, book.latest(np.ones(len(kinds), bool), False) + 2, 0))
    rows, columns = np.nonzero(near)
    # nobody of them comes last of each turn
    turns = np.concatenate([rows, np.arange(count)])
    characters = np.concatenate([columns, np.full(count, -1)])
    order = np.argsort(turns, kind="stable")
    own = _own_features(book, tags, everywhere, narrated, rows, columns)
    shared = _turn_features(book, np.bincount(rows, minlength=count))
    features = np.zeros((len(turns), 1 + shared.shape[1] + own.shape[1]), np.float32)
    features[len(rows) :, 0] = 1
    features[:, 1 : 1 + shared.shape[1]] = shared[turns]
    features[: len(rows), 1 + shared.shape[1] :] = own
    called = dict(zip(book.mention_turn[book.called].tolist(), book.mentioned[book.called].tolist(), strict=True))
    return Scene(book.cast, turns[order], characters[order], features[order], book.dialogue, called)


def _latest_of(places: np.ndarray) -> np.ndarray:
    """Return which characters were mentioned last before each turn, no more than the most that are candidates."""
    least = np.partition(places, -_MOST_CANDIDATES, axis=1)[:, -_MOST_CANDIDATES]
    return np.asarray(places >= np.maximum(least, 1)[:, None])


def _window(counts: np.ndarray, back: int, ahead: int) -> np.ndarray:
    """Return the sums over the turns from `back` before each to `ahead` behind it."""
    sums = np.concatenate([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)])
    places = np.arange(len(counts))
    return np.asarray(sums[np.minimum(places + ahead + 1, len(counts))] - sums[np.maximum(places - back, 0)])


def _turn_features(book: _Book, candidates: np.ndarray) -> Floats:
    persons, dialogue = book.persons, book.dialogue
    lengths = np.bincount(dialogue)
    begins = np.cumsum(lengths) - lengths
    place = np.arange(len(dialogue)) - begins[dialogue]
    named = np.array([turn.name is not None for turn in book.turns])
    verbs = np.array([bool(turn.verbs) for turn in book.turns])
    described = np.where(book.tag >= 0, book.described[book.tag], 0)
    columns = [
        *(persons == person for person in ("", "m", "f", "i", "p")), named, verbs, described, place == 0, place == 1,
        np.log1p(place), np.log1p(lengths[dialogue]), np.log1p(book.gap_length), np.log1p(book.speech_length),
        np.log1p(book.tail_length), np.log1p(candidates),
        np.array([len(turn.gap) > 0 for turn in book.turns]),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def _own_features(
    book: _Book, tags: np.ndarray, everywhere: np.ndarray, narrated: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> Floats:
    kinds, found = book.mention_kind, []
    at = rows, columns
    tag = book.tag[rows]
    person = np.select([book.persons == "m", book.persons == "f"], [1.0, -1.0], 0.0)
    gender = book.gender[columns]
    is_tag = tag == columns
    narrator = (book.persons == "i")[rows]
    found += [is_tag, (tag >= 0) & ~is_tag, book.described[columns], is_tag * book.described[columns], narrator]
    found += [book.lowered[columns], is_tag * book.lowered[columns], columns == book.narrator]
    agreement = person[rows] * gender
    found += [agreement > 0, agreement < 0, (person[rows] != 0) & (gender == 0), gender != 0]
    for beat in book.beats:
        found += [beat[rows] * gender > 0, beat[rows] * gender < 0]
    # where the turn's own paragraph and those before mention them
    for kind in (_EARLIER, _LAST, _LEAD, _NARRATION, _SPEECH):
        counts = book.count(kinds == kind)
        found.append(np.minimum(counts[at], 3))
    for kind in (_LAST, _LEAD, _NARRATION):
        found.append(book.count((kinds == kind) & (book.mention_offset < 20))[at] > 0)
    found.append(book.count(book.called)[at] > 0)
    # who was mentioned last before the speech, in narration and in all
    latest = book.latest(narrated & (kinds != _NARRATION), False)
    latest = np.maximum(latest, book.latest(kinds == _NARRATION, True))
    found += _recency(book, latest, rows, columns)
    spoken = book.latest(~narrated, True)
    found.append(np.log1p(np.where(spoken[at] >= 0, book.begin[rows] - spoken[at], 20_000)).clip(0, 10))
    # their part in the book and nearby
    total = tags.sum(axis=0)
    share = np.log1p(total)[columns]
    found += [share, share - np.log1p(total.max()), np.log1p(everywhere.sum(axis=0))[columns]]
    near = _window(tags, REACH + 4, REACH + 4)
    found.append(np.log1p(near[at] - tags[at]))
    found.append(np.log1p(_window(everywhere, 6, 2)[at]))
    found += _neighbours(book, tags, gender, rows, columns)
    return np.stack([np.asarray(each, np.float32) for each in found], axis=1)


def _recency(book: _Book, latest: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> list[np.ndarray]:
    """Return how long ago candidates were mentioned, whether as the last of all, and as the last of their gender."""
    places = latest[rows, columns]
    distance = np.where(places >= 0, book.begin[rows] - places, 20_000)
    found = [np.log1p(np.maximum(distance, 0)).clip(0, 10)]
    person = np.select([book.persons == "m", book.persons == "f"], [1.0, -1.0], 0.0)
    own = latest.max(axis=1)[rows]
    found.append((places == own) & (places >= 0))
    fits = np.where(book.gender[None, :] * person[:, None] < 0, -1, latest)
    found.append((places == fits.max(axis=1)[rows]) & (places >= 0) & (person[rows] * book.gender[columns] >= 0))
    for gender in (1.0, -1.0):
        of_gender = np.where(book.gender[None, :] == gender, latest, -1).max(axis=1)
        found.append((book.gender[columns] == gender) & (places == of_gender[rows]) & (places >= 0))
    return found


def _neighbours(
    book: _Book, tags: np.ndarray, gender: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> list[np.ndarray]:
    """Return who speaks before and behind by tags, pronouns, and who is addressed."""
    called = book.count(book.called)
    spoken = book.count(book.mention_kind == _SPEECH)
    tail = book.count(book.mention_kind == _NARRATION)
    person = np.select([book.persons == "m", book.persons == "f"], [1.0, -1.0], 0.0)
    narrator = (book.persons == "i").astype(float)
    found: list[np.ndarray] = []
    same_parity: Any = 0.0
    other_parity: Any = 0.0
    for step in (*_NEAR, *(-near for near in _NEAR)):
        other = rows + step
        inside = (other >= 0) & (other < len(book.dialogue))
        other = other.clip(0, len(book.dialogue) - 1)
        together = inside & (book.dialogue[other] == book.dialogue[rows])
        found.append(tags[other, columns] * together)
        if abs(step) <= 2:
            found.append(tags[other, columns] * (inside & ~together))
            agreement = person[other] * gender * together
            found += [agreement > 0, agreement < 0]
            found.append(called[other, columns] * together > 0)
            found.append((spoken[other, columns] * together > 0) & ~(called[other, columns] > 0))
            found.append(narrator[other] * together)
        if step in (-1, 1, -2):
            found.append(np.minimum(tail[other, columns], 2) * together)
    for step in (*range(1, REACH + 1), *range(-REACH, 0)):
        other = rows + step
        inside = (other >= 0) & (other < len(book.dialogue))
        other = other.clip(0, len(book.dialogue) - 1)
        weight = tags[other, columns] * (inside & (book.dialogue[other] == book.dialogue[rows])) * DECAY ** abs(step)
        if step % 2:
            other_parity = other_parity + weight
        else:
            same_parity = same_parity + weight
    return [*found, same_parity, other_parity, same_parity - other_parity]
