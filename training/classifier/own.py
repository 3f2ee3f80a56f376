"""Labelled dialogues of a user, in any form that `edos label` reads or writes, shared out without leaks."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.arrays import Ints
from edos_dataset.crowd.splits import share_out
from edos_dataset.label_sets import LabelSet, label_set_of
from edos_dataset.releases.dialogues import read_dialogues
from edos_dataset.releases.formats.columns import find, named
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.records import Dialogue
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import is_saved, read_records
from edos_dataset.releases.own_folders import source_configs
from edos_dataset.runs.folder import config_files
from edos_dataset.schema import SPLITS
from edos_dataset.text import shown
from training.classifier.own_labels import Asked, Beside, TurnLabels, labels_of_turns
from training.classifier.parts import NONE, Data, Part, targets_of
from training.classifier.recipe import ClassifierRecipe
from training.near_copies import near_copies

GROUP_KEYS = ("document_id", "document", "film_id", "film", "movie_id", "movie", "book_id", "book")
"""Names of columns of what a dialogue is from, the surest first."""

_SPLIT_KEYS = ("split", "partition", "subset")
_PARTS = {"train": 0, "training": 0, "validation": 1, "valid": 1, "val": 1, "dev": 1, "test": 2}
_FEW = 20
_MOST_SHOWN = 10
_DECLARED = (b"edos.label_set", b"huggingface")


@dataclass(frozen=True)
class Wanted:
    """What a user asks to learn from a source.

    Attributes:
        selection: What to read of it.
        labels: Where its labels are, and of which set.
        group_column: Column of what stays in one part, such as films; by default found by name.
    """

    selection: Selection = field(default_factory=lambda: Selection(keep_labels=True))
    labels: Asked = Asked()
    group_column: str | None = None

    def check_no_columns(self, name: str, seed: bool) -> None:
        """Refuse what says where things stand, for a folder of this package, of which that is known.

        Args:
            name: What messages call the folder.
            seed: Whether it is one of `edos crowd seed` or `edos extend`, of which the labels are known, too.

        Raises:
            ValueError: Something of it was asked for.
        """
        asked = [*self.selection.columns, *["--format"] * bool(self.selection.form)]
        if seed:
            asked += [*["--config"] * bool(self.selection.config), *["--skip-bad"] * self.selection.skip_bad]
            asked += [*["--label-column"] * bool(self.labels.columns), *["--several"] * self.labels.several]
            asked += ["--group-column"] * bool(self.group_column)
        if asked:
            raise ValueError(f"{asked[0]} is for tables, but {name} is a folder of this package: leave it out")


class _Division(NamedTuple):
    """The part of each example (0 train, 1 validation, 2 test), the group that it is from, and how they were found."""

    parts: Ints
    groups: Ints
    by: str


def read_own(source: str, wanted: Wanted, recipe: ClassifierRecipe) -> Data:
    """Read labelled dialogues of any form. Every labelled turn is an example, with the turns before it.

    Args:
        source: A file, a folder of this package or of `save_to_disk`, or a dataset on the Hub.
        wanted: What to learn from it.
        recipe: The training.

    Raises:
        ValueError: It cannot be read, has no labels or bad ones, or too few dialogues for three parts.
        OSError: It cannot be read.
    """
    findings = Findings()
    if Path(source).is_dir() and not is_saved(Path(source)):
        wanted.check_no_columns(source, seed=False)
    dialogues = list(read_dialogues(source, wanted.selection, findings))
    given = [_beside(dialogue) for dialogue in dialogues]
    found = labels_of_turns(
        given,
        wanted.labels,
        _declared(source, wanted.selection.config),
        source,
        lambda places: _located(source, wanted.selection, dialogues, places),
        wanted.selection.skip_bad,
    )
    division = _divided(given, found, wanted.group_column, source, recipe)
    parts = [_part(dialogues, found, division, number, recipe) for number in range(3)]
    train, validation, test = parts
    held = [turns[-1] for part in (validation, test) for turns in part.dialogues]
    copies = near_copies([turns[-1] for turns in train.dialogues], held)
    train = train.take(~copies)
    counts = [len(train), len(validation), len(test)]
    if not (counts[0] and counts[1]):
        raise ValueError(
            f"{source}: {counts} labelled turns for training, validation and test ({division.by}; {copies.sum():,} "
            "near-duplicates of held-out turns left out): the first two need some; give more dialogues, or a column "
            "'split' with train, validation and test"
        )
    return Data(
        train,
        train.take(NONE),
        validation,
        test,
        _files(source, wanted.selection.config),
        {"labelled turns": int(copies.sum())},
        label_set=found.label_set,
        several=found.several,
        own=True,
        remarks=(*findings.remarks, *findings.warnings, *_remarks(found, dialogues, train, division.by)),
        limitations=_limitations(found, train),
    )


def _beside(dialogue: Dialogue) -> Beside:
    """Return what stands beside the texts of a dialogue."""
    whole = json.loads(dialogue.extra) if dialogue.extra else {}
    if dialogue.turn_extras is not None:
        return Beside(whole, [json.loads(each) if each else {} for each in dialogue.turn_extras])
    if dialogue.rows is not None and len(dialogue.texts) == 1:  # a row of a table, which is a dialogue by itself
        return Beside({}, [whole])
    return Beside(whole, [{}] * len(dialogue.texts))


def _declared(source: str, config: str | None) -> LabelSet | None:
    """Return the label set that a folder of ours or a Parquet file names."""
    path = Path(source)
    if path.is_dir() and not is_saved(path):
        files = config_files(path, source_configs(path, config)[0])
        return label_set_of(pq.read_schema(next(iter(files.values()))[0]))
    if path.is_file() and path.suffix.lower() in (".parquet", ".pq"):
        schema = pq.read_schema(path)
        if b"ClassLabel" in (schema.metadata or {}).get(_DECLARED[1], b"") or _DECLARED[0] in (schema.metadata or {}):
            return label_set_of(schema)
    return None


def _located(
    source: str, selection: Selection, dialogues: Sequence[Dialogue], places: Sequence[tuple[int, int]]
) -> list[str]:
    """Return the locations of turns for messages; those of rows are found by reading the source again."""
    rows = {place: own[place[1]] for place in places if (own := dialogues[place[0]].rows) is not None}
    of_rows: dict[int, str] = {}
    if rows:
        wanted = set(rows.values())
        for at, record in islice(enumerate(read_records(source, selection)), max(wanted) + 1):
            if at in wanted:
                of_rows[at] = record.where
    return [
        of_rows[rows[place]]
        if place in rows
        else f"{dialogues[place[0]].place.at(dialogues[place[0]].number)}, turn {place[1] + 1}"
        for place in places
    ]


def _part(
    dialogues: Sequence[Dialogue], found: TurnLabels, division: _Division, number: int, recipe: ClassifierRecipe
) -> Part:
    """Return the examples of a part."""
    rows = np.flatnonzero(division.parts == number)
    reach = recipe.max_tokens if recipe.context is None else recipe.context  # a turn has at least one token
    turns = [dialogues[at].texts[max(0, turn - reach) : turn + 1] for at, turn in found.places[rows].tolist()]
    labels, soft = found.labels[rows], found.soft[rows]
    targets = soft if found.several else targets_of(soft, labels, recipe)
    return Part(turns, labels, targets, np.ones(len(rows), np.float32), division.groups[rows])


def _divided(
    given: Sequence[Beside], found: TurnLabels, group_column: str | None, source: str, recipe: ClassifierRecipe
) -> _Division:
    """Share the examples out into three parts: as the data say, otherwise by film, document or dialogue."""
    of = found.places[:, 0]
    names = list(dict.fromkeys(key for each in given for key in (*each.whole, *(each.turns[0] if each.turns else ()))))
    groups, by = _groups(given, of, group_column, names, source)
    split = find(names, _SPLIT_KEYS)
    if split is not None:
        stated = [_stated(_value(given[at], split), split, source) for at in of.tolist()]
        parts = np.array(stated, np.int64)
        if {0, 1} <= set(stated):
            return _Division(parts, groups, f"split as the column {split!r} says")
        if {0, 2} <= set(stated):
            rows = np.flatnonzero(parts == 0)
            shares = (1 - recipe.shares[1], recipe.shares[1], 0.0)
            parts[rows] = _shared_out(groups[rows], found.labels[rows], shares, recipe.split_seed)
            return _Division(parts, groups, f"split as the column {split!r} says, validation out of train by {by}")
    parts = _shared_out(groups, found.labels, recipe.shares, recipe.split_seed)
    return _Division(parts, groups, f"split by {by}, seed {recipe.split_seed}")


def _value(each: Beside, name: str) -> Any:  # noqa: ANN401 - a value of the data
    return each.whole.get(name, each.turns[0].get(name) if each.turns else None)


def _stated(value: object, column: str, source: str) -> int:
    part = _PARTS.get(str(value).strip().casefold())
    if part is None:
        raise ValueError(
            f"{source}: {column} is {shown(value)}: expected {', '.join(SPLITS)} in every row; correct it, or rename "
            "the column"
        )
    return part


def _groups(
    given: Sequence[Beside], of: Ints, group_column: str | None, names: Sequence[str], source: str
) -> tuple[Ints, str]:
    """Return the number of the group that each example is from, and what groups are.

    Raises:
        ValueError: There is no column of that name.
    """
    column = named(group_column, names) if group_column else find(names, GROUP_KEYS)
    if group_column and column is None:
        raise ValueError(
            f"{source}: --group-column {group_column}: there is no such column, but {', '.join(map(repr, names))}"
        )
    if column is not None:
        values = [_value(given[at], column) for at in of.tolist()]
        known = {value: number for number, value in enumerate(dict.fromkeys(map(str, values)))}
        if len(known) >= len(SPLITS):
            return np.array([known[str(value)] for value in values], np.int64), repr(column)
    _, numbers = np.unique(of, return_inverse=True)
    if len(of) and numbers.max() + 1 < len(SPLITS):
        raise ValueError(
            f"{source}: its labelled turns are from {numbers.max() + 1} dialogues: some must be held out, so give "
            f"{len(SPLITS)} at least; if rows are not turns of one dialogue, name the column of dialogues as "
            "--id-column"
        )
    return numbers.astype(np.int64), "dialogue"


def _shared_out(groups: Ints, labels: Ints, shares: Sequence[float], seed: int) -> Ints:
    """Return each example's part; of few groups, the smallest ones go where a part would stay empty."""
    parts = share_out(groups, labels, shares, seed)
    for part in (1, 2):
        sizes = Counter(groups[parts == 0].tolist())
        if shares[part] and not (parts == part).any() and len(sizes) > 1:
            parts[groups == min(sizes, key=lambda group: (sizes[group], group))] = part
    return parts


