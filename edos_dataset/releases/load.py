"""`edos_dataset.load`: one call for a folder that this package wrote, a raw release on the disk, and the Hub."""

import sys
from importlib import util
from pathlib import Path
from typing import Any, Literal

RAW_RELEASES = {
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
    view: Literal["flat"] | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - what `datasets.load_dataset` returns depends on split and streaming
    """Load a data set.

    - `load("edos_amt", source=DIR)`: a raw release, one of RAW_RELEASES, from a folder, by default EDOS_DATA_DIR.
    - `load("opensubtitles", "os", source="en.zip")`: subtitles, curated at the first call; `edos curate` does the same
      where you can watch it.
    - `load("edos", "edos_initial")`, or `load("edos_initial", source="runs/edos")`: a folder that this package wrote,
      here "edos" and "runs/edos", whatever command it was.
    - `load("NAMESPACE/edos", "edos", revision="v1.0.0")`: the Hub.
    - `load("edos", "edos_flat")`: the flat view of a config of a folder; `view="flat"` gives it of all else.

    Args:
        name: a raw release, a folder, a config of the folder `source`, or a name on the Hub.
        config: one of its configs; by default its default one.
        split: "train", "validation" or "test"; by default all, in a dictionary.
        source: a folder, or for "opensubtitles" also an archive; offline.
        revision: of the Hub's data set: a tag such as "v1.0.0", a branch or a commit.
        streaming: give rows as they are read.
        cache_dir: of `datasets`.
        view: "flat" gives a labelled turn a row, context, response and label, as `edos_dataset.flat` does.
        options: of "opensubtitles" alone: `language`, `limit` and `workers`.

    Returns:
        A `datasets.Dataset` or, when streaming, `IterableDataset`; without `split` a dictionary of them.

    Raises:
        ValueError: nothing of that name can be had; the message says what can. Errors of the Hub are those of
            `datasets.load_dataset`.
    """
    if view is not None:
        if view != "flat":
            raise ValueError(f'there is no view {view!r}: give "flat", or leave it out')
        from edos_dataset.releases.flat import flat

        return flat(load(name, config, split, source, revision, streaming, cache_dir, **options))
    if options and name != "opensubtitles":
        raise ValueError(f"{name!r} takes no option {next(iter(options))!r}: leave it out")
    if name in RAW_RELEASES and not (source is None and _is_ours(Path(name))):
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
            f"or one of the releases {', '.join(RAW_RELEASES)}"
        )
    else:
        from datasets import load_dataset

        settings: dict[str, Any] = {
            "split": split,
            "revision": revision,
            "streaming": streaming,
            "cache_dir": cache_dir,
        }
        return load_dataset(name, config, trust_remote_code=False, **settings)
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


def _is_ours(folder: Path) -> bool:
    from edos_dataset.runs.tables import configs_in

    return bool(configs_in(folder))


def _config(name: str, config: str | None, source: str | Path | None) -> str | None:
    """Return the config that is meant: with a source the name is one, or that of the whole."""
    if source is None:
        return config
    from edos_dataset.schema import REGISTRY

    # "edos" is also what a folder is called.
    if config is not None and name != config and name in tuple(REGISTRY)[1:]:
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
    return getattr(sys.modules[module_name], RAW_RELEASES.get(name, "EdosRun"))
