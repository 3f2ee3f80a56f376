"""Readers of JSON, Parquet, Arrow, datasets, and plain text, from a file or standard input; `sheets` reads tables.

Each holds one record or a few rows in memory; lines and records have a maximum length.
"""

import gzip
import json
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.releases.formats.faults import BadRecord, Findings
from edos_dataset.releases.formats.forms import ARROW_MAGIC
from edos_dataset.releases.formats.records import WANTED, Dialogue, Place, Record, checked_text
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.texts import LARGEST, as_text, encoding_of, lines, other_bytes
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.untrusted import standard_input
from edos_dataset.text import shown

if TYPE_CHECKING:
    from datasets import Dataset, Features

STDIN = "-"
_LOOKED_AT = 60  # lines
_STAMP = re.compile(r"[\W_]{0,3}(?:\d{1,4}(?:[./-]\s?\d{1,2}[./-]|년|年)\s?\d{1,4}|\d{1,2}:\d\d(?::\d\d)?\b)")
_AFTER_NAME = re.compile(r"[^\W\d].{0,60}?\s[\[(]?(?:\d{1,2}:)?\d{1,2}:\d\d[\])]?")
_GZIP = b"\x1f\x8b"


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input as "-", and unpack gzip; the result is seekable.

    A stream that can be read only once, such as a pipe, is first copied to a temporary file.

    Raises:
        ValueError: The file is damaged or truncated gzip; also raised during reading.
        OSError: The file cannot be read.
    """
    with ExitStack() as stack:
        if source == STDIN:
            file = _copied(stack, standard_input().buffer)
        else:
            file = stack.enter_context(place_of(source).open("rb"))
            if not file.seekable():
                file = _copied(stack, file)
        packed = file.read(2) == _GZIP
        file.seek(0)
        try:
            yield cast(BinaryIO, stack.enter_context(gzip.open(file))) if packed else file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{called(source)} is a damaged gzip file ({error}): get or pack it again") from error


def called(source: str) -> str:
    """Return the name of a source in messages."""
    return "standard input" if source == STDIN else source


def _copied(stack: ExitStack, stream: BinaryIO) -> BinaryIO:
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    copyfileobj(stream, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


_BLOCK = 1 << 18


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"an object has the key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return made


def _constant(name: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{name} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def json_lines(file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None) -> Iterator[Record]:
    """Yield the records of JSON lines, with a `BadRecord` for each line that is not JSON; empty lines are skipped."""
    place = Place(f"{name}, line", "line")
    for number, line in lines(file, name, findings, guess=False):
        if not line.strip():
            continue
        try:
            value = _not_utf_8(line, place.at(number)) or _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else error  # without its position in the line
            value = _no_json(place.at(number), line.strip(), why)
        yield Record(place, number, value)


def json_values(
    file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None
) -> Iterator[Record]:
    """Yield the records of a JSON list, or of consecutive JSON values.

    Memory: a record of at most LARGEST characters, and a block.

    Raises:
        ValueError: The file is not JSON.
    """
    place = Place(f"{name}, record", "record")
    if encoding_of(file, name, guess=False) == ("utf-8", True):
        raise ValueError(f"{name} is not UTF-8: save it as UTF-8, `iconv -f cp1252 -t utf-8`")
    with as_text(file, name, findings, guess=False) as stream:
        text, number = _Text(stream.read), 0
        listed = text.ahead() == "["
        text.skip(listed)
        while (ahead := text.ahead()) and not (listed and ahead == "]"):
            if listed and number:
                if ahead != ",":
                    raise ValueError(f"{place.at(number)} is followed by {ahead!r} instead of a comma; correct it")
                text.skip()
            number += 1
            yield Record(place, number, text.value(place.at(number)))
        if listed and not ahead:
            raise ValueError(f"{name} ends within its list, after record {number}: it is truncated; get it again")
        text.skip(listed)
        if listed and text.ahead():
            raise ValueError(f"{name} has text after its list, starting with {text.ahead()!r}; correct it")


class _Text:
    """A JSON text, read block by block and decoded value by value."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read, self._text, self._at = read, "", 0

    def ahead(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            self._text, self._at = self._read(_BLOCK), 0
            if not self._text:
                return ""

    def skip(self, characters: int = 1) -> None:
        self._at += characters

    def value(self, where: str) -> Any:  # noqa: ANN401 - any JSON
        """Return the value that begins here; until it is complete, more text is read, twice as much each time."""
        self.ahead()
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._text, self._at)
                return value
            except json.JSONDecodeError as error:
                rest = self._text[self._at :]
                more = self._read(max(_BLOCK, len(rest))) if len(rest) <= LARGEST else ""
                if not more:
                    raise _no_json(where, rest, error.msg) from error
                self._text, self._at = rest + more, 0
            except (ValueError, RecursionError) as error:
                raise _no_json(where, self._text[self._at : self._at + 100], error) from error


def _not_utf_8(text: str, where: str) -> BadRecord | None:
    other = other_bytes(text)
    if other is None:
        return None
    why = f"{shown(other)} is not UTF-8; correct the line, or save the file as UTF-8, `iconv -f cp1252 -t utf-8`"
    return BadRecord(where, "not UTF-8", why)


