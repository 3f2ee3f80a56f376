"""The formats that sources come in: one record each, ours and those of other packages.

A package adds a format by an entry point of the group GROUP, whose name is the format's kind and whose object is the
Format. Worker processes find it as the command does, as they see the same installed packages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from edos_dataset.runs.entry_points import distribution_of, load
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.sources.parsed import Parsed
from edos_dataset.sources.subtitles.opus import parse_opus
from edos_dataset.sources.subtitles.text import parse_subtitles

GROUP = "edos_dataset.formats"
"""Group of the entry points by which packages add formats."""

RESERVED: tuple[str, ...] = (".zip", ".gz")
"""Suffixes that say how a file is packed, not what is in it."""


@dataclass(frozen=True)
class Format:
    """A format of source files.

    Attributes:
        kind: its name, as the column `kind` holds it.
        suffixes: those of its files, in lower case with their dot (".srt"); the same with ".gz" behind are of the
            format too.
        reader: gives the lines of a file; takes its bytes, unpacked, and the code of the language expected; raises
            ReadError for a file that it cannot read.
        bytes_per_sentence: bytes of an unpacked file that hold about one sentence; with `packing` it says how much a
            file holds before it is opened.
        packing: how many times smaller gzip or zip makes such a file.
        whole_sentences: its lines are whole sentences, not what a screen showed.
    """

    kind: str
    suffixes: tuple[str, ...]
    reader: Callable[[bytes, str], Parsed]
    bytes_per_sentence: float
    packing: float
    whole_sentences: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for suffix in self.suffixes:
            if suffix != suffix.lower() or suffix.rfind(".") != 0 or suffix == "." or suffix in RESERVED:
                raise ValueError(
                    f"format {self.kind!r}: {suffix!r} is no suffix of a format; give one dot and what stands behind "
                    f"it in lower case, other than {' and '.join(RESERVED)}"
                )
        if not (self.bytes_per_sentence > 0 and self.packing > 0):
            raise ValueError(
                f"format {self.kind!r}: bytes_per_sentence is {self.bytes_per_sentence} and packing {self.packing}; "
                "both must be above 0"
            )


OURS: tuple[Format, ...] = (
    # Parsed XML: a sentence is 5 to 6 words and their tags.
    Format("opus", (".xml",), parse_opus, bytes_per_sentence=300.0, packing=5.5, whole_sentences=True),
    Format("subtitle", (".srt", ".vtt", ".ass", ".ssa"), parse_subtitles, bytes_per_sentence=50.0, packing=2.4),
)
"""The formats of this package."""


@cache
def formats() -> Mapping[str, Format]:
    """Return all formats by kind: ours, then those of installed packages in the order of their names.

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
    """Return the formats by every suffix that a file may have: ".srt" and ".srt.gz"."""
    return {
        suffix + packed: format for format in formats().values() for suffix in format.suffixes for packed in ("", ".gz")
    }


def code_of_others() -> dict[str, str]:
    """Return a hash of the code of each format of another package, by "format KIND": a run must notice its edits."""
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
