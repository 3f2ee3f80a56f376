"""The model of a recipe: built from a backbone or a trained classifier; its input as token ids; its learning rates by
layer.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from edos_dataset.augmentation.labelled import EDOS
from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.label_sets import BUILT_IN, LabelSet
from edos_dataset.labeling.models.classifier import DialogueClassifier, DialogueClassifierConfig
from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labeling.models.saved_model import LABEL_SET, SEVERAL
from edos_dataset.labels import LABEL_IDS, LABELS
from training.classifier.recipe import ClassifierRecipe

HIDDEN_DROPOUTS = ("hidden_dropout_prob", "hidden_dropout", "dropout", "embedding_dropout", "mlp_dropout")
ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
NAMES: dict[str, Any] = {"num_labels": len(LABELS), "id2label": dict(enumerate(LABELS)), "label2id": dict(LABEL_IDS)}


def names_of(labels: LabelSet) -> dict[str, Any]:
    """Return the labels of a set as a configuration has them, and the set itself unless it is the default."""
    if labels == EDOS:
        return NAMES
    kept = labels.name if labels.name in BUILT_IN else labels.described().as_dict()
    ids = dict(labels.ids)
    return {"num_labels": len(labels), "id2label": dict(enumerate(labels.labels)), "label2id": ids, LABEL_SET: kept}


class OnBackbone(Protocol):
    """The recipe of a model that has a backbone."""

    @property
    def base_model(self) -> str: ...  # noqa: D102 - see `ClassifierRecipe`

    @property
    def encoder_dropout(self) -> float: ...  # noqa: D102


def build_tokenizer(recipe: OnBackbone) -> PreTrainedTokenizerBase:
    """Return the backbone's tokenizer, set up to treat "[SEP]" in a text as text rather than the end of a turn.

    Raises:
        ValueError: there is none, or it has no token that begins or ends a text, so that its model is no encoder.
    """
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            _backbone(recipe.base_model), split_special_tokens=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"base_model {recipe.base_model} cannot be used: {reason}; give an encoder of the Hub, or the folder of one"
        ) from error
    if lacking := [name for name in ("cls", "sep", "pad") if getattr(tokenizer, f"{name}_token_id") is None]:
        raise ValueError(
            f"base_model {recipe.base_model} has no {lacking[0]} token: give an encoder, such as BERT, RoBERTa, "
            "DeBERTa or ModernBERT"
        )
    return tokenizer


def build_model(
    recipe: ClassifierRecipe,
    tokenizer: PreTrainedTokenizerBase,
    start: Path | None,
    labels: LabelSet = EDOS,
    several: bool = False,
) -> PreTrainedModel:
    """Return the model to train.

    Args:
        recipe: the training.
        tokenizer: the backbone's.
        start: folder of a trained classifier with the same backbone whose weights to start from, including its head if
            it has the same labels; without it the head is new.
        labels: its labels.
        several: whether a turn can have several of them.

    Raises:
        ValueError: the architecture cannot give a turn several labels, or `start` has another backbone.
    """
    if several and recipe.architecture != "plain":
        raise ValueError(
            "turns with several labels need the recipe's architecture to be plain: --set architecture=plain"
        )
    backbone = read_backbone(recipe, recipe.attention_dropout)
    names = names_of(labels)
    if recipe.architecture == "plain":
        model = _plain(recipe, backbone, names, several)
    else:
        model = _ours(recipe, backbone, tokenizer, names)
    if start is not None:
        _take_over(model, AutoModelForSequenceClassification.from_pretrained(start, trust_remote_code=False))
    if recipe.lora_rank:
        add_adapters(_encoder(model), recipe.lora_rank, recipe.encoder_dropout)
    elif recipe.frozen_embeddings:
        _encoder(model).get_input_embeddings().requires_grad_(False)
    if isinstance(model, DialogueClassifier):
        # Parameters that the forward pass does not use are frozen: several processes would wait for their gradients.
        unused = ("encoder.pooler.", "attention_") if recipe.pooling == "mean" else ("encoder.pooler.",)
        for name, parameter in model.named_parameters():
            if name.startswith(unused):
                parameter.requires_grad_(False)
    return model


def read_backbone(recipe: OnBackbone, attention_dropout: float, layers: int | None = None) -> PreTrainedModel:
    """Return the backbone with its pretrained weights.

    Args:
        recipe: names the backbone and the dropout of its hidden states.
        attention_dropout: dropout of its attention.
        layers: number of layers to keep, from the lowest; None for all.

    Raises:
        ValueError: it has fewer layers.
    """
    settings = AutoConfig.from_pretrained(_backbone(recipe.base_model), trust_remote_code=False)
    for names, value in ((HIDDEN_DROPOUTS, recipe.encoder_dropout), (ATTENTION_DROPOUTS, attention_dropout)):
        settings.update(
            {name: value for name in names if hasattr(settings, name)}
        )  # each family of models has its own names
    if layers is not None:
        if not 1 <= layers <= settings.num_hidden_layers:
            raise ValueError(f"layers is {layers}, but {recipe.base_model} has {settings.num_hidden_layers}")
        settings.num_hidden_layers = layers
    # Weights are trained in single precision, however they are stored; `precision` applies to the forward pass.
    backbone: PreTrainedModel = AutoModel.from_pretrained(
        _backbone(recipe.base_model), config=settings, dtype=torch.float32, trust_remote_code=False
    )
    return backbone


def _plain(
    recipe: ClassifierRecipe, backbone: PreTrainedModel, names: dict[str, Any], several: bool
) -> PreTrainedModel:
    """Return the backbone's stock classifier, which has its own pooler, with the encoder weights of the backbone."""
    config = backbone.config
    own = {"classifier_dropout": recipe.dropout, "problem_type": SEVERAL if several else "single_label_classification"}
    config.update({**names, **own, "context": recipe.context})
    model: PreTrainedModel = AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]
    model.base_model.load_state_dict(backbone.state_dict(), strict=False)
    return model


