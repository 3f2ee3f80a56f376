"""Rows of the config `extended`, for the seed and for new labels."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from edos_dataset.label_sets import LabelSet, label_set_of
from edos_dataset.label_sets.configs import schema_of_set
from edos_dataset.schema import EXTENDED, arrow_schema


def rows_of_seed(table: pa.Table) -> pa.Table:
    """Return the labelled rows of a seed as rows of the config `extended`."""
    table = table.filter(table["label"].is_valid())
    return extended_rows(
        {name: table[name] for name in ("dialogue_id", "turns", "label", "soft_label")} | {"round": [0] * len(table)},
        0,
        "crowd",
        label_set_of(table.schema),
    )


def extended_rows(columns: Mapping[str, Any], step: int, method: str, labels: LabelSet | None = None) -> pa.Table:
    """Return rows of the config.

    Args:
        columns: sequences or Arrow columns of equal length by name, `label` among them; missing columns are null.
        step: number of the labelling step, 0 for the seed.
        method: one of `extended.METHODS`.
        labels: the label set; EDOS's by default.
    """
    schema: pa.Schema = arrow_schema(EXTENDED) if labels is None else schema_of_set(EXTENDED, labels)
    size = len(columns["label"])
    columns = {**columns, "method": [method] * size, "step": [step] * size}
    arrays = {}
    for entry in schema:
        values = columns.get(entry.name, [None] * size)
        arrays[entry.name] = (
            values.cast(entry.type) if isinstance(values, pa.ChunkedArray) else pa.array(values, entry.type)
        )
    return pa.table(arrays, schema=schema)
