"""The elements of a pipeline: stages, which see a batch; corpus steps, which see the whole corpus; and outputs.

This module does not depend on any particular stage.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.fingerprints import class_hash, hash_json
from edos_dataset.runs.untrusted import shown
from edos_dataset.schema.tables import REASON

Unit = Literal["files", "books", "lines", "sentences", "turns", "dialogues"]
"""What a stage counts; each unit of its input is either kept or rejected."""


@dataclass(frozen=True)
class Stage(ABC):
    """One step of the pipeline: a table in, a table out.

    A subclass is a frozen dataclass whose fields are its parameters. It holds no state between batches and accepts any
    batch of whole rows, so the same object runs in a run of this package, in `datasets.Dataset.map(batched=True)` with
    the arrow format, and in Ray Data's `map_batches`.

    A stage rejects a row by a reason code in the column `reason`; rows with null, and all rows of a table without that
    column, are kept. If only some turns of a dialogue are rejected, it becomes several rows: one for the kept turns,
    and one for the rejected turns of each reason.
    """

    name: ClassVar[str]
    unit: ClassVar[Unit]
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    """Columns, or fields of turns such as `turns.key`, that the stage reads and an earlier stage must have made."""
    gives: ClassVar[tuple[str, ...] | None] = None
    """Columns and fields that the stage adds; None if not declared."""
    ends: ClassVar[tuple[str, ...]] = ()
    """Columns and fields that are missing or no longer valid after the stage."""

    @abstractmethod
    def __call__(self, table: pa.Table) -> pa.Table:
        """Process a batch."""

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Return counts over an output table for the manifest; counts of several batches are added."""
        return {}

    def check(self) -> None:  # noqa: B027 - most stages need nothing
        """Check everything that the stage needs besides its parameters, such as files, models and devices. The main
        process calls this before a run reads anything.

        Raises:
            ValueError: something is missing or cannot be used.
        """

    def fingerprint(self) -> str:
        """Return a hash of the stage's code (its module and all of ours that it imports), version and parameters."""
        return _fingerprint(self)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return what the run reports about individual rejected rows besides their counts: plain data, one entry per
        row.
        """
        return []

    def left_out(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the readable files among the rejected rows, for the manifest: `path`, `reason`, `detail` (the reason
        in words) and `kept`, the path of the file that is kept instead, or null.
        """
        return []

    def inputs(self) -> dict[str, str]:
        """Return further dependencies of the output, name → hash, such as the weights of a model."""
        return {}


