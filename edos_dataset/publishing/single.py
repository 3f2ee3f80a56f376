"""Folders of one config whose rows fit into memory: `<config>/<split>-00000-of-00001.parquet`, a README, and files of
counts.
"""

from collections.abc import Mapping

import pyarrow as pa

from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.shards import write_shard, write_text
from edos_dataset.runs.tables import only_file
from edos_dataset.schema import arrow_schema


def write_single(folder: OutputFolder, config: str, tables: Mapping[str, pa.Table], texts: Mapping[str, str]) -> None:
    """Write everything aside, then put it in place of what has the same name.

    Args:
        folder: the folder, held by the caller.
        config: name of the config.
        tables: split → its rows, with the columns of the config in any order.
        texts: name of each other file, such as README.md → what is in it.

    Raises:
        ValueError: a table lacks a column or holds values of another type; what was there stays.
    """
    schema = arrow_schema(config)
    rows = {}
    for split, table in tables.items():
        if lacking := [name for name in schema.names if name not in table.column_names]:
            raise ValueError(f"the rows of {split} have no column {lacking[0]!r}: expected {', '.join(schema.names)}")
        rows[split] = table.select(schema.names).cast(schema)
    prepared = folder.prepare()
    for split, table in rows.items():
        write_shard(only_file(prepared, config, split), table)
    for name, text in texts.items():
        write_text(prepared / name, text)
    folder.commit()
