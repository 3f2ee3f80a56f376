"""What of a folder goes to the Hub: its files, by content; refused if the folder is unfinished, damaged, or has data
that no config names.
"""

import fnmatch
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from edos_dataset.hub.content_files import DATA, ContentFile, files_of
from edos_dataset.hub.croissant import FILE as CROISSANT
from edos_dataset.hub.remote import Kind
from edos_dataset.hub.versions import CHANGELOG
from edos_dataset.publishing.books import recipe_file
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE
from edos_dataset.publishing.cards.report import REPORT, REPORT_PICTURES, with_report
from edos_dataset.publishing.content import content_of, stated_content
from edos_dataset.publishing.front_matter import split_card
from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.tables import configs_in
from edos_dataset.schema import BOOK_LANGUAGES, LABELS_ONLY, REGISTRY

CARD = "README.md"
COUNTS = ("manifest.json", "seed.json", "extend.json", "labels_only/manifest.json")
"""What the commands that write such folders count in it; each has one of them."""
_RECIPES = ("recipe.yaml", "labels_only/recipe.yaml", *map(recipe_file, BOOK_LANGUAGES))
_NAMED = frozenset({CARD, *COUNTS, *_RECIPES, LABEL_PICTURE, "audit.html", CHANGELOG, CROISSANT})
"""What may be published beside the data files that the card names: nothing else that lies in the folder."""
_STAYS = "missing.jsonl"
"""What `edos hydrate` could not find; no data."""

_VOLATILE = ("seconds", "per_second", "workers", "made_now")
"""Keys of a manifest that tell of this machine and this moment; without them, the same data have the same manifest."""


