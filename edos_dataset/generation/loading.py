"""Writers and predictors from folders and from the Hub.

Folders are untrusted input: weights must be safetensors, and code beside them is run only if the caller trusts it;
models of this package need none.
"""

from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from edos_dataset.encoders.encoder import pack_linears
from edos_dataset.encoders.folders import download_model, read_json
from edos_dataset.generation.config import PredictorConfig, ResponseConfig
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.generation.shipped import (
    ADAPTER,
    DEFAULT_MODEL,
    PREDICTOR,
    SHIPPED,
    SHIPPED_RESPONDERS,
    shipped_folder,
)
from edos_dataset.generation.writers import LabelPredictor, PromptFormat, PromptWriter, TransformerWriter, Writer
from edos_dataset.labeling.models.saved_model import ModelError, check_layers, check_tokenizer, check_weights, loading
from edos_dataset.labels import LABELS


def load_writer(
    name: str | Path, trust: bool = False, device: str = "cpu", revision: str | None = None
) -> tuple[Path, Writer]:
    """Return the local folder of a model, downloaded from the Hub if needed, and its writer.

    A model of another kind may be any language model, or an adapter. The base model of an adapter of the Hub is
    downloaded too; that of an adapter in a folder must be on this machine.

    Args:
        name: in this order: a shipped model, a folder, a Hub id.
        trust: run the code that comes with the model, if its configuration names any; ours never needs it.
        device: torch device.
        revision: tag, branch or commit of a model of the Hub. The base model of an adapter has the revision that the
            adapter names.

    Raises:
        ValueError: there is no such model or revision, it is damaged, or it needs code that is not trusted; or a
            revision is given for a folder.
    """
    folder = _local(str(name), trust, revision)
    if (folder / ADAPTER).is_file():
        base, its_revision = base_of(folder)
        if Path(name).is_dir():  # a folder asks for nothing from the Hub
            return folder, load_backbone(folder, trust, device, _here(folder, base, trust, its_revision))
        if name in SHIPPED:
            return folder, load_backbone(folder, trust, device, _base_of_shipped(str(name), base))
        return folder, load_backbone(folder, trust, device, _local(base, trust, its_revision))
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no response model: it has no config.json, nor an {ADAPTER}")
    if read_json(folder / "config.json").get("model_type") != ResponseConfig.model_type:
        return folder, load_backbone(folder, trust, device)
    return folder, TransformerWriter(*load_own(folder, ResponseModel, device))


def load_predictor(folder: Path, device: str = "cpu") -> LabelPredictor | None:
    """Return the predictor in a model's folder, or None if it has none.

    Raises:
        ModelError: the predictor is damaged.
    """
    if not (folder / PREDICTOR).is_dir():
        return None
    return LabelPredictor(*load_own(folder / PREDICTOR, ResponsePredictor, device))


def load_own(folder: Path, kind: Any, device: str, packed: bool = True) -> tuple[Any, Any]:  # noqa: ANN401
    """Return a model of this package and its tokenizer from a folder, without running code from there.

    Args:
        folder: written by `save_pretrained` of both.
        kind: `ResponseModel` or `ResponsePredictor`.
        device: torch device.
        packed: pack the weights for oneDNN if the device is a CPU.

    Raises:
        ModelError: the folder is damaged or incomplete, or the tokenizer belongs to another model.
    """
    check_weights(folder)
    with loading(folder, "tokenizer"):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    with loading(folder, "response model"):
        # Not AutoConfig: our models are always built by our classes, whatever code a configuration names (`auto_map`).
        config = kind.config_class.from_dict(read_json(folder / "config.json"))
        check_layers(vars(config))
        model, keys = kind.from_pretrained(
            folder, config=config, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
        if lacking := sorted(keys["missing_keys"]) + sorted(keys["unexpected_keys"]):
            raise ValueError(f"its weights do not match its configuration: {lacking[0]}")
        _check_finite(model)
        model = model.float().to(device).eval()
    check_tokenizer(folder, tokenizer, config, config.vocab_size)
    if tokenizer.eos_token_id != config.eos_token_id or tokenizer.bos_token_id != config.bos_token_id:
        raise ModelError(f"the tokenizer in {folder} is another model's: it starts or ends texts with other tokens")
    if kind.config_class is PredictorConfig:
        names = [str(config.id2label[number]).lower() for number in sorted(config.id2label)]
        if names not in (list(LABELS), [f"label_{number}" for number in range(len(LABELS))]):
            raise ModelError(f"{folder} predicts other labels than our {len(LABELS)}, or in another order (id2label)")
    if packed and model.device.type == "cpu":
        pack_linears(model)
    return model, tokenizer


def _here(folder: Path, base: str, code: bool, revision: str | None) -> Path:
    """Return the folder of the base model of an adapter on this machine, without asking the Hub.

    Raises:
        ModelError: it is not here.
    """
    if base in SHIPPED or Path(base).is_dir():
        return _local(base, code, None)
    try:
        return download_model(base, code, revision, only_here=True)
    except (OSError, ValueError) as error:
        at = "" if revision is None else f" --revision {revision}"
        raise ModelError(
            f"{folder} has an adapter of the model {base!r}, which is not on this machine: download it first with "
            f"`hf download {base}{at}`, or merge the adapter into it"
        ) from error


def _base_of_shipped(name: str, base: str) -> Path:
    """Return the folder of the base model of a shipped adapter, downloaded from the Hub if needed.

    Raises:
        ModelError: it is neither on this machine nor to be had.
    """
    try:
        return download_model(base)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the response model {name!r} is an adapter of {base!r}, which is neither on this machine nor given by the "
            f"Hub: {error}; download it once with `hf download {base}`, or use {DEFAULT_MODEL!r}, which needs nothing "
            "else"
        ) from error


