"""A head that answers as the makers of several labelled sets would, each by their own convention.

This file travels with every saved `ContextClassifier` (`trust_remote_code=True`), so it imports nothing of this
package.
"""

import math

import torch
from torch import nn


class ConventionHead(nn.Module):
    """A hidden layer, the logits that all conventions share, what each adds to them, and a gate that tells to whose
    texts one belongs.

    Args:
        width: length of what comes in.
        inner: length of the hidden layer.
        labels: how many there are.
        conventions: likewise.
        dropout: probability of dropping a value of what comes in, and of the hidden layer.
    """

    def __init__(self, width: int, inner: int, labels: int, conventions: int, dropout: float) -> None:
        super().__init__()
        drops = nn.Dropout(dropout), nn.Dropout(dropout)
        self.hidden = nn.Sequential(drops[0], nn.Linear(width, inner), nn.Tanh(), drops[1])
        self.shared, self.own = nn.Linear(inner, labels), nn.Linear(inner, conventions * labels, bias=False)
        self.gate = nn.Linear(inner, conventions)

    def forward(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits by every convention, [n, conventions, labels], and those of the conventions themselves,
        [n, conventions], of vectors [n, width].
        """
        hidden = self.hidden(vectors)
        shared = self.shared(hidden)
        own = self.own(hidden).view(len(vectors), -1, shared.shape[1])
        # The gate looks on: it must not teach the encoder to tell sets by their spelling.
        return shared[:, None] + own, self.gate(hidden.detach())


def check_conventions(conventions: object) -> None:
    """Refuse conventions that no head can learn.

    Raises:
        ValueError: they are not names, or none.
    """
    if not isinstance(conventions, list) or not conventions or not all(isinstance(each, str) for each in conventions):
        raise ValueError(f"conventions must be names, at least one, got {conventions!r}")


def check_answers(answers: object, conventions: list[str]) -> None:
    """Refuse answers that no model with some conventions can give.

    Raises:
        ValueError: a name, factor or temperature is none.
    """
    if not isinstance(answers, dict) or not answers:
        raise ValueError(f"answers must be settings by name, at least one, got {answers!r}")
    for name, own in answers.items():
        if not isinstance(own, dict) or own.keys() != {"sees", "conventions", "temperature"}:
            raise ValueError(f"the answer {name!r} must have sees, conventions and temperature, got {own!r}")
        if own["sees"] not in ("turn", "history"):
            raise ValueError(f"the answer {name!r} must see 'turn' or 'history', got {own['sees']!r}")
        if not is_number(own["temperature"]) or own["temperature"] <= 0:
            raise ValueError(f"temperature of the answer {name!r} must be above 0, got {own['temperature']!r}")
        factors = own["conventions"]
        known = isinstance(factors, dict) and bool(factors) and factors.keys() <= set(conventions)
        if not known or not all(is_number(factor) and factor > 0 for factor in factors.values()):
            raise ValueError(
                f"conventions of the answer {name!r} must be numbers above 0 for some of {', '.join(conventions)}, got "
                f"{factors!r}"
            )


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
