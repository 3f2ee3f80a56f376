"""How a text classifier of others reads a turn with its history: as a pair of texts, or as one text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_PROBE = "a"


class Pair(NamedTuple):
    """The tokens that a model reads for a turn, and how many of them belong to the first text."""

    ids: tuple[int, ...]
    first: int


@dataclass(frozen=True)
class PairForm:
    """Where a tokenizer puts its special tokens.

    Attributes:
        alone: numbers of special tokens before and after a single text.
        start: tokens before the history.
        joint: tokens between two turns of the history, and between the history and the turn.
        end: tokens after the turn.
        first: number of tokens of the last joint that belong to the first text.
        typed: whether the model is given types of tokens, which say where the second text begins.
    """

    alone: tuple[int, int]
    start: tuple[int, ...]
    joint: tuple[int, ...]
    end: tuple[int, ...]
    first: int
    typed: bool
    max_length: int

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerBase", model: "PreTrainedModel", max_length: int) -> "PairForm":
        """Return the form for a model: pairs of texts, if the separator of its tokenizer stands between two texts;
        otherwise one text, joined by the separator, or by line breaks if there is none.

        Args:
            tokenizer: the model's tokenizer.
            model: a sequence classifier.
            max_length: maximum number of tokens of a sequence.

        Raises:
            ValueError: the tokenizer is of no known kind.
        """
        read: Any = tokenizer
        # Encoder-decoders find the end of the text by its only separator.
        joined = bool(getattr(model.config, "is_encoder_decoder", False))
        text = read(_PROBE, add_special_tokens=False)["input_ids"]
        [(start, end)] = _around(read(_PROBE)["input_ids"], [text])
        alone = (len(start), len(end))
        separator = None if joined else tokenizer.sep_token_id
        pair = read(_PROBE, _PROBE, return_token_type_ids=True)
        around = list(_around(pair["input_ids"], [text, text]))
        if separator is None or separator not in around[0][1]:
            line = read("\n", add_special_tokens=False)["input_ids"] if separator is None else [separator]
            return cls(alone, start, tuple(line), end, 0, False, max_length)
        (start, joint), (_, end) = around
        types = list(pair["token_type_ids"])
        zeros, before = types.count(0), len(start) + len(text)
        split = types == sorted(types) and set(types) == {0, 1} and before <= zeros <= before + len(joint)
        typed = split and "token_type_ids" in tokenizer.model_input_names and _takes_types(model)
        return cls(alone, start, joint, end, zeros - before if typed else 0, typed, max_length)

    def pairs(self, turns: Sequence[Sequence[int]], history: int) -> list[Pair]:
        """Return what the model reads for every turn of a dialogue.

        Args:
            turns: token ids of the turns, oldest first, as a model reads them alone.
            history: maximum number of earlier turns.
        """
        return [self.read(turns[max(0, place - history) : place], turn) for place, turn in enumerate(turns)]

    def read(self, history: Sequence[Sequence[int]], turn: Sequence[int]) -> Pair:
        """Return what the model reads for a turn. As many tokens of the history as fit stay, the newest; the turn is
        not cut.

        Args:
            history: token ids of earlier turns, oldest first, as a model reads them alone.
            turn: those of the turn.
        """
        own = self._bare(turn)
        left_over = self.max_length - len(self.start) - len(self.joint) - len(own) - len(self.end)
        kept: list[int] = []
        for each in reversed(history):
            joint = self.joint if kept else ()
            left = left_over - len(kept)
            if left <= len(joint):
                break
            kept = [*self._bare(each), *joint][-left:] + kept
        if not kept:
            return Pair(tuple(turn), len(turn))
        before = [*self.start, *kept]
        return Pair((*before, *self.joint, *own, *self.end), len(before) + self.first)

    def _bare(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[self.alone[0] : len(ids) - self.alone[1]]


def _takes_types(model: "PreTrainedModel") -> bool:
    types = getattr(model.config, "type_vocab_size", 2)
    return types > 1 and "token_type_ids" in signature(model.forward).parameters


def _around(ids: Sequence[int], texts: Iterable[Sequence[int]]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the tokens before and after each of some texts in a sequence.

    Raises:
        ValueError: a text is not in it.
    """
    places, reached = [], 0
    for text in texts:
        found = (at for at in range(reached, len(ids)) if list(ids[at : at + len(text)]) == list(text))
        if (place := next(found, None)) is None:
            raise ValueError("its tokenizer gives a text other tokens beside special ones: leave --history out")
        places.append((place, place + len(text)))
        reached = place + len(text)
    starts = [0, *(end for _, end in places)]
    ends = [*(start for start, _ in places[1:]), len(ids)]
    return [
        (tuple(ids[before:start]), tuple(ids[end:after]))
        for before, (start, end), after in zip(starts, places, ends, strict=False)
    ]
