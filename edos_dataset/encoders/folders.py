"""The folder in which something learned lies: its arrays with what is said of them, and the record of its making.

Such folders come from others too, and copies break off, so whatever is wrong with a file is one sentence that names it.
Arrays are safetensors and nothing else: formats that run code when they are read, such as pickles, are not read.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from edos_dataset.runs.shards import replacing, write_text

Arrays = dict[str, npt.NDArray[Any]]
_RECORD = "record.json"
_LARGEST_JSON = 1 << 27
_MEND = "it is damaged, or no file of such a model: copy, fetch or make the model again"


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
    with replacing(folder / file) as temporary:
        temporary.write_bytes(packed)
    write_text(folder / _RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_folder(folder: str | Path, file: str) -> tuple[Arrays, dict[str, str], dict[str, Any]]:
    """Return the arrays, the facts and the record that `write_folder` wrote.

    Raises:
        FileNotFoundError: the folder holds no such file.
        ValueError: a file is damaged.
    """
    folder = Path(folder)
    if not (folder / file).is_file():
        raise FileNotFoundError(f"no turn scorer in {str(folder)!r}: expected a folder with {file} and {_RECORD}")
    return *read_arrays(folder / file), read_json(folder / _RECORD)


def kept_folder(name: str) -> Path:
    """Return where what the package ships packed is kept, unpacked, once a machine: in the cache of Hugging Face."""
    from huggingface_hub.constants import HF_HOME

    return Path(HF_HOME) / "edos" / name


@contextmanager
def whole_folder(folder: Path, proof: str = "config.json") -> Iterator[Path]:
    """Yield a temporary folder, which after the `with` block has the name of `folder`: that is whole or absent, whoever
    else writes the same.

    Args:
        folder: absent or empty.
        proof: a file of it: if it is there after all, another process was faster, and its folder stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as parent:
        work = Path(parent) / folder.name
        work.mkdir()
        yield work
        try:
            if folder.is_dir():
                folder.rmdir()
            os.rename(work, folder)
        except OSError:
            if not (folder / proof).is_file():
                raise


def read_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Return the arrays of a safetensors file, by name, and what it says of them.

    Raises:
        ValueError: the file is broken off or of another format, or a number in it is none.
    """
    with usable(path):
        with safe_open(path, framework="np") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no dictionary
            facts = dict(opened.metadata() or {})
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} holds values that are not numbers")
    return arrays, facts


def read_header(path: Path) -> None:
    """Check that a safetensors file is whole, without reading its arrays.

    Raises:
        ValueError: it is broken off or of another format.
    """
    with usable(path), safe_open(path, framework="np"):
        pass


def forget_files(record: Path) -> None:
    """Take the digests of files out of a model's record, if it is there: packed, the files are others."""
    if record.is_file():
        told = {name: value for name, value in read_json(record).items() if name != "files"}
        record.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file beside a model.

    Raises:
        ValueError: it holds no JSON object, or is too large or too deep for one that a program wrote.
    """
    with usable(path):
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError(f"it has {path.stat().st_size:,} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"expected a JSON object, got {type(content).__name__}")
    return content


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Read a file of a model inside the `with` block: whatever its content leads to becomes one sentence.

    Raises:
        ValueError: it cannot be used.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing: copy, fetch or make the whole model again") from error
    except KeyError as error:
        raise ValueError(f"{path} cannot be used: {error} is missing in it; {_MEND}") from error
    except (
        *(SafetensorError, ValueError, TypeError, AttributeError, IndexError),
        *(OverflowError, RecursionError, MemoryError),
    ) as error:
        told = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{path} cannot be used: {told}; {_MEND}") from error
