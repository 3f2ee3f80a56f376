"""The target of a labelled turn: a distribution over our labels, or a set of labels one of which is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch

from edos_dataset.arrays import Floats
from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS, NEUTRAL
from edos_dataset.releases.labelled_sets.label_sets import shares_of_meaning, silent_on_intents

INTENT_IDS = tuple(LABEL_IDS[name] for name in INTENTS)
_FIRST = {1: (1.0,), 2: (0.65, 0.35), 3: (0.5, 0.28, 0.22)}
"""Number of labels that a reader gave to a turn → their shares, the best first."""


class Kind(IntEnum):
    """How the values of a target are interpreted."""

    SHARES = 0
    """Shares of the 41 labels, which sum to 1."""
    ONE_OF = 1
    """One of the labels above 0 is right; the value is the fraction of the label that belongs to the original set's
    label.
    """
    EMOTION = 2
    """As ONE_OF, by annotators who were not asked for intents: the 8 intents are neither right nor wrong."""


@dataclass(frozen=True, eq=False)
class Target:
    """The target of a turn.

    Attributes:
        values: float32 [41].
        kind: how the values are interpreted.
    """

    values: Floats
    kind: Kind

    def holds(self, label: int) -> bool:
        """Return whether a label is among the right ones."""
        return bool(self.values[label] > 0)


def target_of(source: str, names: Sequence[str]) -> Target | None:
    """Return the target for a turn's labels in a third-party set; None if they have no counterpart in ours."""
    found = shares_of_meaning(source, names)
    if not found:
        return None
    values = np.zeros(len(LABELS), np.float32)
    values[[*found]] = [*found.values()]
    silent = silent_on_intents(source) and found.keys().isdisjoint(INTENT_IDS)
    return Target(values, Kind.EMOTION if silent else Kind.ONE_OF)


def target_of_reader(labels: Sequence[int]) -> Target | None:
    """Return the target for one to three labels of a reader, the best first; None if there are none."""
    if not labels:
        return None
    values = np.zeros(len(LABELS), np.float32)
    for label, share in zip(labels, _FIRST[len(labels)], strict=True):
        values[label] += share
    return Target(values, Kind.SHARES)


def whole_set(values: Floats) -> Floats:
    """Return the labels that a target of kind EMOTION leaves possible among all 41, float32 [n, 41], from its values
    [n, 41].

    A turn labelled as having no emotion may have any intent.
    """
    plain = values[:, [LABEL_IDS[NEUTRAL]]] > 0
    intents = np.zeros(len(LABELS), np.float32)
    intents[list(INTENT_IDS)] = 1
    wide: Floats = np.maximum(values, plain * intents).astype(np.float32)
    return wide


_NEVER = -1e4  # a logit with probability zero, also in half precision


def loss_of(
    logits: torch.Tensor,
    values: torch.Tensor,
    wide: torch.Tensor,
    kinds: torch.Tensor,
    silent_weight: float,
    smoothing: float,
) -> torch.Tensor:
    """Return the loss of every turn, nats [n].

    For SHARES: the cross-entropy. For ONE_OF a set S: -log of the sum of the probabilities in S (Jin and Ghahramani,
    2002), each multiplied by the fraction of its label in S. For EMOTION: the same among the labels that are not
    intents and, weighted by `silent_weight`, among all 41 with the set from `whole_set`.

    Args:
        logits: [n, 41].
        values: [n, 41] of the targets.
        wide: [n, 41], from `whole_set`.
        kinds: [n], `Kind`.
        silent_weight: see `LabelsRecipe`.
        smoothing: label smoothing of distributions.
    """
    among_all = logits.log_softmax(1)
    shares = values * (1 - smoothing) + smoothing / len(LABELS)
    cross_entropy = -(shares * among_all).sum(1)
    one_of = -_log_sum(among_all, values)
    without = logits.clone()
    without[:, list(INTENT_IDS)] = _NEVER
    emotion = -_log_sum(without.log_softmax(1), values) - silent_weight * _log_sum(among_all, wide)
    return torch.where(kinds == Kind.SHARES, cross_entropy, torch.where(kinds == Kind.ONE_OF, one_of, emotion))


def _log_sum(logs: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sum of the probabilities, each times its part (0 to 1), [n]."""
    return torch.logsumexp(logs + parts.log(), 1)
