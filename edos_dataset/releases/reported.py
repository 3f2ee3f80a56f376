"""The dataset that `edos report` describes, as Parquet files.

A folder of this package is read in place; any other source, with label names on turns or on the dialogue, is first
written to scratch files.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.label_system import OURS, LabelSystem, system_of_label_set
from edos_dataset.label_sets import LabelSet, label_set_of, load_label_map
from edos_dataset.releases.builders import data_folder
from edos_dataset.releases.formats.faults import NothingLeft
from edos_dataset.releases.formats.records import WANTED, Record
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.sources import check_source, is_saved, rereadable_records
from edos_dataset.releases.labelled_rows import EDOS, label_set_said, labelled_rows, translated_rows
from edos_dataset.releases.labelled_sets.label_sets import classes_of, label_set, meanings
from edos_dataset.releases.labelled_sets.readers import SOURCES, LabelledDialogue
from edos_dataset.releases.load import RAW_RELEASES, load
from edos_dataset.releases.own_folders import files_of, labelled_schema, records_of_ours, source_configs
from edos_dataset.runs.engines.datasets import quiet
from edos_dataset.runs.manifest import NAME, read_manifest
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.text import nearest
from edos_dataset.wording import counted

_OF_TURN = ("label", "confidence", "top", "truth", "certainty")
_ROWS = 2_000
_ED = "empathetic_dialogues"
_TURN = pa.struct(
    {
        "text": pa.string(),
        "label": pa.int64(),
        "confidence": pa.float32(),
        "top": pa.list_(pa.struct({"label": pa.int64(), "probability": pa.float32()})),
        "truth": pa.int64(),
        "certainty": pa.float32(),
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
        labels: Label set of a file; by default the built-in one that its labels are of, else EDOS. Folders of ours and
            labelled sets say themselves which they have.
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

    def spooled(
        self, again: Callable[[], Iterable[Record]], labels: LabelSet, name: str, scratch: Path
    ) -> tuple[LabelSystem, dict[str, list[Path]]]:
        """Return the label set of the result, and its files."""
        bad: list[str] = []
        rows = labelled_rows(again, labels, self.meant, self.label_column, bad)
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
        configs = source_configs(folder, asked.config)
        manifest = read_manifest(folder) if (folder / NAME).exists() else None
        files = files_of(folder, configs)
        system = _system_in(files)
        if reading.label_map is not None:
            of_ours = partial(records_of_ours, folder, Selection(config=asked.config))
            system, files = reading._replace(meant=ALL).spooled(of_ours, _labels_in(files), asked.source, scratch)
        return Reported(asked, ", ".join(configs), system, files, manifest, folder)
    by_name = (*RAW_RELEASES, *SOURCES)
    if not folder.exists() and asked.source in by_name:
        _only_the_hub_has_revisions(asked)
        _check_data(asked.source, data)
        if asked.source in SOURCES:
            _has_no_configs(asked)
            return _of_labelled_set(asked, data_folder(data), scratch)
        config = asked.config or ("annotated" if asked.source == _ED else None)
        with quiet():
            rows = _dataset_rows(load(asked.source, config, source=data), asked.source)
        return Reported(asked, config, OURS, _spooled(rows, scratch))
    _check_name(asked.source, by_name)
    check_source(asked.source)
    if folder.exists():
        _only_the_hub_has_revisions(asked)
        _has_no_configs(asked)
    meant = replace(reading.meant, config=asked.config, revision=asked.revision)
    reading = reading._replace(meant=meant)
    with rereadable_records(asked.source, meant) as again:
        system, files = reading.spooled(again, reading.labels or _labels_said(again, reading), asked.source, scratch)
    if not files:
        raise ValueError(f"{asked.source} contains no dialogues: expected {WANTED}")
    return Reported(asked, asked.config, system, files)


def _labels_said(again: Callable[[], Iterable[Record]], reading: Reading) -> LabelSet:
    return (label_set_said(again()) if reading.label_column is None else None) or EDOS


def _check_data(name: str, data: Path | None) -> None:
    if data is None and not os.environ.get("EDOS_DATA_DIR"):
        raise ValueError(
            f"{name} is read from its own files: give the folder that holds them by --data FOLDER, or set "
            "EDOS_DATA_DIR; `edos download` lists the datasets that it can get"
        )


def _check_name(source: str, known: Sequence[str]) -> None:
    """Raise an error for a misspelt name of a dataset."""
    if not place_of(source).exists() and get_close_matches(source, known, n=1):
        raise ValueError(f"{source}: no such file or folder, and no dataset is named so{nearest(source, known)}")


def _system_in(files: Mapping[str, list[Path]]) -> LabelSystem:
    """Return the label set of Parquet files that this package wrote."""
    labels = _labels_in(files)
    return OURS if labels == EDOS else system_of_label_set(labels)


def _labels_in(files: Mapping[str, list[Path]]) -> LabelSet:
    there = [path for paths in files.values() for path in paths]
    try:
        return label_set_of(labelled_schema(there)) if there else EDOS
    except (OSError, pa.ArrowException):
        return EDOS  # reading the rows will raise an error that says what is wrong


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
