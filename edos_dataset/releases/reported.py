"""The dataset that `edos report` describes, as Parquet files.

A folder of this package is read in place; any other source, with label names on turns or on the dialogue, is first
written to scratch files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.label_system import OURS, LabelSystem, system_of_label_set
from edos_dataset.label_sets import DEFAULT, LabelMap, LabelSet, label_set_of, load_label_map, load_label_set
from edos_dataset.releases.builders import data_folder
from edos_dataset.releases.dialogues import records_of_ours, source_config
from edos_dataset.releases.formats.columns import Columns, columns_of, named
from edos_dataset.releases.formats.faults import BadRecord, NothingLeft
from edos_dataset.releases.formats.records import WANTED, Record, checked_id, checked_text
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.sources import check_source, is_saved, read_records
from edos_dataset.releases.labelled_sets.label_sets import classes_of, label_set, meanings
from edos_dataset.releases.labelled_sets.readers import SOURCES, LabelledDialogue
from edos_dataset.releases.load import RAW_RELEASES, load
from edos_dataset.runs.engines.datasets import quiet
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.manifest import NAME, read_manifest
from edos_dataset.runs.stores.paths import place_of, readable
from edos_dataset.text import nearest, shown
from edos_dataset.wording import counted

_FILM = ("document_id", "film", "film_id")
_OF_TURN = ("label", "confidence", "top", "truth")

Row = dict[str, Any]
_EDOS = load_label_set(DEFAULT)


def labelled_rows(
    records: Iterable[Record],
    labels: LabelSet = _EDOS,
    meant: Selection = ALL,
    label_column: str | None = None,
    bad: list[str] | None = None,
) -> Iterator[tuple[str, Row]]:
    """Convert records to (split, row); a row has `dialogue_id`, `document_id`, `year`, `certainty`, and `turns` with
    `text`, `label`, `confidence`, `top` and `truth`, with ids of labels.

    A record is either a dialogue, `{"dialogue_id": "...", "turns": [{"text": "...", "label": "sad"}, ...]}`, with
    labels on the turns, or one label for the whole record, which is that of the last turn; or it has one text and is a
    turn. Consecutive turns with the same dialogue_id form a dialogue.

    Args:
        records: The records.
        labels: The label set.
        meant: Columns of the texts and ids, whether all turns are of one dialogue, and whether bad records are left
            out.
        label_column: Key or column of the labels; by default `label`.
        bad: Gets the faults of records that are left out.

    Raises:
        ValueError: A record is neither a dialogue nor a turn, or a label is not in the set; the message names location
            and value.
    """
    waiting: tuple[str, Row] | None = None
    for record in records:
        try:
            split, row, whole = _labelled_row(record, labels, meant, label_column)
        except ValueError as error:
            if not meant.skip_bad:
                raise
            if bad is not None:
                bad.append(str(error))
            continue
        if waiting and not whole and waiting[1]["dialogue_id"] == row["dialogue_id"] and waiting[0] == split:
            waiting[1]["turns"] += row["turns"]
            continue
        if waiting:
            yield waiting
        waiting = None if whole else (split, row)
        if whole:
            yield split, row
    if waiting:
        yield waiting


def _labelled_row(
    record: Record, labels: LabelSet, meant: Selection, label_column: str | None
) -> tuple[str, Row, bool]:
    """Return the split and the row of a record, and whether it is a complete dialogue."""
    value, where = record.value, record.where
    if isinstance(value, BadRecord):
        raise value
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: expected {WANTED}, got {shown(value)}; correct or remove it")
    names = tuple(map(str, value))
    columns = columns_of(names, meant)
    if label_column is not None:
        value = {**value, "label": _named_label(value, label_column, where)}
    id_key = columns.id if columns.id != columns.dialogue else columns.own_id
    given = None if id_key is None else checked_id(value[id_key], id_key, where, True)
    turns, whole = _labelled_turns(value, columns, where, labels)
    if meant.one_dialogue and not whole:
        given = f"{record.place.unit}s"
    source = value.get("source")
    row: Row = {
        "dialogue_id": given or f"{record.place.unit}-{record.number}",
        "document_id": next((str(value[name]) for name in _FILM if value.get(name) is not None), None),
        "year": _year(source.get("year") if isinstance(source, Mapping) else value.get("year"), where),
        "certainty": _fraction(value.get("certainty"), "certainty", where),
        "turns": turns,
    }
    return str(value.get("split") or "all"), row, whole


def _named_label(value: Mapping[str, Any], column: str, where: str) -> object:
    name = named(column, tuple(map(str, value)))
    if name is None:
        raise ValueError(f"{where}: there is no column {column!r}{nearest(column, list(map(str, value)))}")
    return value[name]


def _labelled_turns(value: Mapping[str, Any], columns: Columns, where: str, labels: LabelSet) -> tuple[list[Row], bool]:
    """Return the turns of a record, and whether it is a complete dialogue."""
    many = value[columns.dialogue] if columns.dialogue is not None else None
    if isinstance(many, list) and many:
        turns = [_turn(turn, f"{where}, turn {number}", labels) for number, turn in enumerate(many, 1)]
        if value.get("label") is not None:
            turns[-1] |= _facts(value, where, labels)
        return turns, True
    if isinstance(many, list):
        return [], True
    if columns.text is not None and isinstance(value[columns.text], str):
        return [{"text": checked_text(value[columns.text], where), **_facts(value, where, labels)}], False
    raise ValueError(f"{where}: expected {WANTED}, got {shown(value)}; correct or remove it")


def _turn(turn: object, where: str, labels: LabelSet) -> Row:
    if isinstance(turn, str):
        return {"text": checked_text(turn, where)}
    key = columns_of(tuple(map(str, turn))).text if isinstance(turn, Mapping) else None
    if key is None or not isinstance(turn, Mapping):
        raise ValueError(f"{where}: expected a text or an object with one, got {shown(turn)}; correct or remove it")
    return {"text": checked_text(turn[key], where), **_facts(turn, where, labels)}


def _facts(value: Mapping[str, Any], where: str, labels: LabelSet) -> Row:
    facts: Row = {name: _label_id(value.get(name), name, where, labels) for name in ("label", "truth")}
    facts["confidence"] = _fraction(value.get("confidence"), "confidence", where)
    facts["top"] = [
        {
            "label": _label_id(each.get("label"), "top", where, labels),
            "probability": _fraction(each.get("probability"), "top", where),
        }
        for each in value.get("top") or ()
        if isinstance(each, Mapping)
    ]
    soft = value.get("soft_label")
    if (
        facts["confidence"] is None
        and facts["label"] is not None
        and isinstance(soft, list)
        and len(soft) == len(labels)
    ):
        facts["confidence"] = _fraction(soft[facts["label"]], "soft_label", where)
    return facts


def _label_id(value: object, name: str, where: str, labels: LabelSet) -> int | None:
    if value in (None, ""):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{where}: {name} must be the name of a label, got {shown(value)}; correct it")
    if (found := labels.find(value)) is None:
        raise ValueError(f"{where}: {labels.unknown(value)}; if it is of another set, give --label-set NAME|FILE")
    return found


def _fraction(value: object, name: str, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        share = float(str(value).replace(",", "."))  # of a table with decimal commas
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 + 1e-6:
        raise ValueError(f"{where}: {name} must be a number from 0 to 1, got {shown(value)}; correct it")
    return share


def _year(value: object, where: str) -> int | None:
    if value is None or value == "":
        return None
    if not str(value).isdecimal() or int(str(value)) > 9999:
        raise ValueError(f"{where}: year must be a year such as 1994, got {shown(value)}; correct it")
    return int(str(value))


def translated_rows(rows: Iterable[tuple[str, Row]], mapped: LabelMap) -> Iterator[tuple[str, Row]]:
    """Yield rows of `labelled_rows` with labels of a map's target: the largest share decides, probabilities are summed,
    and a label that corresponds to none becomes null.
    """
    targets = [
        {mapped.target.parse(name): share for name, share in mapped.table[label].items()}
        for label in mapped.source.labels
    ]
    for split, row in rows:
        yield split, {**row, "turns": [_translated(turn, targets) for turn in row["turns"]]}


def _translated(turn: Row, targets: Sequence[Mapping[int, float]]) -> Row:
    found = dict(turn)
    for name in ("label", "truth"):
        if turn.get(name) is not None:
            shares = targets[turn[name]]
            found[name] = max(shares, key=shares.__getitem__, default=None)
    summed: dict[int, float] = {}
    for each in turn.get("top") or ():
        for target, share in targets[each["label"]].items() if each["label"] is not None else ():
            summed[target] = summed.get(target, 0.0) + share * (each["probability"] or 0.0)
    ranked = sorted(summed.items(), key=lambda pair: (-pair[1], pair[0]))
    found["top"] = [{"label": label, "probability": min(share, 1.0)} for label, share in ranked]
    if found.get("label") is None:
        found["confidence"] = None
    elif found["label"] in summed:
        found["confidence"] = min(1.0, max(summed[found["label"]], turn.get("confidence") or 0.0))
    return found


_ROWS = 2_000
_ED = "empathetic_dialogues"
_TURN = pa.struct(
    {
        "text": pa.string(),
        "label": pa.int64(),
        "confidence": pa.float32(),
        "top": pa.list_(pa.struct({"label": pa.int64(), "probability": pa.float32()})),
        "truth": pa.int64(),
    }
)
SCRATCH = pa.schema(
    {
        "dialogue_id": pa.string(),
        "document_id": pa.string(),
        "year": pa.int32(),
        "certainty": pa.float32(),
        "turns": pa.list_(_TURN),
    }
)
"""Schema of scratch files; label ids are those of the source's own label set."""


