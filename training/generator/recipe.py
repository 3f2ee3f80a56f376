"""The recipe of `train_generator.py`: a YAML file; the defaults of all keys are given here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.recipes import RecipeError, build
from training.loop import Schedule
from training.settings import read_settings

Kind = Literal["plain", "empathetic", "predictor", "causal_lora", "seq2seq_lora", "gpt2_two_heads"]

LABELLED = ("empathetic", "predictor")
"""Kinds that always need a label for every turn."""

OF_OTHERS = ("causal_lora", "seq2seq_lora", "gpt2_two_heads")
"""Kinds that start from a third-party model."""


@dataclass(frozen=True)
class GeneratorRecipe:
    """A training of a response model, or of the predictor of the response's label.

    Data:
        kind: "plain" (Transformer), "empathetic" (with labels and speakers, conditioned on the answer's label),
            "predictor" (of the answer's label), "causal_lora" and "seq2seq_lora" (adapters in a model on the Hub),
            "gpt2_two_heads" (language model and next utterance).
        data: sources, each "empathetic_dialogues", "dailydialog", or a config of the dataset given by `--dialogues`:
            "os", "edos", "edos_initial", ...
        labeler: labels the turns without labels, if the kind needs them: a name that `load_labeler` accepts; null for
            none.
        relabel: label all turns with it, including labelled ones.
        without: config of `--dialogues` whose dialogues are left out of the others, as the papers train on those of
            OpenSubtitles that are not in EDOS; null for none.
        drop_overlap: leave training pairs out whose last two turns also follow each other in a test dialogue; for our
            own models.
        split_seed: seed of the split by documents, if the data state none.
        max_tokens: maximum length of a history, and of an answer.
        history_turns: maximum number of turns of a history; null for all that fit in `max_tokens`.
        long_pairs: what happens to longer histories: "cut" (oldest turns are dropped) or "drop" (the pair is left out,
            as in the papers). Longer answers are always left out.

    Model:
        tokenizer: Hub id or folder; "" for one trained on the training split, or that of the starting model.
        vocabulary: size of the trained tokenizer.
        lower_case: whether it reads and writes lower case alone.
        hidden_size, layers, heads, intermediate_size, dropout, tie_output: see `ResponseConfig`.
        initial: standard deviation of the initial weights. If it is small, the layers change little at first, so that
            the tokens of a history stay distinct until the decoder has learned to attend to them.
        first_bias: initial biases of the output layer, for our own models: the log frequency of each token
            ("frequencies"), or 0. From 0, the model first learns one vector that all histories share, which can
            permanently hide their differences: see `history_gain` in `metrics.json`.
        base_model: Hub id or folder of the third-party model to train.
        label_form: how that model gets labels: "none", "words" (in brackets before a turn) or "tokens" (a new token for
            each).
        whole_dialogues: for "causal_lora": a conversation is one sequence of at most `max_tokens`, in which every turn
            but the first is an answer; the "pairs" of an update are conversations. Otherwise each answer is read with
            its own history.
        lora_rank: rank of the adapters; 0 trains all weights.
        next_utterance: weight of the next-utterance loss of two heads; `language_model` is that of the other loss.

    Optimisation:
        batch: pairs per update, over all processes; 0 for as many as fit in `batch_tokens`.
        batch_tokens: tokens per update, of histories and answers, without padding.
        pool: number of updates whose pairs are sorted by length together to reduce padding; 1 for none.
        micro_tokens: maximum number of tokens, padding included, in a forward pass of one process; gradients are
            accumulated over the passes of an update.
        epochs: passes over the training split.
        updates: stop after this many updates; 0 for no limit.
        learning_rate: peak rate of AdamW.
        warmup: fraction of the updates in which the rate rises; `warmup_updates`, if not 0, is their number.
        schedule: "linear" (to zero), "constant" or "inverse_root".
        weight_decay, gradient_norm (0 for no limit), beta_2, epsilon: as usual.
        label_smoothing: fraction of a target's probability that is spread over all tokens.
        mean_over: what the loss is averaged over: "tokens", or "pairs", each averaged over its own tokens (the papers).
        averaging: decay of the moving average of the weights, which are evaluated and saved; 0 for none.
        evaluations: number of evaluations on the validation split per epoch, on `validation_pairs` of its pairs, 0 for
            all.
        final_pairs: number of pairs of the validation and of the test split, evenly spread, that are measured when the
            training has ended; 0 for all.
        patience: number of evaluations without a lower validation cross-entropy after which training stops; 0 to never
            stop.
        precision: "no", "bf16", "fp16", or "auto": bf16 if the processor or GPU supports it.
        seed: seed of all randomness.
    """

    name: ClassVar[str] = "generator"

    kind: Kind = "empathetic"
    data: tuple[str, ...] = ("empathetic_dialogues",)
    labeler: str | None = "general"
    relabel: bool = False
    without: str | None = None
    drop_overlap: bool = False
    split_seed: int = 0
    max_tokens: int = 100
    history_turns: int | None = None
    long_pairs: Literal["cut", "drop"] = "cut"

    tokenizer: str = ""
    vocabulary: int = 8000
    lower_case: bool = False
    hidden_size: int = 300
    layers: int = 4
    heads: int = 6
    intermediate_size: int = 1200
    dropout: float = 0.1
    tie_output: bool = False
    initial: float = 0.02
    first_bias: Literal["frequencies", "zero"] = "frequencies"
    base_model: str = ""
    label_form: Literal["none", "words", "tokens"] = "tokens"
    whole_dialogues: bool = False
    lora_rank: int = 16
    next_utterance: float = 1.0
    language_model: float = 2.0

    batch: int = 0
    batch_tokens: int = 8192
    pool: int = 16
    micro_tokens: int = 4096
    epochs: int = 10
    updates: int = 0
    learning_rate: float = 5e-4
    warmup: float = 0.06
    warmup_updates: int = 0
    schedule: Schedule = "linear"
    weight_decay: float = 0.01
    gradient_norm: float = 1.0
    beta_2: float = 0.98
    epsilon: float = 1e-6
    label_smoothing: float = 0.0
    mean_over: Literal["tokens", "pairs"] = "tokens"
    averaging: float = 0.0
    evaluations: int = 1
    validation_pairs: int = 0
    final_pairs: int = 0
    patience: int = 0
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"
    seed: int = 0

    @property
    def labelled(self) -> bool:
        """Whether the turns need labels."""
        return self.kind in LABELLED or (self.kind in OF_OTHERS[:2] and self.label_form != "none")


_LEAST = {"batch_tokens": 1, "micro_tokens": 1, "epochs": 1, "evaluations": 1, "pool": 1, "max_tokens": 4, "batch": 0}
_LEAST |= {"updates": 0, "warmup_updates": 0, "validation_pairs": 0, "final_pairs": 0, "patience": 0, "lora_rank": 0}
_LEAST |= {"split_seed": 0}
_BELOW_ONE = ("dropout", "label_smoothing", "averaging", "warmup", "beta_2")


def read_recipe(path: Path, changes: Sequence[str] = ()) -> GeneratorRecipe:
    """Read a recipe.

    Args:
        path: the YAML file.
        changes: texts "KEY=VALUE", the value as YAML, that override the file.

    Raises:
        RecipeError: a key is unknown, or a value has the wrong type or is out of range.
    """
    recipe = build(GeneratorRecipe, read_settings(path, changes), str(path))
    _check(recipe, path)
    return recipe


def _check(recipe: GeneratorRecipe, path: Path) -> None:
    values = asdict(recipe)
    for key, least in _LEAST.items():
        if values[key] < least:
            raise RecipeError(f"{path}: {key} must be at least {least}, got {values[key]}")
    for key in _BELOW_ONE:
        if not 0 <= values[key] < 1:
            raise RecipeError(f"{path}: {key} must be at least 0 and below 1, got {values[key]}")
    if not recipe.data:
        raise RecipeError(f"{path}: data names no source, such as empathetic_dialogues or edos")
    if recipe.history_turns is not None and recipe.history_turns < 1:
        raise RecipeError(f"{path}: history_turns must be at least 1, or null for all, got {recipe.history_turns}")
    if not recipe.learning_rate > 0:
        raise RecipeError(f"{path}: learning_rate must be above 0, got {recipe.learning_rate}")
    _check_kind(recipe, path)


def _check_kind(recipe: GeneratorRecipe, path: Path) -> None:
    """Check what is only for models of ours, or only for those of others."""
    of_others = recipe.kind in OF_OTHERS
    if of_others and not recipe.base_model:
        raise RecipeError(f"{path}: kind {recipe.kind} needs a base_model, a Hub id or a folder")
    if not of_others and recipe.base_model:
        raise RecipeError(f"{path}: kind {recipe.kind} has no base_model: leave it out, or give --start")
    if recipe.whole_dialogues and recipe.kind != "causal_lora":
        raise RecipeError(f"{path}: whole_dialogues is for the kind causal_lora, not {recipe.kind}")
    if of_others and recipe.drop_overlap:
        raise RecipeError(f"{path}: drop_overlap is for kinds {', '.join(('plain', *LABELLED))}, not {recipe.kind}")


def settings_of(recipe: GeneratorRecipe) -> dict[str, object]:
    """Return the recipe's settings; absolute paths are shortened to names."""
    own = asdict(recipe)
    for key in (field.name for field in fields(recipe)):
        if isinstance(own[key], str) and Path(own[key]).is_absolute():
            own[key] = Path(own[key]).name
    return own
