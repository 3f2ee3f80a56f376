"""Shipped classifiers in packed form: their difference from the packaged encoder all-MiniLM-L6-v2, in 8 bits; adapters
of an encoder of the Hub; or the whole model and its tokenizer (`encoders.changes`).

`pack` writes the packed form of a classifier; `unpack` writes the folder that transformers loads; `ShippedLabeler` uses
the packed form directly. `training/pack_classifier.py` counts the labels that the rounding changes.
"""

import hashlib
import json
import shutil
from collections.abc import Collection
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from edos_dataset.encoders.changes import Tensors, adapters, changes, fits_backbone, restore, whole
from edos_dataset.encoders.encoder import CPU_TOKENS, DEFAULT_MODEL, GPU_TOKENS, model_folder, pack_linears
from edos_dataset.encoders.folders import forget_files, kept_folder, read_json, whole_folder
from edos_dataset.labeling.models.base import TRIAL, check_probabilities
from edos_dataset.labeling.models.saved_labelers import READ, ContextLabeler, TurnEncoder
from edos_dataset.labeling.models.saved_model import label_columns, our_model, summed_up
from edos_dataset.labeling.models.shipped import ShippedModel, find_published, shipped_names

_FILE, _WORDS = "packed.safetensors", "tokenizer.json"
_RECORDS = ("record.json", "metrics.json")


class ShippedLabeler(ContextLabeler):
    """Labels turns with a shipped `ContextClassifier`, without importing transformers (two seconds) and without
    unpacking the weights to disk.

    Its probabilities are bit for bit those of `ContextLabeler` on the unpacked folder.

    Args:
        shipped: the model; it names one of the answers in its folder.
        device: torch device.
        batch_tokens: as for `SavedLabeler`.
    """

    def __init__(self, shipped: ShippedModel, device: str = "cpu", batch_tokens: int | None = None) -> None:
        self._shipped, self.device = shipped, device
        self.batch_tokens = batch_tokens or (CPU_TOKENS if device == "cpu" else GPU_TOKENS)
        self.folder = Path(shipped.name)
        settings = _settings(shipped)
        self._config = SimpleNamespace(**settings)
        self._columns = label_columns(settings["id2label"], shipped.name)
        self._answer, self._asked, self._identity = shipped.asked, None, identify(shipped.name)
        self.context = 0 if self._config.answers[self._answer]["sees"] == "turn" else None
        records = records_of(shipped)
        self.record = summed_up(records.get(_RECORDS[0], {}), records.get(_RECORDS[1]), shipped.weights)
        self.encoder = TurnEncoder(self, identify_encoder(shipped.name))

    @property
    def identity(self) -> str:
        """Name and digest of the packed weights and settings: `general-minilm@` and 16 hex digits."""
        return str(self._identity)

    def check(self) -> None:
        """Load the model and label a dialogue, always on the CPU."""
        labeler = self if self.device == "cpu" else ShippedLabeler(self._shipped, "cpu", self.batch_tokens)
        check_probabilities(labeler.predict_proba(TRIAL), TRIAL)

    @property
    def _padding(self) -> int:
        return int(self._config.padding_id)

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401 - a torch module
        import torch

        from edos_dataset.encoders.bert import Bert
        from edos_dataset.labeling.models.context_network import ContextNetwork

        with torch.random.fork_rng(devices=[]):  # random weights are replaced; using "meta" imports for a second
            model = ContextNetwork()
            model.config, model.encoder = self._config, Bert(self._config.encoder)
            model.add_layers(self._config.encoder["hidden_size"], len(self._columns))
        weights = _weights(self._shipped, model.state_dict().keys())
        tensors = {name: torch.from_numpy(value).to(self.device) for name, value in weights.items()}
        model.load_state_dict(tensors, strict=True, assign=True)
        if self.device == "cpu":
            pack_linears(model)
        return model.eval().requires_grad_(requires_grad=False)

    @cached_property
    def _words(self) -> Any:  # noqa: ANN401 - a tokenizer of the package tokenizers
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_tokenizer_of(self._shipped) / _WORDS))
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # "[SEP]" in a turn is text and does not end it
        return tokenizer

    def _read(self, texts: list[str], max_length: int, special: bool) -> list[list[int]]:
        self._words.enable_truncation(max_length)
        return [found.ids for found in self._words.encode_batch_fast(texts, add_special_tokens=special)]


def pack(model: Path, folder: Path, backbone: str = "") -> None:
    """Write a trained classifier in packed form.

    Args:
        model: folder of a `DialogueClassifier` or `ContextClassifier`, as its training wrote it.
        folder: receives packed.safetensors, the configuration, the records in the model's folder and, unless the model
            has a backbone, the tokenizer.
        backbone: Hub id of the encoder of which the model has adapters; by default all-MiniLM-L6-v2 if it fits, else
            none.

    Raises:
        ValueError: the backbone was trained otherwise than by adapters.
    """
    weights = load_file(model / "model.safetensors")
    based = bool(backbone) or fits_backbone(weights)
    packed = adapters(weights, backbone) if backbone else changes(weights) if based else whole(weights)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FILE).write_bytes(save({name: np.ascontiguousarray(value) for name, value in packed.items()}))
    own = () if based else (_WORDS, "tokenizer_config.json")
    for name in ("config.json", *_RECORDS, *own):
        if (model / name).is_file():
            shutil.copyfile(model / name, folder / name)
    forget_files(folder / _RECORDS[0])


