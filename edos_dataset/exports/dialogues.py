"""The dialogues of any source, one by one, as exports need them: a folder of ours, a labelled table, or the Hub."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.exports.records import Dialogue, Turn
from edos_dataset.exports.segments import FIELDS, is_segmented, segmented
from edos_dataset.label_sets import label_set_of
from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.publishing.inspection import confidence_of
from edos_dataset.releases.formats.records import Dialogue as Given
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import check_source, is_saved, read_labelled
from edos_dataset.releases.own_folders import files_of, labelled_schema, source_configs
from edos_dataset.releases.views import cuts_of
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.stores.paths import place_of, readable

_ROWS = 500
_RANKS = 3  # the labels that a turn of a published dialogue lists
_SAID = ("speaker", "start", "end", "label", "confidence", "manner", "addressee", "narration")
_FACTS = {
    "split": "split",
    "document": "document_id",
    "path": "source",
    "language": "language",
    "certainty": "certainty",
}
_OF_A_TURN = (
    *("text", "speaker", "speaker_id", "addressee", "start", "end", "manner", "narration", "narration_at"),
    *("label", "confidence", "top", "certainty"),
)
_OF_A_DIALOGUE = (
    *("dialogue_id", "document_id", "language", "source", "certainty", "label", "confidence", "soft_label", "chapter"),
)
_OF_A_BOOK = ("title", "author", "year")


class Shape(NamedTuple):
    """What the dialogues of a source have.

    Attributes:
        fields: Fields of `Turn` and `Dialogue` that have values.
        splits: Names of the splits.
        ranks: Number of probable labels that a turn has.
        extras: Name of each other value beside turns and dialogues → its type.
    """

    fields: frozenset[str]
    splits: tuple[str, ...]
    ranks: int = 0
    extras: Mapping[str, pa.DataType] = {}


class Source(NamedTuple):
    """Dialogues that are read anew at each call.

    Attributes:
        name: What messages call the source.
        shape: What they have.
        dialogues: Reads those of a split, or all; those of a film or book follow each other.
        labels: Their label set, for a folder of ours; None where labels are any texts.
    """

    name: str
    shape: Shape
    dialogues: Callable[[str | None], Iterator[Dialogue]]
    labels: LabelSet | None = None


def source_of(
    run: str | Path,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    min_certainty: float | None = None,
    called: str | None = None,
) -> Source:
    """Return the dialogues of a source.

    Args:
        run: A folder that this package wrote, a labelled file in one of `formats.forms.FORMS`, a saved dataset, or one
            on the Hub.
        config: Config of a folder or of a dataset on the Hub; by default its first one, and for books those of all
            languages.
        split: Split of them; by default all.
        revision: Revision of a dataset on the Hub.
        min_certainty: Smallest certainty of a boundary, 0 to 1: dialogues are cut where one is less certain. Where
            turns have no certainty, as in tables of others and older folders, that of a dialogue to be read.
        called: What messages call it; by default its path.

    Raises:
        ValueError: There is no such source, config or split, or certainty is asked for where there is none.
    """
    check_source(str(run))
    folder = place_of(run)
    if folder.is_dir() and not is_saved(folder):
        if revision is not None:
            raise ValueError(f"--revision is for a dataset of the Hub, and {run} is none: leave it out")
        return _of_folder(folder, source_configs(folder, config), split, min_certainty)
    if folder.is_file() and (
        given := next((name for name, value in (("config", config), ("split", split)) if value), 0)
    ):
        raise ValueError(f"--{given} is for folders and datasets, and {run} is a file: leave it out")
    if is_segmented(folder):
        if min_certainty is not None:
            raise ValueError(f"--min-certainty: {run} has no `certainty`: leave it out")
        return Source(str(run), Shape(FIELDS, ()), lambda _: segmented(folder))
    return _of_table(str(run), Selection(config=config, split=split, revision=revision, called=called), min_certainty)


def _of_table(name: str, meant: Selection, min_certainty: float | None) -> Source:
    def dialogues(split: str | None = None) -> Iterator[Dialogue]:
        for given in read_labelled(name, meant):
            dialogue = _of_given(given)
            wanted = split is None or dialogue.split == split
            if wanted and (min_certainty is None or _certainty(dialogue, name) >= min_certainty):
                yield dialogue

    return Source(meant.called or name, _survey(dialogues()), dialogues)


def _survey(dialogues: Iterable[Dialogue]) -> Shape:
    """Return what dialogues have, which a table shows only when it is read."""
    seen: set[str] = set()
    splits: dict[str, None] = {}
    kinds: dict[str, set[type]] = {}
    ranks = 0
    for dialogue in dialogues:
        seen |= {name for name in _FACTS if getattr(dialogue, name) is not None}
        if dialogue.split is not None:
            splits[dialogue.split] = None
        for turn in dialogue.turns:
            seen |= {name for name in _SAID if getattr(turn, name) is not None}
            ranks = max(ranks, len(turn.top))
        for extra in (dialogue.extra, *(turn.extra for turn in dialogue.turns)):
            for name, value in extra.items():
                kinds.setdefault(name, set()).add(type(value))
    return Shape(frozenset(seen), tuple(splits), ranks, {name: _kind(types) for name, types in kinds.items()})


def _kind(types: set[type]) -> pa.DataType:
    known = types - {type(None)}
    if known == {bool}:
        return pa.bool_()
    if known == {int}:
        return pa.int64()
    return pa.float64() if known and known <= {int, float} else pa.string()


def _certainty(dialogue: Dialogue, name: str) -> float:
    if dialogue.certainty is None:
        raise ValueError(f"--min-certainty: the dialogue {dialogue.id!r} of {name} has no `certainty`: leave it out")
    return dialogue.certainty


def _of_folder(folder: Path, configs: Sequence[str], split: str | None, min_certainty: float | None) -> Source:
    config, chosen = ", ".join(configs), _files(folder, configs, split)
    try:
        schema = labelled_schema([path for _, path in chosen])
    except (OSError, pa.ArrowException) as error:
        raise _damaged(chosen[0][1], error) from error
    turn = schema.field("turns").type.value_type
    if min_certainty is not None and "certainty" not in (*schema.names, *turn.names):
        raise ValueError(f"--min-certainty: the config {config} of {folder} has no column `certainty`: leave it out")
    shape = _shape_of(schema, tuple(dict.fromkeys(name for name, _ in chosen)))
    of_turns = "certainty" in turn.names
    labels = label_set_of(schema) if "label" in shape.fields else None

    def dialogues(wanted: str | None = None) -> Iterator[Dialogue]:
        for name, path in chosen:
            if wanted in (None, name):
                read = _of_file(path, name, labels, None if of_turns else min_certainty)
                yield from read if min_certainty is None or not of_turns else _certain_parts(read, min_certainty)

    return Source(f"{folder} ({config})", shape, dialogues, labels)


def _files(folder: Path, configs: Sequence[str], split: str | None) -> list[tuple[str, Path]]:
    """Return the files of configs, each with its split: the given one, or any.

    Raises:
        ValueError: None of the configs has the split.
    """
    found = files_of(folder, configs)
    if split is not None and split not in found:
        raise ValueError(
            f"{folder} has no split {split!r} in {', '.join(configs)}; it has {', '.join(found) or 'none'}"
        )
    return [(name, path) for name, paths in found.items() for path in paths if split in (None, name)]


def _shape_of(schema: pa.Schema, splits: tuple[str, ...]) -> Shape:
    """Return what the dialogues of files with a schema have."""
    turn = schema.field("turns").type.value_type
    fields = {"split", *(name for name in _SAID if name in turn.names)}
    fields |= {"label", "confidence"} if "label" in schema.names else set()
    fields |= {name for name, column in _FACTS.items() if column in schema.names}
    fields |= {"certainty"} if "certainty" in turn.names else set()
    extras: dict[str, pa.DataType] = {}
    if "speaker_id" in turn.names:
        extras["speaker_id"] = pa.int32()
    if "chapter" in schema.names:  # books
        extras |= dict.fromkeys(("chapter", *_OF_A_BOOK), pa.string()) | {"year": pa.int32()}
    return Shape(frozenset(fields), splits, _RANKS if "top" in turn.names else 0, extras)


def _damaged(path: Path, error: Exception) -> FolderError:
    return FolderError(f"cannot read {path} ({error}): run the command that wrote it again")


def _of_file(path: Path, split: str, labels: LabelSet | None, min_certainty: float | None) -> Iterator[Dialogue]:
    try:
        with pq.ParquetFile(readable(path)) as file:
            columns = _leaves(file.schema_arrow)
            for batch in file.iter_batches(_ROWS, columns=columns):
                for row in batch.to_pylist():
                    if min_certainty is None or (row["certainty"] or 0) >= min_certainty:
                        yield _of_row(row, split, labels)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _certain_parts(dialogues: Iterable[Dialogue], least: float) -> Iterator[Dialogue]:
    """Yield dialogues cut where their turns are less certain (`cuts_of`); single turns are left out.

    The first part keeps the id; another one has the number of its first turn, from 0, behind it.
    """
    for dialogue in dialogues:
        turns = dialogue.turns
        cuts = cuts_of([turn.certainty for turn in turns], least)
        for start, stop in pairwise([0, *cuts, len(turns)]):
            if stop - start > 1:
                name = f"{dialogue.id}+{start}" if start else dialogue.id
                yield replace(dialogue, id=name, turns=turns[start:stop])


def _leaves(schema: pa.Schema) -> list[str]:
    """Return the columns of a file that an export reads, as Parquet names them."""
    turn = schema.field("turns").type.value_type
    columns = [name for name in _OF_A_DIALOGUE if name in schema.names]
    return [*columns, *(f"turns.list.element.{name}" for name in _OF_A_TURN if name in turn.names)]


def _of_row(row: Mapping[str, Any], split: str, labels: LabelSet | None) -> Dialogue:
    names = labels.labels if labels is not None else ()
    turns = [_turn(turn, names) for turn in row["turns"]]
    if row.get("label") is not None:
        turns[-1].label, turns[-1].confidence = names[row["label"]], _short(confidence_of(row))
    source = row.get("source") or {}
    facts = (row.get("document_id"), source.get("path"), row.get("language"), _short(row.get("certainty")))
    of_book = {name: source.get(name) for name in _OF_A_BOOK} if "chapter" in row else {}
    return Dialogue(row["dialogue_id"], turns, split, *facts, {"chapter": row["chapter"], **of_book} if of_book else {})


def _turn(turn: Mapping[str, Any], names: Sequence[str]) -> Turn:
    label = turn.get("label")
    return Turn(
        turn["text"],
        turn.get("speaker"),
        turn.get("start"),
        turn.get("end"),
        None if label is None else names[label],
        _short(turn.get("confidence")),
        [(names[each["label"]], _short(each["probability"]) or 0.0) for each in turn.get("top") or ()],
        turn.get("narration"),
        _short(turn.get("certainty")),
        extra={"speaker_id": turn["speaker_id"]} if "speaker_id" in turn else {},
        manner=turn.get("manner"),
        addressee=turn.get("addressee"),
        narration_at=turn.get("narration_at"),
    )


def _short(value: float | None) -> float | None:
    """Return a float32 value with the digits that it has: 0.3, not 0.30000001192092896."""
    return None if value is None else float(str(np.float32(value)))


def _of_given(given: Given) -> Dialogue:
    extra = json.loads(given.extra) if given.extra else {}
    extras = given.turn_extras or repeat(None)
    pairs = zip(given.texts, extras, strict=False)
    turns = [_of_extra(text, json.loads(other) if other else {}) for text, other in pairs]
    if "label" in extra and len(turns) > 1:  # of the last turn, as in a seed
        turns[-1].label = turns[-1].label or _text(extra.pop("label"))
    elif "given_label" in extra or "label" in extra:
        turns[-1] = _of_extra(turns[-1].text, {**turns[-1].extra, **extra})
        extra = {}
    source = extra.pop("source", None)
    path = source.get("path") if isinstance(source, dict) else None
    split, document, language = (_text(extra.pop(name, None)) for name in ("split", "document_id", "language"))
    certainty = _number(extra.pop("certainty", None))
    return Dialogue(given.id, turns, split, document, path, language, certainty, extra)


def _of_extra(text: str, extra: dict[str, Any]) -> Turn:
    """Return a turn, given the other values of its record, of which `edos label` wrote some."""
    label = _taken(extra, "label")
    confidence = _number(_taken(extra, "confidence"))
    top = _taken(extra, "top")
    ranked = [(str(each["label"]), _number(each["probability"]) or 0.0) for each in top or () if isinstance(each, dict)]
    speaker = next((extra.pop(name) for name in ("speaker", "role", "from") if name in extra), None)
    start, end = (_number(extra.pop(name)) if _is_number(extra.get(name)) else None for name in ("start", "end"))
    narration, manner, addressee = (_text(extra.pop(name, None)) for name in ("narration", "manner", "addressee"))
    places = extra.pop("narration_at", None)
    if not (isinstance(places, list) and all(isinstance(place, int) and place >= 0 for place in places)):
        places = None
    said = {"manner": manner, "addressee": addressee, "narration_at": places}
    return Turn(text, _text(speaker), start, end, _text(label), confidence, ranked, narration, extra=extra, **said)


def _taken(extra: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - any JSON
    given = extra.pop(f"given_{name}", None)
    return given if given is not None else extra.pop(name, None)


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _is_number(value: object) -> bool:
    return _number(value) is not None


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
