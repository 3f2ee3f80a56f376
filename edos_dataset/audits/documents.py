"""Dialogues drawn at random from a data set, each with the turns around it in its film or book."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from edos_dataset.arrays import Ints
from edos_dataset.audits.errors import BOOKS, PAIRS, SUBTITLES, UNITS
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.tables import config_files, configs_in

_LEAST_TURNS = 2
_FACTS = ("dialogue_id", "document_id", "language", "source", "certainty")


@dataclass(frozen=True)
class Line:
    """A turn as the page shows it.

    Attributes:
        text: what is said.
        dialogue_id: of its dialogue.
        number: in its dialogue, from 1.
        sentences: numbers of its sentences, or in a book of its paragraphs.
        judged: whether it is one to judge, or around those.
        start: seconds from the start of the film; None where unknown, as in books.
        end: likewise.
        speaker: of a book, where known.
        narration: of a book: what the narrator says in between.
    """

    text: str
    dialogue_id: str
    number: int
    sentences: tuple[int, ...]
    judged: bool = False
    start: float | None = None
    end: float | None = None
    speaker: str | None = None
    narration: str | None = None


@dataclass(frozen=True)
class Item:
    """A dialogue, or a pair of turns, to judge.

    Attributes:
        item: its name: the id of the dialogue, for a pair with the number of its first turn behind an @.
        split: train, validation or test.
        facts: of the dialogue: dialogue_id, document_id, language, source and certainty, as far as there.
        lines: its turns, and those around them, in the order of the film or book.
    """

    item: str
    split: str
    facts: Mapping[str, Any]
    lines: tuple[Line, ...]

    @property
    def judged(self) -> list[Line]:
        """The turns to judge."""
        return [line for line in self.lines if line.judged]


def draw_items(
    folder: Path, config: str | None, unit: str, number: int, seed: int, around: int
) -> tuple[str, str, list[Item]]:
    """Draw from a config of a folder of ours: each dialogue, or each pair of turns in a row, is as likely as any other.

    Args:
        folder: what `edos curate` or `edos books` wrote.
        config: one of its configs, by default its first.
        unit: DIALOGUES or PAIRS.
        number: of them; all where there are fewer.
        seed: of the drawing: equal folders, numbers and seeds give equal items.
        around: turns to show before and after, at most.

    Returns:
        The config, its kind (SUBTITLES or BOOKS), and the items in the order drawn, so that the first of them are a
        fair sample, too, where a reader stops early.

    Raises:
        FolderError: it is no such folder, or a file of it is damaged.
        ValueError: `unit`, `number` or `around` is none, or the config is not there, empty or not of documents.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}, expected one of {', '.join(UNITS)}")
    for name, value, least in (("number", number, 1), ("around", around, 0)):
        if value < least:
            raise ValueError(f"{name} of {unit} must be at least {least}, got {value}")
    config = _config_of(folder, config)
    try:
        files = _files_of(folder, config)
        drawn = _draw([path for _, path in files], unit, number, seed)
        if not drawn:
            raise ValueError(f"config {config!r} of {folder} has no dialogue of {_LEAST_TURNS} turns: name another one")
        documents, books = _documents(files, {document for document, *_ in drawn})
    except (OSError, pa.ArrowException) as error:
        raise FolderError(f"cannot read config {config!r} of {folder} ({error}): give its command again") from error
    items = [_item(documents[document], dialogue, first, around) for document, dialogue, first in drawn]
    return config, BOOKS if books else SUBTITLES, items


def _config_of(folder: Path, config: str | None) -> str:
    there = (configs_in(folder) if config is None else configs_in(folder, [config])) if folder.is_dir() else []
    if not there:
        known = ", ".join(configs_in(folder)) if folder.is_dir() else ""
        wanted = f"config {config!r}" if config else "data set of this package"
        raise ValueError(f"{folder} has no {wanted}; it has {known or 'none'}")
    return there[0]


