"""The dialogue emotion classifier: predicts one of the 41 labels for a turn from the turn and its history (Welivita,
Xie & Pu: OSED, Section 4 and EDOS, Section 3.3.1).

A transformers encoder reads the turns as one sequence, newest first. The word embeddings of a turn are multiplied by a
weight that decays with its age before positions are added; attention pooling, a tanh layer and a linear layer give the
logits. Given a single turn, the same model is the sentence-level weak labeler (Section 3.1).

Every saved model contains this file and `dialogue_pipeline.py` (for `trust_remote_code=True`), so it imports nothing
else of this package.
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

from .dialogue_pipeline import DialoguePipeline

NORMALISATIONS = ("sum", "newest")
POOLINGS = ("attention", "mean")


class DialogueClassifierConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of `DialogueClassifier`.

    Args:
        encoder: configuration of the encoder as a dictionary, with its `model_type`.
        decay: weight of a turn relative to the next newer one, above 0, at most 1; 1 means no decay.
        normalisation: "sum": the weights of a dialogue's turns sum to 1, as in the papers; "newest": the newest turn
            has weight 1, so that a turn has the same weight with and without a history.
        pooling: "attention" as in the papers, or "mean" over the tokens.
        separators: separator tokens between two turns: 1 as in BERT, 2 as in RoBERTa.
        separator_id: id of the separator token, which marks the boundaries of turns in a sequence.
        max_tokens: maximum number of tokens of a dialogue, at least 3; older tokens are dropped.
        dropout: dropout probability of the pooled vector and the hidden layer in training.
        softmax_temperature: divisor of the logits, above 0, fitted on validation data for calibration.
        context: number of earlier turns that the model was trained on: 0 for the weak labeler, None for all.
    """

    model_type = "edos-dialogue-classifier"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        decay: float = 0.5,
        normalisation: str = "sum",
        pooling: str = "attention",
        separators: int = 1,
        separator_id: int = 102,
        max_tokens: int = 100,
        dropout: float = 0.1,
        softmax_temperature: float = 1.0,
        context: int | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        _check_numbers(decay=decay, dropout=dropout, softmax_temperature=softmax_temperature)
        if normalisation not in NORMALISATIONS or pooling not in POOLINGS:
            raise ValueError(
                f"normalisation is one of {NORMALISATIONS} and pooling one of {POOLINGS}, got {normalisation!r} and "
                f"{pooling!r}"
            )
        least = {"separators": (separators, 1), "separator_id": (separator_id, 0), "max_tokens": (max_tokens, 3)}
        for name, (value, lowest) in {**least, "context": (context or 0, 0)}.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise ValueError(f"{name} must be a whole number from {lowest}, got {value!r}")
        self.encoder = encoder or {"model_type": "bert"}
        self.decay, self.normalisation, self.pooling = decay, normalisation, pooling
        self.separators, self.separator_id, self.max_tokens = separators, separator_id, max_tokens
        kwargs.setdefault(
            "custom_pipelines",
            {
                "text-classification": {
                    "impl": f"classifier.{DialoguePipeline.__name__}",
                    "pt": ["AutoModelForSequenceClassification"],
                }
            },
        )
        self.dropout, self.softmax_temperature, self.context = dropout, softmax_temperature, context
        super().__init__(**kwargs)


def _check_numbers(*, decay: float, dropout: float, softmax_temperature: float) -> None:
    numbers = {"decay": decay, "dropout": dropout, "softmax_temperature": softmax_temperature}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} must be a number, got {value!r}")
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be above 0 and at most 1, got {decay}")
    if not 0 < softmax_temperature < math.inf:
        raise ValueError(f"softmax_temperature must be above 0, got {softmax_temperature}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")


