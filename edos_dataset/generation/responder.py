"""Answers to dialogues: the label that the answer should have, predicted or given, and answers under it.

The history's labels come from a labeler of this package, as in the papers; the answer's label from the predictor, of
which the most probable ones give several candidates; a user may force one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.encoders.checks import check_device
from edos_dataset.generation.answering import Job, write_answers
from edos_dataset.generation.loading import load_predictor, load_writer
from edos_dataset.generation.packed import PREDICTOR
from edos_dataset.generation.writers import LabelPredictor, Writer
from edos_dataset.labeling.models.dialogues import dialogues_given
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS, parse_label

_NO_PREDICTOR = (
    f"the model has no predictor of the answer's label, a folder {PREDICTOR!r} in its own: give a label, or train one "
    f"there by training/recipes/small/predictor.yaml, --out MODEL/{PREDICTOR}"
)

Wanted = str | int | Sequence[str | int | None] | None


@dataclass(frozen=True)
class Candidate:
    """An answer.

    Attributes:
        text: of the answer.
        label: name of the label that it was written under; None of a model without labels.
        score: mean log-probability (nats) of its tokens, the end included.
        probability: of the label, as predicted, 0 to 1; None where it was not predicted.
    """

    text: str
    label: str | None
    score: float
    probability: float | None = None

    def as_row(self) -> dict[str, str | float | None]:
        """Return it as plain data, figures with four decimals."""
        chance = None if self.probability is None else round(self.probability, 4)
        return {"text": self.text, "label": self.label, "probability": chance, "score": round(self.score, 4)}


class Responder:
    """Answers dialogues.

    Args:
        writer: the model that writes.
        predictor: of the answer's label; without one, a writer that takes labels must be given them.
        labeler: name of the labeler (`load_labeler`) of the history's turns, where their labels are not given.
        device: torch device of the labeler.
        batch: most answers under way at a time, each with all its beams; by default 4 on a CPU, where more bring
            nothing, and 32 elsewhere.
    """

    def __init__(
        self,
        writer: Writer,
        predictor: LabelPredictor | None = None,
        labeler: str = "general",
        device: str = "cpu",
        batch: int | None = None,
    ) -> None:
        """Take the parts; `Responder.load` reads them from a folder."""
        self.writer, self.predictor = writer, predictor
        self.labeler, self.device = labeler, device
        self.batch = batch or (4 if device == "cpu" else 32)
        self.folder: Path | None = None

    @classmethod
    def load(
        cls,
        name: str | Path,
        trust: bool = False,
        device: str = "cpu",
        labeler: str = "general",
        batch: int | None = None,
        revision: str | None = None,
    ) -> "Responder":
        """Return the responder that ships under a name, lies in a folder, or is the Hub's.

        Args:
            name: of a model that ships (`chat`); a folder with a model and its tokenizer, its predictor in the folder
                `predictor` of it if it has one; or a Hub id.
            trust: run the code that came with the model, where its configuration names some; ours never needs it.
            device: torch device, such as `cpu` or `cuda`.
            labeler: as for the class.
            batch: likewise.
            revision: of a model of the Hub: a tag such as "v1.0.0", a branch or a commit.

        Raises:
            ValueError: there is no such model or revision, it is damaged, or it needs code that is not trusted.
        """
        check_device(device)
        folder, writer = load_writer(name, trust, device, revision)
        responder = cls(writer, load_predictor(folder, device), labeler, device, batch)
        responder.folder = folder
        return responder

    def check(self, forced: bool) -> None:
        """Check that this can answer: under a label that is given, or under predicted ones.

        Raises:
            ValueError: it was trained without labels and one is given, or it takes labels, none is given, and it has no
                predictor.
        """
        if forced and not self.writer.takes_labels:
            raise ValueError("the model was trained without labels: it cannot answer under one")
        if not forced and self.writer.takes_labels and self.predictor is None:
            raise ValueError(_NO_PREDICTOR)

    def history_labels(self, dialogues: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the most probable label of every turn, by id, seen with its history."""
        found = load_labeler(self.labeler, self.device).predict_proba(dialogues).argmax(1).tolist()
        ends = np.cumsum([0, *map(len, dialogues)]).tolist()
        return [found[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]

    def predict(
        self, dialogues: Sequence[Sequence[str]], history_labels: Sequence[Sequence[int]] | None = None
    ) -> Floats:
        """Return the probabilities of the label of the answer to each dialogue, float32 [dialogues, 41].

        Args:
            dialogues: turns of each, oldest first.
            history_labels: their labels, by id, where they are known.

        Raises:
            ValueError: there is no predictor, or these are no dialogues.
        """
        if self.predictor is None:
            raise ValueError(_NO_PREDICTOR)
        given = _histories(dialogues)
        known = self.history_labels(given) if history_labels is None else history_labels
        steps = [slice(first, first + self.batch) for first in range(0, len(given), self.batch)]
        parts = [self.predictor.predict(given[step], known[step]) for step in steps]
        return np.concatenate([np.empty((0, len(LABELS)), np.float32), *parts])

    def respond(
        self,
        dialogues: Sequence[Sequence[str]],
        labels: Wanted = None,
        candidates: int = 1,
        beams: int = 32,
        sample: bool = False,
        seed: int = 0,
        *,
        history_labels: Sequence[Sequence[int]] | None = None,
        max_tokens: int = 100,
    ) -> list[list[Candidate]]:
        """Answer dialogues.

        Args:
            dialogues: turns of each dialogue, oldest first, at least one; the answer follows the last.
            labels: label that every answer is to have, or one for each dialogue, by name or id; None to have it
                predicted. Then each candidate is written under another label, the most probable first; under a forced
                label, and by a model without labels, the candidates are the best answers that differ (`alike`).
            candidates: answers wanted of each dialogue, at least 1; fewer come where the search found no more.
            beams: answers that the search follows at a time.
            sample: draw from the nucleus of 0.9 in place of the search.
            seed: of the drawing; the same seed gives a dialogue the same answers in any company.
            history_labels: labels of the turns, by id, where they are known.
            max_tokens: most tokens of an answer, the end included.

        Raises:
            ValueError: something is no dialogue or no label, the model takes labels and has no predictor, or it takes
                none and was given one.
        """
        if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
            raise ValueError(f"candidates must be a whole number from 1, got {candidates!r}")
        given = _histories(dialogues)
        known: Sequence[Sequence[int]] | None = None
        if self.writer.takes_labels:
            known = self.history_labels(given) if history_labels is None else history_labels
        planned = self._plan(given, known, _each(labels, len(given)), candidates)
        written = write_answers(
            self.writer,
            [job for _, job, _ in planned],
            beams=beams,
            sample=sample,
            seed=seed,
            max_tokens=max_tokens,
            batch=self.batch,
        )
        found: list[list[Candidate]] = [[] for _ in given]
        for (number, job, probability), texts in zip(planned, written, strict=True):
            label = None if job.label is None else LABELS[job.label]
            found[number] += [Candidate(text.text, label, text.score, probability) for text in texts]
        return found

    def _plan(
        self,
        given: list[list[str]],
        known: Sequence[Sequence[int]] | None,
        labels: list[int | None],
        candidates: int,
    ) -> list[tuple[int, Job, float | None]]:
        """Return what is to be written: the dialogue's number, the job, the probability of its label."""
        if known is None:
            self.check(any(label is not None for label in labels))
            return [(number, Job(turns, None, None, candidates), None) for number, turns in enumerate(given)]
        open_ = [number for number, label in enumerate(labels) if label is None]
        chances: dict[int, Floats] = {}
        if open_:
            predicted = self.predict([given[number] for number in open_], [known[number] for number in open_])
            chances = dict(zip(open_, predicted, strict=True))
        planned: list[tuple[int, Job, float | None]] = []
        for number, (turns, own, label) in enumerate(zip(given, known, labels, strict=True)):
            if label is not None:
                planned.append((number, Job(turns, own, label, candidates), None))
                continue
            best = np.argsort(-chances[number], kind="stable")[:candidates].tolist()
            planned += [(number, Job(turns, own, each), float(chances[number][each])) for each in best]
        return planned


def _histories(dialogues: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return dialogues as lists of turns.

    Raises:
        ValueError: they are none, or one has no turn.
    """
    given = dialogues_given(dialogues)
    if [] in given:
        raise ValueError(f"dialogue {given.index([])} has no turn, so there is nothing to answer: leave it out")
    return given


def _each(labels: Wanted, count: int) -> list[int | None]:
    """Return the label that is forced on each of a number of dialogues, by id; None where none is.

    Raises:
        ValueError: one is no label, or there are not as many as dialogues.
    """
    every = [labels] * count if labels is None or isinstance(labels, str | int) else list(labels)
    if len(every) != count:
        raise ValueError(f"one label for each dialogue, or one for all: got {len(every)} labels for {count} dialogues")
    ids = [parse_label(label) if isinstance(label, str) else label for label in every]
    for label in ids:
        if label is not None and (isinstance(label, bool) or not 0 <= label < len(LABELS)):
            raise ValueError(f"a label is a name or an id from 0 to {len(LABELS) - 1}, got {label!r}")
    return ids
