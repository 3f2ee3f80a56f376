"""The Parquet files of a data set, `<config>/<split>-*.parquet` in its folder: which are there, and their rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.schema import REGISTRY, SPLITS, arrow_schema


def configs_in(folder: Path, among: Iterable[str] = REGISTRY) -> list[str]:
    """Return the configs that a folder has files of, in the order of `among`.

    Raises:
        FolderError: the folder is unfinished; as of the functions below.
    """
    check_whole(folder)
    return [name for name in among if any((folder / name).glob("*.parquet"))]


def config_files(folder: Path, config: str) -> dict[str, list[Path]]:
    """Return the files of a config by split, in the order of their rows; splits without any are left out."""
    check_whole(folder)
    files = {split: sorted((folder / config).glob(f"{split}-*.parquet")) for split in SPLITS}
    return {split: paths for split, paths in files.items() if paths}


def only_file(folder: Path, config: str, split: str) -> Path:
    """Return the path of a split of a config that has one file a split, as those whose rows fit into memory."""
    return folder / config / f"{split}-00000-of-00001.parquet"


def read_rows(folder: Path, config: str, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return the rows of some splits of a config that has one file a split, in their order, with the column `split`.

    Raises:
        FolderError: a file is missing or damaged, or has other columns.
    """
    check_whole(folder)
    schema, command = arrow_schema(config), REGISTRY[config].command
    tables = []
    for split in splits:
        path = only_file(folder, config, split)
        try:
            with pq.ParquetFile(path) as file:
                table = file.read(columns=schema.names).select(schema.names).cast(schema)
        except FileNotFoundError as error:
            raise FolderError(f"{path} is not there: {folder} is no folder that `{command}` wrote") from error
        except (OSError, pa.ArrowException, KeyError) as error:
            raise FolderError(
                f"cannot read {path} as `{command}` writes it ({error}): give that command again"
            ) from error
        tables.append(table.append_column("split", pa.array([split] * len(table), pa.string())))
    return pa.concat_tables(tables)