class DialogueClassifier(PreTrainedModel):  # type: ignore[no-untyped-call]
    """A transformers encoder with decaying turn weights and a classification head.

    Attributes:
        encoder: the `AutoModel`; it must accept `inputs_embeds`.
    """

    config_class = DialogueClassifierConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # else Trainer multiplies the loss by the number of processes
    _supports_sdpa = True

    def __init__(self, config: DialogueClassifierConfig) -> None:
        super().__init__(config)
        settings, models = dict(config.encoder), cast(Any, AutoModel)
        kind = settings.pop("model_type")
        self.encoder = models.from_config(AutoConfig.for_model(kind, **settings), trust_remote_code=False)
        positions = getattr(self.encoder.config, "max_position_embeddings", None) or config.max_tokens
        if config.max_tokens > positions or config.separator_id >= self.encoder.config.vocab_size:
            raise ValueError(
                f"max_tokens is {config.max_tokens} and separator_id {config.separator_id}, but the encoder has "
                f"{positions} positions and {self.encoder.config.vocab_size} tokens"
            )
        width = int(self.encoder.config.hidden_size)
        self.attention_layer = nn.Linear(width, width)
        self.attention_vector = nn.Linear(width, 1, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.hidden_layer = nn.Linear(width, width)
        self.output_layer = nn.Linear(width, cast(int, config.num_labels))
        self.post_init()  # type: ignore[no-untyped-call]
        # All attention scores start at zero, so that the untrained pooling is the mean, with which sentence encoders
        # were trained.
        nn.init.zeros_(self.attention_vector.weight)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_weights: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: object,
    ) -> SequenceClassifierOutput:
        """Classify dialogues.

        Args:
            input_ids: [batch, tokens], the turns newest first, padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding; all 1 by default.
            token_weights: [batch, tokens], factors of the word embeddings; by default those of `turn_weights`.
            labels: [batch] ids, or [batch, labels] probabilities, for the cross-entropy loss.
            **kwargs: further inputs of the encoder, such as `position_ids`.

        Returns: `logits` [batch, labels], divided by the temperature except in training, and `loss`, the mean over the
            batch, if labels are given.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if token_weights is None:
            token_weights = self.turn_weights(input_ids, mask)
        embeddings = self.encoder.get_input_embeddings()(input_ids) * token_weights.unsqueeze(-1).to(self.encoder.dtype)
        kwargs.pop("token_type_ids", None)  # segment 0 everywhere: the weights distinguish the turns
        states = self.encoder(inputs_embeds=embeddings, attention_mask=mask, **kwargs).last_hidden_state
        hidden = torch.tanh(self.hidden_layer(self.dropout(self.pool(states, mask))))
        logits = self.output_layer(self.dropout(hidden))
        if not self.training:
            logits = logits / self.config.softmax_temperature
        loss = None if labels is None else nn.functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def turn_weights(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weight of every token, [batch, tokens]: the decay to the power of its turn's age, normalised as
        configured.

        A turn's separators belong to it, and the start token belongs to the newest turn. Powers do not overflow,
        however many turns there are.
        """
        separators = (input_ids == self.config.separator_id) & (mask > 0)
        before = separators.cumsum(1) - separators.long()
        age = (before + self.config.separators - 1) // self.config.separators
        age = torch.where(mask > 0, age, 0)
        weights: torch.Tensor = torch.pow(float(self.config.decay), age.double())
        if self.config.normalisation == "sum":
            count = age.max(dim=1, keepdim=True).values + 1
            ages = torch.arange(int(count.max()), device=age.device)
            weights = weights / torch.where(ages < count, torch.pow(float(self.config.decay), ages.double()), 0).sum(
                1, keepdim=True
            )
        return torch.where(mask > 0, weights, 1).float()

    def pool(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weighted mean, [batch, width], of the hidden states [batch, tokens, width]."""
        if self.config.pooling == "mean":
            weights = mask.to(states.dtype)
            weights = weights / weights.sum(1, keepdim=True)
        else:
            scores = self.attention_vector(torch.tanh(self.attention_layer(states))).squeeze(-1)
            weights = torch.softmax(scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min), dim=1)
        return torch.einsum("bt,btw->bw", weights, states)


AutoConfig.register(DialogueClassifierConfig.model_type, DialogueClassifierConfig, exist_ok=True)
AutoModelForSequenceClassification.register(DialogueClassifierConfig, DialogueClassifier, exist_ok=True)
DialogueClassifierConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
DialogueClassifier.register_for_auto_class("AutoModelForSequenceClassification")  # type: ignore[no-untyped-call]
