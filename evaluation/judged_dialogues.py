"""Whole dialogues of unseen films, judged by a reader: how many have no error, and which errors occur.

    edos curate FILMS --no-labels --out build/run
    python evaluation/judged_dialogues.py sample --run build/run --pools "frasier=films/frasier/*" --dialogues 100 \
        --out build/read
    # a reader reads build/read/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_dialogues.py tally --key build/read/key.jsonl --verdicts verdicts.txt

`sample` draws equally many dialogues from each pool, shuffles them, and writes the sheet: turns with the silence before
each, without their source. `tally` adds the verdicts to the key, writes both to `judged_dialogues.jsonl`, which
contains no text, and the figures to `judged_dialogues.json`; without `--key` it counts the existing file again.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from edos_dataset.arrays import Bools, Doubles
from edos_dataset.audits.judgements import SUBTITLES, error_types
from edos_dataset.text import shown, tokenize
from evaluation.readings import (
    OK,
    Reading,
    Sample,
    add_run,
    bands_of,
    even_numbers,
    header_of,
    numbered,
    read_pools,
    share_by_pool,
    share_of,
    show_share,
)
from training.labels.readings import digest_of

KINDS = {one.code: one.meaning for one in error_types(SUBTITLES)}
"""Kinds of errors of a turn; they are also the error codes of `edos audit`."""

BANDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Lower ends of the bands of certainty; the last band ends at 1."""

_INSTRUCTIONS = """\
# Read every dialogue: turns in order, before each the seconds of silence since the one before. Two turns in a row are
# by different people, each turn is one person's, and all of it is one conversation: where is that not so? You know no
# more than the words and the pauses, so say what a careful reader is sure of. Write a line for each dialogue into a
# file of yours, either "NUMBER ok" or the numbers of the turns by kind of error, as in "12 two 3 5 | scene 7":
#
"""


@dataclass(frozen=True)
class Read:
    """A drawn dialogue, without its text.

    Attributes:
        number: number on the sheet.
        pool: the pool from which it was drawn.
        file: file of its film, below the folder that the run read.
        dialogue_id: its id in the run.
        sentence_ids: sentence ids of its turns, as in `edos segment`.
        digests: the first 8 hex digits of the SHA-256 of each turn's text.
        tokens: number of tokens in all turns.
        certainty: the stated certainty; None if there is none.
        errors: kind in KINDS → turns, from 1; None if not yet judged.
    """

    number: int
    pool: str
    file: str
    dialogue_id: str
    sentence_ids: list[list[int]]
    digests: list[str]
    tokens: int
    certainty: float | None = None
    errors: dict[str, list[int]] | None = None


