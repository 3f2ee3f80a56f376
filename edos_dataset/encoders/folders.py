"""Folders of trained models: arrays with metadata, and the record of how they were made.

Folders are untrusted input and copies may be incomplete, so every error is one sentence that names the file. Arrays
must be safetensors: formats that can run code when they are read, such as pickles, are refused.
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
_MEND = "it is damaged or not a file of such a model: copy, download or train the model again"


def pack(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file with these arrays and metadata."""
    # safetensors writes memory in its order: a transposed view would be read back as different weights
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, dict(facts))


def identify(packed: bytes) -> str:
    """Return a digest, 16 hex digits, for fingerprints."""
    return hashlib.sha256(packed).hexdigest()[:16]


def write_folder(folder: str | Path, file: str, packed: bytes, record: Mapping[str, Any]) -> None:
    """Write packed arrays and `record.json` into a folder, which is created if needed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / file) as temporary:
        temporary.write_bytes(packed)
    write_text(folder / _RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_folder(folder: str | Path, file: str) -> tuple[Arrays, dict[str, str], dict[str, Any]]:
    """Return the arrays, metadata and record that `write_folder` wrote.

    Raises:
        FileNotFoundError: the folder has no such file.
        ValueError: a file is damaged.
    """
    folder = Path(folder)
    if not (folder / file).is_file():
        raise FileNotFoundError(f"no turn scorer in {str(folder)!r}: expected a folder with {file} and {_RECORD}")
    return *read_arrays(folder / file), read_json(folder / _RECORD)


def kept_folder(name: str) -> Path:
    """Return the folder in Hugging Face's cache for the unpacked form of a shipped model, one copy per machine."""
    from huggingface_hub.constants import HF_HOME

    return Path(HF_HOME) / "edos" / name


@contextmanager
def whole_folder(folder: Path, proof: str = "config.json") -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` after the `with` block, so that `folder` is complete or absent
    even if several processes write it.

    Args:
        folder: absent or empty.
        proof: a file in it; if it exists when the block ends, another process was faster, and its folder is kept.
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


def download_model(name: str, code: bool = False, revision: str | None = None, only_here: bool = False) -> Path:
    """Return the local copy of a model on the Hub, with its Python files if `code`; with `only_here`, only one that was
    downloaded before.

    Raises:
        OSError, ValueError: the model does not exist on the Hub, the Hub cannot be reached, or the name is malformed.
    """
    import huggingface_hub

    return Path(
        huggingface_hub.snapshot_download(
            name,
            revision=revision,
            local_files_only=only_here,
            allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors", *(["*.py"] if code else [])],
            ignore_patterns=["onnx/*", "openvino/*"],
        )
    )


def read_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Return the arrays of a safetensors file by name, and its metadata.

    Raises:
        ValueError: the file is truncated or in another format, or contains a number that is not finite.
    """
    with usable(path):
        with safe_open(path, framework="np") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - it is not a dictionary
            facts = dict(opened.metadata() or {})
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} holds values that are not numbers")
    return arrays, facts


def read_header(path: Path) -> None:
    """Check that a safetensors file is complete, without reading its arrays.

    Raises:
        ValueError: it is truncated or in another format.
    """
    with usable(path), safe_open(path, framework="np"):
        pass


def forget_files(record: Path) -> None:
    """Remove the digests of files from a model's record, if it exists, since packing changes the files."""
    if record.is_file():
        kept = {name: value for name, value in read_json(record).items() if name != "files"}
        record.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a model's folder.

    Raises:
        ValueError: the file is not a JSON object, or is implausibly large or deeply nested.
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
    """Read a model's file within the `with` block, and report any error in its content in one sentence.

    Raises:
        ValueError: the file cannot be used.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing: copy, download or train the whole model again") from error
    except KeyError as error:
        raise ValueError(f"{path} cannot be used: {error} is missing in it; {_MEND}") from error
    except (
        *(SafetensorError, ValueError, TypeError, AttributeError, IndexError),
        *(OverflowError, RecursionError, MemoryError),
    ) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{path} cannot be used: {reason}; {_MEND}") from error
