"""Training of the scorer of scene boundaries: weights of words, then a small network over all features, in numpy.

Which boundary in an interval begins the scene is unknown. At first the one with the longest pause is used, then the one
that the scorer itself considers the most likely, as in multiple-instance learning (mi-SVM: Andrews et al., 2003).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from edos_dataset.arrays import Doubles, Floats, Ints
from training.scenes.corpus import Episode


@dataclass(frozen=True)
class FitSettings:
    """The settings of the training.

    Attributes:
        columns: the features that the network uses; None for all.
        words: whether it uses words.
        bits: number of bits of the hashes of words.
        penalty: inverse strength of the penalty on the weights of words.
        hidden: number of hidden units of one network.
        members: number of networks, whose mean is used.
        epochs: passes over the boundaries.
        rate: learning rate.
        decay: weight decay.
        rounds: number of times that the boundaries of breaks are chosen.
        seed: seed of the networks.
    """

    columns: tuple[int, ...] | None = None
    words: bool = True
    bits: int = 14
    penalty: float = 0.02
    hidden: int = 8
    members: int = 3
    epochs: int = 10
    rate: float = 0.003
    decay: float = 0.003
    rounds: int = 2
    seed: int = 0


@dataclass(eq=False)
class Fitted:
    """The trained weights.

    Attributes:
        words: float64 [2 ** bits], weights of words; empty if words are not used.
        first: float64 [features, units], bias in the last row.
        second: float64 [units + 1], bias last.
    """

    words: Doubles
    first: Doubles
    second: Doubles
    columns: Ints
    facts: dict[str, Any] = field(default_factory=dict)

    def log_odds(self, episode: Episode) -> Doubles:
        """Return the log-odds of a scene boundary before each turn, [turns]; NaN for the first."""
        odds = outputs(self._inputs(episode), self.first, self.second)
        odds[:1] = np.nan
        return odds

    def _inputs(self, episode: Episode) -> Doubles:
        columns: Doubles = episode.features[:, self.columns].astype(np.float64)
        if not len(self.words):
            return columns
        return np.column_stack([columns, word_scores(episode, self.words)])


def word_scores(episode: Episode, weights: Doubles) -> Doubles:
    """Return the sum of the weights of the words at each boundary."""
    code, boundary = episode.codes
    return np.bincount(boundary, weights[code], len(episode.begins)).astype(np.float64)


def outputs(inputs: Doubles, first: Doubles, second: Doubles) -> Doubles:
    """Return the output of the network, which has one hidden tanh layer."""
    odds: Doubles = np.tanh(inputs @ first[:-1] + first[-1]) @ second[:-1] + second[-1]
    return odds


def fit(episodes: Sequence[Episode], settings: FitSettings, folds: int = 4) -> Fitted:
    """Fit word weights and network to episodes."""
    scores = [np.nan_to_num(episode.silences[episode.begins], nan=-1) for episode in episodes]
    columns = np.arange(episodes[0].features.shape[1]) if settings.columns is None else np.array(settings.columns)
    for _ in range(settings.rounds):
        labels, weights = zip(*(one.labels(score) for one, score in zip(episodes, scores, strict=True)), strict=True)
        inputs = [one.features[:, columns].astype(np.float64) for one in episodes]
        words = np.zeros(0)
        if settings.words:
            heldout = _held_out_scores(episodes, labels, weights, settings, folds)
            inputs = [np.c_[one, extra] for one, extra in zip(inputs, heldout, strict=True)]
            words = _fit_words(episodes, labels, weights, settings)
        first, second = _fit_network(np.concatenate(inputs), np.concatenate(labels), np.concatenate(weights), settings)
        fitted = Fitted(words, first, second, columns)
        scores = [outputs(one, first, second) for one in inputs]
    return fitted


def _held_out_scores(
    episodes: Sequence[Episode],
    labels: Sequence[Floats],
    weights: Sequence[Floats],
    settings: FitSettings,
    folds: int,
) -> list[Doubles]:
    """Score the words of each fold with weights fitted on the other folds, as for films outside the training data."""
    scores = [np.zeros(0)] * len(episodes)
    for fold in range(folds):
        rest = [index for index in range(len(episodes)) if index % folds != fold]
        part = _fit_words(
            [episodes[index] for index in rest],
            [labels[index] for index in rest],
            [weights[index] for index in rest],
            settings,
        )
        for index in range(fold, len(episodes), folds):
            scores[index] = word_scores(episodes[index], part)
    return scores


def _fit_words(
    episodes: Sequence[Episode], labels: Sequence[Floats], weights: Sequence[Floats], settings: FitSettings
) -> Doubles:
    sizes = np.cumsum([0, *(len(one.begins) for one in episodes)])
    code = np.concatenate([one.codes[0] for one in episodes])
    boundary = np.concatenate([one.codes[1] + base for one, base in zip(episodes, sizes[:-1], strict=True)])
    table = csr_matrix((np.ones(len(code), np.float32), (boundary, code)), (sizes[-1], 1 << settings.bits))
    weight, label = np.concatenate(weights), np.concatenate(labels)
    used = np.flatnonzero(weight > 0)
    model = LogisticRegression(C=settings.penalty, max_iter=60, tol=1e-3)
    model.fit(table[used], label[used], weight[used])
    found: Doubles = model.coef_[0].astype(np.float64)
    return found


def _fit_network(inputs: Doubles, labels: Floats, weights: Floats, settings: FitSettings) -> tuple[Doubles, Doubles]:
    """Fit the members and concatenate them: the mean of their log-odds is one wider network."""
    used = np.flatnonzero(weights > 0)
    inputs, label, weight = inputs[used], labels[used].astype(np.float64), weights[used].astype(np.float64)
    mean, deviation = inputs.mean(0), np.maximum(inputs.std(0), 1e-3)
    scaled = (inputs - mean) / deviation
    parts = [_train(scaled, label, weight, settings, seed) for seed in range(settings.members)]
    first = np.concatenate([part[0] for part in parts], axis=1)
    first[:-1] /= deviation[:, None]
    first[-1] -= mean @ first[:-1]
    second = np.concatenate([part[1][:-1] for part in parts]) / settings.members
    bias = np.mean([part[1][-1] for part in parts])
    return first, np.r_[second, bias]


def _train(
    inputs: Doubles, label: Doubles, weight: Doubles, settings: FitSettings, member: int
) -> tuple[Doubles, Doubles]:
    """Train one network with Adam (Kingma and Ba, 2015) and decoupled weight decay; the rate decays to zero."""
    rng = np.random.default_rng([settings.seed, member])
    size, batch = len(label), 512
    inputs = np.c_[inputs, np.ones(size)].astype(np.float32)
    first = (rng.standard_normal((inputs.shape[1], settings.hidden)) / np.sqrt(inputs.shape[1])).astype(np.float32)
    second = np.r_[rng.standard_normal(settings.hidden) / np.sqrt(settings.hidden), -4.0].astype(np.float32)
    moments: list[list[npt.NDArray[np.float32]]] = [[np.zeros_like(one), np.zeros_like(one)] for one in (first, second)]
    steps = settings.epochs * (size // batch)
    order = np.concatenate([rng.permutation(size)[: size // batch * batch] for _ in range(settings.epochs)])
    for step, rows in enumerate(order.reshape(steps, batch), 1):
        x, hidden = inputs[rows], np.tanh(inputs[rows] @ first)
        error = weight[rows] * (1 / (1 + np.exp(-(hidden @ second[:-1] + second[-1]))) - label[rows]) / batch
        back = (error[:, None] * second[:-1]) * (1 - hidden**2)
        slopes = x.T @ back, np.r_[error @ hidden, error.sum()]
        rate = settings.rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        for value, slope, (mean, square) in zip((first, second), slopes, moments, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            value -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        first[:-1] *= 1 - rate * settings.decay * 10
        second[:-1] *= 1 - rate * settings.decay * 10
    return first.astype(np.float64), second.astype(np.float64)
