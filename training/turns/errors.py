"""Writes the errors of a turn scorer for a person to classify, and derives the quality of labels and model.

    python -m training.turns.errors show --scorer rules --count 100 --out errors/ labelled/frasier.parquet
    python -m training.turns.errors count errors/errors.tsv --accuracy 0.76

The first command writes `errors.txt` to read and `errors.tsv` with an empty class for each number; the second reads the
classes that a person filled in.
"""

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints, unnest
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.shards import write_text
from training.turns.boundaries import Boundaries, read_labelled, score_with

CLASSES = ("model", "label", "ambiguous")
"""The classes of an error: a fault of the model; a wrong label, by alignment or source; a boundary that a careful
reader could not decide from the text.
"""

COLUMNS = ("index", "class", "note")
CONTEXT = 3  # sentences before and after
LEGEND = """Each sentence: label of the boundary before it (= same turn, | new turn, ? unknown), score of the same
turn there, number, seconds, [blocks], text.
The error is the boundary before the sentence marked by >. Class it in errors.tsv: model, label or ambiguous.
"""
SIGNS = {1: "=", 0: "|", -1: "?"}


def pick_errors(
    boundaries: Boundaries, score: Floats, threshold: float, count: int, *, seed: int = 0, confident: bool = False
) -> Ints:
    """Return the errors to inspect.

    Args:
        boundaries: labelled boundaries [n].
        score: float32 [n], 0 to 1.
        threshold: a new turn begins if the score is below it.
        count: maximum number of errors.
        seed: seed of the sample.
        confident: take the errors with scores farthest from the threshold instead of a random sample.

    Returns:
        Positions of the boundaries: in random order, so that every prefix is a sample too, or the most confident first.
    """
    wrong = boundaries.known() & ((score >= np.float32(threshold)) != (boundaries.same == 1))
    errors: Ints = np.flatnonzero(wrong)
    if confident:
        return errors[np.argsort(-np.abs(score[errors] - threshold), kind="stable")][:count]
    return np.random.default_rng(seed).permutation(errors)[:count]


def describe(table: pa.Table, boundaries: Boundaries, score: Floats, position: int) -> str:
    """Return a boundary as text: its label and score, then three sentences before and after it, in the form that LEGEND
    explains.

    Args:
        table: documents as returned by `read_labelled`.
        boundaries: the boundaries of the table.
        score: float32 [sentences].
        position: position of the boundary among all sentences of the table.
    """
    sentences, offsets = unnest(table, "sentences")
    row = int(np.searchsorted(offsets, position, side="right")) - 1
    first, last = max(int(offsets[row]), position - CONTEXT), min(int(offsets[row + 1]), position + CONTEXT)
    label = "same turn" if boundaries.same[position] == 1 else "NEW TURN"
    head = (
        f"{table['document_id'][row]}  label {label} ({boundaries.confidence[position]:.2f}), score of the same turn "
        f"{score[position]:.3f}"
    )
    around = sentences.slice(first, last - first).to_pylist()
    lines = [
        f"{'>' if place == position else ' '} {SIGNS[int(boundaries.same[place])]} {score[place]:5.3f} "
        f"{_line(sentence)}"
        for place, sentence in zip(range(first, last), around, strict=True)
    ]
    return "\n".join([head, *lines])


def _line(sentence: Mapping[str, Any]) -> str:
    """Return number, seconds, blocks, dash, name and text of a sentence; ~ marks unknown values."""
    times = "–".join("~" if value is None else f"{value:.2f}" for value in (sentence["start"], sentence["end"]))
    blocks = "–".join(
        "~" if value is None else str(value)
        for value in dict.fromkeys((sentence["first_block"], sentence["last_block"]))
    )
    name = f"{sentence['speaker']}: " if sentence["speaker"] else ""
    return f"{sentence['id']:5} {times:>17} [{blocks:>7}] {'- ' if sentence['dash'] else '  '}{name}{sentence['text']}"


