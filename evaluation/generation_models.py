"""The models of `generation.py`: their training data, their perplexity on a test set, and their answers."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from accelerate import Accelerator

from edos_dataset.arrays import Doubles, Ints
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.shipped import PREDICTOR
from edos_dataset.generation.writers import PromptWriter
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_model import model_digest
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.metrics.classification import confusion, per_label
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.metrics.responses.dialog_eval import measure
from edos_dataset.metrics.responses.diversity import generic
from edos_dataset.metrics.responses.libraries import Measured, bertscore, chrf, packaged_model, sacrebleu
from edos_dataset.metrics.responses.similarity import label_accuracy, ses
from edos_dataset.metrics.responses.words import Words, read_vectors
from edos_dataset.text import tokenize
from evaluation.generation_sets import Context, HeldOut
from training.caches import key_of
from training.generator.fit import costs_of, figures_of, unigram
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import AnswerTask, task_of

Condition = Literal["truth", "predicted", "none"]
"""The label with which an answer is generated: that of the true answer, the predicted one, or none."""

_READING = ("max_tokens", "history_turns", "long_pairs")
_AT_ONCE = 64
_LONGEST = 512  # tokens of a conversation for a language model of others


@dataclass(frozen=True)
class Model:
    """A model of the matrix.

    Attributes:
        name: name in the report.
        responder: the model, its tokenizer, and its predictor, if it has one.
        record: its `record.json`; empty for third-party models.
        digest: digest of its files.
    """

    name: str
    responder: Responder
    record: dict[str, Any]
    digest: str

    @classmethod
    def load(
        cls, name: str, folder: str, trust: bool = False, device: str = "cpu", labeler: str = "general"
    ) -> "Model":
        """Load a model from a folder or from the Hub.

        Raises:
            ValueError: it does not exist or is damaged.
        """
        responder = Responder.load(folder, trust, device, labeler)
        path = Path(folder)
        if not path.is_dir():
            return cls(name, responder, {}, key_of([folder]))
        record = path / "record.json"
        content = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        digests = [model_digest(each) for each in (path, path / PREDICTOR) if each.is_dir()]
        return cls(name, responder, content, key_of([json.dumps(content.get("recipe", {})), *digests]))

    @cached_property
    def recipe(self) -> GeneratorRecipe:
        """How it reads histories: as in its training or, if that is not recorded, as many tokens as it can."""
        writer = self.responder.writer
        most = min(_LONGEST, writer.model.config.max_position_embeddings) if self.whole else writer.max_tokens
        settings = {"max_tokens": most, **self.record.get("recipe", {})}
        return replace(GeneratorRecipe(), **{key: settings[key] for key in _READING if key in settings})

    @property
    def whole(self) -> bool:
        """Whether it is measured on whole conversations: a decoder trained so, or not by us."""
        writer = self.responder.writer
        if not isinstance(writer, PromptWriter) or writer.model.config.is_encoder_decoder:
            return False
        return bool(self.record.get("recipe", {}).get("whole_dialogues", not self.record))

    @property
    def learned(self) -> list[str]:
        """The sources of its last training."""
        return list(self.record.get("recipe", {}).get("data", []))

    @property
    def learned_before(self) -> list[str]:
        """The sources on which its starting model was trained."""
        return [row["source"] for row in self.record.get("data", []) if row["source"] not in self.learned]

    @property
    def path(self) -> str:
        """Its training data in the papers' notation: "os → edos"."""
        parts = [" + ".join(each) for each in (self.learned_before, self.learned) if each]
        return " → ".join(parts) or "not told"

    @property
    def conditions(self) -> list[Condition]:
        """The label conditions under which it answers."""
        if not self.responder.writer.takes_labels:
            return ["none"]
        return ["truth", "predicted"] if self.responder.predictor is not None else ["truth"]

    def row(self, condition: Condition, how: str = "") -> str:
        """Return the name of its row in the matrix, with how its answers are decoded if not by beam search alone."""
        name = f"{self.name} ({how})" if how else self.name
        return f"{name}, predicted label" if condition == "predicted" else name

    def pace(self, contexts: Sequence[Context], condition: Condition, beams: int | None, max_tokens: int) -> float:
        """Return the seconds per answer, measured on one batch of contexts spread over the set."""
        few = contexts[:: max(1, len(contexts) // self.responder.batch)][: self.responder.batch]
        self.answer(few[:1], condition, beams=beams, max_tokens=max_tokens)  # loads what is loaded once
        began = time.monotonic()
        self.answer(few, condition, beams=beams, max_tokens=max_tokens)
        return (time.monotonic() - began) / len(few)

    def setting(self, held: HeldOut) -> str:
        """Return the model's relation to a test set: "held-out", "fine-tuned" (held-out, after pre-training on other
        data), "pre-trained" (trained on the set's source, then on another) or "zero-shot".

        Raises:
            ValueError: the model's training split the source differently, so it may have seen the test set.
        """
        for fact in self.record.get("data", []):
            division = (fact.get("division"), fact.get("dialogues"))
            if fact["source"] == held.name and division != (held.division, held.dialogues):
                raise ValueError(
                    f"{self.name} was trained on {held.name} of {division[1]} dialogues, split {division[0]}; these "
                    f"are {held.dialogues}, {held.division}: it may have learned from the test set. Give the same data"
                )
        if held.name in self.learned:
            return "fine-tuned" if self.learned_before else "held-out"
        return "pre-trained" if held.name in self.learned_before else "zero-shot"

    def perplexity(self, held: HeldOut) -> dict[str, Any]:
        """Return the perplexity per token and per word with 95 % intervals (bootstrap over documents), the fraction of
        tokens that are the most probable, the numbers of pairs, targets and words, and what was left out; and the
        perplexity of a unigram model of the answers in the set's training split (`unigram`; None for third-party
        models).

        The labels are those of the true answers; our empathetic models get them, plain ones do not.
        """
        writer, recipe = self.responder.writer, self.recipe
        task = task_of(writer, self.whole)
        pairs = task.pairs(held.test, recipe)
        rows = np.arange(len(pairs))
        accelerator = Accelerator(cpu=writer.model.device.type == "cpu", mixed_precision="no")
        nats, right = costs_of(writer.model, task, pairs, rows, recipe, accelerator)
        # Pairs do not name their dialogue, so they are counted for each dialogue.
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
        beams: int | None = None,
        max_tokens: int = 100,
        how: Mapping[str, Any] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> tuple[list[str], list[int | None]]:
        """Return the best answer to every context, and the label with which it was generated.

        Args:
            contexts: the contexts.
            condition: the label to answer with.
            beams: number of beams of the search; None for the model's own number.
            max_tokens: maximum number of tokens of an answer.
            how: further arguments of `Responder.respond`, such as `rerank` and `sample`.
            say: prints the progress.
        """
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
                **(how or {}),
            )
            texts += [candidates[0].text for candidates in found]
            labels = [candidates[0].label for candidates in found]
            under += [None if label is None else LABEL_IDS[label] for label in labels]
            if say is not None:
                say(f"  {self.name}: {len(texts)} of {len(contexts)} answers")
        return texts, under


def _figure(value: float, nats: Doubles, number: Doubles | Ints) -> dict[str, Any]:
    ends = interval(np.exp(np.minimum(nats / number, 700)))
    return {"value": round(value, 4), "interval": ends}


DISTINCT = ("distinct-1", "distinct-2")
Indices = npt.NDArray[np.int64]

_GROUPS = 50  # number of jackknife groups
_Z = 1.959964


def spaced(text: str) -> str:
    """Return a text in the form for word metrics: lower-cased tokens separated by spaces."""
    return " ".join(tokenize(text.lower()))


def words_of(held: HeldOut, vectors: Path | None = None) -> Words:
    """Return word statistics: the frequencies in the histories of the training split, and the word vectors."""
    train = [spaced(turn) for texts in held.train["texts"].to_pylist() for turn in texts[:-1]]
    if vectors is None:
        return Words.of(train=train)
    known = {word for text in train for word in text.split()}
    return Words.of(read_vectors(vectors, known), train=train)


def nearest_answers(held: HeldOut, encoder: Encoder, most: int = 20_000) -> list[str]:
    """Return for every context the answer, among those of the training split that have the label of the true answer,
    whose preceding turn is most similar to the context's last one: what needs no response model.

    Args:
        held: the test set, whose training split has labels.
        encoder: sentence encoder; its vectors have unit length.
        most: maximum number of training answers, drawn evenly from all.

    Raises:
        ValueError: no training answer has a label.
    """
    columns = zip(held.train["texts"].to_pylist(), held.train["labels"].to_pylist(), strict=True)
    pairs = [
        (before, answer, label)
        for texts, labels in columns
        for before, answer, label in zip(texts, texts[1:], labels[1:], strict=False)
        if label is not None
    ]
    if not pairs:
        raise ValueError(f"{held.name}: no training answer has a label: label the data first (`edos label`)")
    pairs = pairs[:: -(-len(pairs) // most)]
    known = encoder.encode([before for before, _, _ in pairs])
    labels = np.array([label for _, _, label in pairs])
    asked = encoder.encode([context.turns[-1] for context in held.contexts])
    found = []
    for context, similarities in zip(held.contexts, asked @ known.T, strict=True):
        there = labels == context.label
        allowed = np.where(there, similarities, -np.inf) if there.any() else similarities
        found.append(pairs[int(allowed.argmax())][1])
    return found


def labels_of(contexts: Sequence[Context], answers: Sequence[str], labeler: str) -> list[int]:
    """Return the label of each answer, predicted with its history."""
    dialogues = [[*context.turns, answer] for context, answer in zip(contexts, answers, strict=True)]
    found = load_labeler(labeler).predict_proba(dialogues).argmax(1)
    ends = np.cumsum([len(dialogue) for dialogue in dialogues]) - 1
    labels: list[int] = found[ends].tolist()
    return labels


def judge(
    contexts: Sequence[Context],
    answers: Sequence[str],
    labels: Sequence[int],
    words: Words,
    encoder: Encoder,
    under: Sequence[int | None],
) -> dict[str, Any]:
    """Return the metrics of answers, each with `value`, `interval` and `n`, the number of answers for which it is
    defined.

    Args:
        contexts: the contexts.
        answers: one for each context.
        labels: labels of the answers, from `labels_of`.
        words: from `words_of`.
        encoder: sentence encoder for SES.
        under: the label with which each answer was generated; if None, `label_reached` compares with the label of the
            true answer.

    Returns:
        The 17 metrics of dialog-eval that can be computed with `words`, by name, except that distinct-n counts all
        words (there, words unknown in training are one word); `ses`; `label_reached`, the fraction of answers with the
        intended label; `label_of_truth`, the fraction with the label of the true answer; `generic`, the fraction of
        answers given to many contexts; `different`, the fraction given once. Then the metrics of `by_libraries`, with
        `made_by`.
    """
    truths, groups = [context.truth for context in contexts], np.array([context.document for context in contexts])
    texts = [spaced(answer) for answer in answers]
    histories = [spaced(" ".join(context.turns)) for context in contexts]
    true = [context.label for context in contexts]
    wanted = [label if own is None else own for own, label in zip(under, true, strict=True)]
    values = measure(texts, [spaced(truth) for truth in truths], histories, words)
    values["ses"] = ses(answers, truths, encoder.encode)
    values["label_reached"] = label_accuracy(labels, wanted)
    values["label_of_truth"] = label_accuracy(labels, true)
    values["generic"] = generic(answers, histories)
    values["different"] = np.array([float(texts.count(text) == 1) for text in texts])
    found = {name: mean_of(own, groups) for name, own in values.items() if name not in DISTINCT}
    found |= {name: _distinct(texts, name) for name in DISTINCT}
    return found | by_libraries(answers, truths, groups)


def by_libraries(answers: Sequence[str], truths: Sequence[str], groups: npt.NDArray[Any]) -> dict[str, Any]:
    """Return the `sacreBLEU` and `chrF` of the set, 0 to 100, and `BERTScore`, the mean F1 with the packaged encoder,
    of the unmodified answers. A metric is left out if its library is missing; `made_by` is the library's signature.
    """
    found: dict[str, Any] = {}
    with suppress(ModuleNotFoundError):
        found["sacreBLEU"] = _by_library(sacrebleu, answers, truths)
        found["chrF"] = _by_library(chrf, answers, truths)
    if folder := packaged_model():
        with suppress(ModuleNotFoundError):
            each = bertscore(answers, truths, folder)
            found["BERTScore"] = {**mean_of(each.values, groups), "made_by": each.made_by}
    return found


def _by_library(
    library: Callable[[Sequence[str], Sequence[str]], Measured], answers: Sequence[str], truths: Sequence[str]
) -> dict[str, Any]:
    def value(rows: Indices) -> float:
        return float(library([answers[row] for row in rows], [truths[row] for row in rows]).values[0])

    return {**_of_the_set(len(answers), value, 100), "made_by": library(answers, truths).made_by}


def mean_of(values: Doubles, groups: npt.NDArray[Any]) -> dict[str, Any]:
    """Return the mean of values without NaN, with its interval from a bootstrap over groups."""
    there = ~np.isnan(values)
    if not there.any():
        return {"value": None, "interval": [None, None], "n": 0}
    sums = resampled(np.stack([values[there], np.ones(int(there.sum()))], 1), groups[there])
    return {
        "value": round(float(values[there].mean()), 4),
        "interval": interval(sums[:, 0] / sums[:, 1]),
        "n": int(there.sum()),
    }


def _distinct(texts: Sequence[str], name: str) -> dict[str, Any]:
    """Return distinct-n of a set. No bootstrap, since drawing answers twice would lower it."""
    return _of_the_set(len(texts), lambda rows: float(measure([texts[row] for row in rows])[name][0]), 1)


def _of_the_set(number: int, value: Callable[[Indices], float], most: float) -> dict[str, Any]:
    """Return a metric of a whole set, with a normal interval from the jackknife.

    Args:
        number: number of answers.
        value: the metric of the answers with the given rows; NaN if undefined.
        most: the maximum of the metric, which limits the interval; the minimum is 0.
    """
    rows = np.arange(number)
    groups = rows % min(_GROUPS, number)
    whole, count = value(rows), int(groups.max(initial=0)) + 1
    if np.isnan(whole) or count < 2:
        return {"value": None if np.isnan(whole) else round(whole, 4), "interval": [None, None], "n": 1}
    left = np.array([value(rows[groups != group]) for group in range(count)])
    error = float(np.sqrt((count - 1) / count * np.sum((left - left.mean()) ** 2)))
    ends = [round(max(0.0, whole - _Z * error), 4), round(min(most, whole + _Z * error), 4)]
    return {"value": round(whole, 4), "interval": ends, "n": 1}


def predictor_scores(predicted: Sequence[int], true: Sequence[int]) -> dict[str, float]:
    """Return accuracy, and precision, recall and F1 weighted by the true labels' frequencies, as in Xie &
    Pu's Table 5.
    """
    counts = confusion(np.array(true, np.int64), np.array(predicted, np.int64), len(LABELS))
    table = per_label(counts)
    shares = table["support"] / table["support"].sum()
    scores = {name: round(float(np.nansum(table[name] * shares)), 4) for name in ("precision", "recall", "f1")}
    return scores | {"accuracy": round(float(counts.trace() / counts.sum()), 4)}
