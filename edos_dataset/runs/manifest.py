"""`manifest.json`: what a run did, for people and for the commands that come after it."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edos_dataset.runs.folder import FolderError, check_whole, command_of
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.shards import StageCount, write_text
from edos_dataset.version import __version__

NAME = "manifest.json"

UNREADABLE_FOLDER, UNREADABLE_ZIP = "unreadable_folder", "unreadable_zip"
"""Reasons of what could not be opened and holds nobody knows how many files."""

_NAMED = ("pyarrow", "datasets", "lxml", "pysubs2", "torch", "sentence-transformers")

_NUMBER = (int, float)
_STAGE = {
    **{"stage": str, "unit": str, "read": int, "kept": int},
    **{"rejected": {str: int}, "tally": {str: int}, "per_second": (*_NUMBER, type(None))},
}
_CONFIG = {
    **{"dialogues": int, "turns": int, "tokens": int, "bytes": int, "splits": {str: int}},
    **{"turns_per_dialogue": _NUMBER, "tokens_per_turn": _NUMBER, "certainty?": (*_NUMBER, type(None))},
}
_SHAPE = {
    "input": {"films?": int, "books?": int, "files": int, "skipped": [[str]]},
    "stages": [_STAGE],
    "quarantined": [{"path": str, "reason": str, "detail": str}],
    "configs": {str: _CONFIG},
}
"""What a manifest must be for whoever reads it."""
_OPTIONAL = {"recipe": str, "fingerprint": str, "versions": {str: str}, "remarks": [str], "runs": {str: dict}}
_OPTIONAL |= {"books": [{"id": str, "dialogues": int, "utterances": int, "reason": (str, type(None))}]}


def versions() -> dict[str, str]:
    """Return the versions of this package, Python, and what else decides what comes out."""
    numbers = {"edos-dataset": __version__, "python": platform.python_version()}
    for package in _NAMED:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "not installed"
    return numbers


@dataclass(kw_only=True)
class Manifest:
    """What a command says of the folder that it wrote; what a command has nothing to say about is left out.

    Attributes:
        source: name of what was labelled.
        model: identity of what labelled it.
        recipe: the pipeline as YAML.
        fingerprint: hash of all that decided the rows, but the input.
        versions: of this package and of others.
        labels: manifest of the labels that were hydrated.
        input: what was read: numbers of `films` or `books`, of `files`, and of what was `unopened`, which is none of
            these; and what was `skipped`, as it is not wanted.
        stages: what each stage did, a `stage_entry` each.
        remarks: what is to be known of the result, a sentence each.
        quarantined: path, reason and message of all that could not be opened or read.
        configs: config → its counts.
        books: what became of each book: `id`, `dialogues`, `utterances`, `kept` and `reason`.
        runs: of a folder that several runs fill, name → manifest of each; all else is about all of them.
        missing: of the labels, what was not found.
        identical: file → whether it is the one that the labels are from.
        shards: how many there are in all, and how many were made now.
        workers: processes.
        seconds: time that the command took.
    """

    source: str | None = None
    model: str | None = None
    recipe: str | None = None
    fingerprint: str | None = None
    versions: dict[str, str] = field(default_factory=versions)
    labels: dict[str, Any] | None = None
    input: dict[str, Any]
    stages: list[dict[str, Any]]
    remarks: list[str] | None = None
    quarantined: list[Any] = field(default_factory=list)
    configs: dict[str, dict[str, Any]]
    books: list[dict[str, Any]] | None = None
    runs: dict[str, dict[str, Any]] | None = None
    missing: dict[str, Any] | None = None
    identical: dict[str, bool] | None = None
    shards: dict[str, int] | None = None
    workers: int | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what there is to say, as plain data."""
        return {entry.name: value for entry in fields(self) if (value := getattr(self, entry.name)) is not None}

    def write(self, folder: Path) -> dict[str, Any]:
        """Write `manifest.json` and return what it says."""
        content = self.as_dict()
        write_text(folder / NAME, json.dumps(content, indent=1, ensure_ascii=False))
        return content


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what the manifest of a run says.

    Raises:
        FolderError: the folder holds none: it is no run, or the run has not finished.
    """
    path = folder / NAME
    check_whole(folder)
    try:
        manifest: dict[str, Any] = json_of(path.read_bytes())
    except OSError as error:
        why = (
            f"the run has not finished; give its `edos {command_of(folder / '.run') or 'curate'}` command again"
            if (folder / ".run").is_dir()
            else f"{folder} is no folder that `edos curate` wrote"
        )
        raise FolderError(f"cannot read {path} ({error.strerror}): {why}") from error
    except ValueError as error:
        raise FolderError(
            f"{path} is damaged ({error}); the `edos curate` command that made it writes it anew"
        ) from error
    if not isinstance(manifest, dict) or not {"stages", "configs"} <= manifest.keys():
        raise FolderError(f"{path} is not the manifest of a run: it has no 'stages' or no 'configs'")
    given = {name: shape for name, shape in _OPTIONAL.items() if name in manifest}
    for name, shape in {**_SHAPE, **given}.items():
        if not _fits(manifest.get(name), shape):
            raise FolderError(f"{path} is damaged: {name!r} is not what the command that made it writes there")
    return manifest


def _fits(value: object, shape: object) -> bool:
    """Return whether plain data are of a shape: a type or several; a list of one shape; a dictionary of some shapes by
    key, which may be absent where it ends in "?", or of one shape for all keys, named `str`.
    """
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
    if isinstance(shape, dict) and str in shape:
        return isinstance(value, dict) and all(_fits(item, shape[str]) for item in value.values())
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _fits(value[name], shape[key]) if (name := key.removesuffix("?")) in value else name != key for key in shape
        )
    assert isinstance(shape, type | tuple)
    return isinstance(value, shape) and not isinstance(value, bool)


def stage_entry(count: StageCount) -> dict[str, Any]:
    """Return a stage's entry in a manifest."""
    return vars(count) | {"per_second": round(count.read / count.seconds, 1) if count.seconds else None}


def added_up(entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return entries of several manifests as one: numbers and lists are added, dictionaries key by key; of anything
    else the first is taken.
    """
    total: dict[str, Any] = {}
    for entry in entries:
        for key, value in entry.items():
            before = total.get(key)
            if before is None:
                total[key] = value
            elif isinstance(value, dict):
                total[key] = added_up([before, value])
            elif isinstance(value, int | float | list) and not isinstance(value, bool):
                total[key] = before + value
    return total


def bad_share(manifest: Mapping[str, Any]) -> float:
    """Return the share of the files that had to be quarantined, 0 to 1; 1 where a folder or an archive could not be
    opened, as nobody knows how many files are in it.
    """
    quarantined: Sequence[Mapping[str, Any]] = manifest["quarantined"]
    if any(note["reason"] in (UNREADABLE_FOLDER, UNREADABLE_ZIP) for note in quarantined):
        return 1.0
    found = manifest["input"]
    return len(quarantined) / max(int(found["files"]) + int(found.get("unopened", 0)), 1)
