"""Base class and helpers of the `datasets` builders in `loading_scripts/`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.label_sets import label_set_of
from edos_dataset.releases.own_folders import default_configs, files_of
from edos_dataset.releases.raw import Reject, Row
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import configs_in
from edos_dataset.runs.shards import digest, read_pieces
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import REGISTRY, Labels, features
from edos_dataset.schema.tables import SEVERAL


class RawFiles(NamedTuple):
    """The files of a config.

    Attributes:
        source: Name of the source for `edos download`.
        files: Split → names of its files, relative to their folder.
        folders: Possible folders, relative to the data folder; the first one that has the files is used.
    """

    source: str
    files: dict[str, list[str]]
    folders: Sequence[str]


def data_folder(given: str | Path | None) -> Path:
    """Return the folder of raw releases: the one given, or EDOS_DATA_DIR.

    Raises:
        ValueError: Neither is given, or the folder does not exist.
    """
    folder = given or os.environ.get("EDOS_DATA_DIR")
    if not folder:
        raise ValueError(
            "no folder of raw releases is given: give it by --data (in Python `source` or `data_dir`), or set "
            "EDOS_DATA_DIR"
        )
    if not place_of(folder).is_dir():
        raise ValueError(f"{folder} is not a folder: give the one that contains the raw release")
    return place_of(folder).resolve()


class RawReleaseBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A builder for the files of a raw release.

    Its cache key covers the content of the files and the code that reads them, so that a changed file is read again.

    Args:
        cache_dir: Cache folder; by default that of `datasets`.
        data_dir: Folder of the release, or its parent; by default EDOS_DATA_DIR.
        config_name: One of BUILDER_CONFIGS.
        more: Other arguments of `datasets.DatasetBuilder`.

    Raises:
        ValueError: No folder is given, a file is missing, or the config is unknown.
    """

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        data_dir: str | Path | None = None,
        config_name: str | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        given = data_folder(data_dir)
        config = config_name or self.DEFAULT_CONFIG_NAME
        if config not in self.builder_configs:
            raise ValueError(f"unknown config {config!r}: expected one of {', '.join(self.builder_configs)}")
        raw = self.raw_files(config)
        names = [name for part in raw.files.values() for name in part]
        folder = next((given / name for name in raw.folders if (given / name / names[0]).is_file()), given)
        self.files = {split: [folder / name for name in part] for split, part in raw.files.items()}
        for path in (folder / name for name in names):
            if not path.is_file():
                raise ValueError(
                    f"{path} does not exist: give the folder of the release, with {path.relative_to(folder)} in it, by "
                    "--data (in Python `source` or `data_dir`) or EDOS_DATA_DIR, or get it by `edos download "
                    f"{raw.source}`"
                )
        content = {split: [digest(path) for path in paths] for split, paths in self.files.items()}
        more["hash"] = hash_json([code_hash(type(self).__module__), content])
        super().__init__(cache_dir=cache_dir, data_dir=str(folder), config_name=config_name, **more)

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return the files of a config."""
        raise NotImplementedError

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the rows and rejects of a file, in its order."""
        raise NotImplementedError

    def rejects(self) -> list[Reject]:
        """Return the rejected rows; the files are read again."""
        return [
            row for paths in self.files.values() for path in paths for row in self.rows(path) if isinstance(row, Reject)
        ]

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"paths": paths}) for split, paths in self.files.items()]

    def _generate_examples(self, paths: list[Path]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(row for path in paths for row in self.rows(path) if not isinstance(row, Reject))


def folder_files(folder: Path, config: str | None) -> tuple[str, dict[str, list[Path]]]:
    """Return the name of a folder's config and the Parquet files of each split: by default those of its first config,
    and for books of all languages, under the name of the first.

    Raises:
        ValueError: The folder lacks the config.
    """
    there = configs_in(folder)
    if not there or (config is not None and config not in there):
        raise ValueError(
            f"{folder} has no {f'config {config!r}' if config else 'dataset of this package'}; it has "
            f"{', '.join(there) or 'none'}"
        )
    names = default_configs(there) if config is None else [config]
    return names[0], files_of(folder, names)


def features_of(config: str, schema: pa.Schema) -> datasets.Features:
    """Return the features of a config; the schema of its files decides whether its turns have labels, and which."""
    turns = schema.field("turns").type if "turns" in schema.names else None
    names = getattr(getattr(turns, "value_type", None), "names", [])
    labelled = "label" in names if REGISTRY[config].labelled != "last turn" else None
    return features(config, labelled, Labels(label_set_of(schema).labels, SEVERAL in names))


def folder_tables(paths: Sequence[Path], schema: pa.Schema) -> Iterator[tuple[str, pa.Table]]:
    """Yield tables of the rows of Parquet files, each with a unique key, for `datasets.ArrowBasedBuilder`."""
    for path in paths:
        for number, table in enumerate(read_pieces(path, schema.names)):
            yield f"{path.parent.name}-{path.name}-{number}", _with_all_fields(table, schema).cast(schema)


def _with_all_fields(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table whose turns have null for the fields that only other files have, such as labels."""
    if "turns" not in schema.names or table.schema.field("turns").type == schema.field("turns").type:
        return table
    turns, offsets = unnest(table, "turns")
    columns = {field.name: turns.field(field.name) for field in turns.type}
    wanted = schema.field("turns").type.value_type
    return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, wanted, columns))
