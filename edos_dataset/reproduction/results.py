"""Measuring rows: the figures on public data and on a run, and the verdict that follows from them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.reproduction.rows import MEASURED, Number, Row
from edos_dataset.reproduction.stated import value_at
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.stores.reading import sha256_of


class MissingInputError(Exception):
    """An input that an experiment reads is not there; the message says how to get it."""


class Estimate(NamedTuple):
    """A figure.

    Attributes:
        value: the figure, or whether a statement holds.
        low: lower end of its 95 % interval; None if it has none, as a count.
        high: upper end.
        number: number of units that it was measured on.
        seed: seed of what is random; None if nothing is.
    """

    value: Number
    low: float | None = None
    high: float | None = None
    number: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Measured:
    """A figure of a row, three ways.

    Attributes:
        authors: measured on what the authors published: their labels, their texts.
        ours: measured on the same texts with our models or our code in the place of theirs.
        yours: measured on a run of yours.
    """

    authors: Estimate | None = None
    ours: Estimate | None = None
    yours: Estimate | None = None


VERDICTS = {
    "same": "the paper's figure, within its interval or its last digit; or the same way of doing it",
    "better": "better than the paper",
    "partly": "some figures are the paper's, or a part is done",
    "worse": "worse than the paper",
    "argued": "another way, or nothing, on purpose: the row says why",
    "differs": "another figure than the paper's",
    "incomplete": "another figure, from a part of what the authors published",
    "cannot": "not measured: the row says what is missing",
    "missing": "not done here",
}
"""Verdict → what it means."""

Experiment = Callable[["Data"], Mapping[str, Measured]]


@dataclass(frozen=True)
class Data:
    """What experiments read.

    Attributes:
        folder: folder of the data sets, named as `edos download` names them; None if there is none.
        run: folder written by `edos curate`; None if there is none.
        results: folder in which the commands of long rows write.
    """

    folder: Path | None = None
    run: Path | None = None
    results: Path = Path("reproduced")
    _found: dict[str, Mapping[str, Measured] | MissingInputError] = field(default_factory=dict)
    _read: set[Path] = field(default_factory=set)

    def path(self, *parts: str) -> Path:
        """Return a file or folder of a data set.

        Args:
            parts: name of the data set and what follows it.

        Raises:
            MissingInputError: it is not there.
        """
        if self.folder is None:
            raise MissingInputError(f"no data folder: edos download {parts[0]}, then --data FOLDER (or EDOS_DATA_DIR)")
        path = self.folder.joinpath(*parts)
        if not path.exists():
            raise MissingInputError(f"{path} is missing: edos download {parts[0]} --out {self.folder}")
        self._read.add(path)
        return path

    def inputs(self) -> dict[str, str]:
        """Return the SHA-256 of every file that was read, by its path below the folder, with which two readers can see
        whether they measured the same data: the authors publish no digests.
        """
        files = {file for path in self._read for file in ([path] if path.is_file() else path.rglob("*"))}
        return {
            file.relative_to(self.folder or file.anchor).as_posix(): sha256_of(file)
            for file in sorted(files)
            if file.is_file()
        }

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the run.

        Raises:
            MissingInputError: there is no run.
        """
        if self.run is None:
            raise MissingInputError("no run: edos curate FOLDER --out edos, then --run edos")
        return read_manifest(self.run)

    def measured(self, experiment: str) -> Mapping[str, Measured]:
        """Return the figures of an experiment, measured once.

        Raises:
            MissingInputError: an input is missing.
        """
        if experiment not in self._found:
            module, _, name = experiment.partition(":")
            function: Experiment = getattr(import_module(f"edos_dataset.reproduction.experiments.{module}"), name)
            try:
                self._found[experiment] = function(self)
            except MissingInputError as error:
                self._found[experiment] = error
        found = self._found[experiment]
        if isinstance(found, MissingInputError):
            raise found
        return found


