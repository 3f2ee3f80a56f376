"""What a pipeline is made of: stages that see a batch, steps that see the corpus, and marks where a config leaves. It
knows no stage.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.foreign import shown
from edos_dataset.schema.tables import REASON

Unit = Literal["files", "books", "lines", "sentences", "turns", "dialogues"]
"""What a stage counts; no unit is ever lost between its input and its kept and rejected output."""


@dataclass(frozen=True)
class Stage:
    """One step of the pipeline: a table in, a table out.

    A subclass is a frozen dataclass whose fields are its parameters. It holds no state between batches and may be given
    any batch of whole rows, so the same object runs in a run of this package, in `datasets.Dataset.map(batched=True)`
    with the arrow format, and in Ray Data's `map_batches`.

    What a stage drops leaves as a row with a reason code in the column `reason`; rows with null, and all rows of a
    table without that column, go on. A dialogue of which only some turns go becomes two rows or more: what stays, and
    what leaves for each reason.
    """

    name: ClassVar[str]
    unit: ClassVar[Unit]
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    """Columns, or fields of turns as `turns.key`, that the stage reads and an earlier one must have made."""
    gives: ClassVar[tuple[str, ...] | None] = None
    """Those that there are after it and may not have been before; None where the stage does not say."""
    ends: ClassVar[tuple[str, ...]] = ()
    """Those that there are no more after it."""

    def __call__(self, table: pa.Table) -> pa.Table:
        """Process a batch."""
        raise TypeError(f"{type(self).__name__} is not a stage: it defines no __call__")

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Return counts over an output table that the manifest keeps; counts of several batches are added."""
        return {}

    def check(self) -> None:
        """Check all that the stage needs and that is not in its parameters: files, models, devices. It is called
        before a run reads anything, in the process that leads.

        Raises:
            ValueError: something is missing or of no use.
        """

    def fingerprint(self) -> str:
        """Return a hash of the stage's code (its module and all of ours that it imports), version and parameters."""
        return _fingerprint(self)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return what a run tells of single rejected rows, beyond counting them by reason: plain
        data, an entry a row.
        """
        return []

    def inputs(self) -> dict[str, str]:
        """Return what else the output depends on, name to hash: the weights of a model, say."""
        return {}


@dataclass(frozen=True)
class CorpusStep:
    """A step that needs the whole corpus: it reads the shards and says what must leave."""

    name: ClassVar[str]
    unit: ClassVar[Unit]
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    """As of a stage."""
    gives: ClassVar[tuple[str, ...] | None] = ()
    ends: ClassVar[tuple[str, ...]] = ()

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield what leaves, one table of REMOVALS for each shard, in the order of the shards.

        Args:
            shards: Parquet files of dialogues. The decision may depend on their rows, never on how these are spread
                over files.
        """
        raise TypeError(f"{type(self).__name__} is not a corpus step: it defines no decide")

    def apply(self, table: pa.Table, removals: pa.Table) -> pa.Table:
        """Carry the decision out on the shard that it is about: return its rows with the column `reason`. By default
        whole rows leave.
        """
        reasons = np.full(table.num_rows, None, dtype=object)
        reasons[removals["row"].to_numpy()] = removals["reason"].to_pylist()
        return table.append_column(REASON, pa.array(reasons, pa.string()))

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """As of a stage."""
        return []

    def fingerprint(self) -> str:
        """Return a hash of the step's code, version and parameters."""
        return _fingerprint(self)


REMOVALS = pa.schema({"row": pa.int32(), "turn": pa.int32(), "reason": pa.string()})
"""What a corpus step removes from a shard: a turn (and so the rest of its dialogue), or the whole dialogue where `turn`
is null.
"""


@dataclass(frozen=True)
class Output:
    """A mark in the list of stages: the dialogues that arrive here are published as this config."""

    config: str


Pipeline = Sequence[Stage | CorpusStep | Output]

BY_HAND = {"by_hand": True}
"""Metadata of a field of a stage that only a user sets, for a run on this machine: it stands in no recipe, so none that
comes from others can set it, and decides no row.
"""


def parameter_names(step: Stage | CorpusStep | type[Any]) -> list[str]:
    """Return the names of the parameters of a stage or its class that stand in a recipe and decide rows."""
    return [field.name for field in fields(step) if not field.metadata.get("by_hand")]


def check_pipeline(pipeline: Pipeline) -> None:
    """Check the stages of a pipeline, so that what is missing at its end is told before its beginning.

    Raises:
        ValueError: a stage cannot do its work.
    """
    for item in pipeline:
        if isinstance(item, Stage):
            item.check()


def check_ranges(step: object, **ranges: tuple[float, float]) -> None:
    """Check the numbers among the parameters of a stage; one that is None has no limits.

    Args:
        step: a stage, or another thing with parameters.
        ranges: parameter → its least and its largest value.

    Raises:
        ValueError: a parameter is out of its range, not a number (nan), or true or false.
    """
    for name, (least, most) in ranges.items():
        value = getattr(step, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"{name} must be from {least:,} to {most:,}, got {shown(value)}")


def _fingerprint(step: Stage | CorpusStep) -> str:
    inputs = step.inputs() if isinstance(step, Stage) else {}
    code, given = code_hash(type(step).__module__), asdict(step)
    parameters = {name: given[name] for name in parameter_names(step)}
    return hash_json(
        {"step": step.name, "version": step.version, "parameters": parameters, "inputs": inputs, "code": code}
    )


def count_units(table: pa.Table, unit: Unit) -> int:
    """Count a table's units: rows for dialogues, and otherwise the members of its list columns.

    A turn is made of sentences, so a table of turns can be counted in sentences too; a document counts as one file, and
    a book once however many rows are its dialogues.
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
    """Part the output of a stage into the rows that go on, without the column `reason`, and those that leave (None
    where no row does).
    """
    if REASON not in table.column_names:
        return table, None
    goes_on = pc.is_null(table[REASON])
    rejected = table.filter(pc.invert(goes_on))
    return table.filter(goes_on).drop_columns([REASON]), rejected if rejected.num_rows else None


def count_reasons(rejected: pa.Table, unit: Unit) -> Counter[str]:
    """Count the rejected units by reason."""
    return Counter(
        {
            reason: count_units(rejected.filter(pc.equal(rejected[REASON], reason)), unit)
            for reason in pc.unique(rejected[REASON]).to_pylist()
        }
    )
