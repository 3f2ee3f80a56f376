"""What a recipe of `train_classifier.py` may say: one YAML file, every key with its default here."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.foreign import ForeignError, read_yaml
from edos_dataset.runs.recipes import RecipeError, build


@dataclass(frozen=True)
class ClassifierRecipe:
    """A training of one of the two classifiers.

    Data:
        task: "weak" (a single turn; EmpatheticDialogues and intents) or "dialogue" (a turn with its history; crowd
            labels).
        shares: shares of train, validation and test, by groups of equal or nearly equal texts.
        near_duplicate: cosine of two embeddings (all-MiniLM-L6-v2) from which texts stay in one split.
        split_seed: of the division into these parts.
        frequent_turns: weight of the hand-labelled frequent turns in the training part; 0 leaves them out.
        first_turns: weight of the opening turns of EmpatheticDialogues, labelled with their conversation's emotion; 0
            leaves them out.
        annotated: weight of the later turns of these conversations, labelled by the authors' classifier; 0 leaves
            them out.
        unagreed: weight of crowd dialogues on which no two workers agreed, with their three answers as target; 0
            leaves them out.
        self_labelled: weight of the subtitle dialogues that the authors' classifier labelled with confidence; 0
            leaves them out.
        replay: weight of the weak labeler's training texts beside the crowd's; 0 leaves them out.
        replay_share: share of the annotated and replayed texts that an epoch takes, another one each.
        extended: weight of the rows of a labelled set (`--labelled`) whose label people did not give; 0 leaves them
            out.
        workers_share: share of the three workers' answers in a target; the rest is the agreed label.
        distil: folders of trained classifiers whose mean probabilities become part of the targets.
        distil_share: their part.

    Model:
        base_model: the encoder to start from: all-MiniLM-L6-v2 (packaged) or a Hub id.
        architecture: "dialogue" (ours), or "plain": the stock sequence classifier of the backbone.
        decay, normalisation, pooling, max_tokens, dropout: see `DialogueClassifierConfig`.
        encoder_dropout: of the encoder's hidden states; its attention dropout is `attention_dropout`.
        context: earlier turns to read; null for all that `max_tokens` has room for.
        history_dropout: share of the training examples, others in every epoch, that are read without their history.
        frozen_embeddings: leave the token embeddings as they are.
        lora_rank: rank of LoRA adapters in all linear layers of the encoder, which then is frozen; 0 trains all
            weights.

    Optimisation:
        batch: examples of an update, over all processes.
        micro_tokens: most tokens, padding included, of a forward pass in one process: the update is accumulated over
            as many as it takes.
        epochs, learning_rate, head_learning_rate, layer_decay: AdamW, linear warm-up and decay; a layer's rate is
            `layer_decay` times that of the layer above.
        warmup: share of the updates; schedule: what follows.
        weight_decay, label_smoothing, gradient_norm, beta_2: as usual.
        averaging: decay of the moving average of the weights, which is what is evaluated and kept; 0 for none.
        evaluations: evaluations of the validation part in an epoch.
        patience: evaluations without a lower validation cross-entropy after which training stops; 0 for never.
        precision: "no", "bf16" or "fp16".
        seed: of everything random.
    """

    name: ClassVar[str] = "classifier"

    task: Literal["weak", "dialogue"] = "weak"
    shares: tuple[float, ...] = (0.72, 0.08, 0.2)
    near_duplicate: float = 0.95
    split_seed: int = 0
    frequent_turns: float = 2.0
    first_turns: float = 0.0
    annotated: float = 0.0
    unagreed: float = 0.0
    self_labelled: float = 0.0
    replay: float = 0.0
    replay_share: float = 0.25
    extended: float = 1.0
    workers_share: float = 0.0
    distil: tuple[str, ...] = ()
    distil_share: float = 0.5

    base_model: str = "all-MiniLM-L6-v2"
    architecture: Literal["dialogue", "plain"] = "dialogue"
    decay: float = 0.5
    normalisation: Literal["sum", "newest"] = "sum"
    pooling: Literal["attention", "mean"] = "attention"
    max_tokens: int = 100
    dropout: float = 0.1
    encoder_dropout: float = 0.1
    attention_dropout: float = 0.1
    context: int | None = None
    history_dropout: float = 0.0
    frozen_embeddings: bool = False
    lora_rank: int = 0

    batch: int = 64
    micro_tokens: int = 1024
    epochs: int = 5
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    layer_decay: float = 0.9
    warmup: float = 0.06
    schedule: Literal["linear", "constant"] = "linear"
    weight_decay: float = 0.01
    label_smoothing: float = 0.0
    gradient_norm: float = 1.0
    beta_2: float = 0.98
    averaging: float = 0.0
    evaluations: int = 1
    patience: int = 0
    precision: Literal["no", "bf16", "fp16"] = "no"
    seed: int = 0


def read_recipe(path: Path) -> ClassifierRecipe:
    """Read a recipe.

    Raises:
        RecipeError: a key that is none, or a value of the wrong type or out of range.
    """
    try:
        settings = read_yaml(path)
    except ForeignError as error:
        raise RecipeError(f"{path}: not a readable YAML file: {error}") from error
    recipe = build(ClassifierRecipe, settings or {}, str(path))
    for key in ("batch", "micro_tokens", "epochs", "evaluations"):
        if getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 1, got {getattr(recipe, key)}")
    if not recipe.extended >= 0:
        raise RecipeError(f"{path}: extended is a weight and must be at least 0, got {recipe.extended}")
    if len(recipe.shares) != 3 or abs(sum(recipe.shares) - 1) > 1e-6:
        raise RecipeError(
            f"{path}: shares must be three numbers that sum to 1 (train, validation, test), got {list(recipe.shares)}"
        )
    return recipe
