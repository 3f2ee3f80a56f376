"""Write what `turn_metrics.py` measured as JSON, as tables in Markdown, and as pictures.

    python training/turn_report.py --scorer rules --out report/ labelled/*.parquet

measures scorers that the package has, on documents that `turn_data.py` labelled; `train_turn_segmenter.py` calls
`write_report` itself.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from training.turns.metrics import by_confidence, compare, measure
from training.turns.pictures import draw
from training.turns.seams import Floats, Seams, read_labelled, score_with

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """What a report tells; a part that is empty is left out of it.

    Attributes:
        title: heading of the report.
        facts: what was measured on, and how: data, split, seed, command.
        scorers: name of a scorer → what `measure` gave on all test documents.
        sources: name of a scorer → name of a source → what `measure` gave on its documents.
        comparisons: rows of `first`, `second` (names of scorers) and what `compare` gave.
        confidence: name of a scorer → rows of `by_confidence`.
        ablation: rows of `ablation_row`; the first is that of the whole model.
        learning_curve: rows of `scorer`, `seams` (that it learned from), `accuracy`, `accuracy_interval`, `f1`.
    """

    title: str
    facts: dict[str, Any] = field(default_factory=dict)
    scorers: dict[str, Row] = field(default_factory=dict)
    sources: dict[str, dict[str, Row]] = field(default_factory=dict)
    comparisons: list[Row] = field(default_factory=list)
    confidence: dict[str, list[Row]] = field(default_factory=dict)
    ablation: list[Row] = field(default_factory=list)
    learning_curve: list[Row] = field(default_factory=list)


def write_report(folder: Path, results: Results) -> list[Path]:
    """Write `report.json`, `report.md` and the pictures that it shows.

    Args:
        folder: made if missing; files of the same names are replaced.
        results: what to tell.

    Returns:
        The files that were written.

    Raises:
        ImportError: matplotlib is not installed; it comes with the extra `evaluation`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = draw(folder, results.scorers, results.learning_curve, results.ablation)
    record, text = folder / "report.json", folder / "report.md"
    record.write_text(
        json.dumps(asdict(results), indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    text.write_text(render(results, {path.name: caption for path, caption in pictures.items()}), encoding="utf-8")
    return [record, text, *pictures]


def render(results: Results, pictures: Mapping[str, str]) -> str:
    """Return the report as Markdown.

    Args:
        results: what to tell.
        pictures: file name → caption.
    """
    sources = [
        {"scorer": name, "source": source, **row}
        for name, rows in results.sources.items()
        for source, row in rows.items()
    ]
    sources.sort(key=lambda row: str(row["source"]))
    scorers = [{"scorer": name, **row} for name, row in results.scorers.items()]
    turns = [{"scorer": row["scorer"], **shares} for row in scorers for shares in row["turns"]]
    bands = [{"scorer": name, **row} for name, rows in results.confidence.items() for row in rows]
    sections = [
        ("Scorers", _table(scorers, SCORER) + _baselines(scorers)),
        ("As probabilities", _table(scorers, PROBABILITY)),
        (
            "Best thresholds",
            _table(
                [
                    {"scorer": row["scorer"], "for": name, **row[f"best_{name}"]}
                    for row in scorers
                    for name in ("f1", "accuracy")
                ],
                BEST,
            ),
        ),
        ("Turns", _table(turns, TURNS)),
        ("Sources", _table(sources, SOURCE)),
        ("Differences", _table(results.comparisons, DIFFERENCE)),
        ("By confidence of the label", _table(bands, BAND)),
        ("Features", _table(results.ablation, ABLATION)),
        ("Learning curve", _table(results.learning_curve, LEARNING)),
        ("Pictures", "\n".join(f"![{caption}]({name})\n" for name, caption in pictures.items())),
    ]
    facts = "".join(f"- {name}: {value}\n" for name, value in results.facts.items())
    body = "".join(f"\n## {heading}\n\n{text}" for heading, text in sections if text)
    return f"# {results.title}\n\n{facts}{READ_ME}{body}"


READ_ME = (
    '\nPrecision, recall and F1 are of the class "new turn". In square brackets: 95 % intervals, of documents drawn '
    "anew. Mixed turns hold more than one "
    "speaker; cut runs are what one speaker says at a stretch, parted by a false turn.\n"
)


def percent(value: float | None) -> str:
    """Return a share as percent; what has no value as a dash."""
    return "–" if value is None else f"{100 * value:.1f}"


def decimal(value: float | None) -> str:
    """Return a number with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of shares in percent."""
    return "[" + ", ".join(map(percent, values)) + "]"


Columns = tuple[tuple[str, str, Any], ...]
COUNT = "{:,}".format
NAME: Columns = (("scorer", "scorer", str),)
SIZE: Columns = (("seams", "seams", COUNT), ("documents", "documents", COUNT))
ACCURACY: Columns = (("accuracy", "accuracy %", percent), ("accuracy_interval", "", interval))
F1: Columns = (("f1", "F1 %", percent),)
CLASS: Columns = (("precision", "precision %", percent), ("recall", "recall %", percent))
SCORER: Columns = (
    *NAME,
    *SIZE,
    ("threshold", "threshold", decimal),
    *ACCURACY,
    *CLASS,
    *F1,
    ("f1_interval", "", interval),
)
PROBABILITY: Columns = (
    *NAME,
    ("roc_auc", "ROC AUC", decimal),
    ("average_precision", "average precision", decimal),
    ("log_loss", "log loss (nats)", decimal),
    ("brier", "Brier", decimal),
    ("ece", "ECE", decimal),
)
BEST: Columns = (
    *NAME,
    ("for", "best", str),
    ("threshold", "threshold", decimal),
    ("accuracy", "accuracy %", percent),
    *CLASS,
    *F1,
)
TURNS: Columns = (
    *NAME,
    ("threshold", "threshold", decimal),
    ("mixed_turns", "mixed turns %", percent),
    ("cut_runs", "cut runs %", percent),
    ("sentences_per_turn", "sentences a turn", decimal),
)
SOURCE: Columns = (
    ("source", "source", str),
    *NAME,
    *SIZE,
    *ACCURACY,
    *CLASS,
    *F1,
    ("roc_auc", "ROC AUC", decimal),
    ("ece", "ECE", decimal),
)
DIFFERENCE: Columns = (
    ("first", "first", str),
    ("second", "second", str),
    ("accuracy_difference", "accuracy, points", percent),
    ("accuracy_interval", "", interval),
    ("f1_difference", "F1, points", percent),
    ("f1_interval", "", interval),
    ("only_first_right", "only first right", COUNT),
    ("only_second_right", "only second right", COUNT),
)
BAND: Columns = (
    *NAME,
    ("from", "from", decimal),
    ("to", "to", decimal),
    ("seams", "seams", COUNT),
    ("accuracy", "accuracy %", percent),
)
ABLATION: Columns = (
    ("features", "features", str),
    ("accuracy", "accuracy %", percent),
    ("accuracy_difference", "change, points", percent),
    ("accuracy_interval", "", interval),
    *F1,
    ("f1_difference", "change, points", percent),
    ("f1_interval", "", interval),
)
LEARNING: Columns = (*NAME, ("seams", "seams learned from", COUNT), *ACCURACY, *F1)


def _table(rows: Sequence[Row], columns: Columns) -> str:
    """Return a Markdown table; without rows an empty text."""
    if not rows:
        return ""
    head = "| " + " | ".join(title for _, title, _ in columns) + " |\n"
    rule = "|" + "|".join("---" if form is str else "--:" for _, _, form in columns) + "|\n"
    return (
        head + rule + "".join("| " + " | ".join(form(row[name]) for name, _, form in columns) + " |\n" for row in rows)
    )


def _baselines(scorers: Sequence[Row]) -> str:
    """Return the baselines below the table of scorers; they are the same for all, which are
    measured on the same seams.
    """
    rows = (
        [{"scorer": name.replace("_", " "), **values} for name, values in scorers[0]["baselines"].items()]
        if scorers
        else []
    )
    return "\n" + _table(rows, (("scorer", "baseline", str), ("accuracy", "accuracy %", percent), *F1)) if rows else ""


def assess(
    title: str,
    table: pa.Table,
    scores: Mapping[str, Floats],
    thresholds: Mapping[str, float],
    *,
    least: float = 0.0,
    seed: int = 0,
) -> Results:
    """Measure scorers on labelled documents: on all, on those of each corpus, and the first scorer against each other
    one.

    Args:
        title: heading of the report.
        table: documents as `read_labelled` returns them.
        scores: name of a scorer → float32 [sentences].
        thresholds: name of a scorer → its threshold.
        least: confidence below which a label counts as unknown, 0 to 1.
        seed: of the intervals.
    """
    seams = Seams.of(table).at_least(least)
    corpus = np.asarray(table["corpus"].to_pylist())[seams.group]
    rows = {source: corpus == source for source in dict.fromkeys(table["corpus"].to_pylist())}
    first, *others = scores
    return Results(
        title,
        facts={
            "seed of the intervals": seed,
            "least confidence": least,
            "sentences": len(seams),
            "seams without label": int((~seams.known()).sum()),
        },
        scorers={name: measure(seams, score, thresholds[name], seed=seed) for name, score in scores.items()},
        sources={
            name: {source: measure(seams[of], score[of], thresholds[name], seed=seed) for source, of in rows.items()}
            for name, score in scores.items()
        },
        comparisons=[
            {
                "first": first,
                "second": other,
                **compare(seams, scores[first], scores[other], (thresholds[first], thresholds[other]), seed=seed),
            }
            for other in others
        ],
        confidence={name: by_confidence(seams, score, thresholds[name]) for name, score in scores.items()},
    )


def main() -> None:
    """Measure scorers of the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="+", help="Parquet files of labelled documents")
    parser.add_argument(
        "--scorer",
        action="append",
        required=True,
        help="name of a scorer in the package; give several to compare the first with the others",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="a turn begins where the score is below it (default: 0.5)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.0, help="labels that are less sure are left out (default: 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the intervals (default: 0)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the report")
    args = parser.parse_args()
    table = read_labelled(args.documents)
    results = assess(
        "Turns",
        table,
        score_with(args.scorer, table),
        dict.fromkeys(args.scorer, args.threshold),
        least=args.confidence,
        seed=args.seed,
    )
    write_report(args.out, results)


if __name__ == "__main__":
    main()
