"""Reading a finished run back."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.folder import FolderError
from edos_dataset.schema import CONFIGS


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
    drawn: list[dict[str, Any]] = []
    first = 0
    for path, size in zip(paths, sizes, strict=True):
        here = [row - first for row in rows if first <= row < first + size]
        first += size
        if here:
            drawn += pq.read_table(path).take(pa.array(here)).to_pylist()
    return drawn
