"""The models of `generation.py`: what each learned from, what it loses by a test set, and what it answers."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from accelerate import Accelerator

from edos_dataset.arrays import Doubles, Ints
from edos_dataset.generation.backbones import PromptWriter
from edos_dataset.generation.packed import PREDICTOR
from edos_dataset.generation.responder import Responder
from edos_dataset.labeling.models.saved_model import model_digest
from edos_dataset.labels import LABEL_IDS
from edos_dataset.metrics.resampling import interval, resampled
from evaluation.generation_sets import Context, HeldOut
from training.caches import key_of
from training.generator.measure import costs_of, figures_of, unigram
from training.generator.prompts import CausalTask, Seq2SeqTask
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import AnswerTask, Task

Condition = Literal["truth", "predicted", "none"]
"""Whose label an answer is written under: that of the true answer, that of the model's predictor, or none."""

_READING = ("max_tokens", "history_turns", "long_pairs")
_AT_ONCE = 64


@dataclass(frozen=True)
class Model:
    """A model of the matrix.

    Attributes:
        name: in the report.
        responder: the model, its tokenizer, and its predictor, if it has one.
        record: its `record.json`; empty of a model of others.
        digest: of its files.
    """

    name: str
    responder: Responder
    record: dict[str, Any]
    digest: str

    @classmethod
    def load(
        cls, name: str, folder: str, trust: bool = False, device: str = "cpu", labeler: str = "general"
    ) -> "Model":
        """Read a model from its folder, or from the Hub.

        Raises:
            ValueError: there is none, or it is damaged.
        """
        responder = Responder.load(folder, trust, device, labeler)
        path = Path(folder)
        if not path.is_dir():
            return cls(name, responder, {}, key_of([folder]))
        record = path / "record.json"
        told = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        digests = [model_digest(each) for each in (path, path / PREDICTOR) if each.is_dir()]
        return cls(name, responder, told, key_of([json.dumps(told.get("recipe", {})), *digests]))

    @cached_property
    def recipe(self) -> GeneratorRecipe:
        """How it reads histories: as in its training, or, where that is not told, as many tokens as it can."""
        settings = {"max_tokens": self.responder.writer.max_tokens, **self.record.get("recipe", {})}
        return replace(GeneratorRecipe(), **{key: settings[key] for key in _READING if key in settings})

    @property
    def learned(self) -> list[str]:
        """The sources that it was trained on last."""
        return list(self.record.get("recipe", {}).get("data", []))

    @property
    def learned_before(self) -> list[str]:
        """The sources that the model it started from was trained on."""
        return [row["source"] for row in self.record.get("data", []) if row["source"] not in self.learned]

    @property
    def path(self) -> str:
        """What it learned from, as the papers write it: "os → edos"."""
        parts = [" + ".join(each) for each in (self.learned_before, self.learned) if each]
        return " → ".join(parts) or "not told"

    @property
    def conditions(self) -> list[Condition]:
        """Under whose labels it answers."""
        if not self.responder.writer.takes_labels:
            return ["none"]
        return ["truth", "predicted"] if self.responder.predictor is not None else ["truth"]

    def row(self, condition: Condition) -> str:
        """Return the name of its row in the matrix."""
        return f"{self.name}, predicted label" if condition == "predicted" else self.name

    def pace(self, contexts: Sequence[Context], condition: Condition, beams: int, max_tokens: int) -> float:
        """Return the seconds of an answer: one batch of contexts from all over the set is answered."""
        few = contexts[:: max(1, len(contexts) // self.responder.batch)][: self.responder.batch]
        self.answer(few[:1], condition, beams=beams, max_tokens=max_tokens)  # what is loaded once
        began = time.monotonic()
        self.answer(few, condition, beams=beams, max_tokens=max_tokens)
        return (time.monotonic() - began) / len(few)

    def setting(self, held: HeldOut) -> str:
        """Return how the model stands to a test set: "held-out", "fine-tuned" (held-out, after a pre-training on
        something else), "pre-trained" (it was trained on the set's source, and then on another) or "zero-shot".

        Raises:
            ValueError: the model's training shared the source out in another way, so it may know the test set.
        """
        for fact in self.record.get("data", []):
            told = (fact.get("division"), fact.get("dialogues"))
            if fact["source"] == held.name and told != (held.division, held.dialogues):
                raise ValueError(
                    f"{self.name} was trained on {held.name} of {told[1]} dialogues, shared out {told[0]}; these are "
                    f"{held.dialogues}, {held.division}: it may have learned from the test set. Give the same data"
                )
        if held.name in self.learned:
            return "fine-tuned" if self.learned_before else "held-out"
        return "pre-trained" if held.name in self.learned_before else "zero-shot"

    def perplexity(self, held: HeldOut) -> dict[str, Any]:
        """Return perplexity of a token and of a word with 95 % intervals (bootstrap over documents), the share of
        tokens that are the most probable, pairs, targets, words, and what was left out; and what the answers cost a
        model that knows only how often each token comes in the answers of the set's own training part (`unigram`; None
        of models of others).

        The labels are those of the true answers; a model of ours is told them, a plain one is not.
        """
        writer, recipe = self.responder.writer, self.recipe
        task = _task(writer)
        pairs = task.pairs(held.test, recipe)
        rows = np.arange(len(pairs))
        accelerator = Accelerator(cpu=writer.model.device.type == "cpu", mixed_precision="no")
        nats, right = costs_of(writer.model, task, pairs, rows, recipe, accelerator)
        # Pairs do not tell their dialogue, so they are counted, dialogue by dialogue.
        counts = [len(task.pairs(held.test.slice(row, 1), recipe)) for row in range(len(held.test))]
        documents = np.repeat(np.array(held.test["document_id"].to_pylist()), counts)
        targets, words = task.targets(pairs), pairs.words[pairs.answer]
        sums = resampled(np.stack([nats, targets, words], 1).astype(np.float64), documents)
        figures = figures_of(task, pairs, rows, nats, right)
        alone = None
        if isinstance(task, AnswerTask):
            known = task.pairs(held.train, recipe)
            alone = unigram(task, known, pairs, len(writer.tokenizer), False)
        return {
            "token": _figure(figures["perplexity"], sums[:, 0], sums[:, 1]),
            "word": _figure(figures["perplexity_per_word"], sums[:, 0], sums[:, 2]),
            "accuracy": round(figures["accuracy"], 4),
            "pairs": len(pairs),
            "targets": int(targets.sum()),
            "words": int(words.sum()),
            "left_out": pairs.left_out,
            "unigram": alone and {"token": alone["perplexity"], "word": alone["perplexity_per_word"]},
        }

    def answer(
        self,
        contexts: Sequence[Context],
        condition: Condition,
        *,
        beams: int = 32,
        max_tokens: int = 100,
        say: Callable[[str], None] | None = None,
    ) -> tuple[list[str], list[int | None]]:
        """Return the best answer to every context by beam search, and the label that it was written under."""
        texts: list[str] = []
        under: list[int | None] = []
        for first in range(0, len(contexts), _AT_ONCE):
            part = contexts[first : first + _AT_ONCE]
            found = self.responder.respond(
                [context.turns for context in part],
                [context.label for context in part] if condition == "truth" else None,
                beams=beams,
                max_tokens=max_tokens,
                history_labels=[context.labels for context in part],
            )
            texts += [candidates[0].text for candidates in found]
            labels = [candidates[0].label for candidates in found]
            under += [None if label is None else LABEL_IDS[label] for label in labels]
            if say is not None:
                say(f"  {self.name}: {len(texts)} of {len(contexts)} answers")
        return texts, under


def _task(writer: Any) -> Task:  # noqa: ANN401 - a writer of any kind
    """Return what the model behind a writer learned."""
    if not isinstance(writer, PromptWriter):
        return AnswerTask(writer.tokenizer, writer.takes_labels)
    config = writer.model.config
    ids = (writer.tokenizer.pad_token_id, config.pad_token_id, writer.tokenizer.eos_token_id)
    padding = next(each for each in ids if each is not None)
    if config.is_encoder_decoder:
        return Seq2SeqTask(writer.tokenizer, writer.form, padding, config.decoder_start_token_id)
    return CausalTask(writer.tokenizer, writer.form, padding)


def _figure(value: float, nats: Doubles, number: Doubles | Ints) -> dict[str, Any]:
    ends = interval(np.exp(np.minimum(nats / number, 700)))
    return {"value": round(value, 4), "interval": ends}
