"""The model of a recipe with its tokenizer and its task: new, or continued from a folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPT2DoubleHeadsModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from edos_dataset.arrays import Doubles
from edos_dataset.generation.config import FIRST_POSITION, PredictorConfig, ResponseConfig
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.generation.writers import LABELER, PromptFormat, add_label_tokens, label_token
from edos_dataset.labels import LABEL_IDS, LABELS
from training.generator.recipe import OF_OTHERS, GeneratorRecipe
from training.generator.tasks import (
    AnswerTask,
    CausalTask,
    LabelTask,
    Learner,
    Seq2SeqTask,
    Task,
    TwoHeadsTask,
    WholeTask,
    padding_of,
)
from training.generator.tokenizer import train_tokenizer

_CLASSES: dict[str, Any] = {
    "causal_lora": AutoModelForCausalLM,
    "seq2seq_lora": AutoModelForSeq2SeqLM,
    "gpt2_two_heads": GPT2DoubleHeadsModel,
}


def build_other(recipe: GeneratorRecipe) -> Learner:
    """Return the recipe's base model, with LoRA adapters if the recipe states a rank.

    Raises:
        ValueError: the base model does not exist or is of another kind, or its tokenizer has no end token.
    """
    name = recipe.base_model
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(recipe.tokenizer or name, trust_remote_code=False)
        # Weights are trained in single precision, however they are stored; `precision` applies to the forward pass.
        model: Any = _CLASSES[recipe.kind].from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"base_model {name} cannot be used as {recipe.kind}: {error}") from error
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {name} has no end token: name another base_model")
    style = "none" if recipe.kind == "gpt2_two_heads" else recipe.label_form
    form = PromptFormat(style, recipe.history_turns, recipe.labeler or LABELER)
    tokens: list[int] = []
    if form.labels == "tokens":
        add_label_tokens(model, tokenizer)
        tokens = tokenizer.convert_tokens_to_ids([label_token(label) for label in range(len(LABELS))])
    task = _task(recipe, model, tokenizer, form)
    if recipe.lora_rank:
        model = _adapted(model, recipe, tokens)
    return Learner(model, tokenizer, task, form)


def _task(recipe: GeneratorRecipe, model: Any, tokenizer: PreTrainedTokenizerBase, form: PromptFormat) -> Task:  # noqa: ANN401
    padding = padding_of(tokenizer, model.config)
    if recipe.kind == "gpt2_two_heads":
        return TwoHeadsTask(tokenizer, form, padding, (recipe.language_model, recipe.next_utterance))
    if recipe.kind == "causal_lora":
        return (WholeTask if recipe.whole_dialogues else CausalTask)(tokenizer, form, padding)
    return Seq2SeqTask(tokenizer, form, padding, model.config.decoder_start_token_id)


def _adapted(model: Any, recipe: GeneratorRecipe, tokens: list[int]) -> Any:  # noqa: ANN401
    """Return the frozen model with adapters in all linear layers; the embedding rows of new tokens are trained too."""
    import peft

    library: Any = peft
    settings = library.LoraConfig(
        task_type="SEQ_2_SEQ_LM" if recipe.kind == "seq2seq_lora" else "CAUSAL_LM",
        r=recipe.lora_rank,
        lora_alpha=2 * recipe.lora_rank,
        lora_dropout=recipe.dropout,
        target_modules="all-linear",
        trainable_token_indices=tokens or None,
    )
    return library.get_peft_model(model, settings)


def drop_doubles(folder: Path) -> None:
    """Remove duplicate weights from a saved adapter: of rows that the output layer shares with the token embedding,
    only those of the embedding are read back.
    """
    path = folder / "adapter_model.safetensors"
    if path.is_file():
        weights = load_file(path)
        tables = [name for name in weights if name.endswith(".trainable_tokens_delta")]
        output = [name for name in tables if ".lm_head." in name]
        if len(tables) > len(output) and all(torch.equal(weights[name], weights[tables[0]]) for name in tables):
            kept = {name: value for name, value in weights.items() if name not in output}
            save_file(kept, path, {"format": "pt"})


TOKENIZER = "tokenizer-in-training"
"""Folder beside the checkpoints, for a tokenizer that was trained for this model."""


def build_tokenizer(recipe: GeneratorRecipe, train: pa.Table, start: Path | None, out: Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the starting model, the recipe's, or one trained on the training split, which is kept in
    `out` until the training ends.

    Raises:
        ValueError: it has no start, end or padding token.
    """
    name = str(start) if start else recipe.tokenizer
    if not name:
        kept = out / TOKENIZER
        if not (kept / "tokenizer_config.json").is_file():
            learned = train_tokenizer(_texts(train), recipe.vocabulary, lower_case=recipe.lower_case)
            learned.save_pretrained(kept)
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
        ValueError: the model in `start` differs from the recipe's in kind or size.
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
    """Set the biases of the output layer to the log frequencies of the tokens, given their counts, [vocabulary]."""
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
    """Raise an error if a model differs from the recipe's in kind or size."""
    if there.model_type != wanted.model_type:
        raise ValueError(f"--start {start} is a model of the kind {there.model_type}, not {wanted.model_type}")
    for name in (*_FORM, "num_segments", "max_positions", "tie_output"):
        if getattr(there, name) != getattr(wanted, name):
            raise ValueError(
                f"--start {start} has {name} {getattr(there, name)}, the recipe {getattr(wanted, name)}: say in "
                "the recipe what the model has"
            )
