"""Error types, readers' judgements, and the resulting error rates. Error types of books are those of the Gutenberg
Dialogue paper (Section 4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from edos_dataset.crowd.agreement import fleiss_kappa, pairwise_agreement
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.untrusted import UntrustedInputError, json_of, shown

SUBTITLES, BOOKS = "subtitles", "books"
KINDS = (SUBTITLES, BOOKS)
"""Where dialogues come from."""

DIALOGUES, PAIRS = "dialogues", "pairs"
UNITS = (DIALOGUES, PAIRS)
"""What is judged: whole dialogues, or two successive turns."""

PAPER_READ: Mapping[str, tuple[int, int]] = {DIALOGUES: (50, 16), PAIRS: (100, 89)}
"""Unit → how many the paper's authors read of their English books, and how many of these had no error."""


@dataclass(frozen=True)
class ErrorType:
    """A kind of error.

    Attributes:
        code: its code in judgements.
        key: key that selects it on the page.
        name: name shown on the page.
        meaning: what it means, in half a sentence.
        units: units in which it can be found.
        paper: unit → how many of those read by the paper's authors have it.
    """

    code: str
    key: str
    name: str
    meaning: str
    units: tuple[str, ...] = UNITS
    paper: Mapping[str, int] = field(default_factory=dict)


@cache
def error_types(kind: str, unit: str = DIALOGUES) -> tuple[ErrorType, ...]:
    """Return the error types in the order of the page.

    Args:
        kind: one of KINDS.
        unit: one of UNITS.

    Raises:
        ValueError: `kind` or `unit` is unknown.
    """
    for name, value, allowed in (("kind", kind, KINDS), ("unit", unit, UNITS)):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(allowed)}")
    listed: list[dict[str, Any]] = yaml.safe_load(
        (files("edos_dataset.audits") / "errors.yaml").read_text(encoding="utf-8")
    )[kind]
    types = (ErrorType(**{**entry, "units": tuple(entry.get("units", UNITS))}) for entry in listed)
    return tuple(one for one in types if unit in one.units)


HINT = "give the file that the audit page's button 'download judgements' saves"


