"""Who says each turn of a book, learned from novels of which people have marked every speaker.

Each turn has candidates: the characters whom the narration and the speech around it mention. A small network reads the
evidence for each (dialogue tags, pronouns and their gender, who is addressed, who spoke before, how long ago somebody
was mentioned) and gives each a score; the softmax over the candidates of a turn, and over "none of them", is the
probability. A second network reads the same and the probabilities of the turns around, so that what is known of one
turn is used for its neighbours: in a conversation people alternate. `training/train_book_speakers.py` makes the
weights; `evaluation/novels.py` measures them on novels that they were not trained on.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.segmentation.books.characters import Cast, Character
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.turns import Turn, name_by_turns

_EARLIER, _LAST, _LEAD, _SPEECH, _NARRATION = range(5)
"""Where a name stands: in paragraphs of narration before the turn, the last of these, narration before it in its own
paragraph, in its speech, or in the narration between and behind it."""

_BACK, _AHEAD, _TAGS = 14, 3, 8  # turns in which somebody has to be mentioned, or tagged, to be a candidate
_NEAR = (1, 2, 3, 4)  # distances of turns whose tags are read
_REACH = 6  # the same, in the sums of those in an even and an odd distance
_DECAY = 0.75  # weight of a turn relative to one that is nearer by one
_TELLS, _TOLD = 3, 0.02  # turns of "I said", and their share, in a book with a narrator who speaks
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
        texts: list[str] = []
        places: list[int] = []
        kinds: list[int] = []
        for place, turn in enumerate(turns):
            *earlier, last = turn.gap or ("",)
            for kind, text in (
                *((_EARLIER, text) for text in earlier), (_LAST, last), (_LEAD, turn.lead),
                (_SPEECH, turn.text()), (_NARRATION, " ".join(turn.narration)),
            ):  # fmt: skip
                if text:
                    texts.append(text)
                    places.append(place)
                    kinds.append(kind)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        starts = np.cumsum(lengths + 1) - lengths - 1
        text = "\n".join(texts)
        of_part, kind_of_part = np.array(places, np.int64), np.array(kinds, np.int64)
        self.persons = np.array([turn.person or "" for turn in turns])
        tells = np.count_nonzero(self.persons == "i") >= max(_TELLS, _TOLD * len(turns))
        tagged = [turn.name for turn in turns if turn.name]
        if tells:  # tags do not name the narrator: others do, who speak to them
            tagged += _addressed(turns)
        self.cast = cast = Cast(text, starts, kind_of_part != _SPEECH, tagged, rules)
        most = min(_MOST_CHARACTERS, _MOST_CELLS // max(1, len(turns)))
        del cast.characters[most:]
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
        self.tag = np.array([-1 if turn.name is None else cast.of(turn.name) for turn in turns])
        self.tag[self.tag >= most] = -1
        self.narrator = self._narrator() if tells else -1
        if tells:
            self.tag[(self.persons == "i") & (self.tag < 0)] = self.narrator
        self.size = len(turns), len(cast.characters)
        first_speech = np.full(len(turns), 0, np.int64)
        speech = kind_of_part == _SPEECH
        first_speech[of_part[speech]] = starts[speech]
        self.begin = first_speech
        beats = [(turn.narration[0] if turn.narration else "", turn.lead, (turn.gap or ("",))[-1]) for turn in turns]
        self.beats = [
            np.array([_SIGN.get(_person_at(texts[place], rules), 0.0) for texts in beats]) for place in range(3)
        ]
        self.gap_length = np.array([sum(map(len, t.gap)) + len(t.lead) for t in turns], float)
        self.speech_length = np.array([sum(map(len, t.texts)) for t in turns], float)
        self.tail_length = np.array([sum(map(len, t.narration)) for t in turns], float)
        self.gender = np.array([_SIGN.get(character.gender, 0.0) for character in cast.characters])
        self.described = np.array([float(character.described) for character in cast.characters])
        self.lowered = np.array([float(each.described and not each.has_capital) for each in cast.characters])

    def _narrator(self) -> int:
        """Return the number of the narrator: of whoever is called by name beside what the narrator says, else of a
        new character without a name.
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
    told = kinds != _SPEECH
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
    own = _own_features(book, tags, everywhere, told, rows, columns)
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
    book: _Book, tags: np.ndarray, everywhere: np.ndarray, told: np.ndarray, rows: np.ndarray, columns: np.ndarray
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
    latest = book.latest(told & (kinds != _NARRATION), False)
    latest = np.maximum(latest, book.latest(kinds == _NARRATION, True))
    found += _recency(book, latest, rows, columns)
    spoken = book.latest(~told, True)
    found.append(np.log1p(np.where(spoken[at] >= 0, book.begin[rows] - spoken[at], 20_000)).clip(0, 10))
    # their part in the book and nearby
    total = tags.sum(axis=0)
    share = np.log1p(total)[columns]
    found += [share, share - np.log1p(total.max()), np.log1p(everywhere.sum(axis=0))[columns]]
    near = _window(tags, _REACH + 4, _REACH + 4)
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
    for step in (*range(1, _REACH + 1), *range(-_REACH, 0)):
        other = rows + step
        inside = (other >= 0) & (other < len(book.dialogue))
        other = other.clip(0, len(book.dialogue) - 1)
        weight = tags[other, columns] * (inside & (book.dialogue[other] == book.dialogue[rows])) * _DECAY ** abs(step)
        if step % 2:
            other_parity = other_parity + weight
        else:
            same_parity = same_parity + weight
    return [*found, same_parity, other_parity, same_parity - other_parity]


