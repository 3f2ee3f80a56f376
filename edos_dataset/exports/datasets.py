"""Views as datasets: a folder with a config for each view, which `datasets` loads without this package."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.exports.dialogues import Source
from edos_dataset.exports.tables import FORMS, Form, Row, Settings, counted_rows
from edos_dataset.publishing.cards.headers import size_category
from edos_dataset.publishing.cards.markdown import code, table
from edos_dataset.publishing.front_matter import join_card, split_card, with_content
from edos_dataset.runs.manifest import versions
from edos_dataset.runs.shards import digest, write_text
from edos_dataset.schema import SPLITS, schema_of_features
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from datasets import Features

VIEWS = ("messages", "flat", "pairs", "sharegpt")
"""The forms that can be configs of a dataset."""

_CARD = "README.md"
_ROW_GROUP = 10_000
_OF_THE_DATA = ("configs", "dataset_info", "size_categories")
_WHAT = {
    "messages": "a row for each dialogue as a chat of user and assistant, as TRL and chat templates take it",
    "sharegpt": "a row for each dialogue as a chat in the form of ShareGPT",
    "flat": "a row for each labelled turn with the turns before it",
    "pairs": "a row for each labelled turn that answers one, with the turns before it",
}


@dataclass
class View:
    """A view that was written.

    Attributes:
        name: Its name, which is that of the config.
        features: Its columns.
        rows: Split → number of rows.
        bytes: Split → size of its file.
        arrow_bytes: Split → size of the data as Arrow messages.
        dialogues: Number of dialogues that have rows.
        left_out: What was left out → number.
    """

    name: str
    features: "Features"
    rows: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    arrow_bytes: dict[str, int] = field(default_factory=dict)
    dialogues: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


def write_views(source: Source, names: Sequence[str], folder: Path, card: str, system: str | None = None) -> list[View]:
    """Write views of a source as a dataset: a config for each with a file for each split, and the card.

    Args:
        source: The dialogues.
        names: Some of VIEWS; the first is the default config.
        folder: An empty folder.
        card: Card of the dataset that has the dialogues, whose licence, languages and tags are stated; "" if there is
            none.
        system: Template of the chats' system prompts.

    Returns:
        The views that have rows.
    """
    views = [view for name in names if (view := _write_view(source, name, folder, system)).rows]
    if views:
        digests = {path.relative_to(folder).as_posix(): digest(path) for path in sorted(folder.glob("*/*.parquet"))}
        write_text(folder / _CARD, with_content(_card(source, views, card), digests))
    return views


def card_of(folder: Path) -> str:
    """Return the card of a dataset's folder, or "" if it has none."""
    path = folder / _CARD
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _write_view(source: Source, name: str, folder: Path, system: str | None) -> View:
    shape = source.shape._replace(fields=source.shape.fields - {"split"})
    settings = Settings(shape, system)
    form = FORMS[name]
    view = View(name, _features(source, form, settings))
    for split in source.shape.splits or (None,):
        target = folder / name / f"{split or SPLITS[0]}-00000-of-00001.parquet"
        counts = [0, 0]
        rows = counted_rows(source.dialogues(split), form, settings, counts)
        _write_file(target, rows, view, split or SPLITS[0])
        view.dialogues += counts[0]
    view.left_out = dict(settings.left_out)
    if view.rows:
        facts = {"source": source.name, "view": name, "dialogues": view.dialogues, "rows": view.rows}
        facts |= {"left_out": view.left_out, "versions": versions()}
        write_text(folder / name / "manifest.json", json.dumps(facts, indent=1, ensure_ascii=False))
    return view


def _features(source: Source, form: Form, settings: Settings) -> "Features":
    """Return the columns of a view; the labels of rows are those of the label set, by id."""
    from datasets import ClassLabel, Features

    features = Features.from_arrow_schema(pa.schema(form.columns(settings)))
    if "label" in features and source.labels is not None:
        features["label"] = ClassLabel(names=list(source.labels.labels))
    return features


def _write_file(target: Path, rows: Iterator[Row], view: View, split: str) -> None:
    """Write the rows of a split, unless there are none: `datasets` refuses to load an empty split."""
    schema = schema_of_features(view.features)
    batches = iter(lambda: list(islice(rows, _ROW_GROUP)), [])
    first = next(batches, None)
    if first is None:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    ids = getattr(view.features.get("label"), "str2int", None)
    number = size = 0
    with pq.ParquetWriter(target, schema, compression="zstd", write_page_index=True) as writer:
        for batch in chain([first], batches):
            if ids is not None:
                for row in batch:
                    row["label"] = None if row["label"] is None else ids(row["label"])
            written = pa.Table.from_pylist(batch, schema=schema)
            size += sum(pa.ipc.get_record_batch_size(part) for part in written.to_batches())
            number += len(batch)
            writer.write_table(written)
    view.rows[split], view.arrow_bytes[split], view.bytes[split] = number, size, target.stat().st_size


def _card(source: Source, views: Sequence[View], card: str) -> str:
    header: dict[str, Any] = {"license": "other", "task_categories": ["text-generation"]}
    if card:
        header = {key: value for key, value in split_card(card)[0].items() if key not in _OF_THE_DATA}
    entries = [
        {
            "config_name": view.name,
            "data_files": [{"split": split, "path": f"{view.name}/{split}-*"} for split in view.rows],
            **({"default": True} if not number else {}),
        }
        for number, view in enumerate(views)
    ]
    header |= {"size_categories": [size_category(sum(views[0].rows.values()))], "configs": entries}
    header["dataset_info"] = [_info(view) for view in views]
    return join_card(header, _body(source, views))


def _info(view: View) -> dict[str, Any]:
    return {
        "config_name": view.name,
        "features": view.features._to_yaml_list(),
        "splits": [
            {"name": split, "num_bytes": view.arrow_bytes[split], "num_examples": rows}
            for split, rows in view.rows.items()
        ],
        "download_size": sum(view.bytes.values()),
        "dataset_size": sum(view.arrow_bytes.values()),
    }


def _body(source: Source, views: Sequence[View]) -> str:
    names = " and ".join(code(view.name) for view in views)
    rows = [
        [code(view.name), _WHAT[view.name], f"{view.dialogues:,}", f"{sum(view.rows.values()):,}"] for view in views
    ]
    parts = [
        f"# {names}",
        f"## Views {names}",
        f"The dialogues of {code(source.name)} in the form in which other programs train on them; all that is said of "
        "those dialogues, and of how often their labels are wrong, holds for these rows.",
        table(["config", "what", "dialogues", "rows"], rows),
    ]
    left = [f"- {code(view.name)}: {counted(count, what)}" for view in views for what, count in view.left_out.items()]
    if left:
        parts += ["Left out:", "\n".join(left)]
    load = f'load_dataset("<folder or repository>", "{views[0].name}")'
    parts.append(f"```python\nfrom datasets import load_dataset\n\nds = {load}\n```")
    return "\n\n".join(["", *parts, ""])
