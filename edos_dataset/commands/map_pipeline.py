"""Running a pipeline over a `datasets.Dataset`; the result is a `DatasetDict`, ready for `push_to_hub`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.commands.corpus_runs import fingerprint_of
from edos_dataset.commands.options import device_of
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing.layout import write_config
from edos_dataset.publishing.splits import split_of
from edos_dataset.runs.engines import engine_of
from edos_dataset.runs.engines.datasets import quiet
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import OutputFolder, config_files
from edos_dataset.runs.pipeline import Output, Steps, check_pipeline
from edos_dataset.runs.recipes import Item
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import numbered
from edos_dataset.schema import DIALOGUES, LABELLED_TURN, SPLITS, TURN

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

SHARD_DIALOGUES = 2_000
"""Dialogues per shard, the unit of work, resuming and memory."""


def map_pipeline(
    dataset: "Dataset | DatasetDict",
    pipeline: Steps,
    num_proc: int = 1,
    *,
    engine: str = "datasets",
    cache_dir: str | Path | None = None,
    progress: Progress = lambda *_: None,
) -> "DatasetDict":
    """Run a pipeline over the dialogues of a dataset.

        labelled = map_pipeline(load_dataset("daily", split="train"), [LabelTurns("fast"), AnnotateDialogues("fast")])
        labelled.push_to_hub("me/daily-edos")

    Results are cached below `cache_dir` by the fingerprints of the dataset and of the pipeline, so the same call makes
    only the missing shards, also after it was killed.

    Args:
        dataset: dialogues, one per row: `turns`, either texts or structs with `text` (and `start`, `end`,
            `sentence_ids`), and any of the columns of schema.DIALOGUES. Without `dialogue_id` dialogues are numbered.
            The datasets of a `DatasetDict` keep their splits; a single dataset is split by a hash of the film, or if
            that is unknown of the document or the dialogue.
        pipeline: stages and corpus steps that take dialogues, such as those of `recipe()` after "dialogues"; only the
            last of its outputs is used.
        num_proc: number of processes.
        engine: engine of the processes (`runs.engines`).
        cache_dir: cache folder; by default that of `datasets`.
        progress: called after each shard.

    Returns:
        The splits that have rows, with the features of the config of the last output; without outputs "edos" if the
        pipeline labels turns, else "os".

    Raises:
        ValueError: the dataset has no column `turns`, a turn has no text, or no dialogue is left.
        OSError: a file could not be written; the same call resumes.
        WorkerDied: a worker was killed; the same call resumes.
    """
    import datasets

    check_pipeline(pipeline)
    parts = dict(dataset) if isinstance(dataset, datasets.DatasetDict) else {None: dataset}
    key = hash_json([[str(name), part._fingerprint] for name, part in parts.items()] + [fingerprint_of(pipeline)])
    place = Path(cache_dir or datasets.config.HF_DATASETS_CACHE) / "edos_runs" / key[:16]
    stages: list[Item] = [item for item in pipeline if not isinstance(item, Output)]
    config = _config_of(pipeline)
    where = engine_of(engine, num_proc, device_of(stages))
    with OutputFolder(place, "map_pipeline", where.is_main) as out, where:
        run = Run(out.run, where, progress=progress)
        shards = run.execute(numbered(_tables(parts)), [*stages, Output(config)])[config]
        if where.is_main:
            written = write_config(config, shards, out.prepare(), engine=where.corpus)
            out.commit()
            if not written.total_rows:
                raise ValueError(f"no dialogue is left; of each stage was kept: {[vars(each) for each in run.counts]}")
        where.wait()
        return _load(place, config)


def _config_of(pipeline: Steps) -> str:
    """Return the config of a pipeline's result."""
    outputs = [item.config for item in pipeline if isinstance(item, Output)]
    if outputs:
        return outputs[-1]
    return "edos" if any(isinstance(item, LabelTurns) for item in pipeline) else "os"


def _load(folder: Path, config: str) -> "DatasetDict":
    import datasets

    def load(split: str, paths: Sequence[Path]) -> "Dataset":
        return datasets.Dataset.from_parquet(list(map(str, paths)), split=split, cache_dir=str(folder / "arrow"))

    with quiet():
        return datasets.DatasetDict(
            {split: load(split, paths) for split, paths in config_files(folder, config).items()}
        )


def _tables(parts: "dict[str | None, Dataset]") -> Iterator[pa.Table]:
    """Yield the rows of datasets as DIALOGUES with `split`."""
    before = 0
    for split, part in parts.items():
        if "turns" not in part.column_names:
            raise ValueError(f"the data set has no column 'turns', but {', '.join(part.column_names)}: rename one")
        for table in part.with_format("arrow").iter(SHARD_DIALOGUES):
            yield _dialogues(table, split, before)
            before += table.num_rows


def _dialogues(table: pa.Table, split: str | None, before: int) -> pa.Table:
    """Return rows as DIALOGUES with `split`; unknown values are null."""
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
