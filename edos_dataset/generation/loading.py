"""Writers and predictors from folders and from the Hub.

Folders come from others too: weights are safetensors and nothing else, and no code that lies beside them is run unless
the caller trusts it; a model of ours needs none.
"""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from edos_dataset.encoders.encoder import pack_linears
from edos_dataset.encoders.folders import read_json
from edos_dataset.generation.backbones import ADAPTER, base_of, load_backbone
from edos_dataset.generation.config import PredictorConfig, ResponseConfig
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.packed import PREDICTOR
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.generation.shipped import SHIPPED, SHIPPED_RESPONDERS, shipped_folder
from edos_dataset.generation.writers import LabelPredictor, TransformerWriter, Writer
from edos_dataset.labeling.models.saved_model import ModelError, check_tokenizer, check_weights, loading
from edos_dataset.labels import LABELS

_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_HUB_OTHERS = ["onnx/*", "openvino/*"]


def load_writer(
    name: str | Path, trust: bool = False, device: str = "cpu", revision: str | None = None
) -> tuple[Path, Writer]:
    """Return the folder of a model, of this machine or fetched from the Hub, and its writer.

    A model that is not of this package may be any language model, or an adapter of one, which is fetched too.

    Args:
        name: in this order: a model that ships (`generation.shipped`), a folder, a Hub id.
        trust: run the code that came with the model, where its configuration names some; ours never needs it.
        device: torch device.
        revision: of a model of the Hub: a tag, a branch or a commit. The model that an adapter is for comes in the
            revision that the adapter names.

    Raises:
        ValueError: there is no such model or revision, it is damaged, or it needs code that is not trusted; a folder
            has no revision.
    """
    folder = _there(str(name), trust, revision)
    if (folder / ADAPTER).is_file():
        base, its_revision = base_of(folder)
        return folder, load_backbone(folder, trust, device, _there(base, trust, its_revision))
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no response model: it has no config.json, nor an {ADAPTER}")
    if read_json(folder / "config.json").get("model_type") != ResponseConfig.model_type:
        return folder, load_backbone(folder, trust, device)
    return folder, TransformerWriter(*load_own(folder, ResponseModel, device))


def load_predictor(folder: Path, device: str = "cpu") -> LabelPredictor | None:
    """Return the predictor beside a model; None where there is none.

    Raises:
        ModelError: it is damaged.
    """
    if not (folder / PREDICTOR).is_dir():
        return None
    return LabelPredictor(*load_own(folder / PREDICTOR, ResponsePredictor, device))


def load_own(folder: Path, kind: Any, device: str, packed: bool = True) -> tuple[Any, Any]:  # noqa: ANN401
    """Return a model of ours and its tokenizer from a folder, without running any code that lies there.

    Args:
        folder: what `save_pretrained` of both wrote.
        kind: `ResponseModel` or `ResponsePredictor`.
        device: torch device.
        packed: pack the weights for oneDNN where the device is a CPU.

    Raises:
        ModelError: the folder is damaged or not whole, or its tokenizer is another model's.
    """
    check_weights(folder)
    with loading(folder, "tokenizer"):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    with loading(folder, "response model"):
        # A configuration may name code (`auto_map`); ours are built by our classes, whatever it names.
        config = kind.config_class.from_dict(read_json(folder / "config.json"))
        model, told = kind.from_pretrained(
            folder, config=config, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
        if lacking := sorted(told["missing_keys"]) + sorted(told["unexpected_keys"]):
            raise ValueError(f"its weights and its configuration do not go together: {lacking[0]}")
        for name, values in model.named_parameters():
            if not values.isfinite().all():
                raise ValueError(f"its weights {name} hold values that are not numbers")
        model = model.float().to(device).eval()
    check_tokenizer(folder, tokenizer, config, config.vocab_size)
    if tokenizer.eos_token_id != config.eos_token_id or tokenizer.bos_token_id != config.bos_token_id:
        raise ModelError(f"the tokenizer in {folder} is another model's: it starts or ends texts by other tokens")
    if kind.config_class is PredictorConfig:
        names = [str(config.id2label[number]).lower() for number in sorted(config.id2label)]
        if names not in (list(LABELS), [f"label_{number}" for number in range(len(LABELS))]):
            raise ModelError(f"{folder} predicts other labels than our {len(LABELS)}, or in another order (id2label)")
    if packed and model.device.type == "cpu":
        pack_linears(model)
    return model, tokenizer


def _there(name: str, code: bool, revision: str | None) -> Path:
    """Return a model's folder, or the local copy of a model of the Hub, with its code where that is trusted."""
    shipped = name in SHIPPED
    if shipped or Path(name).is_dir():
        if revision is not None:
            what = "comes with this package" if shipped else "is a folder"
            raise ValueError(f"the revision is {revision!r}, but only the Hub has revisions, and {name} {what}")
        return shipped_folder(name) if shipped else Path(name)
    import huggingface_hub

    wanted = [*_HUB_FILES, *(["*.py"] if code else [])]
    try:
        found = huggingface_hub.snapshot_download(
            name, revision=revision, allow_patterns=wanted, ignore_patterns=_HUB_OTHERS
        )
        return Path(found)
    except (OSError, ValueError) as error:
        meant = repr(name) if revision is None else f"{name!r} in the revision {revision!r}"
        raise ValueError(
            f"{meant} is neither a folder nor a model that the Hub gave: {error}; give the Hub id as owner/model, or "
            f"{SHIPPED_RESPONDERS}, which comes with this package"
        ) from error
