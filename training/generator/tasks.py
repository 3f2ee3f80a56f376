"""The input and the loss of each kind of model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.generation.config import IGNORED
from edos_dataset.generation.writers import PromptFormat, PromptWriter, encode_prompt
from training.generator.pairs import Pairs, pairs_of
from training.generator.recipe import GeneratorRecipe

Batch = dict[str, torch.Tensor]


class Task(Protocol):
    """What a kind of model learns."""

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return the pairs of conversations (CONVERSATIONS)."""
        ...

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return the model's inputs, and `targets`."""
        ...

    def targets(self, pairs: Pairs) -> Ints:
        """Return the number of targets of each pair."""
        ...

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the summed cross-entropy (nats) of the targets of each pair, [rows], and how many of them are the
        model's most probable prediction, [rows].
        """
        ...


class Learner(NamedTuple):
    """A model to train, with its tokenizer and task.

    Attributes:
        model: the model with its initial weights.
        tokenizer: the model's.
        task: what it learns.
        form: the prompt format of a third-party model; None for ours.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    task: Task
    form: PromptFormat | None = None


class OwnTask:
    """The input of our models: turns with an end token before and after each, as RoBERTa joins texts.

    Args:
        tokenizer: the model's.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.start, self.end, self.padding = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return the pairs of conversations."""
        drop = recipe.long_pairs == "drop"
        return pairs_of(table, self.tokenizer, recipe.max_tokens, recipe.history_turns, drop)


class AnswerTask(OwnTask):
    """Our encoder-decoder models: predict the answer token by token.

    Args:
        tokenizer: the model's.
        conditioned: whether the model reads labels and speakers.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, conditioned: bool) -> None:
        super().__init__(tokenizer)
        self.conditioned = conditioned

    def targets(self, pairs: Pairs) -> Ints:
        """Return the number of answer tokens."""
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
        """Return the cost of the next tokens."""
        targets = batch["targets"]
        logits = model(**{name: value for name, value in batch.items() if name != "targets"}, use_cache=False).logits
        return token_losses(logits, targets, smoothing)


class LabelTask(OwnTask):
    """The predictor: predicts the label of the answer from the history alone."""

    def targets(self, pairs: Pairs) -> Ints:
        """Return 1 for each pair."""
        return np.ones(len(pairs), np.int64)

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return histories with labels and speakers."""
        found, places, there = histories(pairs, rows, self.start, self.padding)
        return found | speakers(pairs, places, there) | {"targets": as_ids(pairs.labels[pairs.answer[rows]])}

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cost of the labels."""
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        logits = model(**inputs).logits.float()
        nats = cross_entropy(logits, batch["targets"], label_smoothing=smoothing, reduction="none")
        return nats, (logits.argmax(1) == batch["targets"]).long()


def among_strangers(batch: Batch) -> Batch:
    """Return a batch of one of our models in which every answer, or its label, follows the history of the next pair."""
    history = ("input_ids", "attention_mask", "segment_ids", "label_ids")
    return {name: value.roll(1, 0) if name in history else value for name, value in batch.items()}


def token_losses(logits: torch.Tensor, targets: torch.Tensor, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the summed cross-entropy of each row's targets, [rows], and how many of them are the most probable token.

    Args:
        logits: [rows, tokens, vocabulary].
        targets: [rows, tokens]; `IGNORED` marks tokens without a target.
        smoothing: fraction of a target's probability that is spread over all tokens.
    """
    there = targets != IGNORED
    chosen = logits[there].float()  # no softmax over padding
    nats = cross_entropy(chosen, targets[there], label_smoothing=smoothing, reduction="none")
    right = (chosen.detach().argmax(1) == targets[there]).long()
    rows = there.nonzero()[:, 0]
    return (
        nats.new_zeros(len(targets)).index_add(0, rows, nats),
        right.new_zeros(len(targets)).index_add(0, rows, right),
    )


