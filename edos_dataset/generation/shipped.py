"""The shipped response models: their names, their packed form, and the folders that `Responder.load` reads.

A model is either whole, or an adapter of a language model of the Hub. `pack` stores every matrix as integers with one
factor per row (`encoders.changes`), in a quarter of the bytes, and everything else unchanged; `unpack` writes the same
model folder as training. `training/pack_generator.py` measures the effect of rounding.
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from edos_dataset.encoders.changes import FACTOR, rounded
from edos_dataset.encoders.folders import (
    Arrays,
    forget_files,
    kept_folder,
    read_arrays,
    read_json,
    usable,
    whole_folder,
)
from edos_dataset.encoders.folders import pack as packed_file
from edos_dataset.labeling.models.shipped import cards_folder

DEFAULT_MODEL, LARGE_MODEL = "chat", "chat-large"
"""Names of the default response model, which needs nothing else, and of the adapter of a language model."""
WEIGHTS = Path(__file__).with_name("weights")
SHIPPED = (DEFAULT_MODEL, LARGE_MODEL)
"""Names of the shipped models, accepted wherever a model is loaded; the first is the default."""
SHIPPED_RESPONDERS = " or ".join(map(repr, SHIPPED))
"""The names, for messages."""


def chosen_model(name: str | Path | None) -> str:
    """Return the shipped name, folder or Hub id of a response model: the given one, or the default."""
    return str(name) if name is not None and str(name).strip() else DEFAULT_MODEL


def shipped_folder(name: str) -> Path:
    """Return the folder of a shipped response model, in the form that `Responder.load` reads.

    The first call writes it in the cache of Hugging Face (`HF_HOME`), where it is kept.

    Raises:
        ValueError: there is no shipped model of that name, or its packed weights are missing or damaged.
    """
    source = WEIGHTS / name
    if name not in SHIPPED or not (source / FILE).is_file():
        raise ValueError(
            f"no response model {name!r} comes with this package: {SHIPPED_RESPONDERS} should, "
            f"in {WEIGHTS}; install it again, or name a model, its folder or its Hub id, owner/model"
        )
    predictor = WEIGHTS / DEFAULT_MODEL / PREDICTOR
    # The code is copied beside the weights, so another version of this package has another folder.
    folder = kept_folder(f"{name}-{digest_of(source, predictor)[:16]}")
    if not folder.is_dir():
        unpack(source, folder, cards_folder() / f"{name}.md", predictor)
    return folder


PREDICTOR = "predictor"
"""Name of the predictor's folder in the model's."""
FILE = "packed.safetensors"
"""Name of the file with packed weights."""

ADAPTER = "adapter_config.json"
"""Name of the configuration in an adapter's folder."""

_WEIGHTS, _ADAPTER_WEIGHTS = "model.safetensors", "adapter_model.safetensors"
_CONFIG, _RECORD = "config.json", "record.json"
_OF_A_MODEL = (_CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", _RECORD, "metrics.json")
_OF_AN_ADAPTER = (ADAPTER, "prompt.json", _RECORD, "metrics.json")  # the tokenizer is the base model's
_CODE = {
    "edos_response": ("config", "layers", "model", "response_pipeline"),
    "edos_response_predictor": ("config", "layers", "predictor"),
}
"""Model type → modules of this package that are copied beside the weights."""
_LEAST = 1e-6  # smallest factor; half precision has hardly any smaller numbers


def pack(model: Path, folder: Path) -> None:
    """Write a trained model and its predictor in packed form.

    Args:
        model: folder of a `ResponseModel`, or of an adapter without new tokens, from `training/train_generator.py`,
            with its predictor, if any, in the subfolder `predictor`.
        folder: absent or empty; gets the same files with packed weights; of an adapter without the tokenizer.

    Raises:
        ValueError: the model is not a response model of this package, or is damaged.
    """
    with whole_folder(folder) as work:
        for part, source in _parts(model):
            _pack(source, work / part)


def unpack(folder: Path, out: Path, card: Path | None = None, predictor: Path | None = None) -> None:
    """Write the model folder that `Responder.load` reads, with its code, from a packed one.

    Args:
        folder: written by `pack`.
        out: absent or empty.
        card: copied as README.md.
        predictor: packed predictor for an adapter, which has none of its own.

    Raises:
        ValueError: the packed folder is damaged or incomplete.
    """
    with whole_folder(out) as work:
        for part, source in _parts(folder, predictor):
            _unpack(source, work / part)
        if card is not None and card.is_file():
            shutil.copyfile(card, work / "README.md")


def digest_of(folder: Path, predictor: Path | None = None) -> str:
    """Return a digest, 64 hex digits, of everything that `unpack` writes, except the card; for arguments see there."""
    digest = hashlib.sha256()
    for part, source in _parts(folder, predictor):
        for path in (*sorted(source.iterdir()), *_code_of(source)):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{part}/{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _parts(folder: Path, predictor: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Yield the parts of a model, each with the folder in which it is."""
    yield ".", folder
    if (folder / PREDICTOR).is_dir():
        yield PREDICTOR, folder / PREDICTOR
    elif predictor is not None and _is_adapter(folder):
        yield PREDICTOR, predictor


def _pack(model: Path, folder: Path) -> None:
    weights, _ = read_arrays(model / _weights_of(model))
    _code_of(model)
    packed: Arrays = {}
    for name, value in weights.items():
        packed[name] = value.astype(np.float32)
        if value.ndim == 2:
            packed[name], packed[name + FACTOR] = rounded(packed[name], np.float16, _LEAST)
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(packed_file(packed, {}))
    _copy(model, folder)
    forget_files(folder / _RECORD)


def _unpack(folder: Path, out: Path) -> None:
    out.mkdir(exist_ok=True)
    save_file(_restored(folder / FILE), out / _weights_of(folder), {"format": "pt"})
    _copy(folder, out)
    for path in _code_of(folder):
        shutil.copyfile(path, out / path.name)


def _is_adapter(folder: Path) -> bool:
    return (folder / ADAPTER).is_file()


def _weights_of(folder: Path) -> str:
    return _ADAPTER_WEIGHTS if _is_adapter(folder) else _WEIGHTS


def _restored(path: Path) -> Arrays:
    packed, _ = read_arrays(path)
    weights: Arrays = {}
    with usable(path):
        for name, value in packed.items():
            if name.endswith(FACTOR):
                packed[name.removesuffix(FACTOR)]
                continue
            factor = packed[name + FACTOR].astype(np.float32) if value.dtype == np.int8 else 1
            weights[name] = value.astype(np.float32) * factor
            if weights[name].shape != value.shape:
                raise ValueError(f"{name} has another number of factors than of rows")
    return weights


def _code_of(folder: Path) -> list[Path]:
    if _is_adapter(folder):
        return []
    kind = read_json(folder / _CONFIG).get("model_type")
    if kind not in _CODE:
        raise ValueError(
            f"{folder} is not a response model of this package ({' or '.join(_CODE)}): its type is {kind!r}"
        )
    return [Path(__file__).with_name(f"{name}.py") for name in _CODE[kind]]


def _copy(source: Path, target: Path) -> None:
    for name in _OF_AN_ADAPTER if _is_adapter(source) else _OF_A_MODEL:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
