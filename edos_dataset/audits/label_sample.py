"""Random and doubtful turns of every label of a config, each in its dialogue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from edos_dataset.arrays import Floats, Ints
from edos_dataset.audits.documents import config_of, lines_of
from edos_dataset.audits.label_page import RANDOM, WORST, Example, LabelPage
from edos_dataset.label_sets import label_set_of
from edos_dataset.runs.folder import FolderError, config_files, configs_in
from edos_dataset.wording import counted


class _Place(NamedTuple):
    """A labelled turn: its file and row, and its number in the dialogue, from 0."""

    file: int
    row: int
    turn: int


class _Drawn(NamedTuple):
    place: _Place
    label: int
    draw: str


def label_page(
    folder: Path, config: str | None, per_label: int, seed: int, around: int, blind: bool = False
) -> LabelPage:
    """Draw turns of every label from a config of one of our folders.

    The random ones are drawn uniformly among the turns with a label; the doubtful ones are those of the others with
    the lowest confidence. Both are shuffled, the random ones first, so that a reader who stops early has judged a fair
    sample. Time and memory grow with the number of turns; of texts only the dialogues drawn are read.

    Args:
        folder: a folder that `edos curate`, `books` or `label` wrote.
        config: one of its configs, by default the first.
        per_label: number of random turns per label, and of doubtful ones, at least 1; all if there are fewer.
        seed: random seed; equal folders, numbers and seeds give equal pages.
        around: maximum number of turns of the dialogue to show before and after, at least 0.
        blind: whether the page hides the label until the reader has given one.

    Raises:
        FolderError: the folder is not such a folder, or has a damaged file.
        ValueError: `per_label` or `around` is invalid, or the config is missing or has no labelled turn.
    """
    for name, value, least in (("per_label", per_label, 1), ("around", around, 0)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    config = config_of(folder, config)
    try:
        files = [(split, path) for split, paths in config_files(folder, config).items() for path in paths]
        _check_labelled(folder, config, files[0][1])
        paths = [path for _, path in files]
        names = label_set_of(pq.read_schema(paths[0])).labels
        rows = sum((_counts(path, len(names)) for path in paths), np.zeros(len(names), np.int64))
        if not rows.any():
            raise ValueError(f"no turn of config {config!r} of {folder} has a label")
        drawn = _drawn(paths, rows, per_label, seed)
        dialogues = _dialogues(paths, {(one.place.file, one.place.row) for one in drawn})
    except (OSError, pa.ArrowException) as error:
        raise FolderError(f"cannot read config {config!r} of {folder} ({error}): give its command again") from error
    examples = []
    for one in drawn:
        row = {**dialogues[one.place.file, one.place.row], "split": files[one.place.file][0]}
        examples.append(_example(row, one, names, int(rows[one.label]), config, around))
    title = f"{counted(len(examples), 'labels')} of {config}"
    return LabelPage(title, config, names, examples, blind)


def _check_labelled(folder: Path, config: str, path: Path) -> None:
    turns = pq.read_schema(path).field("turns").type
    if turns.value_type.get_field_index("label") >= 0:
        return
    others = [
        name
        for name in configs_in(folder)
        for split in list(config_files(folder, name).values())[:1]
        if (there := pq.read_schema(split[0])).get_field_index("turns") >= 0
        and there.field("turns").type.value_type.get_field_index("label") >= 0
    ]
    hint = f"give --config {' or '.join(others)}" if others else "label it with `edos label` first"
    raise ValueError(f"the turns of config {config!r} of {folder} have no labels: {hint}")


def _leaf(path: Path, name: str) -> pa.ListArray:
    """Return a field of the turns of a file, a list per dialogue."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number).path for number in range(len(file.schema))]
        # `turns.list.element.label`; a field of `top` has the same name, and more before it
        leaf = next(each for each in leaves if each.startswith("turns.") and each.split(".")[3:] == [name])
        return file.read(columns=[leaf])["turns"].combine_chunks()


def _labels(path: Path) -> tuple[Ints, Ints]:
    """Return the labels of the turns of a file, −1 for none, and the first turn of each dialogue and the end."""
    turns = _leaf(path, "label")
    labels = pc.fill_null(pc.struct_field(turns.flatten(), "label"), -1)
    starts = np.concatenate(([0], np.cumsum(np.asarray(pc.fill_null(pc.list_value_length(turns), 0)))))
    return np.asarray(labels, np.int64), starts.astype(np.int64)