def neighbour_probabilities(scene: Scene, probabilities: Floats, shape: tuple[int, int]) -> Floats:
    """Return, for each candidate, its probabilities in the turns around, and their sums over those in an even and an
    odd distance.
    """
    count, cast = shape
    dense = np.zeros((count, cast + 1), np.float32)
    dense[scene.turns, scene.characters] = probabilities  # the last column is nobody
    known = dense[:, :-1].max(axis=1, initial=0)
    rows, columns = scene.turns, scene.characters
    real = columns >= 0
    found: list[np.ndarray] = [probabilities, np.where(real, known[rows] - probabilities, known[rows])]
    same_parity: Any = 0.0
    other_parity: Any = 0.0
    for step in (*range(1, _REACH + 1), *range(-_REACH, 0)):
        other = rows + step
        inside = (other >= 0) & (other < count)
        other = other.clip(0, count - 1)
        together = inside & (scene.dialogues[other] == scene.dialogues[rows])
        value = dense[other, columns] * together
        if abs(step) <= 4:
            found.append(value)
        if abs(step) <= 2:
            found += [known[other] * together, dense[other, columns] * (inside & ~together)]
        if step % 2:
            other_parity = other_parity + value * _DECAY ** abs(step)
        else:
            same_parity = same_parity + value * _DECAY ** abs(step)
    found += [same_parity, other_parity, same_parity - other_parity]
    return np.stack(found, axis=1).astype(np.float32)


class Layer(NamedTuple):
    """A network of one hidden layer, over standardised features."""

    mean: Floats
    scale: Floats
    hidden: Floats
    bias: Floats
    out: Floats

    def scores(self, features: Floats) -> Floats:
        """Return a score for each row."""
        inside = (features - self.mean) * self.scale @ self.hidden + self.bias
        return np.asarray(np.maximum(inside, 0) @ self.out, np.float64)


def softmax(scores: Floats, turns: np.ndarray) -> Floats:
    """Return the probabilities of the candidates of each turn.

    Args:
        scores: a score a candidate.
        turns: ascending; each turn has a candidate at least.
    """
    begins = np.flatnonzero(np.r_[True, turns[1:] != turns[:-1]])
    lengths = np.diff(np.r_[begins, len(turns)])
    powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, begins), lengths))
    return np.asarray(powers / np.repeat(np.add.reduceat(powers, begins), lengths))


