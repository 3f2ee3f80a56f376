"""One encoder for every label: each turn is encoded by itself, once, and a small network over the vectors of a dialogue
sees the turns before it.

Two heads stand on the same vectors: one labels a turn alone (the weak labeler of EDOS, Section 3.1), the other a turn
in its dialogue (Section 3.3.1). Context layers are attention of every turn to itself and the turns before it, with a
learned bias for every distance. They work on the turns of all dialogues one behind the other, so that no dialogue is
filled up to the length of another.

Each head learned several conventions side by side: the makers of labelled sets disagree about the same words. An
*answer* says which head speaks and how much each convention counts; a model has several, by name.

This file travels with every saved model (`trust_remote_code=True`), beside `context_layer.py`, `convention_head.py` and
`dialogue_pipeline.py`, the only ones of this package that it imports.
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

from .context_layer import ContextLayer
from .convention_head import ConventionHead, check_answers, check_conventions, is_number
from .dialogue_pipeline import DialoguePipeline, split_turns

_MOST = 1 << 30  # a number above it is no setting


class ContextClassifierConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of `ContextClassifier`.

    Args:
        encoder: configuration of the encoder as a dictionary, its `model_type` among it.
        context_layers: layers that look at earlier turns, at most 100.
        context_heads: heads of their attention; they divide the encoder's width.
        window: earlier turns that a layer looks at, at most 1,000.
        turn_tokens: tokens of a turn that are read, start and separator included, at least 3.
        max_tokens: tokens of a dialogue that a pipeline puts into one sequence, at least 3; older ones are left out.
        separators: separator tokens between two turns of such a sequence: 1 as in BERT, 2 as in RoBERTa.
        separator_id: id of that token, which also ends a turn that is encoded.
        start_id: id of the token that begins a turn.
        padding_id: id of the token that fills up a shorter turn.
        dropout: probability of dropping a value in heads and context layers in training.
        conventions: names of the conventions that the heads learned, in the order of their weights.
        answers: name → `{"sees": "turn" or "history", "conventions": {name: factor}, "temperature": number}`: which
            head answers, by which numbers above 0 the odds of each convention are multiplied (those that are not named
            don't count), and what the logits are divided by, above 0, so that probabilities are calibrated.
        answer: name of the one that is given; the first by default.
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
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        ranges = {"context_layers": (context_layers, 0, 100), "context_heads": (context_heads, 1, _MOST)}
        ranges |= {"window": (window, 0, 1_000), "turn_tokens": (turn_tokens, 3, _MOST)}
        ranges |= {"max_tokens": (max_tokens, 3, _MOST), "separators": (separators, 1, _MOST)}
        ids = {"separator_id": separator_id, "start_id": start_id, "padding_id": padding_id}
        for name, (value, least, most) in (ranges | {name: (value, 0, _MOST) for name, value in ids.items()}).items():
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ValueError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")
        if not is_number(dropout) or not 0 <= dropout < 1:
            raise ValueError(f"dropout must be a number, at least 0 and below 1, got {dropout!r}")
        self.encoder = encoder or {"model_type": "bert"}
        self.context_layers, self.context_heads, self.window = context_layers, context_heads, window
        self.turn_tokens, self.max_tokens, self.separators = turn_tokens, max_tokens, separators
        self.separator_id, self.start_id, self.padding_id = separator_id, start_id, padding_id
        self.dropout = dropout
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
        """Earlier turns that the answer sees a turn with: 0 for the turn alone, None for its dialogue."""
        return 0 if self.answers[self.answer]["sees"] == "turn" else None


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
        shape = width, cast(int, config.num_labels), len(config.conventions), config.dropout
        self.turn_head, self.dialogue_head = (ConventionHead(size * width, *shape) for size in (1, 2))
        self.post_init()  # type: ignore[no-untyped-call]
        for each in self.context_layers:
            nn.init.zeros_(cast(ContextLayer, each).distance.weight)
        for head in (self.turn_head, self.dialogue_head):
            nn.init.zeros_(head.own.weight)

    def encode(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the vectors of turns, [n, width]: the mean of their last hidden states.

        Args:
            input_ids: [n, tokens], a turn a row: start, its tokens, separator, padding at the right.
            attention_mask: [n, tokens], 1 for tokens and 0 for padding.
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        share = attention_mask.unsqueeze(-1).to(states.dtype)
        return cast(torch.Tensor, (states * share).sum(1) / share.sum(1))

    def see_turns(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the head for turns alone says of turns, of their vectors [n, width]; see `ConventionHead`."""
        return cast(tuple[torch.Tensor, torch.Tensor], self.turn_head(vectors))

    def see_dialogues(self, vectors: torch.Tensor, starts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the head for turns in dialogues says of turns, each seen with those before it.

        Args:
            vectors: [n, width], the turns of all dialogues one behind the other, oldest first.
            starts: int64 [n], for every turn the row of its dialogue's first turn.
        """
        places = torch.arange(len(vectors), device=vectors.device) - starts
        context = vectors
        for layer in self.context_layers:
            context = layer(context, places)
        seen = torch.cat([vectors, self.context_norm(context)], -1)
        return cast(tuple[torch.Tensor, torch.Tensor], self.dialogue_head(seen))

    def label(self, vectors: torch.Tensor, starts: torch.Tensor, answer: str | None = None) -> torch.Tensor:
        """Return the logits of turns, [n, labels]: of the mean of the probabilities that the conventions give, weighted
        by the odds that a turn is of each and the answer's factors; divided by its temperature.

        Args:
            vectors: as for `see_dialogues`.
            starts: likewise.
            answer: which of `config.answers`; the configuration's by default.
        """
        answer = answer or self.config.answer
        alone = self.config.answers[answer]["sees"] == "turn"
        return self.mix(*(self.see_turns(vectors) if alone else self.see_dialogues(vectors, starts)), answer)

    def mix(self, logits: torch.Tensor, odds: torch.Tensor, answer: str) -> torch.Tensor:
        """Return what `label` does, of what the answer's own head says, for several answers to share what is seen."""
        settings = self.config.answers[answer]
        factors = [settings["conventions"].get(name, 0) for name in self.config.conventions]
        counted = [number for number, factor in enumerate(factors) if factor]
        weights = odds[:, counted] + torch.tensor([factors[each] for each in counted], device=odds.device).log()
        shares = logits[:, counted].log_softmax(-1) + weights.log_softmax(1)[..., None]
        return shares.logsumexp(1) / float(settings["temperature"])

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
            `logits` [batch, labels] of the answer that the configuration names, and `loss`, the mean over the batch,
            where labels were given.
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
