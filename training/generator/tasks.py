"""What a kind of model reads of pairs, and what it loses by them."""

from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.generation.config import IGNORED
from edos_dataset.generation.prompts import PromptFormat
from training.generator.pairs import Pairs, pairs_of
from training.generator.recipe import GeneratorRecipe

Batch = dict[str, torch.Tensor]


class Task(Protocol):
    """What a model of a kind learns."""

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return the pairs of conversations (CONVERSATIONS)."""
        ...

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return what the model is given, and `targets`."""
        ...

    def targets(self, pairs: Pairs) -> Ints:
        """Return how many targets each pair has."""
        ...

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the summed cross-entropy (nats) of the targets of each pair, [rows], and how many of them the model
        finds most probable, [rows].
        """
        ...


class Learner(NamedTuple):
    """What is trained.

    Attributes:
        model: with its first weights.
        tokenizer: its own.
        task: what it learns.
        form: how a model of others is told histories; None for ours.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    task: Task
    form: PromptFormat | None = None


class OwnTask:
    """What models of ours read: turns between an end token each, as RoBERTa joins texts.

    Args:
        tokenizer: of the model.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.start, self.end, self.padding = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return the pairs of conversations."""
        drop = recipe.long_pairs == "drop"
        return pairs_of(table, self.tokenizer, recipe.max_tokens, recipe.history_turns, drop)


class AnswerTask(OwnTask):
    """Encoder and decoder of ours: the answer, token by token.

    Args:
        tokenizer: of the model.
        conditioned: whether it reads labels and speakers.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, conditioned: bool) -> None:
        super().__init__(tokenizer)
        self.conditioned = conditioned

    def targets(self, pairs: Pairs) -> Ints:
        """Return the tokens of the answers."""
        return pairs.answer_tokens

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return histories and answers, padded at the right."""
        found, places, there = histories(pairs, rows, self.start, self.padding)
        answer = pairs.answer[rows]
        begin = pairs.bounds[answer] + pairs.before[answer]
        lengths = pairs.answer_tokens[rows]
        said, there_too = stretches(begin, lengths, len(pairs.tokens))
        targets = np.where(there_too, pairs.tokens[said], IGNORED)
        shifted = np.where(there_too, pairs.tokens[said - 1], self.padding)
        shifted[:, 0] = self.start
        found |= {"decoder_input_ids": as_ids(shifted), "targets": as_ids(targets)}
        if self.conditioned:
            found |= speakers(pairs, places, there)
            found["response_labels"] = as_ids(pairs.labels[answer])
            found["response_segments"] = as_ids(pairs.places[answer] % 2)
        return found

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the next tokens cost."""
        targets = batch["targets"]
        logits = model(**{name: value for name, value in batch.items() if name != "targets"}, use_cache=False).logits
        return token_losses(logits, targets, smoothing)


class LabelTask(OwnTask):
    """The predictor: the label of the answer, from the history alone."""

    def targets(self, pairs: Pairs) -> Ints:
        """Return 1 for each pair."""
        return np.ones(len(pairs), np.int64)

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return histories with labels and speakers."""
        found, places, there = histories(pairs, rows, self.start, self.padding)
        return found | speakers(pairs, places, there) | {"targets": as_ids(pairs.labels[pairs.answer[rows]])}

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the labels cost."""
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        logits = model(**inputs).logits.float()
        nats = cross_entropy(logits, batch["targets"], label_smoothing=smoothing, reduction="none")
        return nats, (logits.argmax(1) == batch["targets"]).long()


def among_strangers(batch: Batch) -> Batch:
    """Return a batch of a model of ours in which every answer, or label of one, stands behind the history of the next
    pair.
    """
    history = ("input_ids", "attention_mask", "segment_ids", "label_ids")
    return {name: value.roll(1, 0) if name in history else value for name, value in batch.items()}


def token_losses(logits: torch.Tensor, targets: torch.Tensor, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the summed cross-entropy of each row's targets, [rows], and how many of them are the most probable token.

    Args:
        logits: [rows, tokens, vocabulary].
        targets: [rows, tokens]; `IGNORED` is none.
        smoothing: share of a target's probability that is spread over all tokens.
    """
    there = targets != IGNORED
    chosen = logits[there].float()  # padding costs no softmax
    nats = cross_entropy(chosen, targets[there], label_smoothing=smoothing, reduction="none")
    right = (chosen.detach().argmax(1) == targets[there]).long()
    rows = there.nonzero()[:, 0]
    return (
        nats.new_zeros(len(targets)).index_add(0, rows, nats),
        right.new_zeros(len(targets)).index_add(0, rows, right),
    )


def histories(pairs: Pairs, rows: Ints, start: int, padding: int) -> tuple[Batch, Ints, np.ndarray]:
    """Return ids and mask of the histories of pairs, where their tokens stand, and where there are any: [rows,
    longest].
    """
    places, there = stretches(pairs.begin[rows], pairs.history_tokens[rows], len(pairs.tokens))
    ids = np.where(there, pairs.tokens[places], padding)
    ids[:, 0] = start
    return {"input_ids": as_ids(ids), "attention_mask": as_ids(there)}, places, there


def speakers(pairs: Pairs, places: Ints, there: np.ndarray) -> Batch:
    """Return whose turn, and of which label, each token of histories is; 0 where there is none."""
    turns = pairs.turn_of[places]
    segments, labels = (np.where(there, values[turns], 0) for values in (pairs.places % 2, pairs.labels))
    return {"segment_ids": as_ids(segments), "label_ids": as_ids(labels)}


def stretches(begin: Ints, lengths: Ints, size: int) -> tuple[Ints, np.ndarray]:
    """Return the places of stretches of a long row, [n, longest], and a mask of those that belong to them."""
    steps = np.arange(lengths.max())
    return np.minimum(begin[:, None] + steps, size - 1), steps < lengths[:, None]


def as_ids(values: np.ndarray) -> torch.Tensor:
    """Return whole numbers as an int64 tensor."""
    return torch.from_numpy(np.ascontiguousarray(values, np.int64))