def read_judgements(path: Path) -> dict[str, Any]:
    """Return the contents of a file of judgements from any page; its `judgements` are a list.

    Raises:
        ValueError: the file cannot be read, is not JSON, or has no such list.
    """
    try:
        raw = json_of(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot read {path} ({error.strerror}): {HINT}") from error
    except UntrustedInputError as error:
        raise ValueError(f"{path} is no JSON ({error}): {HINT}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("judgements"), list):
        raise ValueError(f"{path} has no list 'judgements': {HINT}")
    return raw


def of_dialogues(raw: Mapping[str, Any]) -> bool:
    """Return whether judgements are of dialogues, rather than of labels."""
    return "unit" in raw


@dataclass(frozen=True)
class Judgement:
    """A reader's judgement of a dialogue or a pair.

    Attributes:
        reader: who read it.
        item: name of the item.
        digest: digest of its text; readers judged the same item if name and digest are equal.
        groups: for each of GROUPS, the item's group.
        errors: codes of the errors found; empty for none.
    """

    reader: str
    item: str
    digest: str
    groups: Mapping[str, str]
    errors: frozenset[str]


GROUPS = ("source", "document_id", "language", "split", "config")
"""Groupings for breaking rates down; `source` is the folder of the film or book."""


def dialogue_judgements(paths: Sequence[Path]) -> tuple[str, str, list[Judgement]]:
    """Read the judgements made on pages of dialogues.

    Args:
        paths: one file per reader and page. A reader without a name is named after the file.

    Returns:
        Their common kind and unit, and the judgements.

    Raises:
        ValueError: a file is not such a file, files have different kinds or units, or a reader judged the same item in
            two of them.
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
                f"{path} has {unit} of {kind}, and {paths[0]} {first[1]} of {first[0]}: give them in separate calls"
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
        raise ValueError(f"{path} judges labels, not dialogues: give it in another call")
    try:
        error_types(str(kind), str(unit))
    except ValueError as error:
        raise ValueError(f"{path}: {error}: {HINT}") from error
    return str(kind), str(unit)


@cache
def _codes(kind: str, unit: str) -> Sequence[str]:
    return tuple(one.code for one in error_types(kind, unit))


def _judgement(entry: Any, raw: Mapping[str, Any], reader: str, where: str) -> Judgement:  # noqa: ANN401 - of a file
    try:
        item, digest, errors = entry["item"], entry["digest"], entry["errors"]
        groups = {name: str(entry[name]) for name in GROUPS if name != "config"}
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{where}: {shown(error)}, expected item, digest, errors, {', '.join(GROUPS)}: {HINT}"
        ) from error
    if not (isinstance(item, str) and isinstance(digest, str) and isinstance(errors, list)):
        raise ValueError(f"{where}: expected texts as item and digest and a list of errors, got {shown(entry)}: {HINT}")
    known = _codes(raw["kind"], raw["unit"])
    if strange := [error for error in errors if error not in known]:
        raise ValueError(f"{where}: error is {shown(strange[0])}, expected one of {', '.join(known)}")
    return Judgement(reader, item, digest, groups | {"config": str(raw.get("config"))}, frozenset(errors))


ANY = "any error"

_Items = Mapping[tuple[str, str], Sequence[Judgement]]
_Test = Callable[[Judgement], bool]


def dialogue_rates(paths: Sequence[Path], by: str = "source") -> dict[str, Any]:
    """Return the fractions of dialogues, or pairs, without error and with each error.

    An item judged by several readers counts once, with the fraction of them that found the error. Intervals are
    Wilson's (1927), 95 %, for the number of items.

    Args:
        paths: files of judgements, at least one.
        by: one of GROUPS, to break down the fractions without error.

    Returns:
        `kind`, `unit`, `items`; `readers`, name → items read and fractions; `without_error` and `errors`, code →
        figures: `share` (0 to 1), `interval`, and for books `paper`, the fraction that the paper's authors found in
        theirs (Section 4), or None; `groups`, name → figures of those without error; `agreement`, of each error and
        ANY, see `agreement_of`.

    Raises:
        ValueError: see `dialogue_judgements`; or `by` is unknown.
    """
    if by not in GROUPS:
        raise ValueError(f"by is {by!r}, expected one of {', '.join(GROUPS)}")
    kind, unit, judgements = dialogue_judgements(paths)
    types = error_types(kind, unit)
    items = _by_item(judgements)
    tests: dict[str, _Test] = {ANY: lambda one: bool(one.errors)}
    tests |= {one.code: lambda each, code=one.code: code in each.errors for one in types}  # type: ignore[misc]
    errors: dict[str, Any] = {one.code: {"name": one.name, **_share(items, tests[one.code])} for one in types}
    without_error = _share(items, _has_no_error)
    if any(one.paper for one in types):
        read, right = PAPER_READ[unit]
        without_error["paper"] = round(right / read, 4)
        for one in types:
            errors[one.code]["paper"] = round(one.paper[unit] / read, 4) if unit in one.paper else None
    return {
        "kind": kind,
        "unit": unit,
        "items": len(items),
        "readers": _shares_by(items, lambda one: one.reader),
        "without_error": without_error,
        "errors": errors,
        "by": by,
        "groups": _shares_by(items, lambda one: one.groups[by]),
        "agreement": agreement_of(
            [{one.reader: {name: test(one) for name, test in tests.items()} for one in own} for own in items.values()]
        ),
    }


def _has_no_error(one: Judgement) -> bool:
    return not one.errors


def _shares_by(items: _Items, group_of: Callable[[Judgement], str]) -> dict[str, Any]:
    groups: dict[str, dict[tuple[str, str], list[Judgement]]] = {}
    for name, own in items.items():
        for one in own:
            groups.setdefault(group_of(one), {}).setdefault(name, []).append(one)
    return {group: _share(groups[group], _has_no_error) for group in sorted(groups)}


def _by_item(judgements: Sequence[Judgement]) -> dict[tuple[str, str], list[Judgement]]:
    items: dict[tuple[str, str], list[Judgement]] = {}
    for one in judgements:
        items.setdefault((one.item, one.digest), []).append(one)
    return items


def _share(items: _Items, fits: _Test) -> dict[str, Any]:
    shares = [sum(map(fits, own)) / len(own) for own in items.values() if own]
    share = float(np.mean(shares))
    return {"items": len(shares), "share": round(share, 4), "interval": wilson(share, len(shares))}


def agreement_of(found: Sequence[Mapping[str, Mapping[str, bool]]]) -> dict[str, Any] | None:
    """Return how far readers agree.

    Args:
        found: for each item, reader → question → the reader's answer.

    Returns:
        None if no item has two readers, else `items` with two or more, `readers` of these, and `of`, question →
        `agreed` (fraction of the pairs of readers), `fleiss_kappa` and, with exactly two readers, `cohen_kappa`, each
        None where undefined.
    """
    several = [answers for answers in found if len(answers) > 1]
    if not several:
        return None
    readers = sorted({reader for answers in several for reader in answers})
    questions = next(iter(several[0].values()))
    return {
        "items": len(several),
        "readers": readers,
        "of": {
            question: _kappas([[own[question] for _, own in sorted(answers.items())] for answers in several], readers)
            for question in questions
        },
    }


def _kappas(found: Sequence[Sequence[bool]], readers: Sequence[str]) -> dict[str, float | None]:
    counts = np.array([[len(own) - sum(own), sum(own)] for own in found])
    kappas = {"agreed": pairwise_agreement(counts), "fleiss_kappa": fleiss_kappa(counts)}
    if len(readers) == 2:
        kappas["cohen_kappa"] = _cohen(np.array(found))
    return {name: None if np.isnan(value) else round(value, 4) for name, value in kappas.items()}


def _cohen(found: np.ndarray) -> float:
    """Return Cohen's (1960) kappa of two readers, [items, 2]; NaN if all their answers are equal."""
    if len(np.unique(found)) < 2:
        return float("nan")
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(found[:, 0], found[:, 1]))
