"""`edos_dataset.load` for folders of this package, raw releases on disk, and the Hub."""

import sys
from importlib import util
from pathlib import Path
from typing import Any, Literal

from edos_dataset.releases.views import VIEWS
from edos_dataset.runs.folder import configs_in
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import REGISTRY

RAW_RELEASES = {
    "edos_amt": "EdosAmt",
    "edos_extended": "EdosExtended",
    "empathetic_dialogues": "EmpatheticDialogues",
    "opensubtitles": "OpenSubtitles",
}
"""Raw release → its builder, in the file of `loading_scripts/` with that name."""

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
    view: Literal["flat", "pairs", "messages"] | None = None,
    min_certainty: float | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - what `datasets.load_dataset` returns depends on split and streaming
    """Load a dataset.

    - `load("edos_amt", source=DIR)`: a raw release, one of RAW_RELEASES, from a folder, by default EDOS_DATA_DIR.
    - `load("opensubtitles", "os", source="en.zip")`: subtitles, curated by the first call; `edos curate` does the same
      with progress reports.
    - `load("edos", "edos_initial")`, or `load("edos_initial", source="runs/edos")`: a folder that any command of this
      package wrote, here "edos" and "runs/edos".
    - `load("NAMESPACE/edos", "edos", revision="v1.0.0")`: the Hub.
    - `load("edos", "edos_flat")`: the flat view of a folder's config; for all other sources use `view="flat"`.

    Args:
        name: A raw release, a folder, a config of the folder `source`, or a name on the Hub.
        config: One of its configs; by default its default one.
        split: "train", "validation" or "test"; by default all, in a dictionary.
        source: A folder, or for "opensubtitles" also an archive; works offline.
        revision: Revision of a dataset on the Hub: a tag such as "v1.0.0", a branch or a commit.
        streaming: Return rows as they are read.
        cache_dir: Cache folder of `datasets`.
        view: "flat" for one row per labelled turn with context, response and label, as from `edos_dataset.flat`;
            "pairs" for those of them that have a context; "messages" for one row per dialogue, whose turns are chat
            messages of user and assistant by turns, with their labels (`releases.views`).
        min_certainty: Smallest certainty of a boundary between the turns of a row, 0 to 1, for a view.
        options: Only for "opensubtitles": `language`, `limit` and `workers`.

    Returns:
        A `datasets.Dataset` or, when streaming, `IterableDataset`; without `split` a dictionary of them.

    Raises:
        ValueError: There is no such dataset; the message lists those available. Errors of the Hub are those of
            `datasets.load_dataset`.
    """
    _check_view(view, min_certainty)
    if view is not None:
        whole = load(name, config, split, source, revision, streaming, cache_dir, **options)
        return VIEWS[view](whole, min_certainty=min_certainty)
    if options and name != "opensubtitles":
        raise ValueError(f"{name!r} takes no option {next(iter(options))!r}: leave it out")
    if name in RAW_RELEASES and not (source is None and configs_in(place_of(name))):
        prepared = builder(name)(cache_dir, data_dir=source, config_name=config, **options)
    elif source is not None or place_of(name).is_dir():
        folder = place_of(name if source is None else source)
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder: give one that this package wrote as source")
        prepared = builder("edos_run")(cache_dir, data_dir=folder.resolve(), config_name=_config(name, config, source))
    else:
        from datasets import load_dataset

        _check_is_on_hub(name)
        settings: Any = {"split": split, "revision": revision, "streaming": streaming, "cache_dir": cache_dir}
        return load_dataset(name, config, trust_remote_code=False, **settings)
    if revision is not None:
        raise ValueError(f"revision is {revision!r}, but only the Hub has revisions: leave it out for a folder")
    if streaming:
        return prepared.as_streaming_dataset(split=split)
    prepared.download_and_prepare()
    return prepared.as_dataset(split=split)


def _check_view(view: str | None, min_certainty: float | None) -> None:
    if view is not None and view not in VIEWS:
        raise ValueError(f"unknown view {view!r}: give one of {', '.join(VIEWS)}, or leave it out")
    if view is None and min_certainty is not None:
        raise ValueError(f"min_certainty is {min_certainty}, but no view is asked for: give view, such as 'flat'")


def _check_is_on_hub(name: str) -> None:
    if place_of(name).is_file():
        raise ValueError(f'{name} is a file: give a folder, or subtitles as load("opensubtitles", source={name!r})')
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise ValueError(
            f"there is no folder {name!r} here, and datasets on the Hub have a namespace: give a folder as source, "
            f"NAMESPACE/{place_of(name).name}, or one of the releases {', '.join(RAW_RELEASES)}"
        )


def _config(name: str, config: str | None, source: str | Path | None) -> str | None:
    if source is None:
        return config
    # "edos" is also the name of a folder.
    if config is not None and name != config and name in tuple(REGISTRY)[1:]:
        raise ValueError(f"the name {name!r} is one config and {config!r} another: give one of them")
    return config or name


def builder(name: str) -> Any:  # noqa: ANN401 - a class of a file that only `loading_scripts/` knows
    """Return the builder class of a raw release or, for "edos_run", of folders of this package.

    Raises:
        ValueError: The folder `loading_scripts` is missing.
    """
    module_name = f"edos_dataset.loading_scripts.{name}"
    if module_name not in sys.modules:
        path = next((place / f"{name}.py" for place in _PLACES if (place / f"{name}.py").is_file()), None)
        if path is None:
            raise ValueError(
                f"loading_scripts/{name}.py is neither in {_PLACES[0].parent} nor beside it: reinstall the package"
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