class Asked(NamedTuple):
    """A dataset for which a report is requested.

    Attributes:
        source: A folder of this package, the name of a raw release or labelled set, a file, a saved dataset, or one on
            the Hub.
        config: Its config; by default its first one, or the labelled one of EmpatheticDialogues.
        revision: Revision of a dataset on the Hub.
    """

    source: str
    config: str | None = None
    revision: str | None = None


@dataclass(frozen=True)
class Reported:
    """A dataset that is ready for a report.

    Attributes:
        asked: The request.
        config: The config that is read; None if the source has none.
        labels: Its label set.
        files: Split → Parquet files.
        manifest: Manifest of the run that made it, if any.
        folder: Its folder, if this package wrote it.
    """

    asked: Asked
    config: str | None
    labels: LabelSystem
    files: Mapping[str, list[Path]]
    manifest: Mapping[str, Any] | None = None
    folder: Path | None = None


def asked_of(text: str, config: str | None = None, revision: str | None = None) -> Asked:
    """Parse "SOURCE", "SOURCE#CONFIG", "SOURCE@REVISION" or "SOURCE@REVISION#CONFIG"; an existing file or folder with
    the whole name takes precedence.
    """
    if place_of(text).exists():
        return Asked(text, config, revision)
    rest, _, named = text.partition("#")
    name, _, at = rest.partition("@")
    return Asked(name, config or named or None, revision or at or None)


