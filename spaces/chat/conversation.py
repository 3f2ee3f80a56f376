"""A dialogue with a response model: the turns with their labels, the label of the answer, and answers.

No state is kept here: the page in the visitor's browser stores the dialogue and sends it with every request.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import simplemma

from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.generation.responder import Candidate, Responder
from edos_dataset.generation.safety import help_for
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.text import normalise
from edos_dataset.web.spaces import MAX_CHARACTERS, MAX_TURNS, read_paste

MAX_CANDIDATES = 6
"""Maximum number of answers side by side."""

_WORDS = re.compile(r"[^\W\d_]{2,}")
_LEAST_ENGLISH = 0.5  # fraction of the words that an English dictionary must know

_ALL_SAID = "The model found only what has been said already. Choose another label, or “at random”."

_LOCK = Lock()  # one dialogue at a time, since the processors and the thread limit are shared


def other_language(text: str) -> tuple[str, ...]:
    """Return a warning if at most half of a message's words are English; short ones are judged too."""
    found = _WORDS.findall(text)
    words = [*found[:1], *(word for word in found[1:] if not word[0].isupper())]  # others may be names
    known = sum(simplemma.is_known(word, "en") for word in words)
    if len(words) < 2 or known > _LEAST_ENGLISH * len(words):
        return ()
    return ("This does not look like English. The model knows no other language, so its answer will make no sense.",)


class DangerError(ValueError):
    """The visitor may be in danger, and gets the address of people instead of an answer."""


@dataclass(frozen=True)
class Dialogue:
    """A dialogue.

    Attributes:
        turns: oldest first; the speakers alternate.
        answered: whether the last turn is the model's, so that the visitor is next.
    """

    turns: tuple[str, ...] = ()
    answered: bool = False

    @classmethod
    def from_json(cls, value: object) -> "Dialogue":
        """Return the dialogue from `as_json`, validated, since a browser can send anything.

        Raises:
            ValueError: it is not a dialogue, or too long; the message is a sentence for the page.
        """
        given = value if isinstance(value, dict) else {}
        turns = given.get("turns", [])
        if not isinstance(turns, list) or not all(isinstance(turn, str) and turn.strip() for turn in turns):
            raise ValueError("What this page sent is not a dialogue. Start over.")
        if len(turns) > MAX_TURNS or any(len(turn) > MAX_CHARACTERS for turn in turns):
            raise ValueError(
                f"This dialogue is too long: at most {MAX_TURNS} turns of {MAX_CHARACTERS:,} characters. Start over."
            )
        return cls(tuple(turns), bool(turns) and given.get("answered") is True)

    def as_json(self) -> dict[str, Any]:
        """Return the dialogue for the browser: `turns` and `answered`."""
        return {"turns": list(self.turns), "answered": self.answered}

    def is_visitor(self, number: int) -> bool:
        """Return whether a turn, by its index, is the visitor's."""
        return (len(self.turns) - 1 - number) % 2 == int(self.answered)

    def said(self, text: str) -> tuple["Dialogue", tuple[str, ...]]:
        """Return the dialogue with the visitor's message, and warnings.

        Several lines are several turns, the last one the visitor's. Text after a turn without an answer continues that
        turn, since speakers alternate.

        Raises:
            ValueError: there is nothing to answer, or it is too long; the message is a sentence for the page.
        """
        if not text.strip() and self.turns:
            if self.answered:
                raise ValueError("It is your turn: write what you say to this answer.")
            return self, ()
        pasted = read_paste(text)
        new = [turn.text for turn in pasted.turns]
        old = list(self.turns)
        if old and not self.answered:
            new[0] = f"{old.pop()} {new[0]}"
        warnings = pasted.warnings or other_language(" ".join(turn.text for turn in pasted.turns))
        return _limited([*old, *new], answered=False), warnings

    def answered_by(self, answer: str) -> "Dialogue":
        """Return the dialogue with an answer.

        Raises:
            ValueError: there is nothing to answer, or it is too long.
        """
        if not self.turns or self.answered:
            raise ValueError("There is no turn that this could answer: write yours first.")
        return _limited([*self.turns, " ".join(answer.split())[:MAX_CHARACTERS]], answered=True)

    def without_last(self) -> tuple["Dialogue", str]:
        """Return the dialogue without its last turn, and that turn if it was the visitor's, to edit it."""
        if not self.turns:
            return self, ""
        rest = Dialogue(self.turns[:-1], len(self.turns) > 1 and not self.answered)
        return rest, "" if self.answered else self.turns[-1]


