"""What of a model's or a Space's folder goes to the Hub: refused if a file that loading needs is missing or damaged."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from edos_dataset.hub.contents import CARD, ContentFile, Contents, files_of
from edos_dataset.labeling.models.packed import unpack
from edos_dataset.labeling.models.shipped import find_published, shipped_names
from edos_dataset.publishing.front_matter import split_card
from edos_dataset.runs.folder import FolderError

CONFIG = "config.json"

_NOT_PUBLISHED = ("tensorboard/", "checkpoints/", "__pycache__/")
_NOT_PUBLISHED_SUFFIXES = (
    ".npz",
    ".pyc",
    ".pt",
    ".bin",
    ".pkl",
)  # predictions of single texts, and formats that run code when they are loaded


def read_model(folder: Path) -> Contents | None:
    """Read a folder that a training or `save_pretrained` wrote; None where it is no model's.

    Published are the card, the configuration, the tokenizer, the weights as safetensors, the model's own code and the
    records of its making.

    Raises:
        FolderError: the weights, the code that the configuration names, or the card are missing or damaged.
    """
    if not (folder / CONFIG).is_file():
        return None
    files = _published(folder)
    try:
        config: dict[str, Any] = json.loads(files[CONFIG].content)
        named = [
            name
            for value in config.get("auto_map", {}).values()
            for name in ([value] if isinstance(value, str) else value)
            if name
        ]
    except (ValueError, AttributeError, TypeError) as error:
        raise FolderError(f"{folder / CONFIG} is no configuration of a model: {error}") from error
    if lacking := sorted({f"{name.split('.')[0]}.py" for name in named if "--" not in name} - files.keys()):
        raise FolderError(f"{folder} has no {lacking[0]}, which {CONFIG} names under auto_map: save the model again")
    _check_weights(folder, files)
    head = card_metadata(folder, files, "a model's card says what it is and under which licence")
    if lacking := [key for key in ("license", "pipeline_tag", "library_name") if not head.get(key)]:
        raise FolderError(
            f"{folder / CARD} does not say {lacking[0]} in its YAML: without, the Hub shows no widget or no licence; "
            "add it"
        )
    return Contents("model", files)


def read_shipped(folder: Path) -> Contents | None:
    """Read the classifier that the package ships under a name, with the card of this version; None where there is a
    folder of that name, or no such model.

    Raises:
        FolderError: the package ships the model, but transformers could not load it.
    """
    model = None if folder.exists() else find_published(str(folder))
    if model is None:
        return None
    if model.kind != "classifier":
        raise FolderError(
            f"{model.name!r} is no model of transformers, which the Hub's users could load; "
            f"{' and '.join(map(repr, shipped_names('classifier')))} are"
        )
    contents = read_model(unpack(model.name))
    assert contents is not None, "what was unpacked is a model"
    return replace(contents, files={**contents.files, CARD: ContentFile(model.card)})


def read_space(folder: Path) -> Contents | None:
    """Read the folder of a Space, which is one whose card names an `sdk`; None where it is none.

    Raises:
        FolderError: the file that the card names as the Space's program is missing.
    """
    if not (folder / CARD).is_file() or not (folder / CARD).read_text(encoding="utf-8").startswith("---\n"):
        return None
    files = _published(folder)
    head = card_metadata(folder, files, "a Space's card says how it is started")
    if "sdk" not in head:
        return None
    program = head.get("app_file", "index.html" if head["sdk"] == "static" else "app.py")
    if program not in files:
        raise FolderError(f"{folder} has no {program}, which {CARD} names as the Space's program")
    return Contents("space", files)


def sdk_of(contents: Contents) -> str | None:
    """Return what a Space runs on, such as "gradio"; None for another contents."""
    return str(split_card(contents.files[CARD].content.decode())[0]["sdk"]) if contents.kind == "space" else None


def card_metadata(folder: Path, files: dict[str, ContentFile], why: str) -> dict[str, Any]:
    """Return the YAML at the head of a card.

    Raises:
        FolderError: there is no card, or no YAML in it.
    """
    if CARD not in files:
        raise FolderError(f"{folder} has no {CARD}: {why}")
    try:
        return split_card(files[CARD].content.decode())[0]
    except ValueError as error:  # bytes that are no UTF-8, too
        raise FolderError(f"{folder / CARD}: {error}; {why}") from error


def _published(folder: Path) -> dict[str, ContentFile]:
    return {
        name: file
        for name, file in files_of(folder).items()
        if not any(part in name for part in _NOT_PUBLISHED) and not name.endswith(_NOT_PUBLISHED_SUFFIXES)
    }


def _check_weights(folder: Path, files: dict[str, ContentFile]) -> None:
    weights = [name for name in files if name.endswith(".safetensors")]
    if not weights:
        raise FolderError(
            f"{folder} has no weights as safetensors: save the model by save_pretrained of transformers 5, or train it "
            "to its end"
        )
    for name in weights:
        try:
            with safe_open(folder / name, "np"):
                pass
        except (SafetensorError, OSError) as error:
            raise FolderError(f"{folder / name} is no whole file of weights ({error}): save the model again") from error
