"""Dialogues from subtitles, such as an archive of OPUS OpenSubtitles, by the pipeline of `edos curate` (the text is
under the studios' copyright).
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.releases.builders import data_folder, folder_files, folder_tables
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.manifest import bad_fraction
from edos_dataset.runs.pipeline import Output
from edos_dataset.schema import CONFIGS, features
from edos_dataset.sources.inventory import find_films

_BAD = 0.2  # fraction of unreadable files above which a warning is issued


class OpenSubtitlesConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """A config of this package.

    Args:
        language: Language of the subtitles; others are left out.
        limit: Largest number of films, or None for all.
        more: Further arguments of `datasets.BuilderConfig`.
    """

    def __init__(self, language: str = "en", limit: int | None = None, **more: Any) -> None:  # noqa: ANN401
        super().__init__(**more)
        self.language, self.limit = language, limit


class OpenSubtitles(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of the config, by split, as `edos curate` writes them with its built-in recipe.

    The run is kept in the cache of `datasets` as `edos_runs/KEY`, where KEY depends on the stages' code, their
    parameters and the files: an interrupted run is resumed, and every command that takes a run accepts its folder.

    Args:
        cache_dir: Cache folder of `datasets`; by default its own.
        data_dir: A zip archive, a file, or a folder of them; by default the folder `opensubtitles` of EDOS_DATA_DIR,
            into which `edos download opensubtitles-en` downloads it.
        config_name: One of CONFIGS; all but `os` need the encoder (`pip install "edos-dataset[offline]"`).
        language: As for the config.
        limit: As for the config.
        workers: Number of processes. With more than one, a script needs `if __name__ == "__main__":`, as each imports
            it.
        more: Further arguments of `datasets.DatasetBuilder`.

    Raises:
        ValueError: There are no subtitles, or the config is unknown.
        ImportError: The encoder is not installed; the message says how to install it.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = OpenSubtitlesConfig
    BUILDER_CONFIGS = [OpenSubtitlesConfig(name=name, version=datasets.Version("1.0.0")) for name in CONFIGS]
    DEFAULT_CONFIG_NAME = CONFIGS[0]

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        data_dir: str | Path | None = None,
        config_name: str | None = None,
        language: str = "en",
        limit: int | None = None,
        workers: int = 1,
        **more: Any,  # noqa: ANN401
    ) -> None:
        config = config_name or self.DEFAULT_CONFIG_NAME
        if config not in CONFIGS:
            raise ValueError(f"unknown config {config!r}: expected one of {', '.join(CONFIGS)}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit is {limit}: give at least 1 film, or None for all")
        source = _subtitles(data_dir)
        self.pipeline = pipeline_of(labels=config != "os", language=language)
        self.inventory, self.workers = find_films([source], language), workers
        films = self.inventory.films.slice(0, limit)
        content = [
            [(file["document_id"], file["size"], file["stamp"]) for file in files]
            for files in films["files"].to_pylist()
        ]
        more["hash"] = hash_json(
            [content, language, [item.fingerprint() for item in self.pipeline if not isinstance(item, Output)]]
        )
        super().__init__(
            cache_dir=cache_dir, data_dir=str(source), config_name=config, language=language, limit=limit, **more
        )
        self.run = Path(self._cache_dir_root) / "edos_runs" / more["hash"][:16]

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(description=__doc__, features=features(self.config.name))

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        settings = {"workers": self.workers, "limit": self.config.limit}
        manifest = curate(self.inventory, self.run, self.pipeline, **settings)
        assert manifest is not None, "a run without a launcher has one process, which leads"
        if not manifest["configs"][self.config.name]["dialogues"]:
            raise ValueError(
                f"no dialogue was found in {self.config.data_dir}: `edos inspect {self.run}` shows where they were "
                "rejected"
            )
        if bad_fraction(manifest) > _BAD:
            warnings.warn(
                f"{bad_fraction(manifest):.0%} of the files could not be read: `edos inspect {self.run}` shows why",
                stacklevel=2,
            )
        return [
            datasets.SplitGenerator(split, {"paths": paths})
            for split, paths in folder_files(self.run, self.config.name)[1].items()
        ]

    def _generate_tables(self, paths: list[Path]) -> Iterator[tuple[str, pa.Table]]:
        yield from folder_tables(paths, self.info.features.arrow_schema)


def _subtitles(given: str | Path | None) -> Path:
    """Return the path of the subtitles: the given one, or the folder `opensubtitles` in it or in EDOS_DATA_DIR."""
    if given is not None and Path(given).is_file():
        return Path(given).resolve()
    folder = data_folder(given)
    inside = folder / "opensubtitles"
    if given is None and not inside.is_dir():
        raise ValueError(
            f"{inside} does not exist: get it by `edos download opensubtitles-en`, or give an archive or a folder of "
            "subtitles as source"
        )
    return inside if inside.is_dir() else folder