@dataclass(frozen=True)
class Attributor:
    """The networks, and from which probability a speaker is named.

    Attributes:
        first: reads the features.
        second: reads them and the probabilities of the turns around.
        least: probability, 0 to 1.
    """

    first: Layer
    second: Layer
    least: float

    def probabilities(self, scene: Scene) -> Floats:
        """Return the probability of each candidate."""
        shape = len(scene.dialogues), len(scene.cast.characters)
        found = softmax(self.first.scores(scene.features), scene.turns)
        for _ in range(2):
            around = neighbour_probabilities(scene, found, shape)
            found = softmax(self.second.scores(np.hstack([scene.features, around])), scene.turns)
        return found

    def best(self, scene: Scene) -> list[int]:
        """Return the character who says each turn; -1 where none is probable enough."""
        probabilities = self.probabilities(scene)
        begins = np.searchsorted(scene.turns, np.arange(len(scene.dialogues)))
        highest = np.maximum.reduceat(probabilities, begins)
        found = np.full(len(begins), -1)
        places = np.flatnonzero((probabilities == highest[scene.turns]) & (probabilities >= self.least))
        found[scene.turns[places]] = scene.characters[places]
        return list(map(int, found))

    def dump(self) -> str:
        """Return the text of a file that `attributor_of` reads."""
        content = {
            name: {key: _rounded(value) for key, value in layer._asdict().items()}
            for name, layer in (("first", self.first), ("second", self.second))
        }
        return json.dumps({"least": self.least, **content})


def _rounded(values: Floats) -> Any:  # noqa: ANN401 - lists of numbers, of one or two dimensions
    return json.loads(json.dumps(values.tolist()), parse_float=lambda text: float(f"{float(text):.4g}"))


def attributor_of(text: str) -> Attributor:
    """Return the networks of a file of weights."""
    content = json.loads(text)
    first, second = (
        Layer(**{key: np.array(value, np.float32) for key, value in content[name].items()})
        for name in ("first", "second")
    )
    return Attributor(first, second, content["least"])


@cache
def load_attributor() -> Attributor:
    """Return the shipped networks."""
    place = files("edos_dataset.segmentation.books") / "weights" / "speakers.json"
    return attributor_of(place.read_text(encoding="utf-8"))


def weights_text() -> str:
    """Return the text of the file of the shipped networks."""
    return (files("edos_dataset.segmentation.books") / "weights" / "speakers.json").read_text(encoding="utf-8")


def name_speakers(dialogues: Sequence[Sequence[Turn]], rules: Rules, attributor: Attributor | None = None) -> None:
    """Name the speakers of a book and number them: where the language has no networks, those that tags and the
    alternation of turns name.

    Args:
        dialogues: the turns of each conversation, in the order of the book, each with the narration before it.
        rules: of the language.
        attributor: the networks; by default those that are shipped, for a language whose rules say so.
    """
    if attributor is None and rules.learned_speakers:
        attributor = load_attributor()
    scene = scene_of(dialogues, rules) if attributor is not None else None
    if attributor is None or scene is None:
        for dialogue in dialogues:
            name_by_turns(dialogue, rules)
        _number(dialogues, rules)
        return
    characters, place = scene.cast.characters, 0
    best = attributor.best(scene)
    for dialogue in dialogues:
        for turn in dialogue:
            number = best[place]
            if not turn.given:
                turn.name = (characters[number].name or None) if number >= 0 else None
            turn.character = number if number >= 0 else None
            called = scene.called.get(place)
            if called is not None and called != number:
                turn.addressee = characters[called].name
            place += 1
    for dialogue in dialogues:
        _address(dialogue)


def _number(dialogues: Sequence[Sequence[Turn]], rules: Rules) -> None:
    """Number the characters of a book by their names, and say who is addressed."""
    names = [turn.name for dialogue in dialogues for turn in dialogue if turn.name]
    cast = Cast("", np.zeros(1, np.int64), np.ones(1, bool), names, rules)
    for dialogue in dialogues:
        for turn in dialogue:
            number = cast.of(turn.name) if turn.name else -1
            turn.character = number if number >= 0 else None
        _address(dialogue)


def _address(dialogue: Sequence[Turn]) -> None:
    """Say who is addressed where nobody is by name: the speaker of the turn before, or of the next of the first one."""
    for place, turn in enumerate(dialogue):
        if turn.addressee is None and len(dialogue) > 1:
            other = dialogue[place - 1 if place else 1]
            if other.name is not None and turn.character is not None and other.character != turn.character:
                turn.addressee = other.name
