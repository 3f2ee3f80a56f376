r"""Dialogues of books, read in their book: how many are without any error, by the error types of the paper's Section 4.

    python evaluation/judged_books.py sample --books gutenberg/en --language en --unit dialogues --number 50 \
        --out build/read
    # a reader reads build/read/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_books.py tally --key build/read/key.jsonl --verdicts verdicts.txt

`sample` extracts the dialogues of every file of a folder, draws dialogues or pairs of turns in a row, as evenly from
the books as it goes, shuffles them, and writes the sheet: each with the paragraphs around it, without its source.
`tally` adds the verdicts to `judged_books.jsonl`, which holds no text, in place of those of the same language and unit,
and the figures to `judged_books.json`; without `--key` it counts those again.
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.books.conversations import Speech
from edos_dataset.segmentation.books.extraction import extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speech import Utterance
from edos_dataset.segmentation.books.stages import KeepSure
from edos_dataset.sources.books.book import Block
from edos_dataset.sources.books.reading import read_book
from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import shown
from evaluation.judged_sheets import add_tally, check_tally, jsonl_of, read_jsonl, take_step, take_verdicts
from training.examples import report as say
from training.labels.readings import digest_of

JUDGED = Path(__file__).with_suffix(".jsonl")
OK = "ok"
UNITS = ("dialogues", "pairs")
KINDS = {
    "gap_small": "the conversation goes on outside of it, and no utterance is so long that it would cut it",
    "speakers": "three people or more speak",
    "same": "two turns in a row are one person's",
    "gap_big": "turns are of more than one conversation",
    "nobody": "a turn is text that nobody says to anybody",
    "paragraph": "a turn holds the words of two people",
    "delimiter": "a quote or dash is missing, so that speech is lost or narration is in a turn",
}
"""What may be wrong; the codes are those of `edos audit`."""

COHERENT = "speakers"
"""The kind that leaves a dialogue coherent, as the paper says."""

AROUND = {"dialogues": 3, "pairs": 1}
"""Unit → paragraphs shown before and after."""

_LONGEST = 400  # characters of a paragraph that the sheet shows


@dataclass(frozen=True)
class Read:
    """What was drawn, without its text.

    Attributes:
        number: on the sheet.
        language: code.
        unit: one of UNITS.
        book: name of the file.
        paragraphs: numbers of the first and the last block.
        digests: of the turns' texts: the first 8 hex digits of each SHA-256.
        errors: of KINDS; None before it was read.
    """

    number: int
    language: str
    unit: str
    book: str
    paragraphs: list[int]
    digests: list[str]
    errors: list[str] | None = None


class Drawn(NamedTuple):
    """A dialogue or pair, and the book that it stands in."""

    book: str
    blocks: Sequence[Block]
    turns: Sequence[Utterance]


def found_in(books: Path, language: str, unit: str) -> list[list[Drawn]]:
    """Return the dialogues, or pairs, of every file of a folder, a list a book that has any; what is no book is told.

    Raises:
        ValueError: there is none.
    """
    rules, found = load_rules(language), []
    for path in sorted(books.iterdir()):
        try:
            book = read_book(path.read_bytes(), path.name, language)
        except ReadError as error:
            say(f"{path.name}: {error}")
            continue
        dialogues = extract(book.blocks, rules, Speech()).at_least(KeepSure.least)
        if unit == "pairs":
            dialogues = [dialogue[at : at + 2] for dialogue in dialogues for at in range(len(dialogue) - 1)]
        if dialogues:
            found.append([Drawn(path.name, book.blocks, turns) for turns in dialogues])
    if not found:
        raise ValueError(f"{books} holds no book with dialogue in {language}")
    return found


def draw(books: Sequence[Sequence[Drawn]], number: int, seed: int) -> list[Drawn]:
    """Draw so many, as evenly from the books as it goes, shuffled.

    Raises:
        ValueError: there are fewer.
    """
    source = random.Random(seed)
    orders = [source.sample(list(of), len(of)) for of in books]
    turns = [of[place] for place in range(max(map(len, orders))) for of in orders if place < len(of)]
    if len(turns) < number:
        raise ValueError(f"there are {len(turns)} to draw {number} from: ask for fewer")
    drawn = turns[:number]
    source.shuffle(drawn)
    return drawn


def sheet_of(drawn: Sequence[Drawn], unit: str) -> str:
    """Return what the reader sees."""
    kinds = "".join(f"#   {kind}: {told}\n" for kind, told in KINDS.items())
    lines = [
        f"# Read each in its book, and write a line into a file of yours: NUMBER ok, or NUMBER KIND ..., of\n{kinds}"
    ]
    for number, (_, blocks, turns) in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        first, last = turns[0].paragraphs[0], turns[-1].paragraphs[-1]
        for place in range(max(first - AROUND[unit], 0), min(last + AROUND[unit] + 1, len(blocks))):
            marks = "|".join(str(at) for at, turn in enumerate(turns, 1) if place in turn.paragraphs)
            text = blocks[place].text
            if len(text) > _LONGEST:
                text = f"{text[: _LONGEST // 2]} […] {text[-_LONGEST // 2 :]}"
            lines.append(f"{f'[{marks}]' if marks else '   '} {text}\n")
            if "|" in marks:
                lines += [
                    f"      {at}: {turn.text}\n" for at, turn in enumerate(turns, 1) if place == turn.paragraphs[0]
                ]
    return "".join(lines)


def sample(arguments: argparse.Namespace) -> None:
    """Draw, and write sheet.txt and key.jsonl."""
    unit, language = arguments.unit, arguments.language
    drawn = draw(found_in(arguments.books, language, unit), arguments.number, arguments.seed)
    records = [
        Read(
            number,
            language,
            unit,
            book,
            [turns[0].paragraphs[0], turns[-1].paragraphs[-1]],
            [f"{digest_of(turn.text):08x}" for turn in turns],
        )
        for number, (book, _, turns) in enumerate(drawn, 1)
    ]
    write_text(arguments.out / "key.jsonl", jsonl_of(records))
    write_text(arguments.out / "sheet.txt", sheet_of(drawn, unit))
    say(f"{len(records)} {unit}: {arguments.out / 'sheet.txt'}")


def with_verdict(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the record that a line is about, judged.

    Raises:
        ValueError: the line is of another form.
    """
    number, _, rest = line.strip().partition(" ")
    if not number.isdecimal() or not rest:
        raise ValueError(f"expected NUMBER ok, or NUMBER KIND ..., got {shown(line)}")
    if int(number) not in drawn:
        raise ValueError(f"the sheet has no number {number}")
    errors = [] if rest.strip() == OK else sorted(set(rest.split()))
    if strange := [kind for kind in errors if kind not in KINDS]:
        raise ValueError(f"number {number}: {strange[0]!r} is no kind of error; there are {', '.join(KINDS)}")
    return replace(drawn[int(number)], errors=errors)


