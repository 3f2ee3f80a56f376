r"""Dialogues of books, judged in context by a reader: how many have no error, by the error types of Section 4.

    python evaluation/judged_books.py sample --books gutenberg/en --language en --unit dialogues --number 50 \
        --out build/read
    # a reader reads build/read/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_books.py tally --key build/read/key.jsonl --verdicts verdicts.txt

`sample` extracts the dialogues of every file in a folder, draws dialogues or pairs of successive turns as evenly from
the books as possible, shuffles them, and writes the sheet: each with the paragraphs around it, without its source;
words that are in no turn stand in braces. Of the unit "turns" dialogues are drawn, too, and the reader names a kind as
often as it occurs in one, so that errors are counted by boundary and by turn. With `--recipes default papers` as many
of each are shuffled into one sheet, half of them from the books in which both find dialogues.
`tally` writes the verdicts to `judged_books.jsonl`, which contains no text, replacing those of the same language and
unit, and the figures to `judged_books.json`; without `--key` it counts the existing file again.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.metrics.resampling import interval, resampled, wilson
from edos_dataset.recipes.books import BUILT_IN_BOOKS
from edos_dataset.recipes.subtitles import DEFAULT, PAPERS
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.papers import extract_as_papers
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speech import Utterance
from edos_dataset.sources.books.book import Block
from edos_dataset.sources.formats import read_book, read_plain
from edos_dataset.sources.parsed import ReadError
from evaluation.readings import OK, Reading, Sample, header_of, numbered
from training.examples import report as say
from training.labels.readings import digest_of

UNITS = ("dialogues", "pairs", "turns")
KINDS = {
    "gap_small": "the conversation goes on outside of it, and no utterance is so long that it would cut it",
    "speakers": "three people or more speak",
    "same": "two turns in a row are one person's",
    "gap_big": "turns are of more than one conversation",
    "nobody": "a turn is text that nobody says to anybody",
    "paragraph": "a turn holds the words of two people",
    "delimiter": "a quote or dash is missing, so that speech is lost or narration is in a turn",
}
"""Kinds of errors; the codes are those of `edos audit`."""

COHERENT = "speakers"
"""The kind of error with which a dialogue is still coherent, by the paper's definition."""

OF_BOUNDARIES = ("same", "gap_big", "paragraph")
"""The kinds of errors that make a boundary wrong: there should be none, a dialogue should end, or one is missing."""

AROUND = {"dialogues": 3, "pairs": 1, "turns": 3}
"""Unit → number of paragraphs shown before and after."""

_INSTRUCTIONS = """\
# Read each in its book, and write a line into a file of yours: NUMBER ok, or NUMBER KIND ..., of
"""

_LONGEST = 400  # maximum characters of a paragraph on the sheet
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Read:
    """A drawn item, without its text.

    Attributes:
        number: number on the sheet.
        language: language code.
        unit: one of UNITS.
        book: name of the file.
        paragraphs: indices of the first and the last block.
        digests: the first 8 hex digits of the SHA-256 of each turn's text.
        errors: error kinds, from KINDS, in alphabetical order; of the unit "turns" each as often as it occurs. None if
            not yet judged.
        recipe: the recipe of `edos books` that found it.
    """

    number: int
    language: str
    unit: str
    book: str
    paragraphs: list[int]
    digests: list[str]
    errors: list[str] | None = None
    recipe: str = DEFAULT


class Drawn(NamedTuple):
    """A dialogue or pair, the recipe that found it, and the book that contains it."""

    recipe: str
    book: str
    blocks: Sequence[Block]
    turns: Sequence[Utterance]


def found_in(books: Path, language: str, unit: str, recipe: str = DEFAULT) -> list[list[Drawn]]:
    """Return the dialogues, or pairs, of every book in a folder, a list per book; report files without any.

    Raises:
        ValueError: there are none.
    """
    found = []
    for path in sorted(books.iterdir()):
        try:
            blocks, dialogues = dialogues_of(path, language, recipe)
        except ReadError as error:
            say(f"{path.name}: {error}")
            continue
        if unit == "pairs":
            dialogues = [dialogue[at : at + 2] for dialogue in dialogues for at in range(len(dialogue) - 1)]
        if dialogues:
            found.append([Drawn(recipe, path.name, blocks, turns) for turns in dialogues])
    if not found:
        raise ValueError(f"{books} holds no book with dialogue in {language}")
    return found


