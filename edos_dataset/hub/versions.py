"""Versions of a dataset: the changes between two versions, whether a step is large enough, and the changelog.

Patch: the same dialogues with the same texts in the same splits; labels may be corrected. Minor: dialogues or configs
are added, or texts or splits change. Major: columns or label names change, or dialogues are removed, which includes
changes of their ids.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.label_sets.schemas import features_of
from edos_dataset.publishing.cards.markdown import code, plain, table
from edos_dataset.wording import counted

Step = Literal["patch", "minor", "major"]

CHANGELOG = "DATA_CHANGELOG.md"
_VERSION = re.compile(r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_HEAD = """\
# Data changelog

What each version changed, counted by `dialogue_id`. A patch version has the same dialogues; a minor one \
adds dialogues or configs, or corrects texts; a major one changes columns or label names, or removes dialogues.
"""

ID = "dialogue_id"
_LABELS = ("label", "turns.label")
_TEXTS = ("turns.text", "turns.text_sha256")
_ROWS = 10_000
_ONE_OF = "one of "

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ConfigChange:
    """The changes of a config between two versions.

    Attributes:
        config: Its name.
        before: Number of dialogues in the earlier version, 0 if it lacks the config.
        after: Number of dialogues in the later version, 0 if it lacks the config.
        added: Number of dialogues whose id is new.
        removed: Number of dialogues whose id no longer exists.
        labels: Number of dialogues in both versions with a changed label.
        texts: Number of dialogues in both versions with a changed text or changed turns.
        moved: Number of dialogues in both versions whose split changed.
        schema: Changes of the columns and label names, one sentence of Markdown each.
    """

    config: str
    before: int
    after: int
    added: int = 0
    removed: int = 0
    labels: int = 0
    texts: int = 0
    moved: int = 0
    schema: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class Version:
    """A semantic version; versions are ordered as usual."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Return the version for a text such as "1.2.0" or "v1.2.0".

        Raises:
            ValueError: The text is not a version.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a version: give three numbers, such as 1.2.0")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def tag(self) -> str:
        """Name of its tag, such as v1.2.0."""
        return f"v{self}"

    def after(self, step: Step) -> "Version":
        """Return the next version after a step."""
        if step == "major":
            return Version(self.major + 1, 0, 0)
        if step == "minor":
            return Version(self.major, self.minor + 1, 0)
        return Version(self.major, self.minor, self.patch + 1)


def reasons(changes: Sequence[ConfigChange]) -> dict[Step, list[str]]:
    """Return descriptions of the changes that require a major or a minor step, by step."""
    major, minor = [], []
    for change in changes:
        name = f"config {change.config}"
        major += [f"{name}: {sentence}" for sentence in change.schema]
        if change.removed:
            major.append(f"{name}: {change.removed:,} of {counted(change.before, 'dialogues were')} removed")
        if change.added:
            minor.append(f"{name}: {counted(change.added, 'new dialogues')}")
        if change.texts:
            minor.append(f"{name}: {counted(change.texts, 'dialogues')} changed their text")
        if change.moved:
            minor.append(f"{name}: {counted(change.moved, 'dialogues')} changed their split")
    return {"major": major, "minor": minor}


def needed(changes: Sequence[ConfigChange]) -> Step:
    """Return the smallest step that these changes allow."""
    why = reasons(changes)
    return "major" if why["major"] else "minor" if why["minor"] else "patch"


def check_step(version: Version, previous: Version, changes: Sequence[ConfigChange]) -> None:
    """Check that a version is a large enough step for the changes since the previous one.

    Raises:
        ValueError: The step is too small; the message says why, and the smallest version allowed.
    """
    step = needed(changes)
    least = previous.after(step)
    if version < least:
        why = "; ".join(reasons(changes)[step])
        raise ValueError(
            f"{version} is too small a step after {previous}, as this is a {step} change ({why}): publish it as "
            f"{least} or later"
        )


