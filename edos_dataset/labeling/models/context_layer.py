"""The layer by which a turn sees the turns before it.

This file travels with every saved `ContextClassifier` (`trust_remote_code=True`), so it imports nothing of this
package.
"""

import math
from typing import cast

import torch
from torch import nn


class ContextLayer(nn.Module):
    """Attention of every turn to itself and the turns before it, and a feed-forward network, each behind a
    normalisation and added to what comes in.

    Args:
        width: length of a turn's vector; a multiple of `heads`.
        heads: heads of the attention.
        window: earlier turns that are looked at.
        dropout: probability of dropping a value of what is added.
    """

    def __init__(self, width: int, heads: int, window: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.distance = nn.Linear(window + 1, heads, bias=False)  # its weight [heads, distances] is the learned bias
        self.mix = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return the turns [n, width], each with what it took from the turns before it.

        Args:
            vectors: [n, width], the turns of all dialogues one behind the other.
            places: int64 [n], the number of each turn in its dialogue, from 0.
        """
        hidden = vectors + self.dropout(self.mix(self._attend(self.attention_norm(vectors), places)))
        wide = nn.functional.gelu(self.widen(self.feed_norm(hidden)))
        return cast(torch.Tensor, hidden + self.dropout(self.narrow(wide)))

    def _attend(self, vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return for every turn the weighted mean of the values of the turns that it looks at, [n, width].

        The turns at one distance are the same rows, moved: nothing is gathered, and memory grows with the turns alone.
        """
        bias = self.distance.weight
        heads, size = len(bias), len(vectors)
        query, key, value = (
            layer(vectors).view(size, heads, -1) for layer in (self.query, self.key, self.value)
        )  # [n, heads, width of a head]
        reach = range(min(bias.shape[1], size))
        scores = torch.stack([(query * _earlier(key, back)).sum(-1) for back in reach], -1)
        scores = scores / math.sqrt(query.shape[-1]) + bias[:, : len(reach)]
        absent = torch.arange(len(reach), device=places.device) > places[:, None]
        weights = scores.float().masked_fill(absent[:, None], -math.inf).softmax(-1).to(value.dtype)
        mixed = torch.zeros_like(value)
        for back in reach:
            mixed = mixed + weights[..., back, None] * _earlier(value, back)
        return mixed.view(size, -1)


def _earlier(rows: torch.Tensor, back: int) -> torch.Tensor:
    """Return for every row the one that stands `back` rows before it, zeros for the first ones."""
    return torch.cat([rows.new_zeros(back, *rows.shape[1:]), rows[: len(rows) - back]]) if back else rows
