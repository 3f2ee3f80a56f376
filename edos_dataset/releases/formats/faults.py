"""Faults of records, reported all at once, and remarks and warnings about a source."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from edos_dataset.text import clipped
from edos_dataset.wording import counted

MOST_NAMED, MOST_PLACES = 10, 3
"""Maximum numbers of faults listed in an error, and of locations listed for each reason in a remark."""


class BadRecord(ValueError):
    """A record is neither a dialogue nor a turn.

    Attributes:
        where: location of the record.
        reason: the reason in a few words, by which such records are counted.
    """

    def __init__(self, where: str, reason: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where, self.reason = where, reason


class NothingLeft(ValueError):
    """All records of a source are bad and left out, so that nothing can be written."""


@dataclass
class Findings:
    """Findings about a source.

    Attributes:
        bad: Reason → number of records that were left out.
        left_out: Kind → number of messages that are not turns: system prompts, calls of tools, turns without a text.
        remarks: Sentences about the source that a user should know.
        warnings: Sentences about problems that put the result in question.
        has_rows: Whether its records are turns, so that a table with one row per turn can be written.
        names: Keys of its records, in the order of their appearance.
        form: Its format, one of FORMS; "" if it is not a file.
        delimiter: Delimiter of a CSV file.
        encoding: Encoding of a text file.
        records: Number of its records, bad ones included; 0 if it has none.
        files: Names of the files, if there are several.
        renamed: Name of such a file → its column → that of the same meaning in the file before it, if it differs.
    """

    bad: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    has_rows: bool = False
    names: dict[str, None] = field(default_factory=dict)
    form: str = ""
    delimiter: str = ","
    encoding: str = "utf-8"
    records: int = 0
    files: list[str] = field(default_factory=list)
    renamed: dict[str, dict[str, str]] = field(default_factory=dict)


class Faults:
    """The bad records of a source."""

    def __init__(self) -> None:
        self.bad: Counter[str] = Counter()
        self._messages: list[str] = []
        self._places: dict[str, list[str]] = defaultdict(list)

    def add(self, fault: BadRecord) -> None:
        """Count a bad record."""
        self.bad[fault.reason] += 1
        if len(self._messages) < MOST_NAMED:
            self._messages.append(str(fault))
        if len(self._places[fault.reason]) < MOST_PLACES:
            self._places[fault.reason].append(fault.where)

    def check(self, name: str, skip: bool) -> None:
        """Raise an error that lists the faults, unless they are to be skipped.

        Args:
            name: Name of the source in the message.
            skip: Whether bad records are left out instead.

        Raises:
            ValueError: There are faults, and they are not skipped.
        """
        total = self.bad.total()
        if not total or skip:
            return
        if total == 1:
            raise ValueError(f"{self._messages[0]}; or give --skip-bad to leave it out")
        shown = "\n  ".join(clipped(message.removeprefix(f"{name}, "), 230) for message in self._messages)
        more = f"\n  and {total - len(self._messages):,} more" if total > len(self._messages) else ""
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.bad.most_common())
        raise ValueError(
            f"{name} has {counted(total, 'records')} that cannot be used ({reasons}); correct them, or give "
            "--skip-bad to leave "
            f"them out:\n  {shown}{more}"
        )

    def remarks(self) -> list[str]:
        """Return a sentence about the records that were skipped; an empty list if there are none."""
        if not self.bad:
            return []
        kinds = [
            f"{reason} {count:,} ({', '.join(self._places[reason])}{', ...' * (count > len(self._places[reason]))})"
            for reason, count in self.bad.most_common()
        ]
        total = self.bad.total()
        return [f"{counted(total, 'bad records')} left out: {'; '.join(kinds)}"]

    def check_some_left(self, name: str) -> None:
        """Raise an error that quotes the first fault if there are faults; call it if there is nothing else.

        Raises:
            NothingLeft: there are faults.
        """
        if self.bad:
            records = counted(self.bad.total(), "bad records")
            raise NothingLeft(f"{name} has only {records}, which --skip-bad leaves out; the first: {self._messages[0]}")
