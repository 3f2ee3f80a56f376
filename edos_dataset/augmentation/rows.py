"""Rows of the config `extended`: those of the seed, and new ones."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from edos_dataset.schema import EXTENDED, arrow_schema


def rows_of_seed(table: pa.Table) -> pa.Table:
    """Return the rows of a seed that have a label as rows of the config `extended`."""
    table = table.filter(table["label"].is_valid())
    return extended_rows(
        {name: table[name] for name in ("dialogue_id", "turns", "label", "soft_label")} | {"round": [0] * len(table)},
        0,
        "crowd",
    )


def extended_rows(columns: Mapping[str, Any], step: int, method: str) -> pa.Table:
    """Return rows of the config.

    Args:
        columns: by name, sequences or Arrow columns of one length, `label` among them; what is absent is null.
        step: the step that gave the labels, 0 for the seed.
        method: one of `extended.METHODS`.
    """
    schema: pa.Schema = arrow_schema(EXTENDED)
    size = len(columns["label"])
    columns = {**columns, "method": [method] * size, "step": [step] * size}
    arrays = {}
    for entry in schema:
        values = columns.get(entry.name, [None] * size)
        arrays[entry.name] = (
            values.cast(entry.type) if isinstance(values, pa.ChunkedArray) else pa.array(values, entry.type)
        )
    return pa.table(arrays, schema=schema)
