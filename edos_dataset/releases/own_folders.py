"""Which files of a folder of this package are read, and their label set."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.label_sets import label_set_of
from edos_dataset.releases.formats.readers import parquet_rows
from edos_dataset.releases.formats.records import Record
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.runs.arguments import fault_of
from edos_dataset.runs.folder import config_files, configs_in
from edos_dataset.runs.stores.paths import readable
from edos_dataset.schema import BOOK_CONFIGS, LABELS_ONLY, REGISTRY, SPLITS


def source_configs(folder: Path, config: str | None) -> list[str]:
    """Return the given config of a folder, else its first one with texts, and for books those of all languages.

    Raises:
        ValueError: The folder lacks the config, or the config has no texts.
    """
    there = configs_in(folder, [name for name in REGISTRY if name != LABELS_ONLY])
    if configs_in(folder, [LABELS_ONLY]) and (config == LABELS_ONLY or not there):
        raise ValueError(f"{folder} contains labels without texts: `edos hydrate` restores the texts")
    if not there:
        raise ValueError(f"{fault_of(folder)}: give a folder that it or `save_to_disk` wrote, or a file of dialogues")
    if config is not None and config not in there:
        raise ValueError(f"{folder} has no config {config!r}; it has {', '.join(there)}")
    return default_configs(there) if config is None else [config]


def default_configs(there: Sequence[str]) -> list[str]:
    """Return those of a folder's configs that are read if none is given: the first, and for books all languages."""
    first = there[0]
    return [name for name in there if name in BOOK_CONFIGS] if first in BOOK_CONFIGS else [first]


def files_of(folder: Path, configs: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files of some configs by split, in the order of the configs; splits without files are left out."""
    of_configs = [config_files(folder, config) for config in configs]
    files = {split: [path for files in of_configs for path in files.get(split, ())] for split in SPLITS}
    return {split: paths for split, paths in files.items() if paths}


def records_of_ours(folder: Path, meant: Selection) -> Iterator[Record]:
    """Yield the rows of the configs that are read, with names instead of label ids."""
    for config in source_configs(folder, meant.config):
        for split, paths in config_files(folder, config).items():
            for path in paths:
                with path.open("rb") as file:
                    for record in parquet_rows(file, str(path)):
                        yield record._replace(value=record.value | {"split": split})


def labelled_schema(paths: Sequence[Path]) -> pa.Schema:
    """Return the schema of the first file with labels, or of the first file if none has labels.

    Raises:
        ValueError: Two files have different label sets.
        pyarrow.ArrowException, OSError: A file is damaged.
    """
    schemas = [(path, pq.read_schema(readable(path))) for path in {path.parent: path for path in paths}.values()]
    labelled = [(path, schema) for path, schema in schemas if _has_labels(schema)]
    path, schema = (labelled or schemas)[0]
    for other_path, other in labelled[1:]:
        one, two = label_set_of(schema), label_set_of(other)
        if one.labels != two.labels:
            raise ValueError(
                f"{path.parent.parent} has labels of {one.name} in {path.parent.name} and of {two.name} in "
                f"{other_path.parent.name}: give one of them as config"
            )
    return schema


def _has_labels(schema: pa.Schema) -> bool:
    turns = schema.field("turns").type if "turns" in schema.names else None
    return "label" in schema.names or "label" in getattr(getattr(turns, "value_type", None), "names", ())