@dataclass(frozen=True)
class Result:
    """A row with its figures.

    Attributes:
        row: the row.
        figures: name → the figure; empty if nothing could be measured.
        verdict: one of `VERDICTS`.
        reason: for "cannot" and "incomplete", what is missing.
    """

    row: Row
    figures: Mapping[str, Measured]
    verdict: str
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "row": self.row.name,
            "paper": self.row.paper,
            "at": self.row.at,
            "claim": self.row.claim,
            "cost": self.row.cost,
            "verdict": self.verdict,
            "reason": self.reason,
            "here": self.row.here,
            "command": self.row.command,
            "figures": {
                name: {"paper": self.row.figures.get(name)}
                | {
                    way: None if estimate is None else estimate._asdict()
                    for way, estimate in (("authors", it.authors), ("ours", it.ours), ("yours", it.yours))
                }
                for name, it in self.figures.items()
            },
        }


def reproduce(rows: Sequence[Row], data: Data) -> Iterator[Result]:
    """Yield the result of each row, measuring those that take seconds or minutes.

    A missing input makes the verdict "cannot"; it is never an error.
    """
    for row in rows:
        try:
            figures = _figures(row, data)
        except MissingInputError as error:
            yield Result(row, {}, "cannot", str(error))
            continue
        yield _judged(row, figures)


def _figures(row: Row, data: Data) -> Mapping[str, Measured]:
    if row.cost in MEASURED:
        assert row.measure is not None
        found = data.measured(row.measure)
        return {name: found[name] for name in row.figures if name in found}
    return {
        name: Measured(ours=Estimate(value))
        for file, places in row.results.items()
        for name, place in places.items()
        if (value := _collected(data.results / file, place)) is not None
    }


def _collected(path: Path, place: str) -> float | None:
    """Return the figure that a long run wrote; None if it has not."""
    try:
        return float(value_at(json.loads(path.read_text(encoding="utf-8")), place))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _reason(row: Row) -> str:
    return {
        "hours": "takes hours",
        "gpu": "needs a GPU and the models of the papers",
        "corpus": "needs the whole corpus",
        "people": "needs people",
        "network": "needs the network",
        "data": "the authors did not publish the data",
    }[row.cost]


def _judged(row: Row, figures: Mapping[str, Measured]) -> Result:
    verdict = _verdict(row, figures)
    found = [it.authors or it.ours for it in figures.values()]
    numbers = [estimate.number for estimate in found if estimate is not None and estimate.number]
    if row.complete and numbers and numbers[0] < row.complete and verdict != "same":
        return Result(row, figures, "incomplete", f"{numbers[0]:,} of {row.complete:,} are at hand")
    return Result(row, figures, verdict, _reason(row) if verdict == "cannot" else None)


def _verdict(row: Row, figures: Mapping[str, Measured]) -> str:
    """Return the verdict: that of the worst figure, or what is held without figures or of another figure."""
    said = [
        compare(row.figures[name], it, row.within) for name, it in figures.items() if row.figures.get(name) is not None
    ]
    if not said:
        return row.held or ("same" if figures else "cannot")
    if all(word == "same" for word in said):
        return "same"
    return row.held or ("partly" if "same" in said else "differs")


def compare(paper: Number | None, measured: Measured, within: float | None) -> str:
    """Return "same" or "differs" of a figure.

    It is the same if the paper's figure lies in the interval, or no further away than `within` of it, or half of its
    last printed digit. The authors' own data count first, then ours on it, then yours.
    """
    found = next(it for it in (measured.authors, measured.ours, measured.yours) if it is not None)
    assert paper is not None
    if isinstance(paper, bool) or isinstance(found.value, bool):
        return "same" if paper == found.value else "differs"
    printed = f"{paper}".partition(".")[2]
    slack = max(0.5 * 10 ** -len(printed) if printed else 0.5, (within or 0) * abs(paper))
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    return "same" if low - slack <= paper <= high + slack else "differs"
