"""The pictures of `domain.py`: of each set, where the examples of a class go, and what the confidence is worth."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.classifier_pictures import GREY, as_png, new_figure, plain_axes
from evaluation.gaps_pictures import COLOURS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABREAST = 3
"""Confusions beside each other, at most."""
DOTS = 85
"""An inch: there are many pictures."""
FEW = 12
"""Classes whose confusion has room for all numbers but the smallest."""
LONGEST_NAME = 24
FEWEST = 10
"""Turns of a bin of confidence that is drawn, at least."""


def draw(name: str, results: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, bytes]]:
    """Draw the pictures of a set.

    Args:
        name: of the set.
        results: model → its figures, as of `domain_measures.measure`; at least one.

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
    told = [f"{name} ({number:.0f})" for name, number in zip(names, counts.sum(axis=1), strict=True)]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), told, fontsize=8)
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
