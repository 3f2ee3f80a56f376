"""The model of a recipe, built from a backbone: its learning rates, its input, and the conventions of the sources."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedTokenizerBase

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labels import INTENTS, LABELS
from training.classifier.model import NAMES, add_adapters, grouped, read_backbone, separators_between
from training.labels.recipe import LabelsRecipe
from training.labels.sources import CROWD, FILMS, NOTES, WEAK

CONVENTIONS = {
    "reader": (FILMS,),
    "crowd": (CROWD, "crowd_undecided", "crowd_self_labelled"),
    "situations": (WEAK, "weak_annotated", "frequent"),
    "meld": ("meld",),
    "emorynlp": ("emorynlp",),
    "xed": ("xed",),
    "goemotions": ("goemotions",),
    "mustard": ("mustard",),
    "acts": ("dailydialog", "esconv", "swda", "emotyda"),
    "writer": (NOTES,),
}
"""Convention → the sources that share it."""


_PROJECTED = 3.0
"""Factor of the projection at first: all-mpnet-base-v2's vectors are a third as long, by dimension, as MiniLM's, for
which the rates of the layers above are chosen.
"""


class Answer(NamedTuple):
    """The settings of an answer.

    Attributes:
        sees: the turn alone, or the turn and its history.
        conventions: the factors of the conventions' odds.
        calibrated_on: the source on whose held-out turns its temperature is fitted.
        intents: factors of the conventions' odds for the intents; by default those of all labels.
        offsets: label → what is added to its logits, in nats.
    """

    sees: str
    conventions: dict[str, float]
    calibrated_on: str
    intents: dict[str, float] | None = None
    offsets: Mapping[str, float] = MappingProxyType({})


_FILMS = {"reader": 2.0, "meld": 4.0, "emorynlp": 1.0, "xed": 2.0, "goemotions": 0.5, "acts": 0.5}
"""Conventions of sources that label whole dialogues, mostly of films; chosen on held-out parts of their sets. In the
sets of the crowd and of the weak labeler turns were selected for an emotion: with these, few turns of films would be
neutral.
"""

_ALL = {"reader": 6.0, "crowd": 4.0, "meld": 6.0, "emorynlp": 1.0, "xed": 3.0, "goemotions": 0.5, "acts": 0.5}
_INTENTS = {"reader": 10.0, "crowd": 8.0, "meld": 4.0, "emorynlp": 1.0, "xed": 2.0, "goemotions": 0.5, "acts": 3.0}
"""The same and the crowd's. Only the crowd and the sets of dialogue acts know the eight intents, so that these have
factors of their own, in which both count more; chosen on held-out parts, so that films' readings hold.
"""

_OFFSETS = {"encouraging": 0.45, "sympathizing": 0.75, "wishing": 0.7}
"""Intents that the readers of films hardly name, and without an offset the answer neither: chosen on held-out parts,
as much as films' readings bear. To give *acknowledging* and *consoling* as often as the crowd does would take 2 nats,
and 4 points of films' readings, where they are mostly wrong.
"""

ANSWERS = {
    "general": Answer("history", _ALL, FILMS, _INTENTS, _OFFSETS),
    "dialogue": Answer("history", {"crowd": 1.0}, CROWD),
    "weak": Answer("turn", _FILMS | {"situations": 10.0}, WEAK),
}
"""Name → answer, the default first: `general` for texts of any kind, `dialogue` for the crowd's labels (EDOS, Section
3.3.1), `weak` for a turn alone (Section 3.1).
"""


@contextmanager
def using_conventions(conventions: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
    """Replace CONVENTIONS within a `with` block."""
    before = dict(CONVENTIONS)
    CONVENTIONS.clear()
    CONVENTIONS.update(conventions)
    try:
        yield
    finally:
        CONVENTIONS.clear()
        CONVENTIONS.update(before)


def conventions_of(sources: Collection[str]) -> list[str]:
    """Return the conventions that the sources have."""
    return [name for name, own in CONVENTIONS.items() if not set(own).isdisjoint(sources)]


def convention_of(source: str) -> str:
    """Return the convention of a source.

    Raises:
        ValueError: the source has none.
    """
    for name, own in CONVENTIONS.items():
        if source in own:
            return name
    raise ValueError(f"the source {source!r} has no convention: add it to one of CONVENTIONS in {__file__}")


def answers_over(conventions: Collection[str], crowd_weight: float = 1.0) -> dict[str, dict[str, Any]]:
    """Return the answers of a model that learned some conventions, in the form of its configuration, at temperature 1.

    Each answer uses those of its conventions that were learned, or all conventions if none of them was; that of the
    crowd is weighed by `crowd_weight` where there are others.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, answer in ANSWERS.items():
        of_all = _known(answer.conventions, conventions, crowd_weight)
        own = found[name] = {"sees": answer.sees, "conventions": of_all}
        if answer.intents:
            numbers = [LABELS.index(label) for label in INTENTS]
            own["intents"] = {"labels": numbers, "conventions": _known(answer.intents, conventions, crowd_weight)}
        if answer.offsets:
            own["offsets"] = [answer.offsets.get(label, 0.0) for label in LABELS]
        own["temperature"] = 1.0
    return found


