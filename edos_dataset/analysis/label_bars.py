"""Labels as bars, for the pictures of a report, and what all its pictures have in common."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.analysis.label_system import EMOTION, INTENT, KINDS
from edos_dataset.labels import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {EMOTION: "#0072b2", INTENT: "#d55e00", NEUTRAL: "#666666"}
"""Told apart with every colour vision (Okabe & Ito)."""
_MARKS = ("D", "o", "s", "^", "x")

Data = Mapping[str, Any]


def is_labelled(data: Data) -> bool:
    """Return whether a turn of a data set has a label."""
    return any(one["turns"] for one in data["label_turns"])


def in_order(kinds: list[str], turns: list[float]) -> list[int]:
    """Return the places of labels: emotions, intents, then neutral, each the most frequent first."""
    return sorted(range(len(kinds)), key=lambda place: (KINDS.index(kinds[place]), -turns[place], place))


def draw_labels(figure: "Figure", figures: Data) -> None:
    """Draw the shares of the labels, beside those of other data sets that have the same ones (EDOS paper, Figure 2)."""
    first, *others = figures["data"]
    rows = first["label_turns"]
    marks = {
        one["name"]: [row["share"] for row in one["label_turns"]]
        for one in others
        if one["labels"] == first["labels"] and is_labelled(one)
    }
    intervals = [[row["share"] if end is None else end for end in row["interval"]] for row in rows]
    kinds, shares = [row["kind"] for row in rows], [row["share"] for row in rows]
    axes = _bars_of_labels(figure, [row["label"] for row in rows], kinds, shares, marks, intervals)
    axes.set_title(plain_text(f"Labels of {first['name']}"), loc="left", fontsize=10)


def draw_labels_of_others(figure: "Figure", one: Data) -> None:
    """Draw a comparison in the labels of the other data set."""
    mine, theirs = one["shares"]
    axes = _bars_of_labels(figure, one["names"], one["kinds"], mine, {one["with"]: theirs})
    axes.set_title(plain_text(f"{one['of']} in the labels of {one['labels_of']}"), loc="left", fontsize=10)


def _bars_of_labels(
    figure: "Figure",
    names: list[str],
    kinds: list[str],
    shares: list[float],
    marks: Mapping[str, list[float]],
    intervals: list[list[float]] | None = None,
) -> "Axes":
    """Draw the share of each label as a bar, with its interval, and those of other data sets as marks."""
    order, axes = in_order(kinds, shares), plain_axes(figure)
    bars = 100 * np.array(shares)[order]
    axes.barh(range(len(order)), bars, color=[COLOURS[kinds[label]] for label in order], height=0.75)
    if intervals is not None:
        ends = 100 * np.array(intervals)[order].T
        lengths = np.abs(ends - bars).clip(min=0)
        axes.errorbar(bars, range(len(order)), xerr=lengths, fmt="none", ecolor="black", elinewidth=0.8, capsize=1.5)
    for mark, (name, theirs) in zip(_MARKS, marks.items(), strict=False):
        values, face, shown = 100 * np.array(theirs)[order], "black" if mark == "x" else "white", plain_text(name)
        axes.plot(values, range(len(order)), mark, ms=4, mfc=face, mec="black", label=shown, zorder=3, clip_on=False)
    axes.set_yticks(range(len(order)), [names[label] for label in order], fontsize=8)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.tick_params(axis="y", pad=6)  # a mark at 0 has room
    axes.set_xlim(left=0)
    axes.set_xlabel("share of turns, %")
    _legend(axes, {kind: COLOURS[kind] for kind in KINDS if kind in kinds})
    return axes


def plain_axes(figure: "Figure", grid: str = "x") -> "Axes":
    """Return axes of a figure without a frame, with lines across one of them."""
    axes = figure.add_subplot()
    plainly(axes, grid)
    return axes


def plainly(axes: "Axes", grid: str) -> None:
    """Take the frame from axes, and draw lines across one of them."""
    axes.grid(axis=grid, color="#d5d9de", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _legend(axes: "Axes", colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    found, _ = axes.get_legend_handles_labels()
    kinds = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    axes.legend(handles=[*kinds, *found], loc="center right", frameon=False, fontsize=8)


def plain_text(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")
