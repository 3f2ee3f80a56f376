"""What labels with a model in a folder that `save_pretrained` wrote: its configuration, tokenizer and weights, each
checked and read when it is first used, and one way to run any of them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.encoders.batches import pad, token_batches
from edos_dataset.encoders.encoder import CPU_TOKENS, GPU_TOKENS, pack_linears
from edos_dataset.labeling.models.dialogues import TRIAL, check_probabilities
from edos_dataset.labeling.models.saved_model import (
    check_files,
    check_tokenizer,
    check_weights,
    label_columns,
    loading,
    model_digest,
    our_model,
    read_config,
    read_record,
)

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class SavedLabeler:
    """A labeler by such a model. No code that comes with a model is run, unless `trust_remote_code` says so; one of
    ours never needs it.

    Args:
        folder: what `save_pretrained` of model and tokenizer wrote.
        device: torch device, such as `cpu`, `cuda` or `cuda:1`.
        batch_tokens: most tokens in a batch, padding included; by default 1,024 on a CPU and 32,768 elsewhere. A longer
            sequence is a batch of its own.
        identity: name and digest by which the model is known; by default the folder's name and a digest of what decides
            a label.
        trust_remote_code: run the code that came with the model where its configuration names some.

    Attributes:
        context: earlier turns that a turn is seen with; 0 for single turns, None for as many as the model can see.
        record: how the model was made, and its metrics, as its training leaves them in the folder; empty for other
            models.

    Raises:
        ValueError: the folder holds no model, or its labels are not the 41; when it labels or is checked, that it is
            damaged, or has another model's tokenizer.
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        batch_tokens: int | None = None,
        identity: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Read the configuration; the model is loaded at the first use."""
        self.folder, self.device = Path(folder), device
        self.batch_tokens = batch_tokens or (CPU_TOKENS if device == "cpu" else GPU_TOKENS)
        self._identity = identity
        self._trusted = trust_remote_code
        self._config: Any = read_config(self.folder, trust_remote_code)
        self._columns = label_columns(self._config.id2label, self.folder)
        self._ours = our_model(self.folder) is not None
        self.context: int | None = getattr(self._config, "context", 0)
        if self.context is not None and (not isinstance(self.context, int) or self.context < 0):
            raise ValueError(f"{self.folder / 'config.json'}: context is {self.context!r}, but is a number of turns")
        self.record: dict[str, Any] = read_record(self.folder)

    @cached_property
    def identity(self) -> str:
        """Name and digest of everything that decides a label: `my-model@` and 16 hex digits."""
        digest = model_digest(self.folder, code=self._trusted and not self._ours)
        return self._identity or f"{self.folder.resolve().name}@{digest}"

    @property
    def source(self) -> str:
        """What stands in `label_source`: the name and a short digest."""
        return self.identity[:-8]

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        raise NotImplementedError

    def check(self) -> None:
        """Load the model and label a dialogue, on the processor whatever the device, so that a run can tell at once
        whether it will do.

        Raises:
            ModelError: the model is damaged, or has another model's tokenizer.
        """
        labeler = self
        if self.device != "cpu":
            labeler = type(self)(self.folder, "cpu", self.batch_tokens, self._identity, self._trusted)
        with loading(self.folder, "model that labels"):
            check_probabilities(labeler.predict_proba(TRIAL), TRIAL)

    @cached_property
    def _tokenizer(self) -> "PreTrainedTokenizerBase":
        from transformers import AutoTokenizer

        with loading(self.folder, "tokenizer"):
            return AutoTokenizer.from_pretrained(
                self.folder, split_special_tokens=True, trust_remote_code=self._trusted
            )  # "[SEP]" in a turn is text, and does not end it

    @cached_property
    def _model(self) -> "PreTrainedModel":
        from transformers import AutoModelForSequenceClassification

        check_weights(self.folder)
        check_files(self.folder, self.record)
        with loading(self.folder, "model"):
            kind: Any = our_model(self.folder) or AutoModelForSequenceClassification
            loaded, told = kind.from_pretrained(
                self.folder, trust_remote_code=self._trusted, use_safetensors=True, output_loading_info=True
            )
            if lacking := sorted(told["missing_keys"]):
                raise ValueError(f"its weights lack {lacking[0]} and {len(lacking) - 1} others")
            if self._ours and (strange := sorted(told["unexpected_keys"])):
                raise ValueError(f"its configuration has no place for the weights {strange[0]}")
            for name, values in loaded.named_parameters():
                if not values.isfinite().all():
                    raise ValueError(f"its weights {name} hold values that are not numbers")
            model: PreTrainedModel = loaded.float().to(self.device).eval()
            rows = int(loaded.get_input_embeddings().weight.shape[0])
        if not self._trusted or self._ours:  # a tokenizer that is code may be anything
            check_tokenizer(self.folder, self._tokenizer, self._config, rows)
        if model.device.type == "cpu":
            pack_linears(model)
        return model

    def _read(self, texts: list[str], max_length: int, special: bool) -> list[list[int]]:
        """Return the token ids of texts, each cut at a length, with special tokens or without."""
        if not texts:
            return []
        tokens: Any = self._tokenizer(
            texts,
            add_special_tokens=special,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        return list(tokens["input_ids"])

    def _run(self, step: "Callable[..., torch.Tensor]", sequences: Sequence[tuple[int, ...]], width: int) -> Floats:
        """Return what the model gives for sequences of token ids, float32 [sequences, width]. Each distinct one is run
        once, sorted by length, in batches of a number of tokens.

        Args:
            step: from `input_ids` and `attention_mask`, both [batch, tokens], to [batch, width].
            sequences: token ids.
            width: length of a row of the result.
        """
        import torch

        rows: dict[tuple[int, ...], int] = {}
        picked = [rows.setdefault(sequence, len(rows)) for sequence in sequences]
        out, distinct = np.empty((len(rows), width), dtype=np.float32), list(rows)
        if not rows:
            return out
        device = self._model.device
        lengths = np.fromiter(map(len, distinct), np.int64, len(distinct))
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            waiting = []
            for batch in token_batches(lengths.tolist(), self.batch_tokens):
                ids, mask = pad([distinct[row] for row in batch], lengths[batch], self._tokenizer.pad_token_id or 0)
                input_ids, attention_mask = (
                    torch.from_numpy(values).to(device, non_blocking=True) for values in (ids, mask)
                )
                # A GPU works on while the next batches are put together.
                waiting.append((batch, step(input_ids=input_ids, attention_mask=attention_mask).float()))
            for batch, values in waiting:
                out[batch] = values.cpu().numpy()
        return out[picked]