@dataclass(frozen=True)
class Contents:
    """What one command publishes.

    Attributes:
        kind: of the repository.
        files: path in the repository → file.
        configs: config → path of each data file → split; empty for a model or a Space.
        left_out: paths of what lies in the folder and stays behind, as nothing names it.
    """

    kind: Kind
    files: Mapping[str, ContentFile]
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: Sequence[str] = ()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other commands of this package from writing to a folder meanwhile.

    Raises:
        FolderError: one of them is at work there.
    """
    lock = FileLock(folder / ".run" / "lock", timeout=0)
    if (folder / ".run").is_dir():
        try:
            lock.acquire()
        except Timeout as error:  # an OSError too
            raise FolderError(f"another command is writing to {folder}: wait until it is done") from error
        except OSError:  # a folder that only may be read: nothing writes there
            pass
    try:
        yield
    finally:
        lock.release()


def read_data(folder: Path) -> Contents:
    """Read a folder that `edos curate`, `books`, `label`, `hydrate`, `labels-only`, `crowd seed` or `extend` wrote, and
    check that it is whole and loads.

    Beside the data files that the card names only what such commands write goes.

    Raises:
        FolderError: it is unfinished, has a link, a data file belongs to no config or is damaged, or the card states
            another number of rows.
    """
    if not folder.is_dir():
        raise FolderError(
            f"{folder} is no folder: give one that `edos curate`, `label`, `extend`, `crowd seed` or a training wrote"
        )
    check_whole(folder)
    if not ((folder / CARD).is_file() and any((folder / name).is_file() for name in COUNTS)):
        hint = (
            "it is unfinished; give the command that writes it again"
            if (folder / ".run").is_dir()
            else "no command of this package has written it"
        )
        raise FolderError(f"{folder} cannot be published: {hint}")
    # the page of a report shows texts, so it does not go with labels alone
    named = _NAMED | (
        {*REPORT, *REPORT_PICTURES} if configs_in(folder, [name for name in REGISTRY if name != LABELS_ONLY]) else set()
    )
    files, left_out = files_of(folder, lambda name: name in named or (name.endswith(DATA) and name != _STAYS))
    try:
        card = files[CARD].content.decode()
    except UnicodeDecodeError as error:
        raise FolderError(f"{folder / CARD}: byte {error.start:,} is no UTF-8") from error
    configs = configs_of(card, list(files), str(folder))
    _check_rows(folder, files, configs, card)
    _check_content(folder, files, configs, card)
    body = split_card(card)[1]
    if (shown := with_report(body, files)) != body:
        files[CARD] = ContentFile((card.removesuffix(body) + shown).encode())
    for name in COUNTS:
        if name in files:
            files[name] = _without_timings(files[name], folder / name)
    return Contents("dataset", files, configs, left_out)


def configs_of(card: str, paths: Sequence[str], where: str) -> dict[str, dict[str, str]]:
    """Return the data files that a card's YAML names: config → path → split.

    Args:
        card: the text of README.md.
        paths: of all files.
        where: what holds them, for messages.

    Raises:
        FolderError: there is no such YAML, a pattern meets no file, or no config names a data file.
    """
    try:
        entries = split_card(card)[0]["configs"]
        patterns = [
            (entry["config_name"], data["split"], glob)
            for entry in entries
            for data in entry["data_files"]
            for glob in _globs(data["path"])
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(
            f"{where}: the YAML at the head of {CARD} names no configs with data_files ({error!r}); without, nothing "
            "loads"
        ) from error
    configs: dict[str, dict[str, str]] = {}
    for config, split, pattern in patterns:
        met = {path: split for path in paths if fnmatch.fnmatchcase(path, pattern)}
        if not met:
            raise FolderError(
                f"{where}: no file is {pattern!r}, which {CARD} names for the split {split} of the config {config}"
            )
        configs.setdefault(config, {}).update(met)
    named = {path for files in configs.values() for path in files}
    if forgotten := [path for path in paths if path.endswith(DATA) and path not in named]:
        raise FolderError(
            f"{where}: no config in the YAML of {CARD} names {_listed(forgotten)}; remove what does not belong there, "
            "or name it"
        )
    return configs


def _check_rows(
    folder: Path, files: Mapping[str, ContentFile], configs: Mapping[str, Mapping[str, str]], card: str
) -> None:
    """Compare the rows of the files with what the card states."""
    stated = {
        (info["config_name"], split["name"]): split["num_examples"]
        for info in _infos(card)
        for split in info.get("splits", [])
    }
    for config, paths in configs.items():
        rows: dict[str, int] = {}
        for path, split in paths.items():
            try:
                rows[split] = rows.get(split, 0) + pq.read_metadata(files[path].source).num_rows
            except (OSError, pa.ArrowException) as error:
                raise FolderError(
                    f"{folder / path} is no whole Parquet file ({error}): give the command that wrote {folder} again"
                ) from error
        for split, number in rows.items():
            if stated.get((config, split), number) != number:
                told = (
                    f"{CARD} says {stated[config, split]:,} dialogues in the split {split} of {config}, and its "
                    f"files have {number:,}"
                )
                raise FolderError(f"{folder}: {told}; give the command that wrote it again")


def _check_content(
    folder: Path, files: Mapping[str, ContentFile], configs: Mapping[str, Mapping[str, str]], card: str
) -> None:
    """Compare the data files with the digest by which the card knows them, if it says one."""
    for config, known in stated_content(card).items():
        if content_of(config, {name: files[name].sha256 for name in configs[config]}) != known:
            raise FolderError(
                f"{folder / config} is not what its card was written for: give the command that wrote {folder} again"
            )


def _without_timings(file: ContentFile, path: Path) -> ContentFile:
    """Return a file of counts without what differs from run to run, or as it is where it has nothing of that."""

    def kept(value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, dict):
            return {key: kept(entry) for key, entry in value.items() if key not in _VOLATILE}
        return [kept(entry) for entry in value] if isinstance(value, list) else value

    try:
        facts = json_of(file.content)
        if kept(facts) == facts:
            return file
        return ContentFile(json.dumps(kept(facts), indent=1, ensure_ascii=False).encode())
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{path} is damaged ({error}): give the command that wrote it again") from error


def _infos(card: str) -> list[dict[str, Any]]:
    infos = split_card(card)[0].get("dataset_info") or []
    return infos if isinstance(infos, list) else [infos]


def _globs(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else path


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
