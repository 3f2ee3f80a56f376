"""The first reading of a source, which finds all of its faults and how its records form dialogues."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from edos_dataset.releases.formats.columns import Columns, columns_of, named
from edos_dataset.releases.formats.faults import BadRecord, Faults, Findings
from edos_dataset.releases.formats.grouping import dialogues_of
from edos_dataset.releases.formats.parsing import parsed
from edos_dataset.releases.formats.records import Dialogue, Place, Record, Row
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.text import hash64
from edos_dataset.wording import counted


class _Ids:
    """The ids of all dialogues of a source, and of all runs of consecutive rows of a dialogue, at 19 bytes each."""

    def __init__(self) -> None:
        self._hashes, self._numbers, self._places = array("Q"), array("Q"), array("H")
        self._are_rows = bytearray()
        self._known: dict[Place, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, id_: str, place: Place, number: int, are_rows: bool) -> None:
        self._hashes.append(hash64(id_))
        self._numbers.append(number)
        self._places.append(self._known.setdefault(place, len(self._known)))
        self._are_rows.append(are_rows)

    def runs(self) -> dict[int, int]:
        """Return hash of the id → number of runs, for each dialogue whose rows are not consecutive.

        Raises:
            ValueError: Two dialogues have the same id, and one of them is a single record; the message names both
                locations.
        """
        hashes = np.array(self._hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if not len(again):
            return {}
        whole = ~np.frombuffer(self._are_rows, bool)[order]
        bad = again[whole[again] | whole[again + 1]]
        if len(bad):
            at = bad[np.argmin(order[bad + 1])]
            first, second = (self._where(int(row)) for row in order[at : at + 2])
            raise ValueError(f"{second}: {first} has the same dialogue_id; give each dialogue its own id")
        found, counts = np.unique(ordered, return_counts=True)
        several = counts > 1
        return dict(zip(found[several].tolist(), counts[several].tolist(), strict=True))

    def _where(self, row: int) -> str:
        return str(list(self._known)[self._places[row]].at(self._numbers[row]))


def checked_dialogues(
    again: Callable[[Findings | None], Iterator[Record]], meant: Selection, name: str, findings: Findings | None = None
) -> Iterator[Dialogue]:
    """Yield the dialogues of a source, which is read twice, so that all faults are found before the first dialogue.

    Args:
        again: Reads the records from the beginning; its findings are added to its argument.
        meant: What the user selected.
        name: Name of the source in messages.
        findings: Receives remarks and warnings, before the first dialogue.

    Raises:
        ValueError: Records are neither dialogues nor turns and are not to be skipped (the message lists up to ten), two
            dialogues have the same id, or a column that the user named is missing.
    """
    findings = Findings() if findings is None else findings
    runs = _survey(again(findings), meant, name, findings)
    yield from dialogues_of(again(None), meant, runs)


def _survey(records: Iterable[Record], meant: Selection, name: str, findings: Findings) -> dict[int, int]:
    """Read a source for the first time and return the `runs` of `dialogues_of`."""
    faults, seen = Faults(), _Seen(dict(meant.columns))
    for at, record in enumerate(records):
        findings.records = at + 1
        try:
            seen.add(record, parsed(record, at, meant, findings.left_out))
        except BadRecord as fault:
            faults.add(fault)
    seen.check_columns(name)
    if seen.dialogues and not seen.rows:
        meant.check_no_rows(name)
    faults.check(name, meant.skip_bad)
    if not seen.ids:
        faults.check_some_left(name)
    runs = seen.ids.runs()
    findings.bad += faults.bad
    findings.has_rows = bool(seen.rows) and not seen.dialogues
    findings.names = dict.fromkeys(str(key) for layout in seen.layouts for key in layout)
    findings.warnings += faults.remarks()
    if findings.left_out:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in findings.left_out.most_common())
        findings.warnings.append(f"{counted(findings.left_out.total(), 'turns')} left out: {kinds}")
    if seen.layouts:
        dialogues = len(seen.ids) - seen.dialogues - sum(runs.values()) + len(runs)
        remark_on_rows(seen.rows, dialogues, len(runs), columns_of(next(iter(seen.layouts)), meant), meant, findings)
    return runs


class _Seen:
    """Facts about the records read so far.

    Args:
        asked: Option → column that the user named, which must exist.
    """

    def __init__(self, asked: dict[str, str]) -> None:
        self.ids = _Ids()
        self.rows = self.dialogues = 0
        self.layouts: dict[tuple[str, ...], None] = {}
        self._asked = asked
        self._previous: str | None = None

    def add(self, record: Record, one: Dialogue | Row | None) -> None:
        if self._asked and isinstance(record.value, Mapping):
            there = list(map(str, record.value))
            self._asked = {option: column for option, column in self._asked.items() if not named(column, there)}
        if isinstance(one, Dialogue):
            self.ids.add(one.id, one.place, one.number, False)
            self.dialogues += 1
            self._previous = None
        elif one is not None:
            self._add_row(record, one)

    def _add_row(self, record: Record, row: Row) -> None:
        if row.id is None or row.id != self._previous:
            self.ids.add(row.id or f"{record.place.unit}-{record.number}", *record[:2], row.id is not None)
        self.rows += 1
        self._previous = row.id
        self.layouts.setdefault(tuple(record.value))

    def check_columns(self, name: str) -> None:
        """Raise an error if a column that the user named occurs in no row."""
        if self.rows and self._asked:
            option, column = next(iter(self._asked.items()))
            known = ", ".join(dict.fromkeys(repr(str(key)) for layout in self.layouts for key in layout))
            raise ValueError(f"{name}: {option} {column}: there is no such column, but {known}")


def remark_on_rows(
    rows: int, dialogues: int, scattered: int, columns: Columns, meant: Selection, findings: Findings
) -> None:
    """Add remarks and warnings about the rows of a table, such as which columns were used.

    Args:
        rows: Number of rows.
        dialogues: Number of dialogues that they form.
        scattered: Number of these dialogues whose rows are not consecutive.
        columns: Columns of the rows.
        meant: What the user selected.
        findings: Receives the remarks and warnings.
    """
    used = {
        "text": columns.text,
        "dialogue": None if meant.one_dialogue else columns.id,
        "speaker": columns.speaker,
        "number of the turn": columns.number,
        "time": " and ".join(columns.times) if columns.number is None else None,
    }
    if len(findings.names) > 1:
        shown = ", ".join(f"{use} {name!r}" for use, name in used.items() if name)
        findings.remarks.append(f"columns: {shown}")
    if scattered:
        findings.remarks.append(
            f"the rows of {counted(scattered, 'dialogues')} do not stand together and were put together"
        )
    if 1 < rows == dialogues and set(findings.names) - {columns.text, columns.id}:
        why = f"{columns.id!r} differs in every row" if columns.id else "no column is known to name the dialogues"
        findings.warnings.append(
            f"each of {counted(rows, 'rows')} is a dialogue of its own, labelled without history, as {why}; "
            f"columns are {', '.join(map(repr, findings.names))}: if turns belong together, "
            "give --id-column, or --one-dialogue"
        )
