"""Writes the measurements of `metrics.py` as JSON, Markdown tables, and charts.

    python -m training.turns.report --scorer rules --out report/ labelled/*.parquet

measures scorers of the package on documents that `data.py` labelled; `train_turn_segmenter.py` calls `write_report`
directly.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats
from edos_dataset.runs.shards import write_text
from training.turns.boundaries import Boundaries, read_labelled, score_with
from training.turns.metrics import by_confidence, compare, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """The content of a report; empty parts are left out.

    Attributes:
        title: heading of the report.
        facts: what was measured, and how: data, split, seed, command.
        scorers: name of a scorer → result of `measure` on all test documents.
        sources: name of a scorer → name of a source → result of `measure` on its documents.
        comparisons: rows of `first`, `second` (names of scorers) and the result of `compare`.
        confidence: name of a scorer → rows of `by_confidence`.
        ablation: rows of `ablation_row`; the first is that of the whole model.
        learning_curve: rows of `scorer`, `seams` (number of training boundaries), `accuracy`, `accuracy_interval`,
            `f1`.
    """

    title: str
    facts: dict[str, Any] = field(default_factory=dict)
    scorers: dict[str, Row] = field(default_factory=dict)
    sources: dict[str, dict[str, Row]] = field(default_factory=dict)
    comparisons: Sequence[Row] = field(default_factory=list)
    confidence: dict[str, Sequence[Row]] = field(default_factory=dict)
    ablation: Sequence[Row] = field(default_factory=list)
    learning_curve: Sequence[Row] = field(default_factory=list)


def render(results: Results, pictures: Mapping[str, str]) -> str:
    """Return the report as Markdown.

    Args:
        results: the content.
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
    "speaker; cut runs are what one speaker says at a stretch, split by a false turn.\n"
)


def percent(value: float | None) -> str:
    """Return a fraction in percent, or a dash if it is undefined."""
    return "–" if value is None else f"{100 * value:.1f}"


def decimal(value: float | None) -> str:
    """Return a number with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of fractions in percent."""
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
    """Return a Markdown table, or an empty text if there are no rows."""
    if not rows:
        return ""
    head = "| " + " | ".join(title for _, title, _ in columns) + " |\n"
    rule = "|" + "|".join("---" if form is str else "--:" for _, _, form in columns) + "|\n"
    return (
        head + rule + "".join("| " + " | ".join(form(row[name]) for name, _, form in columns) + " |\n" for row in rows)
    )


def _baselines(scorers: Sequence[Row]) -> str:
    """Return the baselines below the table of scorers; all scorers have the same, since they are measured on the same
    boundaries.
    """
    rows = (
        [{"scorer": name.replace("_", " "), **values} for name, values in scorers[0]["baselines"].items()]
        if scorers
        else []
    )
    return "\n" + _table(rows, (("scorer", "baseline", str), ("accuracy", "accuracy %", percent), *F1)) if rows else ""


# Colours of Okabe and Ito (2008), safe for colour-blind readers; lines also differ by dashes and markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#666666"
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P")


def draw(
    folder: Path, scorers: Mapping[str, Row], learning_curve: Sequence[Row], ablation: Sequence[Row]
) -> dict[Path, str]:
    """Draw the charts for which there are data.

    Args:
        folder: folder for the PNG files.
        scorers: name of a scorer → result of `measure`.
        learning_curve: rows as in `Results`.
        ablation: rows as in `Results`.

    Returns:
        File → caption.
    """
    pictures = {}
    if scorers:
        pictures[_save(folder / "precision_recall.png", _precision_recall, scorers)] = (
            "Precision and recall of new turns over all thresholds"
        )
        pictures[_save(folder / "reliability.png", _reliability, scorers)] = "Share of same turns by score"
    if learning_curve:
        pictures[_save(folder / "learning_curve.png", _learning, learning_curve)] = (
            "Accuracy by the number of boundaries learned from"
        )
    if ablation:
        pictures[_save(folder / "ablation.png", _ablation, ablation)] = "Accuracy by features"
    return pictures


def _save(path: Path, picture: Any, data: Any) -> Path:  # noqa: ANN401  each chart has other data
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    picture(axes, data)
    figure.savefig(path, dpi=150, metadata={"Software": None})  # the same bytes on every machine
    return path


