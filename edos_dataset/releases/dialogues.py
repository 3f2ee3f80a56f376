"""Dialogues from whatever somebody gives to tables, as `edos label` and `edos extend` read them, and labelled back to
JSON lines.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.labels import LABELS
from edos_dataset.releases.given.dialogue import Dialogue
from edos_dataset.releases.given.records import Record, dialogues_of
from edos_dataset.releases.given.sources import Selection, check_source, is_saved, read_given
from edos_dataset.releases.given.tables import parquet_rows
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.tables import config_files, configs_in
from edos_dataset.schema import CONFIGS, LABELS_ONLY, REGISTRY, TURN, arrow_schema

_EXTRA, _TURN_EXTRAS = "extra", "turn_extras"


def read_sources(sources: Sequence[str | Path], config: str | None, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of several sources, one after the other, as `read_source` does."""
    for source in sources:
        yield from read_source(source, shard_turns, Selection(config=config))


def read_source(source: str | Path, shard_turns: int, meant: Selection = Selection()) -> Iterator[pa.Table]:  # noqa: B008
    """Return the dialogues of a source in tables of about `shard_turns` turns, or one dialogue more.

    Args:
        source: what `edos label` takes: a file of any of `given.sources.FORMS`, "-", a folder of ours, a saved data
            set, or one of the Hub.
        shard_turns: turns a table.
        meant: what of it.

    Returns:
        Tables as of `read_config` for a folder of `edos curate`, as of `tables_of` for all others.

    Raises:
        ValueError: at once, the source is not there; while it is read, it is no source of dialogues.
    """
    check_source(str(source))
    if (config := curated_config(source, meant.config)) is not None:
        return read_config(place_of(source), config, shard_turns)
    return tables_of(read_dialogues(source, meant), shard_turns)


def read_dialogues(source: str | Path, meant: Selection = Selection()) -> Iterator[Dialogue]:  # noqa: B008
    """Yield the dialogues of a source, whatever it is, one by one.

    Raises:
        ValueError: it is no source of dialogues.
    """
    check_source(str(source))
    if place_of(source).is_dir() and not is_saved(place_of(source)):
        return dialogues_of(_rows_of_ours(place_of(source), meant))
    return read_given(str(source), meant)


def curated_config(source: str | Path, config: str | None = None) -> str | None:
    """Return the config of a folder of `edos curate` that is meant, None where the source is none of these.

    Raises:
        ValueError: it is a folder of ours without that config.
    """
    folder = place_of(source)
    if not folder.is_dir() or is_saved(folder):
        return None
    name = source_config(folder, config)
    return name if name in CONFIGS else None


def _rows_of_ours(folder: Path, meant: Selection) -> Iterator[Record]:
    """Yield the rows of a config, with the names of its labels."""
    config = source_config(folder, meant.config)
    for split, paths in config_files(folder, config).items():
        for path in paths:
            with path.open("rb") as file:
                for record in parquet_rows(file, str(path)):
                    yield record._replace(value=record.value | {"split": split})


def tables_of(dialogues: Iterable[Dialogue], shard_turns: int) -> Iterator[pa.Table]:
    """Yield dialogues in tables of about `shard_turns` turns, or one dialogue more: `dialogue_id`, `turns` of
    schema.TURN, and what stood beside them, `extra` and `turn_extras`.
    """
    gathered: list[Dialogue] = []
    turns = 0
    for dialogue in dialogues:
        gathered.append(dialogue)
        turns += len(dialogue.texts)
        if turns >= shard_turns:
            yield _table(gathered)
            gathered, turns = [], 0
    if gathered:
        yield _table(gathered)


