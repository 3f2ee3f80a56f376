"""A model token by token, for search and sampling: its rows reselected at every step, and guided by a label."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from edos_dataset.generation.config import CACHE
from edos_dataset.runs.untrusted import shown

READ = ("input_ids", "attention_mask", "segment_ids", "label_ids")
"""Inputs of the encoder; all others condition the answer."""


class Steps:
    """A transformers model that generates token by token, with rows reselected at every step, as beam search and
    sampling need. Encoder-decoders and decoders have the same interface.

    A row is one answer in progress; several may belong to one history, which is read once. The history's keys and
    values are copied only when rows are added or removed, those of the answer at every step.

    Args:
        model: an encoder-decoder or a decoder of transformers, in evaluation mode.
        given: its inputs, each with a row for every history: `input_ids` and `attention_mask`, padded at the left for a
            decoder; for a `ResponseModel` also `segment_ids`, `label_ids`, `response_labels`, `response_segments`.

    Attributes:
        owners: [rows], the index of the history of each row.
    """

    def __init__(self, model: Any, given: Mapping[str, torch.Tensor]) -> None:  # noqa: ANN401
        self.model = model
        self._has_encoder = bool(model.config.is_encoder_decoder)
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
        """Read the histories and return the logits of every answer's first token, [histories, vocabulary]."""
        read = {name: self._given[name] for name in READ if name in self._given}
        if not self._has_encoder:
            return self._ask(**read, **self._places(read["attention_mask"]))
        self._source = self.model.get_encoder()(**read)[0]
        [start] = checked_ids("decoder_start_token_id", self._setting("decoder_start_token_id"), self.model)
        return self._ask(decoder_input_ids=torch.full_like(self.owners, start)[:, None], **self._context())

    def next(self, parents: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Append a token to rows and return the logits of the next token, [new rows, vocabulary].

        Args:
            parents: [new rows], indices of the continued rows at the last step; a row may be continued several times or
                not at all.
            tokens: [new rows], the token appended to each.
        """
        owners = self.owners[parents]
        if self._has_encoder:
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
        return checked_ids("eos_token_id", self._setting("eos_token_id"), self.model)

    def _context(self) -> dict[str, Any]:
        rest = {name: value[self.owners] for name, value in self._given.items() if name not in READ}
        # Its keys are in the cache after the first step, but models read its shape; a view costs nothing.
        source = (
            self._source if len(self._source) == len(self.owners) else self._source[:1].expand(len(self.owners), -1, -1)
        )
        return {"encoder_outputs": (source,), "attention_mask": self._given["attention_mask"][self.owners], **rest}

    def _places(self, mask: torch.Tensor, newest: int = 0) -> dict[str, torch.Tensor]:
        """Return the positions of the newest tokens, or of all, not counting padding at the left, for models with
        `position_ids`; others, such as BLOOM, derive them from the mask.
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
        for config in (self.model.generation_config, self.model.config):
            if (value := getattr(config, name, None)) is not None:
                return value
        raise ValueError(f"the model {self.model.config.name_or_path!r} has no {name}: set it in its generation_config")


class Guided:
    """The steps of a model that is guided towards what a label changes, without a classifier: the log-probabilities
    under the label, plus `guidance` times their difference from those under another one (Ho & Salimans,
    "Classifier-Free Diffusion Guidance", 2022; for language models Sanchez et al., "Stay on Topic with Classifier-Free
    Guidance", 2023).

    Has the interface of `Steps`, and costs twice as much.

    Args:
        model: as for `Steps`.
        given: as for `Steps`.
        against: the same inputs under the other label.
        guidance: factor of the difference, above 0.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        given: Mapping[str, torch.Tensor],
        against: Mapping[str, torch.Tensor],
        guidance: float,
    ) -> None:
        self._towards, self._away, self._guidance = Steps(model, given), Steps(model, against), guidance

    @property
    def owners(self) -> torch.Tensor:
        """[rows], the index of the history of each row."""
        return self._towards.owners

    @property
    def ends(self) -> list[int]:
        """Ids of the tokens that end an answer."""
        return self._towards.ends

    def first(self) -> torch.Tensor:
        """Return the guided logits of every answer's first token, [histories, vocabulary]."""
        return self._guided(self._towards.first(), self._away.first())

    def next(self, parents: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return the guided logits of the next token, [new rows, vocabulary]; see `Steps.next`."""
        return self._guided(self._towards.next(parents, tokens), self._away.next(parents, tokens))

    def _guided(self, logits: torch.Tensor, away: torch.Tensor) -> torch.Tensor:
        chances = logits.log_softmax(1)
        return chances + self._guidance * (chances - away.log_softmax(1))


def steps_of(
    model: Any,  # noqa: ANN401
    given: Mapping[str, torch.Tensor],
    against: Mapping[str, torch.Tensor] | None,
    guidance: float,
) -> Steps | Guided:
    """Return the steps of a model, guided if `against` is given and `guidance` is not 0."""
    return Steps(model, given) if against is None or not guidance else Guided(model, given, against, guidance)


def checked_ids(name: str, value: Any, model: Any) -> list[int]:  # noqa: ANN401 - of a file
    """Return the ids of tokens that a model's files state, one or a list.

    Args:
        name: of the setting, for the message.
        value: of the setting.
        model: which states it.

    Raises:
        ValueError: a value is not the id of one of its tokens.
    """
    rows, given = model.get_input_embeddings().weight.shape[0], value if isinstance(value, list | tuple) else [value]
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each < rows:
            raise ValueError(
                f"the model {model.config.name_or_path!r} has {shown(each)} as {name} in its generation_config or "
                f"config.json: expected the id of a token, from 0 to {rows - 1:,}"
            )
    return list(given)


MOST_GUIDANCE = 10
"""From here on the model's own probabilities hardly count."""


def check_guidance(value: Any) -> None:  # noqa: ANN401 - of a user or a file
    """Check a strength of guidance.

    Raises:
        ValueError: it is not a number from 0 to MOST_GUIDANCE.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_GUIDANCE:
        raise ValueError(f"guidance must be from 0 to {MOST_GUIDANCE}, got {shown(value)}")
