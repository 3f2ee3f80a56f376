"""The table of `ladder.py`: our rungs above those of OSED, Table 5."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

SCORES = ("macro_precision", "macro_recall", "macro_f1", "accuracy", "top_3_accuracy", "ece")
SOURCE = "OSED, Table 5: macro precision, recall, F1 and accuracy in %, on the authors' own test part"
TABLE_5 = {
    "fastText": [
        (0.78, 4.73, 1.32, 6.36),
        (7.18, 10.28, 5.65, 11.20),
        (9.76, 11.19, 7.37, 12.04),
        (13.23, 15.06, 10.89, 15.53),
    ],
    "EmoBERT+": [
        (63.33, 63.94, 63.28, 65.17),
        (63.55, 63.54, 62.92, 64.55),
        (63.96, 64.27, 63.61, 64.88),
        (64.11, 64.59, 63.86, 65.00),
    ],
}
RUNGS = ("base", "1st iteration", "2nd iteration", "2nd extended")
PAPERS_STEPS = ["crowd", "spread", "self-label", "spread"]


def caption(learner: str) -> str:
    """Return a short name of a learner: of a command, the names of its scripts and recipes."""
    return " ".join(Path(word).stem for word in shlex.split(learner) if word.endswith((".py", ".yaml"))) or learner


def show(name: str, report: dict[str, Any], console: Console) -> None:
    """Print the table of a set, with the papers' figures below ours."""
    table = Table(title=f"{name}: {report['test']} test examples, %")
    columns = ("learner", "labels of", "train", *SCORES, "accuracy, 95 %", "gain over base, 95 %")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="left" if column in columns[:2] else "right")
    for learner, results in report["learners"].items():
        for result in results:
            gain = result.get("gain")
            scores = [f"{100 * result[score]:.1f}" for score in SCORES]
            difference = f"{100 * gain['accuracy']:+.1f} {_range(gain['interval'])}" if gain else ""
            rung = f"{result['step']} {result['method']}"
            table.add_row(
                caption(learner),
                rung,
                f"{result['train']:,}",
                *scores,
                _range(result["intervals"]["accuracy"]),
                difference,
            )
        table.add_section()
    for learner, figures in TABLE_5.items():
        for rung, row in zip(RUNGS, figures, strict=True):
            table.add_row(f"{learner} (OSED)", rung, "", *(f"{value:.1f}" for value in row), *[""] * 4)
        table.add_section()
    table.caption = SOURCE + ("" if report["as_in_the_papers"] else "; its steps are others than this set's")
    console.print(table)


def _range(values: Sequence[float | None]) -> str:
    return "" if None in values else f"[{100 * (values[0] or 0):.1f}, {100 * (values[1] or 0):.1f}]"
