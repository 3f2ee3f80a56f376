"""The model of a recipe: built from a backbone or a trained classifier, its input as token ids, its learning rates by layer."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from classifier_recipe import ClassifierRecipe
from torch import nn
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from edos_dataset.labeling.classifier import DialogueClassifier, DialogueClassifierConfig, sequence
from edos_dataset.labeling.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.labels import LABEL_IDS, LABELS


def build_tokenizer(recipe: ClassifierRecipe) -> Any:  # noqa: ANN401 - transformers has no common type of tokenizers
    """Return the backbone's tokenizer."""
    return AutoTokenizer.from_pretrained(_backbone(recipe.base_model))


def build_model(recipe: ClassifierRecipe, tokenizer: Any, start: Path | None) -> nn.Module:  # noqa: ANN401
    """Return the model to train.

    Args:
        recipe: the training.
        tokenizer: the backbone's.
        start: folder of a trained classifier of the same backbone whose weights are taken over, head included; without it the head is new.
    """
    backbone = AutoModel.from_pretrained(
        _backbone(recipe.base_model), hidden_dropout_prob=recipe.encoder_dropout, attention_probs_dropout_prob=recipe.attention_dropout
    )
    labels = {"num_labels": len(LABELS), "id2label": dict(enumerate(LABELS)), "label2id": dict(LABEL_IDS)}
    if recipe.architecture == "plain":
        # The stock class has the pooler of its own backbone; the weights of the encoder are the same.
        config = backbone.config
        config.update({**labels, "classifier_dropout": recipe.dropout, "problem_type": "single_label_classification"})
        model: Any = AutoModelForSequenceClassification.from_config(config)
        model.base_model.load_state_dict(backbone.state_dict(), strict=False)
    else:
        config = DialogueClassifierConfig(
            encoder=backbone.config.to_dict(),
            decay=recipe.decay,
            normalisation=recipe.normalisation,
            pooling=recipe.pooling,
            separators=separators_between(tokenizer),
            separator_id=tokenizer.sep_token_id,
            max_tokens=recipe.max_tokens,
            dropout=recipe.dropout,
            context=recipe.context,
            **labels,
        )
        model = DialogueClassifier(config)
        model.encoder.load_state_dict(backbone.state_dict())
        for name, parameter in model.encoder.named_parameters():
            parameter.requires_grad_("pooler" not in name)  # not used; with it, several processes would wait for its gradient
    if start is not None:
        _take_over(model, AutoModelForSequenceClassification.from_pretrained(start).state_dict())
    encoder = model.base_model
    if recipe.lora_rank:
        _add_adapters(model, encoder, recipe)
    elif recipe.frozen_embeddings:
        encoder.get_input_embeddings().requires_grad_(False)
    return model


def _take_over(model: nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Load the weights of a trained classifier as far as the architecture has them: the encoder always, the head if it is of the same form."""
    encoder_of = {name: name if name in model.state_dict() else re.sub(r"^encoder\.", f"{model.base_model_prefix}.", name) for name in weights}
    known = {encoder_of[name]: value for name, value in weights.items() if encoder_of[name] in model.state_dict()}
    if not known:
        raise ValueError("--start: the classifier has another backbone than the recipe's base_model")
    model.load_state_dict(known, strict=False)


def _add_adapters(model: Any, encoder: nn.Module, recipe: ClassifierRecipe) -> None:  # noqa: ANN401
    from peft import LoraConfig, inject_adapter_in_model

    settings = LoraConfig(r=recipe.lora_rank, lora_alpha=2 * recipe.lora_rank, lora_dropout=recipe.encoder_dropout, target_modules="all-linear")
    encoder.requires_grad_(False)
    inject_adapter_in_model(settings, encoder)


def merge_adapters(model: Any) -> None:  # noqa: ANN401
    """Fold LoRA adapters into the weights that they change, so that the saved model is a plain one."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], module.get_base_layer())


def token_ids(recipe: ClassifierRecipe, tokenizer: Any, dialogues: Sequence[Sequence[str]]) -> list[list[int]]:  # noqa: ANN401
    """Return the input of every dialogue, newest turn first, at most `max_tokens` long; the history is cut to `context` turns."""
    kept = [list(turns) if recipe.context is None else list(turns[-recipe.context - 1 :]) for turns in dialogues]
    texts = [turn for turns in kept for turn in turns]
    flat = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    separators, result, start = separators_between(tokenizer), [], 0
    for turns in kept:
        own, start = flat[start : start + len(turns)], start + len(turns)
        result.append(sequence(own, tokenizer.cls_token_id, tokenizer.sep_token_id, separators, recipe.max_tokens))
    return result


def separators_between(tokenizer: Any) -> int:  # noqa: ANN401
    """Return how many separator tokens the tokenizer puts between two texts: 1 in BERT, 2 in RoBERTa."""
    return int(tokenizer("a", "a")["input_ids"].count(tokenizer.sep_token_id)) - 1


def parameter_groups(model: nn.Module, recipe: ClassifierRecipe) -> list[dict[str, Any]]:
    """Return the trained parameters with their learning rates: `head_learning_rate` outside the encoder, inside it less from layer to layer downwards.

    Biases and normalisations have no weight decay.
    """
    encoder: Any = model.base_model
    depth = int(encoder.config.num_hidden_layers)
    inside = {id(parameter) for parameter in encoder.parameters()}
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        rate = recipe.head_learning_rate
        if id(parameter) in inside and "pooler" not in name:
            layer = re.search(r"\.layers?\.(\d+)\.", name)
            rate = recipe.learning_rate * recipe.layer_decay ** (depth - int(layer[1]) - 1 if layer else depth)
        groups.setdefault((rate, recipe.weight_decay if parameter.ndim > 1 else 0.0), []).append(parameter)
    return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def _backbone(name: str) -> str:
    return str(model_folder(name)) if name == DEFAULT_MODEL else name