def changelog(existing: str, version: Version, previous: Version | None, changes: Sequence[ConfigChange]) -> str:
    """Return the changelog with a version's entry at the top, replacing an earlier entry for the same version.

    Args:
        existing: The changelog so far, or "".
        version: The new version.
        previous: The version before it, or None for the first.
        changes: Changes of each config.
    """
    place = existing.find("\n## ")
    entries = re.split(r"(?m)^(?=## )", existing[place + 1 :]) if place >= 0 else []
    kept = [entry.rstrip() for entry in entries if entry.strip() and entry.split("\n", 1)[0].strip() != f"## {version}"]
    return "\n\n".join([_HEAD.rstrip(), _entry(version, previous, changes), *kept]) + "\n"


def _entry(version: Version, previous: Version | None, changes: Sequence[ConfigChange]) -> str:
    if previous is None:
        rows = [[code(change.config), f"{change.after:,}"] for change in changes]
        return f"## {version}\n\nThe first version.\n\n{table(['config', 'dialogues'], rows)}"
    heads = ["config", "dialogues", "added", "removed", "labels changed", "texts changed", "split changed"]
    rows = []
    for change in changes:
        counts = (change.after, change.added, change.removed, change.labels, change.texts, change.moved)
        rows.append([code(change.config), *(f"{count:,}" for count in counts)])
    sentences = [f"- Config {code(change.config)}: {sentence}." for change in changes for sentence in change.schema]
    parts = [f"## {version}", f"Since {previous}:", table(heads, rows), "\n".join(sentences)]
    return "\n\n".join(part for part in parts if part)


def versions_of(tags: Mapping[str, str]) -> dict[Version, str]:
    """Return version → commit for the tags that are versions; other tags are left out."""
    return {
        Version.parse(name): target
        for name, target in tags.items()
        if name.startswith("v") and _VERSION.fullmatch(name)
    }


@dataclass(frozen=True)
class Rows:
    """The dialogues of a config as hashes, comparable within this process; arrays of shape [dialogues], sorted by id.

    Attributes:
        ids: Hash of the id.
        labels: Hash of the labels of all turns, in order.
        texts: Hash of the texts of all turns, in order.
        splits: Hash of the name of the split.
        columns: Each leaf column, such as `turns[].label`, and its type, which includes the names of labels.
    """

    ids: Hashes
    labels: Hashes
    texts: Hashes
    splits: Hashes
    columns: Mapping[str, str]


def read_rows(files: Mapping[str, str], opened: Callable[[str], Any]) -> Rows:
    """Read the dialogues of a config. Memory: 33 bytes per dialogue, and one batch.

    Files are read in batches, and only the columns of ids, texts and labels.

    Args:
        files: Path → split, at least one.
        opened: Returns a local path or an open file for a path, in a form that `pyarrow` accepts.

    Raises:
        ValueError: There is no column `dialogue_id`.
        OSError: A file cannot be read.
        pyarrow.ArrowInvalid: A file is not Parquet.
    """
    pieces = [[np.empty(0, np.uint64)] * 4]
    columns: dict[str, str] = {}
    for path, split in sorted(files.items()):
        with pq.ParquetFile(opened(path), pre_buffer=True) as file:
            columns = columns or _leaves(file.schema_arrow)
            if ID not in columns:
                raise ValueError(f"{path} has no column {ID}, which the comparison of two versions needs")
            leaves = {
                _without_lists(file.schema.column(place).path): file.schema.column(place).path
                for place in range(len(file.schema))
            }
            wanted = [leaves[name] for name in (ID, *_LABELS, *_TEXTS) if name in leaves]
            for batch in file.iter_batches(_ROWS, columns=wanted):
                ids = _hashes(batch[ID])
                pieces.append(
                    [
                        ids,
                        _mixed(batch, _LABELS),
                        _mixed(batch, _TEXTS),
                        np.full(len(ids), hash(split), np.int64).view(np.uint64),
                    ]
                )
    ids, labels, texts, splits = (np.concatenate([piece[place] for piece in pieces]) for place in range(4))
    ids, first = np.unique(ids, return_index=True)
    return Rows(ids, labels[first], texts[first], splits[first], columns)


