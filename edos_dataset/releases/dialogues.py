"""Tables of dialogues from any source, for `edos label` and `edos extend`, and labelled tables as JSON lines."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.label_sets import label_set_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.flat import Flat
from edos_dataset.releases.formats.grouping import dialogues_of
from edos_dataset.releases.formats.records import Dialogue
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.several import SeveralFiles
from edos_dataset.releases.formats.sources import check_source, is_saved, opened_dialogues, read_given
from edos_dataset.releases.own_folders import records_of_ours, source_configs
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import CONFIGS, TURN, arrow_schema
from edos_dataset.schema.tables import SEVERAL

_EXTRA, _TURN_EXTRAS = "extra", "turn_extras"
ROWS = "rows"
"""Column with the numbers, from 0, of the records that are the turns of a dialogue; null if the dialogue itself is one
record.
"""


def read_sources(
    sources: Sequence[str | Path],
    config: str | None,
    shard_turns: int,
    meant: Selection = ALL,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[pa.Table]:
    """Yield the dialogues of several sources one after the other; see `read_source`.

    Args:
        sources: As for `read_source`.
        config: Config to read from each source.
        shard_turns: Turns per table.
        meant: Columns, and whether bad records are left out.
        warn: Called with each warning about a source, before its first dialogue.
    """
    for source in sources:
        findings = Findings()
        for number, table in enumerate(read_source(source, shard_turns, replace(meant, config=config), findings)):
            for warning in findings.warnings if not number else ():
                warn(warning)
            yield table


def read_source(
    source: "str | Path | SeveralFiles", shard_turns: int, meant: Selection = ALL, findings: Findings | None = None
) -> Iterator[pa.Table]:
    """Return the dialogues of a source in tables of `shard_turns` turns, rounded up to whole dialogues.

    Args:
        source: A file in one of `formats.forms.FORMS`, "-" for standard input, a folder of this package, a saved
            dataset, one on the Hub, or several files.
        shard_turns: Turns per table.
        meant: The part of the source to read.
        findings: Receives remarks and warnings, before the first table.

    Returns:
        Tables as from `read_config` for a folder of `edos curate`, otherwise as from `tables_of`.

    Raises:
        ValueError: The source does not exist (at once), or is not a source of dialogues (during reading).
    """
    if isinstance(source, SeveralFiles):
        return tables_of(read_dialogues(source, meant, findings), shard_turns)
    check_source(str(source))
    if (config := curated_config(source, meant.config)) is not None:
        meant.check_no_rows(str(source))
        return read_config(place_of(source), config, shard_turns)
    if place_of(source).is_dir() and not is_saved(place_of(source)):
        return tables_of(read_dialogues(source, meant, findings), shard_turns)
    return _given_tables(str(source), shard_turns, meant, Findings() if findings is None else findings)


def _given_tables(source: str, shard_turns: int, meant: Selection, findings: Findings) -> Iterator[pa.Table]:
    with opened_dialogues(source, meant, findings) as given:
        if not isinstance(given, Flat):
            yield from tables_of(given, shard_turns)
            return
        start = 0
        while start < len(given.ids):
            end = int(np.searchsorted(given.offsets, given.offsets[start] + shard_turns))
            yield _flat_table(given, start, min(end, len(given.ids)))
            start = end


def _flat_table(flat: Flat, start: int, end: int) -> pa.Table:
    """Return a range of dialogues as a table like those of `tables_of`."""
    offsets = flat.offsets[start : end + 1]
    first, last = offsets[0], offsets[-1]
    offsets = offsets - first
    rows = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat.rows[first:last], pa.int64()))
    none = pa.nulls(end - start, pa.list_(pa.string()))
    extras = None if flat.extras is None else flat.extras[first:last]
    return pa.table(
        {
            "dialogue_id": flat.ids[start:end],
            "turns": _turns(offsets, flat.texts[first:last]),
            _EXTRA: pa.nulls(end - start, pa.string()) if extras is None or flat.of_turns else extras,
            _TURN_EXTRAS: pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), extras)
            if extras is not None and flat.of_turns
            else none,
            ROWS: rows,
        }
    )


def _turns(offsets: np.ndarray, texts: Sequence[str] | pa.Array) -> pa.ListArray:
    none = pa.nulls(len(texts), pa.float64())
    beside = {"start": none, "end": none, "sentence_ids": empty_lists(len(texts), pa.int32())}
    return nest(offsets, TURN, {"text": texts, **beside})


def read_dialogues(
    source: "str | Path | SeveralFiles", meant: Selection = ALL, findings: Findings | None = None
) -> Iterator[Dialogue]:
    """Yield the dialogues of any source one by one; the arguments are those of `read_source`.

    Raises:
        ValueError: The source has no dialogues, or something else among them.
    """
    if isinstance(source, SeveralFiles):
        return source.dialogues(meant, Findings() if findings is None else findings)
    check_source(str(source))
    if place_of(source).is_dir() and not is_saved(place_of(source)):
        return dialogues_of(records_of_ours(place_of(source), meant), Selection(keep_labels=meant.keep_labels))
    return read_given(str(source), meant, findings)


def curated_config(source: "str | Path | SeveralFiles", config: str | None = None) -> str | None:
    """Return the config to read from a folder of `edos curate`; None if the source is something else.

    Raises:
        ValueError: The source is a folder of this package without that config.
    """
    if isinstance(source, SeveralFiles):
        return None
    folder = place_of(source)
    if not folder.is_dir() or is_saved(folder):
        return None
    name = source_configs(folder, config)[0]
    return name if name in CONFIGS else None


def tables_of(dialogues: Iterable[Dialogue], shard_turns: int) -> Iterator[pa.Table]:
    """Yield dialogues in tables of `shard_turns` turns, rounded up to whole dialogues.

    Columns: `dialogue_id`, `turns` (schema.TURN), `extra` and `turn_extras` with the other values of the records as
    JSON, and `rows`.
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
    turns = _turns(np.cumsum([0, *(len(dialogue.texts) for dialogue in dialogues)]), texts)
    return pa.table(
        {
            "dialogue_id": pa.array([dialogue.id for dialogue in dialogues], pa.string()),
            "turns": turns,
            _EXTRA: pa.array([dialogue.extra for dialogue in dialogues], pa.string()),
            _TURN_EXTRAS: pa.array([dialogue.turn_extras for dialogue in dialogues], pa.list_(pa.string())),
            ROWS: pa.array([dialogue.rows for dialogue in dialogues], pa.list_(pa.int64())),
        }
    )