def _counts(path: Path, size: int) -> Ints:
    labels, _ = _labels(path)
    return np.bincount(labels[labels >= 0], minlength=size)[:size]


def _confidences(path: Path) -> Floats:
    values = pc.struct_field(_leaf(path, "confidence").flatten(), "confidence")
    return np.nan_to_num(np.asarray(values.to_numpy(zero_copy_only=False), np.float32), nan=np.inf)


def _drawn(paths: Sequence[Path], rows: Ints, per_label: int, seed: int) -> list[_Drawn]:
    chosen = {
        label: set(Random(f"{seed} {label}").sample(range(count), min(per_label, count)))
        for label, count in enumerate(rows.tolist())
    }
    seen = np.zeros(len(rows), np.int64)  # turns of each label in the files before
    random: list[_Drawn] = []
    worst: dict[int, list[tuple[float, _Place]]] = {}
    for file, path in enumerate(paths):
        labels, starts = _labels(path)
        confidences = _confidences(path)
        for label in np.unique(labels[labels >= 0]).tolist():
            turns = np.flatnonzero(labels == label)
            ours = np.isin(np.arange(len(turns)) + seen[label], sorted(chosen[label]))
            random += (_Drawn(_place(file, turn, starts), label, RANDOM) for turn in turns[ours].tolist())
            rest = turns[~ours]
            least = rest[np.argsort(confidences[rest], kind="stable")][:per_label].tolist()
            found = [(float(confidences[turn]), _place(file, turn, starts)) for turn in least]
            worst[label] = sorted([*worst.get(label, []), *found])[:per_label]
            seen[label] += len(turns)
    doubtful = [_Drawn(place, label, WORST) for label in sorted(worst) for _, place in worst[label]]
    for each in (random, doubtful):
        Random(f"{seed} order").shuffle(each)
    return [*random, *doubtful]


def _place(file: int, turn: int, starts: Ints) -> _Place:
    row = int(np.searchsorted(starts, turn, side="right")) - 1
    return _Place(file, row, turn - int(starts[row]))


def _dialogues(paths: Sequence[Path], wanted: set[tuple[int, int]]) -> dict[tuple[int, int], dict[str, Any]]:
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for file, path in enumerate(paths):
        rows = sorted(row for own, row in wanted if own == file)
        if rows:
            found |= {(file, row): dialogue for row, dialogue in zip(rows, _taken(path, rows), strict=True)}
    return found


def _taken(path: Path, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
    data = pads.dataset(path, format="parquet")
    columns = [
        name for name in ("dialogue_id", "document_id", "language", "source", "turns") if name in data.schema.names
    ]
    start = 0
    for batch in data.to_batches(columns=columns, batch_size=1_000):
        own = [row - start for row in rows if start <= row < start + len(batch)]
        yield from batch.take(own).to_pylist() if own else ()
        start += len(batch)


def _example(
    row: Mapping[str, Any], drawn: _Drawn, names: Sequence[str], rows: int, config: str, around: int
) -> Example:
    lines, place = list(lines_of(row)), drawn.place.turn
    first, last = max(0, place - around), place + around + 1
    lines[place] = replace(lines[place], judged=True)
    turn = row["turns"][place]
    path = (row.get("source") or {}).get("path") or str(row.get("document_id"))
    facts = {
        "method": config,
        "dialogue_id": row["dialogue_id"],
        "turn": place + 1,
        "document_id": row.get("document_id"),
        "source": path.rpartition("/")[0] or path,
        "language": row.get("language"),
        "split": row["split"],
    }
    confidence = "" if turn.get("confidence") is None else f", confidence {turn['confidence']:.3f}"
    source = turn.get("label_source")
    return Example(
        f"{row['dialogue_id']}@{place + 1}",
        names[drawn.label],
        rows,
        drawn.draw,
        lines[first:last],
        first,
        max(0, len(lines) - last),
        facts,
        f"label by {source}{confidence}" if source else confidence.removeprefix(", "),
        [(names[one["label"]], one["probability"]) for one in turn.get("top") or []],
    )
