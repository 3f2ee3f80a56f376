"""A conversation with a response model, held in memory and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from edos_dataset.generation.responder import Candidate, Responder
from edos_dataset.generation.shipped import SHIPPED
from edos_dataset.generation.writers import TransformerWriter
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.languages.detection import contradict_language


@dataclass
class Conversation:
    """What was said, and by which label.

    Attributes:
        responder: answers.
        settings: of `Responder.respond`, beside dialogues and labels: `candidates`, `beams`, `sample`, `seed`.
        turns: texts so far, oldest first.
        labels: of the turns, by id; of answers that under which they were written. Empty for a model without labels.
    """

    responder: Responder
    settings: dict[str, Any] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    def say(self, text: str) -> str | None:
        """Take a turn and return its label; None by a model without labels.

        Raises:
            ValueError: the text is blank, or holds what no text may hold.
        """
        if not text.strip():
            raise ValueError("a turn has no text: say something")
        turns = [*self.turns, text]
        label = None
        if self.responder.writer.takes_labels:
            label = self.responder.history_labels([turns])[0][-1]
            self.labels.append(label)
        self.turns = turns
        return None if label is None else LABELS[label]

    def answer(self, label: str | None = None) -> list[Candidate]:
        """Return candidate answers to the last turn; the first becomes the next turn.

        Args:
            label: name of the label that they are to have; None to have it predicted.

        Raises:
            ValueError: nothing was said, or the model cannot answer so.
        """
        if not self.turns:
            raise ValueError("nothing was said, so there is nothing to answer")
        known = [self.labels] if self.labels else None
        candidates = self.responder.respond([self.turns], label, history_labels=known, **self.settings)[0]
        self.turns.append(candidates[0].text)
        if candidates[0].label is not None:
            self.labels.append(parse_label(candidates[0].label))
        return candidates

    def forget(self) -> None:
        """Begin anew."""
        self.turns, self.labels = [], []


def remarks_on(turns: Sequence[str], responder: Responder, model: str) -> list[str]:
    """Return what is to be said of turns that a model can't read well: a sentence for a last turn longer than it reads,
    and one for another language than it knows, where that is known.

    Args:
        turns: of a dialogue, oldest first.
        responder: answers it.
        model: its name; those that ship know English only.
    """
    writer, found = responder.writer, []
    if isinstance(writer, TransformerWriter):
        size = len(writer.tokenizer(turns[-1], add_special_tokens=False)["input_ids"]) + 2  # framed by end tokens
        if size > writer.max_tokens:
            found.append(f"the last turn has {size:,} tokens; the model reads its end alone, {writer.max_tokens}")
    if model in SHIPPED and contradict_language(turns, "en") is not None:
        found.append(f"this doesn't look English; the model {model!r} knows English only")
    return found
