"""Resumable runs of one stage over dialogues in any form, written to one file; shared by `label` and `respond`."""

import gzip
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from edos_dataset.commands.options import RunOptions
from edos_dataset.commands.progress import warn
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.readers import STDIN, called, opened
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.folder import OutputFolder, check_out_file
from edos_dataset.runs.pipeline import Output, Stage
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import numbered, replacing
from edos_dataset.runs.stores.paths import place_of

_DONE = "done"


def run_to_lines(
    tables: Iterator[pa.Table],
    out: Path,
    stage: Stage,
    write: Callable[[BinaryIO, Sequence[Path]], None],
    options: RunOptions,
    *,
    command: str,
    device: str,
    count: Callable[[Sequence[Path]], Mapping[str, int]] = lambda _: {},
) -> dict[str, Any] | None:
    """Run a stage over tables of dialogues and write the result to a file.

    Args:
        tables: dialogues, one table per shard.
        out: output file, which appears or is replaced only when complete; until then shards are kept in `OUT.parts`.
        stage: the stage.
        write: writes the output file, given the finished shards.
        options: how the run is carried out.
        command: name of the command, recorded in the folder of shards.
        device: torch device of the stage's model.
        count: finished shards → further counts.

    Returns:
        The numbers of `dialogues`, of the stage's unit (such as `turns`), of `shards`, and of `reused` shards; None in
        all launched processes but the first.

    Raises:
        ValueError: something in the tables is not a dialogue.
        FolderError: the file already exists, or another process is writing it.
    """
    out = place_of(out)
    check_out_file(out, force=options.force)
    place = out.with_name(f"{out.name}.parts")
    new = not (place / ".run").exists()
    tables, options = _few(tables, options)
    engine = options.start_engine(device)
    with output_folder(place, command, engine.is_main, options.force) as folder, engine:
        run = Run(folder.run, engine, progress=options.progress)
        with discarded_after_errors(folder, engine, new):
            shards = run.execute(numbered(tables), [stage, Output(_DONE)])[_DONE]
            engine.wait()  # shards may be discarded only after every process has checked that all exist
        if not engine.is_main:
            return None
        with replacing(out.resolve()) as temporary, temporary.open("wb") as file:
            _write(file, out.name, write, shards)
        done = {"dialogues": run.rows, "shards": len(shards), "reused": run.reused, **count(shards)}
        done |= {stage.unit: run.counts[0].read}
        folder.discard()
    return done


def _write(
    file: BinaryIO, name: str, write: Callable[[BinaryIO, Sequence[Path]], None], shards: Sequence[Path]
) -> None:
    if not name.endswith(".gz"):
        write(file, shards)
        return
    with gzip.GzipFile(fileobj=file, filename="", mode="wb", mtime=0) as packed:
        write(cast(BinaryIO, packed), shards)


def announced(tables: Iterator[pa.Table], findings: Findings) -> Iterator[pa.Table]:
    """Yield tables; before the first one, issue the warnings about their source."""
    for number, table in enumerate(tables):
        if not number:
            for warning in findings.warnings:
                warn(warning)
        yield table


def found_in(findings: Findings) -> dict[str, Any]:
    """Return `remarks`, `warnings` and `bad` of a source for the result of a verb, without those that are empty."""
    found = {"remarks": [*findings.remarks, *findings.warnings], "warnings": findings.warnings, "bad": findings.bad}
    return {name: value for name, value in found.items() if value}


@contextmanager
def kept_source(source: str | Path, meant: Selection, again: bool) -> Iterator[tuple[str | Path, Selection]]:
    """Yield a source and its selection; if `again`, a stream such as standard input is first copied to a temporary
    file, so that it can be opened twice.
    """
    if not again or not (str(source) == STDIN or _is_stream(place_of(source))):
        yield source, meant
        return
    with tempfile.TemporaryDirectory(prefix="edos-") as folder:
        copy = Path(folder) / "input"
        with copy.open("wb") as file, opened(str(source)) as given:
            shutil.copyfileobj(given, file)
        yield copy, replace(meant, called=meant.called or called(str(source)))


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _few(tables: Iterator[pa.Table], options: RunOptions) -> tuple[Iterator[pa.Table], RunOptions]:
    """Return tables and options; a single table gets one worker, since this process has already loaded the model."""
    if options.engine != "local" or options.workers == 1:
        return tables, options
    first = list(islice(tables, 2))
    alone = RunOptions(**{**vars(options), "workers": 1}) if len(first) < 2 else options
    return chain(first, tables), alone


@contextmanager
def discarded_after_errors(folder: OutputFolder, engine: Engine, new: bool) -> Iterator[None]:
    """Discard a new folder of shards if the source turns out to be invalid."""
    try:
        yield
    except ValueError:
        if new and engine.is_main:
            folder.discard()
        raise


@contextmanager
def target_file(out: str | Path) -> Iterator[Path]:
    """Yield the file to write; for "-" a temporary file, which is copied to standard output when complete."""
    if str(out) != "-":
        yield place_of(out)
        return
    with tempfile.TemporaryDirectory(prefix="edos-") as folder:
        target = Path(folder) / "lines.jsonl"
        yield target
        with target.open("rb") as lines:
            shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.buffer.flush()
