"""A classifier with one encoder for all labels: each turn is encoded once, independently, and a small network over the
vectors of a dialogue adds the context of earlier turns.

Two heads share the vectors: one labels a turn alone (the weak labeler of EDOS, Section 3.1), the other a turn in its
dialogue (Section 3.3.1). In the context layers every turn attends to itself and to the turns before it, with a learned
bias for each distance. They work on the concatenated turns of all dialogues, so that dialogues need no padding.

Annotators of different datasets label the same words differently, so each head learns several *conventions*. An
*answer* names a head and the factor of each convention, for intents others than for emotions where the conventions
that know them differ; a model has several named answers.

Every saved model contains this file, `context_network.py` and `dialogue_pipeline.py` (for `trust_remote_code=True`), so
it imports nothing else of this package.
"""

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

from .context_network import ContextLayer, ContextNetwork, check_answers, check_conventions, is_number
from .dialogue_pipeline import DialoguePipeline, split_turns

_MOST = 1 << 30  # upper limit of every integer setting


class ContextClassifierConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of `ContextClassifier`.

    Args:
        encoder: configuration of the encoder as a dictionary, with its `model_type`.
        context_layers: number of layers that attend to earlier turns, at most 100.
        context_heads: heads of their attention; a divisor of the vectors' width.
        window: number of earlier turns that a layer attends to, at most 1,000.
        turn_tokens: maximum number of tokens of a turn, start and separator included, at least 3.
        max_tokens: maximum number of tokens of a dialogue in a pipeline, at least 3; older tokens are dropped.
        separators: separator tokens between two turns in a pipeline: 1 as in BERT, 2 as in RoBERTa.
        separator_id: id of the separator token, which also ends an encoded turn.
        start_id: id of the token that begins a turn.
        padding_id: id of the padding token.
        dropout: dropout probability of heads and context layers in training.
        conventions: names of the conventions that the heads learned, in the order of their weights.
        answers: name → `{"sees": "turn" or "history", "conventions": {name: factor}, "temperature": number}`: the head;
            factors above 0 by which the conventions' odds are multiplied (a convention without a factor is ignored);
            and the temperature above 0 that calibrates the probabilities. An optional `"intents": {"labels":
            [numbers], "conventions": {name: factor}}` gives some labels other factors; optional `"offsets": [numbers]`,
            one a label, are added to the logits.
        answer: name of the answer to return; by default the first.
        projected: whether the vectors of turns are mapped linearly, so that an encoder can stand in for another one.
        context_width: width of the vectors of turns, to which they are mapped linearly; None for the encoder's width.
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
        conventions: list[str] | None = None,
        answers: dict[str, dict[str, Any]] | None = None,
        answer: str | None = None,
        projected: bool = False,
        context_width: int | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        if not isinstance(projected, bool):
            raise ValueError(f"projected must be true or false, got {projected!r}")
        ranges: dict[str, tuple[object, int, int]]
        ranges = {"context_layers": (context_layers, 0, 100), "context_heads": (context_heads, 1, _MOST)}
        ranges |= {"window": (window, 0, 1_000), "turn_tokens": (turn_tokens, 3, _MOST)}
        ranges |= {"max_tokens": (max_tokens, 3, _MOST), "separators": (separators, 1, _MOST)}
        ranges |= {} if context_width is None else {"context_width": (context_width, 1, _MOST)}
        ids = {"separator_id": separator_id, "start_id": start_id, "padding_id": padding_id}
        _check_ranges(ranges | {name: (value, 0, _MOST) for name, value in ids.items()})
        if not is_number(dropout) or not 0 <= dropout < 1:
            raise ValueError(f"dropout must be a number, at least 0 and below 1, got {dropout!r}")
        self.encoder = encoder or {"model_type": "bert"}
        self.context_layers, self.context_heads, self.window = context_layers, context_heads, window
        self.turn_tokens, self.max_tokens, self.separators = turn_tokens, max_tokens, separators
        self.separator_id, self.start_id, self.padding_id = separator_id, start_id, padding_id
        self.dropout, self.projected, self.context_width = dropout, projected, context_width
        self.conventions = ["own"] if conventions is None else conventions
        check_conventions(self.conventions)
        only = {"sees": "history", "conventions": {self.conventions[0]: 1.0}, "temperature": 1.0}
        self.answers = {"own": only} if answers is None else answers
        check_answers(self.answers, self.conventions)
        self.answer = next(iter(self.answers)) if answer is None else answer
        if self.answer not in self.answers:
            raise ValueError(f"answer must be one of {', '.join(self.answers)}, got {answer!r}")
        impl = f"{__name__.rpartition('.')[2]}.{DialoguePipeline.__name__}"
        pipelines = {"text-classification": {"impl": impl, "pt": ["AutoModelForSequenceClassification"]}}
        kwargs.setdefault("custom_pipelines", pipelines)
        super().__init__(**kwargs)

    @property
    def context(self) -> int | None:
        """Number of earlier turns that the answer uses: 0 for the turn alone, None for all."""
        return 0 if self.answers[self.answer]["sees"] == "turn" else None


