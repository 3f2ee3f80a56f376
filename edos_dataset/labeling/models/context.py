"""One encoder for every label: each turn is encoded by itself, once, and a small network over the vectors of a dialogue
sees the turns before it.

Two heads stand on the same vectors: one labels a turn alone (the weak labeler of EDOS, Section 3.1), the other a turn
in its dialogue (Section 3.3.1). Context layers are attention of every turn to itself and the turns before it, with a
learned bias for every distance. They work on the turns of all dialogues one behind the other, so that no dialogue is
filled up to the length of another.

This file travels with every saved model (`trust_remote_code=True`), beside `context_layer.py` and
`dialogue_pipeline.py`, the only ones of this package that it imports.
"""

import math
from typing import Any, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from .context_layer import ContextLayer
from .dialogue_pipeline import DialoguePipeline, split_turns


class ContextClassifierConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of `ContextClassifier`.

    Args:
        encoder: configuration of the encoder as a dictionary, its `model_type` among it.
        context_layers: layers that look at earlier turns.
        context_heads: heads of their attention; they divide the encoder's width.
        window: earlier turns that a layer looks at.
        turn_tokens: tokens of a turn that are read, start and separator included, at least 3.
        max_tokens: tokens of a dialogue that a pipeline puts into one sequence, at least 3; older ones are left out.
        separators: separator tokens between two turns of such a sequence: 1 as in BERT, 2 as in RoBERTa.
        separator_id: id of that token, which also ends a turn that is encoded.
        start_id: id of the token that begins a turn.
        padding_id: id of the token that fills up a shorter turn.
        dropout: probability of dropping a value in heads and context layers in training.
        turn_temperature: what the logits of a turn alone are divided by, above 0; fitted on validation data, so that
            probabilities are calibrated.
        dialogue_temperature: the same for a turn in its dialogue.
        label_shift: added to the logits of a turn in its dialogue: for every label the log of its share where the model
            labels over its share where it learned; null for nothing.
        context: which head answers: 0 the one for the turn alone, null the one that sees the dialogue.
    """

    model_type = "edos-context-classifier"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        context_layers: int = 2,
        context_heads: int = 6,
        window: int = 8,
        turn_tokens: int = 64,
        max_tokens: int = 512,
        separators: int = 1,
        separator_id: int = 102,
        start_id: int = 101,
        padding_id: int = 0,
        dropout: float = 0.1,
        turn_temperature: float = 1.0,
        dialogue_temperature: float = 1.0,
        label_shift: list[float] | None = None,
        context: int | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        least = {"context_layers": (context_layers, 0), "context_heads": (context_heads, 1), "window": (window, 0)}
        least |= {"turn_tokens": (turn_tokens, 3), "max_tokens": (max_tokens, 3), "separators": (separators, 1)}
        least |= {"separator_id": (separator_id, 0), "start_id": (start_id, 0), "padding_id": (padding_id, 0)}
        for name, (value, lowest) in least.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise ValueError(f"{name} must be a whole number from {lowest}, got {value!r}")
        for name, number in (("turn_temperature", turn_temperature), ("dialogue_temperature", dialogue_temperature)):
            if not _is_number(number) or number <= 0:
                raise ValueError(f"{name} must be a number above 0, got {number!r}")
        if not _is_number(dropout) or not 0 <= dropout < 1:
            raise ValueError(f"dropout must be a number, at least 0 and below 1, got {dropout!r}")
        if context is not None and (context != 0 or isinstance(context, bool)):
            raise ValueError(f"context must be 0 (the turn alone) or null (its dialogue too), got {context!r}")
        self.encoder = encoder or {"model_type": "bert"}
        self.context_layers, self.context_heads, self.window = context_layers, context_heads, window
        self.turn_tokens, self.max_tokens, self.separators = turn_tokens, max_tokens, separators
        self.separator_id, self.start_id, self.padding_id = separator_id, start_id, padding_id
        self.dropout, self.context, self.label_shift = dropout, context, label_shift
        self.turn_temperature, self.dialogue_temperature = turn_temperature, dialogue_temperature
        impl = f"{__name__.rpartition('.')[2]}.{DialoguePipeline.__name__}"
        pipelines = {"text-classification": {"impl": impl, "pt": ["AutoModelForSequenceClassification"]}}
        kwargs.setdefault("custom_pipelines", pipelines)
        super().__init__(**kwargs)
        if label_shift is not None and not (
            isinstance(label_shift, list) and len(label_shift) == self.num_labels and all(map(_is_number, label_shift))
        ):
            raise ValueError(
                f"label_shift must be {self.num_labels} numbers, one a label, or null, got {label_shift!r}"
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class ContextClassifier(PreTrainedModel):  # type: ignore[no-untyped-call]
    """An encoder of transformers for turns, context layers over their vectors, a head for the turn alone and one for
    the turn in its dialogue.

    Attributes:
        encoder: the `AutoModel`, without a pooling layer.
    """

    config_class = ContextClassifierConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # else Trainer multiplies the loss by the number of processes
    _supports_sdpa = True

    def __init__(self, config: ContextClassifierConfig) -> None:
        super().__init__(config)
        settings, models = dict(config.encoder), cast(Any, AutoModel)
        kind = settings.pop("model_type")
        self.encoder = models.from_config(AutoConfig.for_model(kind, **settings), trust_remote_code=False)
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None  # the mean over the tokens takes its place, and it would never be trained
        own = self.encoder.config
        positions = getattr(own, "max_position_embeddings", None) or config.turn_tokens
        highest, width = max(config.separator_id, config.start_id, config.padding_id), int(own.hidden_size)
        if config.turn_tokens > positions or highest >= own.vocab_size or width % config.context_heads:
            raise ValueError(
                f"turn_tokens is {config.turn_tokens}, the highest id of a special token {highest} and context_heads "
                f"{config.context_heads}, but the encoder has {positions} positions, {own.vocab_size} tokens and a "
                f"width of {width}, which the heads must divide"
            )
        layer = width, config.context_heads, config.window, config.dropout
        self.context_layers = nn.ModuleList(ContextLayer(*layer) for _ in range(config.context_layers))
        self.context_norm = nn.LayerNorm(width)
        self.turn_head, self.dialogue_head = (self._head(size * width) for size in (1, 2))
        self.post_init()  # type: ignore[no-untyped-call]
        for each in self.context_layers:
            nn.init.zeros_(cast(ContextLayer, each).distance.weight)

    def _head(self, width: int) -> nn.Sequential:
        """Return a head on vectors of a width: dropout, a layer as wide as the encoder, tanh, dropout, logits."""
        inner, drop = int(self.encoder.config.hidden_size), self.config.dropout
        first, last = nn.Linear(width, inner), nn.Linear(inner, cast(int, self.config.num_labels))
        return nn.Sequential(nn.Dropout(drop), first, nn.Tanh(), nn.Dropout(drop), last)

    def encode(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the vectors of turns, [n, width]: the mean of their last hidden states.

        Args:
            input_ids: [n, tokens], a turn a row: start, its tokens, separator, padding at the right.
            attention_mask: [n, tokens], 1 for tokens and 0 for padding.
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        share = attention_mask.unsqueeze(-1).to(states.dtype)
        return cast(torch.Tensor, (states * share).sum(1) / share.sum(1))

    def label_turns(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the logits of turns, each seen alone, [n, labels], of their vectors [n, width]; divided by the
        temperature when not training.
        """
        logits = self.turn_head(vectors)
        return cast(torch.Tensor, logits if self.training else logits / self.config.turn_temperature)

    def label_dialogues(self, vectors: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """Return the logits of turns, each seen with those before it, [n, labels]; shifted as configured and divided by
        the temperature when not training.

        Args:
            vectors: [n, width], the turns of all dialogues one behind the other, oldest first.
            starts: int64 [n], for every turn the row of its dialogue's first turn.
        """
        places = torch.arange(len(vectors), device=vectors.device) - starts
        context = vectors
        for layer in self.context_layers:
            context = layer(context, places)
        logits = self.dialogue_head(torch.cat([vectors, self.context_norm(context)], -1))
        if self.training:
            return cast(torch.Tensor, logits)
        if self.config.label_shift is not None:
            logits = logits + torch.tensor(self.config.label_shift, dtype=logits.dtype, device=logits.device)
        return cast(torch.Tensor, logits / self.config.dialogue_temperature)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: object,  # noqa: ARG002 - such as token_type_ids, which say nothing here
    ) -> SequenceClassifierOutput:
        """Classify the newest turns of dialogues that stand each in one sequence, as `sequence` puts them together.

        Args:
            input_ids: [batch, tokens], the turns newest first, padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding; all 1 by default.
            labels: [batch] ids, or [batch, labels] probabilities, for the cross-entropy loss.
            **kwargs: not used.

        Returns:
            `logits` [batch, labels] of the head that `config.context` names, and `loss`, the mean over the batch, where
            labels were given.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        ids, turn_mask, counts = split_turns(
            input_ids,
            mask,
            start=self.config.start_id,
            separator=self.config.separator_id,
            separators=self.config.separators,
            padding=self.config.padding_id,
            turn_tokens=self.config.turn_tokens,
            newest=1 if self.config.context == 0 else None,
        )
        vectors = self.encode(ids, turn_mask)
        last = counts.cumsum(0) - 1
        if self.config.context == 0:
            logits = self.label_turns(vectors)
        else:
            logits = self.label_dialogues(vectors, (last - counts + 1).repeat_interleave(counts))[last]
        loss = None if labels is None else nn.functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


AutoConfig.register(ContextClassifierConfig.model_type, ContextClassifierConfig, exist_ok=True)
AutoModelForSequenceClassification.register(ContextClassifierConfig, ContextClassifier, exist_ok=True)
ContextClassifierConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
ContextClassifier.register_for_auto_class("AutoModelForSequenceClassification")  # type: ignore[no-untyped-call]
