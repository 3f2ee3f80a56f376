"""The files of judgements that the pages give, read and looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edos_dataset.audits.errors import error_types
from edos_dataset.runs.foreign import ForeignError, json_of, shown

HINT = "give the file that the audit page's button 'download judgements' saves"


def read_judgements(path: Path) -> dict[str, Any]:
    """Return what a file of judgements holds, whatever page it is of; its `judgements` are a list.

    Raises:
        ValueError: it cannot be read, is no JSON, or has no such list.
    """
    try:
        raw = json_of(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot read {path} ({error.strerror}): {HINT}") from error
    except ForeignError as error:
        raise ValueError(f"{path} is no JSON ({error}): {HINT}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("judgements"), list):
        raise ValueError(f"{path} has no list 'judgements': {HINT}")
    return raw


def of_dialogues(raw: Mapping[str, Any]) -> bool:
    """Return whether judgements are of dialogues, or else of labels."""
    return "unit" in raw


@dataclass(frozen=True)
class Judgement:
    """What a reader found in a dialogue or a pair.

    Attributes:
        reader: who read it.
        item: its name.
        digest: of its text; with the name it tells whether two readers read the same.
        groups: what it is grouped by, GROUPS → its own.
        errors: codes of what was found; empty for no error.
    """

    reader: str
    item: str
    digest: str
    groups: Mapping[str, str]
    errors: frozenset[str]


GROUPS = ("source", "document_id", "language", "split", "config")
"""What rates may be told apart by; `source` is the folder that the film or book lies in."""


def dialogue_judgements(paths: Sequence[Path]) -> tuple[str, str, list[Judgement]]:
    """Read what was judged on pages of dialogues.

    Args:
        paths: one file a reader and page. Who left the name of the reader empty is called as the file.

    Returns:
        Kind and unit of all of them, and the judgements.

    Raises:
        ValueError: a file is no such file, or two are of different kinds or units, or the same reader judges something
            in two of them.
    """
    found: list[Judgement] = []
    first: tuple[str, str] | None = None
    seen: dict[tuple[str, str, str], Path] = {}
    for path in paths:
        raw = read_judgements(path)
        kind, unit = _about(raw, path)
        first = first or (kind, unit)
        if (kind, unit) != first:
            raise ValueError(
                f"{path} has {unit} of {kind}, and {paths[0]} {first[1]} of {first[0]}: give them apart, one call each"
            )
        reader = raw.get("reader") or path.stem
        for number, entry in enumerate(raw["judgements"], 1):
            one = _judgement(entry, raw, str(reader), f"{path}, judgement {number} (from 1)")
            if (name := (one.reader, one.item, one.digest)) in seen:
                raise ValueError(
                    f"{path}: reader {shown(one.reader)} judges {shown(one.item)}, as in {seen[name]}: leave out one "
                    "of the files, or name each reader on the page"
                )
            seen[name] = path
            found.append(one)
    if first is None or not found:
        raise ValueError(f"no judgement in {', '.join(map(str, paths)) or 'no file'}: judge on the page, then {HINT}")
    return *first, found


def _about(raw: Mapping[str, Any], path: Path) -> tuple[str, str]:
    kind, unit = raw.get("kind"), raw.get("unit")
    if not of_dialogues(raw):
        raise ValueError(f"{path} judges labels, not dialogues: such a file is read alone")
    try:
        error_types(str(kind), str(unit))
    except ValueError as error:
        raise ValueError(f"{path}: {error}: {HINT}") from error
    return str(kind), str(unit)


def _judgement(entry: Any, raw: Mapping[str, Any], reader: str, where: str) -> Judgement:  # noqa: ANN401 - of a file
    try:
        item, digest, errors = entry["item"], entry["digest"], entry["errors"]
        groups = {name: str(entry[name]) for name in GROUPS if name != "config"}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{where}: {error!r}, expected item, digest, errors, {', '.join(GROUPS)}: {HINT}") from error
    if not (isinstance(item, str) and isinstance(digest, str) and isinstance(errors, list)):
        raise ValueError(f"{where}: expected texts as item and digest and a list of errors, got {shown(entry)}: {HINT}")
    known = [one.code for one in error_types(raw["kind"], raw["unit"])]
    if strange := [error for error in errors if error not in known]:
        raise ValueError(f"{where}: error is {shown(strange[0])}, expected one of {', '.join(known)}")
    return Judgement(reader, item, digest, groups | {"config": str(raw.get("config"))}, frozenset(errors))