@dataclass(frozen=True)
class CorpusStep(ABC):
    """A step that needs the whole corpus: it reads the shards and decides what to remove.

    Attributes:
        name, unit, version, needs, gives, ends: as for a stage.
    """

    name: ClassVar[str]
    unit: ClassVar[Unit]
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...] | None] = ()
    ends: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield the removals, one table with the schema REMOVALS for each shard, in the order of the shards.

        Args:
            shards: Parquet files of dialogues. The decision may depend on their rows, but not on how the rows are
                divided into files.
        """

    def apply(self, table: pa.Table, removals: pa.Table) -> pa.Table:
        """Return the rows of a shard with the column `reason` according to the decision; by default whole rows are
        removed.
        """
        reasons = np.full(table.num_rows, None, dtype=object)
        reasons[removals["row"].to_numpy()] = removals["reason"].to_pylist()
        return table.append_column(REASON, pa.array(reasons, pa.string()))

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return what the run reports about individual rejected rows, as for a stage."""
        return []

    def left_out(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the readable files among the rejected rows, as for a stage."""
        return []

    def fingerprint(self) -> str:
        """Return a hash of the step's code, version and parameters."""
        return _fingerprint(self)


REMOVALS = pa.schema({"row": pa.int32(), "turn": pa.int32(), "reason": pa.string()})
"""What a corpus step removes from a shard: a turn and the rest of its dialogue, or the whole dialogue if `turn` is
null.
"""


@dataclass(frozen=True)
class Output:
    """A marker in the list of stages: the dialogues that reach it are published as this config."""

    config: str


Steps = Sequence[Stage | CorpusStep | Output]

BY_HAND = {"by_hand": True}
"""Metadata of a stage's field that only the user can set, for a run on this machine. It is not part of recipes, so an
untrusted recipe cannot set it, and it does not affect any row.
"""


def parameter_names(step: Stage | CorpusStep | type[Any]) -> list[str]:
    """Return the names of the parameters of a stage or its class that are part of recipes and affect rows."""
    return [field.name for field in fields(step) if not field.metadata.get("by_hand")]


def check_pipeline(pipeline: Steps) -> None:
    """Check every stage of a pipeline, so that problems of later stages are reported before the first one runs.

    Raises:
        ValueError: a stage cannot do its work.
    """
    for item in pipeline:
        if isinstance(item, Stage):
            item.check()


_AT_FIRST = frozenset({"film", "book", "files"})
"""Columns of a pipeline's input."""


def check_order(pipeline: Steps) -> None:
    """Check, before anything is read, that each stage occurs once and comes after the stages whose columns it needs.

    After a stage of another package that does not declare what it adds, any column may exist.

    Raises:
        ValueError: the order is wrong; the message names the stage, what it needs, and the stage that would make it.
    """
    stages = [(number, item) for number, item in enumerate(pipeline, 1) if not isinstance(item, Output)]
    columns = _Columns({column: item.name for _, item in stages for column in item.gives or ()})
    for number, item in stages:
        where = f"stage {number} of the pipeline, {item.name!r},"
        if item.name in columns.before:
            raise ValueError(f"{where} comes twice: remove one of them, or give the class of one another `name`")
        for column in item.needs:
            if not columns.has(column):
                raise ValueError(f"{where} needs {column!r}, {columns.remedy(column)}")
        columns.add(item)


@dataclass
class _Columns:
    """The columns that exist at a place in a pipeline.

    Attributes:
        makers: column → the stage that makes it, anywhere in the pipeline.
        there: columns made by stages before the place.
        ended: columns ended by stages before the place → that stage.
        before: names of the stages before the place.
        knows_all: whether one of them does not declare what it adds.
    """

    makers: dict[str, str]
    there: set[str] = field(default_factory=lambda: set(_AT_FIRST))
    ended: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    knows_all: bool = False

    def has(self, column: str) -> bool:
        return column in self.there or (self.knows_all and column not in self.ended)

    def add(self, stage: Stage | CorpusStep) -> None:
        gives = stage.gives or ()
        self.knows_all = self.knows_all or stage.gives is None
        self.there = self.there.union(gives).difference(stage.ends)
        self.ended = {column: name for column, name in self.ended.items() if column not in gives}
        self.ended |= dict.fromkeys(stage.ends, stage.name)
        self.before.append(stage.name)

    def remedy(self, column: str) -> str:
        """Return what to do about a column that is missing."""
        maker, ended_by = self.makers.get(column), self.ended.get(column)
        if ended_by and maker in self.before:
            return f"which {ended_by!r} ends: put {ended_by!r} behind it, or before {maker!r}, which makes {column!r}"
        first = repr(maker) if maker and maker not in self.before else "the stage that makes it"
        return f"which no stage before it makes: put {first} before it"


def check_ranges(step: object, **ranges: tuple[float, float]) -> None:
    """Check that the numeric parameters of a stage are in range; None is always accepted.

    Args:
        step: a stage, or another object with parameters.
        ranges: parameter → its smallest and largest value.

    Raises:
        ValueError: a parameter is out of range, nan, or a bool.
    """
    for name, (least, most) in ranges.items():
        value = getattr(step, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"{name} must be from {least:,} to {most:,}, got {shown(value)}")


def _fingerprint(step: Stage | CorpusStep) -> str:
    given = asdict(step)
    record = {
        "step": step.name,
        "version": step.version,
        "parameters": {name: given[name] for name in parameter_names(step)},
        "inputs": step.inputs() if isinstance(step, Stage) else {},
        "code": class_hash(type(step)),
    }
    try:
        return hash_json(record)
    except TypeError as error:
        raise ValueError(
            f"stage {step.name!r}: a parameter is no plain data ({error}), which a recipe could not hold: give texts, "
            "numbers, true, false, None, tuples or dictionaries of these"
        ) from error


def count_units(table: pa.Table, unit: Unit) -> int:
    """Count a table's units: its rows for dialogues, otherwise the members of its list columns.

    Turns consist of sentences, so a table of turns can also be counted in sentences. A document counts as one file, and
    a book counts once, however many rows its dialogues take.
    """
    if unit == "books":
        return int(pc.count_distinct(table["document_id"]).as_py())
    if unit == "dialogues":
        return int(table.num_rows)
    if unit in table.column_names:
        return _members(table[unit])
    if unit == "files":
        return int(table.num_rows)
    if unit == "sentences" and "turns" in table.column_names:
        turns = pc.list_flatten(table["turns"])
        return _members(pc.struct_field(turns, "sentence_ids"))
    raise ValueError(f"cannot count {unit} in a table of {', '.join(table.column_names)}")


def _members(column: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.list_value_length(column)).as_py() or 0)


def split_rejects(table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
    """Split the output of a stage into the kept rows, without the column `reason`, and the rejected rows or None."""
    if REASON not in table.column_names:
        return table, None
    kept = pc.is_null(table[REASON])
    rejected = table.filter(pc.invert(kept))
    return table.filter(kept).drop_columns([REASON]), rejected if rejected.num_rows else None


def count_reasons(rejected: pa.Table, unit: Unit) -> Counter[str]:
    """Count the rejected units by reason."""
    return Counter(
        {
            reason: count_units(rejected.filter(pc.equal(rejected[REASON], reason)), unit)
            for reason in pc.unique(rejected[REASON]).to_pylist()
        }
    )
