"""Folders that `save_pretrained` wrote: their configuration, and checks for completeness before weights are loaded.

Code in a folder is run only with `trust_remote_code`. Classifiers of this package are recognised by their type and
built from our own classes, even if there is code beside them.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edos_dataset.encoders.encoder import quiet
from edos_dataset.encoders.folders import read_json, usable
from edos_dataset.label_sets import BUILT_IN, LabelSet, LabelSetError, known_set, load_label_set
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.runs.shards import digest
from edos_dataset.text import shown

_DECIDE = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)
"""Files that affect the labels, apart from weights."""

LABEL_SET = "label_set"
"""Key of a configuration with the label set of a model that this package trained: a built-in name, or plain data."""

SEVERAL = "multi_label_classification"
"""What transformers calls the problem of a model that gives a turn several labels."""

_NUMBERED = re.compile(r"LABEL_\d+")  # the names that transformers gives to unnamed labels
_RECORD, _FILES = "record.json", "files"
_LAYERS, _MOST_LAYERS = (
    (
        *("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
        *("num_decoder_layers", "encoder_layers", "decoder_layers"),
    ),
    1_000,
)
_SPARE_ROWS, _SPARE_FRACTION = 128, 0.02  # how many unused rows an embedding may have, since sizes are rounded up


class ModelError(ValueError):
    """A model's folder cannot be used; the message names it and the remedy."""


def model_digest(folder: Path, code: bool = False) -> str:
    """Return a digest, 16 hex digits, of all files of a model's folder that affect the labels; of its code too, if
    `code`.
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
    """Return the SHA-256 of the weights and vocabulary in a model's folder by file name.

    The record stores it as `files`, so that weights are never used with another model's vocabulary.
    """
    names = {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"}
    kept = (path for path in folder.iterdir() if path.name in names or path.suffix in (".safetensors", ".model"))
    return {path.name: digest(path) for path in sorted(kept)}


def check_files(folder: Path, record: dict[str, Any]) -> None:
    """Compare the files of a folder with the digests in its record, if it has them.

    Raises:
        ModelError: a file is missing or differs from the saved one.
    """
    there = digests_of(folder)
    for name, known in record.get(_FILES, {}).items():
        if there.get(name) != known:
            what = "is missing" if name not in there else "is not the one that the model was saved with"
            raise ModelError(
                f"{folder / name} {what}, as {folder / _RECORD} says under {_FILES!r}: every label would be wrong; "
                f"copy the whole folder again, or remove {name!r} from the record if you changed the file yourself"
            )


def check_tokenizer(folder: Path, tokenizer: Any, config: Any, rows: int) -> None:  # noqa: ANN401
    """Check that a tokenizer fits a model.

    folder: the folder of both.
    tokenizer: the tokenizer loaded from it.
    config: the model's configuration.
    rows: number of rows of the model's token embedding.
        rows: number of tokens that the model embeds.

    Raises:
        ModelError: the folder has no vocabulary, or the vocabulary's size or the id of a special token differs from the
            model's.
    """
    names = sorted({name for name in tokenizer.vocab_files_names.values() if name} | {"tokenizer.json"})
    if not any((folder / name).is_file() for name in names):
        raise ModelError(
            f"{folder} has no tokenizer ({' or '.join(names)}): every label would be wrong; copy the whole folder, or "
            "save the tokenizer that the model was trained with in it, by its save_pretrained"
        )
    used = max(tokenizer.get_vocab().values(), default=-1) + 1
    if not 0 <= rows - used <= max(min(_SPARE_ROWS, rows // 8), int(rows * _SPARE_FRACTION)):
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
    """Check that a folder has weights as safetensors; other formats can run code when they are read.

    Raises:
        ModelError: it has none.
    """
    if any(folder.glob("*.safetensors")):
        return
    others = [path.name for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".pt", ".pth", ".pkl", ".h5")]
    if others:
        raise ModelError(
            f"{folder / others[0]} is a pickle or similar, which can run code when it is read, so it is refused: save "
            "the model as safetensors, by save_pretrained of transformers 5, or use one that has model.safetensors"
        )
    raise ModelError(f"{folder} has no weights (model.safetensors): copy, download or train the model again")


@contextmanager
def loading(folder: Path, what: str) -> Iterator[None]:
    """Report any error within the `with` block, in which transformers reads `what` from a model's folder, in one
    sentence.

    Raises:
        ModelError: it cannot be read, or only by running the code beside it.
    """
    try:
        with quiet():
            yield
    except ModelError:
        raise
    except Exception as error:  # transformers can raise anything on a damaged file
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{folder} contains code of its own, which is not run unless you ask for it: read it, and if you "
                "trust its makers give --trust-remote-code, or trust_remote_code=True in Python"
            ) from error
        reason = " ".join(str(error).split())[:200]
        raise ModelError(
            f"{folder} holds no {what} that transformers can read: {type(error).__name__}: {reason}; the folder is "
            "damaged or incomplete: copy, download or train the model again"
        ) from error


def label_columns(id2label: dict[int, str], where: str | Path) -> list[int]:
    """Return the logit columns of a model in the order of `LABELS`.

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


