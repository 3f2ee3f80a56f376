"""The model of a recipe with its tokenizer and its task: new, or taken on from a folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Doubles
from edos_dataset.generation.config import FIRST_POSITION, PredictorConfig, ResponseConfig
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.generation.tokenizer import train_tokenizer
from edos_dataset.labels import LABEL_IDS, LABELS
from training.generator.others import build_other
from training.generator.recipe import OF_OTHERS, GeneratorRecipe
from training.generator.tasks import AnswerTask, LabelTask, Learner

TOKENIZER = "tokenizer-in-training"
"""Folder, beside the checkpoints, of a tokenizer that was learned for this training."""


def build_tokenizer(recipe: GeneratorRecipe, train: pa.Table, start: Path | None, out: Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the model that it starts from, the recipe's, or one learned from the training part, which
    is kept in `out` until the training ends.

    Raises:
        ValueError: it has no start, end or padding token.
    """
    name = str(start) if start else recipe.tokenizer
    if not name:
        kept = out / TOKENIZER
        if not (kept / "tokenizer_config.json").is_file():
            train_tokenizer(_texts(train), recipe.vocabulary).save_pretrained(kept)
        name = str(kept)
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    for kind in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if getattr(tokenizer, kind) is None:
            raise ValueError(f"the tokenizer {name} has no {kind}: name another one as `tokenizer`, or leave it out")
    return tokenizer


def _texts(table: pa.Table) -> Iterator[str]:
    for chunk in table["texts"].chunks:
        for text in chunk.flatten():
            yield text.as_py()


def build_learner(recipe: GeneratorRecipe, train: pa.Table, start: Path | None, out: Path) -> Learner:
    """Return the recipe's model, new or with the weights of the model in `start`.

    Raises:
        ValueError: the model in `start` is of another kind or size than the recipe's.
    """
    if recipe.kind in OF_OTHERS:
        if start is not None:
            raise ValueError(f"--start is for models of ours: name {start} as base_model in a recipe of {recipe.kind}")
        return build_other(recipe)
    tokenizer = build_tokenizer(recipe, train, start, out)
    kind: Any = ResponsePredictor if recipe.kind == "predictor" else ResponseModel
    config = _config(recipe, tokenizer)
    if start is None:
        model: PreTrainedModel = kind(config)
    else:
        _compare(AutoConfig.from_pretrained(start, trust_remote_code=False), config, start)
        own = {"dropout": recipe.dropout, "history_turns": recipe.history_turns}
        model = kind.from_pretrained(start, dtype=torch.float32, trust_remote_code=False, **own)
    task = LabelTask(tokenizer) if recipe.kind == "predictor" else AnswerTask(tokenizer, recipe.labelled)
    return Learner(model, tokenizer, task)


def begin_at_frequencies(model: ResponseModel, counts: Doubles) -> None:
    """Set the biases of the output layer to the logarithms of the tokens' shares, by their counts, [vocabulary]."""
    with torch.no_grad():
        model.output_layer.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def _config(recipe: GeneratorRecipe, tokenizer: PreTrainedTokenizerBase) -> ResponseConfig:
    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": recipe.hidden_size,
        "num_layers": recipe.layers,
        "num_heads": recipe.heads,
        "intermediate_size": recipe.intermediate_size,
        "max_positions": recipe.max_tokens + FIRST_POSITION,
        "dropout": recipe.dropout,
        "history_turns": recipe.history_turns,
        "initializer_range": recipe.initial,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    if recipe.kind == "plain":
        return ResponseConfig(**settings, tie_output=recipe.tie_output)
    names: dict[str, Any] = {"id2label": dict(enumerate(LABELS)), "label2id": dict(LABEL_IDS)}
    if recipe.kind == "predictor":
        return PredictorConfig(**settings, **names)
    return ResponseConfig(**settings, tie_output=recipe.tie_output, num_response_labels=len(LABELS), num_segments=2)


_FORM = ("vocab_size", "hidden_size", "num_layers", "num_heads", "intermediate_size", "num_response_labels")


def _compare(there: PreTrainedConfig, wanted: ResponseConfig, start: Path) -> None:
    """Refuse a model that is not of the recipe's kind and size."""
    if there.model_type != wanted.model_type:
        raise ValueError(f"--start {start} is a model of the kind {there.model_type}, not {wanted.model_type}")
    for name in (*_FORM, "num_segments", "max_positions", "tie_output"):
        if getattr(there, name) != getattr(wanted, name):
            raise ValueError(
                f"--start {start} has {name} {getattr(there, name)}, the recipe {getattr(wanted, name)}: say in "
                "the recipe what the model has"
            )