def histories(pairs: Pairs, rows: Ints, start: int, padding: int) -> tuple[Batch, Ints, np.ndarray]:
    """Return ids and mask of the histories of pairs, the positions of their tokens in `pairs.tokens`, and a mask of
    valid positions: [rows, longest].
    """
    places, there = stretches(pairs.begin[rows], pairs.history_tokens[rows], len(pairs.tokens))
    ids = np.where(there, pairs.tokens[places], padding)
    ids[:, 0] = start
    return {"input_ids": as_ids(ids), "attention_mask": as_ids(there)}, places, there


def speakers(pairs: Pairs, places: Ints, there: np.ndarray) -> Batch:
    """Return the speaker and the label of each token's turn in histories; 0 at padding."""
    turns = pairs.turn_of[places]
    segments, labels = (np.where(there, values[turns], 0) for values in (pairs.places % 2, pairs.labels))
    return {"segment_ids": as_ids(segments), "label_ids": as_ids(labels)}


def stretches(begin: Ints, lengths: Ints, size: int) -> tuple[Ints, np.ndarray]:
    """Return the positions of slices of a long array, [n, longest], and a mask of the valid ones."""
    steps = np.arange(lengths.max())
    return np.minimum(begin[:, None] + steps, size - 1), steps < lengths[:, None]


def as_ids(values: np.ndarray) -> torch.Tensor:
    """Return integers as an int64 tensor."""
    return torch.from_numpy(np.ascontiguousarray(values, np.int64))


_SEED = 0x0D15


def prompt_pairs(table: pa.Table, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, max_tokens: int) -> Pairs:
    """Return the pairs of conversations, each stored as a prompt of at most `max_tokens` and an answer with its end, of
    at most as many. Longer answers are left out.
    """
    rows: list[list[int]] = []
    labels, words, places = [], [], []
    left_out = 0
    for texts, known in zip(table["texts"].to_pylist(), table["labels"].to_pylist(), strict=True):
        given = None if form.labels == "none" else known
        said = tokenizer([f" {' '.join(text.split())}" for text in texts], add_special_tokens=False)["input_ids"]
        for turn in range(1, len(texts)):
            answer = [*said[turn], tokenizer.eos_token_id]
            if len(answer) > max_tokens:
                left_out += 1
                continue
            lines = form.lines(texts[:turn], given and given[:turn], given and given[turn])
            rows += [encode_prompt(tokenizer, lines, max_tokens), answer]
            labels += [0, known[turn] or 0]
            words += [0, len(texts[turn].split())]
            places += [turn - 1, turn]
    first = range(0, len(rows), 2)
    columns = {"before": [0] * len(rows), "places": places, "labels": labels, "words": words}
    return _packed(rows, columns | {"first": first, "answer": [row + 1 for row in first]}, max_tokens, left_out)


_TYPES = {
    **{"before": np.int16, "places": np.int32, "labels": np.int8, "words": np.int32},
    **{"first": np.int64, "answer": np.int64},
}


def _packed(turns: Sequence[list[int]], columns: Mapping[str, Sequence[int]], max_tokens: int, too_long: int) -> Pairs:
    """Return `Pairs` of the tokens of their turns and the columns in _TYPES; `too_long` answers were left out."""
    lengths = np.array([len(turn) for turn in turns], np.int64)
    arrays: dict[str, Any] = {name: np.array(columns[name], kind) for name, kind in _TYPES.items()}
    return Pairs(
        tokens=np.array([each for turn in turns for each in turn], np.int32),
        bounds=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        turn_of=np.repeat(np.arange(len(turns), dtype=np.int32), lengths),
        max_tokens=max_tokens,
        left_out={"answer too long": too_long, "history too long": 0},
        **arrays,
    )


