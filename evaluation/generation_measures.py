"""What answers to a test set are worth, by every measure of the matrix, with 95 % intervals."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import confusion, per_label
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.metrics.responses.dialog_eval import measure
from edos_dataset.metrics.responses.files import read_vectors
from edos_dataset.metrics.responses.generic import generic
from edos_dataset.metrics.responses.libraries import Measured, bertscore, chrf, packaged_model, sacrebleu
from edos_dataset.metrics.responses.semantic import label_accuracy, ses
from edos_dataset.metrics.responses.words import Words
from edos_dataset.text import tokenize
from evaluation.generation_sets import Context, HeldOut

DISTINCT = ("distinct-1", "distinct-2")
Indices = npt.NDArray[np.int64]

_GROUPS = 50  # of the jackknife
_Z = 1.959964


def spaced(text: str) -> str:
    """Return a text as the measures of words read it: lower-cased, words and marks parted by blanks."""
    return " ".join(tokenize(text.lower()))


def words_of(held: HeldOut, vectors: Path | None = None) -> Words:
    """Return what is known of words: how likely they are in the histories of the training part, and their vectors."""
    train = [spaced(turn) for texts in held.train["texts"].to_pylist() for turn in texts[:-1]]
    if vectors is None:
        return Words.of(train=train)
    known = {word for text in train for word in text.split()}
    return Words.of(read_vectors(vectors, known), train=train)


def labels_of(contexts: Sequence[Context], answers: Sequence[str], labeler: str) -> list[int]:
    """Return the label of each answer, as a labeler gives it that sees the history."""
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
    """Return the figures of answers, each with `value`, `interval` and `n`, how many answers have a value.

    Args:
        contexts: what was answered.
        answers: one each.
        labels: of the answers, as `labels_of` gives them.
        words: as of `words_of`.
        encoder: of sentences, for SES.
        under: the label that each answer was written under; where there is none, `label_reached` is against the label
            of the true answer.

    Returns:
        The 17 of dialog-eval that can be measured on `words`, by their names, but distinct-n over all words (there,
        those that training lacks are one); `ses`; `label_reached`, the share of answers of the label that was wanted;
        `label_of_truth`, that of the true answer's label; `generic`, the share of answers that are given to many
        contexts; `different`, of answers that are given once. Then those of `by_libraries`, which say how they were
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
    """Return `sacreBLEU` and `chrF` of the set, 0 to 100, and `BERTScore`, the mean F1 by the packaged encoder, of the
    answers as they are; each that its library can measure here, and is `made_by` as it tells.
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
    """Return the mean of values, of which NaN is none, with its interval: bootstrap over groups."""
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
    """Return distinct-n of a set, every word one of its own: a bootstrap would draw answers twice, and lower it."""
    return _of_the_set(len(texts), lambda rows: float(measure([texts[row] for row in rows])[name][0]), 1)


def _of_the_set(number: int, value: Callable[[Indices], float], most: float) -> dict[str, Any]:
    """Return what is measured of a whole set, with a normal interval by the jackknife.

    Args:
        number: of answers.
        value: the measure of some of them, by their rows; NaN for none.
        most: the highest value, where the interval ends; the lowest is 0.
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
    """Return accuracy and precision, recall and F1 weighted by the true labels' shares, as Xie & Pu's Table 5."""
    counts = confusion(np.array(true, np.int64), np.array(predicted, np.int64), len(LABELS))
    table = per_label(counts)
    shares = table["support"] / table["support"].sum()
    scores = {name: round(float(np.nansum(table[name] * shares)), 4) for name in ("precision", "recall", "f1")}
    return scores | {"accuracy": round(float(counts.trace() / counts.sum()), 4)}
