"""Dialogues from files and back, as `edos label` reads and writes them: JSON lines, and the Parquet files of a
config.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.tables import config_files, configs_in
from edos_dataset.schema import CONFIGS, TURN, arrow_schema


def read_sources(sources: Sequence[Path], config: str | None, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of folders and files, one source after the other, as `read_source` does."""
    for source in sources:
        yield from read_source(source, config, shard_turns)


def read_source(source: Path, config: str | None, shard_turns: int) -> Iterator[pa.Table]:
    """Return the dialogues of a folder or a file, as `read_config` or `read_lines` yields them.

    Raises:
        ValueError: at once, the source is not there; while it is read, as of these two.
    """
    if not source.exists():
        raise ValueError(
            f"{source}: there is no such file or folder; give a file of JSON lines, or a folder that `edos curate` "
            "wrote"
        )
    return read_config(source, config, shard_turns) if source.is_dir() else read_lines(source, shard_turns)


def read_lines(path: Path, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of a file of JSON lines in tables of about `shard_turns` turns, or one dialogue more:
    `dialogue_id` and `turns` of schema.TURN.

    Empty lines are passed over, and so are keys beside the two.

    Raises:
        ValueError: a line is no dialogue, or there is none; the message names file, line and value.
    """
    ids: list[str] = []
    dialogues: list[list[str]] = []
    turns = shards = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            dialogue_id, texts = _parse(line, f"{path}, line {number}")
            ids.append(dialogue_id)
            dialogues.append(texts)
            turns += len(texts)
            if turns >= shard_turns:
                yield _table(ids, dialogues)
                ids, dialogues, turns, shards = [], [], 0, shards + 1
    if ids:
        yield _table(ids, dialogues)
    elif not shards:
        raise ValueError(f'{path} holds no dialogues: expected lines {{"dialogue_id": "...", "turns": ["...", ...]}}')


def _parse(line: bytes, where: str) -> tuple[str, list[str]]:
    """Return the id and the turns of a line."""
    wanted = 'expected {"dialogue_id": "...", "turns": ["...", ...]}'
    try:
        row: Any = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{where}: {wanted}, got {_shown(line.decode('utf-8', 'replace').strip())}, which is no JSON ({error}); "
            "mend or remove the line"
        ) from error
    if not isinstance(row, dict) or not {"dialogue_id", "turns"} <= row.keys():
        raise ValueError(f"{where}: {wanted}, got {_shown(row)}; mend or remove the line")
    dialogue_id, turns = row["dialogue_id"], row["turns"]
    if not isinstance(dialogue_id, str):
        raise ValueError(f"{where}: dialogue_id must be a text, got {_shown(dialogue_id)}; put it in quotes")
    bad = [turn for turn in turns if not isinstance(turn, str)] if isinstance(turns, list) else [turns]
    if bad:
        raise ValueError(
            f"{where}: turns must be a list of texts, got {_shown(bad[0])} "
            f"{'among' if isinstance(turns, list) else 'as'} them; mend or remove the line"
        )
    try:
        "".join([dialogue_id, *turns]).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: {error.object[error.start : error.end]!r} is half a character, which no text may hold; mend or "
            "remove the line"
        ) from error
    return dialogue_id, turns


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _table(ids: list[str], dialogues: list[list[str]]) -> pa.Table:
    texts = [turn for turns in dialogues for turn in turns]
    none = pa.nulls(len(texts), pa.float64())
    turns = nest(
        np.cumsum([0, *map(len, dialogues)]),
        TURN,
        {"text": texts, "start": none, "end": none, "sentence_ids": empty_lists(len(texts), pa.int32())},
    )
    return pa.table({"dialogue_id": pa.array(ids, pa.string()), "turns": turns})


def lines_of(table: pa.Table) -> Iterator[bytes]:
    """Yield labelled dialogues as JSON lines: `dialogue_id`, and `turns` of `text`, `label`, `confidence` and `top`, a
    list of `label` and `probability`.
    """
    turns, offsets = unnest(table, "turns")
    top = turns.field("top")
    names = [LABELS[label] for label in top.flatten().field("label").to_pylist()]
    shares = _short(top.flatten().field("probability"))
    ends = (top.offsets.to_numpy() - top.offsets[0].as_py()).tolist()
    ranked = [{"label": name, "probability": share} for name, share in zip(names, shares, strict=True)]
    labels, confidences = turns.field("label").to_pylist(), _short(turns.field("confidence"))
    rows = [
        {"text": text, "label": LABELS[label], "confidence": confidence, "top": ranked[start:end]}
        for text, label, confidence, start, end in zip(
            turns.field("text").to_pylist(), labels, confidences, ends[:-1], ends[1:], strict=True
        )
    ]
    for dialogue_id, start, end in zip(table["dialogue_id"].to_pylist(), offsets[:-1], offsets[1:], strict=True):
        yield json.dumps({"dialogue_id": dialogue_id, "turns": rows[start:end]}, ensure_ascii=False).encode() + b"\n"


def _short(values: pa.Array) -> list[float]:
    """Return float32 values as the shortest numbers that stand for them: 0.3, not 0.30000001192092896."""
    shares: list[float] = values.to_numpy(zero_copy_only=False).astype(str).astype(float).tolist()
    return shares


def source_config(folder: Path, config: str | None) -> str:
    """Return the config of a folder of ours that is meant: the one named, or the first of CONFIGS that it has.

    Raises:
        ValueError: it is not there.
    """
    there = configs_in(folder, CONFIGS)
    if not there or (config is not None and config not in there):
        raise ValueError(
            f"{folder} has no {f'config {config!r}' if config else 'dialogues'}; it has "
            f"{', '.join(there) or 'none of ' + ', '.join(CONFIGS)}"
        )
    return config or there[0]


def read_config(folder: Path, config: str | None, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of a config in tables of about `shard_turns` turns, with the columns of the config
    "os" and `split`.

    Raises:
        ValueError: the folder has no such config, or a file is none that this package writes.
    """
    name = source_config(folder, config)
    for split, paths in config_files(folder, name).items():
        for path in paths:
            try:
                for table in read_pieces(path, arrow_schema("os").names):
                    yield from _cut(_unlabelled(table, split), shard_turns)
            except (pa.ArrowInvalid, KeyError) as error:
                raise ValueError(f"{path} is no file of a data set that `edos curate` wrote: {error}") from error


def _unlabelled(table: pa.Table, split: str) -> pa.Table:
    turns, offsets = unnest(table, "turns")
    columns = {name: turns.field(name) for name in TURN.names}
    table = table.set_column(table.column_names.index("turns"), "turns", nest(offsets, TURN, columns))
    return table.append_column("split", pa.array([split] * table.num_rows, pa.string()))


def _cut(table: pa.Table, shard_turns: int) -> Iterator[pa.Table]:
    """Yield pieces of a table with about `shard_turns` turns."""
    _, offsets = unnest(table, "turns")
    shard = offsets[:-1] // shard_turns
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], table.num_rows], strict=True):
        yield table.slice(start, stop - start)
