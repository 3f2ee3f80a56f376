"""The report of `domain.py` as Markdown: a section and a table for each set, with limitations before charts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.publishing.cards.markdown import MOST_LICENCES, code, interval, percent, plain, table
from evaluation.charts import COLOURS, DASHES, GREY, as_png, new_figure, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Figures = Mapping[str, Any]

COLUMNS = {
    "accuracy": "right class",
    "accuracy_but_neutral": "of the turns whose class is never neutral",
    "label_accuracy": "right label",
    "top_3_accuracy": "among three labels",
    "weighted_f1": "weighted F1",
    "macro_f1": "macro-F1",
    "ece": "ECE",
}
"""Metric → head of its column."""

HOW = """Each set has a table of its own: figures of two sets are not to be compared. What is measured:

- **right class**: a set's classes each stand for some of our 41 labels (`label_sets.yaml`). The answer is the class for
  which the probabilities of its labels add up to most, and it is among the right ones; a label of several classes
  counts in full for each. Where a class lies within another, the answer is instead the most probable label that stands
  for any class, taken for the right one of its classes. Where the set knows no intents, our 8 are left out and the rest
  is renormalised.
- **right label**: the most probable label stands for a right class, whichever else it stands for; **among three
  labels**: one of the three does.
- **weighted F1**, **macro-F1**: of the classes, over the examples of which one class is right.
- **ECE**: how far the confidence, the probability of the most probable label, is from the share of right labels.

