"""The layers of the response models: one embedder for histories and answers, encoder and decoder of a Transformer whose
layers are normalised after the sum (post-layer-norm), with exact GELU.

This file travels with every saved model (`trust_remote_code=True`), beside `config.py`, the only one of this package
that it imports.
"""

from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from .config import FIRST_POSITION, ResponseConfig


class Embedder(nn.Module):
    """Sum of the vectors of word, position, speaker and label, normalised: one for encoder and decoder."""

    def __init__(self, config: ResponseConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.words = nn.Embedding(config.vocab_size, width)
        self.positions = nn.Embedding(config.max_positions, width)
        self.segments = nn.Embedding(config.num_segments, width) if config.num_segments else None
        self.labels = nn.Embedding(config.num_response_labels, width) if config.num_response_labels else None
        self.norm = nn.LayerNorm(width, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.max_tokens = config.max_tokens

    def forward(
        self,
        ids: torch.Tensor,
        segment_ids: torch.Tensor | None = None,
        label_ids: torch.Tensor | None = None,
        start: int = 0,
    ) -> torch.Tensor:
        """Return the vectors of tokens from position `start` on, [batch, tokens, width].

        Segments and labels, [batch, tokens] or [batch, 1], are ignored if the model has no table for them.

        Raises:
            ValueError: the sequence is longer than the table of positions.
        """
        length = start + ids.shape[1]
        if length > self.max_tokens:
            raise ValueError(
                f"a sequence has {length} tokens, but the model has positions for {self.max_tokens}: cut it, as "
                "encode_history does, or give fewer new tokens"
            )
        places = torch.arange(start, length, device=ids.device) + FIRST_POSITION
        vectors = self.words(ids) + self.positions(places)
        if self.segments is not None and segment_ids is not None:
            vectors = vectors + self.segments(segment_ids)
        if self.labels is not None and label_ids is not None:
            vectors = vectors + self.labels(label_ids)
        return cast(torch.Tensor, self.dropout(self.norm(vectors)))


class Attention(nn.Module):
    """Attention with several heads, of a sequence to itself or to another, with a cache for keys and values."""

    def __init__(self, config: ResponseConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)
        self.heads, self.dropout = config.num_heads, config.dropout

    def forward(
        self,
        states: torch.Tensor,
        mask: torch.Tensor | None,
        source: torch.Tensor | None = None,
        cache: Cache | None = None,
        layer: int = 0,
    ) -> torch.Tensor:
        """Return [batch, queries, width].

        Args:
            states: the queries, [batch, queries, width].
            mask: added to the scores, of a shape like [batch, 1, queries or 1, keys].
            source: the sequence attended to, [batch, keys, width]; by default the states, after those in the cache.
            cache: keys and values of this kind of attention; with a source it has all its keys from the first step
                on.
            layer: index of the layer in the cache.
        """
        queries = self._split(self.query(states))
        if source is not None and cache is not None and cache.get_seq_length(layer):
            kept = cast(Any, cache.layers[layer])
            keys, values = kept.keys, kept.values
        else:
            there = states if source is None else source
            keys, values = self._split(self.key(there)), self._split(self.value(there))
            if cache is not None:
                keys, values = cache.update(keys, values, layer)
        dropout = self.dropout if self.training else 0.0
        mixed = scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout)
        return cast(torch.Tensor, self.output(mixed.transpose(1, 2).flatten(2)))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    """Self-attention, in a decoder attention to the encoder, then a feed-forward layer, each with a residual connection
    and post-normalisation.
    """

    def __init__(self, config: ResponseConfig, number: int, decodes: bool) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.number = number
        self.attention, self.attention_norm = Attention(config), nn.LayerNorm(width, eps)
        self.cross = Attention(config) if decodes else None
        self.cross_norm = nn.LayerNorm(width, eps) if decodes else None
        self.inner, self.outer = nn.Linear(width, config.intermediate_size), nn.Linear(config.intermediate_size, width)
        self.outer_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        states: torch.Tensor,
        mask: torch.Tensor | None,
        source: torch.Tensor | None = None,
        source_mask: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
    ) -> torch.Tensor:
        """Return the new states, [batch, tokens, width]; for arguments see `Decoder`."""
        own, crossed = (cache.self_attention_cache, cache.cross_attention_cache) if cache is not None else (None, None)
        attended = self.attention(states, mask, cache=own, layer=self.number)
        states = self.attention_norm(states + self.dropout(attended))
        if self.cross is not None and self.cross_norm is not None:
            attended = self.cross(states, source_mask, source, crossed, self.number)
            states = self.cross_norm(states + self.dropout(attended))
        fed = self.outer(gelu(self.inner(states)))
        return cast(torch.Tensor, self.outer_norm(states + self.dropout(fed)))