def _files_of(folder: Path, config: str) -> list[tuple[str, Path]]:
    """Return split and path of each file of a config."""
    files = [(split, path) for split, paths in config_files(folder, config).items() for path in paths]
    for _, path in files:
        names = pq.read_schema(path).names
        if lacking := [name for name in ("dialogue_id", "document_id", "turns") if name not in names]:
            raise ValueError(
                f"config {config!r} of {folder} has no column {lacking[0]!r}, so its dialogues stand in no film or "
                "book: name another config with --config"
            )
    return files


def _draw(paths: Sequence[Path], unit: str, number: int, seed: int) -> list[tuple[str, str, int | None]]:
    """Return document and dialogue of each item, and of a pair its first turn, from 0."""
    units = []
    for path in paths:
        turns = _turn_counts(path)
        units.append(np.maximum(turns - 1, 0) if unit == PAIRS else (turns >= _LEAST_TURNS).astype(np.int64))
    starts = [0, *accumulate(int(each.sum()) for each in units)]
    chosen = Random(f"{unit} {seed}").sample(range(starts[-1]), min(number, starts[-1]))
    found: dict[int, tuple[str, str, int | None]] = {}
    for path, counts, (start, stop) in zip(paths, units, pairwise(starts), strict=True):
        here = [place for place in chosen if start <= place < stop]
        if not here:
            continue
        ends = np.cumsum(counts)
        rows = np.searchsorted(ends, np.array(here) - start, side="right")
        names = pq.read_table(path, columns=["document_id", "dialogue_id"]).take(rows).to_pylist()
        for place, row, name in zip(here, rows.tolist(), names, strict=True):
            first = place - start - int(ends[row] - counts[row]) if unit == PAIRS else None
            found[place] = (name["document_id"], name["dialogue_id"], first)
    return [found[place] for place in chosen]


def _turn_counts(path: Path) -> Ints:
    """Return how many turns each dialogue of a file has; of its texts nothing is read."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number).path for number in range(len(file.schema))]
        leaf = next(leaf for leaf in leaves if leaf.startswith("turns.") and not leaf.endswith(".text"))
        lengths = pc.list_value_length(file.read(columns=[leaf])["turns"])
    return np.asarray(pc.fill_null(lengths, 0), np.int64)


def _documents(files: Sequence[tuple[str, Path]], names: set[str]) -> tuple[dict[str, list[dict[str, Any]]], bool]:
    """Return all dialogues of some documents in their order, with their split, and whether they are of books."""
    documents: dict[str, list[dict[str, Any]]] = {}
    wanted, books = pc.field("document_id").isin(sorted(names)), False
    for split, path in files:
        data = pads.dataset(path, format="parquet")
        turn = data.schema.field("turns").type.value_type
        books = turn.get_field_index("narration") >= 0
        columns = [name for name in (*_FACTS, "turns") if name in data.schema.names]
        for batch in data.to_batches(columns=columns, filter=wanted, batch_size=1_000):
            for row in batch.to_pylist():
                documents.setdefault(row["document_id"], []).append({**row, "split": split})
    for rows in documents.values():
        rows.sort(key=lambda row: (min(row["turns"][0]["sentence_ids"], default=0), row["dialogue_id"]))
    return documents, books


def _lines(row: Mapping[str, Any]) -> Iterator[Line]:
    for number, turn in enumerate(row["turns"], 1):
        yield Line(
            turn["text"],
            row["dialogue_id"],
            number,
            tuple(turn["sentence_ids"]),
            start=turn.get("start"),
            end=turn.get("end"),
            speaker=turn.get("speaker"),
            narration=turn.get("narration"),
        )


def _item(rows: Sequence[Mapping[str, Any]], dialogue: str, first: int | None, around: int) -> Item:
    own = next(row for row in rows if row["dialogue_id"] == dialogue)
    lines = [line for row in rows for line in _lines(row)]
    start = next(place for place, line in enumerate(lines) if line.dialogue_id == dialogue) + (first or 0)
    stop = start + (len(own["turns"]) if first is None else 2)
    judged = [replace(line, judged=True) for line in lines[start:stop]]
    shown = (*lines[max(0, start - around) : start], *judged, *lines[stop : stop + around])
    facts = {name: own[name] for name in _FACTS if name in own}
    return Item(dialogue if first is None else f"{dialogue}@{first + 1}", own["split"], facts, shown)
