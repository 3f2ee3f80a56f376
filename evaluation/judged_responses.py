"""Answers of response models, judged by a reader who does not know their origin: how many fit, are generic, or are
wrong.

    python evaluation/generation.py --models ... --records build/generation ...
    python evaluation/judged_responses.py sample --records build/generation --contexts 50 --out build/answers
    # a reader reads build/answers/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_responses.py tally --key build/answers/key.jsonl --verdicts verdicts.txt

`sample` draws contexts from the matrix's test sets as evenly as possible, and writes the sheet: each context with the
answers of all models, in random order and without repetitions, with the true answer and a random one among them, which
show how strict the reader is. `tally` adds the verdicts to the key, writes both to `judged_responses.jsonl`, which
contains no text, and the figures to `judged_responses.json`; without `--key` it counts the existing file again.
"""

import argparse
import random
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from edos_dataset.metrics.resampling import wilson
from edos_dataset.text import shown
from evaluation.generation_sets import INVENTED, read_records
from evaluation.readings import Reading, Sample, even_numbers, header_of, numbered
from training.labels.readings import digest_of

VERDICTS = {
    "fits": "a sensible person could answer just this, and it takes up something of this conversation",
    "generic": "not wrong, and it could stand anywhere: “I'm sorry to hear that”, “What happened?”, “I know.”",
    "wrong": "against what was said or against sense, no answer to it, or no English",
}
"""The verdicts on an answer; if two apply, the worse one."""
EMPATHY = {
    0: "nothing shows that the other's feelings were noticed",
    1: "it shows so weakly or in a general way: “I'm sorry”, “That's great!”",
    2: "it names or shares the feeling, says why, or asks for what is behind it",
}
"""Levels of empathy that an answer shows, as EPITOME has them: none, weak, strong (Sharma et al., 2020)."""


@dataclass(frozen=True)
class Read:
    """A context with its answers.

    Attributes:
        number: number on the sheet.
        set: its test set in the matrix.
        document: what it belongs to, such as a film.
        digest: the first 8 hex digits of the SHA-256 of the history.
        rows: letter on the sheet → rows of the matrix with this answer, at least one.
        digests: letter → digest of the answer.
        verdicts: letter → one of VERDICTS; empty if not yet judged.
        empathy: letter → one of EMPATHY; empty if nobody judged it.
    """

    number: int
    set: str
    document: str
    digest: str
    rows: dict[str, list[str]]
    digests: dict[str, str]
    verdicts: dict[str, str] = field(default_factory=dict)
    empathy: dict[str, int] = field(default_factory=dict)


_INSTRUCTIONS = """\
# Read every conversation, its turns by speakers A and B in turn, then each answer as what comes next. You know no more
# than these words; several answers may be equally good, and nothing says that one must be. Write a line for each
# conversation into a file of yours, with a verdict on each answer and its empathy, as in
# "12 a generic 1 | b wrong 0 | c fits 2":
#
"""


class Drawn(dict[str, list[str]]):
    """The distinct answers to a context, in the order of the sheet: text → rows of the matrix with this answer."""

    def __init__(self, name: str, context: Mapping[str, Any], answers: Mapping[str, list[str]]) -> None:
        """Store the test set's name, the context, and the answers."""
        super().__init__(answers)
        self.name, self.context = name, context