def _check_ranges(settings: dict[str, tuple[object, int, int]]) -> None:
    """Raise ValueError if a setting, given as its value, least and most, is no whole number in that range."""
    for name, (value, least, most) in settings.items():
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")


class ContextClassifier(ContextNetwork, PreTrainedModel):  # type: ignore[no-untyped-call]
    """A transformers encoder for turns, context layers over their vectors, a head for a turn alone and a head for a
    turn in its dialogue.

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
            self.encoder.pooler = None  # replaced by the mean over tokens; it would never be trained
        own = self.encoder.config
        positions = getattr(own, "max_position_embeddings", None) or config.turn_tokens
        highest, width = max(config.separator_id, config.start_id, config.padding_id), int(own.hidden_size)
        if (
            config.turn_tokens > positions
            or highest >= own.vocab_size
            or (config.context_width or width) % config.context_heads
        ):
            raise ValueError(
                f"turn_tokens is {config.turn_tokens}, the highest id of a special token {highest} and context_heads "
                f"{config.context_heads}, but the encoder has {positions} positions, {own.vocab_size} tokens and a "
                f"width of {config.context_width or width}, which the heads must divide"
            )
        self.add_layers(width, cast(int, config.num_labels))
        self.post_init()  # type: ignore[no-untyped-call]
        for each in self.context_layers:
            nn.init.zeros_(cast(ContextLayer, each).distance.weight)
        for head in (self.turn_head, self.dialogue_head):
            nn.init.zeros_(head.own.weight)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: object,  # noqa: ARG002 - such as token_type_ids, which are not used
    ) -> SequenceClassifierOutput:
        """Classify the newest turn of each dialogue, given as one sequence that `sequence` built.

        Args:
            input_ids: [batch, tokens], the turns newest first, padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding; all 1 by default.
            labels: [batch] ids, or [batch, labels] probabilities, for the cross-entropy loss.
            **kwargs: not used.

        Returns:
            `logits` [batch, labels] of the configured answer, and `loss`, the mean over the batch, if labels are given.
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
            newest=None if self.config.context is None else 1,
        )
        vectors = self.encode(ids, turn_mask)
        last = counts.cumsum(0) - 1
        logits = self.label(vectors, (last - counts + 1).repeat_interleave(counts))[last]
        loss = None if labels is None else nn.functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


AutoConfig.register(ContextClassifierConfig.model_type, ContextClassifierConfig, exist_ok=True)
AutoModelForSequenceClassification.register(ContextClassifierConfig, ContextClassifier, exist_ok=True)
ContextClassifierConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
ContextClassifier.register_for_auto_class("AutoModelForSequenceClassification")  # type: ignore[no-untyped-call]