def _files(source: str, config: str | None) -> dict[str, Path]:
    """Return the files of a source, by the names that a record has for them."""
    path = Path(source)
    if path.is_file():
        return {path.name: path}
    if not path.is_dir() or is_saved(path):
        return {}
    root = path.resolve()
    files = config_files(root, source_configs(root, config)[0])
    return {f"{root.name}/{each.relative_to(root).as_posix()}": each for own in files.values() for each in own}


def _remarks(found: TurnLabels, dialogues: Sequence[Dialogue], train: Part, by: str) -> list[str]:
    """Return what a user should know about the examples, in sentences."""
    counts = _counts(found, np.arange(len(found.places)))
    most = counts.most_common(_MOST_SHOWN)
    shown_counts = ", ".join(f"{label} {count:,}" for label, count in most) + ", ..." * (len(counts) > len(most))
    kind = " several of which a turn can have" if found.several else ""
    remarks = [
        *found.remarks,
        f"{len(found.places):,} labelled turns of {len(dialogues):,} dialogues, {by}",
        f"{len(found.label_set)} labels{',' * bool(kind)}{kind}: {shown_counts}",
    ]
    if found.unlabelled:
        remarks.append(f"{found.unlabelled:,} turns without a label are history of others only")
    if absent := _absent(found, train):
        remarks.append(f"no training example has {_listed(absent)}, which will hardly be predicted")
    return remarks


