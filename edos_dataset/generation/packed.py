"""Response models small enough to ship: writer and predictor in 8 bits, a quarter of their bytes.

`pack` keeps every matrix as whole numbers with one factor a row (`encoders.rounding`) and everything else as it is;
`unpack` makes a model's folder of it, as its training wrote it. What the rounding changes is measured when a model is
packed (`training/pack_generator.py`).
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from edos_dataset.encoders.folders import Arrays, forget_files, read_arrays, read_json, usable, whole_folder
from edos_dataset.encoders.folders import pack as packed_file
from edos_dataset.encoders.rounding import FACTOR, rounded
from edos_dataset.generation.config import PredictorConfig, ResponseConfig

PREDICTOR = "predictor"
"""Name of the predictor's folder in that of the model."""
FILE = "packed.safetensors"
"""The weights, packed."""

_WEIGHTS, _CONFIG, _RECORD = "model.safetensors", "config.json", "record.json"
_BESIDE = (_CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", _RECORD, "metrics.json")
_CODE = {
    ResponseConfig.model_type: ("config", "inputs", "layers", "model", "response_pipeline"),
    PredictorConfig.model_type: ("config", "layers", "predictor"),
}
"""Modules of this room that travel with a writer, and with a predictor."""
_LEAST = 1e-6  # of a factor: half precision has hardly any smaller number


def pack(model: Path, folder: Path) -> None:
    """Write a trained model's folder, and its predictor's, in the packed form.

    Args:
        model: folder of a `ResponseModel` as `training/train_generator.py` writes it, its predictor in the folder
            `predictor` of it if it has one.
        folder: gets the same files, the weights packed; absent or empty.

    Raises:
        ValueError: the model is no response model of ours, or damaged.
    """
    with whole_folder(folder) as work:
        for part in _parts(model):
            _pack(model / part, work / part)


def unpack(folder: Path, out: Path, card: Path | None = None) -> None:
    """Write the model folder that `Responder.load` reads, with its code, of a packed one.

    Args:
        folder: what `pack` wrote.
        out: absent or empty.
        card: becomes its README.md.

    Raises:
        ValueError: the packed folder is damaged, or not whole.
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
    """Return a digest, 64 hex digits, of all that `unpack` makes a packed folder into, but its card."""
    digest = hashlib.sha256()
    for part in _parts(folder):
        for path in (*sorted((folder / part).iterdir()), *_code_of(folder / part)):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{part}/{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _parts(folder: Path) -> Iterator[str]:
    """Yield where the writer lies in a model's folder, and its predictor."""
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
    """Return the weights, float32, of a packed file.

    Raises:
        ValueError: it is damaged, or holds numbers without their factors or the other way round.
    """
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
                raise ValueError(f"{name} has other factors than rows")
    return weights


def _code_of(folder: Path) -> list[Path]:
    """Return the modules that travel with the model in a folder.

    Raises:
        ValueError: it is of no kind of ours.
    """
    kind = read_json(folder / _CONFIG).get("model_type")
    if kind not in _CODE:
        raise ValueError(f"{folder} is no response model of this package ({' or '.join(_CODE)}): its type is {kind!r}")
    return [Path(__file__).with_name(f"{name}.py") for name in _CODE[kind]]


def _copy(source: Path, target: Path) -> None:
    """Copy what lies beside the weights: configuration, tokenizer, records."""
    for name in _BESIDE:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
