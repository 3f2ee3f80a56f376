"""Tables: CSV and TSV, Parquet, data sets of `datasets`; and plain text. Read some rows at a time."""

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.releases.given.dialogue import LARGEST, Dialogue, Place, checked_text
from edos_dataset.releases.given.records import Record, text_column
from edos_dataset.releases.given.streams import lines
from edos_dataset.text import shown

if TYPE_CHECKING:
    from datasets import Dataset, Features

DELIMITERS = (",", "\t", ";")
_ROWS = 500


def delimiter_of(header: str, column: str | None) -> str | None:
    """Return what parts the columns of a table: that by which its first line names a column of texts, or None."""
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if text_column(names, column):
            return delimiter
    return None


def csv_rows(file: BinaryIO, name: str, column: str | None) -> Iterator[Record]:
    """Yield the rows of a CSV or TSV file, whose first line names the columns; empty lines are passed over.

    Raises:
        ValueError: it has no header with a column of texts, or a row is broken.
    """
    place = Place(f"{name}, line", "line")
    texts = (line for _, line in lines(file, name))
    header = next(texts, "")
    if not header:
        return
    delimiter = delimiter_of(header, column)
    if delimiter is None:
        wanted = repr(column) if column is not None else "'text'"
        raise ValueError(
            f"{name}, line 1: there is no column {wanted} in {shown(header.strip())}; give the file a header, or name "
            "its column of texts by --column"
        )
    names = next(csv.reader([header], delimiter=delimiter))
    if twice := [column for column in names if names.count(column) > 1]:
        raise ValueError(f"{name}, line 1: two columns are called {twice[0]!r}; rename one")
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 2
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{place.at(number)}: the row that begins here is no CSV ({error}); mend it: is there a quote too "
                "many or too few?"
            ) from error
        if not row:
            continue
        if len(row) != len(names):
            raise ValueError(
                f"{place.at(number)}: {len(row)} values for {len(names)} columns, {shown(row)}; put texts that hold "
                f"{delimiter!r} in quotes"
            )
        yield Record(place, number, {key: value or None for key, value in zip(names, row, strict=True)})


def parquet_rows(file: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the rows of a Parquet file.

    Raises:
        ValueError: it is none, or damaged.
    """
    try:
        with pq.ParquetFile(file) as table:
            named = namer(features_of(table.schema_arrow))
            tables = (pa.Table.from_batches([batch]) for batch in table.iter_batches(_ROWS))
            yield from typed_rows(tables, Place(f"{name}, row", "row"), named)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is no whole Parquet file ({error}): get it again") from error


def dataset_rows(dataset: "Dataset", name: str, split: str | None) -> Iterator[Record]:
    """Yield the rows of a data set, with the names of their labels and, where it has one, their split."""
    beside = {"split": split} if split and "split" not in dataset.column_names else {}
    place = Place(f"{name}, {split} row", split) if split else Place(f"{name}, row", "row")
    for record in typed_rows(dataset.with_format("arrow").iter(_ROWS), place, namer(dataset.features)):
        yield record._replace(value=record.value | beside)


def typed_rows(
    tables: Iterable[pa.Table], place: Place, named: Callable[[Any], Any] = lambda row: row
) -> Iterator[Record]:
    """Yield the rows of Arrow tables, changed by a function.

    Raises:
        ValueError: a text is no UTF-8.
    """
    number = 0
    for table in tables:
        try:
            rows = table.to_pylist()
        except UnicodeDecodeError as error:
            raise ValueError(f"{place.at(number + 1)} or one of the next {table.num_rows}: {error}; mend it") from error
        for row in rows:
            number += 1
            yield Record(place, number, named(row), True)


def features_of(schema: pa.Schema) -> "Features | None":
    """Return the features that `datasets` has written into a schema, None where there are none that it can read."""
    from datasets import Features

    if b"huggingface" not in (schema.metadata or {}):
        return None
    try:
        return Features.from_arrow_schema(schema)
    except (ValueError, KeyError, TypeError, AttributeError):  # of another version, or damaged
        return None


def namer(features: "Features | None") -> Callable[[Any], Any]:
    """Return what puts the names of labels in the place of their numbers, by the features of a data set."""
    from datasets import ClassLabel

    def name(feature: Any, value: Any) -> Any:  # noqa: ANN401 - as `datasets` has them
        if value is None:
            return None
        if isinstance(feature, ClassLabel):
            return feature.names[value] if 0 <= value < len(feature.names) else value
        if isinstance(feature, dict):
            return {key: name(feature.get(key), inner) for key, inner in value.items()}
        item = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
        return [name(item, inner) for inner in value] if item is not None and isinstance(value, list) else value

    return (lambda row: name(dict(features), row)) if features else lambda row: row


def plain_dialogues(file: BinaryIO, name: str) -> Iterator[Dialogue]:
    """Yield the dialogues of a plain text: a line a turn, an empty line, or several, between two dialogues.

    Raises:
        ValueError: a line is no text, or a dialogue too long.
    """
    place = Place(f"{name}, line", "line")
    turns: list[str] = []
    began = size = 0
    for number, line in lines(file, name):
        if not line.strip():
            if turns:
                yield Dialogue(f"line-{began}", turns, place, began)
            turns, size = [], 0
            continue
        began = began if turns else number
        turns.append(checked_text(line.strip(), place.at(number)))
        size += len(line)
        if size > LARGEST:
            raise ValueError(
                f"{place.at(number)}: the dialogue is longer than {LARGEST:,} characters, as none is: put an empty "
                "line between two dialogues"
            )
    if turns:
        yield Dialogue(f"line-{began}", turns, place, began)
