"""Reading a finished run back."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.shards import FolderError
from edos_dataset.schema import CONFIGS


def read_manifest(run: Path) -> dict[str, Any]:
    """Return the manifest of a run.

    Raises:
        FolderError: the folder holds none: it is no run, or the run has not finished.
    """
    path = run / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        unfinished = (
            ": the run has not finished; give its `edos curate` command again" if (run / ".run").is_dir() else ""
        )
        raise FolderError(f"cannot read {path} ({error.strerror}){unfinished}") from error
    except ValueError as error:
        raise FolderError(
            f"{path} is damaged ({error}); the `edos curate` command that made it writes it anew"
        ) from error
    if not isinstance(manifest, dict) or not {"stages", "configs"} <= manifest.keys():
        raise FolderError(f"{path} is not the manifest of a run: it has no 'stages' or no 'configs'")
    return manifest


def random_dialogues(
    run: Path, manifest: dict[str, Any], number: int, config: str | None, random: Random
) -> list[dict[str, Any]]:
    """Return dialogues of a config, drawn without replacement over all splits.

    Args:
        run: the folder.
        manifest: its manifest.
        number: how many; all, if there are fewer.
        config: one of the run's configs, or None for the first of `schema.CONFIGS` that it has.
        random: the generator to draw with.

    Raises:
        FolderError: the run has no such config.
    """
    configs = [name for name in CONFIGS if name in manifest["configs"]]
    config = config or next(iter(configs), "")
    if config not in configs:
        raise FolderError(f"{run} has no config {config!r}; it has {', '.join(configs) or 'none'}")
    paths = sorted((run / config).glob("*.parquet"))
    sizes = [pq.read_metadata(path).num_rows for path in paths]
    rows = sorted(random.sample(range(sum(sizes)), min(number, sum(sizes))))
    found: list[dict[str, Any]] = []
    first = 0
    for path, size in zip(paths, sizes, strict=True):
        here = [row - first for row in rows if first <= row < first + size]
        first += size
        if here:
            found += pq.read_table(path).take(pa.array(here)).to_pylist()
    return found
