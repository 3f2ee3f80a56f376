"""What a folder that `save_pretrained` wrote says of its model, read before its weights are, and whether it is whole.

No code that lies in a folder is run unless `trust_remote_code` says so, also where a configuration names some. A
classifier of ours is recognised by its type and made by our own class, whatever code lies beside it.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edos_dataset.encoders.encoder import quiet
from edos_dataset.encoders.folders import read_json, usable
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.runs.shards import digest

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

_RECORD, _FILES = "record.json", "files"
_LAYERS, _MOST_LAYERS = ("num_hidden_layers", "n_layer", "n_layers"), 1_000
_SPARE_ROWS, _SPARE_SHARE = 128, 0.02  # of an embedding whose size was rounded up


class ModelError(ValueError):
    """A model's folder that cannot be used; the message names it and says what to do."""


def model_digest(folder: Path, code: bool = False) -> str:
    """Return a digest, 16 hex digits, of everything in a model's folder that decides a label; with its code where that
    is run.
    """
    kinds = (".safetensors", ".bin", ".model", *([".py"] if code else []))
    sha256 = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.name in _DECIDE or path.suffix in kinds):
        sha256.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                sha256.update(block)
    return sha256.hexdigest()[:16]


def digests_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the weights and the vocabulary in a model's folder, by file name: what stands in its record
    as `files`, so that one is never used with another model's.
    """
    names = {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"}
    kept = (path for path in folder.iterdir() if path.name in names or path.suffix in (".safetensors", ".model"))
    return {path.name: digest(path) for path in sorted(kept)}


def check_files(folder: Path, record: dict[str, Any]) -> None:
    """Compare a folder with the digests in its record, where it has some.

    Raises:
        ModelError: a file is missing, or another one than the model was saved with.
    """
    there = digests_of(folder)
    for name, known in record.get(_FILES, {}).items():
        if there.get(name) != known:
            what = "is missing" if name not in there else "is not the one that the model was saved with"
            raise ModelError(
                f"{folder / name} {what}, as {folder / _RECORD} says under {_FILES!r}: every label would be wrong; "
                f"copy the whole folder again, or take {name!r} out of the record if it is you who changed it"
            )


def check_tokenizer(folder: Path, tokenizer: Any, config: Any, rows: int) -> None:  # noqa: ANN401
    """Check that a tokenizer goes with a model.

    Args:
        folder: of both.
        tokenizer: what was read there.
        config: the model's configuration.
        rows: tokens that the model has an embedding for.

    Raises:
        ModelError: the folder has no vocabulary, the vocabulary has another size, or a special token another id.
    """
    names = sorted({name for name in tokenizer.vocab_files_names.values() if name} | {"tokenizer.json"})
    if not any((folder / name).is_file() for name in names):
        raise ModelError(
            f"{folder} has no tokenizer ({' or '.join(names)}): every label would be wrong; copy the whole folder, or "
            "save the tokenizer that the model was trained with in it, by its save_pretrained"
        )
    used = max(tokenizer.get_vocab().values(), default=-1) + 1
    if not 0 <= rows - used <= max(min(_SPARE_ROWS, rows // 8), int(rows * _SPARE_SHARE)):
        raise ModelError(_other(folder, f"it has {used:,} tokens, the model {rows:,}"))
    encoder = getattr(config, "encoder", None) or {}
    wanted = {name: getattr(config, f"{name}_token_id", None) for name in ("pad", "cls", "sep")}
    wanted["pad"] = encoder.get("pad_token_id", wanted["pad"]) if encoder else wanted["pad"]
    ours = {"pad": "padding_id", "cls": "start_id", "sep": "separator_id"}
    wanted |= {name: getattr(config, ours[name], number) for name, number in wanted.items()}
    for name, number in wanted.items():
        has = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None and has is not None and has != number:
            raise ModelError(_other(folder, f"its {name} token is {has}, that of the model {number}"))


def _other(folder: Path, why: str) -> str:
    return (
        f"the tokenizer in {folder} is another model's: {why}; every label would be wrong: copy the whole folder, or "
        "save the tokenizer that the model was trained with in it"
    )


def check_weights(folder: Path) -> None:
    """Refuse a folder without weights as safetensors: other formats may run code when they are read.

    Raises:
        ModelError: there are none.
    """
    if any(folder.glob("*.safetensors")):
        return
    others = [path.name for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".pt", ".pth", ".pkl", ".h5")]
    if others:
        raise ModelError(
            f"{folder / others[0]} is a pickle or the like, which may run code when it is read, and is not read: save "
            "the model as safetensors, by save_pretrained of transformers 5, or take one that has model.safetensors"
        )
    raise ModelError(f"{folder} holds no weights (model.safetensors): copy, fetch or train the model again")


@contextmanager
def loading(folder: Path, what: str) -> Iterator[None]:
    """Let transformers read `what` in a model's folder inside the `with` block; whatever that leads to becomes one
    sentence.

    Raises:
        ModelError: it cannot be read, or only by running code that came with it.
    """
    try:
        with quiet():
            yield
    except ModelError:
        raise
    except Exception as error:  # transformers raises whatever a damaged file leads to
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{folder} brings code of its own, which is not run unless you ask for it: read it, and if you trust "
                "its makers give --trust-remote-code, or trust_remote_code=True in Python"
            ) from error
        told = " ".join(str(error).split())[:200]
        raise ModelError(
            f"{folder} holds no {what} that transformers can read: {type(error).__name__}: {told}; the folder is "
            "damaged or not whole: copy, fetch or train the model again"
        ) from error


def label_columns(id2label: dict[int, str], where: str | Path) -> list[int]:
    """Return the columns of a model's logits in the order of `LABELS`.

    Raises:
        ModelError: the names are not the 41 labels, each once.
    """
    try:
        columns = {parse_label(name): int(column) for column, name in id2label.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the model {where} cannot label turns: {error}; its config.json must give the 41 names as id2label"
        ) from error
    if sorted(columns.values()) != list(range(len(LABELS))) or len(columns) != len(LABELS):
        raise ModelError(
            f"the model {where} cannot label turns: it has {len(id2label)} labels, {len(columns)} of our "
            f"{len(LABELS)}, in its id2label, which must number them from 0"
        )
    return [columns[label] for label in range(len(LABELS))]


def our_model(folder: Path) -> Any:  # noqa: ANN401 - a class of transformers, which need not be loaded for less
    """Return the class of this package that the model in a folder is of; None for one of another kind."""
    from edos_dataset.labeling.models.classifier import DialogueClassifier
    from edos_dataset.labeling.models.context import ContextClassifier

    kind = read_json(folder / "config.json").get("model_type")
    ours = (DialogueClassifier, ContextClassifier)
    return next((model for model in ours if model.config_class.model_type == kind), None)


def read_config(folder: Path, trust_remote_code: bool = False) -> Any:  # noqa: ANN401 - every model has its own
    """Return the configuration in a model's folder; one of ours is of our class.

    Raises:
        ValueError: there is none, it is damaged, or it can only be read by running code that came with it.
    """
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} holds no model that transformers can read: it has no config.json")
    ours = our_model(folder)
    with loading(folder, "model"):
        # Once a pipeline has run the code that came with a model, its class stands for the type, in place of ours.
        config: Any = (
            ours.config_class.from_dict(read_json(folder / "config.json"))
            if ours
            else AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
        )
        for settings in (vars(config), config.encoder) if ours else (vars(config),):
            if any(int(settings.get(name) or 0) > _MOST_LAYERS for name in _LAYERS):
                raise ValueError(f"it has more than {_MOST_LAYERS:,} layers")
    return config


def read_record(folder: Path) -> dict[str, Any]:
    """Return how the model in a folder was made, in the form of the linear heads' records; empty if it doesn't say.

    Raises:
        ValueError: what it says is damaged.
    """
    record, metrics = (
        read_json(path) if path.is_file() else None for path in (folder / _RECORD, folder / "metrics.json")
    )
    record = record or {}
    with usable(folder / _RECORD):
        for name, kind in (("data", list), (_FILES, dict), ("metrics", dict)):
            if not isinstance(record.get(name, kind()), kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {type(record[name]).__name__}")
        entries = [entry for entry in record.get("data", []) if isinstance(entry, dict) and "licence" in entry]
        licences = dict.fromkeys(str(entry["licence"]) for entry in entries)
    if metrics is not None:
        record["metrics"] = {"test": metrics}
    return record | ({"licence_of_the_data": "; ".join(licences)} if licences else {})