class Reading(NamedTuple):
    """How the records of files and of datasets on the Hub are read, and what their labels become.

    Attributes:
        labels: Label set of a file; by default that of EDOS. Folders of ours and labelled sets say themselves which
            they have.
        label_map: Label set or map, as `load_label_map` takes it, into which labels are translated, also of folders.
        meant: Columns of a file, and what is left out.
        label_column: Column of its labels; by default `label`.
        warn: Called with a sentence on what was left out.
    """

    labels: LabelSet | None = None
    label_map: Any = None
    meant: Selection = ALL
    label_column: str | None = None
    warn: Callable[[str], None] = lambda _: None

    def spooled(self, records: Iterable[Record], labels: LabelSet, name: str, scratch: Path) -> Any:  # noqa: ANN401
        """Return the label set of the result, and its files."""
        bad: list[str] = []
        rows = labelled_rows(records, labels, self.meant, self.label_column, bad)
        if self.label_map is not None:
            mapped = load_label_map(self.label_map, labels)
            rows, labels = translated_rows(rows, mapped), mapped.target
        files = _spooled(rows, scratch)
        if bad and not files:
            only = counted(len(bad), "bad records")
            raise NothingLeft(f"{name} has only {only}, which --skip-bad leaves out; the first: {bad[0]}")
        if bad:
            self.warn(f"{name}: {counted(len(bad), 'records')} left out, the first as {bad[0]}")
        return system_of_label_set(labels), files


def open_reported(asked: Asked, scratch: Path, data: Path | None = None, reading: Reading | None = None) -> Reported:
    """Make a dataset ready for a report.

    Args:
        asked: The request.
        scratch: An empty folder for scratch files.
        data: Folder of the raw releases; by default EDOS_DATA_DIR.
        reading: How records are read, and what their labels become.

    Raises:
        ValueError: The dataset does not exist, or is damaged; the message says where, and what to do.
    """
    folder, reading = place_of(asked.source), reading or Reading()
    if folder.is_dir() and not is_saved(folder):
        _only_the_hub_has_revisions(asked)
        name = source_config(folder, asked.config)
        manifest = read_manifest(folder) if (folder / NAME).exists() else None
        files = config_files(folder, name)
        system = _system_in(files)
        if reading.label_map is not None:
            records = records_of_ours(folder, Selection(config=name))
            system, files = reading._replace(meant=ALL).spooled(records, _labels_in(files), asked.source, scratch)
        return Reported(asked, name, system, files, manifest, folder)
    if not folder.exists() and asked.source in (*RAW_RELEASES, *SOURCES):
        _only_the_hub_has_revisions(asked)
        if asked.source in SOURCES:
            _has_no_configs(asked)
            return _of_labelled_set(asked, data_folder(data), scratch)
        config = asked.config or ("annotated" if asked.source == _ED else None)
        with quiet():
            rows = _dataset_rows(load(asked.source, config, source=data), asked.source)
        return Reported(asked, config, OURS, _spooled(rows, scratch))
    check_source(asked.source)
    if folder.exists():
        _only_the_hub_has_revisions(asked)
        _has_no_configs(asked)
    meant = replace(reading.meant, config=asked.config, revision=asked.revision)
    reading = reading._replace(meant=meant)
    records = read_records(asked.source, meant)
    system, files = reading.spooled(records, reading.labels or _EDOS, asked.source, scratch)
    if not files:
        raise ValueError(f"{asked.source} contains no dialogues: expected {WANTED}")
    return Reported(asked, asked.config, system, files)


