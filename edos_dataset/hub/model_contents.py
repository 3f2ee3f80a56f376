"""Selects the files of a model or Space to publish on the Hub; refuses it if a required file is missing or damaged."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from edos_dataset.generation.shipped import SHIPPED, shipped_folder
from edos_dataset.hub.contents import CARD, ContentFile, Contents, files_of
from edos_dataset.labeling.models.packed import unpack
from edos_dataset.labeling.models.shipped import cards_folder, find_published, shipped_names
from edos_dataset.publishing.front_matter import split_card
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.untrusted import json_of

CONFIG, ADAPTER = "config.json", "adapter_config.json"

PLACEHOLDER = "FOLDER OR HUB NAME"
"""Placeholder in a model's card for the name under which the model will be published."""

_WEIGHTS = re.compile(r"(adapter_)?model(-\d{5}-of-\d{5})?\.safetensors|model\.safetensors\.index\.json")
_OF_A_MODEL = frozenset(
    f"{CARD} LICENSE LICENSE.txt LICENSE.md NOTICE {CONFIG} generation_config.json "
    "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.txt vocab.json merges.txt "
    "tokenizer.model spiece.model sentencepiece.bpe.model spm.model chat_template.jinja "
    f"record.json metrics.json log.jsonl learning_curves.png {ADAPTER} prompt.json".split()
)
"""Files of a training or `save_pretrained` that users need. Optimizer states, checkpoints, pickles, predictions for
individual texts and all other files are left out.
"""
_PREDICTOR = "predictor/"
"""Folder of a response model's predictor, which is published with it, except for the predictor's own card."""
_OF_A_SPACE = frozenset({CARD, "LICENSE", "requirements.txt", "pre-requirements.txt", "packages.txt"})
_IMPORTED = re.compile(rb"^[ \t]*from\s+\.(\w+)\s+import|^[ \t]*from\s+\.\s+import\s+(\w+)", re.MULTILINE)


def read_model(folder: Path) -> Contents | None:
    """Return the contents of a folder that a training or `save_pretrained` wrote; None if it is not a model's folder.

    They are the card, the configuration, the tokenizer, the weights as safetensors, the code that the configuration
    names with the local modules that it imports, and the records of the training.

    Raises:
        FolderError: The weights, the code that the configuration names, or the card are missing or damaged.
    """
    config = next((name for name in (CONFIG, ADAPTER) if (folder / name).is_file()), None)
    if config is None:
        return None
    files, others = files_of(folder, _of_a_model)
    left = _check_part(folder, files, config)
    if any(name.startswith(_PREDICTOR) for name in files):
        within = {name.removeprefix(_PREDICTOR): file for name, file in files.items() if name.startswith(_PREDICTOR)}
        left += [f"{_PREDICTOR}{name}" for name in _check_part(folder / _PREDICTOR, within, CONFIG)]
    files = {name: file for name, file in files.items() if name not in left}
    head = card_metadata(folder, files, "a model's card states its task and its licence")
    if lacking := [key for key in ("license", "pipeline_tag", "library_name") if not head.get(key)]:
        raise FolderError(
            f"{folder / CARD} does not state {lacking[0]} in its YAML: without it, the Hub shows no widget or no "
            "licence; add it"
        )
    return Contents("model", files, left_out=sorted([*others, *left]))


def read_shipped(folder: Path) -> Contents | None:
    """Return the contents of a shipped classifier or response model, by name, with the card of this version; None if
    there is a folder of that name, or no such model.

    Raises:
        FolderError: The package ships the model, but transformers could not load it.
    """
    if folder.exists():
        return None
    if (name := str(folder)) in SHIPPED:
        return _with_card(read_model(shipped_folder(name)), cards_folder() / f"{name}.md")
    model = find_published(name)
    if model is None:
        return None
    if not model.of_transformers:
        raise FolderError(
            f"{model.name!r} is not a model of transformers, which users of the Hub could load; "
            f"{' and '.join(map(repr, shipped_names('context', 'classifier')))} are"
        )
    return _with_card(read_model(unpack(model.name)), model.card)


def _with_card(contents: Contents | None, card: bytes | Path) -> Contents:
    """Return the contents of an unpacked model with the card of this version, as the unpacked card may be older."""
    assert contents is not None, "what was unpacked is a model"
    return replace(contents, files={**contents.files, CARD: ContentFile(card)})


