"""What somebody names as dialogues, told apart: files of all forms, standard input, data sets saved or on the Hub."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from edos_dataset.releases.given.dialogue import LARGEST, Dialogue, unique
from edos_dataset.releases.given.forms import FORMS, SUFFIXES
from edos_dataset.releases.given.json_texts import json_lines, json_values
from edos_dataset.releases.given.records import WANTED, Record, dialogues_of
from edos_dataset.releases.given.streams import STDIN, called, opened
from edos_dataset.releases.given.tables import csv_rows, dataset_rows, delimiter_of, parquet_rows, plain_dialogues
from edos_dataset.runs.stores.paths import place_of

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_SAVED = ("dataset_dict.json", "dataset_info.json")


@dataclass(frozen=True)
class Selection:
    """What of a source is meant.

    Attributes:
        config: of a folder of ours, or of a data set of the Hub; by default its first.
        split: of a saved data set or one of the Hub; by default all, each dialogue with its `split`.
        revision: of a data set of the Hub.
        column: column or key that holds the texts, or the dialogues; by default the first that is known.
        form: one of FORMS; by default what the file's name and its beginning say.

    Raises:
        ValueError: there is no such form.
    """

    config: str | None = None
    split: str | None = None
    revision: str | None = None
    column: str | None = None
    form: str | None = None

    def __post_init__(self) -> None:
        """Check the form."""
        if self.form is not None and self.form not in FORMS:
            raise ValueError(f"format {self.form!r} is none of {', '.join(FORMS)}")


def is_saved(folder: Path) -> bool:
    """Return whether a folder was written by `save_to_disk` of `datasets`."""
    return any((folder / name).is_file() for name in _SAVED)


def check_source(source: str) -> None:
    """Refuse what is nothing that can hold dialogues; nothing is fetched for it.

    Raises:
        ValueError: there is no such file, and it is no name on the Hub either.
    """
    if source != STDIN and not place_of(source).exists() and not _is_name(source):
        raise ValueError(
            f"{source}: there is no such file or folder; give a file of dialogues, - for standard input, a folder that "
            "this package or save_to_disk wrote, or a data set of the Hub as namespace/name"
        )


def _is_name(source: str) -> bool:
    return _ON_THE_HUB.fullmatch(source) is not None and _form_by_name(source) is None


def read_given(source: str, meant: Selection) -> Iterator[Dialogue]:
    """Yield the dialogues of a file, of standard input, of a saved data set or of one of the Hub.

    Raises:
        ValueError: it cannot be had, something in it is no dialogue, two ids are equal, or there is none.
        OSError: it cannot be read.
    """
    return _some(unique(_dialogues(source, meant)), called(source))


def read_records(source: str, meant: Selection) -> Iterator[Record]:
    """Yield the records of a file, of standard input, of a saved data set or of one of the Hub, each with all that
    stands in it.

    Raises:
        ValueError: it cannot be had, is damaged, or a plain text, which has no records.
        OSError: it cannot be read.
    """
    if source != STDIN and place_of(source).is_dir():
        yield from _saved_rows(place_of(source), meant)
    elif source != STDIN and not place_of(source).exists():
        yield from _rows_of_the_hub(source, meant)
    else:
        with opened(source) as file:
            form = meant.form or _form_of(file, source, meant.column)
            if form == "text":
                raise ValueError(
                    f"{called(source)} is a plain text, which holds nothing beside its turns: give {WANTED}"
                )
            yield from _records_of_file(file, called(source), form, meant.column)


def _dialogues(source: str, meant: Selection) -> Iterator[Dialogue]:
    if source != STDIN and (place_of(source).is_dir() or not place_of(source).exists()):
        yield from dialogues_of(read_records(source, meant), meant.column)
        return
    with opened(source) as file:
        form = meant.form or _form_of(file, source, meant.column)
        if form == "text":
            yield from plain_dialogues(file, called(source))
        else:
            yield from dialogues_of(_records_of_file(file, called(source), form, meant.column), meant.column)


def _some(dialogues: Iterator[Dialogue], name: str) -> Iterator[Dialogue]:
    none = True
    for dialogue in dialogues:
        none = False
        yield dialogue
    if none:
        raise ValueError(f'{name} holds no dialogues: expected such as {{"dialogue_id": "...", "turns": ["...", ...]}}')


def _records_of_file(file: BinaryIO, name: str, form: str, column: str | None) -> Iterator[Record]:
    if form == "parquet":
        return parquet_rows(file, name)
    if form == "csv":
        return csv_rows(file, name, column)
    return json_values(file, name) if form == "json" else json_lines(file, name)


def _form_by_name(source: str) -> str | None:
    suffix = Path(source.removesuffix(".gz")).suffix.lower()
    return next((form for form, suffixes in SUFFIXES.items() if suffix in suffixes), None)


def _form_of(file: BinaryIO, source: str, column: str | None) -> str:
    """Return the form of a file by its name, or else by its beginning."""
    form = None if source == STDIN else _form_by_name(source)
    if form is not None and form != "text":
        return form
    begin = file.read(4)
    file.seek(0)
    head = file.readline(LARGEST)
    while head and not head.strip() and len(head) < LARGEST:
        head = file.readline(LARGEST)
    file.seek(0)
    if begin == b"PAR1":
        return "parquet"
    first = head.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if first[:1] == "{":
        return "jsonl" if first.endswith("}") else "json"
    if form == "text":
        return form
    if first[:1] == "[":
        return "json"
    if delimiter_of(first, column) and (column or "," in first or "\t" in first or first == "text"):
        return "csv"
    if source == STDIN or not first:
        return "text"
    raise ValueError(
        f"{source}: neither its name nor its beginning tells what it is; give --format {', '.join(FORMS)}, whichever "
        "it is"
    )


def _saved_rows(folder: Path, meant: Selection) -> Iterator[Record]:
    from datasets import load_from_disk

    if not is_saved(folder):
        raise ValueError(
            f"{folder} holds no data set, neither of this package nor of save_to_disk; give one of its files"
        )
    try:
        saved = load_from_disk(str(folder))
    except Exception as error:  # of damaged JSON or Arrow, each its own
        raise ValueError(f"{folder} is no whole saved data set ({error}): save it again") from error
    yield from rows_of(saved, str(folder), meant.split)


def _rows_of_the_hub(name: str, meant: Selection) -> Iterator[Record]:
    from datasets import load_dataset

    try:
        found = load_dataset(name, meant.config, revision=meant.revision, trust_remote_code=False)
    except Exception as error:  # of the Hub, the network, and files of others
        raise ValueError(
            f"{name} is neither a file or folder here nor a data set that the Hub gave ({error}); mind --config and "
            "--revision"
        ) from error
    yield from rows_of(found, name, meant.split)


def rows_of(dataset: "Dataset | DatasetDict", name: str, split: str | None = None) -> Iterator[Record]:
    """Yield the rows of a data set, or of a dictionary of them.

    Raises:
        ValueError: it has no such split.
    """
    for part, rows in splits_of(dataset, name, split).items():
        yield from dataset_rows(rows, name, part)


def splits_of(dataset: "Dataset | DatasetDict", name: str, split: str | None) -> "dict[str | None, Dataset]":
    """Return the splits of a data set that are meant, by name, None where it has none.

    Raises:
        ValueError: it has no such split.
    """
    parts = dict(dataset) if isinstance(dataset, dict) else {str(dataset.split or "") or None: dataset}
    if split is None:
        return parts
    if split not in parts:
        raise ValueError(f"{name} has no split {split!r}, but {', '.join(map(str, parts))}: name one of them")
    return {split: parts[split]}