def _system_in(files: Mapping[str, list[Path]]) -> LabelSystem:
    """Return the label set of Parquet files that this package wrote."""
    labels = _labels_in(files)
    return OURS if labels == _EDOS else system_of_label_set(labels)


def _labels_in(files: Mapping[str, list[Path]]) -> LabelSet:
    path = next((path for paths in files.values() for path in paths), None)
    try:
        return _EDOS if path is None else label_set_of(pq.read_schema(readable(path)))
    except (OSError, pa.ArrowException):
        return _EDOS  # reading the rows will raise an error that says what is wrong


def _only_the_hub_has_revisions(asked: Asked) -> None:
    if asked.revision is not None:
        raise ValueError(f"--revision is for datasets on the Hub, and {asked.source} is not one: leave it out")


def _has_no_configs(asked: Asked) -> None:
    if asked.config is not None:
        raise ValueError(f"{asked.source} has no configs: leave {asked.config!r} out")


def _of_labelled_set(asked: Asked, data: Path, scratch: Path) -> Reported:
    known = SOURCES[asked.source]
    there = {split: [data / name for name in names if (data / name).is_file()] for split, names in known.files.items()}
    if not any(there.values()):
        wanted = ", ".join(name for names in known.files.values() for name in names)
        raise ValueError(f"{asked.source}: {data} has none of {wanted}; give the folder that contains them as --data")
    labels = system_of(asked.source)
    ids = {name: number for number, name in enumerate(labels.names)}

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for split, paths in there.items():
            for path in paths:
                for found in known.read(path):
                    if isinstance(found, LabelledDialogue):
                        given = [_label_of(asked.source, names, ids) for names in found.labels]
                        turns = [{"text": text, "label": label} for text, label in zip(found.turns, given, strict=True)]
                        yield split, {"dialogue_id": f"{path.name}/{found.dialogue_id}", "turns": turns}

    return Reported(asked, None, labels, _spooled(rows(), scratch))


def system_of(source: str) -> LabelSystem:
    """Return the label set of a third-party labelled set, without labels that correspond to none of our 41."""
    ours = {name: meant for name, meant in meanings(source).items() if meant}
    return LabelSystem(source, tuple(ours), tuple(ours.values()))


def _label_of(source: str, names: tuple[str, ...], ids: Mapping[str, int]) -> int | None:
    if not names or label_set(source, names) is None:
        return None
    return next(ids[name] for name in classes_of(source, names) if name in ids)


def _dataset_rows(parts: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for split, rows in parts.items():
        if "turns" not in rows.features:
            raise ValueError(f"{name} has no turns to report: its columns are {', '.join(rows.features)}")
        for table in rows.with_format("arrow").iter(_ROWS):
            for row in table.to_pylist():
                if "label" in row:
                    row["turns"][-1]["label"] = row["label"]
                yield split, row


def _spooled(rows: Iterable[tuple[str, dict[str, Any]]], scratch: Path) -> dict[str, list[Path]]:
    """Write rows to one Parquet file per split; memory does not grow with their number."""
    writers: dict[str, pq.ParquetWriter] = {}
    waiting: dict[str, list[dict[str, Any]]] = {}
    paths: dict[str, list[Path]] = {}

    def write(split: str) -> None:
        table = pa.Table.from_pylist(
            [{name: row.get(name) for name in SCRATCH.names} for row in waiting.pop(split)], SCRATCH
        )
        writers[split].write_table(table)

    try:
        for split, row in rows:
            if split not in writers:
                paths[split] = [scratch / f"{len(writers)}.parquet"]
                writers[split] = pq.ParquetWriter(paths[split][0], SCRATCH, compression="zstd")
            waiting.setdefault(split, []).append(row)
            if len(waiting[split]) >= 5 * _ROWS:
                write(split)
        for split in list(waiting):
            write(split)
    finally:
        for writer in writers.values():
            writer.close()
    return paths
