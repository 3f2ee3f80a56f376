"""Who says each turn of a book, learned from novels of which people have marked every speaker.

Each turn has candidates: the characters whom the narration and the speech around it mention. A small network reads the
evidence for each (dialogue tags, pronouns and their gender, who is addressed, who spoke before, how long ago somebody
was mentioned) and gives each a score; the softmax over the candidates of a turn, and over "none of them", is the
probability. A second network reads the same and the probabilities of the turns around, so that what is known of one
turn is used for its neighbours: in a conversation people alternate. `training/train_book_speakers.py` makes the
weights; `evaluation/novels.py` measures them on novels that they were not trained on.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.segmentation.books.characters import Cast
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.scenes import DECAY, REACH, Scene, scene_of
from edos_dataset.segmentation.books.speakers import same_name
from edos_dataset.segmentation.books.speech import Turn


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
    for step in (*range(1, REACH + 1), *range(-REACH, 0)):
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
            other_parity = other_parity + value * DECAY ** abs(step)
        else:
            same_parity = same_parity + value * DECAY ** abs(step)
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
            _name_by_turns(dialogue, rules)
        _number(dialogues, rules)
        return
    _name_by_networks(dialogues, scene, attributor)
    for dialogue in dialogues:
        _address(dialogue)


def _name_by_networks(dialogues: Sequence[Sequence[Turn]], scene: Scene, attributor: Attributor) -> None:
    """Name the speakers and the people whom speech addresses by name."""
    characters, best = scene.cast.characters, attributor.best(scene)
    turns = [turn for dialogue in dialogues for turn in dialogue]
    for place, (turn, guessed) in enumerate(zip(turns, best, strict=True)):
        number = guessed
        if turn.given and turn.name is not None:
            number = scene.cast.of(turn.name)
        else:
            turn.name = (characters[number].name or None) if number >= 0 else None
        turn.character = number if number >= 0 else None
        called = scene.called.get(place)
        if called is not None and called != number:
            turn.addressee = characters[called].name


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


def _name_by_turns(turns: Sequence[Turn], rules: Rules) -> None:
    """Name the speakers where two people alternate, A, B, ?, B, A, ?, each is named twice, and no third is: of two that
    are named once, 57 % of the names given by turns were right in 12 novels, of these nine of ten.
    """
    sides = [[turn.name for turn in turns[side::2] if turn.name] for side in (0, 1)]
    if any(len(names) < 2 for names in sides):
        return
    (one, *others), (other, *more) = sides
    if same_name(one, other, rules) or not all(same_name(one, name, rules) for name in others):
        return
    if not all(same_name(other, name, rules) for name in more):
        return
    for place, turn in enumerate(turns):
        turn.name = turn.name or (one, other)[place % 2]