@dataclass(frozen=True)
class Reading:
    """The labeler's prediction for a turn: id and probability of the most probable label."""

    label: int
    confidence: float


@dataclass(frozen=True)
class Answers:
    """The model's answers to a dialogue.

    Attributes:
        readings: one for every turn of the dialogue.
        predicted: probabilities of the answer's label, by id; None for a model without a predictor or without labels.
        forced: id of the label that the visitor chose, or None.
        candidates: the answers, the most probable label or the best answer first.
        read: the labeler's prediction for each answer; empty while they grow.
    """

    readings: tuple[Reading, ...]
    predicted: tuple[float, ...] | None
    forced: int | None
    candidates: tuple[Candidate, ...]
    read: tuple[Reading, ...]


class Answerer:
    """Answers the page's requests; equal requests get equal answers.

    Args:
        responder: the model, its predictor, and the labeler's name.
        name: folder or Hub id of the model.
        beams: number of beams of the search; None for the model's own number.
    """

    def __init__(self, responder: Responder, name: str, beams: int | None = None) -> None:
        self.responder, self.name, self.beams = responder, name, beams or responder.writer.beams

    @property
    def takes_labels(self) -> bool:
        """Whether answers have labels."""
        return self.responder.writer.takes_labels

    @property
    def predicts(self) -> bool:
        """Whether the model predicts the label of the answer."""
        return self.takes_labels and self.responder.predictor is not None

    def read(self, dialogues: list[list[str]]) -> list[list[Reading]]:
        """Return the labeler's prediction for each turn of each dialogue, with its history."""
        labeler = load_labeler(self.responder.labeler, self.responder.device)
        with _LOCK, limit_threads(1):
            found = labeler.predict_proba(dialogues)
        rows = iter(zip(found.argmax(1).tolist(), found.max(1).astype(float).tolist(), strict=True))
        return [[Reading(*next(rows)) for _ in turns] for turns in dialogues]

    def _check(self, label: int | None, candidates: int) -> None:
        if isinstance(candidates, bool) or not isinstance(candidates, int) or not 1 <= candidates <= MAX_CANDIDATES:
            raise ValueError(f"Ask for 1 to {MAX_CANDIDATES} answers; this was {str(candidates)[:40]}.")
        if label is not None and not self.takes_labels:
            raise ValueError("This model was trained without labels, so none can be forced. Choose “predicted”.")
        if label is None and self.takes_labels and not self.predicts:
            raise ValueError("This model has no predictor of the answer's label. Choose a label in the menu.")

    def _unsaid(
        self, turns: list[str], label: int | None, candidates: int, draw: int | None, known: list[list[int]]
    ) -> list[Candidate]:
        """Return the best answers that nobody has given in the dialogue yet.

        Raises:
            ValueError: there are none.
        """
        said = set(map(normalise, turns))

        def best(number: int) -> list[Candidate]:
            sample, seed = draw is not None, draw or 0
            found = self.responder.respond(
                [turns], label, number, self.beams, sample=sample, seed=seed, history_labels=known
            )
            return [one for one in found[0] if normalise(one.text) not in said]

        found = best(candidates)
        if len(found) < candidates:
            found = best(min(candidates + len(turns), max(self.beams, candidates)))[:candidates]
        if not found:
            raise ValueError(_ALL_SAID)
        return found

    def stream(
        self, dialogue: Dialogue, label: int | None = None, candidates: int = 3, draw: int = 0
    ) -> Iterator[Answers]:
        """Yield drawn answers to a dialogue as they grow, one after another, and last all of them, read by the labeler.
        What has been said already is left out.

        Args:
            dialogue: at least one turn.
            label: id of the answers' label; None for predicted ones.
            candidates: number of answers, 1 to MAX_CANDIDATES.
            draw: seed of the first answer.

        Raises:
            ValueError: the model does not support the request; the message is a sentence for the page.
        """
        begun = self._begun(dialogue, label, candidates)
        turns, known = list(dialogue.turns), [reading.label for reading in begun.readings]
        said, done = set(map(normalise, turns)), tuple[Candidate, ...]()
        for number in range(candidates):
            rank, seed = (number, draw) if label is None else (0, draw + number)
            last = None
            for last in _one_by_one(self.responder.stream(turns, label, seed, history_labels=known, rank=rank)):
                yield replace(begun, candidates=(*done, last))
            if last is not None and last.text and normalise(last.text) not in said:
                done = (*done, last)
                said.add(normalise(last.text))
        if not done:
            raise ValueError(_ALL_SAID)
        yield self._read_as(begun, turns, done)

    def answer(
        self, dialogue: Dialogue, label: int | None = None, candidates: int = 3, draw: int | None = None
    ) -> Answers:
        """Answer a dialogue.

        Args:
            dialogue: at least one turn.
            label: id of the answers' label; None for predicted ones.
            candidates: number of answers, 1 to MAX_CANDIDATES.
            draw: seed for sampling; None for beam search.

        Raises:
            ValueError: the model does not support the request; the message is a sentence for the page.
        """
        begun = self._begun(dialogue, label, candidates)
        turns, known = list(dialogue.turns), [reading.label for reading in begun.readings]
        with _LOCK, limit_threads(1):
            found = self._unsaid(turns, label, candidates, draw, [known])
        return self._read_as(begun, turns, [one for one in found if one.text])

    def _begun(self, dialogue: Dialogue, label: int | None, candidates: int) -> Answers:
        """Return what precedes the answers: the labels of the turns, and the predicted ones of the answer."""
        self._check(label, candidates)
        turns = list(dialogue.turns)
        if help := help_for([turn for number, turn in enumerate(turns) if dialogue.is_visitor(number)]):
            raise DangerError(help)
        readings, predicted = self.read([turns])[0], None
        if self.predicts:
            with _LOCK, limit_threads(1):
                chances = self.responder.predict([turns], [[reading.label for reading in readings]])[0]
            predicted = tuple(chances.astype(float).tolist())
        return Answers(tuple(readings), predicted, label, (), ())

    def _read_as(self, begun: Answers, turns: list[str], candidates: Sequence[Candidate]) -> Answers:
        """Return the answers with the labeler's prediction for each."""
        read = self.read([[*turns, one.text] for one in candidates]) if candidates else []
        return replace(begun, candidates=tuple(candidates), read=tuple(readings[-1] for readings in read))