def labels_of_model(id2label: Any, where: str | Path, stated: Any = None) -> tuple[LabelSet, list[int]]:  # noqa: ANN401
    """Return the label set of a model, and its logit columns in the order of that set.

    The set is the one that its configuration states, the built-in one with exactly these labels, else a new one that
    has only their names.

    Args:
        id2label: of its configuration.
        where: what messages call it.
        stated: under `LABEL_SET` in its configuration; None, or a set with other labels, is none.

    Raises:
        ModelError: the labels are not numbered from 0, have no names, or share a name.
    """
    try:
        names = [id2label[number] for number in range(len(id2label))]
    except (KeyError, TypeError, IndexError) as error:
        raise ModelError(
            f"the model {where} cannot label turns: its config.json must give its labels as id2label, numbered from 0"
        ) from error
    if len(names) < 2 or all(isinstance(name, str) and _NUMBERED.fullmatch(name) for name in names):
        raise ModelError(
            f"the model {where} cannot label turns: its id2label is {shown(id2label)}; give two labels or more their "
            "names there"
        )
    try:
        for known in (_stated_set(stated), known_set(names)):
            columns = None if known is None else known.columns_of(names)
            if known is not None and columns is not None:
                return known, columns
        return LabelSet.of_labels(names), list(range(len(names)))
    except (LabelSetError, TypeError, AttributeError) as error:
        raise ModelError(f"the model {where} cannot label turns: its id2label: {error}") from error


def _stated_set(stated: Any) -> LabelSet | None:  # noqa: ANN401 - of a file
    """Return the set in a configuration, which is untrusted: a name may be built in, but not lead to a file."""
    is_set = isinstance(stated, Mapping) or (isinstance(stated, str) and stated in BUILT_IN)
    return load_label_set(stated) if is_set else None


def our_model(folder: Path) -> Any:  # noqa: ANN401 - a class of transformers, imported only here
    """Return this package's class for the model in a folder, or None for other kinds of models."""
    from edos_dataset.labeling.models.classifier import DialogueClassifier
    from edos_dataset.labeling.models.context import ContextClassifier

    kind = read_json(folder / "config.json").get("model_type")
    ours = (DialogueClassifier, ContextClassifier)
    return next((model for model in ours if model.config_class.model_type == kind), None)


def read_config(folder: Path, trust_remote_code: bool = False) -> Any:  # noqa: ANN401 - every model has its own
    """Return the configuration in a model's folder, of our own class for our models.

    Raises:
        ValueError: there is none, it is damaged, or reading it needs code that is not trusted.
    """
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} holds no model that transformers can read: it has no config.json")
    ours = our_model(folder)
    with loading(folder, "model"):
        # Not AutoConfig: once a pipeline has run the code of a saved model, that class is registered in place of ours.
        config: Any = (
            ours.config_class.from_dict(read_json(folder / "config.json"))
            if ours
            else AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
        )
        for settings in (vars(config), config.encoder) if ours else (vars(config),):
            check_layers(settings)
    return config


def check_layers(settings: Mapping[str, Any]) -> None:
    """Refuse a configuration whose model could not be built in any memory.

    Raises:
        ValueError: it has more layers than any model, or a number of them that is none.
    """
    if any(int(settings.get(name) or 0) > _MOST_LAYERS for name in _LAYERS):
        raise ValueError(f"it has more than {_MOST_LAYERS:,} layers")


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of the model in a folder, with its metrics; empty if there is none.

    Raises:
        ValueError: a file is damaged.
    """
    record, metrics = (
        read_json(path) if path.is_file() else None for path in (folder / _RECORD, folder / "metrics.json")
    )
    return summed_up(record or {}, metrics, folder)


def summed_up(record: dict[str, Any], metrics: dict[str, Any] | None, folder: Path) -> dict[str, Any]:
    """Return a record with the metrics and with the licences of its training data.

    Raises:
        ValueError: the record is damaged; the message names its folder.
    """
    with usable(folder / _RECORD):
        for name, kind in (("data", list), (_FILES, dict), ("metrics", dict)):
            if not isinstance(record.get(name, kind()), kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {type(record[name]).__name__}")
        entries = [entry for entry in record.get("data", []) if isinstance(entry, dict) and "licence" in entry]
        licences = dict.fromkeys(str(entry["licence"]) for entry in entries)
    measured = {} if metrics is None else {"metrics": {"test": metrics}}
    return record | measured | ({"licence_of_the_data": "; ".join(licences)} if licences else {})
