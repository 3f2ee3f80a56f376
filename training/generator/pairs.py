"""A part of the corpus as token ids: every turn once, in one long row, of which histories and answers are stretches."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Ints

_AT_ONCE = 20_000
"""Turns that are tokenised at once."""


@dataclass(frozen=True)
class Pairs:
    """Answers with their histories. Every turn from the second on is an answer.

    Attributes:
        tokens: int32 [tokens of all turns], each turn framed: what stands before its words, the words, what ends it.
        bounds: int64 [turns + 1], where each turn begins in it.
        before: int16 [turns], tokens that stand before the words.
        turn_of: int32 [tokens], the turn of each token.
        places: int32 [turns], number of the turn in its dialogue, from 0.
        labels: int8 [turns], ids; 0 where no labels are read.
        words: int32 [turns], as blanks part them.
        first: int64 [pairs], the oldest turn of the history.
        answer: int64 [pairs], the turn that answers; the turns between are the history.
        max_tokens: of a history and of an answer.
        left_out: reason → pairs.
    """

    tokens: npt.NDArray[np.int32]
    bounds: Ints
    before: npt.NDArray[np.int16]
    turn_of: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int8]
    words: npt.NDArray[np.int32]
    first: Ints
    answer: Ints
    max_tokens: int
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.answer)

    @cached_property
    def begin(self) -> Ints:
        """[pairs], where the history begins in the tokens: at its oldest turn, or within a turn that is too long."""
        return np.maximum(self.bounds[self.first], self.bounds[self.answer] - self.max_tokens)

    @cached_property
    def history_tokens(self) -> Ints:
        """[pairs], tokens of each history."""
        return self.bounds[self.answer] - self.begin

    @cached_property
    def answer_tokens(self) -> Ints:
        """[pairs], tokens of each answer that are to be learned: its words and its end."""
        return self.bounds[self.answer + 1] - self.bounds[self.answer] - self.before[self.answer]

    def digest(self) -> str:
        """Return a digest of all of it."""
        found = sha256(str(self.max_tokens).encode())
        for each in (self.tokens, self.bounds, self.before, self.labels, self.first, self.answer):
            found.update(each.tobytes())
        return found.hexdigest()


def pairs_of(
    table: pa.Table,
    tokenizer: PreTrainedTokenizerBase,
    max_tokens: int,
    history_turns: int | None = None,
    drop: bool = False,
) -> Pairs:
    """Return the pairs of conversations.

    A history is cut to `max_tokens` by leaving out its oldest turns, and to `history_turns`; a newest turn that alone
    is longer keeps its end. An answer that is longer is left out.

    Args:
        table: CONVERSATIONS.
        tokenizer: of the model; its end token stands before and behind every turn.
        max_tokens: of a history, and of an answer.
        history_turns: of a history at most; None for any number.
        drop: leave out a pair whose history is longer, as the papers do.
    """
    texts, offsets = table["texts"].combine_chunks(), table["texts"].combine_chunks().offsets.to_numpy()
    offsets, flat = offsets - offsets[0], texts.flatten().to_pylist()
    labels = np.asarray(table["labels"].combine_chunks().flatten().fill_null(0).to_numpy(), np.int8)
    tokens, lengths = _tokenised(flat, tokenizer)
    before = np.ones(len(flat), np.int16)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    dialogue = np.repeat(np.arange(len(table)), np.diff(offsets))
    opening = offsets[:-1][dialogue]
    answer = np.flatnonzero(np.arange(len(flat)) > opening)
    oldest = opening[answer]
    if history_turns is not None:
        oldest = np.maximum(oldest, answer - history_turns)
    first = np.maximum(oldest, np.searchsorted(bounds, bounds[answer] - max_tokens))
    first = np.minimum(first, answer - 1)
    long_answer = lengths[answer] - before[answer] > max_tokens
    long_history = (bounds[answer] - bounds[oldest] > max_tokens) & ~long_answer & drop
    kept = ~long_answer & ~long_history
    return Pairs(
        tokens,
        bounds,
        before,
        np.repeat(np.arange(len(flat), dtype=np.int32), lengths),
        (np.arange(len(flat)) - opening).astype(np.int32),
        labels,
        np.array([len(text.split()) for text in flat], np.int32),
        first[kept].astype(np.int64),
        answer[kept].astype(np.int64),
        max_tokens,
        {"answer too long": int(long_answer.sum()), "history too long": int(long_history.sum())},
    )


def _tokenised(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the tokens of all turns, each between two end tokens, and how many each has with them."""
    parts, lengths = [], []
    end = tokenizer.eos_token_id
    for start in range(0, len(texts), _AT_ONCE):
        block = list(texts[start : start + _AT_ONCE])
        read = tokenizer(block, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        parts.append(np.array([each for ids in read for each in (end, *ids, end)], np.int32))
        lengths += [len(ids) + 2 for ids in read]
    joined = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    return joined, np.array(lengths, np.int64)