def _one_by_one(growing: Iterator[Candidate]) -> Iterator[Candidate]:
    """Yield from a model's stream, which has the processors only while it draws the next token."""
    while True:
        with _LOCK, limit_threads(1):
            candidate = next(growing, None)
        if candidate is None:
            return
        yield candidate


def answers_as_json(dialogue: Dialogue, answers: Answers) -> dict[str, Any]:
    """Return `turns` of `text`, `label`, `confidence`; `predicted`, the ten most probable labels of the answer;
    `candidates` of `text`, `label`, `probability`, `score` and `read_as`.
    """
    turns = [
        {"text": text, "label": LABELS[reading.label], "confidence": round(reading.confidence, 4)}
        for text, reading in zip(dialogue.turns, answers.readings, strict=True)
    ]
    chances = answers.predicted or ()
    best = sorted(range(len(chances)), key=lambda label: -chances[label])[:10]
    candidates = [
        {
            "text": one.text,
            "label": one.label,
            "probability": None if one.probability is None else round(one.probability, 4),
            "score": round(one.score, 4),
            "read_as": LABELS[reading.label],
        }
        for one, reading in zip(answers.candidates, answers.read, strict=True)
    ]
    predicted = [{"label": LABELS[label], "probability": round(chances[label], 4)} for label in best]
    return {"turns": turns, "predicted": predicted, "candidates": candidates}


def _limited(turns: list[str], answered: bool) -> Dialogue:
    if len(turns) > MAX_TURNS:
        raise ValueError(f"This dialogue would have {len(turns)} turns, and at most {MAX_TURNS} fit. Start over.")
    if any(len(turn) > MAX_CHARACTERS for turn in turns):
        raise ValueError(f"A turn would be longer than {MAX_CHARACTERS:,} characters. Shorten it, or start over.")
    return Dialogue(tuple(turns), answered)