def _no_json(where: str, text: str, error: object) -> BadRecord:
    why = f"expected {WANTED}, got {shown(text[:100])}, which is not JSON ({error}); correct or remove it"
    return BadRecord(where, "not JSON", why)


_ROWS = 500


def parquet_rows(
    file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None
) -> Iterator[Record]:
    """Yield the rows of a Parquet file.

    Raises:
        ValueError: The file is not a Parquet file, or is damaged.
    """
    yield from _arrow_rows(parquet_tables(file), name, "Parquet")


def arrow_rows(file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None) -> Iterator[Record]:
    """Yield the rows of an Arrow or Feather file.

    Raises:
        ValueError: The file is not an Arrow file, or is damaged.
    """
    yield from _arrow_rows(arrow_tables(file), name, "Arrow")


def parquet_tables(file: BinaryIO) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file as tables, after an empty table with its schema."""
    with pq.ParquetFile(file) as table:
        yield table.schema_arrow.empty_table()
        for batch in table.iter_batches(_ROWS):
            yield pa.Table.from_batches([batch])


def arrow_tables(file: BinaryIO) -> Iterator[pa.Table]:
    """Yield the rows of an Arrow file or stream as tables, after an empty table with its schema."""
    is_file = file.read(len(ARROW_MAGIC)) == ARROW_MAGIC
    file.seek(0)
    reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
    yield reader.schema.empty_table()
    batches = (reader.get_batch(at) for at in range(reader.num_record_batches)) if is_file else reader
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield pa.Table.from_batches([batch.slice(start, _ROWS)])


def _arrow_rows(tables: Iterator[pa.Table], name: str, form: str) -> Iterator[Record]:
    try:
        first = next(tables)
        yield from typed_rows(tables, Place(f"{name}, row", "row"), namer(features_of(first.schema)))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not a complete {form} file ({error}): get it again") from error


def dataset_rows(dataset: "Dataset", name: str, split: str | None) -> Iterator[Record]:
    """Yield the rows of a dataset, with names instead of label ids, and with their split if it has one."""
    beside = {"split": split} if split and "split" not in dataset.column_names else {}
    place = Place(f"{name}, {split} row", split) if split else Place(f"{name}, row", "row")
    for record in typed_rows(dataset.with_format("arrow").iter(_ROWS), place, namer(dataset.features)):
        yield record._replace(value=record.value | beside)


def typed_rows(
    tables: Iterable[pa.Table], place: Place, named: Callable[[Any], Any] = lambda row: row
) -> Iterator[Record]:
    """Yield the rows of Arrow tables, mapped by a function.

    Raises:
        ValueError: A text is not UTF-8.
    """
    number = 0
    for table in tables:
        try:
            rows = table.to_pylist()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{place.at(number + 1)} or one of the next {table.num_rows}: {error}; correct it"
            ) from error
        for row in rows:
            number += 1
            yield Record(place, number, named(row), True)


def features_of(schema: pa.Schema) -> "Features | None":
    """Return the features that `datasets` wrote into a schema; None if there are none or they cannot be read."""
    from datasets import Features

    if b"huggingface" not in (schema.metadata or {}):
        return None
    try:
        return Features.from_arrow_schema(schema)
    except (ValueError, KeyError, TypeError, AttributeError):  # written by another version, or damaged
        return None


def namer(features: "Features | None") -> Callable[[Any], Any]:
    """Return a function that replaces the label ids of a row by names, according to the features of a dataset."""
    from datasets import ClassLabel

    def name(feature: Any, value: Any) -> Any:  # noqa: ANN401 - any feature of `datasets`
        if value is None:
            return None
        if isinstance(feature, ClassLabel):
            return feature.names[value] if 0 <= value < len(feature.names) else value
        if isinstance(feature, dict):
            return {key: name(feature.get(key), inner) for key, inner in value.items()}
        item = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
        return [name(item, inner) for inner in value] if item is not None and isinstance(value, list) else value

    return (lambda row: name(dict(features), row)) if features else lambda row: row


def plain_dialogues(
    file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None
) -> Iterator[Dialogue]:
    """Yield the dialogues of a plain text: one turn per line, one or more empty lines between dialogues.

    Raises:
        ValueError: A line is not valid text, or a dialogue is too long.
    """
    place = Place(f"{name}, line", "line")
    _refuse_stamps([line.strip() for _, line in islice(lines(file, name), _LOOKED_AT) if line.strip()], name)
    file.seek(0)
    turns: list[str] = []
    began = size = 0
    for number, line in lines(file, name, findings):
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
                f"{place.at(number)}: the dialogue is longer than {LARGEST:,} characters: put an empty line between "
                "two dialogues"
            )
    if turns:
        yield Dialogue(f"line-{began}", turns, place, began)


def _refuse_stamps(first: Sequence[str], name: str) -> None:
    """Refuse a text whose lines begin or end with a time: a chat or transcript, whose stamps are not to be labelled.

    Raises:
        ValueError: it is one.
    """
    stamped = [line for line in first if _STAMP.match(line) or _AFTER_NAME.fullmatch(line)]
    if len(stamped) >= max(3, 0.4 * len(first)):
        raise ValueError(
            f"{name} looks like a chat or transcript in a form that is not known, as lines have times, such as "
            f"{shown(stamped[0])}: export it as JSON, .srt or .vtt, or make it a table with the columns speaker and "
            "text"
        )
