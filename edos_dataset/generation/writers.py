"""Writers of answers: a response model of this package, or any transformers language model, decoder or
encoder-decoder, with its tokenizer.

A language model reads history and labels as text. A turn is a line, "A: I lost my job.", and the answer follows the
last line, "B:". Labels are words, "B (consoling):", or special tokens, "B<|consoling|>:", which a tokenizer must have
(`add_label_tokens`).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from edos_dataset.arrays import Floats
from edos_dataset.encoders.folders import read_json, usable
from edos_dataset.generation.config import ResponseConfig
from edos_dataset.generation.response_pipeline import batch_histories, encode_history, pad
from edos_dataset.generation.steps import check_guidance, checked_ids
from edos_dataset.labeling.models.saved_model import ModelError
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import write_text

Turns = Sequence[str]

LABELER = "general"
"""Name of the labeler whose labels a model was trained with, if its folder names none."""


class Writer(Protocol):
    """A model that answers.

    Attributes:
        model: the model, for `Steps`.
        tokenizer: its tokenizer.
        takes_labels: whether answers are conditioned on labels, and histories are read with labels.
        max_tokens: maximum number of tokens of an answer, the end included.
        never: tokens that no answer may contain.
        beams: number of beams of the search, if nobody gives another.
        labeler: name of the labeler whose labels the model was trained with.
        guidance: strength with which answers keep to their label (see `Guided`), if nobody gives another.
    """

    model: Any
    tokenizer: Any
    takes_labels: bool
    max_tokens: int
    never: list[int]
    beams: int
    labeler: str
    guidance: float

    def read(
        self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None, answers: Sequence[int | None]
    ) -> dict[str, torch.Tensor]:
        """Return the inputs of `Steps`.

        Args:
            histories: turns of each dialogue, oldest first.
            labels: their labels; None for a writer without labels.
            answers: label of each answer.
        """
        ...


class TransformerWriter:
    """A `ResponseModel` as a writer; for attributes see `Writer`. It searches with 32 beams (Xie & Pu, Appendix B)."""

    beams, labeler, guidance = 32, LABELER, 0.0

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        config: ResponseConfig = model.config
        self.model, self.tokenizer = model, tokenizer
        self.takes_labels = config.num_response_labels > 0
        self.max_tokens = config.max_tokens
        self.never = sorted({config.pad_token_id, config.bos_token_id, tokenizer.unk_token_id} - {None})

    def read(
        self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None, answers: Sequence[int | None]
    ) -> dict[str, torch.Tensor]:
        """Return the tensors for `Steps`; see `Writer`."""
        given = read_histories(self.tokenizer, histories, labels, self.model)
        if self.takes_labels:
            given["response_labels"] = torch.tensor([int(label or 0) for label in answers], device=self.model.device)
        return given


class LabelPredictor:
    """A `ResponsePredictor`, in evaluation mode, with its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        self.model, self.tokenizer = model, tokenizer

    @torch.inference_mode()
    def predict(self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None) -> Floats:
        """Return the probabilities of the answers' labels, float32 [histories, 41]."""
        given = read_histories(self.tokenizer, histories, labels, self.model)
        probabilities: Floats = self.model(**given).logits.float().softmax(1).cpu().numpy()
        return probabilities


def read_histories(
    tokenizer: Any,  # noqa: ANN401
    histories: Sequence[Turns],
    labels: Sequence[Sequence[int]] | None,
    model: Any,  # noqa: ANN401
) -> dict[str, torch.Tensor]:
    """Return the inputs of a response model of this package for histories, on its device; without labels if unknown."""
    known: Sequence[Sequence[int] | None] = [None] * len(histories) if labels is None else labels
    most = (model.config.max_tokens, model.config.history_turns)
    read = [encode_history(tokenizer, turns, own, *most) for turns, own in zip(histories, known, strict=True)]
    given = batch_histories(read, model.config.pad_token_id)
    if labels is None:
        del given["label_ids"]
    return {name: tensor.to(model.device) for name, tensor in given.items()}


FILE = "prompt.json"
"""Name of the file of a model's `PromptFormat`."""

STYLES = ("none", "words", "tokens")
SPEAKERS = ("A", "B")