def dialogues_of(path: Path, language: str, recipe: str) -> tuple[Sequence[Block], list[list[Utterance]]]:
    """Return the paragraphs of a book as a recipe reads it, and its dialogues.

    Raises:
        ReadError: the file cannot be read.
    """
    data = path.read_bytes()
    if recipe == PAPERS:
        text = read_plain(data, path.name).replace("\r\n", "\n").replace("\r", "\n")
        paragraphs = [" ".join(piece.split()) for piece in text.split("\n\n") if piece.strip("\n")]
        return [Block(paragraph) for paragraph in paragraphs], extract_as_papers(text, language).dialogues
    book = read_book(data, path.name, language)
    return book.blocks, extract(book.blocks, load_rules(language), Speech()).dialogues


def draw(books: Sequence[Sequence[Drawn]], number: int, seed: int) -> list[Drawn]:
    """Draw dialogues or pairs as evenly from the books as possible, and shuffle them.

    Raises:
        ValueError: there are too few.
    """
    source = random.Random(seed)
    orders = [source.sample(list(of), len(of)) for of in books]
    turns = [of[place] for place in range(max(map(len, orders))) for of in orders if place < len(of)]
    if len(turns) < number:
        raise ValueError(f"there are {len(turns)} to draw {number} from: ask for fewer")
    drawn = turns[:number]
    source.shuffle(drawn)
    return drawn


def draw_of_each(found: Sequence[Sequence[Sequence[Drawn]]], number: int, seed: int) -> list[Drawn]:
    """Draw as many of each recipe, half of them from the books in which all recipes found some, and shuffle them.

    Raises:
        ValueError: there are too few.
    """
    shared = set.intersection(*({of[0].book for of in books} for books in found))
    drawn = []
    for books in found:
        inside, outside = ([of for of in books if (of[0].book in shared) == where] for where in (True, False))
        apart = number // 2 if outside else 0
        drawn += draw(inside, number - apart, seed) + (draw(outside, apart, seed) if apart else [])
    random.Random(seed).shuffle(drawn)
    return drawn


def sheet_of(drawn: Sequence[Drawn], unit: str) -> str:
    """Return the text of the sheet."""
    lines = [header_of(_INSTRUCTIONS, KINDS)]
    for number, (_, _, blocks, turns) in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        first, last = turns[0].paragraphs[0], turns[-1].paragraphs[-1]
        for place in range(max(first - AROUND[unit], 0), min(last + AROUND[unit] + 1, len(blocks))):
            there = [(at, turn) for at, turn in enumerate(turns, 1) if place in turn.paragraphs]
            text = blocks[place].text
            if len(there) == 1:
                text = in_braces(text, there[0][1].text)
            if len(text) > _LONGEST:
                text = f"{text[: _LONGEST // 2]} […] {text[-_LONGEST // 2 :]}"
            marks = "|".join(str(at) for at, _ in there)
            lines.append(f"{f'[{marks}]' if marks else '   '} {text}\n")
            if len(there) > 1:
                lines += [f"      {at}: {turn.text}\n" for at, turn in there if place == turn.paragraphs[0]]
    return "".join(lines)


def in_braces(paragraph: str, turn: str) -> str:
    """Return a paragraph with braces around the words that are not in a turn."""
    words, said = list(_WORD.finditer(paragraph)), _WORD.findall(turn)
    matcher = SequenceMatcher(None, [word[0] for word in words], said, autojunk=False)
    pieces, at = [], 0
    for kind, start, stop, _, _ in matcher.get_opcodes():
        if kind in ("delete", "replace"):
            begin, end = words[start].start(), words[stop - 1].end()
            pieces += [paragraph[at:begin], "{", paragraph[begin:end], "}"]
            at = end
    return "".join([*pieces, paragraph[at:]])


def sample(arguments: argparse.Namespace) -> Sample[Read]:
    """Draw dialogues or pairs from a folder of books."""
    unit, language = arguments.unit, arguments.language
    found = [found_in(arguments.books, language, unit, recipe) for recipe in arguments.recipes]
    drawn = draw_of_each(found, arguments.number, arguments.seed)
    records = [
        Read(
            number,
            language,
            unit,
            book,
            [turns[0].paragraphs[0], turns[-1].paragraphs[-1]],
            [f"{digest_of(turn.text):08x}" for turn in turns],
            recipe=recipe,
        )
        for number, (recipe, book, _, turns) in enumerate(drawn, 1)
    ]
    return Sample(records, sheet_of(drawn, unit), f"{len(records)} {unit}")


