"""Any language model of transformers as a writer of answers, a decoder alone or an encoder-decoder, whole or with an
adapter of `peft` (LoRA).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from edos_dataset.encoders.folders import read_json
from edos_dataset.generation.inputs import pad
from edos_dataset.generation.prompts import PromptFormat, encode_prompt
from edos_dataset.labeling.models.saved_model import ModelError, check_weights, loading

ADAPTER = "adapter_config.json"
"""Name of the file that an adapter's folder has in place of a model's configuration."""

_ANSWER = 100  # tokens of a decoder's positions that are kept for the answer


class PromptWriter:
    """A language model as a writer; attributes as those of `Writer`.

    Args:
        model: in evaluation mode.
        tokenizer: that of the model.
        form: how the model is told histories and labels.
    """

    def __init__(self, model: Any, tokenizer: Any, form: PromptFormat) -> None:  # noqa: ANN401
        """Take the parts; an answer is one line, so a line's end ends it too."""
        self.model, self.tokenizer, self.form = model, tokenizer, form
        self.takes_labels = form.labels != "none"
        self.max_tokens = _ANSWER
        config = model.config
        self._causal = not config.is_encoder_decoder
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 1_024
        self._most = min(int(positions), 1_024) - (_ANSWER if self._causal else 0)
        if self._most < 1:
            raise ModelError(f"{config.name_or_path} reads {positions} tokens at most, {_ANSWER} are kept for answers")
        ends = model.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        found = set(ends) if isinstance(ends, list | tuple) else {ends}
        line = tokenizer("\n", add_special_tokens=False)["input_ids"]
        if len(line) == 1:
            found.add(line[0])
        model.generation_config.eos_token_id = sorted(found - {None})
        self._padding = next(
            each
            for each in (tokenizer.pad_token_id, config.pad_token_id, tokenizer.eos_token_id, 0)
            if each is not None
        )
        barred = {self._padding, tokenizer.bos_token_id, tokenizer.unk_token_id, *_label_ids(tokenizer)}
        self.never = sorted(barred - found - {None})

    def read(
        self,
        histories: Sequence[Sequence[str]],
        labels: Sequence[Sequence[int]] | None,
        answers: Sequence[int | None],
    ) -> dict[str, torch.Tensor]:
        """Return the tensors for `Steps`; see `Writer`."""
        known: Sequence[Sequence[int] | None] = [None] * len(histories) if labels is None else labels
        rows = [
            encode_prompt(self.tokenizer, self.form.lines(turns, own, answer), self._most)
            for turns, own, answer in zip(histories, known, answers, strict=True)
        ]
        masks = [[1] * len(row) for row in rows]
        if self._causal:  # an answer follows its history at once, so padding stands at the left
            ids, mask = pad([row[::-1] for row in rows], self._padding).flip(1), pad(masks, 0).flip(1)
        else:
            ids, mask = pad(rows, self._padding), pad(masks, 0)
        return {"input_ids": ids.to(self.model.device), "attention_mask": mask.to(self.model.device)}


def load_backbone(folder: Path, trust: bool = False, device: str = "cpu", base: Path | None = None) -> PromptWriter:
    """Return the language model in a folder as a writer.

    Args:
        folder: what `save_pretrained` of a model and its tokenizer wrote, or that of an adapter with a tokenizer.
        trust: run the code that came with the model, where its configuration names some.
        device: torch device.
        base: folder of the model that the adapter is for.

    Raises:
        ModelError: the folder is damaged or not whole, holds another kind of model, or needs code that is not trusted.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    form, whole = PromptFormat.load(folder), folder if base is None else base
    check_weights(whole)
    check_weights(folder)
    with loading(whole, "language model"):
        config = AutoConfig.from_pretrained(whole, trust_remote_code=trust)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model = kind.from_pretrained(whole, config=config, trust_remote_code=trust, use_safetensors=True)
    with loading(folder, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust)
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        if base is None:
            raise ModelError(f"the tokenizer in {folder} is another model's: it has {len(tokenizer):,} tokens")
        model.resize_token_embeddings(len(tokenizer))
    if base is not None:
        model = _adapted(model, folder)
    if device == "cpu":
        model = model.float()
    return PromptWriter(model.to(device).eval(), tokenizer, form)


def base_of(folder: Path) -> tuple[str, str | None]:
    """Return the name of the model that an adapter's folder is for, and its revision, if it names one of the Hub.

    Raises:
        ModelError: it names no model.
    """
    told = read_json(folder / ADAPTER)
    name, revision = told.get("base_model_name_or_path"), told.get("revision")
    if not isinstance(name, str) or not name:
        raise ModelError(f"{folder / ADAPTER} names no base_model_name_or_path: save the adapter again")
    return name, revision if isinstance(revision, str) and not Path(name).is_dir() else None


def _adapted(model: Any, folder: Path) -> Any:  # noqa: ANN401
    """Return a model with an adapter's changes in its weights."""
    try:
        import peft
    except ImportError as error:
        raise ModelError(
            f"{folder} holds an adapter, for which peft is needed: pip install 'edos-dataset[training]'"
        ) from error
    with loading(folder, "adapter"):
        # Not `PeftModel.from_pretrained`, which would read a pickle where there are no safetensors.
        library: Any = peft
        settings = library.PeftConfig.from_peft_type(**read_json(folder / ADAPTER))
        adapted = library.get_peft_model(model, settings)
        told = library.set_peft_model_state_dict(adapted, load_file(folder / "adapter_model.safetensors"))
        if strange := list(told.unexpected_keys):
            raise ValueError(f"the model has no place for its weights {strange[0]}")
        return adapted.merge_and_unload()


def _label_ids(tokenizer: Any) -> set[int]:  # noqa: ANN401
    """Return the ids of the labels' special tokens, which are for prompts, not for answers."""
    return {number for token, number in tokenizer.get_added_vocab().items() if token.startswith("<|")}
