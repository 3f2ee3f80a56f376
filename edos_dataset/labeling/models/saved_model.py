"""What a folder that `save_pretrained` wrote says of its model, read before its weights are."""

import hashlib
import json
from pathlib import Path
from typing import Any

from edos_dataset.labeling.models.encoder import quiet
from edos_dataset.labels import LABELS, parse_label

_DECIDE = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)
"""Files that decide a label, beside the weights."""


def model_digest(folder: Path) -> str:
    """Return a digest, 16 hex digits, of everything in a model's folder that decides a label."""
    digest = hashlib.sha256()
    for path in sorted(
        path for path in folder.iterdir() if path.name in _DECIDE or path.suffix in (".safetensors", ".bin", ".model")
    ):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def label_columns(id2label: dict[int, str], where: str | Path) -> list[int]:
    """Return the columns of a model's logits in the order of `LABELS`.

    Raises:
        ValueError: the names are not the 41 labels, each once.
    """
    try:
        columns = {parse_label(name): int(column) for column, name in id2label.items()}
    except ValueError as error:
        raise ValueError(
            f"the model {where} cannot label turns: {error}; its config.json must give the 41 names as id2label"
        ) from error
    if len(columns) != len(LABELS) or len(id2label) != len(LABELS):
        raise ValueError(
            f"the model {where} cannot label turns: it has {len(id2label)} labels, {len(columns)} of our "
            f"{len(LABELS)}, in its id2label"
        )
    return [columns[label] for label in range(len(LABELS))]


def read_config(folder: Path) -> Any:  # noqa: ANN401 - every model has a configuration of its own
    """Return the configuration in a model's folder; one of ours is of our class.

    Raises:
        ValueError: transformers cannot read it.
    """
    from transformers import AutoConfig

    from edos_dataset.labeling.models.classifier import DialogueClassifierConfig

    try:
        with quiet():
            config = AutoConfig.from_pretrained(folder)
            # Once a pipeline has run the code that came with a model, its class stands for the type, in place of ours.
            return (
                DialogueClassifierConfig.from_pretrained(folder)
                if config.model_type == DialogueClassifierConfig.model_type
                else config
            )
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} holds no model that transformers can read: {error}") from error


def read_record(folder: Path) -> dict[str, Any]:
    """Return how the model in a folder was made, in the form of the linear heads' records; empty if it doesn't say."""
    told, metrics = (
        json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        for path in (folder / "record.json", folder / "metrics.json")
    )
    record: dict[str, Any] = told or {}
    if metrics is not None:
        record["metrics"] = {"test": metrics}
    licences = {
        entry["licence"]: None for entry in record.get("data", []) if isinstance(entry, dict) and "licence" in entry
    }
    return record | ({"licence_of_the_data": "; ".join(licences)} if licences else {})
