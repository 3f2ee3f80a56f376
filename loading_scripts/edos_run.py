"""A folder that `edos curate`, `label`, `hydrate`, `labels-only`, `crowd seed` or `extend` wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from edos_dataset.releases.builders import features_of, folder_files, folder_tables
from edos_dataset.releases.own_folders import labelled_schema
from edos_dataset.releases.views import flat_features, flat_rows
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import digest
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import features

_FLAT = "_flat"


class EdosRun(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of one of the folder's configs, by split.

    Args:
        cache_dir: Cache folder of `datasets`; by default its own.
        data_dir: The folder.
        config_name: One of its configs, by default the first, and for books all languages together; followed by
            "_flat", its flat view: one labelled turn per row, with its context (`releases.views`).
        more: Further arguments of `datasets.DatasetBuilder`.

    Raises:
        ValueError: The folder has no such config.
    """

    VERSION = datasets.Version("1.0.0")

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        data_dir: str | Path,
        config_name: str | None = None,
        **more: Any,  # noqa: ANN401 - as the base class takes them
    ) -> None:
        base = config_name.removesuffix(_FLAT) if config_name else None
        self.base, self.files = folder_files(place_of(data_dir), base)
        name = config_name or self.base
        content = [[split, [digest(path) for path in paths]] for split, paths in self.files.items()]
        more |= {"hash": hash_json(content), "data_dir": str(data_dir), "config_name": name}
        super().__init__(cache_dir=cache_dir, **more)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(description=__doc__, features=self._features())

    def _features(self) -> datasets.Features:
        given = self._written()
        return flat_features(given) if self.config.name.endswith(_FLAT) else given

    def _written(self) -> datasets.Features:
        """Return the columns of the config, with the labels of its files."""
        paths = [path for of_split in self.files.values() for path in of_split]
        return features_of(self.base, labelled_schema(paths)) if paths else features(self.base)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"paths": paths}) for split, paths in self.files.items()]

    def _generate_tables(self, paths: list[Path]) -> Iterator[tuple[str, pa.Table]]:
        wanted = self.info.features
        for key, table in folder_tables(paths, self._written().arrow_schema):
            if self.config.name.endswith(_FLAT):
                yield key, pa.table(flat_rows(table.to_pydict(), list(wanted)), schema=wanted.arrow_schema)
            else:
                yield key, table
