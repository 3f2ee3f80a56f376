"""Answers of response models, read by hand without knowing whose they are: how many fit, are generic, or are wrong.

    python evaluation/generation.py --models ... --records build/generation ...
    python evaluation/judged_responses.py sample --records build/generation --contexts 50 --out build/answers
    # a reader reads build/answers/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_responses.py tally --key build/answers/key.jsonl --verdicts verdicts.txt

`sample` draws contexts of the matrix's test sets, as evenly as it goes, and writes the sheet: each context with the
answers of all models, in an order of its own and each text once, and among them the true answer and one drawn at
random, which tell how strict the reader is. `tally` puts the verdicts beside the key, into `judged_responses.jsonl`,
which holds no text, and the figures into `judged_responses.json`; without `--key` it counts those of that file again.
"""

import argparse
import json
import random
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from edos_dataset.runs.shards import write_text
from evaluation.generation_records import read_records
from evaluation.generation_sets import INVENTED
from evaluation.judged_response_records import VERDICTS, Read, read_judged, tally, with_verdicts
from evaluation.judged_sheets import add_tally, check_tally, jsonl_of, take_step
from training.examples import report as say
from training.labels.readings import digest_of

JUDGED = Path(__file__).with_suffix(".jsonl")

_HEADER = """\
# Read every conversation, its turns by speakers A and B in turn, then each answer as what comes next. You know no more
# than these words; several answers may be equally good, and nothing says that one must be. Write a line for each
# conversation into a file of yours, with a verdict on each answer, as in "12 a generic | b wrong | c fits":
#
"""


class Drawn(dict[str, list[str]]):
    """The different answers to a context, in the order of the sheet: text → rows of the matrix that gave it."""

    def __init__(self, name: str, context: Mapping[str, Any], answers: Mapping[str, list[str]]) -> None:
        """Take the test set's name, the context, and the answers."""
        super().__init__(answers)
        self.name, self.context = name, context


def draw(
    content: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], contexts: int, seed: int, rows: Sequence[str] = ()
) -> list[Drawn]:
    """Draw contexts, as evenly from the test sets as it goes, and return them, shuffled, with all answers.

    Args:
        content: what `matrix.json` says.
        cells: of the matrix.
        contexts: how many.
        seed: of the drawing and of the order of contexts and answers.
        rows: of the matrix that are read; all if there are none.

    Raises:
        ValueError: a set has too few contexts, a row is none, or has no answers to a set.
    """
    named = {cell["row"] for cell in cells}
    if strange := [row for row in rows if row not in named]:
        raise ValueError(f"the matrix has no row {strange[0]!r}; it has {', '.join(sorted(named))}")
    sets = [name for name in content["sets"] if name != INVENTED]
    wanted, drawn = set(rows) or named, list[Drawn]()
    for place, name in enumerate(sets):
        own = {cell["row"]: cell["answers"] for cell in cells if cell["set"] == name and cell["row"] in wanted}
        if missing := sorted(wanted - own.keys()):
            raise ValueError(f"the row {missing[0]!r} has no answers to {name}: measure it, or name others as --rows")
        there = content["sets"][name]["contexts"]
        number = contexts // len(sets) + (place < contexts % len(sets))
        if len(there) < number:
            raise ValueError(f"{name} has {len(there)} contexts, fewer than {number}: measure with a higher --limit")
        for picked in random.Random(f"{seed} {name}").sample(range(len(there)), number):
            answers: dict[str, list[str]] = {}
            for row, given in own.items():
                answers.setdefault(given[picked], []).append(row)
            order = random.Random(f"{seed} {name} {picked}").sample(list(answers), len(answers))
            drawn.append(Drawn(name, there[picked], {text: answers[text] for text in order}))
    random.Random(seed).shuffle(drawn)
    return drawn


def letters(number: int) -> list[str]:
    """Return so many letters, and behind z pairs of them."""
    some = list(string.ascii_lowercase)
    return [*some, *(one + other for one in some for other in some)][:number]


def record_of(number: int, drawn: Drawn) -> Read:
    """Return what is kept of a context and its answers."""
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
    """Return what the reader sees."""
    lines = [_HEADER, *(f"#   {verdict}: {told}\n" for verdict, told in VERDICTS.items())]
    for number, each in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        turns = each.context["turns"]
        lines += [f"{'AB'[place % 2]}: {' '.join(turn.split())}\n" for place, turn in enumerate(turns)]
        lines.append(f"{'AB'[len(turns) % 2]}:\n")
        lines += [
            f"  {letter}. {' '.join(text.split())}\n" for letter, text in zip(letters(len(each)), each, strict=True)
        ]
    return "".join(lines)


def sample(arguments: argparse.Namespace) -> None:
    """Draw, and write sheet.txt and key.jsonl."""
    drawn = draw(*read_records(arguments.records), arguments.contexts, arguments.seed, arguments.rows)
    records = [record_of(number, each) for number, each in enumerate(drawn, 1)]
    write_text(arguments.out / "key.jsonl", jsonl_of(records))
    write_text(arguments.out / "sheet.txt", sheet_of(drawn))
    say(f"{len(drawn)} contexts, {sum(map(len, drawn))} different answers: {arguments.out / 'sheet.txt'}")


def count(arguments: argparse.Namespace) -> None:
    """Take in the verdicts, write the figures, and print them."""
    if arguments.key:
        write_text(arguments.judged, jsonl_of(with_verdicts(read_judged(arguments.key), arguments.verdicts)))
    figures = tally(read_judged(arguments.judged))
    write_text(arguments.judged.with_suffix(".json"), json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    table = Table(title=f"{figures['contexts']} contexts, {figures['answers']} different answers")
    for name in ("row", "set", "answers", *VERDICTS):
        table.add_column(name)
    for row, sets in figures["rows"].items():
        for name, own in sets.items():
            told = [
                f"{own[each]['share']:.0%} ({' to '.join(f'{end:.0%}' for end in own[each]['interval'])})"
                for each in VERDICTS
            ]
            table.add_row(row, name, str(own["answers"]), *told)
    Console(width=140, file=sys.stdout).print(table)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("sample", help="draw contexts, write the sheet and its key")
    step.set_defaults(step=sample)
    step.add_argument("--records", type=Path, required=True, help="folder of the records of generation.py")
    step.add_argument("--rows", nargs="+", default=[], help="rows of the matrix (default: all, with RT and GT)")
    step.add_argument("--contexts", type=int, default=50, help="of all sets together: so many answers of each row")
    step.add_argument("--seed", type=int, default=18)
    step.add_argument("--out", type=Path, required=True, help="folder that gets sheet.txt and key.jsonl")
    add_tally(steps, count, JUDGED, "answers")
    arguments = parser.parse_args(given)
    if arguments.step is sample and arguments.contexts < 1:
        parser.error(f"--contexts must be at least 1, got {arguments.contexts}")
    check_tally(parser, arguments)
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Take a step."""
    take_step(parse_arguments(given))


if __name__ == "__main__":
    main()
