"""Readings by hand: draws a sample, writes a sheet without sources, reads the reader's verdicts, and counts them.

The readings (`judged_turns.py`, `judged_languages.py`, `judged_dialogues.py`, `judged_books.py`,
`judged_responses.py`) define as a `Reading` what they draw, show and count; everything else is here.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from edos_dataset.arrays import Bools
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.releases.dialogues import read_config
from edos_dataset.runs.shards import write_text
from edos_dataset.text import shown
from training.examples import report as say

OK = "ok"
"""The verdict on a record without error."""


class OnSheet(Protocol):
    """A record with its number on the sheet; a dataclass."""

    @property
    def number(self) -> int:
        """From 1."""


Record = TypeVar("Record", bound=OnSheet)


class Sample(NamedTuple, Generic[Record]):
    """A sample: its records, the text of the sheet, and a one-line summary."""

    records: Sequence[Record]
    sheet: str
    summary: str


@dataclass(frozen=True)
class Reading(Generic[Record]):
    """A kind of reading by hand.

    Attributes:
        doc: description of the command.
        judged: default file of the judged records; the figures are written beside it, as JSON.
        what: name of a record for messages: "dialogue".
        record_of: row of a records' file → record.
        judge: records by number, and a reader's line → the record with its verdict. Raises ValueError for a malformed
            line.
        tally: judged records → figures.
        show: prints figures.
        add_options: adds the options of `sample`.
        sample: options → the sample.
        keep: previously judged records and new ones → the records to store; by default the new ones.
        add_steps: adds further steps.
    """

    doc: str
    judged: Path
    what: str
    record_of: Callable[[dict[str, Any]], Record]
    judge: Callable[[Mapping[int, Record], str], Record]
    tally: Callable[[Sequence[Record]], dict[str, Any]]
    show: Callable[[dict[str, Any]], None]
    add_options: Callable[[argparse.ArgumentParser], None]
    sample: Callable[[argparse.Namespace], Sample[Record]]
    keep: Callable[[Sequence[Record], Sequence[Record]], Sequence[Record]] = lambda _, new: new
    add_steps: Callable[["argparse._SubParsersAction[argparse.ArgumentParser]"], None] = lambda steps: None

    def read(self, path: Path) -> list[Record]:
        """Read records that `jsonl_of` wrote.

        Raises:
            ValueError: a line is not a record.
        """
        records = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                records.append(self.record_of(json.loads(line)))
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise ValueError(f"{path}, line {number} is no {self.what} that was drawn: {error}") from error
        return records

    def with_verdicts(self, records: Sequence[Record], paths: Sequence[Path]) -> list[Record]:
        """Return the records of a sheet with the reader's verdicts, in the order of the sheet.

        Args:
            records: the records as drawn.
            paths: files with a line per record; blank lines and lines that begin with # are skipped.

        Raises:
            ValueError: a line is malformed, or a record is judged twice or not at all; the message names it.
        """
        drawn, read = {record.number: record for record in records}, dict[int, Record]()
        for where, line in _lines_of(paths):
            try:
                record = self.judge(drawn, line)
                if record.number in read:
                    raise ValueError(f"{self.what} {record.number} is read already")
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error
            read[record.number] = record
        if missing := sorted(drawn.keys() - read.keys()):
            raise ValueError(f"{len(missing)} {self.what}s are not read, such as {missing[0]}: each needs a line")
        return [read[number] for number in drawn]

    def main(self, given: Sequence[str] | None = None) -> None:
        """Run the step that the command line names; errors in its files end with a message."""
        parser = argparse.ArgumentParser(description=self.doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        steps = parser.add_subparsers(required=True)
        step = steps.add_parser("sample", help=f"draw {self.what}s, write the sheet and its key")
        step.set_defaults(step=self._sample)
        self.add_options(step)
        step.add_argument("--out", type=Path, required=True, help="folder for sheet.txt and key.jsonl")
        step = steps.add_parser("tally", help="add the verdicts to the judged records, and count")
        step.set_defaults(step=self._count)
        step.add_argument("--key", type=Path, help="the key that `sample` wrote")
        step.add_argument("--verdicts", type=Path, nargs="+", default=[], help="files that the reader wrote")
        step.add_argument(
            "--judged", type=Path, default=self.judged, help=f"the file of judged {self.what}s; figures go beside it"
        )
        self.add_steps(steps)
        arguments = parser.parse_args(given)
        if "key" in arguments and bool(arguments.key) != bool(arguments.verdicts):
            parser.error("--key and --verdicts go together: give both, or neither to count again")
        try:
            arguments.step(arguments)
        except (OSError, ValueError, ModuleNotFoundError) as error:
            sys.exit(f"error: {error}")

    def _sample(self, arguments: argparse.Namespace) -> None:
        records, sheet, summary = self.sample(arguments)
        write_text(arguments.out / "key.jsonl", jsonl_of(records))
        write_text(arguments.out / "sheet.txt", sheet)
        say(f"{summary}: {arguments.out / 'sheet.txt'}")

    def _count(self, arguments: argparse.Namespace) -> None:
        judged = arguments.judged
        if arguments.key:
            new = self.with_verdicts(self.read(arguments.key), arguments.verdicts)
            write_text(judged, jsonl_of(self.keep(self.read(judged) if judged.exists() else [], new)))
        figures = self.tally(self.read(judged))
        write_text(judged.with_suffix(".json"), json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
        self.show(figures)


def _lines_of(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line.strip() and not line.startswith("#"):
                yield f"{path}, line {number}", line


def jsonl_of(records: Sequence[Any]) -> str:
    """Return records, dataclasses, as JSON lines."""
    return "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def numbered(drawn: Mapping[int, Record], line: str, what: str, form: str) -> tuple[Record, str]:
    """Return the record whose number begins a reader's line, and the rest of the line.

    Raises:
        ValueError: the line is malformed, or the sheet has no such number.
    """
    number, _, rest = line.strip().partition(" ")
    if not number.isdecimal() or not rest:
        raise ValueError(f"expected {form}, got {shown(line)}")
    if int(number) not in drawn:
        raise ValueError(f"the sheet has no {what} {number}")
    return drawn[int(number)], rest


def header_of(instructions: str, verdicts: Mapping[str, str]) -> str:
    """Return the head of a sheet: the instructions, and every verdict with its meaning."""
    return instructions + "".join(f"#   {verdict}: {meaning}\n" for verdict, meaning in verdicts.items())


def even_numbers(number: int, parts: int) -> list[int]:
    """Return how many to draw from each part, as evenly as possible; earlier parts get one more."""
    return [number // parts + (place < number % parts) for place in range(parts)]


def share_of(right: Bools, groups: np.ndarray, of: Bools, unit: str) -> dict[str, Any]:
    """Return the number of items selected by `of` (under the name `unit`), the fraction of them that is right, and its
    95 % interval from a bootstrap over groups.
    """
    columns = np.stack([right, np.ones(len(right))], axis=1)[of]
    if not len(columns):
        return {unit: 0, "share": None, "interval": [None, None]}
    sums = resampled(columns, groups[of])
    return {
        unit: len(columns),
        "share": round(float(columns[:, 0].mean()), 4),
        "interval": interval(sums[:, 0] / sums[:, 1]),
    }


def share_by_pool(right: Bools, groups: np.ndarray, pools: Sequence[str], unit: str) -> dict[str, Any]:
    """Return the fraction that is right in each pool, by name; see `share_of`."""
    own = np.array(pools)
    return {pool: share_of(right, groups, own == pool, unit) for pool in sorted(set(pools))}


def show_share(share: Mapping[str, Any], unit: str) -> str:
    """Return the result of `share_of` in the form "65.3% of 300 (60% to 70%)"."""
    if share["share"] is None:
        return "none"
    low, high = (f"{end:.0%}" if end is not None else "?" for end in share["interval"])
    return f"{share['share']:.1%} of {share[unit]} ({low} to {high})"


def bands_of(values: np.ndarray, starts: Sequence[float]) -> list[tuple[float, Bools]]:
    """Return the start of each band of values from 0 to 1, and the values in it."""
    ends = (*starts[1:], 2.0)
    return [(low, (values >= low) & (values < high)) for low, high in zip(starts, ends, strict=True)]


def add_run(step: argparse.ArgumentParser) -> None:
    """Add the options that name a run and its pools."""
    step.add_argument("--run", type=Path, required=True, help="folder that `edos curate` wrote")
    step.add_argument(
        "--pools",
        type=_pool,
        nargs="+",
        required=True,
        metavar="NAME=PATTERN",
        help="shell patterns of document ids",
    )


def _pool(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=PATTERN, got {text!r}")
    return name, pattern


def add_data_dir(step: argparse.ArgumentParser) -> None:
    """Add the option for the folder of the datasets; see `data_dir_of`."""
    step.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="default: $EDOS_DATA_DIR")


def data_dir_of(arguments: argparse.Namespace) -> Path:
    """Return the folder of the datasets.

    Raises:
        ValueError: it is not given.
    """
    if arguments.data_dir is None:
        raise ValueError("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    return Path(arguments.data_dir)


def read_pools(run: Path, pools: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the dialogues of the config "os" of a run by pool, sorted by id.

    Args:
        run: folder that `edos curate` wrote.
        pools: name → shell pattern of lower-cased document ids; the first that matches is used.

    Raises:
        ValueError: the run or a pool has no dialogues.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in pools}
    for table in read_config(run, "os", 100_000):
        known = [name for name in ("dialogue_id", "document_id", "turns", "certainty") if name in table.column_names]
        for row in table.select(known).to_pylist():
            document = row["document_id"].lower()
            name = next((name for name, pattern in pools.items() if fnmatchcase(document, pattern.lower())), None)
            if name is not None:
                found[name].append(row)
    if empty := [name for name, rows in found.items() if not rows]:
        raise ValueError(f"{run} has no dialogue for the pool {empty[0]!r}: no document is like {pools[empty[0]]!r}")
    return {name: sorted(rows, key=lambda row: row["dialogue_id"]) for name, rows in found.items()}
