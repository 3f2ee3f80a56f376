"""Selects the files of a folder to publish on the Hub: named regular files, with exactly the content that was checked.

A folder is refused if it is unfinished or damaged, or has data that belong to no config. Files that are not named are
left out and listed; links, which could lead anywhere on this machine, are refused.
"""

import fnmatch
import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from edos_dataset.exports.datasets import VIEWS
from edos_dataset.hub.remote import Kind
from edos_dataset.hub.versions import CHANGELOG
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE
from edos_dataset.publishing.front_matter import content_of, split_card, stated_content
from edos_dataset.publishing.published import recipe_file
from edos_dataset.runs.arguments import fault_of
from edos_dataset.runs.folder import FolderError, check_whole, configs_in
from edos_dataset.runs.shards import digest
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema import BOOK_LANGUAGES, LABELS_ONLY, REGISTRY
from edos_dataset.wording import counted

DATA = (".parquet", ".arrow", ".csv", ".tsv", ".jsonl", ".zip", ".gz")
"""Suffixes of data files, which `datasets` would load; each must belong to a config."""
_LARGE = (*DATA, ".safetensors")
"""Suffixes of files that are uploaded from disk; all others are small and read once."""

CARD = "README.md"
CROISSANT = "croissant.json"
_OF_VIEWS = tuple(f"{view}/manifest.json" for view in VIEWS)
COUNTS = ("manifest.json", "seed.json", "extend.json", "labels_only/manifest.json", *_OF_VIEWS)
"""Names of count files; each command that writes a dataset folder writes one of them."""
REPORT = ("report.html", "report.json")
"""The page that `edos report` writes, and its figures."""
REPORT_PICTURES = {
    "report_pictures/labels.png": "Bars: the fraction of turns with each label, by emotions, response intents and "
    "neutral; markers: the data that they are compared with.",
    "report_pictures/flow.png": "Bands: how the labels of the first four turns of the dialogues follow each other.",
}
"""Path in the folder → description, for the two main figures of a report."""
_REPORT_HEADING = "## What the data look like"
_RECIPES = ("recipe.yaml", "labels_only/recipe.yaml", *map(recipe_file, BOOK_LANGUAGES))
_NAMED = frozenset({CARD, *COUNTS, *_RECIPES, LABEL_PICTURE, "audit.html", CHANGELOG, CROISSANT})
"""The only files that may be published besides the data files that the card names."""
_STAYS = "missing.jsonl"
"""A list of what `edos hydrate` could not find; not data."""

_VOLATILE = ("seconds", "per_second", "workers", "made_now")
"""Keys of a manifest that depend on machine and time; without them, equal data have equal manifests."""


@dataclass(frozen=True)
class ContentFile:
    """A file to publish: a path on this machine, or the content.

    The state of a file on disk is recorded at creation, and `check` raises if it has changed since, so the uploaded
    content is the one that was hashed.
    """

    source: Path | bytes

    def __post_init__(self) -> None:
        """Record the file's state."""
        if isinstance(self.source, Path):
            self._seen  # noqa: B018 - fills the cache

    @cached_property
    def _seen(self) -> tuple[int, ...]:
        return _look(self.source) if isinstance(self.source, Path) else ()

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self._seen[2]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex), by which the Hub identifies a large file."""
        found = hashlib.sha256(self.source).hexdigest() if isinstance(self.source, bytes) else digest(self.source)
        self.check()
        return found

    @cached_property
    def blob(self) -> str:
        """Git blob id (hex) of the content, by which the Hub identifies a small file."""
        return blob_id(self.content)

    @property
    def content(self) -> bytes:
        """All bytes; for small files."""
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()

    def check(self) -> None:
        """Check that the file has not changed since creation.

        Raises:
            FolderError: It was changed or replaced.
        """
        if isinstance(self.source, Path) and _look(self.source) != self._seen:
            raise FolderError(
                f"{self.source} changed while it was being published: run the command again when nothing writes there"
            )


def blob_id(content: bytes) -> str:
    """Return the git blob id (hex) of some content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def files_of(folder: Path, named: Callable[[str], bool]) -> tuple[dict[str, ContentFile], list[str]]:
    """Return the named files of a folder, path in it → file, and the paths of the files that are left out.

    Hidden files, such as those in `.run`, are neither published nor listed.

    Args:
        folder: A folder.
        named: Whether a path in the folder, such as `a/b.txt`, may be published.

    Raises:
        FolderError: The folder, or something visible in it, is a link; or a named file is not a regular file.
    """
    files, others = {}, []
    for path in sorted(_walk(folder)):
        name = path.relative_to(folder).as_posix()
        if named(name):
            files[name] = _opened(path)
        else:
            others.append(name)
    return files, others


