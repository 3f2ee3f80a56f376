"""A run of one stage over dialogues in whatever form, to a file of JSON lines: what `edos label` and `edos respond` do.

It is resumable: finished shards lie in `OUT.parts` until the file is whole.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.runs.cutting import numbered
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.out_file import check_out_file
from edos_dataset.runs.pipeline import Output, Stage
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import read_shard, replacing
from edos_dataset.runs.stores.paths import place_of

_DONE = "done"


def run_to_lines(
    tables: Iterator[pa.Table],
    out: Path,
    stage: Stage,
    lines_of: Callable[[pa.Table], Iterator[bytes]],
    *,
    command: str,
    device: str,
    force: bool,
    workers: int,
    engine: str,
    progress: Progress,
    told: Callable[[Sequence[Path]], dict[str, int]] = lambda _: {},
) -> dict[str, Any] | None:
    """Carry a stage out over tables and write what comes out as lines.

    Args:
        tables: of dialogues, one a shard.
        out: the file, which appears, or is replaced, only when it is whole.
        stage: what is done.
        lines_of: a table that it returned → its lines.
        command: that does this, for whoever finds its folder.
        device: torch device of the stage's model.
        force: replace the file.
        workers: processes.
        engine: where they run (`runs.engines.base`).
        progress: called after each shard.
        told: finished shards → what else is counted.

    Returns:
        `dialogues`, `turns` (read by the stage, if that is its unit), `shards`, `reused`; None in the processes of a
        launcher but the first.

    Raises:
        ValueError: something in the tables is no dialogue.
        FolderError: the file is there already, or another process is at work on it.
    """
    out = place_of(out)
    check_out_file(out, force=force)
    place = out.with_name(f"{out.name}.parts")
    new = not (place / ".run").exists()
    crew = engine_of(engine, workers, device)
    with output_folder(place, command, crew.leads, force) as folder, crew:
        run = Run(folder.run, crew, progress=progress)
        with discarded_after_errors(folder, crew, new):
            shards = run.execute(numbered(tables), [stage, Output(_DONE)])[_DONE]
        if not crew.leads:
            return None
        with replacing(out.resolve()) as temporary, temporary.open("wb") as file:
            for shard in shards:
                file.writelines(lines_of(read_shard(shard)))
        done = {"dialogues": run.rows, "shards": len(shards), "reused": run.reused} | told(shards)
        done |= {stage.unit: run.counts[0].read}
    folder.discard()
    return done


@contextmanager
def discarded_after_errors(folder: OutputFolder, crew: Engine, new: bool) -> Iterator[None]:
    """Discard a folder after a bad line of the source, if it is new: nothing stays that was not there before."""
    try:
        yield
    except ValueError:
        if new and crew.leads:
            folder.discard()
        raise


def check_no_source(source: str | Path, out: Path) -> None:
    """Refuse to write over what is read.

    Raises:
        FolderError: it would be.
    """
    if place_of(out).resolve() == place_of(source).resolve():
        raise FolderError(f"{out} is the source and would be lost: give another --out")
