"""The recipe of `train_classifier.py`: a YAML file; the defaults of all keys are given here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.recipes import RecipeError, build
from training.settings import read_settings


@dataclass(frozen=True)
class ClassifierRecipe:
    """A training of one of the two classifiers.

    Data:
        task: "weak" (a single turn; EmpatheticDialogues and intents) or "dialogue" (a turn with its history; crowd
            labels).
        shares: fractions of train, validation and test; groups of equal and near-duplicate texts stay together.
        near_duplicate: cosine similarity of embeddings (all-MiniLM-L6-v2) from which texts stay in one split.
        split_seed: seed of the split.
        frequent_turns: weight of the hand-labelled frequent turns in training; 0 leaves them out.
        first_turns: weight of the opening turns of EmpatheticDialogues, labelled with their conversation's emotion; 0
            leaves them out.
        annotated: weight of the later turns of these conversations, labelled by the authors' classifier; 0 leaves them
            out.
        unagreed: weight of crowd dialogues on which no two workers agreed, with their three answers as target; 0 leaves
            them out.
        self_labelled: weight of the subtitle dialogues that the authors' classifier labelled with confidence; 0 leaves
            them out.
        replay: weight of the weak labeler's training texts, in a training on the crowd's; 0 leaves them out.
        replay_share: fraction of the annotated and replayed texts in an epoch; each epoch draws another sample.
        extended: weight of the rows of a labelled set (`--labelled`) whose labels were not given by people; 0 leaves
            them out.
        workers_share: weight of the given probabilities (the three workers' answers, or those of the model that
            labelled) in a target; the rest is the label.
        class_balance: 0 to 1: examples are weighted by how rare their label is, to this power; 1 lets all labels count
            the same, 0 all examples.
        distil: folders of trained classifiers whose mean probabilities become part of the targets.
        distil_share: the weight of these probabilities.

    Model:
        base_model: the encoder to start from: all-MiniLM-L6-v2 (packaged) or a Hub id.
        architecture: "dialogue" (ours), or "plain": the stock sequence classifier of the backbone.
        decay, normalisation, pooling, max_tokens, dropout: see `DialogueClassifierConfig`.
        encoder_dropout: dropout of the encoder's hidden states; `attention_dropout` is that of its attention.
        context: number of earlier turns to read; null for all that fit in `max_tokens`.
        history_dropout: fraction of the training examples that are read without their history; drawn anew in every
            epoch.
        frozen_embeddings: do not train the token embeddings.
        lora_rank: rank of LoRA adapters in all linear layers of the encoder, which is then frozen; 0 trains all
            weights.

    Optimisation:
        batch: examples per update, over all processes.
        micro_tokens: maximum number of tokens, padding included, in a forward pass of one process; gradients are
            accumulated over the passes of an update.
        epochs, learning_rate, head_learning_rate, layer_decay: AdamW with linear warm-up and decay; a layer's rate is
            `layer_decay` times that of the layer above.
        warmup, schedule: fraction of the updates in which the rate rises, and what follows.
        weight_decay, label_smoothing, gradient_norm, beta_2, epsilon: as usual.
        averaging: decay of the moving average of the weights, which are evaluated and saved; 0 for none.
        evaluations: number of evaluations on the validation split per epoch.
        patience: number of evaluations without a lower validation cross-entropy after which training stops; 0 to never
            stop.
        precision: "no", "bf16" or "fp16".
        seed: seed of all randomness.
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
    class_balance: float = 0.0
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
    epsilon: float = 1e-8
    averaging: float = 0.0
    evaluations: int = 1
    patience: int = 0
    precision: Literal["no", "bf16", "fp16"] = "no"
    seed: int = 0


def read_recipe(path: Path, changes: Sequence[str] = ()) -> ClassifierRecipe:
    """Read a recipe.

    Args:
        path: the YAML file.
        changes: texts "KEY=VALUE", the value as YAML, that take the place of what the file says.

    Raises:
        RecipeError: a key is unknown, or a value has the wrong type or is out of range.
    """
    recipe = build(ClassifierRecipe, read_settings(path, changes), str(path))
    for key in ("batch", "micro_tokens", "epochs", "evaluations"):
        if getattr(recipe, key) < 1:
            raise RecipeError(f"{path}: {key} must be at least 1, got {getattr(recipe, key)}")
    for key in ("lora_rank", "context"):
        if (getattr(recipe, key) or 0) < 0:
            raise RecipeError(f"{path}: {key} must be at least 0, got {getattr(recipe, key)}")
    if not recipe.extended >= 0:
        raise RecipeError(f"{path}: extended is a weight and must be at least 0, got {recipe.extended}")
    for key in ("class_balance", "workers_share"):
        if not 0 <= getattr(recipe, key) <= 1:
            raise RecipeError(f"{path}: {key} must be from 0 to 1, got {getattr(recipe, key)}")
    if len(recipe.shares) != 3 or abs(sum(recipe.shares) - 1) > 1e-6:
        raise RecipeError(
            f"{path}: shares must be three numbers that sum to 1 (train, validation, test), got {list(recipe.shares)}"
        )
    return recipe
