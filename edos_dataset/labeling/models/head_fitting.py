"""Fitting linear heads: softmax regression on embeddings, and the temperature. For `training/train_linear_heads.py` and
`augmentation/learners.py`.
"""

from collections.abc import Mapping

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.heads import LinearHead
from edos_dataset.metrics.calibration import Ints, fit_temperature
from edos_dataset.metrics.classification import cross_entropy


def fit(features: Floats, targets: Floats, l2: float) -> tuple[Floats, Floats]:
    """Fit softmax regression: mean cross-entropy to the targets plus l2 / 2 times the squared weights, the bias free;
    L-BFGS from zero.

    Args:
        features: float32 [n, features].
        targets: float32 [n, 41], probabilities; a row that is multiplied by a number weighs as much as so many rows.
        l2: 0 or more.

    Returns:
        Weight [features, 41] and bias [41].
    """
    import torch

    x, y = torch.from_numpy(features), torch.from_numpy(targets)
    weight = torch.zeros(x.shape[1], y.shape[1], requires_grad=True)
    bias = torch.zeros(y.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=300, history_size=20, line_search_fn="strong_wolfe", tolerance_grad=1e-6
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ weight + bias, y) + l2 / 2 * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach().numpy(), bias.detach().numpy()


def fit_dialogue(
    features: Floats, targets: Floats, weak: LinearHead, choice: Mapping[str, float]
) -> tuple[Floats, Floats]:
    """Fit a dialogue head with a weak head's logits as 41 more features, and fold these, being linear in the turn, into
    its weights.

    Args:
        features: float32 [n, 2 * dim + 1], rows of `dialogue_features`.
        targets: as for `fit`.
        weak: a head on single turns, weight [dim, 41].
        choice: `l2` as for `fit`; `context_scale` and `weak_scale`, what the context and the logits are multiplied by:
            the smaller, the harder the penalty presses on them.

    Returns:
        Weight [2 * dim + 1, 41] and bias [41].
    """
    dim = len(weak.weight)
    weak_weight = choice["weak_scale"] * (weak.weight - weak.weight.mean(axis=1, keepdims=True))
    weak_bias = choice["weak_scale"] * (weak.bias - weak.bias.mean())
    context = np.float32(choice["context_scale"])
    extended = np.hstack(
        [features[:, :dim], context * features[:, dim:], features[:, :dim] @ weak_weight + weak_bias]
    ).astype(np.float32)
    weight, bias = fit(extended, targets, choice["l2"])
    own, others, from_weak = np.split(weight, [dim, features.shape[1]])
    return np.vstack([own + weak_weight @ from_weak, context * others]).astype(np.float32), (
        bias + weak_bias @ from_weak
    ).astype(np.float32)


def calibrate(
    weight: Floats, bias: Floats, features: Floats, labels: Ints, decay: float | None
) -> tuple[LinearHead, float]:
    """Return the head at the temperature of the lowest cross-entropy on the given rows, and that cross-entropy (nats).

    Args:
        weight: float32 [features, 41].
        bias: float32 [41].
        features: float32 [n, features] of rows that the head was not fitted to.
        labels: their label ids, int64 [n].
        decay: as of `LinearHead`.
    """
    head = LinearHead(weight, bias, round(fit_temperature(features @ weight + bias, labels), 4), decay)
    return head, cross_entropy(head.predict_proba(features), labels)
