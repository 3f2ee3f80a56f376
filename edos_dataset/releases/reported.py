"""What `edos report` looks at, as Parquet files: a folder of ours as it is, all else written to scratch once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.label_system import OURS, LabelSystem
from edos_dataset.releases.dialogues import source_config
from edos_dataset.releases.given.sources import Selection, check_source, is_saved, read_records
from edos_dataset.releases.labelled_sets.label_sets import classes_of, label_set, meanings
from edos_dataset.releases.labelled_sets.record import LabelledDialogue
from edos_dataset.releases.labelled_sets.sources import SOURCES
from edos_dataset.releases.load import RAW_RELEASES, load
from edos_dataset.releases.raw import data_folder
from edos_dataset.releases.records_labelled import labelled_rows
from edos_dataset.runs.engines.datasets import quiet
from edos_dataset.runs.manifest import NAME, read_manifest
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.tables import config_files

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
"""Dialogues of others, as they are written to scratch; a label is an id of the source's own system."""


class Asked(NamedTuple):
    """What somebody asks a report of.

    Attributes:
        source: a folder of ours, a raw release or labelled set by name, a file, a saved data set, or one of the Hub.
        config: of it; by default its first, or of EmpatheticDialogues the one with labels.
        revision: of a data set of the Hub.
    """

    source: str
    config: str | None = None
    revision: str | None = None


@dataclass(frozen=True)
class Reported:
    """A data set to report.

    Attributes:
        asked: what was asked for.
        config: that is looked at, None where the source has none.
        labels: its labels.
        files: split → Parquet files.
        manifest: what the run that made it says, None where none does.
        folder: of ours that it lies in, or None.
    """

    asked: Asked
    config: str | None
    labels: LabelSystem
    files: Mapping[str, list[Path]]
    manifest: Mapping[str, Any] | None = None
    folder: Path | None = None


def asked_of(text: str, config: str | None = None, revision: str | None = None) -> Asked:
    """Return what "SOURCE", "SOURCE#CONFIG", "SOURCE@REVISION" or "SOURCE@REVISION#CONFIG" names; a file or folder that
    is called so is that.
    """
    if place_of(text).exists():
        return Asked(text, config, revision)
    rest, _, named = text.partition("#")
    name, _, at = rest.partition("@")
    return Asked(name, config or named or None, revision or at or None)


def open_reported(asked: Asked, scratch: Path, data: Path | None = None) -> Reported:
    """Return a data set to report.

    Args:
        asked: which.
        scratch: an empty folder for what must be written first.
        data: folder of the raw releases, by default EDOS_DATA_DIR.

    Raises:
        ValueError: there is none, or it is damaged; the message says where and what to do.
    """
    folder = place_of(asked.source)
    if folder.is_dir() and not is_saved(folder):
        _only_the_hub_has_revisions(asked)
        name = source_config(folder, asked.config)
        manifest = read_manifest(folder) if (folder / NAME).exists() else None
        return Reported(asked, name, OURS, config_files(folder, name), manifest, folder)
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
    records = read_records(asked.source, Selection(config=asked.config, revision=asked.revision))
    files = _spooled(labelled_rows(records), scratch)
    if not files:
        raise ValueError(
            f'{asked.source} holds no dialogues: expected such as {{"dialogue_id": "...", "turns": [...]}}'
        )
    return Reported(asked, asked.config, OURS, files)


def _only_the_hub_has_revisions(asked: Asked) -> None:
    if asked.revision is not None:
        raise ValueError(f"--revision is for a data set of the Hub, and {asked.source} is none: leave it out")


def _has_no_configs(asked: Asked) -> None:
    if asked.config is not None:
        raise ValueError(f"{asked.source} has no configs: leave {asked.config!r} out")


def _of_labelled_set(asked: Asked, data: Path, scratch: Path) -> Reported:
    """Return a set of other makers, with their labels."""
    known = SOURCES[asked.source]
    there = {split: [data / name for name in names if (data / name).is_file()] for split, names in known.files.items()}
    if not any(there.values()):
        wanted = ", ".join(name for names in known.files.values() for name in names)
        raise ValueError(f"{asked.source}: {data} has none of {wanted}; give the folder that holds them as --data")
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
    """Return the labels of a labelled set of other makers, those that say something about ours."""
    ours = {name: meant for name, meant in meanings(source).items() if meant}
    return LabelSystem(source, tuple(ours), tuple(ours.values()))


def _label_of(source: str, names: tuple[str, ...], ids: Mapping[str, int]) -> int | None:
    """Return the first of a turn's labels that says something about ours: an act says nothing beside an emotion."""
    if not names or label_set(source, names) is None:
        return None
    return next(ids[name] for name in classes_of(source, names) if name in ids)


def _dataset_rows(parts: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a data set that a builder of ours made."""
    for split, rows in parts.items():
        if "turns" not in rows.features:
            raise ValueError(f"{name} has no turns to report: its columns are {', '.join(rows.features)}")
        for table in rows.with_format("arrow").iter(_ROWS):
            for row in table.to_pylist():
                if "label" in row:
                    row["turns"][-1]["label"] = row["label"]
                yield split, row


def _spooled(rows: Iterable[tuple[str, dict[str, Any]]], scratch: Path) -> dict[str, list[Path]]:
    """Write rows to one Parquet file a split; memory does not grow with them."""
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