def write_errors(folder: Path, table: pa.Table, boundaries: Boundaries, score: Floats, positions: Ints) -> None:
    """Write `errors.txt`, the boundaries described by `describe` and numbered from 1, and `errors.tsv`, to be filled
    in.

    Raises:
        ValueError: the folder already has an `errors.tsv`, which may contain work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sheet = folder / "errors.tsv"
    if sheet.exists():
        raise ValueError(
            f"{sheet} exists and may hold classes that somebody wrote: move it away, or give another folder"
        )
    texts = [
        f"#{number}  {describe(table, boundaries, score, int(position))}\n"
        for number, position in enumerate(positions, start=1)
    ]
    write_text(folder / "errors.txt", "\n".join([LEGEND, *texts]))
    rows = "".join(f"{number}\t\t\n" for number in range(1, len(positions) + 1))
    write_text(sheet, "\t".join(COLUMNS) + "\n" + rows)


def read_classes(path: Path) -> dict[int, str]:
    """Read the class of each error; those without a class are left out.

    Args:
        path: tab-separated, with the columns index, class and note; quotation marks have no special meaning.

    Raises:
        ValueError: an index or a class is invalid.
    """
    classes: dict[int, str] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), start=2):
            index, name = (row.get("index") or "").strip(), (row.get("class") or "").strip()
            if not index.isdigit() or (name and name not in CLASSES):
                raise ValueError(
                    f"{path}, line {number}: expected a number and one of {', '.join(CLASSES)}, got {index!r} and "
                    f"{name!r}"
                )
            if name:
                classes[int(index)] = name
    return classes


def summarise(classes: Mapping[int, str], accuracy: float) -> dict[str, Any]:
    """Estimate the quality of labels and model from a random sample of errors that a person classified.

    Only errors were inspected: wrong labels with which the model agrees remain unknown, so the ceilings are upper
    bounds.

    Args:
        classes: index of the error → class.
        accuracy: measured accuracy of the model, 0 to 1, on the boundaries from which the errors were sampled.

    Returns:
        `errors` (classified), `classes`: for each class its count, fraction of the errors and 95 % interval (Wilson,
        1927);
        `ceiling`: the accuracy that a perfect model would be measured at, because of wrong labels;
        `ceiling_with_ambiguous`: the same if it also missed the ambiguous ones;
        `corrected_accuracy`: accuracy of this model on correct labels, without ambiguous ones; each with its 95 %
        interval.

    Raises:
        ValueError: no error has a class.
    """
    if not classes:
        raise ValueError(f"no error has a class: write one of {', '.join(CLASSES)} into the second column")
    counts, total, missed = Counter(classes.values()), len(classes), 1 - accuracy

    def share(*names: str) -> tuple[float, list[float]]:
        count = sum(counts[name] for name in names)
        return count / total, wilson(count / total, total)

    def bound(*names: str) -> dict[str, Any]:
        value, (low, high) = share(*names)
        return {
            "accuracy": round(1 - missed * value, 4),
            "interval": [round(1 - missed * high, 4), round(1 - missed * low, 4)],
        }

    return {
        "errors": total,
        "classes": {
            name: {
                "count": counts[name],
                "share": round(share(name)[0], 4),
                "interval": wilson(counts[name] / total, total),
            }
            for name in CLASSES
        },
        "ceiling": bound("label"),
        "ceiling_with_ambiguous": bound("label", "ambiguous"),
        "corrected_accuracy": bound("model"),
    }


def main() -> None:
    """Write errors, or count their classes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="write errors of a scorer of the package")
    show.add_argument("documents", type=Path, nargs="+", help="Parquet files of labelled documents")
    show.add_argument("--scorer", required=True, help="name of a scorer in the package")
    show.add_argument(
        "--threshold", type=float, default=0.5, help="a turn begins where the score is below it (default: 0.5)"
    )
    show.add_argument(
        "--confidence", type=float, default=0.0, help="leave out labels with a lower confidence (default: 0)"
    )
    show.add_argument("--count", type=int, default=100, help="errors (default: 100)")
    show.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    show.add_argument("--confident", action="store_true", help="the errors farthest from the threshold, not a sample")
    show.add_argument("--out", type=Path, required=True, help="folder of errors.txt and errors.tsv")
    count = commands.add_parser("count", help="count the classes that a person gave")
    count.add_argument("classes", type=Path, help="errors.tsv with the classes filled in")
    count.add_argument("--accuracy", type=float, required=True, help="measured accuracy of the scorer, 0 to 1")
    args = parser.parse_args()
    if args.command == "count":
        sys.stdout.write(json.dumps(summarise(read_classes(args.classes), args.accuracy), indent=1) + "\n")
        return
    table = read_labelled(args.documents)
    boundaries, score = Boundaries.of(table).at_least(args.confidence), score_with([args.scorer], table)[args.scorer]
    positions = pick_errors(boundaries, score, args.threshold, args.count, seed=args.seed, confident=args.confident)
    write_errors(args.out, table, boundaries, score, positions)


if __name__ == "__main__":
    main()
