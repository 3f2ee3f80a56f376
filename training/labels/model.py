"""The model of a recipe: built from a backbone, its learning rates, its input."""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.encoder import DEFAULT_MODEL, model_folder
from training.classifier.model import HIDDEN_DROPOUTS, NAMES, separators_between
from training.labels.recipe import LabelsRecipe

_ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")


def build_tokenizer(recipe: LabelsRecipe) -> PreTrainedTokenizerBase:
    """Return the backbone's tokenizer, to which "[SEP]" in a text is text."""
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        _backbone(recipe.base_model), split_special_tokens=True, trust_remote_code=False
    )
    return tokenizer


def build_model(recipe: LabelsRecipe, tokenizer: PreTrainedTokenizerBase) -> ContextClassifier:
    """Return the model to train: the backbone's encoder, or its lower layers, under new heads."""
    settings = AutoConfig.from_pretrained(_backbone(recipe.base_model), trust_remote_code=False)
    for names, value in ((HIDDEN_DROPOUTS, recipe.encoder_dropout), (_ATTENTION_DROPOUTS, 0.0)):
        settings.update({name: value for name in names if hasattr(settings, name)})
    if recipe.layers is not None:
        if not 1 <= recipe.layers <= settings.num_hidden_layers:
            raise ValueError(f"layers is {recipe.layers}, but {recipe.base_model} has {settings.num_hidden_layers}")
        settings.num_hidden_layers = recipe.layers
    backbone = AutoModel.from_pretrained(
        _backbone(recipe.base_model), config=settings, dtype=torch.float32, trust_remote_code=False
    )
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
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the chosen turns, alone and in their dialogues, two of [chosen, 41].

        Args:
            batches: ids and mask, [n, tokens], of turns of like length.
            order: int64 [turns], where in all batches the turns of the parts stand, one part behind the other.
            starts: int64 [turns], the first turn of each one's part.
            chosen: int64 [chosen], those that have a label.
        """
        vectors = torch.cat([self.model.encode(ids, mask).float() for ids, mask in batches])[order]
        return self.model.label_turns(vectors[chosen]), self.model.label_dialogues(vectors, starts)[chosen]

    def groups(self, recipe: LabelsRecipe) -> list[dict[str, Any]]:
        """Return the trained parameters with their learning rates; biases and normalisations have no weight decay."""
        groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
        rates = {"encoder": recipe.learning_rate, "context_layers": recipe.context_rate}
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                rate = rates.get(name.partition(".")[0], recipe.head_learning_rate)
                groups.setdefault((rate, recipe.weight_decay if parameter.ndim > 1 else 0.0), []).append(parameter)
        return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def turn_ids(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[list[int]]:
    """Return the token ids of turns, start and separator included, at most `most`."""
    if not texts:
        return []
    ids: list[list[int]] = tokenizer(list(texts), truncation=True, max_length=most)["input_ids"]
    return ids


def _backbone(name: str) -> str:
    return str(model_folder(name)) if name == DEFAULT_MODEL else name
