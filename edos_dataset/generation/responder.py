"""Answers to dialogues under predicted or given labels, and conversations.

The history's labels come from a labeler of this package, as in the papers. The answer's label comes from the predictor,
whose most probable labels give several candidates, or from the user.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import check_device
from edos_dataset.generation.answering import Job, Text, stream_answer, write_answers
from edos_dataset.generation.decoding import Decoding
from edos_dataset.generation.loading import load_predictor, load_writer
from edos_dataset.generation.shipped import PREDICTOR, SHIPPED
from edos_dataset.generation.writers import LabelPredictor, TransformerWriter, Writer
from edos_dataset.labeling.models.base import dialogues_given
from edos_dataset.labeling.models.labelers import check_labels_all, load_labeler
from edos_dataset.labeling.models.saved_model import model_digest
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.languages.detection import contradict_language
from edos_dataset.wording import counted

_NO_PREDICTOR = (
    f"the model has no predictor of the answer's label, in a subfolder {PREDICTOR!r}: give a label, or train one there "
    f"by training/recipes/small/predictor.yaml, --out MODEL/{PREDICTOR}"
)

Wanted = str | int | Sequence[str | int | None] | None


@dataclass(frozen=True)
class Candidate:
    """An answer.

    Attributes:
        text: its text.
        label: name of the label that it was written under; None for a model without labels.
        score: mean log-probability (nats) of its tokens, the end included.
        probability: predicted probability of the label, 0 to 1; None if it was not predicted.
    """

    text: str
    label: str | None
    score: float
    probability: float | None = None

    def as_row(self) -> dict[str, str | float | None]:
        """Return the answer as plain data, figures with four decimals."""
        chance = None if self.probability is None else round(self.probability, 4)
        return {"text": self.text, "label": self.label, "probability": chance, "score": round(self.score, 4)}


class Responder:
    """Answers dialogues.

    Args:
        writer: the model that writes.
        predictor: predicts the answer's label; without one, a writer with labels needs them given.
        labeler: name of the labeler (`load_labeler`) of the history's turns, unless their labels are given; None for
            the one whose labels the writer was trained with.
        device: torch device of the labeler.
        batch: maximum number of histories answered at once, each with all its beams; by default 4 on a CPU, where more
            are not faster, and 32 elsewhere.
    """

    def __init__(
        self,
        writer: Writer,
        predictor: LabelPredictor | None = None,
        labeler: str | None = None,
        device: str = "cpu",
        batch: int | None = None,
    ) -> None:
        self.writer, self.predictor = writer, predictor
        self.labeler, self.device = labeler or writer.labeler, device
        check_labels_all(self.labeler)
        self.batch = batch or (4 if device == "cpu" else 32)
        self.folder: Path | None = None

    @classmethod
    def load(
        cls,
        name: str | Path,
        trust: bool = False,
        device: str = "cpu",
        labeler: str | None = None,
        batch: int | None = None,
        revision: str | None = None,
    ) -> "Responder":
        """Load a shipped responder, one from a folder, or one of the Hub.

        Args:
            name: a shipped model (`chat`); a folder with a model and its tokenizer, and its predictor, if any, in the
                subfolder `predictor`; or a Hub id.
            trust: run the code that comes with the model, if its configuration names any; ours never needs it.
            device: torch device, such as `cpu` or `cuda`.
            labeler: as for the class.
            batch: as for the class.
            revision: tag (such as "v1.0.0"), branch or commit of a model of the Hub.

        Raises:
            ValueError: there is no such model or revision, it is damaged, or it needs code that is not trusted.
        """
        check_device(device)
        folder, writer = load_writer(name, trust, device, revision)
        responder = cls(writer, load_predictor(folder, device), labeler, device, batch)
        responder.folder = folder
        return responder

    def check(self, forced: bool, rerank: int = 1, guidance: float | None = None) -> None:
        """Check that the model can answer under a given label (`forced`) or under predicted ones.

        Raises:
            ValueError: a label is given to a model without labels, or answers are to be chosen by one; or a model with
                labels has neither a label nor a predictor.
        """
        if rerank > 1 and not self.writer.takes_labels:
            raise ValueError(
                f"rerank={rerank} keeps answers that have their label, but the model has no labels: give 1"
            )
        if guidance and not self.writer.takes_labels:
            raise ValueError(f"guidance={guidance:g} leads to the label, but the model has no labels: give 0")
        if forced and not self.writer.takes_labels:
            raise ValueError("the model was trained without labels: it cannot answer under one")
        if not forced and self.writer.takes_labels and self.predictor is None:
            raise ValueError(_NO_PREDICTOR)

    def history_labels(self, dialogues: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the id of the most probable label of every turn, seen with its history."""
        labeler = load_labeler(self.labeler, self.device)
        if (labels := getattr(labeler, "label_set", None)) is not None and labels.labels != LABELS:
            raise ValueError(
                f"the labeler {self.labeler!r} has the labels of {labels.name!r}, but response models know those of "
                "EDOS: give another --labeler"
            )
        found = labeler.predict_proba(dialogues).argmax(1).tolist()
        ends = np.cumsum([0, *map(len, dialogues)]).tolist()
        return [found[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]

    def predict(
        self, dialogues: Sequence[Sequence[str]], history_labels: Sequence[Sequence[int]] | None = None
    ) -> Floats:
        """Return the probabilities of the label of the answer to each dialogue, float32 [dialogues, 41].

        Args:
            dialogues: turns of each, oldest first.
            history_labels: ids of their labels, if known.

        Raises:
            ValueError: there is no predictor, or these are not dialogues.
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
        beams: int | None = None,
        sample: bool = False,
        seed: int = 0,
        *,
        history_labels: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        top_p: float = 0.9,
        top_k: int = 0,
        block: bool = True,
        max_tokens: int = 100,
        rerank: int = 1,
        guidance: float | None = None,
    ) -> list[list[Candidate]]:
        """Answer dialogues.

        Args:
            dialogues: turns of each dialogue, oldest first, at least one; the answer follows the last.
            labels: label of every answer, or one for each dialogue, by name or id; None to predict it. Under predicted
                labels, each candidate has another label, the most probable first; under a forced label, and by a model
                without labels, the candidates are the best answers that differ (`answering.most_different`).
            candidates: number of answers to each dialogue, at least 1; the search may find fewer.
            beams: number of beams of the search; None for the model's own number, 32 or, for a language model, 4.
            sample: draw answers instead of searching.
            seed: seed of drawing; a dialogue's answers do not depend on the other dialogues.
            history_labels: ids of the turns' labels, if known.
            temperature: divisor of the logits before drawing, above 0 to 100.
            top_p: probability of the tokens to draw from, above 0 to 1.
            top_k: largest number of tokens to draw from; 0 for no limit.
            block: whether no four tokens in a row may be repeated in an answer.
            max_tokens: maximum number of tokens of an answer, the end included.
            rerank: number of answers written under each label, at least 1; the labeler, which reads each after its
                dialogue, keeps the one that has the label most surely, or as many as are wanted under the label.
            guidance: strength with which answers keep to their label, 0 (none) to 10; takes twice the time; None for
                the model's own.

        Raises:
            ValueError: an input is not a dialogue or label, the model needs labels and has no predictor, or a label is
                given to a model without labels.
        """
        _check_count("candidates", candidates)
        _check_count("rerank", rerank)
        if guidance:
            self.check(True, guidance=guidance)
        given = _histories(dialogues)
        known: Sequence[Sequence[int]] | None = None
        if self.writer.takes_labels:
            known = self.history_labels(given) if history_labels is None else history_labels
        planned = self._plan(given, known, _each(labels, len(given)), candidates)
        decoding = Decoding(beams, sample, seed, temperature, top_p, top_k, block, max_tokens, guidance)
        written = self._write([job for _, job, _ in planned], decoding, rerank)
        found: list[list[Candidate]] = [[] for _ in given]
        for (number, job, probability), texts in zip(planned, written, strict=True):
            label = None if job.label is None else LABELS[job.label]
            found[number] += [Candidate(text.text, label, text.score, probability) for text in texts]
        return found

    def stream(
        self,
        turns: Sequence[str],
        label: str | int | None = None,
        seed: int = 0,
        *,
        history_labels: Sequence[int] | None = None,
        rank: int = 0,
        **decoding: Any,  # noqa: ANN401
    ) -> Iterator[Candidate]:
        """Draw an answer to a dialogue, as `respond` with `sample` does, and yield it as it grows, the whole answer
        last.

        Args:
            turns: turns of the dialogue, oldest first, at least one.
            label: label of the answer, by name or id; None to predict it.
            seed: seed of drawing.
            history_labels: ids of the turns' labels, if known.
            rank: which of the predicted labels the answer has, 0 for the most probable.
            decoding: `temperature`, `top_p`, `top_k`, `block`, `max_tokens` and `guidance`, as for `respond`.

        Raises:
            ValueError: as for `respond`.
        """
        given = _histories([turns])
        known: Sequence[Sequence[int]] | None = None
        if self.writer.takes_labels:
            known = self.history_labels(given) if history_labels is None else [history_labels]
        planned = self._plan(given, known, _each(label, 1), rank + 1)
        _, job, chance = planned[min(rank, len(planned) - 1)]
        name = None if job.label is None else LABELS[job.label]
        for text in stream_answer(self.writer, job, Decoding(sample=True, seed=seed, **decoding)):
            yield Candidate(text.text, name, text.score, chance)

    def _write(self, jobs: Sequence[Job], decoding: Decoding, rerank: int) -> list[list[Text]]:
        """Return the wanted number of texts of each job: the best, or of `rerank` texts those that have its label most
        surely, by the labeler.
        """
        if rerank == 1:
            return write_answers(self.writer, jobs, decoding, self.batch)
        self.check(True, rerank)
        more = [replace(job, wanted=max(job.wanted, rerank)) for job in jobs]
        written = write_answers(self.writer, more, decoding, self.batch)
        read = [[*job.turns, text.text] for job, texts in zip(jobs, written, strict=True) for text in texts]
        chances = load_labeler(self.labeler, self.device).predict_proba(read)[np.cumsum(list(map(len, read))) - 1]
        ends = np.cumsum(list(map(len, written)))
        found = []
        for job, texts, own in zip(jobs, written, np.split(chances, ends[:-1]), strict=True):
            best = np.argsort(-own[:, job.label], kind="stable")[: job.wanted]
            found.append([texts[row] for row in best.tolist()])
        return found

    def _plan(
        self,
        given: list[list[str]],
        known: Sequence[Sequence[int]] | None,
        labels: list[int | None],
        candidates: int,
    ) -> list[tuple[int, Job, float | None]]:
        """Return the answers to write: the dialogue's number, the job, and the probability of its label."""
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


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1, got {value!r}")


def _histories(dialogues: Sequence[Sequence[str]]) -> list[list[str]]:
    given = dialogues_given(dialogues)
    if [] in given:
        raise ValueError(f"dialogue {given.index([])} has no turn, so there is nothing to answer: leave it out")
    return given


def _each(labels: Wanted, count: int) -> list[int | None]:
    every = [labels] * count if labels is None or isinstance(labels, str | int) else list(labels)
    if len(every) != count:
        raise ValueError(
            f"give one label for each dialogue or one for all: got {counted(len(every), 'labels')} for "
            f"{counted(count, 'dialogues')}"
        )
    ids = [parse_label(label) if isinstance(label, str) else label for label in every]
    for label in ids:
        if label is not None and (isinstance(label, bool) or not 0 <= label < len(LABELS)):
            raise ValueError(f"a label is a name or an id from 0 to {len(LABELS) - 1}, got {label!r}")
    return ids


@lru_cache(maxsize=2)
def kept_responder(
    model: str, trust: bool, device: str, labeler: str | None = None, revision: str | None = None
) -> Responder:
    """Return a responder that is loaded once per process; arguments and errors are those of `Responder.load`."""
    return Responder.load(model, trust, device, labeler, revision=revision)


def identity_of(responder: Responder) -> str:
    """Return digests of the model and its predictor and, if it reads labels, the identity of the labeler.

    Together with the parameters these determine a responder's answers.
    """
    if responder.folder is None:
        raise ValueError("the responder was not loaded from a folder: use Responder.load")
    parts = [model_digest(responder.folder)]
    if responder.predictor is not None:
        parts.append(model_digest(responder.folder / PREDICTOR))
    if responder.writer.takes_labels:
        parts.append(load_labeler(responder.labeler, responder.device).identity)
    return " ".join(parts)


_OF_DRAWING = ("seed", "temperature", "top_p", "top_k", "block", "max_tokens", "guidance")


@dataclass
class Conversation:
    """A conversation with a response model, held in memory only.

    Attributes:
        responder: the model.
        settings: arguments of `Responder.respond` other than dialogues and labels: `candidates`, and how answers are
            searched or drawn.
        turns: texts so far, oldest first.
        labels: ids of the turns' labels; for an answer, the label under which it was written. Empty for a model without
            labels.
    """

    responder: Responder
    settings: dict[str, Any] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    def say(self, text: str) -> str | None:
        """Add a turn and return its label, or None for a model without labels.

        Raises:
            ValueError: the text is blank.
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
            label: name of their label; None to predict it.

        Raises:
            ValueError: there is no turn yet, or the model cannot answer under that label.
        """
        if not self.turns:
            raise ValueError("nothing was said, so there is nothing to answer")
        known = [self.labels] if self.labels else None
        candidates = self.responder.respond([self.turns], label, history_labels=known, **self.settings)[0]
        self._keep(candidates[0])
        return candidates

    def _keep(self, answer: Candidate) -> None:
        self.turns.append(answer.text)
        if answer.label is not None:
            self.labels.append(parse_label(answer.label))

    def stream(self, label: str | None = None) -> Iterator[Candidate]:
        """Yield a drawn answer to the last turn as it grows; the whole one, which comes last, becomes the next turn.

        Args:
            label: name of its label; None to predict it.

        Raises:
            ValueError: there is no turn yet, the model cannot answer under that label, or the settings ask for several
                answers or for a search.
        """
        if not self.turns:
            raise ValueError("nothing was said, so there is nothing to answer")
        if not self.streams:
            raise ValueError("an answer that grows is the only one, and drawn: give sample, one candidate, no rerank")
        known = self.labels or None
        decoding = {key: self.settings[key] for key in _OF_DRAWING if key in self.settings}
        for candidate in self.responder.stream(self.turns, label, history_labels=known, **decoding):
            yield candidate
        self._keep(candidate)

    @property
    def streams(self) -> bool:
        """Whether the settings ask for one drawn answer, which can be shown as it grows."""
        several = self.settings.get("candidates", 1) > 1 or self.settings.get("rerank", 1) > 1
        return bool(self.settings.get("sample")) and not several

    def forget(self) -> None:
        """Start over."""
        self.turns, self.labels = [], []


def remarks_on(turns: Sequence[str], responder: Responder, model: str) -> list[str]:
    """Return warnings about turns that a model cannot read well: one if the last turn is too long, and one if it is in
    a language that a shipped model does not know.

    Args:
        turns: turns of a dialogue, oldest first.
        responder: the model.
        model: its name; shipped models know English only.
    """
    writer, found = responder.writer, []
    if isinstance(writer, TransformerWriter):
        size = len(writer.tokenizer(turns[-1], add_special_tokens=False)["input_ids"]) + 2  # framed by end tokens
        if size > writer.max_tokens:
            found.append(
                f"the last turn has {counted(size, 'tokens')}; the model reads only the last {writer.max_tokens}"
            )
    if model in SHIPPED and contradict_language(turns, "en") is not None:
        found.append(f"this doesn't look English; the model {model!r} knows English only")
    return found
