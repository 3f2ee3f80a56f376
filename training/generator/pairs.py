"""A split of the corpus as token ids: every turn is stored once in one array, and histories and answers are slices of
it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.text import normalise
from training.generator.recipe import GeneratorRecipe

_AT_ONCE = 20_000
"""Number of turns tokenised at once."""


@dataclass(frozen=True)
class Pairs:
    """Answers with their histories. Every turn from the second on is an answer.

    Attributes:
        tokens: int32 [tokens of all turns]; each turn has a prefix, its words, and an end.
        bounds: int64 [turns + 1], where each turn begins in `tokens`.
        before: int16 [turns], number of prefix tokens.
        turn_of: int32 [tokens], the turn of each token.
        places: int32 [turns], index of the turn in its dialogue, from 0.
        labels: int8 [turns], label ids; 0 if no labels are read.
        words: int32 [turns], number of whitespace-separated words.
        first: int64 [pairs], the oldest turn of the history.
        answer: int64 [pairs], the answering turn; the turns from `first` to it are the history.
        max_tokens: maximum length of a history and of an answer.
        left_out: reason → number of pairs.
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
        """[pairs], where the history begins in `tokens`: at its oldest turn, or within a turn that is too long."""
        return np.maximum(self.bounds[self.first], self.bounds[self.answer] - self.max_tokens)

    @cached_property
    def history_tokens(self) -> Ints:
        """[pairs], tokens of each history."""
        return self.bounds[self.answer] - self.begin

    @cached_property
    def answer_tokens(self) -> Ints:
        """[pairs], number of tokens of each answer that are predicted: its words and its end."""
        return self.bounds[self.answer + 1] - self.bounds[self.answer] - self.before[self.answer]

    @cached_property
    def later_tokens(self) -> Ints:
        """[pairs], number of tokens of all turns behind the first one of each pair, without their prefixes."""
        total = np.concatenate([[0], np.cumsum(np.diff(self.bounds) - self.before)])
        later: Ints = total[self.answer + 1] - total[self.first + 1]
        return later

    def digest(self) -> str:
        """Return a digest of all data."""
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

    A history is cut to `max_tokens` and `history_turns` by dropping its oldest turns; if the newest turn alone is
    longer, its end is kept. Longer answers are left out.

    Args:
        table: CONVERSATIONS.
        tokenizer: the model's; its end token precedes and follows every turn.
        max_tokens: maximum length of a history, and of an answer.
        history_turns: maximum number of turns of a history; None for no limit.
        drop: leave out pairs with longer histories, as the papers do.
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


def without_overlap(pairs: Pairs, table: pa.Table, tested: pa.Table) -> Pairs:
    """Return training pairs without those whose last two turns also follow each other in a test dialogue.

    Args:
        pairs: of `table`.
        table: CONVERSATIONS of the training split.
        tested: CONVERSATIONS of the test split.
    """
    taken = {pair for texts in tested["texts"].to_pylist() for pair in pairwise(map(normalise, texts))}
    texts = [normalise(text) for text in table["texts"].combine_chunks().flatten().to_pylist()]
    fresh = np.array([(texts[answer - 1], texts[answer]) not in taken for answer in pairs.answer.tolist()], bool)
    left_out = pairs.left_out | {"also tested": int((~fresh).sum())}
    return replace(pairs, first=pairs.first[fresh], answer=pairs.answer[fresh], left_out=left_out)


def _tokenised(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the tokens of all turns, each between two end tokens, and the length of each with its end tokens."""
    parts, lengths = [], []
    end = tokenizer.eos_token_id
    for start in range(0, len(texts), _AT_ONCE):
        block = list(texts[start : start + _AT_ONCE])
        read = tokenizer(block, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        parts.append(np.array([each for ids in read for each in (end, *ids, end)], np.int32))
        lengths += [len(ids) + 2 for ids in read]
    joined = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    return joined, np.array(lengths, np.int64)


def updates_in_epoch(pairs: Pairs, recipe: GeneratorRecipe) -> int:
    """Return the number of updates in an epoch, by pairs or by tokens."""
    if recipe.batch:
        return max(1, round(len(pairs) / recipe.batch))
    tokens = int(pairs.history_tokens.sum() + pairs.answer_tokens.sum())
    return max(1, min(len(pairs), round(tokens / recipe.batch_tokens)))


def epoch(pairs: Pairs, recipe: GeneratorRecipe, number: int) -> Iterator[Ints]:
    """Yield the rows of every update of an epoch, in an order determined by the recipe's seed.

    The pairs are shuffled and divided into pools of several updates. In a pool they are sorted by length and cut into
    equal updates, by pairs or by tokens, and the updates are shuffled.
    """
    generator = np.random.default_rng([recipe.seed, number])
    history, answer = pairs.history_tokens, pairs.answer_tokens
    size = np.ones(len(pairs), np.int64) if recipe.batch else history + answer
    updates = updates_in_epoch(pairs, recipe)
    pools = max(1, round(updates / recipe.pool))
    shuffled = generator.permutation(len(pairs))
    counts = np.diff(np.linspace(0, updates, pools + 1).round().astype(int))
    for pool, count in zip(_cut(shuffled, size, counts), counts, strict=True):
        if recipe.pool > 1:
            pool = pool[by_lengths(history[pool], answer[pool], count)]
        parts = _cut(pool, size, np.ones(count))
        yield from (parts[place] for place in generator.permutation(len(parts)))


def _cut(rows: Ints, size: Ints, shares: np.ndarray) -> list[Ints]:
    """Cut rows into non-empty groups whose sizes are proportional to the shares."""
    ends = np.cumsum(size[rows])
    wanted = np.cumsum(shares)[:-1] / np.sum(shares) * ends[-1]
    cuts = np.searchsorted(ends, wanted, side="left") + 1
    lowest = np.arange(1, len(shares))
    cuts = np.maximum.accumulate(cuts - lowest) + lowest  # each group has a row
    return np.split(rows, np.minimum(cuts, len(rows) - len(shares) + lowest))


def by_lengths(first: Ints, second: Ints, groups: int) -> Ints:
    """Return an order in which neighbours have similar lengths of both kinds: sorted by the first and cut into strips,
    which are sorted by the second in alternating directions.
    """
    order = np.argsort(first, kind="stable")
    strips = np.array_split(order, max(1, round(groups**0.5)))
    ways = (strip[np.argsort(second[strip] * (-1) ** number, kind="stable")] for number, strip in enumerate(strips))
    return np.concatenate(list(ways))


def forward_passes(rows: Ints, pairs: Pairs, budget: int) -> list[Ints]:
    """Cut rows into batches of similar length, so that rows times (longest history + longest answer) is at most the
    budget. A longer pair is a batch of its own.
    """
    history, answer = pairs.history_tokens[rows], pairs.answer_tokens[rows]
    groups = int(np.ceil((history + answer).sum() / budget))
    batches: list[Ints] = []
    start = widest = longest = 0
    order = by_lengths(history, answer, groups)
    for place, row in enumerate(order.tolist()):
        widest, longest = max(widest, int(history[row])), max(longest, int(answer[row]))
        if place > start and (place + 1 - start) * (widest + longest) > budget:
            batches.append(rows[order[start:place]])
            start, widest, longest = place, int(history[row]), int(answer[row])
    return [*batches, rows[order[start:]]]
