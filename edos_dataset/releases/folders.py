"""Folders that this package wrote, as the builders of `loading_scripts/` read them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.tables import config_files, configs_in


def folder_files(folder: Path, config: str | None) -> tuple[str, dict[str, list[Path]]]:
    """Return the name of a folder's config, by default its first, and the Parquet files of each split.

    Raises:
        ValueError: it is not there.
    """
    there = configs_in(folder)
    if not there or (config is not None and config not in there):
        raise ValueError(
            f"{folder} has no {f'config {config!r}' if config else 'data set of this package'}; it has "
            f"{', '.join(there) or 'none'}"
        )
    name = config or there[0]
    return name, config_files(folder, name)


def folder_tables(paths: Sequence[Path], schema: pa.Schema) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of Parquet files in tables of a schema, each with a key that is its own, as
    `datasets.ArrowBasedBuilder` wants them.
    """
    for path in paths:
        for number, table in enumerate(read_pieces(path, schema.names)):
            yield f"{path.name}-{number}", table.cast(schema)
