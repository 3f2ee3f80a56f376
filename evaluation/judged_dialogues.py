"""Dialogues of unseen films, read whole: how many are without any error, and which errors there are.

    edos curate FILMS --no-labels --out build/run
    python evaluation/judged_dialogues.py sample --run build/run --pools "frasier=films/frasier/*" --dialogues 100 \
        --out build/read
    # a reader reads build/read/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_dialogues.py tally --key build/read/key.jsonl --verdicts verdicts.txt

`sample` draws as many dialogues of each pool, shuffles them, and writes the sheet: turns with the silence before each,
without their source. `tally` puts the verdicts beside the key, into `judged_dialogues.jsonl`, which holds no text, and
the figures into `judged_dialogues.json`; without `--key` it counts those of that file again.
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from edos_dataset.runs.shards import write_text
from edos_dataset.text import tokenize
from evaluation.judged_dialogue_records import KINDS, Read, read_records, tally, with_verdicts
from evaluation.judged_sample import read_pools
from evaluation.judged_sheets import add_tally, check_tally, jsonl_of, take_step
from training.examples import report as say
from training.labels.readings import digest_of

JUDGED = Path(__file__).with_suffix(".jsonl")

_HEADER = """\
# Read every dialogue: turns in order, before each the seconds of silence since the one before. Two turns in a row are
# by different people, each turn is one person's, and all of it is one conversation: where is that not so? You know no
# more than the words and the pauses, so say what a careful reader is sure of. Write a line for each dialogue into a
# file of yours, either "NUMBER ok" or the numbers of the turns by kind of error, as in "12 two 3 5 | scene 7":
#
"""


def draw(
    pools: Mapping[str, Sequence[Mapping[str, Any]]], dialogues: int, seed: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Draw so many dialogues, as evenly from the pools as it goes; return pool and dialogue of each, shuffled.

    Raises:
        ValueError: a pool has too few.
    """
    drawn: list[tuple[str, Mapping[str, Any]]] = []
    for place, (pool, there) in enumerate(pools.items()):
        number = dialogues // len(pools) + (place < dialogues % len(pools))
        if len(there) < number:
            raise ValueError(f"the pool {pool!r} has {len(there)} dialogues, fewer than {number}")
        drawn += [(pool, row) for row in random.Random(f"{seed} {pool}").sample(there, number)]
    random.Random(seed).shuffle(drawn)
    return drawn


def record_of(number: int, pool: str, row: Mapping[str, Any]) -> Read:
    """Return what is kept of a dialogue."""
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
    """Return what the reader sees."""
    lines = [_HEADER, *(f"#   {kind}: {told}\n" for kind, told in KINDS.items())]
    for number, (_, row) in enumerate(drawn, 1):
        lines.append(f"\n=== {number}\n")
        end = None
        for place, turn in enumerate(row["turns"], 1):
            silence = "" if end is None or turn["start"] is None else f" [{turn['start'] - end:.1f} s]"
            lines.append(f"{place}.{silence} {turn['text']}\n")
            end = turn["end"]
    return "".join(lines)


def sample(arguments: argparse.Namespace) -> None:
    """Draw, and write sheet.txt and key.jsonl."""
    pools = read_pools(arguments.run, dict(each.split("=", 1) for each in arguments.pools))
    drawn = draw(pools, arguments.dialogues, arguments.seed)
    records = [record_of(number, pool, row) for number, (pool, row) in enumerate(drawn, 1)]
    write_text(arguments.out / "key.jsonl", jsonl_of(records))
    write_text(arguments.out / "sheet.txt", sheet_of(drawn))
    turns = sum(len(record.digests) for record in records)
    say(f"{len(records)} dialogues of {turns} turns: {arguments.out / 'sheet.txt'}")


def count(arguments: argparse.Namespace) -> None:
    """Take in the verdicts, write the figures, and print them."""
    if arguments.key:
        write_text(arguments.judged, jsonl_of(with_verdicts(read_records(arguments.key), arguments.verdicts)))
    figures = tally(read_records(arguments.judged))
    write_text(arguments.judged.with_suffix(".json"), json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    table = Table(title=f"{figures['dialogues']} dialogues of {figures['films']} films, {figures['turns']} turns")
    for name in ("dialogues", "without error", "turns with it"):
        table.add_column(name)
    rows = {"all": figures["without_error"], **figures["of_pools"]}
    rows |= {f"without {kind}": own for kind, own in figures["without"].items()}
    for name, own in rows.items():
        ends = [f"{end:.0%}" if end is not None else "?" for end in own["interval"]]
        turns = figures["turns_with"].get(name.removeprefix("without "), 0.0)
        told = f"{turns:.1%}" if name.startswith("without ") else ""
        table.add_row(name, f"{own['share']:.1%} of {own['dialogues']} ({' to '.join(ends)})", told)
    Console(width=120, file=sys.stdout).print(table)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("sample", help="draw dialogues, write the sheet and its key")
    step.set_defaults(step=sample)
    step.add_argument("--run", type=Path, required=True, help="folder that `edos curate` wrote")
    step.add_argument("--pools", nargs="+", required=True, metavar="NAME=PATTERN", help="of document ids")
    step.add_argument("--dialogues", type=int, default=100)
    step.add_argument("--seed", type=int, default=17)
    step.add_argument("--out", type=Path, required=True, help="folder that gets sheet.txt and key.jsonl")
    add_tally(steps, count, JUDGED, "dialogues")
    arguments = parser.parse_args(given)
    if strange := [each for each in getattr(arguments, "pools", []) if "=" not in each]:
        parser.error(f"--pools: expected NAME=PATTERN, got {strange[0]!r}")
    check_tally(parser, arguments)
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Take a step."""
    take_step(parse_arguments(given))


if __name__ == "__main__":
    main()