def _check_finite(model: Any) -> None:  # noqa: ANN401 - of transformers
    for name, values in model.named_parameters():
        if not values.isfinite().all():
            raise ValueError(f"its weights {name} have values that are not finite")


def _local(name: str, code: bool, revision: str | None) -> Path:
    shipped = name in SHIPPED
    if shipped or Path(name).is_dir():
        if revision is not None:
            what = "comes with this package" if shipped else "is a folder"
            raise ValueError(f"the revision is {revision!r}, but only the Hub has revisions, and {name} {what}")
        return shipped_folder(name) if shipped else Path(name)
    try:
        return download_model(name, code, revision)
    except (OSError, ValueError) as error:
        meant = repr(name) if revision is None else f"{name!r} in the revision {revision!r}"
        raise ValueError(
            f"{meant} is neither a folder nor a model that the Hub gave: {error}; give the Hub id as owner/model, or "
            f"{SHIPPED_RESPONDERS}, which come with this package"
        ) from error


def load_backbone(folder: Path, trust: bool = False, device: str = "cpu", base: Path | None = None) -> PromptWriter:
    """Return the language model in a folder as a writer.

    Args:
        folder: written by `save_pretrained` of a model and its tokenizer, or of an adapter; an adapter without a
            tokenizer has its base model's.
        trust: run the code that comes with the model, if its configuration names any.
        device: torch device.
        base: folder of the adapter's base model.

    Raises:
        ModelError: the folder is damaged or incomplete, has another kind of model, or needs code that is not trusted.
    """
    form, whole = PromptFormat.load(folder), folder if base is None else base
    check_weights(whole)
    check_weights(folder)
    with loading(whole, "language model"):
        config = AutoConfig.from_pretrained(whole, trust_remote_code=trust)
        for settings in (vars(config), vars(config.get_text_config())):
            check_layers(settings)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model = kind.from_pretrained(whole, config=config, trust_remote_code=trust, use_safetensors=True)
        _check_finite(model)
    with_tokenizer = folder if (folder / "tokenizer_config.json").is_file() else whole
    with loading(with_tokenizer, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(with_tokenizer, trust_remote_code=trust)
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        if base is None:
            raise ModelError(f"the tokenizer in {folder} is another model's: it has {len(tokenizer):,} tokens")
        model.resize_token_embeddings(len(tokenizer))
    if base is not None:
        model = _adapted(model, folder)
    if device == "cpu":
        model = model.float()
    return PromptWriter(model.to(device).eval(), tokenizer, form)


def base_of(folder: Path) -> tuple[str, str | None]:
    """Return the name of an adapter's base model, and its revision if it is a model of the Hub with one.

    Raises:
        ModelError: the adapter names no model.
    """
    settings = read_json(folder / ADAPTER)
    name, revision = settings.get("base_model_name_or_path"), settings.get("revision")
    if not isinstance(name, str) or not name:
        raise ModelError(f"{folder / ADAPTER} names no base_model_name_or_path: save the adapter again")
    return name, revision if isinstance(revision, str) and not Path(name).is_dir() else None


def _adapted(model: Any, folder: Path) -> Any:  # noqa: ANN401
    try:
        import peft
    except ImportError as error:
        raise ModelError(f"{folder} has an adapter, which needs peft: pip install 'edos-dataset[training]'") from error
    with loading(folder, "adapter"):
        # Not `PeftModel.from_pretrained`, which would read a pickle if there are no safetensors.
        library: Any = peft
        settings = library.PeftConfig.from_peft_type(**read_json(folder / ADAPTER))
        adapted = library.get_peft_model(model, settings)
        keys = library.set_peft_model_state_dict(adapted, load_file(folder / "adapter_model.safetensors"))
        if strange := list(keys.unexpected_keys):
            raise ValueError(f"the model has no place for its weights {strange[0]}")
        return adapted.merge_and_unload()
