"""The formats of source files, one record each: our own for subtitles and books, and other packages' for subtitles.

A package adds a subtitle format through an entry point in the group GROUP, with the format's kind as its name and the
Format as its object. Worker processes find it too, as they see the same installed packages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.entry_points import distribution_of, load
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.sources.books.book import Book
from edos_dataset.sources.books.plain import declared_encoding, decode_text, read_text, refuse_endless, unwrap
from edos_dataset.sources.books.tei import read_tei
from edos_dataset.sources.books.web import read_epub, read_html
from edos_dataset.sources.chats import NotAChatError, read_chat
from edos_dataset.sources.parsed import Parsed
from edos_dataset.sources.scripts import NotAScriptError, read_fdx, read_fountain, read_script
from edos_dataset.sources.subtitles.reading import read_any

GROUP = "edos_dataset.formats"
"""Group of the entry points by which packages add formats."""

RESERVED: tuple[str, ...] = (".zip", ".gz")
"""Suffixes that say how a file is packed, not what is in it."""


@dataclass(frozen=True)
class Format:
    """A format of subtitle files.

    Attributes:
        kind: its name, as in the column `kind`.
        suffixes: suffixes of its files in lower case, with their dot (".srt"); each is also accepted with ".gz" after
            it.
        reader: takes the unpacked bytes of a file and the code of the expected language, and returns its lines; raises
            ReadError for a file that it cannot read.
        bytes_per_sentence: approximate bytes per sentence in an unpacked file; with `packing`, used to estimate the
            sentences in a file before it is opened.
        packing: compression ratio of gzip or zip on such files.
        whole_sentences: whether its lines are whole sentences, not lines as shown on a screen.
        messages: whether its lines are chat messages with speaker and time, which need no cleaning or guessing.
        scripted: whether its lines are the speeches of a screenplay with speaker and scene, which need none either.
    """

    kind: str
    suffixes: tuple[str, ...]
    reader: Callable[[bytes, str], Parsed]
    bytes_per_sentence: float
    packing: float
    whole_sentences: bool = False
    messages: bool = False
    scripted: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for suffix in self.suffixes:
            if suffix != suffix.lower() or suffix.rfind(".") != 0 or suffix == "." or suffix in RESERVED:
                raise ValueError(
                    f"format {self.kind!r}: {suffix!r} is not a valid suffix; give one dot and the rest in lower case, "
                    f"other than {' and '.join(RESERVED)}"
                )
        if not (self.bytes_per_sentence > 0 and self.packing > 0):
            raise ValueError(
                f"format {self.kind!r}: bytes_per_sentence is {self.bytes_per_sentence} and packing {self.packing}; "
                "both must be above 0"
            )


@dataclass(frozen=True)
class BookFormat:
    """A format of book files.

    Attributes:
        kind: its name, as in the column `kind`.
        suffixes: as for `Format`.
        reader: takes the unpacked bytes of a file, its name and the code of the expected language; returns the book.
    """

    kind: str
    suffixes: tuple[str, ...]
    reader: Callable[[bytes, str, str | None], Book]


def read_json(data: bytes, language: str = "en") -> Parsed:
    """Read JSON: an export of a chat, or a transcript. Arguments and errors are those of `read_any`."""
    try:
        return replace(read_chat(data, language), kind="chat")
    except NotAChatError:
        return read_any(data, language)


def read_text_file(data: bytes, language: str = "en") -> Parsed:
    """Read a plain text, a table or a page: an export of a chat, or a screenplay. Arguments and errors are those of
    `read_chat`; the reason is also not_a_script.
    """
    try:
        return replace(read_chat(data, language), kind="chat")
    except NotAChatError as error:
        try:
            return read_script(data, language)
        except NotAScriptError as other:
            raise NotAChatError(error.reason, f"{error.detail}; {other.detail}") from error


_SUBTITLES = (".srt", ".vtt", ".ass", ".ssa", ".sbv", ".sub", ".smi", ".sami", ".lrc", ".mpl", ".tmp")
OURS: tuple[Format, ...] = (
    # Parsed XML: a sentence is 5 to 6 words and their tags.
    Format("opus", (".xml",), read_any, bytes_per_sentence=300.0, packing=5.5, whole_sentences=True),
    Format("subtitle", _SUBTITLES, read_any, bytes_per_sentence=50.0, packing=2.4),
    Format("ttml", (".ttml", ".dfxp", ".itt", ".imsc"), read_any, bytes_per_sentence=200.0, packing=6.0),
    Format("timedtext", (".srv1", ".srv2", ".srv3", ".json3"), read_any, bytes_per_sentence=300.0, packing=8.0),
    Format("transcript", (".json",), read_json, bytes_per_sentence=400.0, packing=6.0),
    Format("chat", (".txt", ".csv"), read_text_file, 80.0, packing=4.0, whole_sentences=True, messages=True),
    Format("script", (".html", ".htm"), read_text_file, 150.0, packing=3.0, scripted=True),
    Format("fountain", (".fountain", ".spmd"), read_fountain, 100.0, packing=2.5, scripted=True),
    Format("fdx", (".fdx",), read_fdx, 500.0, packing=8.0, scripted=True),
)
"""The subtitle formats of this package."""

_BOOKS = (
    BookFormat("text", (".txt", ".text"), read_text),
    BookFormat("tei", (".xml", ".tei"), read_tei),
    BookFormat("html", (".html", ".htm", ".xhtml"), read_html),
    BookFormat("epub", (".epub",), read_epub),
)
BOOK_FORMATS: dict[str, BookFormat] = {
    suffix + packed: format for format in _BOOKS for suffix in format.suffixes for packed in ("", ".gz")
}
"""Suffix → book format, for every suffix that a file may have: ".txt" and ".txt.gz"."""


@cache
def formats() -> Mapping[str, Format]:
    """Return all subtitle formats by kind: ours, then those of installed packages, ordered by name.

    Raises:
        ValueError: a package's format cannot be loaded, or its kind or one of its suffixes is taken.
    """
    known = {format.kind: format for format in OURS}
    owner = {key: "edos-dataset" for format in OURS for key in (format.kind, *format.suffixes)}
    for entry in _entries():
        format, package = _load(entry), distribution_of(entry)
        for key in (format.kind, *format.suffixes):
            if key in owner:
                what = "kind" if key == format.kind else "suffix"
                raise ValueError(
                    f"the source format {entry.name!r} of {package} has the {what} {key!r}, which is taken "
                    f"by {owner[key]}; uninstall one of the two, or give the format another {what}"
                )
            owner[key] = package
        known[format.kind] = format
    return known


@cache
def formats_by_suffix() -> Mapping[str, Format]:
    """Return the subtitle formats by every suffix that a file may have: ".srt" and ".srt.gz"."""
    return {
        suffix + packed: format for format in formats().values() for suffix in format.suffixes for packed in ("", ".gz")
    }


def of_scripts(sources: pa.ChunkedArray) -> np.ndarray:
    """Return which documents are screenplays, bool [documents], given their column `source`."""
    return _with(sources, lambda format: format.scripted)


def with_speakers(sources: pa.ChunkedArray) -> np.ndarray:
    """Return in which documents every line has its speaker, chats and screenplays, given their column `source`; bool
    [documents].
    """
    return _with(sources, lambda format: format.messages or format.scripted)


def _with(sources: pa.ChunkedArray, holds: Callable[[Format], bool]) -> np.ndarray:
    known = formats()
    kinds = pc.struct_field(sources, "kind").to_pylist()
    return np.array([kind in known and holds(known[kind]) for kind in kinds], bool)


def split_suffix(path: str) -> tuple[str, str]:
    """Split a path into stem and suffix in lower case; `.gz` is part of the suffix: ("a/b", ".srt.gz")."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return path, ""
    suffix = suffix.lower()
    if suffix == "gz" and "." in stem:
        stem, _, inner = stem.rpartition(".")
        suffix = f"{inner.lower()}.gz"
    return f"{folder}{slash}{stem}", f".{suffix}"


