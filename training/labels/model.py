"""The model of a recipe: built from a backbone, its learning rates, its input."""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from training.classifier.model import NAMES, grouped, read_backbone, separators_between
from training.labels.conventions import answers_over, conventions_of
from training.labels.recipe import LabelsRecipe


def build_model(recipe: LabelsRecipe, tokenizer: PreTrainedTokenizerBase) -> ContextClassifier:
    """Return the model to train: the backbone's encoder, or its lower layers, under new heads."""
    backbone = read_backbone(recipe, 0.0, recipe.layers)
    ids: Any = tokenizer
    model = ContextClassifier(
        ContextClassifierConfig(
            encoder={key: value for key, value in backbone.config.to_dict().items() if key != "_name_or_path"},
            context_layers=recipe.context_layers,
            context_heads=recipe.context_heads,
            window=recipe.window,
            turn_tokens=recipe.turn_tokens,
            separators=separators_between(tokenizer),
            separator_id=ids.sep_token_id,
            start_id=ids.cls_token_id if ids.cls_token_id is not None else ids.bos_token_id,
            padding_id=ids.pad_token_id or 0,
            dropout=recipe.dropout,
            conventions=(conventions := conventions_of(recipe.sources)),
            answers=answers_over(conventions),
            **NAMES,
        )
    )
    model.encoder.load_state_dict(backbone.state_dict(), strict=False)
    model.encoder.get_input_embeddings().requires_grad_(not recipe.frozen_embeddings)
    return model


class JointModel(torch.nn.Module):
    """The model as it is trained: both heads of turns in parts of dialogues.

    Args:
        model: the model, which is trained.
    """

    def __init__(self, model: ContextClassifier) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
        order: torch.Tensor,
        starts: torch.Tensor,
        chosen: torch.Tensor,
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return what both heads say of the chosen turns, alone and in their dialogues; see `ConventionHead`.

        Args:
            batches: ids and mask, [n, tokens], of turns of like length.
            order: int64 [turns], where in all batches the turns of the parts stand, one part behind the other.
            starts: int64 [turns], the first turn of each one's part.
            chosen: int64 [chosen], those that have a label.
        """
        vectors = torch.cat([self.model.encode(ids, mask).float() for ids, mask in batches])[order]
        logits, odds = self.model.see_dialogues(vectors, starts)
        return [self.model.see_turns(vectors[chosen]), (logits[chosen], odds[chosen])]

    def groups(self, recipe: LabelsRecipe) -> list[dict[str, Any]]:
        """Return the trained parameters with their learning rates, as of `grouped`."""
        rates = {"encoder": recipe.learning_rate, "context_layers": recipe.context_rate}
        parts = ((name.partition(".")[0], parameter) for name, parameter in self.model.named_parameters())
        return grouped(
            ((parameter, rates.get(part, recipe.head_learning_rate)) for part, parameter in parts), recipe.weight_decay
        )


def turn_ids(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[list[int]]:
    """Return the token ids of turns, start and separator included, at most `most`."""
    if not texts:
        return []
    ids: list[list[int]] = tokenizer(list(texts), truncation=True, max_length=most)["input_ids"]
    return ids
