"""Random dialogues of a dataset, each with the surrounding turns of its film or book, or the book's paragraphs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from edos_dataset.arrays import Ints
from edos_dataset.audits.judgements import BOOKS, PAIRS, SUBTITLES, UNITS
from edos_dataset.runs.folder import FolderError, config_files, configs_in
from edos_dataset.sources.books.plain import unwrap
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.formats import read_book
from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import tokenize

_LEAST_TURNS = 2
_FACTS = ("dialogue_id", "document_id", "language", "source", "certainty")


@dataclass(frozen=True)
class Line:
    """A turn as the page shows it.

    Attributes:
        text: text of the turn.
        dialogue_id: id of its dialogue.
        number: position in its dialogue, from 1.
        sentences: numbers of its sentences, or in a book of its paragraphs.
        judged: whether it is to be judged, rather than context.
        start: seconds from the start of the film; None if unknown, as in books.
        end: seconds, like `start`.
        speaker: the speaker in a book, if known.
        narration: the narration within the turn, in a book.
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
        item: its name, the dialogue's id; for a pair followed by @ and the number of its first turn.
        split: train, validation or test.
        facts: dialogue_id, document_id, language, source and certainty of the dialogue, as far as known.
        lines: its turns and those around them, in the order of the film or book.
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
    """Draw dialogues, or pairs of successive turns, uniformly at random from a config of one of our folders.

    Args:
        folder: a folder that `edos curate` or `edos books` wrote.
        config: one of its configs, by default the first.
        unit: DIALOGUES or PAIRS.
        number: number of items; all if there are fewer.
        seed: random seed; equal folders, numbers and seeds give equal items.
        around: maximum number of turns to show before and after.

    Returns:
        The config, its kind (SUBTITLES or BOOKS), and the items in random order, so that a reader who stops early has
        judged a fair sample, too.

    Raises:
        FolderError: the folder is not such a folder, or has a damaged file.
        ValueError: `unit`, `number` or `around` is invalid, or the config is missing, empty or not from documents.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}, expected one of {', '.join(UNITS)}")
    for name, value, least in (("number", number, 1), ("around", around, 0)):
        if value < least:
            raise ValueError(f"{name} of {unit} must be at least {least}, got {value}")
    config = config_of(folder, config)
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


def config_of(folder: Path, config: str | None) -> str:
    """Return the config of one of our folders, by default its first.

    Raises:
        ValueError: there is none.
    """
    there = (configs_in(folder) if config is None else configs_in(folder, [config])) if folder.is_dir() else []
    if not there:
        known = ", ".join(configs_in(folder)) if folder.is_dir() else ""
        wanted = f"config {config!r}" if config else "dataset of this package"
        raise ValueError(f"{folder} has no {wanted}; it has {known or 'none'}")
    return there[0]


def _files_of(folder: Path, config: str) -> list[tuple[str, Path]]:
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
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number).path for number in range(len(file.schema))]
        leaf = next(leaf for leaf in leaves if leaf.startswith("turns.") and not leaf.endswith(".text"))
        lengths = pc.list_value_length(file.read(columns=[leaf])["turns"])
    return np.asarray(pc.fill_null(lengths, 0), np.int64)


def _documents(files: Sequence[tuple[str, Path]], names: set[str]) -> tuple[dict[str, list[dict[str, Any]]], bool]:
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


def lines_of(row: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the turns of a dialogue, given as a row of a dataset."""
    for number, turn in enumerate(row["turns"], 1):
        yield Line(
            turn["text"],
            row["dialogue_id"],
            number,
            tuple(turn.get("sentence_ids") or ()),
            start=turn.get("start"),
            end=turn.get("end"),
            speaker=turn.get("speaker"),
            narration=turn.get("narration"),
        )


def _item(rows: Sequence[Mapping[str, Any]], dialogue: str, first: int | None, around: int) -> Item:
    own = next(row for row in rows if row["dialogue_id"] == dialogue)
    lines = [line for row in rows for line in lines_of(row)]
    start = next(place for place, line in enumerate(lines) if line.dialogue_id == dialogue) + (first or 0)
    stop = start + (len(own["turns"]) if first is None else 2)
    judged = [replace(line, judged=True) for line in lines[start:stop]]
    shown = (*lines[max(0, start - around) : start], *judged, *lines[stop : stop + around])
    facts = {name: own[name] for name in _FACTS if name in own}
    return Item(dialogue if first is None else f"{dialogue}@{first + 1}", own["split"], facts, shown)


LEAST_FOUND = 0.8
"""Minimum fraction of the turns' words found in their paragraphs; below it, the book is another one or was read
differently."""