def dialogue_pairs(table: pa.Table, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, max_tokens: int) -> Pairs:
    """Return whole conversations, each as one pair of its earlier turns and its last one, with the lines' beginnings as
    prefixes of the turns. A conversation of more than `max_tokens` loses its last turns.
    """
    turns: list[list[int]] = []
    before, labels, words, first, answer = [], [], [], [], []
    places: list[int] = []
    left_out = 0
    for texts, known in zip(table["texts"].to_pylist(), table["labels"].to_pylist(), strict=True):
        starts, said = _lines(texts, known, tokenizer, form)
        sizes = np.cumsum([len(start) + len(text) for start, text in zip(starts, said, strict=True)])
        count = int(np.searchsorted(sizes, max_tokens, side="right"))
        left_out += len(texts) - max(count, 1)
        if count < 2:
            continue
        first.append(len(turns))
        answer.append(len(turns) + count - 1)
        turns += [[*start, *text] for start, text in zip(starts[:count], said[:count], strict=True)]
        before += [len(start) for start in starts[:count]]
        labels += [label or 0 for label in known[:count]]
        words += [0] * (count - 1) + [sum(len(text.split()) for text in texts[1:count])]
        places += range(count)
    columns = {"before": before, "places": places, "labels": labels, "words": words, "first": first, "answer": answer}
    return _packed(turns, columns, max_tokens, left_out)


def _lines(
    texts: Sequence[str], labels: Sequence[int | None], tokenizer: PreTrainedTokenizerBase, form: PromptFormat
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the tokens of the lines of a conversation: their beginnings, and what is said, with a line break."""
    openings = [form.opening(len(texts) - 1 - place, label) for place, label in enumerate(labels)]
    starts = [
        tokenizer(openings[0])["input_ids"],  # with the token that begins a text, if there is one
        *tokenizer(openings[1:], add_special_tokens=False)["input_ids"],
    ]
    return starts, tokenizer([f" {' '.join(text.split())}\n" for text in texts], add_special_tokens=False)["input_ids"]


class PromptTask:
    """The task of third-party models: predict the answer token by token.

    Args:
        tokenizer: the model's.
        form: the format of histories and labels.
        padding: id of the padding token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, padding: int) -> None:
        self.tokenizer, self.form, self.padding = tokenizer, form, padding

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return prompts and answers."""
        return prompt_pairs(table, self.tokenizer, self.form, recipe.max_tokens)

    def targets(self, pairs: Pairs) -> Ints:
        """Return the tokens of the answers."""
        return pairs.answer_tokens


class CausalTask(PromptTask):
    """Decoder-only models: prompt and answer are one sequence."""

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return the rows, padded at the right; the targets are all turns behind the first, without their prefixes."""
        begin = pairs.bounds[pairs.first[rows]]
        places, there = stretches(begin, pairs.bounds[pairs.answer[rows] + 1] - begin, len(pairs.tokens))
        tokens, turns = pairs.tokens[places], pairs.turn_of[places]
        answers = (turns > pairs.first[rows][:, None]) & (places - pairs.bounds[turns] >= pairs.before[turns])
        ids, targets = np.where(there, tokens, self.padding), np.where(there & answers, tokens, IGNORED)
        return {"input_ids": as_ids(ids), "attention_mask": as_ids(there), "targets": as_ids(targets)}

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cost of the next tokens."""
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False).logits
        return token_losses(logits[:, :-1], batch["targets"][:, 1:], smoothing)


class WholeTask(CausalTask):
    """Decoder-only models: a conversation is one sequence, in which every turn but the first is an answer, so that it
    is read once for all of them. A line break ends an answer, as for `PromptWriter`.
    """

    def pairs(self, table: pa.Table, recipe: GeneratorRecipe) -> Pairs:
        """Return whole conversations."""
        return dialogue_pairs(table, self.tokenizer, self.form, recipe.max_tokens)

    def targets(self, pairs: Pairs) -> Ints:
        """Return the tokens of all answers of each conversation."""
        return pairs.later_tokens


class Seq2SeqTask(PromptTask):
    """Encoder-decoder models: the encoder reads the prompt, the decoder answers.

    Args:
        tokenizer: the model's.
        form: the format of histories and labels.
        padding: id of the padding token.
        start: id of the token that begins an answer.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, padding: int, start: int) -> None:
        super().__init__(tokenizer, form, padding)
        self.start = start

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return prompts and answers, padded at the right."""
        places, there = stretches(pairs.begin[rows], pairs.history_tokens[rows], len(pairs.tokens))
        said, answered = stretches(pairs.bounds[pairs.answer[rows]], pairs.answer_tokens[rows], len(pairs.tokens))
        shifted = np.where(answered, pairs.tokens[said - 1], self.padding)
        shifted[:, 0] = self.start
        return {
            "input_ids": as_ids(np.where(there, pairs.tokens[places], self.padding)),
            "attention_mask": as_ids(there),
            "decoder_input_ids": as_ids(shifted),
            "targets": as_ids(np.where(answered, pairs.tokens[said], IGNORED)),
        }

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cost of the next tokens."""
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        return token_losses(model(**inputs, use_cache=False).logits, batch["targets"], smoothing)