def check_no_link(folder: Path) -> None:
    """Raise FolderError if a folder is a link."""
    if folder.is_symlink():
        raise FolderError(f"{folder} is a link: give its target, {folder.resolve()}, if you mean that")


def _walk(folder: Path) -> Iterator[Path]:
    check_no_link(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                raise FolderError(f"{path} is a link, which may lead anywhere: put the file itself there, or remove it")
            if entry.is_dir():
                yield from _walk(path)
            else:
                yield path


def _look(path: Path) -> tuple[int, ...]:
    """Return values that change when a file is written to or replaced."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise FolderError(f"{path} is not a plain file: remove it")
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _opened(path: Path) -> ContentFile:
    file = ContentFile(path)
    if path.name.endswith(_LARGE):
        return file
    content = path.read_bytes()
    file.check()
    return ContentFile(content)


@dataclass(frozen=True)
class Contents:
    """The contents that one command publishes.

    Attributes:
        kind: Kind of the repository.
        files: Path in the repository → file.
        configs: Config → path of each data file → split; empty for a model or a Space.
        left_out: Paths of files in the folder that are not published, as nothing names them.
    """

    kind: Kind
    files: Mapping[str, ContentFile]
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: Sequence[str] = ()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder, so that no other command of this package writes to it meanwhile.

    Raises:
        FolderError: Another command is writing there.
    """
    lock = FileLock(folder / ".run" / "lock", timeout=0)
    if (folder / ".run").is_dir():
        try:
            lock.acquire()
        except Timeout as error:  # an OSError too
            raise FolderError(f"another command is writing to {folder}: wait until it is done") from error
        except OSError:  # a read-only folder: nothing writes there
            pass
    try:
        yield
    finally:
        lock.release()


def read_data(folder: Path) -> Contents:
    """Return the contents of a folder that `edos curate`, `books`, `label`, `hydrate`, `labels-only`, `crowd seed` or
    `extend` wrote, checked to be complete and loadable.

    Besides the data files that the card names, only files that these commands write are published.

    Raises:
        FolderError: The folder is unfinished or has a link, a data file is damaged or belongs to no config, or the card
            states a different number of rows.
    """
    if not folder.is_dir():
        raise FolderError(
            f"{folder} is not a folder: give one that `edos curate`, `label`, `extend`, `crowd seed` or a training "
            "wrote"
        )
    check_whole(folder)
    _check_written(folder)
    named = _NAMED
    # a report shows texts, so it is not published with a folder of labels only
    if configs_in(folder, [name for name in REGISTRY if name != LABELS_ONLY]):
        named |= {*REPORT, *REPORT_PICTURES}
    files, left_out = files_of(folder, lambda name: name in named or (name.endswith(DATA) and name != _STAYS))
    try:
        card = files[CARD].content.decode()
    except UnicodeDecodeError as error:
        raise FolderError(f"{folder / CARD}: byte {error.start:,} is not UTF-8") from error
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


def _check_written(folder: Path) -> None:
    """Raise FolderError unless a command of this package has completely written the folder."""
    if (folder / CARD).is_file() and any((folder / name).is_file() for name in COUNTS):
        return
    if (folder / ".run").is_dir():
        raise FolderError(f"{folder} cannot be published: it is unfinished; run the command that writes it again")
    raise FolderError(
        f"{fault_of(folder)}: give a folder that `edos curate`, `label`, `extend`, `crowd seed` or a training wrote"
    )


def configs_of(card: str, paths: Sequence[str], where: str) -> dict[str, dict[str, str]]:
    """Return the data files that a card's YAML names: config → path → split.

    Args:
        card: The text of README.md.
        paths: Paths of all files.
        where: The folder or repository, for messages.

    Raises:
        FolderError: There is no such YAML, a pattern matches no file, or no config names a data file.
    """
    try:
        entries = split_card(card)[0]["configs"]
        patterns = [
            (entry["config_name"], data["split"], glob)
            for entry in entries
            for data in entry["data_files"]
            for glob in _as_list(data["path"])
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(
            f"{where}: the YAML at the head of {CARD} names no configs with data_files ({error!r}); without them, "
            "nothing loads"
        ) from error
    configs: dict[str, dict[str, str]] = {}
    for config, split, pattern in patterns:
        matching = fnmatch.filter(paths, pattern)
        if not matching:
            raise FolderError(
                f"{where}: no file matches {pattern!r}, which {CARD} names for the split {split} of the config {config}"
            )
        configs.setdefault(config, {}).update(dict.fromkeys(matching, split))
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
    """Compare the numbers of rows in the files with those in the card."""
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
                    f"{folder / path} is not a complete Parquet file ({error}): run the command that wrote {folder} "
                    "again"
                ) from error
        for split, number in rows.items():
            if stated.get((config, split), number) != number:
                raise FolderError(
                    f"{folder}: {CARD} states {counted(stated[config, split], 'dialogues')} in the split {split} "
                    f"of {config}, "
                    f"and its files have {number:,}; run the command that wrote it again"
                )


def _check_content(
    folder: Path, files: Mapping[str, ContentFile], configs: Mapping[str, Mapping[str, str]], card: str
) -> None:
    """Compare the data files with their digest in the card, if it states one."""
    for config, known in stated_content(card).items():
        if content_of(config, {name: files[name].sha256 for name in configs[config]}) != known:
            raise FolderError(
                f"{folder / config} is not the data that its card was written for: run the command that wrote "
                f"{folder} again"
            )


def _without_timings(file: ContentFile, path: Path) -> ContentFile:
    """Return a count file without the values that differ from run to run."""

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
        raise FolderError(f"{path} is damaged ({error}): run the command that wrote it again") from error


def _infos(card: str) -> list[dict[str, Any]]:
    infos = split_card(card)[0].get("dataset_info") or []
    return infos if isinstance(infos, list) else [infos]


def _as_list(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else path


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def with_report(body: str, files: Collection[str]) -> str:
    """Return the text of a card with a link to its report and the report's main figures before the second section.

    Args:
        body: The text after the YAML.
        files: Paths beside the card; without a report among them, the text is returned unchanged.
    """
    if REPORT[0] not in files or _REPORT_HEADING in body:
        return body
    pictures = "".join(f"![{text}]({path})\n\n" for path, text in REPORT_PICTURES.items() if path in files)
    section = (
        f"{_REPORT_HEADING}\n\n{pictures}More figures, dialogues to read, and possible errors: "
        f"[{REPORT[0]}]({REPORT[0]}), one page to download and open, which needs no network; its figures are in "
        f"[{REPORT[1]}]({REPORT[1]}).\n\n"
    )
    first = body.find("\n## ")
    second = body.find("\n## ", first + 1) if first >= 0 else -1
    if second < 0:
        return f"{body.rstrip()}\n\n{section}"
    return f"{body[: second + 1]}{section}{body[second + 1 :]}"
