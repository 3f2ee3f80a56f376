"""Labelers for models that `save_pretrained` wrote: fast and reproducible.

`transformers.pipeline` runs one text after another, or batches padded to their longest text, and recomputes repeated
texts. `TransformerLabeler` tokenises every distinct turn once, builds the sequences of all dialogues, and runs each
distinct sequence once, sorted by length in batches with a token limit; on x86 processors it multiplies with weights
packed for oneDNN. `ContextLabeler` encodes every distinct turn once, for both heads of a `ContextClassifier`, and runs
the small context network over the vectors. `benchmarks/label.py` measures the gain.

Reproducibility is that of `encoders.encoder`: the same dialogues in one call give the same bits with the same number of
threads; in a call with other dialogues, a probability may differ by about 1e-7. On a GPU, where encoders compute in
bfloat16, it may differ by about 1e-2.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import CPU_TOKENS, GPU_TOKENS, pack_linears, pad, token_batches
from edos_dataset.encoders.folders import read_json
from edos_dataset.labeling.models.base import (
    TRIAL,
    EmbeddedLabeler,
    Labeler,
    check_probabilities,
    dialogues_given,
    history_refused,
)
from edos_dataset.labeling.models.linear import probabilities_of
from edos_dataset.labeling.models.saved_model import (
    LABEL_SET,
    SEVERAL,
    check_files,
    check_tokenizer,
    check_weights,
    digests_of,
    label_columns,
    labels_of_model,
    loading,
    model_digest,
    our_model,
    read_config,
    read_record,
)
from edos_dataset.labeling.models.text_pairs import Pair, PairForm
from edos_dataset.labels import LABELS
from edos_dataset.runs.fingerprints import hash_json

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_LEAST_PROBABILITY = 0.5  # the usual threshold of multi-label models
_BLOCK = 2048  # turns at a time, so that the working set stays in the cache
_KIND = "edos-context-classifier"  # as in ContextClassifierConfig, whose import needs torch
READ = ("encoder", "turn_tokens", "start_id", "separator_id", "padding_id")
"""Configuration keys that affect the vectors."""


class SavedLabeler(Labeler):
    """A labeler that uses a model in a folder. Code in the folder is run only with `trust_remote_code`; models of this
    package never need it.

    Args:
        folder: written by `save_pretrained` of a model and its tokenizer.
        device: torch device, such as `cpu`, `cuda` or `cuda:1`.
        batch_tokens: maximum number of tokens in a batch, padding included; by default 1,024 on a CPU and 32,768
            elsewhere. A longer sequence is a batch of its own.
        identity: name and digest of the model; by default the folder's name and a digest of the files that affect the
            labels.
        trust_remote_code: run the code that comes with the model, if its configuration names any.

    Attributes:
        record: how the model was made, and its metrics, read from the folder; empty if it has none.

    Raises:
        ValueError: the folder has no model, or its labels have no names. Later, when the model is used or checked: it
            is damaged, or the tokenizer belongs to another model.
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        batch_tokens: int | None = None,
        identity: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        self.folder, self.device = Path(folder), device
        self.batch_tokens = batch_tokens or (CPU_TOKENS if device == "cpu" else GPU_TOKENS)
        self._identity = identity
        self._trusted = trust_remote_code
        self._config: Any = read_config(self.folder, trust_remote_code)
        self._ours = our_model(self.folder) is not None
        if self._ours and not hasattr(self._config, LABEL_SET):
            self._columns = label_columns(self._config.id2label, self.folder)
        else:
            stated = getattr(self._config, LABEL_SET, None)
            self.label_set, self._columns = labels_of_model(self._config.id2label, self.folder, stated)
            self.threshold = _LEAST_PROBABILITY if self._config.problem_type == SEVERAL else None
        self.context = getattr(self._config, "context", 0)
        if self.context is not None and (not isinstance(self.context, int) or self.context < 0):
            raise ValueError(f"{self.folder / 'config.json'}: context is {self.context!r}, but is a number of turns")
        self.record = read_record(self.folder)

    @cached_property
    def identity(self) -> str:
        """Name and digest of everything that affects the labels: `my-model@` and 16 hex digits."""
        digest = model_digest(self.folder, code=self._trusted and not self._ours)
        return self._identity or f"{self.folder.resolve().name}@{digest}"

    @abstractmethod
    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""

    def check(self) -> None:
        """Load the model and label a dialogue, always on the CPU, so that a run fails at once if the model cannot
        label.

        Raises:
            ModelError: the model is damaged, or the tokenizer belongs to another model.
        """
        labeler = self if self.device == "cpu" else self._on_cpu()
        with loading(self.folder, "model that labels"):
            check_probabilities(labeler.predict_proba(TRIAL), TRIAL, self.label_set, self.threshold is None)

    def _on_cpu(self) -> "SavedLabeler":
        return type(self)(self.folder, "cpu", self.batch_tokens, self._identity, self._trusted)

    @cached_property
    def _tokenizer(self) -> "PreTrainedTokenizerBase":
        from transformers import AutoTokenizer

        with loading(self.folder, "tokenizer"):
            return AutoTokenizer.from_pretrained(
                self.folder, split_special_tokens=True, trust_remote_code=self._trusted
            )  # "[SEP]" in a turn is text and does not end it

    @property
    def _padding(self) -> int:
        return self._tokenizer.pad_token_id or 0

    @cached_property
    def _model(self) -> "PreTrainedModel":
        from transformers import AutoModelForSequenceClassification

        check_weights(self.folder)
        check_files(self.folder, self.record)
        with loading(self.folder, "model"):
            kind: Any = our_model(self.folder) or AutoModelForSequenceClassification
            loaded, keys = kind.from_pretrained(
                self.folder, trust_remote_code=self._trusted, use_safetensors=True, output_loading_info=True
            )
            if lacking := sorted(keys["missing_keys"]):
                raise ValueError(f"its weights lack {lacking[0]} and {len(lacking) - 1} others")
            if self._ours and (strange := sorted(keys["unexpected_keys"])):
                raise ValueError(f"its configuration has no place for the weights {strange[0]}")
            for name, values in loaded.named_parameters():
                if not values.isfinite().all():
                    raise ValueError(f"its weights {name} have values that are not finite")
            model: PreTrainedModel = loaded.float().to(self.device).eval()
            rows = int(loaded.get_input_embeddings().weight.shape[0])
        if not self._trusted or self._ours:  # a tokenizer defined by remote code can have any form
            check_tokenizer(self.folder, self._tokenizer, self._config, rows)
        if model.device.type == "cpu":
            pack_linears(model)
        return model

    def _read(self, texts: list[str], max_length: int, special: bool) -> list[list[int]]:
        """Return the token ids of texts, truncated, with special tokens or without."""
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

    def _run(
        self,
        step: "Callable[..., torch.Tensor]",
        sequences: Sequence[tuple[int, ...]],
        width: int,
        firsts: Mapping[tuple[int, ...], int] | None = None,
    ) -> Floats:
        """Return the model's output for sequences of token ids, float32 [sequences, width].

        Each distinct sequence is run once, sorted by length, in batches with a token limit.

        Args:
            step: maps `input_ids` and `attention_mask`, and `token_type_ids` if there are `firsts`, each [batch,
                tokens], to [batch, width].
            sequences: token ids.
            width: length of an output row.
            firsts: the number of tokens of each sequence that belong to the first of two texts; None if the model does
                not ask.
        """
        import torch

        rows: dict[tuple[int, ...], int] = {}
        picked = [rows.setdefault(sequence, len(rows)) for sequence in sequences]
        out, distinct = np.empty((len(rows), width), dtype=np.float32), list(rows)
        if not rows:
            return out
        device = next(self._model.parameters()).device
        lengths = np.fromiter(map(len, distinct), np.int64, len(distinct))
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            waiting = []
            for batch in token_batches(lengths.tolist(), self.batch_tokens):
                ids, mask = pad([distinct[row] for row in batch], lengths[batch], self._padding)
                inputs = {"input_ids": ids, "attention_mask": mask}
                if firsts is not None:
                    starts = np.array([firsts[distinct[row]] for row in batch])
                    inputs["token_type_ids"] = mask * (np.arange(mask.shape[1]) >= starts[:, None])
                given = {
                    name: torch.from_numpy(values).to(device, non_blocking=True) for name, values in inputs.items()
                }
                # Not awaited, so that a GPU computes while the next batch is prepared.
                waiting.append((batch, step(**given).float()))
            for batch, values in waiting:
                out[batch] = values.cpu().numpy()
        return out[picked]


