"""The file formats of dialogues and how each is recognised.

A new format is one entry of `TABLE` and one function in `readers` or `sheets`. Readers are named, not imported, because
`edos --help` loads this module.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

DIALOGUE_KEYS = ("turns", "messages", "dialogue", "dialog", "conversation", "conversations", "utterances")
TEXT_KEYS = (
    "text", "utterance", "content", "value", "message", "sentence", "msg", "body", "message_text", "message_body",
    "utterance_text", "turn_text", "comment", "transcript", "nachricht", "nachrichtentext", "aussage",
    "äußerung", "aeusserung", "satz", "inhalt", "beitrag", "kommentar", "transkript",
)  # fmt: skip
"""Names of columns of texts, the most likely first; `DIALOGUE_KEYS` are those of lists of turns. Case is ignored."""
DELIMITERS = (",", "\t", ";", "|")
PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARRO"
ZIP_MAGIC = b"PK\x03\x04"


class Beginning(NamedTuple):
    """The beginning of a file whose name does not decide the format.

    Attributes:
        magic: The first four bytes.
        line: The first line that is not blank, stripped; "" if there is none, or the file is binary.
        is_table: Whether one of the first lines is the header of a table with a text column.
        is_text: Whether the name has the suffix of a plain text.
        is_stdin: Whether the file is standard input.
    """

    magic: bytes
    line: str
    is_table: bool
    is_text: bool
    is_stdin: bool


class Form(NamedTuple):
    """A file format.

    Attributes:
        name: Value of `--format`.
        suffixes: Suffixes of its files, without ".gz".
        recognises: Whether a file with this beginning has the format; formats are tried in the order of the table.
        reader: Module and name of the function that yields the records of a file, given the file, its name in messages,
            and what the user selected.
        has_records: Whether the reader yields records; otherwise it yields dialogues.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Beginning], bool]
    reader: str
    has_records: bool = True


TABLE = (
    Form(
        "jsonl",
        (".jsonl", ".ndjson"),
        lambda begin: begin.line.startswith("{") and begin.line.endswith("}"),
        "readers.json_lines",
    ),
    Form(
        "json",
        (".json",),
        lambda begin: begin.line.startswith("{") or (begin.line.startswith("[") and not begin.is_text),
        "readers.json_values",
    ),
    Form(
        "csv",  # also for tabs and semicolons
        (".csv", ".tsv", ".tab"),
        lambda begin: begin.is_table and (not begin.is_text or "\t" in begin.line),  # Excel names tables .txt, too
        "sheets.csv_rows",
    ),
    Form("parquet", (".parquet", ".pq"), lambda begin: begin.magic == PARQUET_MAGIC, "readers.parquet_rows"),
    Form("arrow", (".arrow", ".feather", ".ipc"), lambda begin: begin.magic == ARROW_MAGIC, "readers.arrow_rows"),
    Form("xlsx", (".xlsx", ".xlsm", ".xls"), lambda begin: begin.magic == ZIP_MAGIC, "sheets.xlsx_rows"),
    Form(
        "text",
        (".txt", ".text"),
        lambda begin: begin.is_text or begin.is_stdin or not begin.line,
        "readers.plain_dialogues",
        has_records=False,
    ),
)

SPOKEN = Form("spoken", (), lambda begin: False, "", has_records=False)
"""Format of chats, subtitles and transcripts, which `chats.chat_in` and `films.film_in` read whole."""

SUFFIXES = {form.name: form.suffixes for form in TABLE}
"""Format → suffixes."""

FORMS = tuple(SUFFIXES)
"""Names of the formats."""

WRITTEN = ("jsonl", "json", "csv", "tsv", "parquet", "arrow", "xlsx")
"""Formats that can be written; JSON lines and JSON contain dialogues, all others are tables."""


def form_by_name(source: str) -> Form | None:
    """Return the format according to the suffix of a name; None for an unknown suffix."""
    suffix = Path(source.removesuffix(".gz")).suffix.lower()
    return next((form for form in TABLE if suffix in form.suffixes), None)
