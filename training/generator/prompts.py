"""Pairs for models of others: history and labels as the text of `edos_dataset.generation.prompts`, and what such models
learn of them.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.generation.config import IGNORED
from edos_dataset.generation.prompts import PromptFormat, encode_prompt
from training.generator.pairs import Pairs
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import Batch, as_ids, stretches, token_losses

_SEED = 0x0D15


def prompt_pairs(table: pa.Table, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, max_tokens: int) -> Pairs:
    """Return the pairs of conversations, each as two stretches of its own: a prompt of at most `max_tokens`, and the
    answer with its end, of at most as many; a longer answer is left out.
    """
    rows: list[list[int]] = []
    labels, words, places = [], [], []
    left_out = 0
    columns = zip(table["texts"].to_pylist(), table["labels"].to_pylist(), strict=True)
    for texts, known in columns:
        told = None if form.labels == "none" else known
        said = tokenizer([f" {' '.join(text.split())}" for text in texts], add_special_tokens=False)["input_ids"]
        for turn in range(1, len(texts)):
            answer = [*said[turn], tokenizer.eos_token_id]
            if len(answer) > max_tokens:
                left_out += 1
                continue
            lines = form.lines(texts[:turn], told and told[:turn], told and told[turn])
            rows += [encode_prompt(tokenizer, lines, max_tokens), answer]
            labels += [0, known[turn] or 0]
            words += [0, len(texts[turn].split())]
            places += [turn - 1, turn]
    lengths = np.array([len(row) for row in rows], np.int64)
    count = np.arange(0, len(rows), 2)
    return Pairs(
        tokens=np.array([each for row in rows for each in row], np.int32),
        bounds=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        before=np.zeros(len(rows), np.int16),
        turn_of=np.repeat(np.arange(len(rows), dtype=np.int32), lengths),
        places=np.array(places, np.int32),
        labels=np.array(labels, np.int8),
        words=np.array(words, np.int32),
        first=count,
        answer=count + 1,
        max_tokens=max_tokens,
        left_out={"answer too long": left_out, "history too long": 0},
    )


class PromptTask:
    """What a model of others learns: the answer, token by token.

    Args:
        tokenizer: of the model.
        form: how it is told histories and labels.
        padding: id that fills up shorter rows.
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
    """A decoder alone: prompt and answer are one row."""

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return the rows, padded at the right."""
        lengths = pairs.history_tokens[rows] + pairs.answer_tokens[rows]
        places, there = stretches(pairs.begin[rows], lengths, len(pairs.tokens))
        tokens = pairs.tokens[places]
        said = there & (np.arange(there.shape[1]) >= pairs.history_tokens[rows][:, None])
        ids, targets = np.where(there, tokens, self.padding), np.where(said, tokens, IGNORED)
        return {"input_ids": as_ids(ids), "attention_mask": as_ids(there), "targets": as_ids(targets)}

    def losses(self, model: torch.nn.Module, batch: Batch, smoothing: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the next tokens cost."""
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False).logits
        return token_losses(logits[:, :-1], batch["targets"][:, 1:], smoothing)


class Seq2SeqTask(PromptTask):
    """An encoder that reads the prompt, a decoder that answers.

    Args:
        tokenizer: of the model.
        form: how it is told histories and labels.
        padding: id that fills up shorter rows.
        start: id that begins an answer.
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
        """Return what the next tokens cost."""
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        return token_losses(model(**inputs, use_cache=False).logits, batch["targets"], smoothing)


class TwoHeadsTask(CausalTask):
    """GPT-2 with two heads: the answer, and which of two answers is the true one; the other is one of another pair,
    drawn once.

    In training the loss of a pair is the weighted sum of both; what is measured is the answer alone.

    Args:
        tokenizer: of the model.
        form: how it is told histories.
        padding: id that fills up shorter rows.
        weights: of the two losses.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, padding: int, weights: tuple[float, float]
    ) -> None:
        super().__init__(tokenizer, form, padding)
        self.language, self.choice = weights
        self._drawn = np.zeros(0, np.int64)

    def _others(self, count: int) -> Ints:
        """Return for each of so many pairs the number of another one."""
        if len(self._drawn) != count:
            shifts = np.random.default_rng(_SEED).integers(1, max(2, count), count)
            self._drawn = (np.arange(count) + shifts) % count
        return self._drawn

    def batch(self, pairs: Pairs, rows: Ints) -> Batch:
        """Return each row twice, [rows, 2, longest]: with an answer of another pair, then with its own."""
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
        """Return what the next tokens cost, in training with the choice; and how many tokens are the most probable."""
        found: Any = model(**{name: value for name, value in batch.items() if name != "targets"}, use_cache=False)
        targets = batch["targets"][:, 1:]
        nats, right = token_losses(found.logits[:, 1, : targets.shape[1]], targets, smoothing)
        if not model.training:
            return nats, right
        true = torch.ones(len(nats), dtype=torch.long, device=nats.device)
        choice = cross_entropy(found.mc_logits.float(), true, reduction="none")
        # As many times as the pair has targets, for the mean over them is taken later.
        return self.language * nats + self.choice * choice * (targets != IGNORED).sum(1), right