def compare(config: str, old: Rows | None, new: Rows | None) -> ConfigChange:
    """Compare two versions of a config; one of them may lack it."""
    if old is None or new is None:
        before, after = (0 if rows is None else len(rows.ids) for rows in (old, new))
        return ConfigChange(config, before, after, added=after, removed=before)
    _, there, here = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    differ = {name: int(np.sum(getattr(old, name)[there] != getattr(new, name)[here])) for name in ("labels", "texts")}
    moved = int(np.sum(old.splits[there] != new.splits[here]))
    counts = (len(old.ids), len(new.ids), len(new.ids) - len(here), len(old.ids) - len(there))
    return ConfigChange(config, *counts, **differ, moved=moved, schema=tuple(_schema_changes(old.columns, new.columns)))


def _schema_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    differences = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            differences.append(f"column {code(name)} was removed")
        elif name not in old:
            differences.append(f"column {code(name)} is new")
        elif old[name] != new[name]:
            differences.append(_other_type(name, old[name], new[name]))
    return differences


def _other_type(name: str, old: str, new: str) -> str:
    if not (old.startswith(_ONE_OF) and new.startswith(_ONE_OF)):
        return f"column {code(name)} was {plain(old)} and is {plain(new)}"
    before, after = (names.removeprefix(_ONE_OF).split(", ") for names in (old, new))
    gone, more = [label for label in before if label not in after], [label for label in after if label not in before]
    parts = [f"{plain(', '.join(labels))} {word}" for labels, word in ((gone, "removed"), (more, "new")) if labels]
    return f"label names of {code(name)}: {'; '.join(parts) or 'in another order'}"


def _without_lists(path: str) -> str:
    """Return the path of a leaf in a Parquet file without the list levels: `turns.list.element.text` → `turns.text`."""
    parts = path.split(".")
    return ".".join(
        part for place, part in enumerate(parts) if part != "list" and (place == 0 or parts[place - 1] != "list")
    )


def _leaves(schema: pa.Schema) -> dict[str, str]:
    features = features_of(schema.metadata)
    kinds: dict[str, str] = {}

    def walk(name: str, kind: pa.DataType, feature: object) -> None:
        inner = feature if isinstance(feature, dict) else {}
        if pa.types.is_struct(kind):
            for field in kind:
                walk(f"{name}.{field.name}", field.type, inner.get(field.name))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            walk(f"{name}[]", kind.value_type, feature[0] if isinstance(feature, list) else inner.get("feature"))
        else:
            names = inner.get("names")
            kinds[name] = _ONE_OF + ", ".join(names) if isinstance(names, list) else str(kind)

    for field in schema:
        walk(field.name, field.type, features.get(field.name))
    return kinds


def _hashes(values: pa.Array) -> Hashes:
    return np.fromiter(map(hash, values.to_pylist()), np.int64, len(values)).view(np.uint64)


def _mixed(batch: pa.RecordBatch, names: tuple[str, ...]) -> Hashes:
    """Return a hash for each row of those named columns that the batch has; `turns.x` means the field `x` of all turns,
    in order.
    """
    total = np.zeros(batch.num_rows, np.uint64)
    for name in names:
        column, _, field = name.partition(".")
        if column not in batch.schema.names:
            continue
        if not field:
            total += _hashes(batch[column])
        elif field in batch.schema.field(column).type.value_type.names:
            total += _of_lists(batch[column], field)
    return total


def _of_lists(lists: pa.ListArray, field: str) -> Hashes:
    rows = pc.list_parent_indices(lists).to_numpy()
    starts, ends = (np.searchsorted(rows, np.arange(len(lists)), side) for side in ("left", "right"))
    places = (np.arange(len(rows)) - starts[rows] + 1).astype(np.uint64)
    turns = _hashes(pc.struct_field(pc.list_flatten(lists), field)) * np.uint64(0x9E3779B97F4A7C15) + places
    turns = (turns ^ (turns >> np.uint64(29))) * (
        np.uint64(2) * places + np.uint64(0xBF58476D1CE4E5B9)
    )  # so that the order of the turns counts
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(turns, dtype=np.uint64)])
    hashes: Hashes = sums[ends] - sums[starts]
    return hashes