_MAX_BYTES = 1 << 28


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a book.

    Attributes:
        number: number in the book, as the dataset counts.
        text: its text.
        turns: numbers, from 1, of the turns to judge that are in it.
        other: whether it contains turns around those.
    """

    number: int
    text: str
    turns: tuple[int, ...]
    other: bool


@dataclass(frozen=True)
class Excerpt:
    """The paragraphs of a dialogue and some before and after, in order."""

    paragraphs: tuple[Paragraph, ...]


def excerpts_of(items: Sequence[Item], books: Path, around: int) -> dict[str, Excerpt]:
    """Return the paragraphs that contain the dialogues, or pairs, of books.

    How a dataset counts paragraphs depends on its recipe. The paragraphs used must contain the words of the turns, so
    another edition of a book gives no excerpt rather than a wrong one.

    Args:
        items: items of a dataset of books.
        books: the file or folder that the dataset was made from, or one inside or around it.
        around: number of paragraphs before and after.

    Returns:
        Item → excerpt; items whose book is missing, unreadable or has other text are left out.

    Raises:
        ValueError: all items are left out.
    """
    by_book: dict[str, list[Item]] = {}
    for item in items:
        by_book.setdefault(_path_of(item), []).append(item)
    excerpts: dict[str, Excerpt] = {}
    for path, own in by_book.items():
        paragraphs = _best(_readings(path, books, own[0].facts.get("language")), own)
        excerpts |= {item.item: _excerpt(item, paragraphs, around) for item in own if paragraphs}
    if not excerpts:
        missed = next(iter(by_book))
        raise ValueError(
            f"{books} holds none of the books of these dialogues with their text, such as {missed}: give the folder "
            "that the data set was made of, or leave out --books"
        )
    return excerpts


def _path_of(item: Item) -> str:
    source: Mapping[str, str] = item.facts.get("source") or {}
    return source.get("path") or str(item.facts["document_id"])


def _readings(path: str, books: Path, language: str | None) -> Iterator[list[str]]:
    place = _located(path, books)
    if place is None:
        return
    try:
        data = read_bytes(*place, _MAX_BYTES)
    except ReadError:
        return
    with suppress(ReadError):
        yield [block.text for block in read_book(data, place[1] or place[0].name, language).blocks]
    text = data.decode("utf-8", errors="ignore").replace("\r\n", "\n")
    ways: tuple[Callable[[], str], ...] = (lambda: unwrap(text).text, lambda: text)
    for way in ways:  # recipe `papers` counts what is between empty lines
        yield [paragraph for piece in way().split("\n\n") if (paragraph := piece.strip("\n"))]


def _located(path: str, books: Path) -> tuple[Path, str | None] | None:
    """Return the path of a book, or that of its archive and its name in it.

    The path in the dataset begins with the name of the source; `books` may be the source, or a folder in or around it.
    """
    parts = PurePosixPath(path).parts
    if ".." in parts or path.startswith("/"):  # an untrusted dataset decides what is opened here
        return None
    if books.is_file():
        inner = "/".join(parts[parts.index(books.name) + 1 :]) if books.name in parts else ""
        return (books, inner or None) if books.name in parts else None
    for start in range(len(parts)):
        place = books
        for end, part in enumerate(parts[start:], start + 1):
            place = place / part
            if place.is_file():
                return place, "/".join(parts[end:]) or None
    return None


def _best(readings: Iterator[list[str]], items: Sequence[Item]) -> list[str]:
    for paragraphs in readings:
        words = [_words_found(line.text, line.sentences, paragraphs) for item in items for line in item.judged]
        if sum(found for found, _ in words) >= LEAST_FOUND * sum(all_of for _, all_of in words):
            return paragraphs
    return []


def _words_found(text: str, numbers: Sequence[int], paragraphs: Sequence[str]) -> tuple[int, int]:
    words = tokenize(text)
    held = {word for number in numbers if 0 <= number < len(paragraphs) for word in tokenize(paragraphs[number])}
    return sum(word in held for word in words), len(words)


def _excerpt(item: Item, paragraphs: Sequence[str], around: int) -> Excerpt:
    own: dict[int, list[int]] = {}
    other: set[int] = set()
    for line in item.lines:
        for number in line.sentences:
            if line.judged:
                own.setdefault(number, []).append(line.number)
            else:
                other.add(number)
    first, last = max(0, min(own, default=0) - around), max(own, default=0) + around
    return Excerpt(
        tuple(
            Paragraph(number, paragraphs[number], tuple(own.get(number, ())), number in other)
            for number in range(first, min(last + 1, len(paragraphs)))
        )
    )