@dataclass(frozen=True)
class PromptFormat:
    """The form of histories and labels in a prompt.

    Attributes:
        labels: "none", "words" or "tokens".
        turns: maximum number of turns of a history, the newest ones; None for all that fit.
        labeler: name of the labeler whose labels the model was trained with.
        guidance: strength with which its answers should keep to their label, 0 (none) to 10.

    Raises:
        ValueError: `labels` has another value, `turns` is below 1, `labeler` is no name, or `guidance` is out of range.
    """

    labels: str = "none"
    turns: int | None = None
    labeler: str = LABELER
    guidance: float = 0.0

    def __post_init__(self) -> None:
        """Check the attributes."""
        if self.labels not in STYLES:
            raise ValueError(f"labels is one of {', '.join(STYLES)}, got {self.labels!r}")
        if self.turns is not None and (
            isinstance(self.turns, bool) or not isinstance(self.turns, int) or self.turns < 1
        ):
            raise ValueError(f"turns is a whole number from 1, or null for all, got {self.turns!r}")
        if not isinstance(self.labeler, str) or not self.labeler:
            raise ValueError(f"labeler is the name of a labeler, got {self.labeler!r}")
        check_guidance(self.guidance)

    @classmethod
    def load(cls, folder: Path) -> "PromptFormat":
        """Return the format that a model was trained with, or the default if its folder states none.

        Raises:
            ValueError: the file is damaged.
        """
        if not (folder / FILE).is_file():
            return cls()
        with usable(folder / FILE):
            return cls(**read_json(folder / FILE))

    def save(self, folder: Path) -> None:
        """Write the format into a model's folder."""
        write_text(folder / FILE, json.dumps(asdict(self)) + "\n")

    def lines(self, turns: Sequence[str], labels: Sequence[int] | None = None, answer: int | None = None) -> list[str]:
        """Return the lines of a history, oldest first, and the beginning of the answer's line.

        Args:
            turns: turns of the history, oldest first.
            labels: ids of the turns' labels, if known; left out if the style has none.
            answer: id of the answer's label, if known; left out if the style has none.
        """
        count = len(turns) if self.turns is None else min(self.turns, len(turns))
        known: Sequence[int | None] = [None] * len(turns) if labels is None else labels
        # The answer is always B's, so the newest turn is always A's.
        lines = [f"{self.opening(age, known[-age])} {' '.join(turns[-age].split())}\n" for age in range(count, 0, -1)]
        return [*lines, self.opening(0, answer)]

    def opening(self, age: int, label: int | None) -> str:
        """Return the beginning of a turn's line: its speaker and, if the style has them, its label.

        Args:
            age: number of turns from this one to the answer, 0 for the answer itself.
            label: id of the turn's label, if known.
        """
        return f"{SPEAKERS[(age - 1) % 2]}{self._marked(label)}:"

    def _marked(self, label: int | None) -> str:
        if label is None or self.labels == "none":
            return ""
        return f" ({LABELS[label]})" if self.labels == "words" else label_token(label)


def label_token(label: int) -> str:
    """Return the special token of a label."""
    return f"<|{LABELS[label]}|>"


def add_label_tokens(model: Any, tokenizer: Any) -> int:  # noqa: ANN401
    """Add the 41 special tokens to a tokenizer, and rows for them to a model; return how many were new."""
    tokens = [label_token(label) for label in range(len(LABELS))]
    added = int(tokenizer.add_special_tokens({"additional_special_tokens": tokens}))
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer))
    return added


def encode_prompt(tokenizer: Any, lines: Sequence[str], max_tokens: int) -> list[int]:  # noqa: ANN401
    """Return the token ids of a prompt.

    A prompt that is too long loses its oldest lines, then the first tokens of the newest turn.

    Args:
        tokenizer: any of transformers; its special tokens before and after a text are kept.
        lines: as `PromptFormat.lines` returns them.
        max_tokens: maximum number of tokens of the result.
    """
    for first in range(len(lines)):
        ids: list[int] = tokenizer("".join(lines[first:]))["input_ids"]
        if len(ids) <= max_tokens or first >= len(lines) - 2:
            break
    return ids[-max_tokens:]


_ANSWER = 100  # positions of a decoder that are reserved for the answer


class PromptWriter:
    """A language model as a writer; for attributes see `Writer`. An answer is one line: a line break ends it too. Its
    search has few beams: each is a row of a large model, and the most probable answers of language models are bland.

    Args:
        model: the model, in evaluation mode.
        tokenizer: its tokenizer.
        form: form of histories and labels in prompts.
    """

    beams = 4

    def __init__(self, model: Any, tokenizer: Any, form: PromptFormat) -> None:  # noqa: ANN401
        self.model, self.tokenizer, self.form = model, tokenizer, form
        self.takes_labels = form.labels != "none"
        self.labeler, self.guidance = form.labeler, form.guidance if self.takes_labels else 0.0
        self.max_tokens = _ANSWER
        config = model.config
        self._causal = not config.is_encoder_decoder
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 1_024
        self._most = min(int(positions), 1_024) - (_ANSWER if self._causal else 0)
        if self._most < 1:
            raise ModelError(
                f"{config.name_or_path} reads at most {positions} tokens, and {_ANSWER} are reserved for answers"
            )
        ends = model.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        found = set(() if ends is None else checked_ids("eos_token_id", ends, model))
        line = tokenizer("\n", add_special_tokens=False)["input_ids"]
        if len(line) == 1:
            found.add(line[0])
        model.generation_config.eos_token_id = sorted(found)
        self._padding = next(
            each
            for each in (tokenizer.pad_token_id, config.pad_token_id, tokenizer.eos_token_id, 0)
            if each is not None
        )
        barred = {self._padding, tokenizer.bos_token_id, tokenizer.unk_token_id, *_label_ids(tokenizer)}
        self.never = sorted(barred - {*found, None})

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
        if self._causal:  # the answer follows its history directly, so padding is at the left
            ids, mask = pad([row[::-1] for row in rows], self._padding).flip(1), pad(masks, 0).flip(1)
        else:
            ids, mask = pad(rows, self._padding), pad(masks, 0)
        return {"input_ids": ids.to(self.model.device), "attention_mask": mask.to(self.model.device)}


def _label_ids(tokenizer: Any) -> set[int]:  # noqa: ANN401
    # the labels' special tokens are for prompts, not for answers
    return {number for token, number in tokenizer.get_added_vocab().items() if token.startswith("<|")}
