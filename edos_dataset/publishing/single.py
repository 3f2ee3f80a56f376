"""Data sets of one config whose rows fit into memory: `<config>/<split>-00000-of-00001.parquet`, a README, and files of
counts.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from edos_dataset.publishing.content import with_content
from edos_dataset.runs.shards import write_shard, write_text
from edos_dataset.runs.tables import only_file
from edos_dataset.schema import arrow_schema


def write_single(
    folder: Path, config: str, tables: Mapping[str, pa.Table], card: str, texts: Mapping[str, str]
) -> None:
    """Write such a data set into an empty folder: one that is prepared for a commit.

    Args:
        folder: where to.
        config: name of the config.
        tables: split → its rows, with the columns of the config in any order.
        card: of README.md, which gets the digest of the data.
        texts: name of each other file → what is in it.

    Raises:
        ValueError: a table lacks a column or holds values of another type; nothing is written.
    """
    schema = arrow_schema(config)
    rows = {}
    for split, table in tables.items():
        if lacking := [name for name in schema.names if name not in table.column_names]:
            raise ValueError(f"the rows of {split} have no column {lacking[0]!r}: expected {', '.join(schema.names)}")
        rows[split] = table.select(schema.names).cast(schema)
    paths = {split: only_file(folder, config, split) for split in rows}
    digests = {path.relative_to(folder).as_posix(): write_shard(path, rows[split]) for split, path in paths.items()}
    for name, text in {"README.md": with_content(card, digests), **texts}.items():
        write_text(folder / name, text)