def draw(
    content: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], contexts: int, seed: int, rows: Sequence[str] = ()
) -> list[Drawn]:
    """Draw contexts as evenly from the test sets as possible; return them, shuffled, with all answers.

    Args:
        content: content of `matrix.json`.
        cells: cells of the matrix.
        contexts: number of contexts.
        seed: seed of the sample, and of the order of contexts and answers.
        rows: rows of the matrix to judge; empty for all.

    Raises:
        ValueError: a set has too few contexts, a row is unknown, or has no answers to a set.
    """
    named = {cell["row"] for cell in cells}
    if strange := [row for row in rows if row not in named]:
        raise ValueError(f"the matrix has no row {strange[0]!r}; it has {', '.join(sorted(named))}")
    sets = [name for name in content["sets"] if name != INVENTED]
    drawn = list[Drawn]()
    for name, number in zip(sets, even_numbers(contexts, len(sets)), strict=True):
        own = _answers_to(name, cells, set(rows) or named)
        there = content["sets"][name]["contexts"]
        if len(there) < number:
            raise ValueError(f"{name} has {len(there)} contexts, fewer than {number}: measure with a higher --limit")
        for picked in random.Random(f"{seed} {name}").sample(range(len(there)), number):
            answers = _distinct({row: given[picked] for row, given in own.items()})
            order = random.Random(f"{seed} {name} {picked}").sample(list(answers), len(answers))
            drawn.append(Drawn(name, there[picked], {text: answers[text] for text in order}))
    random.Random(seed).shuffle(drawn)
    return drawn


def _answers_to(name: str, cells: Sequence[Mapping[str, Any]], wanted: set[str]) -> dict[str, list[str]]:
    own = {cell["row"]: cell["answers"] for cell in cells if cell["set"] == name and cell["row"] in wanted}
    if missing := sorted(wanted - own.keys()):
        raise ValueError(f"the row {missing[0]!r} has no answers to {name}: measure it, or name others as --rows")
    return own


