"""The network of `edos_dataset.segmentation.turns.context`, for training and use: an encoder that reads windows of
sentences, and a head on its states at the marks between them.
"""

from typing import Any, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from edos_dataset.encoders.encoder import model_folder
from edos_dataset.segmentation.turns.net import BINS, EVIDENCE

DROPOUT = 0.1
"""Dropout of the head's hidden layer in training; the encoder has none."""


class ContextNet(nn.Module):
    """The network.

    The evidence of a boundary is added to the word embedding of its mark, so every layer of the encoder sees it. The
    head reads the last layer at the mark and at the token after it.

    Args:
        backbone: an encoder by a name that `model_folder` accepts; only its architecture is used, as `changes.restore`
            loads the weights.
        attention: implementation in transformers, by default "sdpa" for the architectures that have it: on a CPU it is
            faster forwards, and "eager" backwards.
    """

    def __init__(self, backbone: str, attention: str | None = None) -> None:
        super().__init__()
        configs, models = cast(Any, AutoConfig), cast(Any, AutoModel)
        config = configs.from_pretrained(model_folder(backbone), trust_remote_code=False)
        config.attention_probs_dropout_prob = config.hidden_dropout_prob = 0.0
        self.encoder = models.from_config(
            config, trust_remote_code=False, attn_implementation=attention, add_pooling_layer=False
        )
        width = int(config.hidden_size)
        self.evidence = nn.Embedding(BINS * len(EVIDENCE), width)
        nn.init.normal_(self.evidence.weight, std=0.01)
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(width, 1))

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, marks: torch.Tensor, evidence: torch.Tensor
    ) -> torch.Tensor:
        """Return the log-odds of "same turn", float32 [sentences].

        Args:
            ids: int64 [windows, longest], like the other arguments from a `Batch`.
            mask: int64 [windows, longest].
            marks: int64 [sentences, 2].
            evidence: int64 [sentences, len(EVIDENCE)].
        """
        row, place = marks[:, 0], marks[:, 1]
        words = self.encoder.get_input_embeddings()(ids)
        embedded = self.evidence(evidence).sum(1).to(words.dtype)
        read = words + torch.zeros_like(words).index_put((row, place), embedded)
        states = self.encoder(inputs_embeds=read, attention_mask=mask).last_hidden_state
        log_odds: torch.Tensor = self.head(torch.cat([states[row, place], states[row, place + 1]], 1))
        return log_odds.squeeze(1).float()
