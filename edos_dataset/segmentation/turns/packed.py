"""The folder in which a learned scorer of turns lies: its arrays with what is said of them, and the record of its
making.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save

Arrays = dict[str, npt.NDArray[Any]]
_RECORD = "record.json"


def pack(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, str]) -> bytes:
    """Return arrays and facts as a safetensors file."""
    # safetensors writes the memory as it lies: a transposed view would come back as other weights
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, dict(facts))


def identify(packed: bytes) -> str:
    """Return the digest (16 hex digits) by which fingerprints know a scorer."""
    return hashlib.sha256(packed).hexdigest()[:16]


def write_folder(folder: str | Path, file: str, packed: bytes, record: Mapping[str, Any]) -> None:
    """Write the packed arrays and `record.json` into a folder, made if needed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(packed)
    (folder / _RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_folder(folder: str | Path, file: str) -> tuple[Arrays, dict[str, str], dict[str, Any]]:
    """Return the arrays, the facts and the record that `write_folder` wrote.

    Raises:
        FileNotFoundError: the folder holds no such file.
    """
    folder = Path(folder)
    if not (folder / file).is_file():
        raise FileNotFoundError(f"no turn scorer in {str(folder)!r}: expected a folder with {file} and {_RECORD}")
    with safe_open(folder / file, framework="np") as opened:
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - the handle is no dictionary
        facts = dict(opened.metadata())
    return arrays, facts, json.loads((folder / _RECORD).read_text(encoding="utf-8"))