def figures_of(records: Sequence[Read]) -> dict[str, Any]:
    """Return, by language and unit, how many were read, how many are without error and without all but COHERENT, with
    the 95 % interval of Wilson, and how many have each kind.
    """
    figures: dict[str, Any] = {}
    for language, unit in sorted({(record.language, record.unit) for record in records}):
        of = [record.errors or [] for record in records if (record.language, record.unit) == (language, unit)]
        right, coherent = sum(not each for each in of), sum(not set(each) - {COHERENT} for each in of)
        figures[f"{language} {unit}"] = {
            "read": len(of),
            "without_error": right,
            "interval": wilson(right / len(of), len(of)),
            "without_error_but_speakers": coherent,
            "errors": {kind: count for kind in KINDS if (count := sum(kind in each for each in of))},
        }
    return figures


def _records(path: Path) -> list[Read]:
    return read_jsonl(path, lambda row: Read(**row), "dialogue of a book")


def count(arguments: argparse.Namespace) -> None:
    """Take in the verdicts, write the figures, and print them."""
    if arguments.key:
        new = take_verdicts(_records(arguments.key), arguments.verdicts, with_verdict, "dialogue")
        read = {(record.language, record.unit) for record in new}
        old = _records(arguments.judged) if arguments.judged.exists() else []
        kept = [record for record in old if (record.language, record.unit) not in read]
        write_text(arguments.judged, jsonl_of([*kept, *new]))
    figures = figures_of(_records(arguments.judged))
    write_text(arguments.judged.with_suffix(".json"), json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    json.dump(figures, sys.stdout, indent=1)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("sample", help="draw, write the sheet and its key")
    step.set_defaults(step=sample)
    step.add_argument("--books", type=Path, required=True, help="folder of books of one language")
    step.add_argument("--language", required=True, help="code: en")
    step.add_argument("--unit", choices=UNITS, default="dialogues")
    step.add_argument("--number", type=int, default=50)
    step.add_argument("--seed", type=int, default=19)
    step.add_argument("--out", type=Path, required=True, help="folder that gets sheet.txt and key.jsonl")
    add_tally(steps, count, JUDGED, "dialogues")
    arguments = parser.parse_args(given)
    check_tally(parser, arguments)
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Take a step."""
    take_step(parse_arguments(given))


if __name__ == "__main__":
    main()
