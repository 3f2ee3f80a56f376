"""The recipe of `train_labels.py`: a YAML file; the defaults of all keys are given here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.recipes import RecipeError, build
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml


@dataclass(frozen=True)
class LabelsRecipe:
    """A training of the encoder for all labels.

    Data:
        sources: training sources (named in `sources.py`) → factor of the source's fraction of an update.
        temper: exponent of a source's size in that fraction: 1 weighs all texts equally, 0 all sources.
        most: maximum number of texts of a source that count for its fraction.
        repeats: maximum number of copies of a text in a source.
        crowd_weight: factor of the crowd's odds in the answer `general`, beyond those in `model.ANSWERS`: an encoder
            that distinguishes the sources better gives the crowd's convention less, and names its intents less often.
        silent_weight: for sources that name no intents, weight of the loss over all labels, relative to the loss over
            the emotions.
        label_smoothing: smoothing of targets that are distributions.
        short: maximum number of words of held-out texts that may occur in training: anybody says "Yes."

    Encoder:
        base_model: the encoder to start from: all-MiniLM-L6-v2 (packaged) or a Hub id.
        layers: number of its layers to keep, from the lowest; null for all.
        turn_tokens: number of tokens of a turn that are read.
        dropout, encoder_dropout: dropout of the heads, and of the encoder's hidden states.
        frozen_embeddings: do not train the token embeddings.
        lora_rank: rank of LoRA adapters in all linear layers of the encoder, which is then frozen; they are merged into
            the weights at the end. 0 trains all weights.
        updates, batch: number of updates, and labelled turns in each, over all processes.
        micro_tokens: maximum number of tokens of the parts of dialogues in a forward pass of one process.
        encode_tokens: maximum number of tokens, padding included, that the encoder reads at once in that pass.
        learning_rate, head_learning_rate, warmup, weight_decay, gradient_norm, beta_2, averaging: AdamW with linear
            warm-up and decay; the moving average of the weights is saved.
        evaluations: number of evaluations on the validation splits, which do not influence the training.
        precision: "no", "bf16", or "auto": bf16 if the processor supports it.

    Context layers, over the encoder's vectors:
        context_layers, context_heads, window: size of the layers, and number of earlier turns that a layer attends to.
        context_width: width of the vectors, to which those of the encoder are mapped linearly; null for the encoder's.
        context_rate: their peak learning rate.
        span: maximum number of turns of a dialogue that are read together in training.
        history: maximum number of unlabelled turns read before a labelled one; less than `span`.

    seed: seed of all randomness.
    """

    name: ClassVar[str] = "labels"

    sources: dict[str, float] = field(default_factory=dict)
    temper: float = 0.8
    most: int = 40_000
    repeats: int = 2
    crowd_weight: float = 1.0
    silent_weight: float = 0.4
    label_smoothing: float = 0.05
    short: int = 3

    base_model: str = "all-MiniLM-L6-v2"
    layers: int | None = None
    turn_tokens: int = 64
    dropout: float = 0.1
    encoder_dropout: float = 0.1
    frozen_embeddings: bool = True
    lora_rank: int = 0
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
    context_width: int | None = None
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
        RecipeError: a key is unknown, or a value has the wrong type or is out of range.
    """
    try:
        settings = read_yaml(path)
    except UntrustedInputError as error:
        raise RecipeError(f"{path}: not a readable YAML file: {error}") from error
    recipe = build(LabelsRecipe, settings or {}, str(path))
    for key in _FROM_ONE:
        if getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 1, got {getattr(recipe, key)}")
    for key in _BELOW_ONE:
        if not 0 <= getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 0 and below 1, got {getattr(recipe, key)}")
    if recipe.lora_rank < 0:
        raise RecipeError(f"{path}: lora_rank must be at least 0, got {recipe.lora_rank}")
    if not 0 <= recipe.history < recipe.span:
        raise RecipeError(f"{path}: history must be at least 0 and below span ({recipe.span}), got {recipe.history}")
    if not recipe.sources or not all(value > 0 for value in recipe.sources.values()):
        raise RecipeError(f"{path}: sources must name at least one source, each with a number above 0")
    return recipe