def _counts(found: TurnLabels, rows: Ints) -> Counter[str]:
    names = found.label_set.labels
    held = found.soft[rows].sum(axis=0) if found.several else np.bincount(found.labels[rows], minlength=len(names))
    return Counter({name: int(count) for name, count in zip(names, held, strict=True)})


def _trained(found: TurnLabels, train: Part) -> Mapping[str, int]:
    held = train.targets if found.several else np.eye(len(found.label_set))[train.labels]
    return dict(zip(found.label_set.labels, held.sum(axis=0).astype(int).tolist(), strict=True))


def _absent(found: TurnLabels, train: Part) -> list[str]:
    return [label for label, count in _trained(found, train).items() if not count]


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _MOST_SHOWN} more" if len(labels) > _MOST_SHOWN else ""
    return ", ".join(map(repr, labels[:_MOST_SHOWN])) + more


def _limitations(found: TurnLabels, train: Part) -> tuple[str, ...]:
    """Return what readers of the card should know of the data."""
    limits = []
    if found.by_model:
        limits.append(
            "**It learned from a model's labels**, and is measured on them: its figures are how often it agrees with "
            "that model, not how often it is right."
        )
    if few := [label for label, count in _trained(found, train).items() if count < _FEW]:
        limits.append(f"**Of some labels it saw fewer than {_FEW} examples:** {_listed(few)}.")
    if found.several:
        limits.append(
            "**A turn has each label of a probability of 0.5 or more**, so that it can have none; the probabilities "
            "are not calibrated."
        )
    return tuple(limits)
