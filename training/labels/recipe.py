"""What a recipe of `train_labels.py` may say: one YAML file, every key with its default here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.foreign import ForeignError, read_yaml
from edos_dataset.runs.recipes import RecipeError, build


@dataclass(frozen=True)
class LabelsRecipe:
    """A training of the encoder that gives every label.

    Data:
        sources: what is learned from (`sources.py` names them) → by what its part of an update is multiplied.
        temper: power of a source's size that decides its part of an update before that: 1 takes all texts equally
            often, 0 all sources.
        most: texts of a source that count for its part, at most.
        repeats: copies of one text that a source keeps, at most.
        silent_weight: weight, beside that of the emotions alone, of the loss over all labels where a source names no
            intents.
        label_smoothing: of targets that are shares.
        short: words up to which a held-out text may stand in training: "Yes." is everybody's.

    Encoder:
        base_model: the encoder to start from: all-MiniLM-L6-v2 (packaged) or a Hub id.
        layers: of it that are kept, from below; null for all.
        turn_tokens: tokens of a turn that are read.
        dropout, encoder_dropout: of the heads, and of the encoder's hidden states.
        frozen_embeddings: leave the token embeddings as they are.
        updates, batch: how many, and labelled turns in each, over all processes.
        micro_tokens: tokens of the parts of dialogues in a forward pass of one process, at most.
        encode_tokens: most tokens, padding included, that the encoder reads at once in it.
        learning_rate, head_learning_rate, warmup, weight_decay, gradient_norm, beta_2, averaging: AdamW, linear warm-up
            and decay; a moving average of the weights is what is kept.
        evaluations: looks at the validation parts; none decides.
        precision: "no", "bf16", or "auto": bf16 where the processors multiply in it.

    Context layers, over the encoder's vectors:
        context_layers, context_heads, window: their size, and the earlier turns that a layer looks back at.
        context_rate: their highest learning rate.
        span: turns of a dialogue that are read together in training, at most.
        history: turns without a label that are read before one with a label, at most; fewer than `span`.

    seed: of everything random.
    """

    name: ClassVar[str] = "labels"

    sources: dict[str, float] = field(default_factory=dict)
    temper: float = 0.8
    most: int = 40_000
    repeats: int = 2
    silent_weight: float = 0.4
    label_smoothing: float = 0.05
    short: int = 3

    base_model: str = "all-MiniLM-L6-v2"
    layers: int | None = None
    turn_tokens: int = 64
    dropout: float = 0.1
    encoder_dropout: float = 0.1
    frozen_embeddings: bool = True
    updates: int = 4000
    batch: int = 96
    micro_tokens: int = 8192
    encode_tokens: int = 768
    learning_rate: float = 2e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    gradient_norm: float = 1.0
    beta_2: float = 0.98
    averaging: float = 0.998
    evaluations: int = 3
    precision: Literal["no", "bf16", "auto"] = "auto"

    context_layers: int = 2
    context_heads: int = 6
    window: int = 8
    context_rate: float = 5e-4
    span: int = 12
    history: int = 4

    seed: int = 0


_FROM_ONE = [
    "updates",
    "batch",
    "micro_tokens",
    "turn_tokens",
    "repeats",
    "most",
    "evaluations",
    "window",
    "span",
    "encode_tokens",
]
_BELOW_ONE = ["label_smoothing", "dropout", "encoder_dropout", "warmup", "averaging"]


def read_recipe(path: Path) -> LabelsRecipe:
    """Read a recipe.

    Raises:
        RecipeError: a key that is none, or a value of the wrong type or out of range.
    """
    try:
        settings = read_yaml(path)
    except ForeignError as error:
        raise RecipeError(f"{path}: not a readable YAML file: {error}") from error
    recipe = build(LabelsRecipe, settings or {}, str(path))
    for key in _FROM_ONE:
        if getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 1, got {getattr(recipe, key)}")
    for key in _BELOW_ONE:
        if not 0 <= getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 0 and below 1, got {getattr(recipe, key)}")
    if not 0 <= recipe.history < recipe.span:
        raise RecipeError(f"{path}: history must be at least 0 and below span ({recipe.span}), got {recipe.history}")
    if not recipe.sources or not all(value > 0 for value in recipe.sources.values()):
        raise RecipeError(f"{path}: sources must name at least one source, each with a number above 0")
    return recipe
