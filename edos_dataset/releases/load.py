"""`edos_dataset.load`: one call for a folder that this package wrote, a raw release on the disk, and the Hub."""

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

RELEASES = {
    "edos_amt": "EdosAmt",
    "edos_extended": "EdosExtended",
    "empathetic_dialogues": "EmpatheticDialogues",
    "opensubtitles": "OpenSubtitles",
}
"""Raw release → its builder, in the file of `loading_scripts/` of that name."""

_PLACES = (
    Path(__file__).parents[1] / "loading_scripts",
    Path(__file__).parents[2] / "loading_scripts",
)  # installed, and in the repository


def load(
    name: str,
    config: str | None = None,
    split: str | None = None,
    source: str | Path | None = None,
    revision: str | None = None,
    streaming: bool = False,
    cache_dir: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - what `datasets.load_dataset` returns depends on split and streaming
    """Load a data set.

    - `load("edos_amt", source=DIR)`: a raw release, one of RELEASES, from a folder, by default EDOS_DATA_DIR.
    - `load("opensubtitles", "os", source="en.zip")`: subtitles, curated at the first call; `edos curate` does the same
      where you can watch it.
    - `load("edos", "edos_initial")`, or `load("edos_initial", source="runs/edos")`: a folder that this package wrote,
      here "edos" and "runs/edos", whatever command it was.
    - `load("NAMESPACE/edos", "edos", revision="v1.0.0")`: the Hub.

    Args:
        name: a raw release, a folder, a config of the folder `source`, or a name on the Hub.
        config: one of its configs; by default its default one.
        split: "train", "validation" or "test"; by default all, in a dictionary.
        source: a folder, or for "opensubtitles" also an archive; offline.
        revision: of the Hub's data set: a tag such as "v1.0.0", a branch or a commit.
        streaming: give rows as they are read.
        cache_dir: of `datasets`.
        options: of "opensubtitles" alone: `language`, `limit` and `workers`.

    Returns:
        A `datasets.Dataset` or, when streaming, `IterableDataset`; without `split` a dictionary of them.

    Raises:
        ValueError: nothing of that name can be had; the message says what can. Errors of the Hub are those of
            `datasets.load_dataset`.
    """
    if options and name != "opensubtitles":
        raise ValueError(f"{name!r} takes no option {next(iter(options))!r}: leave it out")
    if name in RELEASES and not (source is None and _there(Path(name))):
        prepared = builder(name)(cache_dir, data_dir=source, config_name=config, **options)
    elif source is not None or Path(name).is_dir():
        prepared = builder("edos_run")(
            cache_dir, data_dir=_folder(name, source), config_name=_config(name, config, source)
        )
    elif Path(name).is_file():
        raise ValueError(f'{name} is a file: give a folder, or subtitles as load("opensubtitles", source={name!r})')
    elif name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise ValueError(
            f"there is no folder {name!r} here, and the Hub has no data set without a namespace: give a folder as "
            f"source, NAMESPACE/{Path(name).name}, "
            f"or one of the releases {', '.join(RELEASES)}"
        )
    else:
        from datasets import load_dataset

        return load_dataset(name, config, split=split, revision=revision, streaming=streaming, cache_dir=cache_dir)
    if revision is not None:
        raise ValueError(f"revision is {revision!r}, but only the Hub has revisions: leave it out for a folder")
    if streaming:
        return prepared.as_streaming_dataset(split=split)
    prepared.download_and_prepare()
    return prepared.as_dataset(split=split)


def _folder(name: str, source: str | Path | None) -> Path:
    folder = Path(name if source is None else source)
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: give one that this package wrote, as source")
    return folder.resolve()


def _config(name: str, config: str | None, source: str | Path | None) -> str | None:
    """Return the config that is meant: with a source the name is one, or that of the whole."""
    if source is None:
        return config
    if config is not None and name != config and name in folder_configs()[1:]:
        raise ValueError(f"the name {name!r} is one config and {config!r} another: give one of them")
    return config or name


def builder(name: str) -> Any:  # noqa: ANN401 - a class of a file that only `loading_scripts/` knows
    """Return the builder class of a raw release, or, by "edos_run", of a folder of this package.

    Raises:
        ValueError: the folder `loading_scripts` is not there.
    """
    module_name = f"edos_dataset.loading_scripts.{name}"
    if module_name not in sys.modules:
        path = next((place / f"{name}.py" for place in _PLACES if (place / f"{name}.py").is_file()), None)
        if path is None:
            raise ValueError(
                f"loading_scripts/{name}.py is neither in {_PLACES[0].parent} nor beside it: install the package anew"
            )
        spec = util.spec_from_file_location(module_name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[module_name] = module = util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return getattr(sys.modules[module_name], RELEASES.get(name, "EdosRun"))


def data_folder(given: str | Path | None) -> Path:
    """Return the folder of raw releases: the one given, or EDOS_DATA_DIR.

    Raises:
        ValueError: neither is there.
    """
    found = given or os.environ.get("EDOS_DATA_DIR")
    if not found:
        raise ValueError(
            "no folder of raw releases is given: name it as source or data_dir, or in the environment as EDOS_DATA_DIR"
        )
    if not Path(found).is_dir():
        raise ValueError(f"{found} is no folder: give the one that holds the raw release")
    return Path(found).resolve()


def folder_configs() -> tuple[str, ...]:
    """Return the configs that a folder of this package may have; the first that is there is its default."""
    from edos_dataset.schema import CONFIGS

    return (*CONFIGS, "labels_only", "amt_seed", "extended")


def folder_features(config: str) -> "Features":
    """Return the features of one of `folder_configs`."""
    if config == "labels_only":
        from edos_dataset.publishing.labels_only import labels_only_features

        return labels_only_features()
    if config == "amt_seed":
        from edos_dataset.crowd.seed import seed_features

        return seed_features()
    if config == "extended":
        from edos_dataset.augmentation.extended import extended_features

        return extended_features()
    from edos_dataset.schema import features

    return features(config)


def _there(folder: Path) -> list[str]:
    return [name for name in folder_configs() if any((folder / name).glob("*.parquet"))]


def folder_files(folder: Path, config: str | None) -> tuple[str, dict[str, list[Path]]]:
    """Return the name of a folder's config, by default its first, and the Parquet files of each split.

    Raises:
        ValueError: it is not there.
    """
    from edos_dataset.schema import SPLITS

    there = _there(folder)
    if not there or (config is not None and config not in there):
        raise ValueError(
            f"{folder} has no {f'config {config!r}' if config else 'data set of this package'}; it has "
            f"{', '.join(there) or 'none'}"
        )
    name = config or there[0]
    files = {split: sorted((folder / name).glob(f"{split}-*.parquet")) for split in SPLITS}
    return name, {split: paths for split, paths in files.items() if paths}


def folder_tables(paths: Sequence[Path], schema: "pa.Schema") -> Iterator[tuple[str, "pa.Table"]]:
    """Yield the rows of Parquet files in tables of a schema, each with a key that is its own, as
    `datasets.ArrowBasedBuilder` wants them.
    """
    from edos_dataset.runs.shards import read_pieces

    for path in paths:
        for number, table in enumerate(read_pieces(path, schema.names)):
            yield f"{path.name}-{number}", table.cast(schema)