def lines_of(table: pa.Table) -> Iterator[bytes]:
    """Yield labelled dialogues as JSON lines: `dialogue_id`, and `turns` with `text`, `label`, `confidence` and `top`
    (a list of `label` and `probability`), each followed by the other values of the record or turn.
    """
    turns, offsets = unnest(table, "turns")
    names = label_set_of(table.schema).labels
    columns: dict[str, list[Any]] = {
        "text": turns.field("text").to_pylist(),
        "label": [None if label is None else names[label] for label in turns.field("label").to_pylist()],
        "confidence": _short(turns.field("confidence")),
    }
    columns |= {name: _ranked(turns.field(name), names) for name in ("top", SEVERAL) if name in turns.type.names}
    rows = [
        json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False)
        for values in zip(*columns.values(), strict=True)
    ]
    of_dialogues = [table[name].to_pylist() for name in ("dialogue_id", _EXTRA, _TURN_EXTRAS)]
    for dialogue_id, extra, extras, start, end in zip(*of_dialogues, offsets[:-1], offsets[1:], strict=True):
        labelled = rows[start:end]
        if extras is not None:
            labelled = [_with(row, beside) for row, beside in zip(labelled, extras, strict=True)]
        name = json.dumps(dialogue_id, ensure_ascii=False)
        line = _with(f'{{"dialogue_id": {name}, "turns": [{", ".join(labelled)}]}}', extra)
        yield line.encode() + b"\n"


def _ranked(lists: pa.ListArray, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the ranked labels of each turn, by name."""
    flat = lists.flatten()
    shares = zip(flat.field("label").to_pylist(), _short(flat.field("probability")), strict=True)
    ranked = [{"label": names[label], "probability": share} for label, share in shares]
    ends = (lists.offsets.to_numpy() - lists.offsets[0].as_py()).tolist()
    return [ranked[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]


def _with(text: str, extra: str | None) -> str:
    """Return a JSON object followed by the members of another one."""
    return text if extra is None else f"{text[:-1]}, {extra[1:]}"


def _short(values: pa.Array) -> list[float | None]:
    """Return float32 values as their shortest representations: 0.3, not 0.30000001192092896; null as None."""
    shares: list[float | None] = values.to_numpy(zero_copy_only=False).astype(str).astype(float).tolist()
    if values.null_count:
        return [share if there else None for share, there in zip(shares, values.is_valid().to_pylist(), strict=True)]
    return shares


def read_config(folder: Path, config: str, shard_turns: int) -> Iterator[pa.Table]:
    """Yield the dialogues of a config of `edos curate` in tables of about `shard_turns` turns, with the columns of the
    config "os" and `split`.

    Raises:
        ValueError: This package did not write one of the files.
    """
    for split, paths in config_files(folder, config).items():
        for path in paths:
            try:
                for table in read_pieces(path, arrow_schema("os").names):
                    yield from _cut(_unlabelled(table, split), shard_turns)
            except (pa.ArrowException, OSError, KeyError) as error:
                raise ValueError(
                    f"{path} was not written by this version of `edos curate`: {error}; make the dataset of an "
                    "earlier version again"
                ) from error


def _unlabelled(table: pa.Table, split: str) -> pa.Table:
    turns, offsets = unnest(table, "turns")
    there = {field.name for field in turns.type}  # folders of earlier versions have no speakers
    columns = {name: turns.field(name) for name in TURN.names if name in there}
    table = table.set_column(table.column_names.index("turns"), "turns", nest(offsets, TURN, columns))
    return table.append_column("split", pa.array([split] * table.num_rows, pa.string()))


def _cut(table: pa.Table, shard_turns: int) -> Iterator[pa.Table]:
    """Yield pieces of a table with about `shard_turns` turns."""
    _, offsets = unnest(table, "turns")
    shard = offsets[:-1] // shard_turns
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], table.num_rows], strict=True):
        yield table.slice(start, stop - start)