class TransformerLabeler(SavedLabeler):
    """Labels turns with a `DialogueClassifier`, or with any sequence classifier of transformers, whose `id2label` gives
    the label set.

    A multi-label model gives each turn all labels with a probability of at least 0.5. A model of another kind sees
    single turns, unless `history` says otherwise or its configuration has `context` (the number of earlier turns, null
    for all); then turns are concatenated as for ours, newest first.

    Args:
        folder: as for `SavedLabeler`, as are the next four.
        device: see there.
        batch_tokens: see there.
        identity: see there.
        trust_remote_code: see there.
        history: number of earlier turns that a model of another kind, without `context`, sees with a turn, from 0; by
            default 0. They are joined by the tokenizer's separator and given with the turn as a pair of texts, or as
            one text if the tokenizer takes no pairs. Of a history that is too long the oldest tokens are left out.

    Raises:
        ValueError: a history is given to a model that does not leave it open; otherwise as for `SavedLabeler`.
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        batch_tokens: int | None = None,
        identity: str | None = None,
        trust_remote_code: bool = False,
        history: int | None = None,
    ) -> None:
        super().__init__(folder, device, batch_tokens, identity, trust_remote_code)
        self._history = history
        if not (self._ours or hasattr(self._config, "context")):
            self.context = history or 0
            self.record = {**self.record, "history": self.context}
        elif history is not None:
            raise history_refused(self.folder.name, self.context)

    @cached_property
    def identity(self) -> str:
        """As for `SavedLabeler`; a history changes the digits."""
        if not self._history:
            return super().identity
        name, _, digest = super().identity.rpartition("@")
        return f"{name}@{hash_json([digest, self._history])[:16]}"

    def _on_cpu(self) -> "TransformerLabeler":
        return TransformerLabeler(self.folder, "cpu", self.batch_tokens, self._identity, self._trusted, self._history)

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the calibrated probabilities of every turn; see `Labeler`.

        All turns are tokenised at once, so memory grows with the list: call it shard by shard.

        Raises:
            ValueError: the input is not dialogues, or the model is damaged.
        """
        dialogues = dialogues_given(dialogues)

        def probabilities(**inputs: "torch.Tensor") -> "torch.Tensor":
            logits: torch.Tensor = self._model(**inputs).logits.float()
            return logits.softmax(-1) if self.threshold is None else logits.sigmoid()

        firsts: dict[tuple[int, ...], int] | None = None
        if self._history:
            pairs = self._pairs(dialogues, self._history)
            sequences, firsts = [pair.ids for pair in pairs], dict(pairs) if self._form.typed else None
        else:
            sequences = self._sequences(dialogues)
        return self._run(probabilities, sequences, len(self._columns), firsts)[:, self._columns]

    def _pairs(self, dialogues: Sequence[Sequence[str]], history: int) -> list[Pair]:
        """Return what the model reads for every turn, with a history."""
        texts = list(dict.fromkeys(chain.from_iterable(dialogues)))
        ids = dict(zip(texts, self._read(texts, self._max_length, special=True), strict=True))
        turns = [[ids[text] for text in dialogue] for dialogue in dialogues]
        return [pair for dialogue in turns for pair in self._form.pairs(dialogue, history)]

    @cached_property
    def _form(self) -> PairForm:
        return PairForm.of(self._tokenizer, self._model, self._max_length)

    def _sequences(self, dialogues: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """Return the token ids that the model reads for every turn."""
        from edos_dataset.labeling.models.dialogue_pipeline import sequence

        texts = list(dict.fromkeys(chain.from_iterable(dialogues)))
        concatenates = self._ours or self.context != 0
        ids = dict(zip(texts, self._read(texts, self._max_length, special=not concatenates), strict=True))
        if not concatenates:
            return [tuple(ids[turn]) for turn in chain.from_iterable(dialogues)]
        settings = self._layout
        reach = settings["max_length"] if self.context is None else self.context  # a turn has at least one token
        sequences = []
        for dialogue in dialogues:
            turns = [ids[turn] for turn in dialogue]
            sequences += [
                tuple(sequence(turns[max(0, end - 1 - reach) : end], **settings)) for end in range(1, len(turns) + 1)
            ]
        return sequences

    @cached_property
    def _layout(self) -> dict[str, int]:
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


def sees_vectors(folder: Path) -> bool:
    """Return whether a folder contains a `ContextClassifier`."""
    return (folder / "config.json").is_file() and read_json(folder / "config.json").get("model_type") == _KIND


class ContextLabeler(EmbeddedLabeler, SavedLabeler):
    """Labels turns with one of the answers of a `ContextClassifier`. On a GPU the encoder computes in bfloat16, the
    rest in float32.

    Args:
        folder: as for `SavedLabeler`.
        device: as for `SavedLabeler`.
        batch_tokens: as for `SavedLabeler`.
        identity: as for `SavedLabeler`.
        trust_remote_code: as for `SavedLabeler`.
        encoder_identity: name and digest of the encoder; by default a digest of everything that affects the vectors.
        answer: one of the model's answers; by default the one that its configuration names.

    Raises:
        ValueError: the model has no such answer; otherwise as for `SavedLabeler`.
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        batch_tokens: int | None = None,
        identity: str | None = None,
        trust_remote_code: bool = False,
        encoder_identity: str | None = None,
        answer: str | None = None,
    ) -> None:
        super().__init__(folder, device, batch_tokens, identity, trust_remote_code)
        if answer is not None and answer not in self._config.answers:
            raise ValueError(f"{folder} has no answer {answer!r}: there are {', '.join(self._config.answers)}")
        self._asked = answer
        self._answer = answer or self._config.answer
        self.context = 0 if self._config.answers[self._answer]["sees"] == "turn" else None
        self.encoder: TurnEncoder = TurnEncoder(self, encoder_identity)

    @cached_property
    def identity(self) -> str:
        """As for `SavedLabeler`, with the answer if one was given: `my-model#weak@` and 16 hex digits."""
        name, _, digest = super().identity.rpartition("@")
        return f"{name}#{self._asked}@{digest}" if self._asked else f"{name}@{digest}"

    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of embedded turns; see `EmbeddedLabeler`."""
        import torch

        if embeddings.ndim != 2 or (len(embeddings) and embeddings.shape[1] != self.encoder.dim):
            raise ValueError(
                f"{self.folder} takes embeddings [turns, {self.encoder.dim}], got {list(embeddings.shape)}: they are "
                "another encoder's"
            )
        logits = np.empty((len(embeddings), len(LABELS)), np.float32)
        with torch.inference_mode():
            for bounds in _blocks(np.unique(offsets)):  # np.unique drops empty dialogues
                block = slice(bounds[0], bounds[-1])
                vectors = torch.from_numpy(np.array(embeddings[block], np.float32)).to(self.device)
                starts = np.repeat(bounds[:-1] - bounds[0], np.diff(bounds)).astype(np.int64)
                model: Any = self._model
                found = model.label(vectors, torch.from_numpy(starts).to(self.device), self._answer)
                logits[block] = found.float().cpu().numpy()
        return probabilities_of(logits[:, self._columns]) if len(logits) else logits


class TurnEncoder:
    """The encoder of a `ContextClassifier`, with the interface of `Encoder`.

    Args:
        labeler: the labeler with the model.
        identity: name and digest of the encoder.
    """

    def __init__(self, labeler: SavedLabeler, identity: str | None) -> None:
        self._labeler, self._identity = labeler, identity

    @property
    def name(self) -> str:
        """The folder of the model, or the name of a shipped one."""
        return str(self._labeler.folder)

    @property
    def dim(self) -> int:
        """Dimension of an embedding. Loads the model."""
        model: Any = self._labeler._model
        return int(model.context_norm.normalized_shape[0])

    @cached_property
    def identity(self) -> str:
        """Kind and digest of everything that affects the embeddings; both heads of a model share it, in any folder."""
        if self._identity:
            return self._identity
        config = read_json(self._labeler.folder / "config.json")
        decides = [digests_of(self._labeler.folder), {name: config.get(name) for name in READ}]
        return f"{_KIND}@{hash_json(decides)[:16]}"

    def check(self) -> None:
        """Load the model and label a dialogue with it.

        Raises:
            ModelError: it is damaged.
        """
        self._labeler.check()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of texts, float32 [texts, dim]. Each distinct text is computed once.

        All texts are tokenised at once, so memory grows with the list: call it shard by shard.
        """
        model: Any = self._labeler._model
        return self._labeler._run(model.encode, self.sequences(texts), self.dim)

    def sequences(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the token ids that the encoder reads for each text: start, its tokens, separator."""
        config, distinct = self._labeler._config, list(dict.fromkeys(texts))
        words = self._labeler._read(distinct, config.turn_tokens - 2, special=False)
        framed = ((config.start_id, *turn, config.separator_id) for turn in words)
        ids = dict(zip(distinct, framed, strict=True))
        return [ids[text] for text in texts]


def _blocks(offsets: npt.NDArray[np.integer]) -> Iterator[npt.NDArray[np.integer]]:
    """Yield the offsets of blocks of whole dialogues, with at most `_BLOCK` turns unless one dialogue is longer."""
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1)
        yield offsets[first : last + 1]
        first = last
