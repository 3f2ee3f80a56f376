"""Sources of dialogues, recognised by name and content: files, standard input, saved datasets, and the Hub."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from edos_dataset.releases.formats import readers, sheets
from edos_dataset.releases.formats.chats import chat_in
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.films import film_in
from edos_dataset.releases.formats.flat import Flat, read_flat
from edos_dataset.releases.formats.forms import (
    ARROW_MAGIC,
    FORMS,
    PARQUET_MAGIC,
    SPOKEN,
    TABLE,
    ZIP_MAGIC,
    Beginning,
    Form,
    form_by_name,
)
from edos_dataset.releases.formats.readers import STDIN, called, dataset_rows, opened
from edos_dataset.releases.formats.records import WANTED, Dialogue, Record
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.survey import checked_dialogues
from edos_dataset.releases.formats.texts import lines
from edos_dataset.runs.stores.paths import place_of

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_Again = Callable[[Findings | None], Any]
_SAVED = ("dataset_dict.json", "dataset_info.json")


def is_saved(folder: Path) -> bool:
    """Return whether a folder was written by `save_to_disk` of `datasets`."""
    return any((folder / name).is_file() for name in _SAVED)


def check_source(source: str) -> None:
    """Raise an error for a source that cannot exist; nothing is downloaded.

    Raises:
        ValueError: The source is neither an existing file or folder nor a name of the form used on the Hub.
    """
    if source != STDIN and not place_of(source).exists() and not _is_name(source):
        raise ValueError(
            f"{source}: there is no such file or folder; give a file of dialogues, - for standard input, a folder that "
            "this package or save_to_disk wrote, or a dataset on the Hub as namespace/name"
        )


def _is_name(source: str) -> bool:
    return _ON_THE_HUB.fullmatch(source) is not None and form_by_name(source) is None


def read_given(source: str, meant: Selection, findings: Findings | None = None) -> Iterator[Dialogue]:
    """Yield the dialogues of a file, of standard input, of a saved dataset or of one on the Hub.

    Args:
        source: Path of the file or folder, "-" for standard input, or name on the Hub.
        meant: What to read of the source.
        findings: Receives remarks and warnings, before the first dialogue.

    Raises:
        ValueError: The source is not available, has no dialogues or something else among them, or two ids are equal.
        OSError: The source cannot be read.
    """
    return _some(_dialogues(source, meant, findings), meant.called or called(source))


def read_labelled(source: str, meant: Selection) -> Iterator[Dialogue]:
    """Yield the dialogues of a source as `read_given` does, with the labels that their turns have among the other
    values: `given_label`, `given_confidence` and `given_top`.
    """
    name = meant.called or called(source)
    with _rereadable(source, meant) as (again, form, _):
        if form is None or form.has_records:
            yield from _some(_from(lambda findings: map(_with_labels, again(findings)), form, meant, name, None), name)
        else:
            yield from _some(_from(again, form, meant, name, None), name)


def _with_labels(record: Record) -> Record:
    """Return a record whose turns are not taken for ones to be labelled again, which lose the labels that we wrote."""
    value = record.value
    if not isinstance(value, dict) or not isinstance(turns := value.get("turns"), list):
        return record
    kept = [
        {"given_top" if key == "top" else key: inner for key, inner in turn.items()} if isinstance(turn, dict) else turn
        for turn in turns
    ]
    return record._replace(value={**value, "turns": kept})


@contextmanager
def opened_dialogues(source: str, meant: Selection, findings: Findings) -> Iterator[Flat | Iterator[Dialogue]]:
    """Yield the dialogues of a source as `read_given` does, or for a large CSV file all of them as a `Flat`."""
    with _rereadable(source, meant) as (again, form, file):
        name = meant.called or called(source)
        flat = read_flat(file, name, meant, findings) if file is not None and form and form.name == "csv" else None
        yield _some(_from(again, form, meant, name, findings), name) if flat is None else flat


def read_records(source: str, meant: Selection) -> Iterator[Record]:
    """Yield the complete records of a file, of standard input, of a saved dataset or of one on the Hub.

    Raises:
        ValueError: The source is not available, is damaged, or is a plain text, which has no records.
        OSError: The source cannot be read.
    """
    with rereadable_records(source, meant) as again:
        yield from again()


@contextmanager
def rereadable_records(source: str, meant: Selection) -> Iterator[Callable[[], Iterator[Record]]]:
    """Yield a function that reads the records of a source from the beginning; see `read_records`."""
    with _rereadable(source, meant) as (again, form, _):
        if form is not None and not form.has_records:
            raise ValueError(f"{called(source)} is a plain text, which contains only turns: give {WANTED}")
        yield lambda: again(None)


def _dialogues(source: str, meant: Selection, findings: Findings | None) -> Iterator[Dialogue]:
    with _rereadable(source, meant) as (again, form, _):
        yield from _from(again, form, meant, meant.called or called(source), findings)


def _from(
    again: _Again, form: Form | None, meant: Selection, name: str, findings: Findings | None
) -> Iterator[Dialogue]:
    if form is not None and not form.has_records:
        meant.check_no_rows(name)
        yield from again(findings)
    else:
        yield from checked_dialogues(again, meant, name, findings)


@contextmanager
def _rereadable(source: str, meant: Selection) -> Iterator[tuple[_Again, Form | None, BinaryIO | None]]:
    """Yield a function that reads the records of a source from the beginning, and for a file its format and the open
    file.
    """
    if source != STDIN and (place_of(source).is_dir() or not place_of(source).exists()):
        data = _saved(place_of(source)) if place_of(source).is_dir() else _of_the_hub(source, meant)
        yield lambda _: rows_of(data, source, meant.split), None, None
        return
    with opened(source) as file:
        if meant.form is None and (dialogues := _spoken(file, source, meant)):
            yield lambda _: iter(dialogues), SPOKEN, None
            return
        form = _form_of(file, source, meant)
        module, _, function = form.reader.partition(".")
        reader = getattr({"readers": readers, "sheets": sheets}[module], function)

        def again(findings: Findings | None) -> Any:  # noqa: ANN401 - records or dialogues
            file.seek(0)
            if findings is not None:
                findings.form = form.name
            return reader(file, meant.called or called(source), meant, findings)

        yield again, form, file


def _spoken(file: BinaryIO, source: str, meant: Selection) -> list[Dialogue] | None:
    """Return the dialogues of a chat, of subtitles or of a transcript; None if the file is something else."""
    found = chat_in(file, meant.called or called(source))
    return found or (None if source == STDIN else film_in(file, place_of(source)))


def _some(dialogues: Iterator[Dialogue], name: str) -> Iterator[Dialogue]:
    none = True
    for dialogue in dialogues:
        none = False
        yield dialogue
    if none:
        raise ValueError(f"{name} contains no dialogues: expected {WANTED}")


def _form_of(file: BinaryIO, source: str, meant: Selection) -> Form:
    """Return the format of a file, by the user's choice, else by its name, else by its beginning."""
    if meant.form is not None:
        return next(form for form in TABLE if form.name == meant.form)
    named = None if source == STDIN else form_by_name(source)
    if named is not None and named.has_records:
        return named
    begin = _beginning_of(file, meant, named is not None, source == STDIN)
    for form in TABLE:
        if form.recognises(begin):
            return form
    raise ValueError(
        f"{source}: neither its name nor its beginning shows its format; give it as --format, one of {', '.join(FORMS)}"
    )