def _distinct(answers: Mapping[str, str]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for row, text in answers.items():
        rows.setdefault(text, []).append(row)
    return rows


def letters(number: int) -> list[str]:
    """Return names of answers: letters and, after z, pairs of letters."""
    some = list(string.ascii_lowercase)
    return [*some, *(one + other for one in some for other in some)][:number]


def record_of(number: int, drawn: Drawn) -> Read:
    """Return the record of a context and its answers."""
    named = dict(zip(letters(len(drawn)), drawn.items(), strict=True))
    return Read(
        number,
        drawn.name,
        drawn.context["document"],
        f"{digest_of(chr(10).join(drawn.context['turns'])):08x}",
        {letter: rows for letter, (_, rows) in named.items()},
        {letter: f"{digest_of(text):08x}" for letter, (text, _) in named.items()},
    )


def sheet_of(drawn: Sequence[Drawn]) -> str:
    """Return the text of the sheet."""
    levels = {str(level): meaning for level, meaning in EMPATHY.items()}
    lines = [header_of(_INSTRUCTIONS, VERDICTS | levels)]
    for number, each in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        turns = each.context["turns"]
        lines += [f"{'AB'[place % 2]}: {' '.join(turn.split())}\n" for place, turn in enumerate(turns)]
        lines.append(f"{'AB'[len(turns) % 2]}:\n")
        lines += [
            f"  {letter}. {' '.join(text.split())}\n" for letter, text in zip(letters(len(each)), each, strict=True)
        ]
    return "".join(lines)


def sample(arguments: argparse.Namespace) -> Sample[Read]:
    """Draw contexts from the records of `generation.py`."""
    drawn = draw(*read_records(arguments.records), arguments.contexts, arguments.seed, arguments.rows)
    records = [record_of(number, each) for number, each in enumerate(drawn, 1)]
    return Sample(records, sheet_of(drawn), f"{len(drawn)} contexts, {sum(map(len, drawn))} different answers")


def judge(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the context of a line "NUMBER a fits 2 | b wrong 0 | ..." with its verdicts, and the empathy if stated.

    Raises:
        ValueError: the line is malformed.
    """
    record, rest = numbered(drawn, line, "context", "NUMBER a VERDICT | b VERDICT | ...")
    given = [each.split() for each in rest.split("|")]
    if any(len(each) != len(given[0]) or len(each) not in (2, 3) for each in given):
        raise ValueError(f"context {record.number}: expected a VERDICT LEVEL | b ..., got {shown(rest)}")
    by_letter = {each[0]: each[1:] for each in given}
    if by_letter.keys() != record.rows.keys() or len(given) != len(by_letter):
        raise ValueError(f"context {record.number} has the answers {', '.join(record.rows)}: give each a verdict, once")
    judged = {letter: _judged(record.number, *by_letter[letter]) for letter in record.rows}
    return replace(
        record,
        verdicts={letter: verdict for letter, (verdict, _) in judged.items()},
        empathy={letter: level for letter, (_, level) in judged.items() if level is not None},
    )


def _judged(number: int, verdict: str, level: str | None = None) -> tuple[str, int | None]:
    """Return a verdict and a level of empathy, if there is one, validated."""
    if verdict not in VERDICTS:
        raise ValueError(f"context {number}: {verdict!r} is no verdict; there are {', '.join(VERDICTS)}")
    if level is not None and level not in map(str, EMPATHY):
        raise ValueError(f"context {number}: {level!r} is no level of empathy; there are 0, 1, 2")
    return verdict, None if level is None else int(level)


def tally(records: Sequence[Read]) -> dict[str, Any]:
    """Return the figures: `contexts`, `answers` (distinct ones), and for each row of the matrix, in `all` sets and in
    each, the number of answers, the fraction of each verdict with its 95 % interval (Wilson), and the levels of empathy
    if they were judged.
    """
    by: dict[str, dict[str, list[tuple[str, int | None]]]] = {}
    for record in records:
        for letter, rows in record.rows.items():
            for row in rows:
                own = by.setdefault(row, {"all": []})
                judged = (record.verdicts[letter], record.empathy.get(letter))
                own["all"].append(judged)
                own.setdefault(record.set, []).append(judged)
    return {
        "contexts": len(records),
        "answers": sum(len(record.rows) for record in records),
        "rows": {row: {name: _shares(each) for name, each in own.items()} for row, own in sorted(by.items())},
    }


def _shares(judged: Sequence[tuple[str, int | None]]) -> dict[str, Any]:
    number, verdicts = len(judged), [verdict for verdict, _ in judged]
    found: dict[str, Any] = {"answers": number}
    for verdict in VERDICTS:
        share = verdicts.count(verdict) / number
        found[verdict] = {"share": round(share, 4), "interval": wilson(share, number)}
    levels = [level for _, level in judged if level is not None]
    if levels:
        found["empathy"] = {str(level): round(levels.count(level) / len(levels), 4) for level in EMPATHY}
        found["empathy"]["mean"] = round(sum(levels) / len(levels), 4)
    return found


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a table."""
    table = Table(title=f"{figures['contexts']} contexts, {figures['answers']} different answers")
    for name in ("row", "set", "answers", *VERDICTS, "empathy, 0 to 2"):
        table.add_column(name)
    for row, sets in figures["rows"].items():
        for name, own in sets.items():
            shares = [
                f"{own[each]['share']:.0%} ({' to '.join(f'{end:.0%}' for end in own[each]['interval'])})"
                for each in VERDICTS
            ]
            empathy = f"{own['empathy']['mean']:.2f}" if "empathy" in own else ""
            table.add_row(row, name, str(own["answers"]), *shares, empathy)
    Console(width=140, file=sys.stdout).print(table)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def _add_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--records", type=Path, required=True, help="folder of the records of generation.py")
    step.add_argument("--rows", nargs="+", default=[], help="rows of the matrix (default: all, including RT and GT)")
    step.add_argument(
        "--contexts", type=_positive, default=50, help="contexts in all sets together, with one answer of each row"
    )
    step.add_argument("--seed", type=int, default=18)


READING = Reading(
    __doc__,
    Path(__file__).with_suffix(".jsonl"),
    "context",
    record_of=lambda row: Read(**row),
    judge=judge,
    tally=tally,
    show=show,
    add_options=_add_options,
    sample=sample,
)

if __name__ == "__main__":
    READING.main()
