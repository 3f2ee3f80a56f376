"""The predictor of the answer's label from the history (Xie & Pu, "Generating Empathetic Responses with a Large Scale
Dialog Dataset", Section 4.2): an encoder of its own, attention pooling with a trained vector, a hidden layer.

Where the paper scores a state by its product with the vector, the authors' code has a tanh layer in between, and so
does this.

This file, `layers.py` and `config.py` travel with every saved model (`trust_remote_code=True`).
"""

from typing import cast

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from .config import PredictorConfig
from .layers import Embedder, Encoder

__all__ = ["PredictorConfig", "ResponsePredictor"]


class ResponsePredictor(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Predicts the label of the answer to a history."""

    config_class = PredictorConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    accepts_loss_kwargs = False  # else Trainer multiplies the loss by the number of processes
    _supports_sdpa = True

    def __init__(self, config: PredictorConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.encoder = Encoder(config, Embedder(config))
        self.attention_layer = nn.Linear(width, width)
        self.attention_vector = nn.Linear(width, 1, bias=False)
        self.hidden_layer = nn.Linear(width, width)
        self.dropout = nn.Dropout(config.dropout)
        self.output_layer = nn.Linear(width, cast(int, config.num_labels))
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the table of words."""
        return self.encoder.embedder.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of words."""
        self.encoder.embedder.words = cast(nn.Embedding, value)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        segment_ids: torch.Tensor | None = None,
        label_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **kwargs: object,
    ) -> SequenceClassifierOutput:
        """Predict the labels of the answers.

        Args:
            input_ids: [batch, tokens], from `encode_history`, padded at the right.
            attention_mask: [batch, tokens], 1 for tokens and 0 for padding; by default derived from the padding id.
            segment_ids: [batch, tokens], as for `Encoder`.
            label_ids: [batch, tokens], as for `Encoder`.
            labels: [batch] ids of the true labels, or [batch, labels] probabilities.
            **kwargs: not used.

        Returns:
            `logits` [batch, labels], and `loss`, the mean cross-entropy, if true labels are given.
        """
        mask = input_ids != self.config.pad_token_id if attention_mask is None else attention_mask
        states = self.encoder(input_ids, mask, segment_ids, label_ids).last_hidden_state
        scores = self.attention_vector(torch.tanh(self.attention_layer(states))).squeeze(-1)
        weights = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min).softmax(1)
        pooled = self.dropout(torch.einsum("bt,btw->bw", weights, states))
        logits = self.output_layer(self.dropout(torch.tanh(self.hidden_layer(pooled))))
        loss = None if labels is None else nn.functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


AutoModelForSequenceClassification.register(PredictorConfig, ResponsePredictor, exist_ok=True)
ResponsePredictor.register_for_auto_class("AutoModelForSequenceClassification")  # type: ignore[no-untyped-call]