def _known(factors: Mapping[str, float], conventions: Collection[str], crowd_weight: float) -> dict[str, float]:
    known = {each: factor for each, factor in factors.items() if each in conventions} or dict.fromkeys(conventions, 1.0)
    return {each: factor * (crowd_weight if each == CROWD and len(known) > 1 else 1) for each, factor in known.items()}


def build_model(recipe: LabelsRecipe, tokenizer: PreTrainedTokenizerBase) -> ContextClassifier:
    """Return the model to train: the backbone's encoder, or its lower layers, with new heads."""
    backbone = read_backbone(recipe, 0.0, recipe.layers)
    ids: Any = tokenizer
    model = ContextClassifier(
        ContextClassifierConfig(
            encoder={key: value for key, value in backbone.config.to_dict().items() if key != "_name_or_path"},
            context_layers=recipe.context_layers,
            context_heads=recipe.context_heads,
            context_width=recipe.context_width,
            window=recipe.window,
            turn_tokens=recipe.turn_tokens,
            separators=separators_between(tokenizer),
            separator_id=ids.sep_token_id,
            start_id=ids.cls_token_id if ids.cls_token_id is not None else ids.bos_token_id,
            padding_id=ids.pad_token_id or 0,
            dropout=recipe.dropout,
            conventions=(conventions := conventions_of(recipe.sources)),
            answers=answers_over(conventions, recipe.crowd_weight),
            **NAMES,
        )
    )
    model.encoder.load_state_dict(backbone.state_dict(), strict=False)
    if model.project is not None:
        torch.nn.init.orthogonal_(model.project.weight, _PROJECTED)
    if recipe.lora_rank:
        add_adapters(model.encoder, recipe.lora_rank, recipe.encoder_dropout)
    else:
        model.encoder.get_input_embeddings().requires_grad_(not recipe.frozen_embeddings)
    return model


class JointModel(torch.nn.Module):
    """The model in training: both heads, for turns in parts of dialogues.

    Args:
        model: the model to train.
    """

    def __init__(self, model: ContextClassifier) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
        order: torch.Tensor,
        starts: torch.Tensor,
        chosen: torch.Tensor,
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the output of both heads for the chosen turns, alone and in their dialogues; see `ConventionHead`.

        Args:
            batches: ids and mask, [n, tokens], of turns of similar length.
            order: int64 [turns], the position in the concatenated batches of each turn, one part after another.
            starts: int64 [turns], the first turn of each turn's part.
            chosen: int64 [chosen], the labelled turns.
        """
        vectors = torch.cat([self.model.encode(ids, mask).float() for ids, mask in batches])[order]
        logits, odds = self.model.see_dialogues(vectors, starts)
        return [self.model.see_turns(vectors[chosen]), (logits[chosen], odds[chosen])]

    def groups(self, recipe: LabelsRecipe) -> list[dict[str, Any]]:
        """Return the trained parameters with their learning rates; see `grouped`."""
        rates = {"encoder": recipe.learning_rate, "context_layers": recipe.context_rate}
        parts = ((name.partition(".")[0], parameter) for name, parameter in self.model.named_parameters())
        return grouped(
            ((parameter, rates.get(part, recipe.head_learning_rate)) for part, parameter in parts), recipe.weight_decay
        )


def turn_ids(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[list[int]]:
    """Return the token ids of turns, start and separator included, truncated to `most`."""
    if not texts:
        return []
    ids: list[list[int]] = tokenizer(list(texts), truncation=True, max_length=most)["input_ids"]
    return ids
