"""What writes answers: a model with its tokenizer, and how it is told the history and the label of the answer."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from edos_dataset.arrays import Floats
from edos_dataset.generation.config import ResponseConfig
from edos_dataset.generation.inputs import batch_histories, encode_history

Turns = Sequence[str]


class Writer(Protocol):
    """A model that answers.

    Attributes:
        model: what `Steps` asks.
        tokenizer: that of the model.
        takes_labels: whether an answer is conditioned on a label, and histories are read with labels.
        max_tokens: most tokens of an answer, the end included.
        never: tokens that no answer may have.
    """

    model: Any
    tokenizer: Any
    takes_labels: bool
    max_tokens: int
    never: list[int]

    def read(
        self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None, answers: Sequence[int | None]
    ) -> dict[str, torch.Tensor]:
        """Return what `Steps` is given.

        Args:
            histories: the turns of each dialogue, oldest first.
            labels: their labels; None for a writer that takes none.
            answers: the label of each answer.
        """
        ...


class TransformerWriter:
    """A `ResponseModel` as a writer; attributes as those of `Writer`."""

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        """Take a model in evaluation mode and the tokenizer that it learned with."""
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
    """A `ResponsePredictor` with the tokenizer of its histories."""

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        """Take a predictor in evaluation mode and the tokenizer that it learned with."""
        self.model, self.tokenizer = model, tokenizer

    @torch.inference_mode()
    def predict(self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None) -> Floats:
        """Return the probabilities of the answers' labels, float32 [histories, 41]; columns are label ids."""
        given = read_histories(self.tokenizer, histories, labels, self.model)
        probabilities: Floats = self.model(**given).logits.float().softmax(1).cpu().numpy()
        return probabilities


def read_histories(
    tokenizer: Any,  # noqa: ANN401
    histories: Sequence[Turns],
    labels: Sequence[Sequence[int]] | None,
    model: Any,  # noqa: ANN401
) -> dict[str, torch.Tensor]:
    """Return the tensors of histories for a model of ours, on its device; labels are left out where none are known."""
    known: Sequence[Sequence[int] | None] = [None] * len(histories) if labels is None else labels
    most = (model.config.max_tokens, model.config.history_turns)
    read = [encode_history(tokenizer, turns, own, *most) for turns, own in zip(histories, known, strict=True)]
    given = batch_histories(read, model.config.pad_token_id)
    if labels is None:
        del given["label_ids"]
    return {name: tensor.to(model.device) for name, tensor in given.items()}