def _style(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def _precision_recall(axes: "Axes", scorers: Mapping[str, Row]) -> None:
    for number, (name, row) in enumerate(scorers.items()):
        points = row["curve"]
        label = f"{name} (average precision {row['average_precision'] or 0:.3f})"
        axes.plot(
            [100 * point["recall"] for point in points],
            [100 * point["precision"] for point in points],
            **_style(number),
            label=label,
        )
        if row["precision"] is not None and row["recall"] is not None:
            axes.plot(
                100 * row["recall"],
                100 * row["precision"],
                MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
            )
    always = next(iter(scorers.values()))["baselines"]["new_turn_everywhere"]["accuracy"]
    axes.axhline(100 * always, color=GREY, linewidth=1, label="every sentence a turn")
    axes.set(
        xlabel="Recall of new turns (%)",
        ylabel="Precision of new turns (%)",
        xlim=(0, 101),
        ylim=(max(100 * always - 10, 0), 101),
    )
    axes.set_title("New turns found, by threshold (marker: threshold in use)", fontsize=11)
    axes.legend(loc="lower left", edgecolor="none", framealpha=1)


def _reliability(axes: "Axes", scorers: Mapping[str, Row]) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
    for number, (name, row) in enumerate(scorers.items()):
        bins = row["reliability"]
        sizes = [4 + 200 * entry["seams"] / row["seams"] for entry in bins]
        scores, shares = [entry["score"] for entry in bins], [entry["same"] for entry in bins]
        axes.plot(scores, shares, **_style(number), linewidth=1, label=f"{name} (ECE {row['ece']:.3f})")
        axes.scatter(scores, shares, sizes, color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)])
    axes.set(
        xlabel="Score: probability of the same turn",
        ylabel="Share of boundaries within a turn",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    axes.set_title("Calibration (area of a marker: boundaries in its bin)", fontsize=11)
    axes.legend(loc="upper left", frameon=False)


def _learning(axes: "Axes", rows: Sequence[Row]) -> None:
    for number, name in enumerate(dict.fromkeys(row["scorer"] for row in rows)):
        own = sorted((row for row in rows if row["scorer"] == name), key=lambda row: int(row["seams"]))
        sizes = [row["seams"] for row in own]
        axes.plot(
            sizes,
            [100 * row["accuracy"] for row in own],
            **_style(number),
            marker=MARKERS[number % len(MARKERS)],
            label=name,
        )
        if all(None not in row["accuracy_interval"] for row in own):
            low, high = zip(*(row["accuracy_interval"] for row in own), strict=True)
            axes.fill_between(
                sizes,
                [100 * value for value in low],
                [100 * value for value in high],
                color=COLOURS[number % len(COLOURS)],
                alpha=0.12,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="Boundaries learned from (logarithmic)", ylabel="Accuracy (%)")
    axes.set_title("Learning curve (bands: 95 % intervals)", fontsize=11)
    axes.legend(loc="lower right", frameon=False)


def _ablation(axes: "Axes", rows: Sequence[Row]) -> None:
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes are made by a figure"
    figure.set_size_inches(6.4, 1.4 + 0.32 * len(rows))
    places = range(len(rows))
    changes = [100 * row["accuracy_difference"] for row in rows]
    axes.barh(places, changes, color=COLOURS[5], height=0.7)
    for place, row in zip(places, rows, strict=True):
        low, high = row["accuracy_interval"]
        if low is not None:
            axes.plot([100 * low, 100 * high], [place, place], color="black", linewidth=1)
    axes.axvline(0, color=GREY, linewidth=1)
    axes.set_yticks(places, [f"{row['features']} ({100 * row['accuracy']:.1f} %)" for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="Change of accuracy (points)")
    axes.set_title("Accuracy by features (lines: 95 % intervals)", fontsize=11)


def write_report(folder: Path, results: Results) -> list[Path]:
    """Write `report.json`, `report.md` and the charts in it.

    Args:
        folder: created if needed; files of the same names are replaced.
        results: the content.

    Returns:
        The files that were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = draw(folder, results.scorers, results.learning_curve, results.ablation)
    record, text = folder / "report.json", folder / "report.md"
    write_text(record, json.dumps(asdict(results), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_text(text, render(results, {path.name: caption for path, caption in pictures.items()}))
    return [record, text, *pictures]


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
        table: documents as returned by `read_labelled`.
        scores: name of a scorer → float32 [sentences].
        thresholds: name of a scorer → its threshold.
        least: minimum confidence of a label, 0 to 1; labels below it are unknown.
        seed: seed of the intervals.
    """
    boundaries = Boundaries.of(table).at_least(least)
    corpus = np.asarray(table["corpus"].to_pylist())[boundaries.group]
    rows = {source: corpus == source for source in dict.fromkeys(table["corpus"].to_pylist())}
    first, *others = scores
    return Results(
        title,
        facts={
            "seed of the intervals": seed,
            "least confidence": least,
            "sentences": len(boundaries),
            "seams without label": int((~boundaries.known()).sum()),
        },
        scorers={name: measure(boundaries, score, thresholds[name], seed=seed) for name, score in scores.items()},
        sources={
            name: {
                source: measure(boundaries[of], score[of], thresholds[name], seed=seed) for source, of in rows.items()
            }
            for name, score in scores.items()
        },
        comparisons=[
            {
                "first": first,
                "second": other,
                **compare(boundaries, scores[first], scores[other], (thresholds[first], thresholds[other]), seed=seed),
            }
            for other in others
        ],
        confidence={name: by_confidence(boundaries, score, thresholds[name]) for name, score in scores.items()},
    )


def main() -> None:
    """Measure scorers of the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="+", help="Parquet files of labelled documents")
    parser.add_argument(
        "--scorer",
        action="append",
        required=True,
        help="name of a scorer in the package; repeat the option to compare the first with others",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="a turn begins where the score is below it (default: 0.5)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.0, help="leave out labels with a lower confidence (default: 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the intervals (default: 0)")
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