def _table(dialogues: Sequence[Dialogue]) -> pa.Table:
    texts = [text for dialogue in dialogues for text in dialogue.texts]
    none = pa.nulls(len(texts), pa.float64())
    turns = nest(
        np.cumsum([0, *(len(dialogue.texts) for dialogue in dialogues)]),
        TURN,
        {"text": texts, "start": none, "end": none, "sentence_ids": empty_lists(len(texts), pa.int32())},
    )
    return pa.table(
        {
            "dialogue_id": pa.array([dialogue.id for dialogue in dialogues], pa.string()),
            "turns": turns,
            _EXTRA: pa.array([dialogue.extra for dialogue in dialogues], pa.string()),
            _TURN_EXTRAS: pa.array([dialogue.turn_extras for dialogue in dialogues], pa.list_(pa.string())),
        }
    )


def lines_of(table: pa.Table) -> Iterator[bytes]:
    """Yield labelled dialogues as JSON lines: `dialogue_id`, and `turns` of `text`, `label`, `confidence` and `top`, a
    list of `label` and `probability`; what stood beside a dialogue or a turn goes behind these.
    """
    turns, offsets = unnest(table, "turns")
    top = turns.field("top")
    names = [LABELS[label] for label in top.flatten().field("label").to_pylist()]
    shares = _short(top.flatten().field("probability"))
    ends = (top.offsets.to_numpy() - top.offsets[0].as_py()).tolist()
    ranked = [{"label": name, "probability": share} for name, share in zip(names, shares, strict=True)]
    labels, confidences = turns.field("label").to_pylist(), _short(turns.field("confidence"))
    rows = [
        json.dumps(
            {"text": text, "label": LABELS[label], "confidence": confidence, "top": ranked[start:end]},
            ensure_ascii=False,
        )
        for text, label, confidence, start, end in zip(
            turns.field("text").to_pylist(), labels, confidences, ends[:-1], ends[1:], strict=True
        )
    ]
    columns = [table[name].to_pylist() for name in ("dialogue_id", _EXTRA, _TURN_EXTRAS)]
    for dialogue_id, extra, extras, start, end in zip(*columns, offsets[:-1], offsets[1:], strict=True):
        labelled = rows[start:end]
        if extras is not None:
            labelled = [_with(row, beside) for row, beside in zip(labelled, extras, strict=True)]
        name = json.dumps(dialogue_id, ensure_ascii=False)
        line = _with(f'{{"dialogue_id": {name}, "turns": [{", ".join(labelled)}]}}', extra)
        yield line.encode() + b"\n"


def _with(text: str, extra: str | None) -> str:
    """Return a JSON object with the members of another one behind its own."""
    return text if extra is None else f"{text[:-1]}, {extra[1:]}"


def _short(values: pa.Array) -> list[float]:
    """Return float32 values as the shortest numbers that stand for them: 0.3, not 0.30000001192092896."""
    shares: list[float] = values.to_numpy(zero_copy_only=False).astype(str).astype(float).tolist()
    return shares


def source_config(folder: Path, config: str | None) -> str:
    """Return the config of a folder of ours that is meant: the one named, or the first that it has with texts.

    Raises:
        ValueError: it is not there, or has no texts.
    """
    there = configs_in(folder, [name for name in REGISTRY if name != LABELS_ONLY])
    if configs_in(folder, [LABELS_ONLY]) and (config == LABELS_ONLY or not there):
        raise ValueError(f"{folder} holds labels without texts: `edos hydrate` puts the texts back")
    if not there or (config is not None and config not in there):
        raise ValueError(
            f"{folder} has no {f'config {config!r}' if config else 'dialogues'}; it has "
            f"{', '.join(there) or 'none of ' + ', '.join(REGISTRY)}"
        )
    return config or there[0]


def read_config(folder: Path, config: str, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of a config of `edos curate` in tables of about `shard_turns` turns, with the columns of the
    config "os" and `split`.

    Raises:
        ValueError: a file is none that this package writes.
    """
    for split, paths in config_files(folder, config).items():
        for path in paths:
            try:
                for table in read_pieces(path, arrow_schema("os").names):
                    yield from _cut(_unlabelled(table, split), shard_turns)
            except (pa.ArrowException, OSError, KeyError) as error:
                raise ValueError(
                    f"{path} is no file of a data set that this version of `edos curate` wrote: {error}; what "
                    "an earlier version made, make again"
                ) from error


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
