"""Fine-tuned classifiers small enough to ship: what training changed of a backbone that is a package of its own, in 8
bits (`encoders.changes`).

`pack` keeps a classifier around all-MiniLM-L6-v2 so, `unpack` puts the model folder together again, once a machine. The
labels that this rounding changes are counted when a model is packed (`training/pack_classifier.py`).
"""

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from edos_dataset.encoders.changes import changes, restore
from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.encoders.folders import forget_files, kept_folder, read_json, whole_folder
from edos_dataset.labeling.models.context_labeler import READ
from edos_dataset.labeling.models.saved_model import our_model
from edos_dataset.labeling.models.shipped import ShippedModel, find_published, shipped_names

_FILE = "packed.safetensors"
_RECORDS = ("record.json", "metrics.json")


def pack(model: Path, folder: Path) -> None:
    """Write a trained classifier's folder in the packed form.

    Args:
        model: folder of a `DialogueClassifier` or `ContextClassifier` around all-MiniLM-L6-v2, as its training writes
            it.
        folder: gets packed.safetensors, the configuration, and the records that lie in the model's folder.
    """
    packed = changes(load_file(model / "model.safetensors"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FILE).write_bytes(save({name: np.ascontiguousarray(value) for name, value in packed.items()}))
    for name in ("config.json", *_RECORDS):
        if (model / name).is_file():
            shutil.copyfile(model / name, folder / name)
    forget_files(folder / _RECORDS[0])


def identify(name: str) -> str:
    """Return what stands in `label_source` for a shipped classifier, and a digest of its weights and settings:
    `dialogue-minilm@` and 16 hex digits.
    """
    model = _shipped(name)
    return f"{model.source}@{_digest(model.weights, json.dumps(_settings(model), sort_keys=True))[:16]}"


def identify_encoder(name: str) -> str:
    """Return a name and digest of what decides the vectors of a shipped `ContextClassifier`: the same for all names
    that share its folder, whatever they answer and at what temperature.
    """
    weights = _shipped(name).weights
    config = _config(weights)
    return f"{weights.name}@{_digest(weights, json.dumps([config.get(key) for key in READ]))[:16]}"


def unpack(name: str, out: Path | None = None) -> Path:
    """Return the folder of a shipped classifier as transformers loads it, with its card; written at the first call and
    kept. Of a model with several answers its configuration names the one that the name stands for.

    Args:
        name: `general`, `dialogue` or `weak`, or the names that they are published under, such as `weak-minilm`.
        out: folder to write instead, new or empty; by default one in the cache of Hugging Face (`HF_HOME`).

    Raises:
        ValueError: there is no such classifier, or `out` has files.
        ModuleNotFoundError: the backbone's package is missing.
    """
    model = _shipped(name)
    if out is not None:
        if out.exists() and any(out.iterdir()):
            raise ValueError(f"{out} is not empty: name a new folder")
        _write(model, out)
        return out
    from edos_dataset.labeling.models import classifier, context, context_layer, convention_head, dialogue_pipeline

    # The code lies beside the weights, so a folder of another version of this package is another one.
    code_of = (classifier, context, context_layer, convention_head, dialogue_pipeline)
    travels = (Path(str(module.__file__)) for module in code_of)
    code = hashlib.sha256(b"".join(path.read_bytes() for path in travels))
    folder = kept_folder(f"{identify(name).replace('@', '-')}-{code.hexdigest()[:8]}")
    if not folder.is_dir():
        _write(model, folder)
    return folder


def _write(shipped: ShippedModel, folder: Path) -> None:
    """Write the model folder, whole or not at all."""
    import torch
    from transformers import AutoTokenizer

    source = shipped.weights
    with whole_folder(folder) as work:
        kind = our_model(source)
        model = kind(kind.config_class.from_dict(_settings(shipped)))
        weights = restore(load_file(source / _FILE), model.state_dict().keys())
        model.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in weights.items()}, strict=True)
        model.save_pretrained(work)
        AutoTokenizer.from_pretrained(model_folder(DEFAULT_MODEL), trust_remote_code=False).save_pretrained(work)
        if shipped.card.is_file():
            shutil.copyfile(shipped.card, work / "README.md")
        for name, content in records_of(shipped).items():
            (work / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def records_of(shipped: ShippedModel) -> dict[str, dict[str, Any]]:
    """Return the records of a shipped model by file name: how it was made and what was measured. A folder of several
    answers has the figures of all by name; here is what concerns the one.
    """
    found = {name: read_json(shipped.weights / name) for name in _RECORDS if (shipped.weights / name).is_file()}
    if shipped.kind != "context":
        return found
    record, metrics = (found.get(name, {}) for name in _RECORDS)
    return {
        _RECORDS[0]: record | {"name": shipped.source, "task": shipped.name},
        _RECORDS[1]: metrics.get(shipped.name, {}),
    }


def _shipped(name: str) -> ShippedModel:
    model = find_published(name)
    if model is None or not (model.weights / _FILE).is_file():
        names = ", ".join(map(repr, shipped_names("context", "classifier")))
        raise ValueError(f"no classifier {name!r} comes with the package; there are {names}")
    return model


def _settings(model: ShippedModel) -> dict[str, Any]:
    """Return the configuration of a shipped model, that of its own answer."""
    config = _config(model.weights)
    return config | {"answer": model.name} if model.kind == "context" else config


def _config(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {key: value for key, value in config.items() if key != "transformers_version"}


@cache
def _digest(folder: Path, settings: str) -> str:
    digest = hashlib.sha256((folder / _FILE).read_bytes())
    digest.update(settings.encode())
    return digest.hexdigest()
