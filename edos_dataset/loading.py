"""`edos_dataset.load`: one call for a folder that this package wrote, a raw release on the disk, and the Hub."""

import os
import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

RELEASES = {"edos_amt": "EdosAmt", "edos_extended": "EdosExtended", "empathetic_dialogues": "EmpatheticDialogues"}
"""Raw release → its builder, in the file of `loading_scripts/` of that name."""

_PLACES = (Path(__file__).with_name("loading_scripts"), Path(__file__).parents[1] / "loading_scripts")  # installed, and in the repository


def load(
    name: str,
    config: str | None = None,
    split: str | None = None,
    source: str | Path | None = None,
    revision: str | None = None,
    streaming: bool = False,
    cache_dir: str | None = None,
) -> Any:  # noqa: ANN401 - what `datasets.load_dataset` returns depends on split and streaming
    """Load a data set.

    - `load("edos_amt", source=DIR)`: a raw release, one of RELEASES, from a folder, by default EDOS_DATA_DIR.
    - `load("runs/edos", "edos_initial")`, or `load("edos_initial", source="runs/edos")`: a folder that this package wrote, whatever command it was.
    - `load("NAMESPACE/edos", "edos", revision="v1.0.0")`: the Hub.

    Args:
        name: a raw release, a folder, a config of the folder `source`, or a name on the Hub.
        config: one of its configs; by default its default one.
        split: "train", "validation" or "test"; by default all, in a dictionary.
        source: a folder, offline.
        revision: of the Hub's data set: a tag such as "v1.0.0", a branch or a commit.
        streaming: give rows as they are read.
        cache_dir: of `datasets`.

    Returns:
        A `datasets.Dataset` or, when streaming, `IterableDataset`; without `split` a dictionary of them.

    Raises:
        ValueError: nothing of that name can be had; the message says what can. Errors of the Hub are those of `datasets.load_dataset`.
    """
    if name in RELEASES and not Path(name).is_dir():
        prepared = builder(name)(cache_dir, data_dir=source, config_name=config)
    elif source is not None or Path(name).is_dir():
        folder = Path(name if source is None else source)
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder: give one that this package wrote, as source")
        known = {path.name for path in folder.iterdir()}
        prepared = builder("edos_run")(cache_dir, data_dir=folder.resolve(), config_name=config or (name if source is not None and name in known else None))
    elif "/" not in name:
        raise ValueError(
            f"there is no folder {name!r} here, and the Hub has no data set without a namespace: give a folder as source, NAMESPACE/{name}, "
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


def builder(name: str) -> Any:  # noqa: ANN401 - a class of a file that only `loading_scripts/` knows
    """Return the builder class of a raw release, or, by "edos_run", of a folder of this package.

    Raises:
        ValueError: the folder `loading_scripts` is not there.
    """
    module_name = f"{__package__}.loading_scripts.{name}"
    if module_name not in sys.modules:
        path = next((place / f"{name}.py" for place in _PLACES if (place / f"{name}.py").is_file()), None)
        if path is None:
            raise ValueError(f"loading_scripts/{name}.py is neither in {_PLACES[0].parent} nor beside it: install the package anew")
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
        raise ValueError("no folder of raw releases is given: name it as source or data_dir, or in the environment as EDOS_DATA_DIR")
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


def folder_files(folder: Path, config: str | None) -> tuple[str, dict[str, list[Path]]]:
    """Return the name of a folder's config, by default its first, and the Parquet files of each split.

    Raises:
        ValueError: it is not there.
    """
    from edos_dataset.schema import SPLITS

    there = [name for name in folder_configs() if any((folder / name).glob("*.parquet"))]
    if not there or (config is not None and config not in there):
        raise ValueError(f"{folder} has no {f'config {config!r}' if config else 'data set of this package'}; it has {', '.join(there) or 'none'}")
    name = config or there[0]
    files = {split: sorted((folder / name).glob(f"{split}-*.parquet")) for split in SPLITS}
    return name, {split: paths for split, paths in files.items() if paths}
