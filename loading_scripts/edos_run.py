"""A folder that this package wrote: of `edos curate`, `edos label`, `edos hydrate`, `edos labels-only`, `edos crowd
seed` or `edos extend`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from edos_dataset.releases.folders import folder_files, folder_tables
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import digest
from edos_dataset.schema import features


class EdosRun(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of one of the folder's configs, by split, as they are.

    Args:
        cache_dir: of `datasets`; by default its own.
        data_dir: the folder.
        config_name: one of its configs; by default the first of them.
        more: as `datasets.DatasetBuilder` takes them.

    Raises:
        ValueError: the folder has no such config.
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
        name, self.files = folder_files(Path(data_dir), config_name)
        content = [[split, [digest(path) for path in paths]] for split, paths in self.files.items()]
        more |= {"hash": hash_json(content), "data_dir": str(data_dir), "config_name": name}
        super().__init__(cache_dir=cache_dir, **more)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(description=__doc__, features=features(self.config.name))

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"paths": paths}) for split, paths in self.files.items()]

    def _generate_tables(self, paths: list[Path]) -> Iterator[tuple[str, pa.Table]]:
        yield from folder_tables(paths, self.info.features.arrow_schema)