class TwoHeadsTask(CausalTask):
    """GPT-2 with two heads: predicts the answer, and which of two answers is the true one. The other is that of a
    random pair, drawn once.

    In training the loss of a pair is the weighted sum of both; evaluation measures only the answer.

    Args:
        tokenizer: the model's.
        form: the format of histories.
        padding: id of the padding token.
        weights: weights of the two losses.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, padding: int, weights: tuple[float, float]
    ) -> None:
        super().__init__(tokenizer, form, padding)
        self.language, self.choice = weights
        self._drawn = np.zeros(0, np.int64)

    def _others(self, count: int) -> Ints:
        if len(self._drawn) != count:
            shifts = np.random.default_rng(_SEED).integers(1, max(2, count), count)
            self._drawn = (np.arange(count) + shifts) % count
        return self._drawn

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return each row twice, [rows, 2, longest]: with the answer of another pair, then with its own."""
        own = super().batch(pairs, rows)
        prompts = pairs.history_tokens[rows]
        false = pairs.answer[self._others(len(pairs))[rows]]
        lengths = (
            np.stack([pairs.bounds[false + 1] - pairs.bounds[false], pairs.answer_tokens[rows]], 1) + prompts[:, None]
        )
        shape = (len(rows), 2, int(lengths.max()))
        ids = np.full(shape, self.padding)
        ids[:, 1, : own["input_ids"].shape[1]] = own["input_ids"].numpy()
        for row, (prompt, turn) in enumerate(zip(prompts.tolist(), false.tolist(), strict=True)):
            ids[row, 0, :prompt] = ids[row, 1, :prompt]
            ids[row, 0, prompt : lengths[row, 0]] = pairs.tokens[pairs.bounds[turn] : pairs.bounds[turn + 1]]
        return {
            "input_ids": as_ids(ids),
            "attention_mask": as_ids(np.arange(shape[2]) < lengths[:, :, None]),
            "mc_token_ids": as_ids(lengths - 1),
            "targets": own["targets"],
        }

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cost of the next tokens, plus that of the choice in training; and how many tokens are the most
        probable.
        """
        found: Any = model(**{name: value for name, value in batch.items() if name != "targets"}, use_cache=False)
        targets = batch["targets"][:, 1:]
        nats, right = token_losses(found.logits[:, 1, : targets.shape[1]], targets, smoothing)
        if not model.training:
            return nats, right
        true = torch.ones(len(nats), dtype=torch.long, device=nats.device)
        choice = cross_entropy(found.mc_logits.float(), true, reduction="none")
        # Multiplied by the pair's number of targets, since the caller averages over targets.
        return self.language * nats + self.choice * choice * (targets != IGNORED).sum(1), right


def padding_of(tokenizer: PreTrainedTokenizerBase, config: Any) -> int:  # noqa: ANN401 - of any model
    """Return the id of the token that pads: the tokenizer's, the model's, or the one that ends a text."""
    ids = (tokenizer.pad_token_id, config.pad_token_id, tokenizer.eos_token_id)
    found: int = next(each for each in ids if each is not None)
    return found


def task_of(writer: Any, whole: bool = False) -> Task:  # noqa: ANN401 - a writer of any kind
    """Return the task by which a writer is measured: the answers to histories, or, for decoders, those in whole
    conversations (`whole`), where a line break ends an answer.
    """
    if not isinstance(writer, PromptWriter):
        return AnswerTask(writer.tokenizer, writer.takes_labels)
    config = writer.model.config
    padding = padding_of(writer.tokenizer, config)
    if config.is_encoder_decoder:
        return Seq2SeqTask(writer.tokenizer, writer.form, padding, config.decoder_start_token_id)
    return (WholeTask if whole else CausalTask)(writer.tokenizer, writer.form, padding)
