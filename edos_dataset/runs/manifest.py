"""`manifest.json`: the report of a run, for people and for later commands."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edos_dataset.runs.arguments import fault_of
from edos_dataset.runs.folder import FolderError, check_whole, command_of
from edos_dataset.runs.shards import StageCount, write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.version import __version__

NAME = "manifest.json"

UNREADABLE_FOLDER, UNREADABLE_ZIP = "unreadable_folder", "unreadable_zip"
"""Reasons of folders and archives that could not be opened, so that their number of files is unknown."""

_NAMED = ("pyarrow", "datasets", "lxml", "pysubs2", "torch", "sentence-transformers")

_NUMBER = (int, float)
_STAGE = {
    **{"stage": str, "unit": str, "read": int, "kept": int},
    **{"rejected": {str: int}, "tally": {str: int}, "per_second": (*_NUMBER, type(None))},
}
_CONFIG = {
    **{"dialogues": int, "turns": int, "tokens": int, "bytes": int, "splits": {str: int}},
    **{"turns_per_dialogue": _NUMBER, "tokens_per_turn": _NUMBER, "certainty?": (*_NUMBER, type(None))},
    "label_set?": dict,  # of labels other than those of EDOS
}
_SHAPE = {
    "input": {"films?": int, "books?": int, "files": int, "skipped": [[str]]},
    "stages": [_STAGE],
    "quarantined": [{"path": str, "reason": str, "detail": str}],
    "configs": {str: _CONFIG},
}
"""The fields on which the readers of a manifest rely."""
_OPTIONAL = {"recipe": str, "fingerprint": str, "versions": {str: str}, "remarks": [str], "runs": {str: dict}}
_OPTIONAL |= {"books": [{"id": str, "dialogues": int, "utterances": int, "reason": (str, type(None))}]}
_OPTIONAL |= {"left_out": [{"stage": str, "path": str, "reason": str, "detail": str, "kept": (str, type(None))}]}


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python, and of the packages that influence the result."""
    numbers = {"edos-dataset": __version__, "python": platform.python_version()}
    for package in _NAMED:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            numbers[package] = "not installed"
    return numbers


@dataclass(kw_only=True)
class Manifest:
    """A command's report about the folder that it wrote; fields that are None are left out.

    Attributes:
        source: name of the input that was labelled.
        model: identity of the labeler.
        recipe: the pipeline as YAML.
        fingerprint: hash of everything that determines the rows, except the input.
        versions: versions of this package and of others.
        history: name in `label_source` of each model that leaves it open → number of earlier turns that it saw.
        labels: manifest of the labels that were hydrated.
        input: numbers of `films` or `books`, of `files`, of `unopened` folders and archives (not counted as files), and
            of the unwanted ones that were `skipped`.
        stages: one `stage_entry` per stage.
        endpoint: requests, tokens and cost of models at an endpoint in this command, and how many turns they left
            without a label.
        remarks: what a user should know about the result, one sentence each.
        quarantined: path, reason and message of everything that could not be opened or read.
        left_out: the readable files that were rejected: `stage`, `path`, `reason`, `detail` (the reason in words), and
            `kept`, the path of the file that is kept instead, or null. Of each stage and reason the first 100 by path;
            `stages` has the number of all.
        configs: config → its counts.
        books: result for each book: `id`, `dialogues`, `utterances`, `kept` and `reason`.
        runs: name → manifest of each run, if several fill the folder; the other fields then cover all runs.
        missing: the labels for which nothing was found.
        identical: file → whether it is the one that the labels were made from.
        shards: number of all shards, and of those that this command made.
        workers: number of processes.
        seconds: running time of the command.
    """

    source: str | None = None
    model: str | None = None
    recipe: str | None = None
    fingerprint: str | None = None
    versions: dict[str, str] = field(default_factory=versions)
    history: dict[str, int] | None = None
    labels: dict[str, Any] | None = None
    input: dict[str, Any]
    stages: list[dict[str, Any]]
    endpoint: dict[str, Any] | None = None
    remarks: list[str] | None = None
    quarantined: list[Any] = field(default_factory=list)
    left_out: list[dict[str, Any]] | None = None
    configs: dict[str, dict[str, Any]]
    books: list[dict[str, Any]] | None = None
    runs: dict[str, dict[str, Any]] | None = None
    missing: dict[str, Any] | None = None
    identical: dict[str, bool] | None = None
    shards: dict[str, int] | None = None
    workers: int | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are not None, as plain data."""
        return {entry.name: value for entry in fields(self) if (value := getattr(self, entry.name)) is not None}

    def write(self, folder: Path) -> dict[str, Any]:
        """Write `manifest.json` and return its content."""
        content = self.as_dict()
        write_text(folder / NAME, json.dumps(content, indent=1, ensure_ascii=False))
        return content


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the content of a run's manifest.

    Raises:
        FolderError: there is no manifest, as the folder is not a finished run, or the manifest is damaged.
    """
    path = folder / NAME
    check_whole(folder)
    try:
        manifest: dict[str, Any] = json_of(path.read_bytes())
    except OSError as error:
        if (folder / ".run").is_dir():
            command = command_of(folder / ".run") or "curate"
            why = f"the run in {folder} has not finished: give its `edos {command}` command again"
        elif path.exists():
            why = f"cannot read {path} ({error.strerror})"
        else:
            why = f"{fault_of(folder)}: give a folder that `edos curate` wrote"
        raise FolderError(why) from error
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
    """Return whether plain data have a shape.

    A shape is a type or several types; a list of one shape; a dictionary of shapes by key, where a key that ends in "?"
    is optional; or a dictionary with the key `str`, whose shape applies to all keys.
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


def merged(entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return entries of several manifests as one: numbers are added, lists concatenated and dictionaries merged by key;
    of other values the first is taken.
    """
    total: dict[str, Any] = {}
    for entry in entries:
        for key, value in entry.items():
            before = total.get(key)
            if before is None:
                total[key] = value
            elif isinstance(value, dict):
                total[key] = merged([before, value])
            elif isinstance(value, int | float | list) and not isinstance(value, bool):
                total[key] = before + value
    return total


def bad_fraction(manifest: Mapping[str, Any]) -> float:
    """Return the fraction of files that were quarantined, 0 to 1; it is 1 if a folder or archive could not be opened,
    since its number of files is unknown.
    """
    quarantined: Sequence[Mapping[str, Any]] = manifest["quarantined"]
    if any(note["reason"] in (UNREADABLE_FOLDER, UNREADABLE_ZIP) for note in quarantined):
        return 1.0
    found = manifest["input"]
    return len(quarantined) / max(int(found["files"]) + int(found.get("unopened", 0)), 1)