def _ours(
    recipe: ClassifierRecipe, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, names: dict[str, Any]
) -> PreTrainedModel:
    path = "_name_or_path"  # a path on this machine
    model = DialogueClassifier(
        DialogueClassifierConfig(
            encoder={key: value for key, value in backbone.config.to_dict().items() if key != path},
            decay=recipe.decay,
            normalisation=recipe.normalisation,
            pooling=recipe.pooling,
            separators=separators_between(tokenizer),
            separator_id=tokenizer.sep_token_id,
            max_tokens=recipe.max_tokens,
            dropout=recipe.dropout,
            context=recipe.context,
            **names,
        )
    )
    model.encoder.load_state_dict(backbone.state_dict())
    return model


def _encoder(model: PreTrainedModel) -> PreTrainedModel:
    return cast(PreTrainedModel, model.base_model)


def _take_over(model: PreTrainedModel, trained: PreTrainedModel) -> None:
    """Load the weights of a trained classifier: always its encoder, and its head if it has the same labels."""
    own, prefix = model.state_dict(), f"{trained.base_model_prefix}."
    known = {
        re.sub(f"^{re.escape(prefix)}", f"{model.base_model_prefix}.", name): value
        for name, value in trained.state_dict().items()
        if name.startswith(prefix) or trained.config.id2label == model.config.id2label
    }
    for name, value in own.items():
        inside = name.startswith(f"{model.base_model_prefix}.") and "pooler" not in name
        if (inside and name not in known) or (name in known and known[name].shape != value.shape):
            raise ValueError(
                f"--start: the classifier has another backbone than the recipe's base_model: its {name} is missing or "
                "of another shape"
            )
    model.load_state_dict({name: value for name, value in known.items() if name in own}, strict=False)