def judge(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the record of a line "NUMBER ok" or "NUMBER KIND ..." with its errors.

    Raises:
        ValueError: the line is malformed.
    """
    record, rest = numbered(drawn, line, "dialogue", "NUMBER ok, or NUMBER KIND ...")
    named = [] if rest.strip() == OK else rest.split()
    errors = sorted(named if record.unit == "turns" else set(named))
    if strange := [kind for kind in errors if kind not in KINDS]:
        raise ValueError(f"dialogue {record.number}: {strange[0]!r} is no kind of error; there are {', '.join(KINDS)}")
    return replace(record, errors=errors)


def keep(old: Sequence[Read], new: Sequence[Read]) -> list[Read]:
    """Return the old records of other languages, units and recipes, and all new ones."""
    read = {(record.language, record.unit, record.recipe) for record in new}
    return [*(record for record in old if (record.language, record.unit, record.recipe) not in read), *new]


def tally(records: Sequence[Read]) -> dict[str, Any]:
    """Return, by language, unit and recipe, the number of judged items, how many have no error and no error but
    COHERENT, with Wilson's 95 % interval, and the count of each kind; of the unit "turns" also the errors by boundary
    and by turn, again for the default recipe in the books from which those of other recipes are.
    """
    groups: dict[str, list[Read]] = {}
    for record in sorted(records, key=lambda record: (record.language, record.unit, record.recipe)):
        other = "" if record.recipe == DEFAULT else f", {record.recipe}"
        groups.setdefault(f"{record.language} {record.unit}{other}", []).append(record)
    figures = {name: _figures(read) for name, read in groups.items()}
    for name, read in groups.items():
        if read[0].unit == "turns" and read[0].recipe != DEFAULT:
            books = {record.book for record in read}
            same = [record for record in groups[f"{read[0].language} turns"] if record.book in books]
            figures[name]["default in the same books"] = _by_turn(same)
    return figures


def _figures(read: Sequence[Read]) -> dict[str, Any]:
    of = [record.errors or [] for record in read]
    right, coherent = sum(not each for each in of), sum(not set(each) - {COHERENT} for each in of)
    return {
        "read": len(of),
        "without_error": right,
        "interval": wilson(right / len(of), len(of)),
        "without_error_but_speakers": coherent,
        "errors": {kind: count for kind in KINDS if (count := sum(each.count(kind) for each in of))},
        **(_by_turn(read) if read[0].unit == "turns" else {}),
    }


def _by_turn(read: Sequence[Read]) -> dict[str, Any]:
    """Return the numbers of boundaries between two turns, and of turns, and how many of each are wrong; `share` of the
    boundaries, with its 95 % interval from a bootstrap over dialogues.
    """
    wrong = [sum(kind in OF_BOUNDARIES for kind in record.errors or ()) for record in read]
    turns = [len(record.digests) for record in read]
    columns = np.array([wrong, np.array(turns) - 1], float).T
    sums = resampled(columns, np.arange(len(read)))
    boundaries = sum(turns) - len(read)
    return {
        "boundaries": boundaries,
        "wrong_boundaries": sum(wrong),
        "share": round(sum(wrong) / boundaries, 5),
        "share_interval": interval(sums[:, 0] / sums[:, 1]),
        "turns": sum(turns),
        "no_speech": sum((record.errors or []).count("nobody") for record in read),
    }


def _add_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--books", type=Path, required=True, help="folder of books of one language")
    step.add_argument("--language", required=True, help="code: en")
    step.add_argument("--unit", choices=UNITS, default="dialogues")
    step.add_argument("--recipes", nargs="+", choices=list(BUILT_IN_BOOKS), default=[DEFAULT])
    step.add_argument("--number", type=int, default=50, help="number of each recipe (default: 50)")
    step.add_argument("--seed", type=int, default=19)


READING = Reading(
    __doc__,
    Path(__file__).with_suffix(".jsonl"),
    "dialogue",
    record_of=lambda row: Read(**row),
    judge=judge,
    tally=tally,
    show=lambda figures: json.dump(figures, sys.stdout, indent=1),
    add_options=_add_options,
    sample=sample,
    keep=keep,
)

if __name__ == "__main__":
    READING.main()
