"""Labels of turns of unseen films, judged blind by a reader: how many would a careful reader let stand?

    edos curate FILMS --no-labels --out build/run
    python evaluation/judged_turns.py sample --run build/run --pools "frasier=films/frasier/subtitles/0[67]/*" \
        --models old=linear-dialogue fast --answers build/answers.json --turns 75 --out build/judge
    # a judge reads build/judge/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_turns.py tally --key build/judge/key.jsonl --verdicts verdicts.txt
    python evaluation/judged_turns.py texts --data-dir "$EDOS_DATA_DIR" --out build/judged.jsonl

`sample` draws turns of dialogues that no model learned from, labels their dialogues, and writes the sheet: each turn
with its history and all labels that any model gave it, shuffled; who gave which is in the key. `tally` puts the
verdicts beside the key, into `judged_turns.jsonl`, which holds no text, and the figures of each model into
`judged_turns.json`; without `--key` it counts those of that file again. `texts` puts the texts of one's own files back
beside the judge's labels, for `evaluation/domain.py --labelled`.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from edos_dataset.labels import LABEL_IDS
from edos_dataset.runs.shards import write_text
from evaluation.judged_records import YES, Judged, read_records, show_pools
from evaluation.judged_sample import answers_of, draw, read_pools, records_of, sheet_of, taught_texts
from evaluation.judged_sheets import add_tally, check_tally, jsonl_of, take_step
from evaluation.judged_tally import tally, with_verdicts
from training.examples import report as say
from training.labels.readings import READINGS, read_readings

JUDGED = Path(__file__).with_suffix(".jsonl")


def sample(arguments: argparse.Namespace) -> None:
    """Draw, label, and write sheet.txt and key.jsonl."""
    pools = read_pools(arguments.run, dict(each.split("=", 1) for each in arguments.pools))
    drawn = draw(pools, taught_texts(arguments.data_dir), arguments.turns, arguments.seed)
    dialogues = {row["dialogue_id"]: row for _, row, _ in drawn}
    answers = answers_of(arguments.models, list(dialogues.values()), arguments.answers)
    records = records_of(drawn, answers, arguments.seed)
    write_text(arguments.out / "key.jsonl", jsonl_of(records))
    write_text(arguments.out / "sheet.txt", sheet_of(records, drawn))
    say(f"{show_pools(records)} in {arguments.out / 'sheet.txt'}")


def count(arguments: argparse.Namespace) -> None:
    """Take in the verdicts, write the figures, and print them."""
    if arguments.key:
        records = with_verdicts(read_records(arguments.key), arguments.verdicts)
        write_text(arguments.judged, jsonl_of(records))
    records = read_records(arguments.judged)
    figures = tally(records)
    write_text(arguments.judged.with_suffix(".json"), json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    columns = ("acceptable", "emotions", "intents", "neutral", "sure")
    table = Table(title=f"acceptable labels: {show_pools(records)}")
    for name in ("model", *columns, "errors"):
        table.add_column(name)
    for model, own in figures["models"].items():
        errors = ", ".join(f"{kind} {number}" for kind, number in own["errors"].items())
        table.add_row(model, *(_share(own[name]) for name in columns), errors)
    Console(width=150, file=sys.stdout).print(table)


def _share(share: dict[str, object]) -> str:
    if share["share"] is None:
        return "none"
    low, high = (f"{end:.0%}" if end is not None else "?" for end in share["interval"])  # type: ignore[attr-defined]
    return f"{share['share']:.1%} of {share['turns']} ({low} to {high})"


def texts(arguments: argparse.Namespace) -> None:
    """Write the dialogues with the judge's labels, their own first, then the candidates that they let stand."""
    with tempfile.TemporaryDirectory() as folder:
        readings = Path(folder) / "judged.parquet"
        _write_readings(read_records(arguments.judged), readings)
        dialogues, counts = read_readings(arguments.data_dir, readings)
    lines = []
    for each in dialogues:
        turns = [
            {"text": text} | ({"label": "|".join(names)} if names else {})
            for text, names in zip(each.turns, each.labels, strict=True)
        ]
        lines.append(json.dumps({"dialogue_id": each.dialogue_id, "turns": turns}, ensure_ascii=False) + "\n")
    write_text(arguments.out, "".join(lines))
    say(f"{arguments.out}: " + ", ".join(f"{number} {reason}" for reason, number in counts.items()))


def _write_readings(records: Sequence[Judged], path: Path) -> None:
    """Write judged turns as `read_readings` reads them: dialogues up to their last judged turn."""
    rows = []
    ordered = sorted(records, key=lambda record: (record.file, record.dialogue_id, record.turn))
    for (file, name), group in groupby(ordered, key=lambda record: (record.file, record.dialogue_id)):
        own = {record.turn: record for record in group}
        turns = []
        for number, ids in enumerate(own[max(own)].sentence_ids, 1):
            record = own.get(number)
            stand = [] if record is None else [label for label, verdict in record.candidates.items() if verdict == YES]
            names = dict.fromkeys([record.own, *stand]) if record else {}
            digest = int(record.digest, 16) if record else 0
            turns.append({"digest": digest, "labels": [LABEL_IDS[each] for each in names], "sentence_ids": ids})
        rows.append({"file": file, "dialogue_id": name, "turns": turns})
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(READINGS)), path)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("sample", help="draw turns, label their dialogues, write the sheet and its key")
    step.set_defaults(step=sample)
    step.add_argument("--run", type=Path, required=True, help="folder that `edos curate` wrote")
    step.add_argument(
        "--pools", nargs="+", required=True, metavar="NAME=PATTERN", help="which documents, as of a shell"
    )
    step.add_argument("--turns", type=int, default=75, help="of each pool (default: 75)")
    step.add_argument("--seed", type=int, default=16)
    told = "labels now; a NAME alone has its answers in --answers"
    step.add_argument("--models", nargs="+", required=True, metavar="NAME=MODEL", help=told)
    step.add_argument("--answers", type=Path, required=True, help="file that keeps what models say")
    step.add_argument("--out", type=Path, required=True, help="folder that gets sheet.txt and key.jsonl")
    step.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="default: $EDOS_DATA_DIR")
    add_tally(steps, count, JUDGED, "judged turns")
    step = steps.add_parser("texts", help="put the texts back")
    step.set_defaults(step=texts)
    step.add_argument("--judged", type=Path, default=JUDGED)
    step.add_argument("--out", type=Path, required=True, help="JSON lines for `domain.py --labelled`")
    step.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="default: $EDOS_DATA_DIR")
    arguments = parser.parse_args(given)
    if getattr(arguments, "data_dir", "") is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if strange := [each for each in getattr(arguments, "pools", []) if "=" not in each]:
        parser.error(f"--pools: expected NAME=PATTERN, got {strange[0]!r}")
    check_tally(parser, arguments)
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Take a step."""
    take_step(parse_arguments(given))


if __name__ == "__main__":
    main()