def identify(name: str) -> str:
    """Return the published name of a shipped classifier and a digest of its weights and settings: `dialogue-minilm@`
    and 16 hex digits.
    """
    model = _shipped(name)
    return f"{model.source}@{_digest(model.weights, json.dumps(_settings(model), sort_keys=True))[:16]}"


def identify_encoder(name: str) -> str:
    """Return a name and digest of everything that affects the vectors of a shipped `ContextClassifier`.

    They are the same for all models that share a folder, whatever their answers and temperatures.
    """
    weights = _shipped(name).weights
    config = _config(weights)
    return f"{weights.name}@{_digest(weights, json.dumps([config.get(key) for key in READ]))[:16]}"


def unpack(name: str, out: Path | None = None) -> Path:
    """Return the folder of a shipped classifier in the form that transformers loads, with its card.

    It is written on the first call and kept. If the model has several answers, the configuration selects the one that
    `name` names.

    Args:
        name: `general`, `dialogue` or `weak`, or a published name such as `weak-minilm`.
        out: a folder to write to instead, new or empty; by default a folder in the cache of Hugging Face (`HF_HOME`).

    Raises:
        ValueError: there is no such classifier, or `out` is not empty.
        ModuleNotFoundError: the backbone's package is missing.
    """
    model = _shipped(name)
    if out is not None:
        if out.exists() and any(out.iterdir()):
            raise ValueError(f"{out} is not empty: name a new folder")
        _write(model, out)
        return out
    from edos_dataset.labeling.models import classifier, context, context_network, dialogue_pipeline

    # The code is copied beside the weights, so each version of this package needs a separate folder.
    copied = (Path(str(module.__file__)) for module in (classifier, context, context_network, dialogue_pipeline))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in copied))
    folder = kept_folder(f"{identify(name).replace('@', '-')}-{code.hexdigest()[:8]}")
    if not folder.is_dir():
        _write(model, folder)
    return folder


def _write(shipped: ShippedModel, folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    source = shipped.weights
    with whole_folder(folder) as work:
        kind = our_model(source)
        model = kind(kind.config_class.from_dict(_settings(shipped)))
        weights = _weights(shipped, model.state_dict().keys())
        model.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in weights.items()}, strict=True)
        model.save_pretrained(work)
        AutoTokenizer.from_pretrained(_tokenizer_of(shipped), trust_remote_code=False).save_pretrained(work)
        if shipped.card.is_file():
            shutil.copyfile(shipped.card, work / "README.md")
        for name, content in records_of(shipped).items():
            (work / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def records_of(shipped: ShippedModel) -> dict[str, dict[str, Any]]:
    """Return the records of a shipped model by file name: how it was made and what was measured.

    A folder with several answers stores figures by answer; the result has those of this model's answer.
    """
    found = {name: read_json(shipped.weights / name) for name in _RECORDS if (shipped.weights / name).is_file()}
    if shipped.kind != "context":
        return found
    record, metrics = (found.get(name, {}) for name in _RECORDS)
    return {
        _RECORDS[0]: record | {"name": shipped.source, "task": shipped.asked},
        _RECORDS[1]: metrics.get(shipped.asked, {}),
    }


def _shipped(name: str) -> ShippedModel:
    model = find_published(name)
    if model is None or not (model.weights / _FILE).is_file():
        names = ", ".join(map(repr, shipped_names("context", "classifier")))
        raise ValueError(f"no classifier {name!r} comes with the package; there are {names}")
    return model


def _weights(model: ShippedModel, names: Collection[str]) -> Tensors:
    """Return the float32 weights of a model, whose names are given."""
    return restore(load_file(model.weights / _FILE), names, _backbone_of(model))


def _backbone_of(model: ShippedModel) -> str | None:
    """Return the encoder from which a model differs, None for a model that is whole, with its own tokenizer."""
    return None if (model.weights / _WORDS).is_file() else model.backbone or DEFAULT_MODEL


def _tokenizer_of(model: ShippedModel) -> Path:
    """Return the folder of a model's tokenizer: its own, or that of its backbone."""
    backbone = _backbone_of(model)
    return model.weights if backbone is None else model_folder(backbone)


def _settings(model: ShippedModel) -> dict[str, Any]:
    config = _config(model.weights)
    return config | {"answer": model.asked} if model.kind == "context" else config


def _config(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {key: value for key, value in config.items() if key != "transformers_version"}


@cache
def _digest(folder: Path, settings: str) -> str:
    digest = hashlib.sha256((folder / _FILE).read_bytes())
    if (folder / _WORDS).is_file():
        digest.update((folder / _WORDS).read_bytes())
    digest.update(settings.encode())
    return digest.hexdigest()
