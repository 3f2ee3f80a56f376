"""Models of others, whole or with LoRA adapters, as learners."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPT2DoubleHeadsModel,
    PreTrainedTokenizerBase,
)

from edos_dataset.generation.prompts import PromptFormat, add_label_tokens, label_token
from edos_dataset.labels import LABELS
from training.generator.prompts import CausalTask, Seq2SeqTask, TwoHeadsTask
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import Learner, Task

_CLASSES: dict[str, Any] = {
    "causal_lora": AutoModelForCausalLM,
    "seq2seq_lora": AutoModelForSeq2SeqLM,
    "gpt2_two_heads": GPT2DoubleHeadsModel,
}


def build_other(recipe: GeneratorRecipe) -> Learner:
    """Return the recipe's base model, with adapters where the recipe has a rank for them.

    Raises:
        ValueError: the base model is not there or of another kind, or its tokenizer has no end token.
    """
    name = recipe.base_model
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(recipe.tokenizer or name, trust_remote_code=False)
        # Weights are trained in single precision whatever they are stored in; `precision` is that of the forward pass.
        model: Any = _CLASSES[recipe.kind].from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"base_model {name} cannot be used as {recipe.kind}: {error}") from error
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {name} has no end token: name another base_model")
    form = PromptFormat("none" if recipe.kind == "gpt2_two_heads" else recipe.label_form, recipe.history_turns)
    tokens: list[int] = []
    if form.labels == "tokens":
        add_label_tokens(model, tokenizer)
        tokens = tokenizer.convert_tokens_to_ids([label_token(label) for label in range(len(LABELS))])
    task = _task(recipe, model, tokenizer, form)
    if recipe.lora_rank:
        model = _adapted(model, recipe, tokens)
    return Learner(model, tokenizer, task, form)


def _task(recipe: GeneratorRecipe, model: Any, tokenizer: PreTrainedTokenizerBase, form: PromptFormat) -> Task:  # noqa: ANN401
    padding = next(
        each for each in (tokenizer.pad_token_id, model.config.pad_token_id, tokenizer.eos_token_id) if each is not None
    )
    if recipe.kind == "gpt2_two_heads":
        return TwoHeadsTask(tokenizer, form, padding, (recipe.language_model, recipe.next_utterance))
    if recipe.kind == "causal_lora":
        return CausalTask(tokenizer, form, padding)
    return Seq2SeqTask(tokenizer, form, padding, model.config.decoder_start_token_id)


def _adapted(model: Any, recipe: GeneratorRecipe, tokens: list[int]) -> Any:  # noqa: ANN401
    """Return the model, frozen, with adapters in all linear layers; the rows of new tokens are trained, too."""
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
    """Take out of a saved adapter what stands in it twice: of rows that an output layer shares with the table of words
    only the table's are read back.
    """
    path = folder / "adapter_model.safetensors"
    if path.is_file():
        weights = load_file(path)
        tables = [name for name in weights if name.endswith(".trainable_tokens_delta")]
        output = [name for name in tables if ".lm_head." in name]
        if len(tables) > len(output) and all(torch.equal(weights[name], weights[tables[0]]) for name in tables):
            kept = {name: value for name, value in weights.items() if name not in output}
            save_file(kept, path, {"format": "pt"})
