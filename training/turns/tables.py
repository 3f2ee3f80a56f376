"""What was measured of scorers of turns, as tables in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    comparisons: Sequence[Row] = field(default_factory=list)
    confidence: dict[str, Sequence[Row]] = field(default_factory=dict)
    ablation: Sequence[Row] = field(default_factory=list)
    learning_curve: Sequence[Row] = field(default_factory=list)


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
