"""What a recipe of `train_generator.py` may say: one YAML file, every key with its default here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal

from edos_dataset.runs.foreign import ForeignError, read_yaml, shown, yaml_of
from edos_dataset.runs.recipes import RecipeError, build
from training.loop.rates import Schedule

Kind = Literal["plain", "empathetic", "predictor", "causal_lora", "seq2seq_lora", "gpt2_two_heads"]

LABELLED = ("empathetic", "predictor")
"""Kinds that need a label of every turn, whatever their recipe says."""

OF_OTHERS = ("causal_lora", "seq2seq_lora", "gpt2_two_heads")
"""Kinds that start from a model of others."""


@dataclass(frozen=True)
class GeneratorRecipe:
    """A training of a model that answers, or of the predictor of the answer's label.

    Data:
        kind: "plain" (Transformer), "empathetic" (with labels and speakers, conditioned on the answer's label),
            "predictor" (of the answer's label), "causal_lora" and "seq2seq_lora" (adapters in a model of the Hub),
            "gpt2_two_heads" (language model and next utterance).
        data: sources, each "empathetic_dialogues", "dailydialog", or a config of the data set given by `--dialogues`:
            "os", "edos", "edos_initial", ...
        labeler: labels the turns that have no label, where the kind needs them: a name that `load_labeler` knows; null
            for none.
        relabel: label all turns by it, also those that have a label.
        split_seed: of the division into parts, by documents, where the data give none.
        max_tokens: of a history, and of an answer.
        history_turns: most turns of a history; null for all that `max_tokens` has room for.
        long_pairs: what becomes of a longer history: "cut" (its oldest turns go) or "drop" (the pair is left out, as in
            the papers). An answer that is longer is left out.

    Model:
        tokenizer: Hub id or folder; "" for one learned from the training part, or that of the model it starts from.
        vocabulary: tokens of the learned one.
        hidden_size, layers, heads, intermediate_size, dropout, tie_output: see `ResponseConfig`.
        initial: standard deviation of the weights before training. Of a small one the layers change little at first, so
            that the tokens of a history stay apart until the decoder has learned to look at them.
        first_bias: the biases of the output layer before training, of models of ours: the logarithm of how often each
            token comes ("frequencies"), or 0. From 0, the first thing learned is one vector that all histories share,
            and it may drown what tells them apart for good: see `history_gain` in `metrics.json`.
        base_model: Hub id or folder of the model of others that is trained.
        label_form: how it is told labels: "none", "words" (in brackets before a turn) or "tokens" (one new token each).
        lora_rank: of the adapters; 0 trains all weights.
        next_utterance: weight of the next-utterance loss of two heads; `language_model` is that of the other.

    Optimisation:
        batch: pairs of an update, over all processes; 0 for as many as `batch_tokens` has room for.
        batch_tokens: tokens of an update, of histories and answers, without padding.
        pool: updates whose pairs are sorted by length together, so that little is padded; 1 for none.
        micro_tokens: most tokens, padding included, of a forward pass in one process: an update is accumulated over
            as many as it takes.
        epochs: passes over the training part.
        updates: end after so many; 0 for all of the epochs.
        learning_rate: highest of AdamW.
        warmup: share of the updates in which it rises; `warmup_updates`, if not 0, their number.
        schedule: "linear" (to zero), "constant" or "inverse_root".
        weight_decay, gradient_norm (0 for no bound), beta_2, epsilon: as usual.
        label_smoothing: share of a target's probability that is spread over all tokens.
        mean_over: what the loss is a mean over: "tokens", or "pairs", each the mean over its own tokens (the papers).
        averaging: decay of the moving average of the weights, which is what is evaluated and kept; 0 for none.
        evaluations: evaluations of the validation part in an epoch; `validation_pairs` of it, 0 for all.
        patience: evaluations without a lower validation cross-entropy after which training stops; 0 for never.
        precision: "no", "bf16", "fp16", or "auto": bf16 where processors or GPU multiply in it.
        seed: of everything random.
    """

    name: ClassVar[str] = "generator"

    kind: Kind = "empathetic"
    data: tuple[str, ...] = ("empathetic_dialogues",)
    labeler: str | None = "general"
    relabel: bool = False
    split_seed: int = 0
    max_tokens: int = 100
    history_turns: int | None = None
    long_pairs: Literal["cut", "drop"] = "cut"

    tokenizer: str = ""
    vocabulary: int = 8000
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
    patience: int = 0
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"
    seed: int = 0

    @property
    def labelled(self) -> bool:
        """Whether turns need labels."""
        return self.kind in LABELLED or (self.kind in OF_OTHERS[:2] and self.label_form != "none")


_LEAST = {"batch_tokens": 1, "micro_tokens": 1, "epochs": 1, "evaluations": 1, "pool": 1, "max_tokens": 4, "batch": 0}
_LEAST |= {"updates": 0, "warmup_updates": 0, "validation_pairs": 0, "patience": 0, "lora_rank": 0, "split_seed": 0}
_BELOW_ONE = ("dropout", "label_smoothing", "averaging", "warmup", "beta_2")


def read_recipe(path: Path, changes: Sequence[str] = ()) -> GeneratorRecipe:
    """Read a recipe.

    Args:
        path: the YAML file.
        changes: texts "KEY=VALUE", the value as YAML, that take the place of what the file says.

    Raises:
        RecipeError: a key that is none, or a value of the wrong type or out of range.
    """
    try:
        settings = read_yaml(path) or {}
    except ForeignError as error:
        raise RecipeError(f"{path}: not a readable YAML file: {error}") from error
    if changes and not isinstance(settings, dict):
        raise RecipeError(f"{path} is no recipe: it must say `key: value`, line by line")
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise RecipeError(f"--set expects KEY=VALUE, as in epochs=3; got {shown(change)}")
        try:
            settings[key] = _number(yaml_of(text))
        except ForeignError as error:
            raise RecipeError(f"--set {change}: {shown(text)} is not a YAML value ({error})") from error
    recipe = build(GeneratorRecipe, settings, str(path))
    _check(recipe, path)
    return recipe


def _number(value: object) -> object:
    """Return a number that YAML takes for a text, such as 1e-3, as one."""
    try:
        return float(value) if isinstance(value, str) and "e" in value.lower() else value
    except ValueError:
        return value


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
    if recipe.kind in OF_OTHERS and not recipe.base_model:
        raise RecipeError(f"{path}: kind {recipe.kind} needs a base_model, a Hub id or a folder")
    if recipe.kind not in OF_OTHERS and recipe.base_model:
        raise RecipeError(f"{path}: kind {recipe.kind} has no base_model: leave it out, or give --start")
    if not recipe.learning_rate > 0:
        raise RecipeError(f"{path}: learning_rate must be above 0, got {recipe.learning_rate}")


def settings_of(recipe: GeneratorRecipe) -> dict[str, object]:
    """Return the recipe's settings; of a path on this machine only the name is told."""
    own = asdict(recipe)
    for key in (field.name for field in fields(recipe)):
        if isinstance(own[key], str) and Path(own[key]).is_absolute():
            own[key] = Path(own[key]).name
    return own
