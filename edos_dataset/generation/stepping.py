"""A model of transformers, asked for one token after the other, for rows that are chosen anew at every step: what beam
search and sampling stand on. Encoder-decoders and decoders alone are asked in the same way.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from edos_dataset.generation.config import CACHE

READ = ("input_ids", "attention_mask", "segment_ids", "label_ids")
"""What the encoder reads; all other inputs condition the answer."""

_BLOCK = 64  # columns of which the largest is looked at first


class Steps:
    """The state of an answer's generation: keys and values of what is there, for every row.

    A row is one answer in the making; several may belong to one history, which is read once. Keys and values of the
    history are copied only when rows appear or vanish, those of the answer at every step.

    Args:
        model: an encoder-decoder, or a decoder, of transformers; it must be in evaluation mode.
        given: what it reads, each with a row for every history: `input_ids` and `attention_mask`, for a decoder padded
            at the left; of a `ResponseModel` also `segment_ids`, `label_ids`, `response_labels`, `response_segments`.

    Attributes:
        owners: [rows], the number of the history that each row answers.
    """

    def __init__(self, model: Any, given: Mapping[str, torch.Tensor]) -> None:  # noqa: ANN401
        self.model = model
        self._reads_apart = bool(model.config.is_encoder_decoder)
        self._given = {name: value for name, value in given.items() if value is not None}
        ids = self._given["input_ids"]
        self._given.setdefault("attention_mask", torch.ones_like(ids))
        if hasattr(model, "next_segments") and "response_segments" not in self._given:
            segments = model.next_segments(ids, self._given.get("segment_ids"))
            self._given |= {} if segments is None else {"response_segments": segments}
        self.owners = torch.arange(len(ids), device=ids.device)
        self._cache: Any = None
        self._source = torch.empty(0)

    def first(self) -> torch.Tensor:
        """Read the histories; return the logits of every answer's first token, [histories, vocabulary]."""
        read = {name: self._given[name] for name in READ if name in self._given}
        if not self._reads_apart:
            return self._ask(**read, **self._places(read["attention_mask"]))
        self._source = self.model.get_encoder()(**read)[0]
        start = self._setting("decoder_start_token_id")
        return self._ask(decoder_input_ids=torch.full_like(self.owners, start)[:, None], **self._context())

    def next(self, parents: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Append a token to rows; return the logits of what follows, [new rows, vocabulary].

        Args:
            parents: [new rows], the rows that are continued, by their numbers at the last step; one may be continued
                several times, or not at all.
            tokens: [new rows], what each is continued by.
        """
        owners = self.owners[parents]
        if self._reads_apart:
            self._cache.self_attention_cache.batch_select_indices(parents)
            if not owners.equal(self.owners):
                self._cache.cross_attention_cache.batch_select_indices(parents)
            self.owners = owners
            return self._ask(decoder_input_ids=tokens[:, None], **self._context())
        self._cache.batch_select_indices(parents)
        self.owners = owners
        mask = self._given["attention_mask"][owners]
        seen = self._cache.get_seq_length() + 1
        mask = torch.cat([mask, mask.new_ones(len(mask), seen - mask.shape[1])], 1)
        return self._ask(input_ids=tokens[:, None], attention_mask=mask, **self._places(mask, 1))

    @property
    def ends(self) -> list[int]:
        """Ids of the tokens that end an answer."""
        ends = self._setting("eos_token_id")
        return list(ends) if isinstance(ends, list | tuple) else [ends]

    def _context(self) -> dict[str, Any]:
        """Return the history of every row, and what conditions its answer."""
        rest = {name: value[self.owners] for name, value in self._given.items() if name not in READ}
        # Its keys are in the cache after the first step, but models ask for its shape; a view costs nothing.
        source = (
            self._source if len(self._source) == len(self.owners) else self._source[:1].expand(len(self.owners), -1, -1)
        )
        return {"encoder_outputs": (source,), "attention_mask": self._given["attention_mask"][self.owners], **rest}

    def _places(self, mask: torch.Tensor, newest: int = 0) -> dict[str, torch.Tensor]:
        """Return the positions of the newest tokens, or of all, padding at the left not counted, for a model that wants
        them told; others, such as BLOOM, tell them from the mask.
        """
        if "position_ids" not in inspect.signature(self.model.forward).parameters:
            return {}
        return {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)[:, -newest:]}

    def _ask(self, **inputs: Any) -> torch.Tensor:  # noqa: ANN401
        out = self.model(**inputs, **{CACHE: self._cache}, use_cache=True)
        self._cache = out[CACHE]
        logits: torch.Tensor = out.logits[:, -1].float()
        return logits

    def _setting(self, name: str) -> Any:  # noqa: ANN401
        """Return what the model's generation is set to, such as the id of a token.

        Raises:
            ValueError: it is not set.
        """
        for config in (self.model.generation_config, self.model.config):
            if (value := getattr(config, name, None)) is not None:
                return value
        raise ValueError(f"the model {self.model.config.name_or_path!r} has no {name}: set it in its generation_config")


def largest(
    chances: torch.Tensor, scores: torch.Tensor, number: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the largest sums of a row's score and one of its chances: rows, columns and sums, largest first.

    The largest of all lie in the blocks whose own largest are so, which are found in one pass over the chances: several
    times as fast as sorting them out of a large vocabulary.

    Args:
        chances: [rows, vocabulary].
        scores: [rows].
        number: how many are wanted; fewer come where there are not as many.
    """
    count, words = chances.shape
    whole = words // _BLOCK * _BLOCK
    if count * whole // _BLOCK < 2 * number:
        sums, at = (chances + scores[:, None]).flatten().topk(min(number, chances.numel()))
        return at // words, at % words, sums
    blocks = chances[:, :whole].reshape(count, -1, _BLOCK)
    per_row = blocks.shape[1]
    picked = (blocks.amax(2) + scores[:, None]).flatten().topk(number).indices
    near = blocks[picked // per_row, picked % per_row] + scores[picked // per_row, None]
    rest = chances[:, whole:] + scores[:, None]
    sums, at = torch.cat([near.flatten(), rest.flatten()]).topk(number)
    block, behind = picked[(at // _BLOCK).clamp(max=number - 1)], (at - near.numel()).clamp(min=0)
    inside, left = at < near.numel(), max(words - whole, 1)
    rows = torch.where(inside, block // per_row, behind // left)
    columns = torch.where(inside, block % per_row * _BLOCK + at % _BLOCK, whole + behind % left)
    return rows, columns, sums