def _beginning_of(file: BinaryIO, meant: Selection, is_text: bool, is_stdin: bool) -> Beginning:
    magic = file.read(4)
    file.seek(0)
    begin: list[str] = []
    if magic not in (PARQUET_MAGIC, ARROW_MAGIC, ZIP_MAGIC):
        try:
            begin = [
                line.strip() for _, line in islice(lines(file, "", newline=""), sheets.HEADER_LINES) if line.strip()
            ]
        except ValueError:  # not text, or a line that is too long
            begin = ["\ufffd"]
        file.seek(0)
    is_table = sheets.is_table(begin, meant.column)
    return Beginning(magic, begin[0] if begin else "", is_table, is_text, is_stdin or meant.called is not None)


def _saved(folder: Path) -> "Dataset | DatasetDict":
    from datasets import load_from_disk

    if not is_saved(folder):
        raise ValueError(
            f"{folder} is neither a dataset of this package nor one of save_to_disk; give one of its files"
        )
    try:
        return load_from_disk(str(folder))
    except Exception as error:  # damaged JSON and Arrow files raise different ones
        raise ValueError(f"{folder} is not a complete saved dataset ({error}): save it again") from error


def _of_the_hub(name: str, meant: Selection) -> "Dataset | DatasetDict":
    from datasets import load_dataset

    try:
        return load_dataset(name, meant.config, revision=meant.revision, trust_remote_code=False)
    except Exception as error:  # errors of the Hub, of the network, and of untrusted files
        raise ValueError(
            f"{name} is neither a local file or folder nor could it be loaded from the Hub ({error}); check --config "
            "and --revision"
        ) from error


def rows_of(dataset: "Dataset | DatasetDict", name: str, split: str | None = None) -> Iterator[Record]:
    """Yield the rows of a dataset, or of a dictionary of datasets.

    Raises:
        ValueError: There is no such split.
    """
    for part, rows in splits_of(dataset, name, split).items():
        yield from dataset_rows(rows, name, part)


def splits_of(dataset: "Dataset | DatasetDict", name: str, split: str | None) -> "dict[str | None, Dataset]":
    """Return the requested splits of a dataset by name; None is the name of a dataset without splits.

    Raises:
        ValueError: There is no such split.
    """
    parts = dict(dataset) if isinstance(dataset, dict) else {str(dataset.split or "") or None: dataset}
    if split is None:
        return parts
    if split not in parts:
        raise ValueError(f"{name} has no split {split!r}, but {', '.join(map(str, parts))}: give one of them")
    return {split: parts[split]}