def code_of_others() -> dict[str, str]:
    """Return a hash of the code of each other package's format, by "format KIND", so that runs notice its edits."""
    known = formats()
    return {
        f"format {entry.name}": hash_json(
            [code_hash(module) for module in sorted({entry.module, known[entry.name].reader.__module__})]
        )
        for entry in _entries()
    }


def _entries() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))


def _load(entry: EntryPoint) -> Format:
    format = load(entry)
    if not isinstance(format, Format) or format.kind != entry.name:
        raise ValueError(
            f"the source format {entry.name!r} of {distribution_of(entry)}: {entry.value} is {format!r}; expected a "
            f"Format of the kind {entry.name!r}"
        )
    return format


def read_book(data: bytes, name: str, language: str | None) -> Book:
    """Read a book in the format given by the suffix of its file, with other suffixes as plain text.

    Args:
        data: unpacked content of the file.
        name: name of the file; those of Project Gutenberg also indicate the encoding ("1234-8.txt").
        language: code of the expected language, for guessing an encoding, or null.

    Raises:
        ReadError: with the reason not_a_book, unknown_encoding, malformed_xml, malformed_epub, forbidden_xml,
            truncated, too_large or unreadable.
    """
    format = BOOK_FORMATS.get(split_suffix(name)[1])
    return (format.reader if format else read_text)(data, name, language)


def read_plain(data: bytes, name: str, strip: bool = True) -> str:
    """Return a book as the single text that the recipe `papers` reads (Csáky & Recski, 2021, Section 3.1).

    The authors' code reads only UTF-8. Their books had been converted to it, so their counts are reproduced only if
    each book is read in its actual encoding, without header and licence (evaluation/gutenberg_parity.py).

    In formats other than plain text, each block is a paragraph, followed by a blank line.

    Args:
        data: unpacked content of the file.
        name: name of the file.
        strip: remove Project Gutenberg's header and licence.

    Raises:
        ReadError: as for `read_book`.
    """
    format = BOOK_FORMATS.get(split_suffix(name)[1])
    if format and format.kind != "text":
        return "\n\n".join(block.text for block in read_book(data, name, None).blocks) + "\n"
    text = decode_text(data, declared_encoding(data, name), None)[0]
    refuse_endless(text)
    return unwrap(text).text if strip else text
