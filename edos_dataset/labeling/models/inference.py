"""Labels from a fine-tuned encoder, as fast as the machine allows and the same on every run.

`transformers.pipeline` runs one text after the other, or batches padded to their longest text, and runs a text as often
as it comes. `TransformerLabeler` tokenises every distinct turn once, puts the sequences of all dialogues together, runs
each distinct one once, sorted by length in batches of a number of tokens, and on x86 processors multiplies with weights
packed for oneDNN. `benchmarks/label.py` measures what that gives.

Reproducibility is that of `encoder.py`: the same dialogues in one call give the same bits with the same number of
threads; in another company a probability may differ by about 1e-7 (on a GPU, where it computes in bfloat16, by about
1e-2).
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.batches import pad, token_batches
from edos_dataset.labeling.models.dialogues import TRIAL, check_probabilities, dialogues_given
from edos_dataset.labeling.models.encoder import CPU_TOKENS, GPU_TOKENS, pack_linears
from edos_dataset.labeling.models.saved_model import (
    check_files,
    check_tokenizer,
    check_weights,
    label_columns,
    loading,
    model_digest,
    read_config,
    read_record,
)
from edos_dataset.labels import LABELS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TransformerLabeler:
    """Labels turns with a `DialogueClassifier`, or with any sequence classifier of transformers that has our 41 labels.

    A model of another kind is given a single turn, unless its configuration has `context` (earlier turns, null for any
    number); then turns are put together as for ours, newest first. No code that comes with a model is run, unless
    `trust_remote_code` says so; one of ours never needs it.

    Args:
        folder: what `save_pretrained` of model and tokenizer wrote.
        device: torch device, such as `cpu`, `cuda` or `cuda:1`.
        batch_tokens: most tokens in a batch, padding included; by default 1,024 on a CPU and 32,768 elsewhere. A longer
            sequence is a batch of its own.
        identity: name and digest by which the model is known; by default the folder's name and a digest of what decides
            a label.
        trust_remote_code: run the code that came with the model where its configuration names some.

    Attributes:
        context: earlier turns that a turn is seen with; 0 for single turns, None for as many as the model's length
            holds.
        record: how the model was made, and its metrics, as `training/train_classifier.py` leaves them in the folder;
            empty for other models.

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
        from edos_dataset.labeling.models.classifier import DialogueClassifierConfig

        self.folder, self.device = Path(folder), device
        self.batch_tokens = batch_tokens or (CPU_TOKENS if device == "cpu" else GPU_TOKENS)
        self._identity = identity
        self._trusted = trust_remote_code
        self._config: Any = read_config(self.folder, trust_remote_code)
        self._columns = label_columns(self._config.id2label, self.folder)
        self._ours = isinstance(self._config, DialogueClassifierConfig)
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
        """Return calibrated probabilities of every turn, seen with its own history.

        Args:
            dialogues: turns of each dialogue, oldest first. All are tokenised at once, so memory grows with the list:
                call it shard by shard.

        Returns:
            float32 [turns of all dialogues, 41], turn after turn. Rows sum to 1; columns are label ids.

        Raises:
            ValueError: these are no dialogues, or the model is damaged.
        """
        dialogues = dialogues_given(dialogues)
        rows: dict[tuple[int, ...], int] = {}
        picked = [rows.setdefault(sequence, len(rows)) for sequence in self._sequences(dialogues)]
        out = np.empty((len(rows), len(LABELS)), dtype=np.float32)
        if rows:
            self._predict_unique(list(rows), out)
        return out[picked]

    def check(self) -> None:
        """Load the model and label a dialogue, on the processor whatever the device, so that a run can tell at once
        whether it will do.

        Raises:
            ModelError: the model is damaged, or has another model's tokenizer.
        """
        labeler = self
        if self.device != "cpu":
            labeler = TransformerLabeler(self.folder, "cpu", self.batch_tokens, self._identity, self._trusted)
        with loading(self.folder, "model that labels"):
            check_probabilities(labeler.predict_proba(TRIAL), TRIAL)

    def _sequences(self, dialogues: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """Return the token ids that the model sees for every turn."""
        from edos_dataset.labeling.models.dialogue_pipeline import sequence

        ids = self._tokenise(list(dict.fromkeys(chain.from_iterable(dialogues))))
        if not self._assembles:
            return [tuple(ids[turn]) for turn in chain.from_iterable(dialogues)]
        settings = self._layout
        reach = settings["max_length"] if self.context is None else self.context  # a turn takes at least one token
        sequences = []
        for dialogue in dialogues:
            turns = [ids[turn] for turn in dialogue]
            sequences += [
                tuple(sequence(turns[max(0, end - 1 - reach) : end], **settings)) for end in range(1, len(turns) + 1)
            ]
        return sequences

    @property
    def _assembles(self) -> bool:
        return self._ours or self.context != 0

    @cached_property
    def _layout(self) -> dict[str, int]:
        """Arguments of `sequence` beside the turns."""
        tokenizer: Any = self._tokenizer
        start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        separator = self._config.separator_id if self._ours else tokenizer.sep_token_id
        if start is None or separator is None:
            raise ValueError(
                f"the tokenizer of {self.folder} has no {'start' if start is None else 'separator'} token, which a "
                "model of dialogues needs"
            )
        # RoBERTa puts two separators between texts, BERT one.
        separators = self._config.separators if self._ours else tokenizer("a", "a")["input_ids"].count(separator) - 1
        return {"start": start, "separator": separator, "separators": separators, "max_length": self._max_length}

    @property
    def _max_length(self) -> int:
        if self._ours:
            return int(self._config.max_tokens)
        positions = getattr(self._config, "max_position_embeddings", 512)
        return int(min(512, positions, self._tokenizer.model_max_length))

    def _tokenise(self, texts: list[str]) -> dict[str, list[int]]:
        """Return the token ids of distinct texts, with special tokens only where a text is a whole sequence."""
        if not texts:
            return {}
        plain = not self._assembles
        tokens = self._tokenizer(
            texts,
            add_special_tokens=plain,
            truncation=True,
            max_length=self._max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        return dict(zip(texts, tokens["input_ids"], strict=True))

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

        from edos_dataset.labeling.models.classifier import DialogueClassifier

        check_weights(self.folder)
        check_files(self.folder, self.record)
        with loading(self.folder, "model"):
            kind: Any = DialogueClassifier if self._ours else AutoModelForSequenceClassification
            loaded, told = kind.from_pretrained(
                self.folder, trust_remote_code=self._trusted, use_safetensors=True, output_loading_info=True
            )
            if lacking := sorted(told["missing_keys"]):
                raise ValueError(f"its weights lack {lacking[0]} and {len(lacking) - 1} others")
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

    def _predict_unique(self, sequences: list[tuple[int, ...]], out: Floats) -> None:
        """Fill in the probabilities of distinct sequences."""
        import torch

        model: Any = self._model
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
            waiting = []
            for batch in token_batches(lengths.tolist(), self.batch_tokens):
                ids, mask = pad([sequences[row] for row in batch], lengths[batch], self._tokenizer.pad_token_id or 0)
                input_ids, attention_mask = (
                    torch.from_numpy(values).to(self.device, non_blocking=True) for values in (ids, mask)
                )
                logits = model(input_ids=input_ids, attention_mask=attention_mask).logits
                waiting.append(
                    (batch, logits.float().softmax(-1))
                )  # a GPU works on while the next batches are put together
            for batch, probabilities in waiting:
                out[batch] = probabilities.cpu().numpy()[:, self._columns]