def read_space(folder: Path) -> Contents | None:
    """Return the contents of a Space's folder, whose card names an `sdk`; None if it is not a Space.

    They are the card, the requirements, the Python modules, the program, and the `files` that the card's YAML lists.

    Raises:
        FolderError: A file that the card names is missing or is a link.
    """
    if not (folder / CARD).is_file():
        return None
    card, _ = files_of(folder, lambda name: name == CARD)
    if not card[CARD].content.startswith(b"---"):
        return None
    head = card_metadata(folder, card, "a Space's card states how to start it")
    if "sdk" not in head:
        return None
    program = str(head.get("app_file", "index.html" if head["sdk"] == "static" else "app.py"))
    listed = head.get("files", [])
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise FolderError(f"{folder / CARD}: `files` must be a list of paths in the folder")
    files, others = files_of(
        folder, lambda name: name in _OF_A_SPACE or name == program or name in listed or name.endswith(".py")
    )
    for name in (program, *listed):
        if name not in files:
            what = "as the Space's program" if name == program else "under files"
            raise FolderError(f"{folder} has no {name}, which {CARD} names {what}")
    return Contents("space", files, left_out=others)


def sdk_of(contents: Contents) -> str | None:
    """Return the SDK of a Space, such as "gradio"; None for other contents."""
    return str(split_card(contents.files[CARD].content.decode())[0]["sdk"]) if contents.kind == "space" else None


def card_metadata(folder: Path, files: dict[str, ContentFile], why: str) -> dict[str, Any]:
    """Return the YAML at the head of a card.

    Raises:
        FolderError: There is no card, or no YAML in it.
    """
    if CARD not in files:
        raise FolderError(f"{folder} has no {CARD}: {why}")
    try:
        return split_card(files[CARD].content.decode())[0]
    except ValueError as error:  # including bytes that are not UTF-8
        raise FolderError(f"{folder / CARD}: {error}; {why}") from error


def _of_a_model(name: str) -> bool:
    own = name.removeprefix(_PREDICTOR)
    if own != name and own == CARD:
        return False
    return own in _OF_A_MODEL or _WEIGHTS.fullmatch(own) is not None or _is_module(own)


def _check_part(folder: Path, files: dict[str, ContentFile], config: str) -> list[str]:
    """Check a model, or its predictor, and return the modules that its code does not need.

    Args:
        folder: Its folder.
        files: The files in it that may be published; files of other folders are ignored.
        config: Name of its configuration file; an adapter's configuration names no code.

    Raises:
        FolderError: Its weights, or the code that the configuration names, are missing or damaged.
    """
    if config not in files:
        raise FolderError(f"{folder} has no {config}: save the model again, or remove the folder")
    try:
        modules = _named_modules(json_of(files[config].content)) if config == CONFIG else []
    except (ValueError, AttributeError, TypeError) as error:
        raise FolderError(f"{folder / config} is not the configuration of a model: {error}") from error
    if lacking := sorted(set(modules) - files.keys()):
        raise FolderError(f"{folder} has no {lacking[0]}, which {config} names under auto_map: save the model again")
    code = _imported_by(modules, files)
    _check_weights(folder, [name for name in files if name.endswith(".safetensors") and "/" not in name])
    return [name for name in files if _is_module(name) and name not in code]


def _named_modules(config: dict[str, Any]) -> list[str]:
    """Return the files of the modules that a configuration names, except modules of other repositories."""
    values = config.get("auto_map", {}).values()
    names = [name for value in values for name in ([value] if isinstance(value, str) else value) if name]
    return [f"{name.split('.')[0]}.py" for name in names if "--" not in name]


def _is_module(name: str) -> bool:
    return name.endswith(".py") and "/" not in name


def _imported_by(modules: Sequence[str], files: dict[str, ContentFile]) -> set[str]:
    """Return modules of a model with all local modules that they import, directly or indirectly."""
    found: set[str] = set()
    waiting = [name for name in modules if name in files]
    while waiting:
        name = waiting.pop()
        found.add(name)
        imported = [(one or other).decode() + ".py" for one, other in _IMPORTED.findall(files[name].content)]
        waiting += [other for other in imported if other in files and other not in found]
    return found


def _check_weights(folder: Path, weights: Sequence[str]) -> None:
    if not weights:
        raise FolderError(
            f"{folder} has no weights as safetensors: save the model by save_pretrained of transformers 5, or train it "
            "to the end"
        )
    for name in weights:
        try:
            with safe_open(folder / name, "np"):
                pass
        except (SafetensorError, OSError) as error:
            raise FolderError(
                f"{folder / name} is not a complete file of weights ({error}): save the model again"
            ) from error
