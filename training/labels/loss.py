"""The loss over shares and over sets of labels (partial-label learning)."""

import torch

from edos_dataset.labels import LABELS
from training.labels.targets import INTENT_IDS, Kind

_NEVER = -1e4  # a logit that has no share, in half precision too


def loss_of(
    logits: torch.Tensor,
    values: torch.Tensor,
    wide: torch.Tensor,
    kinds: torch.Tensor,
    silent_weight: float,
    smoothing: float,
) -> torch.Tensor:
    """Return the loss of every turn, nats [n].

    Shares: the cross-entropy. One of a set S: -log of the sum of the probabilities in S (Jin and Ghahramani, 2002),
    each times the part of its label that S has. Emotions: the same among the labels that are no intents, and, with
    `silent_weight`, among all 41 with the set that `whole_set` gives.

    Args:
        logits: [n, 41].
        values: [n, 41] of the targets.
        wide: [n, 41], as `whole_set` gives them.
        kinds: [n], `Kind`.
        silent_weight: see `LabelsRecipe`.
        smoothing: of shares.
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
    """Return the logarithm of the sum of parts, 0 to 1, of the probabilities, [n]."""
    return torch.logsumexp(logs + parts.log(), 1)