class Encoder(nn.Module):
    """The embedder, which a decoder may share, and layers that see the whole history."""

    def __init__(self, config: ResponseConfig, embedder: Embedder) -> None:
        super().__init__()
        self.embedder, self.padding = embedder, config.pad_token_id
        self.end, self.speakers = config.eos_token_id, config.num_segments
        self.layers = nn.ModuleList(Layer(config, number, False) for number in range(config.num_layers))
        self.main_input_name = "input_ids"

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        segment_ids: torch.Tensor | None = None,
        label_ids: torch.Tensor | None = None,
        **kwargs: object,
    ) -> BaseModelOutput:
        """Return `last_hidden_state`, [batch, tokens, width].

        Args:
            input_ids: [batch, tokens], from `encode_history`, padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding; by default derived from the padding id.
            segment_ids: [batch, tokens], the speaker; by default alternating with the turns.
            label_ids: [batch, tokens], the label of the token's turn; by default none is added.
            **kwargs: unused arguments of `generate`.
        """
        mask = input_ids != self.padding if attention_mask is None else attention_mask
        if segment_ids is None and self.speakers:
            segment_ids = turns_before(input_ids, self.end) % self.speakers
        states = self.embedder(input_ids, segment_ids, label_ids)
        added = hidden(mask, states.dtype)
        for layer in self.layers:
            states = layer(states, added)
        return BaseModelOutput(last_hidden_state=states)


class Decoder(nn.Module):
    """Layers that see the answer so far and the encoded history."""

    def __init__(self, config: ResponseConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, number, True) for number in range(config.num_layers))

    def forward(
        self,
        states: torch.Tensor,
        mask: torch.Tensor | None,
        source: torch.Tensor,
        source_mask: torch.Tensor,
        cache: EncoderDecoderCache | None = None,
    ) -> torch.Tensor:
        """Return the states of the last layer, [batch, tokens, width].

        Args:
            states: [batch, tokens, width], embedded tokens that are not in the cache.
            mask: added to the scores among the answer's tokens.
            source: output of the encoder, [batch, history, width].
            source_mask: [batch, history], 1 for tokens and 0 for padding.
            cache: keys and values of earlier tokens; those of these tokens are added.
        """
        added = hidden(source_mask, states.dtype)
        for layer in self.layers:
            states = layer(states, mask, source, added, cache)
        return states


def hidden(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a term for the scores, [batch, 1, 1, keys], that hides keys where the mask, [batch, keys], is 0."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask == 0, torch.finfo(dtype).min)[:, None, None]


def causal(queries: int, keys: int, states: torch.Tensor) -> torch.Tensor | None:
    """Return a term for the scores, [queries, keys], with which each of the last `queries` of `keys` positions sees
    itself and earlier ones; None if nothing must be hidden.
    """
    if queries == 1:
        return None
    full = states.new_full((queries, keys), torch.finfo(states.dtype).min)
    return full.triu(keys - queries + 1)


def turns_before(input_ids: torch.Tensor, end: int) -> torch.Tensor:
    """Return the index of each token's turn in a history, [batch, tokens]. Between two turns are two end tokens: the
    first belongs to the one, the second to the next.
    """
    ends = (input_ids == end).long()
    return (ends.cumsum(1) - ends + 1) // 2
