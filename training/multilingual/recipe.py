"""The recipe of `train_multilingual.py`: a YAML file; the defaults of all keys are given here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from edos_dataset.runs.recipes import RecipeError, build
from training.settings import read_settings


@dataclass(frozen=True)
class MultilingualRecipe:
    """A training of the multilingual labeler.

    Args:
        base_model: Hub id of a multilingual BERT of the teacher's width.
        teacher: the English labeler, one of the shipped context classifiers.
        languages: XED's projections to learn from.
        books: languages of books, whose word pieces are kept too.
        english: number of English turns without labels, besides those of XED.
        neutral: number of XED's English sentences without an emotion.
        each: sentences of a language, spread evenly over its films.
        layers: number of the base model's layers, from the lowest.
        frozen_layers: number of these that are not trained; nor are the embeddings.
        pieces: number of word pieces kept.
        least_seen: occurrences from which a word piece of the texts at hand is kept.
        turn_tokens: number of tokens of a turn that are read.
        least_nearness: least cosine of a translation and its original.
        least_lead: by how much it must be above that of the next candidate.
        translated: fraction of an update that is translations whose original is known.
        unaligned: fraction that is other translations, of which only the labels are known.
        start: examples by which the projection is set before training.
        ridge: strength of that regression.
        answer_weight: weight of the divergence from the teacher's answer, relative to the loss of the vectors.
        label_weight: weight of the loss of XED's labels.
        xed_factor: factor of XED's convention in the answer: the only one by which sentences in other languages were
            labelled.
        updates: number of updates.
        batch: turns in an update.
        learning_rate: peak rate of AdamW, with linear warm-up and decay.
        warmup: fraction of the updates in which the rate rises.
        weight_decay: of AdamW.
        gradient_norm: maximum norm of the gradient.
        averaging: decay of the moving average of the weights, which is saved.
        seed: seed of all randomness.
    """

    name: ClassVar[str] = "multilingual"

    base_model: str = "intfloat/multilingual-e5-small"
    teacher: str = "general"
    languages: list[str] = field(default_factory=lambda: ["de", "es", "it", "nl", "pt", "br", "hu"])
    books: list[str] = field(default_factory=lambda: ["en", "de", "es", "it", "nl", "pt", "hu"])
    english: int = 4_000
    neutral: int = 3_000
    each: int = 13_000
    layers: int = 8
    frozen_layers: int = 5
    pieces: int = 76_000
    least_seen: int = 2
    turn_tokens: int = 64
    least_nearness: float = 0.4
    least_lead: float = 0.04
    translated: float = 0.35
    unaligned: float = 0.35
    start: int = 3_000
    ridge: float = 300.0
    answer_weight: float = 1.0
    label_weight: float = 0.5
    xed_factor: float = 20.0
    updates: int = 2_500
    batch: int = 64
    learning_rate: float = 3e-4
    warmup: float = 0.05
    weight_decay: float = 0.01
    gradient_norm: float = 1.0
    averaging: float = 0.995
    seed: int = 0


_FROM_ONE = ("layers", "pieces", "least_seen", "turn_tokens", "updates", "batch")
_BELOW_ONE = ("warmup", "averaging", "translated", "unaligned")


def read_recipe(path: Path, changes: list[str]) -> MultilingualRecipe:
    """Read a recipe, with the changes `KEY=VALUE` of the command line.

    Raises:
        RecipeError: a key is unknown, or a value has the wrong type or is out of range.
    """
    recipe = build(MultilingualRecipe, read_settings(path, changes), str(path))
    for key in _FROM_ONE:
        if getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 1, got {getattr(recipe, key)}")
    for key in _BELOW_ONE:
        if not 0 <= getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 0 and below 1, got {getattr(recipe, key)}")
    if not 0 <= recipe.frozen_layers < recipe.layers:
        raise RecipeError(f"{path}: frozen_layers must be at least 0 and below layers, got {recipe.frozen_layers}")
    if recipe.translated + recipe.unaligned >= 1:
        raise RecipeError(f"{path}: translated and unaligned must be below 1 together, the rest is English")
    if not recipe.languages:
        raise RecipeError(f"{path}: languages must name at least one language")
    return recipe
