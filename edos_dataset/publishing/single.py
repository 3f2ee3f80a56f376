"""Folders of one config whose rows fit into memory: `<config>/<split>-00000-of-00001.parquet`, a README, and files of
counts.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.publishing.front_matter import join_card
from edos_dataset.publishing.layout import put_in_place
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import write_shard, write_text
from edos_dataset.schema import SPLITS

if TYPE_CHECKING:
    from datasets import Features

TEXT_LICENCE = "subtitle-text-is-copyrighted"
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def write_single(out: Path, config: str, tables: Mapping[str, pa.Table], texts: Mapping[str, str]) -> None:
    """Write everything aside, then put it in place of what has the same name.

    Args:
        out: the folder; the caller holds it (`shards.locked`).
        config: name of the config.
        tables: split → its rows.
        texts: name of each other file, such as README.md → what is in it.
    """
    prepared = out / ".run" / "publishing"
    shutil.rmtree(prepared, ignore_errors=True)
    for split, table in tables.items():
        write_shard(_file(prepared, config, split), table)
    for name, text in texts.items():
        write_text(prepared / name, text)
    put_in_place(prepared, out)


def read_single(folder: Path, config: str, splits: Sequence[str], columns: "Features", command: str) -> pa.Table:
    """Return the rows of some splits, in their order, with the column `split`.

    Args:
        folder: what `write_single` wrote.
        config: name of the config.
        splits: which, and in which order.
        columns: the config's features.
        command: what writes such a folder, for messages.

    Raises:
        FolderError: a file is missing or damaged, or has other columns.
    """
    schema: pa.Schema = columns.arrow_schema
    tables = []
    for split in splits:
        path = _file(folder, config, split)
        try:
            table = pq.ParquetFile(path).read(columns=schema.names).select(schema.names).cast(schema)
        except FileNotFoundError as error:
            raise FolderError(f"{path} is not there: {folder} is no folder that `{command}` wrote") from error
        except (OSError, pa.ArrowException, KeyError) as error:
            raise FolderError(
                f"cannot read {path} as `{command}` writes it ({error}): give that command again"
            ) from error
        tables.append(table.append_column("split", pa.array([split] * len(table), pa.string())))
    return pa.concat_tables(tables)


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    return next((name for limit, name in _SIZES if rows < limit), "10M<n<100M")


def front_matter(
    config: str,
    columns: "Features",
    name: str,
    tags: Sequence[str],
    splits: Sequence[str] = SPLITS,
    licence: str = TEXT_LICENCE,
    *,
    rows: int | None = None,
    annotators: str = "machine-generated",
) -> str:
    """Return the YAML that heads the README of such a folder, between its lines of dashes.

    Args:
        config: name of the config.
        columns: its features.
        name: of the data set, for people.
        tags: what it is about, beside dialogues, emotion and empathy.
        splits: those with rows; `datasets` refuses to load a split without any.
        licence: what the Hub shows, as none of its own fits.
        rows: in all splits, where known.
        annotators: who gave the labels, in the Hub's words.
    """
    metadata: dict[str, Any] = {
        "language": ["en"],
        "license": "other",
        "license_name": licence,
        "pretty_name": name,
        **({} if rows is None else {"size_categories": [size_category(rows)]}),
        "task_categories": ["text-classification"],
        "task_ids": ["multi-class-classification", "intent-classification"],
        "annotations_creators": [annotators],
        "language_creators": ["found"],
        "multilinguality": ["monolingual"],
        "tags": ["dialogue", "emotion", "empathy", *tags],
        "configs": [
            {
                "config_name": config,
                "data_files": [{"split": split, "path": f"{config}/{split}-*"} for split in splits],
                "default": True,
            }
        ],
        "dataset_info": [{"config_name": config, "features": columns._to_yaml_list()}],
    }
    return join_card(metadata).removesuffix("\n")


def loading(config: str) -> str:
    """Return the section that says how to load such a folder."""
    return f'## Load\n\n```python\nfrom datasets import load_dataset\n\nload_dataset("FOLDER", "{config}")\n```'


def _file(folder: Path, config: str, split: str) -> Path:
    return folder / config / f"{split}-00000-of-00001.parquet"
