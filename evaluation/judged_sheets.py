"""What readings by hand share: records as JSON lines, a reader's lines on a sheet, and the step that counts them."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar


class OnSheet(Protocol):
    """A record, a dataclass, with its number on the sheet."""

    @property
    def number(self) -> int:
        """From 1."""


Record = TypeVar("Record", bound=OnSheet)


def jsonl_of(records: Sequence[Any]) -> str:
    """Return records, dataclasses, as JSON lines."""
    return "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def read_jsonl(path: Path, make: Callable[[dict[str, Any]], Record], what: str) -> list[Record]:
    """Read what `jsonl_of` wrote.

    Args:
        path: of the file.
        make: a row → its record.
        what: the records are, for messages: "dialogue".

    Raises:
        ValueError: a line is none.
    """
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            records.append(make(json.loads(line)))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"{path}, line {number} is no {what} that was drawn: {error}") from error
    return records


def take_verdicts(
    records: Sequence[Record], paths: Sequence[Path], judge: Callable[[Mapping[int, Record], str], Record], what: str
) -> list[Record]:
    """Return the records of a sheet with what the reader wrote, in the order of the sheet.

    Args:
        records: as drawn.
        paths: files of a line a record; blank ones and those that begin with # say nothing.
        judge: the records by number, and a line → the record that it judges.
        what: the records are, for messages: "dialogue".

    Raises:
        ValueError: a line is of another form, or a record is read twice or not at all; the message names it.
    """
    drawn, read = {record.number: record for record in records}, dict[int, Record]()
    for path in paths:
        for at, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                record = judge(drawn, line)
                if record.number in read:
                    raise ValueError(f"{what} {record.number} is read already")
            except ValueError as error:
                raise ValueError(f"{path}, line {at}: {error}") from error
            read[record.number] = record
    if missing := sorted(drawn.keys() - read.keys()):
        raise ValueError(f"{len(missing)} {what}s are not read, such as {missing[0]}: each needs a line")
    return [read[number] for number in drawn]


def add_tally(
    steps: "argparse._SubParsersAction[argparse.ArgumentParser]",
    count: Callable[[argparse.Namespace], None],
    judged: Path,
    what: str,
) -> None:
    """Add the step `tally` to a command line.

    Args:
        steps: what `add_subparsers` returned.
        count: carries the step out.
        judged: where the judged records lie by default.
        what: the records are, in the plural.
    """
    step = steps.add_parser("tally", help="put the verdicts beside the key, and count")
    step.set_defaults(step=count)
    step.add_argument("--key", type=Path, help="what `sample` wrote")
    step.add_argument("--verdicts", type=Path, nargs="+", default=[], help="what the reader wrote")
    step.add_argument("--judged", type=Path, default=judged, help=f"the file of {what}; figures go beside it")


def check_tally(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with wrong usage where a key comes without verdicts, or these without it."""
    if "key" in arguments and bool(arguments.key) != bool(arguments.verdicts):
        parser.error("--key and --verdicts go together: give both, or neither to count again")


def take_step(arguments: argparse.Namespace) -> None:
    """Take the step that was asked for; what is wrong with its files is an error in a line."""
    try:
        arguments.step(arguments)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        sys.exit(f"error: {error}")