def draw(
    pools: Mapping[str, Sequence[Mapping[str, Any]]], dialogues: int, seed: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Draw dialogues as evenly from the pools as possible; return the pool and dialogue of each, shuffled.

    Raises:
        ValueError: a pool has too few.
    """
    drawn: list[tuple[str, Mapping[str, Any]]] = []
    for (pool, there), number in zip(pools.items(), even_numbers(dialogues, len(pools)), strict=True):
        if len(there) < number:
            raise ValueError(f"the pool {pool!r} has {len(there)} dialogues, fewer than {number}")
        drawn += [(pool, row) for row in random.Random(f"{seed} {pool}").sample(there, number)]
    random.Random(seed).shuffle(drawn)
    return drawn


def record_of(number: int, pool: str, row: Mapping[str, Any]) -> Read:
    """Return the record of a drawn dialogue."""
    return Read(
        number,
        pool,
        row["document_id"].partition("/")[2],
        row["dialogue_id"],
        [turn["sentence_ids"] for turn in row["turns"]],
        [f"{digest_of(turn['text']):08x}" for turn in row["turns"]],
        sum(len(tokenize(turn["text"])) for turn in row["turns"]),
        row.get("certainty"),
    )


def sheet_of(drawn: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the text of the sheet."""
    lines = [header_of(_INSTRUCTIONS, KINDS)]
    for number, (_, row) in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        end = None
        for place, turn in enumerate(row["turns"], 1):
            silence = "" if end is None or turn["start"] is None else f" [{turn['start'] - end:.1f} s]"
            lines.append(f"{place}.{silence} {turn['text']}\n")
            end = turn["end"]
    return "".join(lines)


def sample(arguments: argparse.Namespace) -> Sample[Read]:
    """Draw dialogues from a run."""
    drawn = draw(read_pools(arguments.run, dict(arguments.pools)), arguments.dialogues, arguments.seed)
    records = [record_of(number, pool, row) for number, (pool, row) in enumerate(drawn, 1)]
    turns = sum(len(record.digests) for record in records)
    return Sample(records, sheet_of(drawn), f"{len(records)} dialogues of {turns} turns")


def judge(drawn: Mapping[int, Read], line: str) -> Read:
    """Return the dialogue of a line "NUMBER ok" or "NUMBER KIND TURN ... | ..." with its errors.

    Raises:
        ValueError: the line is malformed.
    """
    record, rest = numbered(drawn, line, "dialogue", "NUMBER ok, or NUMBER KIND TURN ... | ...")
    errors = dict[str, list[int]]()
    for each in [] if rest.strip() == OK else rest.split("|"):
        kind, *turns = each.split()
        if kind not in KINDS:
            raise ValueError(f"dialogue {record.number}: {kind!r} is no kind of error; there are {', '.join(KINDS)}")
        known = {str(turn) for turn in range(1, len(record.digests) + 1)}
        if not turns or not known.issuperset(turns):
            raise ValueError(
                f"dialogue {record.number} has turns 1 to {len(record.digests)}, got {shown(each.strip())}"
            )
        errors[kind] = sorted({*errors.get(kind, []), *map(int, turns)})
    return replace(record, errors=errors)


def tally(records: Sequence[Read]) -> dict[str, Any]:
    """Return the figures.

    Returns:
        `dialogues`, `turns`, `tokens`, `films`; fractions of the dialogues with 95 % intervals (bootstrap over films):
        `without_error`, also `of_pools`, and `without` each kind; `turns_with`, the fraction of turns with each kind;
        `certainty`, if stated: for each band the number of dialogues, their mean certainty and the fraction without
        error.
    """
    films = np.array([record.file for record in records])
    turns = sum(len(record.digests) for record in records)
    errors = [record.errors or {} for record in records]
    right = np.array([not each for each in errors])
    sure = np.array([record.certainty for record in records], float)  # NaN if there is none
    wrong_turns = Counter(kind for each in errors for kind in _a_turn_each(each))
    everywhere = np.ones(len(records), bool)

    def share(fits: Bools) -> dict[str, Any]:
        return share_of(fits, films, everywhere, "dialogues")

    return {
        "dialogues": len(records),
        "films": len(set(films.tolist())),
        "turns": turns,
        "turns_per_dialogue": round(turns / len(records), 2),
        "tokens_per_turn": round(sum(record.tokens for record in records) / turns, 2),
        "without_error": share(right),
        "of_pools": share_by_pool(right, films, [record.pool for record in records], "dialogues"),
        "without": {kind: share(np.array([kind not in each for each in errors])) for kind in KINDS},
        "turns_with": {kind: round(count / turns, 4) for kind, count in wrong_turns.most_common()},
        "certainty": _by_certainty(sure, right, films),
    }


def _by_certainty(sure: Doubles, right: Bools, films: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"from": low, "mean": round(float(sure[band].mean()), 4), **share_of(right, films, band, "dialogues")}
        for low, band in bands_of(sure, BANDS)
        if band.any()
    ]


def _a_turn_each(errors: Mapping[str, Sequence[int]]) -> list[str]:
    return [kind for kind, turns in errors.items() for _ in turns]


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a table."""
    table = Table(title=f"{figures['dialogues']} dialogues of {figures['films']} films, {figures['turns']} turns")
    for name in ("dialogues", "without error", "turns with it"):
        table.add_column(name)
    for name, own in {"all": figures["without_error"], **figures["of_pools"]}.items():
        table.add_row(name, show_share(own, "dialogues"), "")
    for kind, own in figures["without"].items():
        wrong = figures["turns_with"].get(kind, 0.0)
        table.add_row(f"without {kind}", show_share(own, "dialogues"), f"{wrong:.1%}")
    Console(width=120, file=sys.stdout).print(table)


def _add_options(step: argparse.ArgumentParser) -> None:
    add_run(step)
    step.add_argument("--dialogues", type=int, default=100)
    step.add_argument("--seed", type=int, default=17)


READING = Reading(
    __doc__,
    Path(__file__).with_suffix(".jsonl"),
    "dialogue",
    record_of=lambda row: Read(**row),
    judge=judge,
    tally=tally,
    show=show,
    add_options=_add_options,
    sample=sample,
)

if __name__ == "__main__":
    READING.main()
