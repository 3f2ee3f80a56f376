"""A pipeline over a `datasets.Dataset` in memory or on disk, and a `DatasetDict` out of it, ready for `push_to_hub`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.commands.corpus_runs import device_of, fingerprint_of
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing.layout import split_of, write_config
from edos_dataset.runs.cutting import numbered
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.engines.datasets import quiet
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.pipeline import Output, Pipeline, check_pipeline
from edos_dataset.runs.recipes import Item
from edos_dataset.runs.run import Progress, Run
from edos_dataset.schema import DIALOGUES, LABELLED_TURN, SPLITS, TURN

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

SHARD_DIALOGUES = 2_000
"""Dialogues a shard: the unit of work, of resuming and of memory."""


def map_pipeline(
    dataset: "Dataset | DatasetDict",
    pipeline: Pipeline,
    num_proc: int = 1,
    *,
    engine: str = "datasets",
    cache_dir: str | Path | None = None,
    progress: Progress = lambda *_: None,
) -> "DatasetDict":
    """Run a pipeline over dialogues that are a data set already.

        labelled = map_pipeline(load_dataset("daily", split="train"), [LabelTurns("fast"), AnnotateDialogues("fast")])
        labelled.push_to_hub("me/daily-edos")

    What is made is kept below `cache_dir`, by the content of the data set and of the pipeline: the same call, also
    after a kill, makes only what is not there.

    Args:
        dataset: a row a dialogue: `turns`, texts or structs with `text` (and `start`, `end`, `sentence_ids`), and of
            the columns of schema.DIALOGUES those that there are. Without `dialogue_id` dialogues are numbered. In a
            dictionary of data sets each keeps its split; a single data set is parted by a hash of the film, or of the
            document or the dialogue where that is not known.
        pipeline: stages and corpus steps that take dialogues, such as the ones behind "dialogues" in
            `subtitles_to_edos`; with outputs, the last one counts.
        num_proc: processes.
        engine: where they run (`runs.engines.base`).
        cache_dir: a folder; by default that of `datasets`.
        progress: called after each shard.

    Returns:
        The splits that have rows, with the features of the config that the pipeline ends in: "edos" where it labels,
        "os" elsewhere.

    Raises:
        ValueError: the data set has no column `turns`, or a turn no text; or no dialogue comes out.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    import datasets

    check_pipeline(pipeline)
    parts = dict(dataset) if isinstance(dataset, datasets.DatasetDict) else {None: dataset}
    key = hash_json([[str(name), part._fingerprint] for name, part in parts.items()] + [fingerprint_of(pipeline)])
    place = Path(cache_dir or datasets.config.HF_DATASETS_CACHE) / "edos_runs" / key[:16]
    stages: list[Item] = [item for item in pipeline if not isinstance(item, Output)]
    outputs = [item.config for item in pipeline if isinstance(item, Output)]
    config = outputs[-1] if outputs else "edos" if any(isinstance(stage, LabelTurns) for stage in stages) else "os"
    crew = engine_of(engine, num_proc, device_of(stages))
    with OutputFolder(place, "map_pipeline", crew.leads) as out, crew:
        run = Run(out.run, crew, progress=progress)
        shards = run.execute(numbered(_tables(parts)), [*stages, Output(config)])[config]
        if crew.leads:
            written = write_config(config, shards, out.prepare(), engine=crew.corpus)
            out.commit()
            if not written.total_rows:
                raise ValueError(f"no dialogue came out; of each stage was kept: {[vars(each) for each in run.counts]}")
        crew.wait()
        files = {split: sorted((place / config).glob(f"{split}-*.parquet")) for split in SPLITS}
        with quiet():
            return datasets.DatasetDict(
                {
                    split: datasets.Dataset.from_parquet(
                        list(map(str, paths)), split=split, cache_dir=str(place / "arrow")
                    )
                    for split, paths in files.items()
                    if paths
                }
            )


def _tables(parts: "dict[str | None, Dataset]") -> Iterator[pa.Table]:
    """Yield the rows of data sets as DIALOGUES with `split`."""
    before = 0
    for split, part in parts.items():
        if "turns" not in part.column_names:
            raise ValueError(f"the data set has no column 'turns', but {', '.join(part.column_names)}: rename one")
        for table in part.with_format("arrow").iter(SHARD_DIALOGUES):
            yield _dialogues(table, split, before)
            before += table.num_rows


def _dialogues(table: pa.Table, split: str | None, before: int) -> pa.Table:
    """Return rows as DIALOGUES with `split`; what is not known is null."""
    size = table.num_rows
    columns: dict[str, Any] = {
        field.name: table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(size, field.type)
        for field in DIALOGUES
        if field.name not in ("turns", "dialogue_id", "film")
    }
    if "dialogue_id" in table.column_names:
        ids = table["dialogue_id"].cast(pa.string())
    else:
        ids = pa.chunked_array([pa.array([f"{split or 'dialogue'}-{before + row}" for row in range(size)])])
    known = next((table[name] for name in ("film", "document_id") if name in table.column_names), ids)
    film = known.cast(pa.string())
    if columns["document_id"].null_count == size:
        columns["document_id"] = ids
    if not pa.types.is_list(table["turns"].type):
        raise ValueError(f"the column 'turns' of the data set holds {table['turns'].type}: turns must be lists")
    turns, offsets = unnest(table, "turns")
    columns |= {"dialogue_id": ids, "film": film, "turns": nest(offsets, TURN, _turns(turns))}
    ordered = pa.table({name: columns[name] for name in DIALOGUES.names}, schema=DIALOGUES)
    splits = [split_of(name) for name in film.to_pylist()] if split not in SPLITS else [split] * size
    return ordered.append_column("split", pa.array(splits, pa.string()))


def _turns(turns: pa.Array) -> dict[str, pa.Array]:
    """Return the flat columns of TURN."""
    if pa.types.is_struct(turns.type):
        given = {field.name: turns.field(field.name) for field in turns.type if field.name in LABELLED_TURN.names}
    else:
        given = {"text": turns}
    if "text" not in given or given["text"].null_count:
        raise ValueError("a turn of the data set has no text: expected a list of texts, or of structs with `text`")
    given.setdefault("sentence_ids", empty_lists(len(turns), pa.int32()))
    return {
        field.name: given[field.name].cast(field.type) if field.name in given else pa.nulls(len(turns), field.type)
        for field in TURN
    }