def add_adapters(encoder: nn.Module, rank: int, dropout: float) -> None:
    """Freeze an encoder and add trainable LoRA adapters to all of its linear layers (Hu et al., 2022), scaled by 2."""
    from peft import LoraConfig, inject_adapter_in_model
    from peft.tuners.tuners_utils import BaseTunerLayer

    settings = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=dropout,
        target_modules="all-linear",
    )
    encoder.requires_grad_(False)
    inject_adapter_in_model(settings, encoder)
    for module in encoder.modules():
        if isinstance(module, BaseTunerLayer):
            cast(
                Any, module
            ).cast_input_dtype_enabled = False  # autocast does it; otherwise from half to single and back


@contextmanager
def frozen_layers_in(kind: torch.dtype | None, encoder: nn.Module) -> Iterator[None]:
    """Keep the frozen linear layers of an encoder in a type within a `with` block, so that autocast need not cast them
    in every pass (a quarter of the time on a CPU); afterwards they are as before. With None nothing changes.
    """
    layers = [module for module in encoder.modules() if isinstance(module, nn.Linear)] if kind else []
    frozen = [each for layer in layers for each in layer.parameters(recurse=False) if not each.requires_grad]
    before = [each.data for each in frozen]
    for each in frozen:
        each.data = each.data.to(kind)
    try:
        yield
    finally:
        for each, values in zip(frozen, before, strict=True):
            each.data = values.to(each.device)


def merge_adapters(model: nn.Module) -> None:
    """Merge LoRA adapters into the weights that they modify, so that the saved model needs no adapters."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], module.get_base_layer())


def token_ids(
    recipe: ClassifierRecipe, tokenizer: PreTrainedTokenizerBase, dialogues: Sequence[Sequence[str]]
) -> list[list[int]]:
    """Return the input of every dialogue, newest turn first, at most `max_tokens` long, with at most `context` earlier
    turns.
    """
    kept = [list(turns) if recipe.context is None else list(turns[-recipe.context - 1 :]) for turns in dialogues]
    texts = [turn for turns in kept for turn in turns]
    flat = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    separators, result, start = separators_between(tokenizer), [], 0
    for turns in kept:
        own, start = flat[start : start + len(turns)], start + len(turns)
        result.append(sequence(own, tokenizer.cls_token_id, tokenizer.sep_token_id, separators, recipe.max_tokens))
    return result


def separators_between(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return how many separator tokens the tokenizer puts between two texts: 1 in BERT, 2 in RoBERTa."""
    return int(tokenizer("a", "a")["input_ids"].count(tokenizer.sep_token_id)) - 1


def parameter_groups(model: PreTrainedModel, recipe: ClassifierRecipe) -> list[dict[str, Any]]:
    """Return the trained parameters with their learning rates: `head_learning_rate` outside the encoder, and rates that
    decrease from layer to layer downwards inside it.

    Biases and normalisations have no weight decay.
    """
    encoder = _encoder(model)
    depth = int(encoder.config.num_hidden_layers)
    inside = {id(parameter) for parameter in encoder.parameters()}
    rates: list[tuple[nn.Parameter, float]] = []
    for name, parameter in model.named_parameters():
        rate = recipe.head_learning_rate
        if id(parameter) in inside and "pooler" not in name:
            layer = re.search(r"\.layers?\.(\d+)\.", name)
            rate = recipe.learning_rate * recipe.layer_decay ** (depth - int(layer[1]) - 1 if layer else depth)
        rates.append((parameter, rate))
    return grouped(rates, recipe.weight_decay)


def grouped(rates: Iterable[tuple[nn.Parameter, float]], weight_decay: float) -> list[dict[str, Any]]:
    """Return the trained parameters as optimizer groups, each with one learning rate and weight decay. Biases and
    normalisations have no weight decay.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter, rate in rates:
        if parameter.requires_grad:
            groups.setdefault((rate, weight_decay if parameter.ndim > 1 else 0.0), []).append(parameter)
    return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def _backbone(name: str) -> str:
    return str(model_folder(name)) if name == DEFAULT_MODEL else name