Intervals are 95 %: 1,000 resamples of dialogues (seed 0). Figures in full: `domain.json`. The few numbers by which
`general` and `weak` weigh the conventions that they learned (`training/labels/model.py`) were chosen on these
held-out parts; the intervals know nothing of that."""


def render(report: Figures) -> str:
    """Return the report.

    Args:
        report: content of `domain.json`, with `pictures` (file name → caption) for each set.
    """
    sections = [f"# Labels on held-out turns\n\n{_models(report)}\n\n{HOW}"]
    sections += [_section(name, each) for name, each in report["sets"].items()]
    return "\n\n".join(sections) + "\n"


def _models(report: Figures) -> str:
    text = ", ".join(f"{code(name)} ({code(model['identity'])})" for name, model in report["models"].items())
    return f"Models: {text}. Made by `{report['command']}`."


def _section(name: str, held: Figures) -> str:
    results = held["results"]
    flaws = "\n".join(f"- {code(model)}: {' '.join(_flaws(figures))}" for model, figures in results.items())
    pictures = "\n\n".join(f"![{plain(caption)}]({picture})" for picture, caption in held["pictures"].items())
    tables = f"{_by_class(results)}\n\n{_by_label(results)}"
    details = f"<details><summary>By class and by label</summary>\n\n{tables}\n\n</details>"
    return "\n\n".join([f"## {plain(name)}", _told(held), _figures(held), flaws, pictures, details])


def _told(held: Figures) -> str:
    several, text = held["with_several_right"], plain(held["told"], MOST_LICENCES)
    text = f"{text[:1].upper()}{text[1:]}. {held['examples']:,} judged turns"
    text += f" in {held['dialogues']:,} dialogues" if held["dialogues"] < held["examples"] else ""
    text += f", {several:,} with several right answers" if several else ""
    text += ". " + ("Our intents are answers here." if held["intents_count"] else "Our 8 intents are left out.")
    if counted := held["labels_of_several_classes"]:
        text += f" A label of several classes {counted}."
    if held["unreadable"]:
        text += f" Not read: {', '.join(f'{number:,} ({reason})' for reason, number in held['unreadable'].items())}."
    alone, f1 = percent(held["largest_class_accuracy"]), percent(held["largest_class_weighted_f1"])
    return f"{text}\n\nAlways {code(held['largest_class'])}: {alone} right, weighted F1 {f1}."


def _figures(held: Figures) -> str:
    """Return the table of a set, without columns that repeat the one before."""
    results = held["results"]
    ours = all(figures["accuracy"] == figures["label_accuracy"] for figures in results.values())
    heads = {
        key: head
        for key, head in COLUMNS.items()
        if not (ours and key in ("accuracy", "accuracy_but_neutral", "weighted_f1"))
        and any(figures[key] is not None for figures in results.values())
    }
    return table(
        ["model", *heads.values(), "right of the surer half"],
        [
            [code(model), *(_cell(figures, key) for key in heads), percent(_surer_half(figures))]
            for model, figures in results.items()
        ],
    )


def _surer_half(figures: Figures) -> float | None:
    line = figures["risk_coverage"]
    share: float | None = line[len(line) // 2 - 1]
    return share


def _cell(figures: Figures, key: str) -> str:
    bounds = figures["intervals"].get(key, [None])
    return percent(figures[key]) + ("" if None in bounds else f" {interval(bounds)}")


def _flaws(figures: Figures) -> Iterator[str]:
    rated = {name: row for name, row in figures["by_class"].items() if row["support"]}
    worst = sorted(rated, key=lambda name: (rated[name]["f1"], name))[:3]
    yield "worst " + ", ".join(f"{plain(name)} (F1 {percent(rated[name]['f1'])})" for name in worst) + "."
    yield from _confused(figures["confusion"])
    sure = figures["sure"]
    if sure["answers"]:
        right = percent(sure["right"])
        yield f"{right} of the {sure['answers']:,} answers from confidence {sure['from']:g} on are right."
    else:
        yield f"No answer has a confidence of {sure['from']:g}."
    if figures["intents_first"] is not None:
        yield f"An intent came first for {percent(figures['intents_first'])} of the turns."


def _confused(confusion: Figures) -> Iterator[str]:
    counts = np.array(confusion["counts"])
    errors = counts - np.diag(counts.diagonal())
    if errors.any():
        row, column = divmod(int(errors.argmax()), len(counts))
        right, said = (plain(confusion["classes"][number]) for number in (row, column))
        yield f"Most frequent error: {percent(counts[row, column] / counts[row].sum())} of {right} is taken for {said}."


def _by_class(results: Figures) -> str:
    first = next(iter(results.values()))["by_class"]
    rows = [
        [plain(name), f"{row['support']:,}", *(percent(each["by_class"][name]["f1"]) for each in results.values())]
        for name, row in first.items()
        if row["support"]
    ]
    return table(["class", "examples", *(f"F1 of {code(model)}" for model in results)], rows)


def _by_label(results: Figures) -> str:
    """Return how often each model predicted each label, and how often that was right; the most frequent first."""
    said: Counter[str] = Counter()
    for figures in results.values():
        said.update({label: row["said"] for label, row in figures["by_label"].items()})
    rows = [
        [label, *(_said(figures["by_label"].get(label)) for figures in results.values())]
        for label in sorted(said, key=lambda label: (-said[label], label))
    ]
    return table(["label", *(f"{code(model)}: right of those given" for model in results)], rows)


def _said(row: Figures | None) -> str:
    return "" if row is None else f"{percent(row['right'])} of {row['said']:,}"


ABREAST = 3
"""Maximum number of confusion matrices side by side."""
DOTS = 85
"""Dots per inch: small, since there are many charts."""
FEW = 12
"""Maximum number of classes whose confusion matrix shows numbers, except the smallest."""
LONGEST_NAME = 24
FEWEST = 10
"""Minimum number of turns in a bin of confidence for it to be drawn."""


def draw(name: str, results: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, bytes]]:
    """Draw the charts of a set.

    Args:
        name: name of the set.
        results: model → its metrics from `domain.measure`; at least one.

    Returns:
        File name → caption, PNG.
    """
    return {
        f"{name}-confusion.png": (
            f"{name}: right classes (rows) and predicted ones (columns), % of the row",
            _confusions(results),
        ),
        f"{name}-confidence.png": (
            f"{name}: confidence and share of right answers (left), and what is right among the surest (right)",
            _confidence(results),
        ),
    }


def _confusions(results: Mapping[str, Mapping[str, Any]]) -> bytes:
    classes = next(iter(results.values()))["confusion"]["classes"]
    columns = min(ABREAST, len(results))
    rows = -(-len(results) // columns)
    side = 1.6 + (0.32 if len(classes) <= FEW else 0.2) * max(len(classes), 7)
    figure = new_figure(side * columns, side * rows)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (model, figures) in zip(grid, results.items(), strict=False):
        _confusion(axes, np.array(figures["confusion"]["counts"]), classes)
        axes.set_title(model, fontsize=10)
    for axes in grid[len(results) :]:
        axes.set_axis_off()
    return as_png(figure, DOTS)


def _confusion(axes: "Axes", counts: Any, classes: list[str]) -> None:  # noqa: ANN401 - an array of numbers
    share = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=100)
    names = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in classes]
    ticks = [f"{name} ({number:.0f})" for name, number in zip(names, counts.sum(axis=1), strict=True)]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), ticks, fontsize=8)
    axes.tick_params(length=0)
    least = 2 if len(classes) <= FEW else 10
    for row, column in zip(*np.nonzero(share >= least), strict=True):
        colour = "white" if share[row, column] > 55 else "black"
        axes.text(column, row, f"{share[row, column]:.0f}", ha="center", va="center", fontsize=7, color=colour)


def _confidence(results: Mapping[str, Mapping[str, Any]]) -> bytes:
    figure = new_figure(10, 4.6)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    for number, (model, figures) in enumerate(results.items()):
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % len(DASHES)]}
        bins = np.array([each for each in figures["reliability"] if each[0] >= FEWEST]).reshape(-1, 3)
        left.plot(
            bins[:, 1],
            bins[:, 2],
            marker="o",
            markersize=3,
            label=f"{model}: ECE {100 * figures['ece']:.1f} %",
            **style,
        )
        shares = figures["risk_coverage"]
        right.plot(np.arange(1, len(shares) + 1) / len(shares), shares, label=model, **style)
    left.set(xlabel="Confidence", ylabel="Share of right answers", xlim=(0, 1), ylim=(0, 1))
    right.set(xlabel="Share of the turns, the surest first", ylabel="Share of right answers", xlim=(0, 1), ylim=(0, 1))
    for axes in (left, right):
        axes.legend(fontsize=8, edgecolor="none")
        plain_axes(axes)
    return as_png(figure, DOTS)
