"""The shipped response models: their names, their packed form, and the folders that `Responder.load` reads.

`pack` stores every matrix as integers with one factor per row (`encoders.changes`), in a quarter of the bytes, and
everything else unchanged; `unpack` writes the same model folder as training. `training/pack_generator.py` measures the
effect of rounding.
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

DEFAULT_MODEL = "chat"
"""Name of the default response model."""
WEIGHTS = Path(__file__).with_name("weights")
SHIPPED = (DEFAULT_MODEL,)
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
    # The code is copied beside the weights, so another version of this package has another folder.
    folder = kept_folder(f"{name}-{digest_of(source)[:16]}")
    if not folder.is_dir():
        unpack(source, folder, cards_folder() / f"{name}.md")
    return folder


PREDICTOR = "predictor"
"""Name of the predictor's folder in the model's."""
FILE = "packed.safetensors"
"""Name of the file with packed weights."""

_WEIGHTS, _CONFIG, _RECORD = "model.safetensors", "config.json", "record.json"
_BESIDE = (_CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", _RECORD, "metrics.json")
_CODE = {
    "edos_response": ("config", "layers", "model", "response_pipeline"),
    "edos_response_predictor": ("config", "layers", "predictor"),
}
"""Model type → modules of this package that are copied beside the weights."""
_LEAST = 1e-6  # smallest factor; half precision has hardly any smaller numbers


def pack(model: Path, folder: Path) -> None:
    """Write a trained model and its predictor in packed form.

    Args:
        model: folder of a `ResponseModel` from `training/train_generator.py`, with its predictor, if any, in the
            subfolder `predictor`.
        folder: absent or empty; gets the same files with packed weights.

    Raises:
        ValueError: the model is not a response model of this package, or is damaged.
    """
    with whole_folder(folder) as work:
        for part in _parts(model):
            _pack(model / part, work / part)


def unpack(folder: Path, out: Path, card: Path | None = None) -> None:
    """Write the model folder that `Responder.load` reads, with its code, from a packed one.

    Args:
        folder: written by `pack`.
        out: absent or empty.
        card: copied as README.md.

    Raises:
        ValueError: the packed folder is damaged or incomplete.
    """
    with whole_folder(out) as work:
        for part in _parts(folder):
            (work / part).mkdir(exist_ok=True)
            save_file(_restored(folder / part / FILE), work / part / _WEIGHTS, {"format": "pt"})
            _copy(folder / part, work / part)
            for path in _code_of(folder / part):
                shutil.copyfile(path, work / part / path.name)
        if card is not None and card.is_file():
            shutil.copyfile(card, work / "README.md")


def digest_of(folder: Path) -> str:
    """Return a digest, 64 hex digits, of everything that `unpack` writes, except the card."""
    digest = hashlib.sha256()
    for part in _parts(folder):
        for path in (*sorted((folder / part).iterdir()), *_code_of(folder / part)):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{part}/{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _parts(folder: Path) -> Iterator[str]:
    yield "."
    if (folder / PREDICTOR).is_dir():
        yield PREDICTOR


def _pack(model: Path, folder: Path) -> None:
    weights, _ = read_arrays(model / _WEIGHTS)
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
    kind = read_json(folder / _CONFIG).get("model_type")
    if kind not in _CODE:
        raise ValueError(
            f"{folder} is not a response model of this package ({' or '.join(_CODE)}): its type is {kind!r}"
        )
    return [Path(__file__).with_name(f"{name}.py") for name in _CODE[kind]]


def _copy(source: Path, target: Path) -> None:
    for name in _BESIDE:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
