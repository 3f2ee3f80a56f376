"""BERT encoders in plain torch, for inference without importing transformers, which takes two seconds.

Weight names and the order of operations are those of `BertModel` in transformers, so the outputs are identical to the
bit.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class Bert(nn.Module):
    """A BERT encoder without pooler and dropout.

    Args:
        config: the content of its `config.json`.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.embeddings = _Embeddings(config)
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(_Layer(config) for _ in range(config["num_hidden_layers"]))}
        )

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states, [batch, tokens, width].

        Args:
            input_ids: [batch, tokens], padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding.
        """
        mask = None
        if not bool(attention_mask.all()):
            batch, tokens = attention_mask.shape
            mask = attention_mask.bool()[:, None, None].expand(batch, 1, tokens, tokens)
        states = self.embeddings(input_ids)
        for layer in cast(nn.ModuleList, self.encoder["layer"]):
            states = layer(states, mask)
        return cast(torch.Tensor, states)


class _Embeddings(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        rows = config["vocab_size"]
        self.word_embeddings = nn.Embedding(rows, width, _weight=torch.empty(rows, width))  # no random values
        self.position_embeddings = nn.Embedding(config["max_position_embeddings"], width)
        self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"])

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        typed = self.word_embeddings(input_ids) + self.token_type_embeddings.weight[0]
        return cast(torch.Tensor, self.LayerNorm(typed + self.position_embeddings(positions)))


class _Layer(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, inner, eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.heads = config["num_attention_heads"]
        own = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": own, "output": _dense(width, width, eps)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _dense(inner, width, eps)

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        batch, tokens, width = states.shape
        own, after = cast(nn.ModuleDict, self.attention["self"]), cast(nn.ModuleDict, self.attention["output"])
        query, key, value = (
            own[name](states).view(batch, tokens, self.heads, -1).transpose(1, 2) for name in ("query", "key", "value")
        )
        mixed = (
            scaled_dot_product_attention(query, key, value, attn_mask=mask)
            .transpose(1, 2)
            .reshape(batch, tokens, width)
        )
        states = after["LayerNorm"](after["dense"](mixed) + states)
        inner = gelu(self.intermediate["dense"](states))
        return cast(torch.Tensor, self.output["LayerNorm"](self.output["dense"](inner) + states))


def _dense(inputs: int, outputs: int, eps: float) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": nn.Linear(inputs, outputs), "LayerNorm": nn.LayerNorm(outputs, eps=eps)})
